"""Does a contrast over subjects differ from zero? Permutations of subjects' maps."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike
from scipy.stats import f as fisher
from scipy.stats import t as student

from neuroextrap.analysis._region_maps import RegionMaps
from neuroextrap.design._findings import tell
from neuroextrap.group._group_maps import group_maps
from neuroextrap.group._second_level_design import (
    SecondLevelOptions,
    as_expression,
    findings_of_variances,
    resolve_test,
)
from neuroextrap.group._subjects import SubjectMaps, read_differences
from neuroextrap.images._maskers import variance_smoother
from neuroextrap.margins.running._execution import Progress
from neuroextrap.stats import _linear_scores as linear_scores
from neuroextrap.stats._arrangements import flipped, permuted
from neuroextrap.stats._rearrangement_test import Corrections, rearrangement_test
from neuroextrap.stats._shared_options import as_options, takes_options

_ROUNDING = 1e-9  # of weights of subjects, which are of the order of one
_NOTHING = 1e-10  # residuals smaller than this part of the values, and effects


@takes_options(SecondLevelOptions)
def second_level_test(
    imgs: Any,
    design_matrix: Any = None,
    *,
    contrast: Any = None,
    blocks: ArrayLike | None = None,
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
    given = as_options(SecondLevelOptions, second_level_test, options)
    return compare(imgs, given, design_matrix, contrast, blocks)


def compare(imgs, options, design_matrix=None, contrast=None, blocks=None):
    """Return the RegionMaps of a contrast over subjects, as SecondLevelOptions say."""
    if options.whole_blocks and blocks is None:
        raise ValueError("whole_blocks=True needs blocks; name each subject's block")
    if options.min_subjects is not None and design_matrix is not None:
        raise ValueError(
            "min_subjects is for the mean over subjects; with a design_matrix test the "
            "voxels that all subjects have, or leave subjects out"
        )
    subjects = read_differences(imgs, options, repeated=blocks is not None)
    contrast = as_expression(contrast)
    groups = subjects.one_each(options.variance_groups, "variance_groups")
    rows = {"blocks": subjects.one_each(blocks, "blocks"), "groups": groups}
    design = subjects.in_order(design_matrix, "design_matrix")
    test = resolve_test(design, contrast, len(subjects.values))
    return Comparison.of(subjects, options, test, contrast=contrast, **rows).maps()


@dataclass(frozen=True)
class Comparison:
    """Values of subjects under a linear model, at the features that are tested."""

    subjects: SubjectMaps
    values: np.ndarray  # above the baseline, (n_subjects, n_usable), 0 where unknown
    n_known: Any  # number of subjects (n_usable,) that are known, None for all
    options: SecondLevelOptions
    test: linear_scores.LinearTest
    contrast: Any  # as it was given
    blocks: Any  # of exchangeable rows, (n_subjects,), or None
    groups: Any  # of variances, (n_subjects,), or None

    @classmethod
    def of(cls, subjects, options, test, **given):
        """Select what the test of a design in the subjects' order can test."""
        if test.effect.ndim > 1:  # F knows no direction
            options = replace(options, two_sided=True)
        above = subjects.values - options.baseline
        usable = _varying(above, subjects.usable, test)
        tested_values = np.where(usable, subjects.values, np.nan)
        subjects = subjects._replace(usable=usable, values=tested_values)
        finite = np.isfinite(above[:, usable])
        n_known = finite.sum(axis=0).astype(float) if options.min_subjects else None
        values = np.where(finite, above[:, usable], 0.0)
        compared = cls(subjects, values, n_known, options, test, **given)
        compared._check()
        return compared

    @property
    def flips(self):
        """Whether signs are flipped; rows are permuted otherwise."""
        if self.options.errors is None:
            return self.test.is_intercept or self.groups is not None
        return self.options.errors == "symmetric"

    def _check(self):
        """Raise if options contradict the design."""
        options = self.options
        of_t = options.statistic == "t" and options.variance_fwhm is None
        if self.test.effect.ndim > 1 and not (of_t and self.groups is None):
            raise ValueError(
                "several contrasts are tested by F with one variance; use "
                "statistic='t' without variance_groups and variance_fwhm"
            )
        one_sample = self.test.is_intercept and self.flips
        if options.statistic == "median" and not one_sample:
            raise ValueError(
                "statistic='median' is for the mean over subjects and sign flips; use "
                "'t' or 'mean' with a design_matrix"
            )
        if not self.flips:
            self._check_effect_moves()

    def _check_effect_moves(self):
        """Raise if no permutation changes the effect."""
        effect = self.test.rows[:, : self.test.n_effects]
        within = self.blocks is not None and not self.options.whole_blocks
        groups = self.blocks if within else np.zeros(len(effect))
        parts = [effect[groups == group] for group in np.unique(groups)]
        if any(np.ptp(part, axis=0).max() > _NOTHING for part in parts):
            return
        if within:
            raise ValueError(
                "the contrast does not vary within any block, so permutations within "
                "blocks change nothing; use whole_blocks=True to exchange blocks"
            )
        raise ValueError(
            "the contrast is the same number for all subjects, so permutations change "
            "nothing; use errors='symmetric' (sign flips)"
        )

    def maps(self):
        """Return the RegionMaps of the test."""
        options, scorer, subjects = self.options, self.scorer(), self.subjects
        tell(findings := findings_of_variances(self.groups))
        corrections, arrangements = self.corrections(), self.arrangements()
        progress = Progress(options.verbose, unit="permutations")
        how: dict[str, Any] = {"run": partial(_in_threads, options.n_jobs)}
        tested, maxima, discoveries = rearrangement_test(
            scorer, arrangements, self.test.rows, corrections, progress=progress, **how
        )
        return group_maps(
            "second_level",
            self.estimates() | tested,
            subjects._replace(findings=(*subjects.findings, *findings)),
            discoveries=discoveries,
            null_maxima=maxima,
            options=self.described(scorer, arrangements),
        )

    def scorer(self):
        """Return the statistic as a function of designs."""
        options, test, freedom = self.options, self.test, self.test.degrees_of_freedom
        residuals = test.residuals(self.values)
        if options.statistic == "mean":
            length = np.linalg.norm(test.effect)
            return linear_scores.Mean(residuals, length, self.n_known)
        if options.statistic == "median":
            return linear_scores.Median(residuals)
        if self.groups is not None:
            groups = np.unique(self.groups, return_inverse=True)[1]
            linear_scores.check_variance_groups(groups, test)
            return linear_scores.AspinWelch(residuals, groups)
        if options.variance_fwhm is not None:
            masker, usable = self.subjects.masker, np.flatnonzero(self.subjects.usable)
            smooth = variance_smoother(masker, usable, options.variance_fwhm)
            total = np.square(residuals).sum(axis=0)
            return linear_scores.SmoothedT(residuals, total, freedom, smooth)
        if test.effect.ndim > 1:
            unit = linear_scores.unit_length(residuals)
            return linear_scores.FRatio(unit, test.n_effects, freedom)
        return self._student()

    def _student(self):
        """Return Student's t as a function of designs."""
        unit = linear_scores.unit_length(self.test.residuals(self.values))
        freedom = self.test.degrees_of_freedom
        return linear_scores.StudentT(unit, freedom, self.n_known)

    def estimates(self):
        """Return the maps of any statistic but F: effect and Student's t."""
        test, observed = self.test, self.test.rows[np.newaxis]
        if test.effect.ndim > 1:
            return {}
        length = np.linalg.norm(test.effect)
        effect = linear_scores.Mean(self.values, length, self.n_known)
        t = self._student()
        maps = {"effect": effect(observed)[0], "t": t.heights(t(observed))[0]}
        return maps if self.n_known is None else maps | {"n_subjects": self.n_known}

    def arrangements(self):
        """Return how the rows of the design are rearranged."""
        names = ("whole_blocks", "n_permutations", "random_state")
        how = {name: getattr(self.options, name) for name in names}
        if self.flips:
            two_sided = self.options.two_sided
            return flipped(self.test, self.blocks, two_sided=two_sided, **how)
        return permuted(self.test, self.blocks, **how)

    def corrections(self):
        """Return what is corrected for, with the neighbors that clusters need."""
        options = self.options
        how: dict[str, Any] = {"two_sided": options.two_sided, "enhance": options.tfce}
        if options.cluster_threshold is not None or options.tfce:
            how["neighbors"] = self.subjects.neighbors(options.adjacency)
            how["threshold"] = self._threshold()
        return Corrections(step_down=options.step_down, **how)

    def _threshold(self):
        """Return the height (n_usable,) above which clusters are, None for none."""
        p, freedom = self.options.cluster_threshold, self.test.degrees_of_freedom
        if p is None:
            return None
        if self.test.effect.ndim > 1:
            height = fisher.isf(p, self.test.n_effects, freedom)
        else:
            freedom = freedom if self.n_known is None else self.n_known - 1
            height = student.isf(p / (2 if self.options.two_sided else 1), freedom)
        return height * np.ones(self.values.shape[1])

    @property
    def expected(self):
        """The estimate where every map is the baseline: of differences 0."""
        effect = self.test.effect
        of_ones = effect.sum(axis=0) / np.square(effect).sum(axis=0)
        if (np.abs(of_ones) <= _ROUNDING).all():
            return 0.0
        # of F: the baseline itself
        return self.options.baseline * (1.0 if effect.ndim > 1 else float(of_ones))

    def described(self, scorer, arrangements):
        """Return what a page says of the test, by name."""
        options = self.options
        return {
            "contrast": self.contrast,
            "paired": options.paired_imgs is not None,
            "baseline": self.expected,
            "two_sided": bool(options.two_sided),
            "cluster_threshold": options.cluster_threshold,
            "tfce": options.tfce,
            "of_mean": self.test.is_intercept,
            "tested": self.test.rows[:, 0],
            "flips": self.flips,
            "statistic": scorer.name,
            "all": arrangements.are_all,
            "n_permutations": arrangements.n_permutations,
        }


def _varying(values, usable, test):
    """Return which of the usable features the design does not fit exactly."""
    usable, tested = usable.copy(), values[:, usable]
    finite = np.isfinite(tested)
    if finite.all():
        residuals = tested - test.rows @ (test.rows.T @ tested)
    else:
        residuals = np.where(finite, tested - np.nanmean(tested, axis=0), 0.0)
    size = np.abs(np.where(finite, tested, 0.0)).max(axis=0)
    usable[usable] = np.abs(residuals).max(axis=0) > _NOTHING * size
    if not usable.any():
        raise ValueError(
            "imgs are the same in all subjects, or the design fits them exactly; check "
            "that maps differ"
        )
    return usable


def _in_threads(n_jobs, function, parts):
    """Yield what a function makes of parts, in threads."""
    calls = (delayed(function)(part) for part in parts)
    return Parallel(n_jobs, prefer="threads", return_as="generator")(calls)
