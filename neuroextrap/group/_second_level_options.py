"""The options of a second-level test, checked against one another and the design."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from neuroextrap.group._subjects import check_count
from neuroextrap.stats._validation import check_flags, random_generator

STATISTICS = ("t", "mean", "median")
_ERRORS = (None, "exchangeable", "symmetric")
_LARGEST_THRESHOLD = 0.5
# effects that differ by less are the same
_NOTHING = 1e-10


@dataclass(frozen=True, kw_only=True)
class SecondLevelOptions:
    """The options of :func:`second_level_test` that are no data, checked."""

    statistic: str
    errors: str | None
    two_sided: bool
    variance_fwhm: float | None
    step_down: bool
    cluster_threshold: float | None
    tfce: bool
    min_subjects: int | None
    baseline: float
    whole_blocks: bool
    n_permutations: int
    random_state: Any
    variances_differ: bool

    def __post_init__(self):
        """Check what needs no data."""
        check_flags(
            two_sided=self.two_sided,
            step_down=self.step_down,
            tfce=self.tfce,
            whole_blocks=self.whole_blocks,
        )
        if self.statistic not in STATISTICS:
            raise ValueError(
                f"statistic={self.statistic!r} must be one of {', '.join(STATISTICS)}"
            )
        if self.errors not in _ERRORS:
            raise ValueError(
                f"errors={self.errors!r} must be 'exchangeable' (permutations), "
                "'symmetric' (sign flips) or None"
            )
        self._check_numbers()
        check_count(self.n_permutations, "n_permutations")
        random_generator(self.random_state)
        if not np.isfinite(self.baseline):
            raise ValueError(f"baseline={self.baseline!r} must be a finite number")

    def _check_numbers(self):
        """Check thresholds, widths and counts."""
        for name in ("variance_fwhm", "cluster_threshold"):
            value = getattr(self, name)
            if value is not None and self.statistic != "t":
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
            return test.is_intercept or self.variances_differ
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
        one_sample = test.is_intercept and self.flips(test)
        if self.statistic == "median" and not one_sample:
            raise ValueError(
                "statistic='median' is for the mean over subjects and sign flips; use "
                "'t' or 'mean' with a design_matrix"
            )
        if self.variances_differ and (
            self.statistic != "t" or self.variance_fwhm is not None
        ):
            raise ValueError(
                "variance_groups make t the Aspin-Welch v; leave out variance_fwhm and "
                "use statistic='t'"
            )
        if self.min_subjects is not None and (
            self.variances_differ or self.statistic == "median"
        ):
            raise ValueError(
                "min_subjects goes with the statistics 't' and 'mean', without "
                "variance_groups; leave one of them out"
            )
        if not self.flips(test):
            _check_effect_moves(test, blocks, self.whole_blocks)


def _check_effect_moves(test, blocks, whole_blocks):
    """Raise if no permutation changes the effect."""
    effect = test.rows[:, 0]
    groups = np.zeros(len(effect)) if blocks is None or whole_blocks else blocks
    moves = any(
        np.ptp(effect[groups == group]) > _NOTHING for group in np.unique(groups)
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
