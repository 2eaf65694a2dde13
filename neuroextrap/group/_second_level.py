"""Does a contrast over subjects differ from zero? Permutations of subjects' maps."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike
from scipy.stats import f as fisher
from scipy.stats import t as student

from neuroextrap.analysis._region_maps import RegionMaps
from neuroextrap.design._findings import tell
from neuroextrap.group._alike import (
    check_different,
    findings_of_variances,
    in_order_of,
    order_of_pairs,
    per_subject,
)
from neuroextrap.group._contrast import as_expression, resolve_test
from neuroextrap.group._group_maps import group_maps
from neuroextrap.group._second_level_options import SecondLevelOptions
from neuroextrap.group._subjects import SubjectMaps, read_subjects, usable_neighbors
from neuroextrap.images._loading import variance_smoother
from neuroextrap.margins.running._execution import Progress
from neuroextrap.stats import _linear_scores as linear_scores
from neuroextrap.stats._arrangements import flipped, permuted
from neuroextrap.stats._rearrangement_test import Corrections, rearrangement_test
from neuroextrap.stats._shared_options import as_options, takes_options

_ROUNDING = 1e-9  # of weights of subjects, which are of the order of one
_NOTHING = 1e-10  # residuals smaller than this part of the values are rounding


@takes_options(SecondLevelOptions)
def second_level_test(  # noqa: PLR0913 - eight that every test has
    imgs: Any,
    design_matrix: Any = None,
    *,
    contrast: Any = None,
    blocks: ArrayLike | None = None,
    two_sided: bool = False,
    cluster_threshold: float | None = None,
    tfce: bool = False,
    n_permutations: int = 10_000,
    **options: Any,
) -> RegionMaps:
    """Test a contrast over subjects by permutations, corrected over the whole map.

    Subjects are the rows of a linear model, as in nilearn's second level. Residuals
    under the null hypothesis are rearranged over subjects, the same in all voxels
    (Freedman-Lane), so the largest statistic, the largest cluster and the largest
    enhanced value control the family-wise error whatever the correlation of voxels.

    ============================  =====================================================
    question                      call
    ============================  =====================================================
    mean over subjects            ``second_level_test(imgs)``
    difference of two conditions  ``second_level_test(imgs, paired_imgs=others)``
    difference of two groups      ``design_matrix`` with one column of 0 and 1 a group,
                                  ``contrast="patients - controls"``
    slope on a covariate          ``design_matrix`` with the covariate, nuisance
                                  covariates and an intercept; ``contrast="age"``
    any difference of several     ``contrast=["a - b", "b - c"]`` (F)
    ============================  =====================================================

    Parameters
    ----------
    imgs : array-like of shape (n_subjects, n_features), images, or paths
        One map of each subject: 3-D images, surface images, or one 4-D image.
    design_matrix : DataFrame, array-like of shape (n_subjects, n_columns), or None
        Linear model of the subjects. If None (the default), the mean over subjects is
        tested. All columns that are not tested are nuisance. A column or index level
        ``participant_id``, or an index of labels ("sub-08", "08" or 8), puts rows into
        the order of images with ``sub-<label>`` in their names. Rows that count 0, 1, 2
        ..., arrays, and rows of images without such names are in the order of `imgs`.
    contrast : str, Series, dict, array-like, list of str or None, default=None
        What is tested: a column, or an expression of columns, numbers, ``+ - * /`` and
        parentheses (names that are no plain words in backticks); weights by the names
        of columns, 0 for those that are not named; or one weight per column, in their
        order. May be None if the design has one column. Several contrasts, as a list of
        expressions or an array (n_contrasts, n_columns), are tested at once by F.
    blocks : array-like of shape (n_subjects,) or None, default=None
        Exchangeability block of each row: rows are rearranged within blocks (scanners,
        families). A Series with labels of subjects is put into the order of `imgs`, as
        the design is.
    two_sided : bool, default=False
        Whether a contrast below zero counts as evidence too.
    cluster_threshold : float or None, default=None
        Cluster-forming threshold, as the p-value of Student's t at a voxel (0.001).
        If None, clusters are not tested.
    tfce : bool, default=False
        Whether to test threshold-free cluster enhancement (extent power 0.5, height
        power 2, integrated exactly).
    n_permutations : int, default=10000
        Number of rearrangements. If no more distinct ones exist, each is used once.

    Returns
    -------
    maps : dict of ndarray of shape (n_features,), or of images
        ``effect`` (estimate of the contrast), ``t`` (Student's), the statistic if it is
        another (``v``, ``pseudo_t``, ``median``; of several contrasts only ``f``),
        ``p_value`` (each voxel by itself), ``p_value_fwe`` (family-wise, by the largest
        statistic) and, unless all arrangements were listed, ``p_value_fwe_tail`` (small
        ones refined by a generalized Pareto tail, see
        :func:`neuroextrap.stats.tail_p_value`). With clusters ``cluster_extent``
        (voxels), ``cluster_mass`` (sum of the excess over the threshold),
        ``p_value_fwe_cluster_extent`` and
        ``p_value_fwe_cluster_mass``; with TFCE ``tfce`` and ``p_value_fwe_tfce``; with
        `min_subjects` ``n_subjects``; with at least 37 permutations
        ``true_discovery_proportion``, see ``maps.true_discoveries(region)``. NaN where
        nothing can be tested. Of images, ``maps.generate_report()`` makes a page.

    Raises
    ------
    ValueError
        If a file or a map is there twice, names of subjects disagree, images lie on
        different grids, the design does not determine the contrast, rearrangements
        cannot change it, or options contradict one another.

    Warns
    -----
    UserWarning
        If all distinct rearrangements are used; says how small a p-value can get. If a
        variance group has fewer than 20 subjects.

    Notes
    -----
    A p-value of a cluster says that somewhere in it there is an effect, not where.
    Permutations are exact where residuals under the null hypothesis are exchangeable;
    with nuisance covariates they are nearly so (Winkler et al. 2014).

    References
    ----------
    Winkler et al. 2014, "Permutation inference for the general linear model",
    NeuroImage 92 (algorithm 1, equation 8). Nichols & Holmes 2002, "Nonparametric
    permutation tests for functional neuroimaging", Human Brain Mapping 15. Smith &
    Nichols 2009, "Threshold-free cluster enhancement", NeuroImage 44.

    Examples
    --------
    Sixteen subjects, three features; the first differs between the groups:

    >>> import numpy as np, pandas as pd
    >>> from neuroextrap.group import second_level_test
    >>> patients = np.repeat([1.0, 0.0], 8)
    >>> design = pd.DataFrame({"patients": patients, "controls": 1 - patients})
    >>> imgs = np.random.default_rng(0).normal(size=(16, 3))
    >>> imgs[:8, 0] += 4
    >>> maps = second_level_test(
    ...     imgs, design, contrast="patients - controls", n_permutations=999
    ... )
    >>> float(maps["p_value_fwe"][0]), bool((maps["p_value_fwe"][1:] > 0.05).all())
    (0.001, True)
    """
    asked = as_options(
        SecondLevelOptions,
        second_level_test,
        options,
        two_sided=two_sided,
        cluster_threshold=cluster_threshold,
        tfce=tfce,
        n_permutations=n_permutations,
    )
    contrast = as_expression(contrast)
    subjects, values = _read(imgs, asked, repeated=blocks is not None)
    blocks = per_subject(blocks, "blocks", subjects.files)
    groups = per_subject(asked.variance_groups, "variance_groups", subjects.files)
    design = in_order_of(subjects.files, design_matrix, "design_matrix")
    test = resolve_test(design, contrast, len(values))
    subjects = _varying(asked, test, subjects, values)
    asked.check(test, design_matrix, blocks)
    if test.effect.ndim > 1:  # F knows no direction
        asked = replace(asked, two_sided=True)
    about = {"contrast": contrast, **_described(asked, test)}
    data = _Tested.of(test, subjects, values, groups, asked.min_subjects)
    maps, found, options = _rearranged(asked, data, blocks, flips=about["flips"])
    return group_maps("second_level", maps, subjects, options=about | options, **found)


def _rearranged(asked, data, blocks, *, flips):
    """Return maps, what else was found, and what the rearrangements were."""
    scorer, name = _scorer(asked, data)
    tell(findings := findings_of_variances(data.groups))
    corrections = _corrections(asked, data)
    arrangements = _arrangements(asked, data.test, blocks, flips=flips)
    run = partial(_in_threads, asked.n_jobs)
    progress = Progress(asked.verbose, unit="permutations")
    tested, maxima, discoveries = rearrangement_test(
        scorer, arrangements, data.test.rows, corrections, run=run, progress=progress
    )
    maxima[name] = maxima.pop("statistic")
    maps = _estimates(data) | {name: tested.pop("statistic")} | tested
    options = {"statistic": name, "all": arrangements.are_all}
    options["n_permutations"] = arrangements.n_permutations
    found = {"null_maxima": maxima, "discoveries": discoveries, "findings": findings}
    return maps, found, options


def _read(imgs, asked, *, repeated):
    """Return subjects, and their values (n_subjects, n_features) above the baseline."""
    least, mask = asked.min_subjects, asked.mask
    allowed = ("allow_mixed", "allow_native_space")
    how = {name: getattr(asked, name) for name in allowed} | {"repeated": repeated}
    subjects = read_subjects(imgs, mask, "imgs", least, **how)
    check_different(subjects.values, "imgs")
    values = subjects.values.astype(float)
    if asked.paired_imgs is None:
        return subjects, values - asked.baseline
    where = mask if subjects.masker is None else subjects.masker
    others = read_subjects(asked.paired_imgs, where, "paired_imgs", least, **how)
    values = values - _paired_values(subjects, others) - asked.baseline
    usable = np.isfinite(values).sum(axis=0) >= (least or len(values))
    return subjects._replace(usable=usable), values


def _paired_values(subjects, others):
    """Return the values of the others in the order of the subjects."""
    values = others.values
    if values.shape != subjects.values.shape:
        raise ValueError(
            f"imgs and paired_imgs have shapes {subjects.values.shape} and "
            f"{values.shape}; give two maps of each subject, in one order"
        )
    check_different(values, "paired_imgs")
    order = order_of_pairs(subjects.files, others.files, ("imgs", "paired_imgs"))
    return values if order is None else values[order]


def _varying(asked, test, subjects, values):
    """Return subjects with what is compared, but features that the design fits."""
    usable = subjects.usable.copy()
    tested = values[:, usable]
    known = np.isfinite(tested)
    if known.all():
        residuals = tested - test.rows @ (test.rows.T @ tested)
    else:
        residuals = np.where(known, tested - np.nanmean(tested, axis=0), 0.0)
    size = np.abs(np.where(known, tested, 0.0)).max(axis=0)
    usable[usable] = np.abs(residuals).max(axis=0) > _NOTHING * size
    if not usable.any():
        raise ValueError(
            "imgs are the same in all subjects, or the design fits them exactly; check "
            "that maps differ"
        )
    shown = np.where(usable, values + asked.baseline, np.nan)
    return subjects._replace(usable=usable, values=shown)


class _Tested(NamedTuple):
    """What is compared over subjects, at the features that are tested."""

    test: Any  # LinearTest
    subjects: SubjectMaps
    values: np.ndarray  # (n_subjects, n_usable), 0 where unknown
    n_known: np.ndarray | None  # (n_usable,) subjects, None for all
    groups: np.ndarray | None  # of variances, (n_subjects,)

    @classmethod
    def of(cls, test, subjects, values, groups, min_subjects):
        """Select the features of values (n_subjects, n_features) that are tested."""
        values = values[:, subjects.usable]
        known = np.isfinite(values)
        n_known = None if min_subjects is None else known.sum(axis=0).astype(float)
        return cls(test, subjects, np.where(known, values, 0.0), n_known, groups)


def _in_threads(n_jobs, function, parts):
    """Yield what a function makes of parts, in threads."""
    calls = (delayed(function)(part) for part in parts)
    return Parallel(n_jobs, prefer="threads", return_as="generator")(calls)


def _described(asked, test):
    """Return what a report says of the options, by name."""
    effect, baseline = test.effect, asked.baseline
    of_ones = effect.sum(axis=0) / np.square(effect).sum(axis=0)
    if effect.ndim > 1:  # F: whether the baseline matters at all
        of_ones = float((np.abs(of_ones) > _ROUNDING).any())
    return {
        "paired": asked.paired_imgs is not None,
        # the estimate where every map is the baseline: of differences 0
        "baseline": float(baseline * of_ones) if abs(of_ones) > _ROUNDING else 0.0,
        "two_sided": bool(asked.two_sided),
        "cluster_threshold": asked.cluster_threshold,
        "tfce": asked.tfce,
        "of_mean": test.is_intercept,
        "tested": test.rows[:, 0],
        "flips": asked.flips(test),
    }


def _arrangements(asked, test, blocks, *, flips):
    """Return how the rows of the design are rearranged."""
    names = ("whole_blocks", "n_permutations", "random_state")
    how = {name: getattr(asked, name) for name in names}
    if flips:
        return flipped(test, blocks, two_sided=asked.two_sided, **how)
    return permuted(test, blocks, **how)


def _estimates(data):
    """Return the maps of any statistic but F: effect and Student's t."""
    test, n_known = data.test, data.n_known
    if test.effect.ndim > 1:
        return {}
    effect = linear_scores.Mean(data.values, np.linalg.norm(test.effect), n_known)
    unit = linear_scores.unit_length(test.residuals(data.values))
    t = linear_scores.StudentT(unit, test.degrees_of_freedom, n_known)
    observed = test.rows[np.newaxis]
    maps = {"effect": effect(observed)[0], "t": t.heights(t(observed))[0]}
    return maps if n_known is None else maps | {"n_subjects": n_known}


def _scorer(asked, data):
    """Return the statistic as a function of designs, and its name among the maps."""
    test, residuals = data.test, data.test.residuals(data.values)
    if asked.statistic == "mean":
        length = np.linalg.norm(test.effect)
        return linear_scores.Mean(residuals, length, data.n_known), "effect"
    if asked.statistic == "median":
        return linear_scores.Median(residuals), "median"
    if data.groups is not None:
        groups = np.unique(data.groups, return_inverse=True)[1]
        linear_scores.check_variance_groups(groups, test)
        return linear_scores.AspinWelch(residuals, groups), "v"
    return _scorer_of_t(asked, data, residuals)


def _scorer_of_t(asked, data, residuals):
    """Return t of one variance, smoothed or not, or F, and its name."""
    test, freedom = data.test, data.test.degrees_of_freedom
    if asked.variance_fwhm is not None:
        masker, usable = data.subjects.masker, np.flatnonzero(data.subjects.usable)
        smooth = variance_smoother(masker, usable, asked.variance_fwhm)
        total = np.square(residuals).sum(axis=0)
        return linear_scores.SmoothedT(residuals, total, freedom, smooth), "pseudo_t"
    unit = linear_scores.unit_length(residuals)
    if test.effect.ndim > 1:
        return linear_scores.FRatio(unit, test.n_effects, freedom), "f"
    return linear_scores.StudentT(unit, freedom, data.n_known), "t"


def _corrections(asked, data):
    """Return what is corrected for, with the neighbors that clusters need."""
    if asked.cluster_threshold is None and not asked.tfce:
        return Corrections(two_sided=asked.two_sided, step_down=asked.step_down)
    return Corrections(
        two_sided=asked.two_sided,
        step_down=asked.step_down,
        neighbors=usable_neighbors(data.subjects, asked.adjacency),
        threshold=_threshold(asked, data),
        enhance=asked.tfce,
    )


def _threshold(asked, data):
    """Return the height (n_usable,) above which clusters are formed, None for none."""
    p, freedom = asked.cluster_threshold, data.test.degrees_of_freedom
    if p is None:
        return None
    if data.test.effect.ndim > 1:
        height = fisher.isf(p, data.test.n_effects, freedom)
    else:
        freedom = freedom if data.n_known is None else data.n_known - 1
        height = student.isf(p / (2 if asked.two_sided else 1), freedom)
    return height * np.ones(data.values.shape[1])
