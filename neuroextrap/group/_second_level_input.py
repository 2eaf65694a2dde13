"""What a second-level test is given: options, checked, and subjects' values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from neuroextrap.design._findings import P_VALUES, Finding
from neuroextrap.group._contrast import resolve_test
from neuroextrap.group._pairing import check_different, in_order_of, order_of_pairs
from neuroextrap.group._subjects import check_count, read_subjects
from neuroextrap.stats._validation import (
    brief,
    check_choice,
    check_flags,
    check_n_jobs,
    check_number,
    random_generator,
)

STATISTICS = ("t", "mean", "median")
_ERRORS = (None, "exchangeable", "symmetric")
_LARGEST_THRESHOLD = 0.5
# effects that differ by less are the same, and residuals smaller than this part of the
# values are rounding
_NOTHING = 1e-10
_FEWEST = 20  # subjects of one variance with whom the level holds at .001


@dataclass(frozen=True, kw_only=True)
class SecondLevelOptions:
    """What :func:`second_level_test` is told beside maps, design and contrast, checked.

    Parameters
    ----------
    paired_imgs : like `imgs`, default=None
        A second map of each subject, subtracted from the first. Pairs go by the
        ``sub-<label>`` in names, in whatever order; by the order if names are
        lacking, or share no subject (patients and the controls matched to them).
    mask : path, image, NiftiMasker, SurfaceMasker or None, default=None
        Where to test. If None, every voxel that is finite in all subjects; zeros are
        values, so give a mask where they mean "outside the brain".
    baseline : float, default=0.0
        Value subtracted from every map (the chance level of accuracies).
    whole_blocks : bool, default=False
        Whether blocks are rearranged as wholes instead (several maps of a subject
        that are compared between subjects). Blocks of one size change places; rows
        keep their order.
    errors : {"exchangeable", "symmetric"} or None, default=None
        What the null hypothesis says of residuals. Exchangeable ones are permuted,
        symmetric ones change their sign. If None, "symmetric" for a mean over
        subjects, where permutations change nothing, and with `variance_groups`, whose
        residuals cannot be exchanged; else "exchangeable".
    variance_groups : array-like of shape (n_subjects,) or None, default=None
        Rows of one group have one variance; t becomes the Aspin-Welch v, and residuals
        change their sign (`errors`). A Series is matched by its labels, as in `blocks`.
        Every group needs 20 subjects or more; fewer cause a warning, a finding, and a
        doubt in the first sentence of the page. Of null voxels, .008 had p <= .001 with
        6 subjects of 4 times the noise of 14 others, .004 with 8 and 12, .0024 with 10
        and 10, .0021 with 12 and 12, .0015 with 15 and 15, .0010 with 20 and 20; p <=
        .05 had .05 with all of these numbers.
    statistic : {"t", "mean", "median"}, default="t"
        What is compared: Student's t (v with `variance_groups`), the estimate of the
        contrast, or the median over subjects (without a design only).
    variance_fwhm : float or None, default=None
        Full width at half maximum, in mm, of the Gaussian that smooths the variance of
        t in volumes (pseudo-t): gains power with few subjects.
    step_down : bool, default=False
        Whether to add step-down p-values (``p_value_fwe_step_down``), never larger.
    adjacency : sparse matrix of shape (n_features, n_features) or None, default=None
        Which features are neighbors, for clusters of arrays. Images have theirs:
        voxels that share a face, vertices that share an edge.
    min_subjects : int or None, default=None
        Test voxels that are finite in at least this many subjects, each voxel using the
        subjects that have data there (only without a design). If None, all subjects.
    allow_mixed : bool or sequence of str, default=False
        Names of what may differ among subjects, such as ``["radius", "bounds"]``:
        parameters of the analysis, and options of ``fit_events`` by which samples were
        made. If True, anything. Maps are judged by what the JSON files beside them say.
    allow_native_space : bool, default=False
        Whether maps in the subjects' own spaces (``space-T1w`` in a name, or different
        grids without a name or header that says MNI) are tested voxel by voxel all the
        same.
    random_state : int, numpy.random.Generator or None, default=0
        Seed of the rearrangements.
    n_jobs : int or None, default=1
        Number of threads; does not affect results.
    verbose : int, default=0
        If positive, terminals and notebooks show a progress bar; elsewhere progress
        is logged at level INFO.
    """

    two_sided: bool
    cluster_threshold: float | None
    tfce: bool
    n_permutations: int
    paired_imgs: Any = None
    mask: Any = None
    baseline: float = 0.0
    whole_blocks: bool = False
    errors: str | None = None
    variance_groups: ArrayLike | None = None
    statistic: str = "t"
    variance_fwhm: float | None = None
    step_down: bool = False
    adjacency: Any = None
    min_subjects: int | None = None
    allow_mixed: bool | Sequence[str] = False
    allow_native_space: bool = False
    random_state: int | np.random.Generator | None = 0
    n_jobs: int | None = 1
    verbose: int = 0

    def __post_init__(self):
        """Check what needs no data."""
        check_flags(
            two_sided=self.two_sided,
            step_down=self.step_down,
            tfce=self.tfce,
            whole_blocks=self.whole_blocks,
        )
        check_choice(self.statistic, "statistic", STATISTICS)
        named = self.errors is None or isinstance(self.errors, str)
        if not named or self.errors not in _ERRORS:
            raise ValueError(
                f"errors={brief(self.errors)} must be 'exchangeable' (permutations), "
                "'symmetric' (sign flips) or None"
            )
        check_n_jobs(self.n_jobs)
        self._check_numbers()
        check_count(self.n_permutations, "n_permutations")
        random_generator(self.random_state)
        if not np.isfinite(check_number(self.baseline, "baseline")):
            raise ValueError(f"baseline={self.baseline!r} must be a finite number")

    def _check_numbers(self):
        """Check thresholds, widths and counts."""
        for name in ("variance_fwhm", "cluster_threshold"):
            value = getattr(self, name)
            if value is None:
                continue
            check_number(value, name)
            if self.statistic != "t":
                raise ValueError(
                    f"{name}={value!r} goes with statistic='t' only; leave it out, or "
                    "use tfce=True for clusters of another statistic"
                )
        if self.variance_fwhm is not None and not 0 < self.variance_fwhm < np.inf:
            raise ValueError(
                f"variance_fwhm={self.variance_fwhm!r} must be a positive width in mm"
            )
        threshold = self.cluster_threshold
        if threshold is not None and not 0 < threshold < _LARGEST_THRESHOLD:
            raise ValueError(
                f"cluster_threshold={threshold!r} must be the p-value of a voxel, "
                "between 0 and 0.5 (0.001 is usual)"
            )
        if self.min_subjects is not None:
            check_count(self.min_subjects, "min_subjects", least=2)

    def flips(self, test):
        """Return whether signs are flipped; rows are permuted otherwise."""
        if self.errors is None:
            return test.is_intercept or self.variance_groups is not None
        return self.errors == "symmetric"

    def check(self, test, design_matrix, blocks):
        """Raise if options contradict one another or the design."""
        if self.whole_blocks and blocks is None:
            raise ValueError(
                "whole_blocks=True needs blocks; name each subject's block"
            )
        if self.min_subjects is not None and design_matrix is not None:
            raise ValueError(
                "min_subjects is for the mean over subjects; with a design_matrix test "
                "the voxels that all subjects have, or leave subjects out"
            )
        plain = self.statistic == "t" and self.variance_groups is None
        if test.effect.ndim > 1 and not (plain and self.variance_fwhm is None):
            raise ValueError(
                "several contrasts are tested by F with one variance; use "
                "statistic='t' without variance_groups and variance_fwhm"
            )
        one_sample = test.is_intercept and self.flips(test)
        if self.statistic == "median" and not one_sample:
            raise ValueError(
                "statistic='median' is for the mean over subjects and sign flips; use "
                "'t' or 'mean' with a design_matrix"
            )
        if self.variance_groups is not None and (
            self.statistic != "t" or self.variance_fwhm is not None
        ):
            raise ValueError(
                "variance_groups make t the Aspin-Welch v; leave out variance_fwhm and "
                "use statistic='t'"
            )
        if self.min_subjects is not None and (
            self.variance_groups is not None or self.statistic == "median"
        ):
            raise ValueError(
                "min_subjects goes with the statistics 't' and 'mean', without "
                "variance_groups; leave one of them out"
            )
        if not self.flips(test):
            _check_effect_moves(test, blocks, self.whole_blocks)


def _check_effect_moves(test, blocks, whole_blocks):
    """Raise if no permutation changes the effect."""
    effect = test.rows[:, : test.n_effects]
    groups = np.zeros(len(effect)) if blocks is None or whole_blocks else blocks
    moves = any(
        np.ptp(effect[groups == group], axis=0).max() > _NOTHING
        for group in np.unique(groups)
    )
    if moves:
        return
    if blocks is None or whole_blocks:
        raise ValueError(
            "the contrast is the same number for all subjects, so permutations change "
            "nothing; use errors='symmetric' (sign flips)"
        )
    raise ValueError(
        "the contrast does not vary within any block, so permutations within blocks "
        "change nothing; use whole_blocks=True to exchange blocks"
    )


def read_second_level(imgs, asked, *, repeated):
    """Return subjects, and their values (n_subjects, n_features) above the baseline.

    `asked` are SecondLevelOptions; `repeated` subjects are not warned about.
    """
    min_subjects, baseline = asked.min_subjects, asked.baseline
    mask, paired_imgs = asked.mask, asked.paired_imgs
    how = {
        "allow_mixed": asked.allow_mixed,
        "allow_native_space": asked.allow_native_space,
        "repeated": repeated,
    }
    subjects = read_subjects(imgs, mask, "imgs", min_subjects, **how)
    check_different(subjects.values, "imgs")
    values = subjects.values.astype(float) - baseline
    if paired_imgs is not None:
        where = mask if subjects.masker is None else subjects.masker
        others = read_subjects(paired_imgs, where, "paired_imgs", min_subjects, **how)
        if others.values.shape != subjects.values.shape:
            raise ValueError(
                f"imgs and paired_imgs have shapes {subjects.values.shape} and "
                f"{others.values.shape}; give two maps of each subject, in one order"
            )
        check_different(others.values, "paired_imgs")
        order = order_of_pairs(subjects.files, others.files, ("imgs", "paired_imgs"))
        second = others.values if order is None else others.values[order]
        values = subjects.values.astype(float) - second - baseline
        least = len(values) if min_subjects is None else min_subjects
        usable = np.isfinite(values).sum(axis=0) >= least
        subjects = subjects._replace(usable=usable)
    return subjects, values


def choose_test(subjects, values, design_matrix, contrast):
    """Return the test of a contrast, and subjects with the features that vary."""
    design = in_order_of(subjects.files, design_matrix, "design_matrix")
    test = resolve_test(design, contrast, len(values))
    usable = subjects.usable.copy()
    usable[usable] = _varies(test, values[:, usable])
    if not usable.any():
        raise ValueError(
            "imgs are the same in all subjects, or the design fits them exactly; check "
            "that maps differ"
        )
    return test, subjects._replace(usable=usable)


def _varies(test, values):
    """Return which features are not fitted exactly by the design."""
    known = np.isfinite(values)
    if known.all():
        rows = test.rows
        residuals = values - rows @ (rows.T @ values)
    else:
        mean = np.nanmean(values, axis=0)
        residuals = np.where(known, values - mean, 0.0)
    size = np.abs(np.where(known, values, 0.0)).max(axis=0)
    return np.abs(residuals).max(axis=0) > _NOTHING * size


def per_subject(values, name, subjects):
    """Return one value per subject of SubjectMaps as an array, or None."""
    if values is None:
        return None
    ordered = in_order_of(subjects.files, values, name)
    try:
        array = np.asarray(ordered)
    except ValueError:  # lists of different lengths
        array = np.empty((0, 0))
    n_subjects = len(subjects.values)
    if array.shape != (n_subjects,):
        raise ValueError(
            f"{name} must have one entry per subject ({n_subjects}); got shape "
            f"{array.shape}"
        )
    return array


def findings_of_variances(groups):
    """Return a Finding about groups of too few subjects, if there are any."""
    if groups is None:
        return ()
    fewest = int(np.unique(groups, return_counts=True)[1].min())
    if fewest >= _FEWEST:
        return ()
    few = Finding(
        "small_variance_groups",
        "doubtful",
        fewest,
        P_VALUES,
        f"variance_groups has a group of {fewest} subjects",
        "small p-values are too frequent if variances differ",
        f"have {_FEWEST} or more in every group, or leave variance_groups out if "
        "variances are alike",
    )
    return (few,)
