"""The options of a second-level test, checked against one another and the design."""

from dataclasses import dataclass

import numpy as np

from neuroextrap.group._subjects import check_count
from neuroextrap.stats._validation import check_flags

STATISTICS = ("t", "mean", "median")
_ERRORS = (None, "exchangeable", "symmetric")
_LARGEST_THRESHOLD = 0.5
# effects that differ by less are the same
_NOTHING = 1e-10


@dataclass(frozen=True)
class Asked:
    """The options that name a statistic and a hypothesis."""

    statistic: str = "t"
    errors: str | None = None
    two_sided: bool = False
    variance_fwhm: float | None = None
    cluster_threshold: float | None = None
    min_subjects: int | None = None
    variances_differ: bool = False

    def __post_init__(self):
        """Check what needs no data."""
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

    def _check_numbers(self):
        """Check thresholds, widths and counts."""
        check_flags(two_sided=self.two_sided)
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

    def check(self, test, design_matrix, blocks, whole_blocks, variance_groups):
        """Raise if options contradict one another or the design."""
        if whole_blocks and blocks is None:
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
        if variance_groups is not None and (
            self.statistic != "t" or self.variance_fwhm is not None
        ):
            raise ValueError(
                "variance_groups make t the Aspin-Welch v; leave out variance_fwhm and "
                "use statistic='t'"
            )
        if self.min_subjects is not None and (
            variance_groups is not None or self.statistic == "median"
        ):
            raise ValueError(
                "min_subjects goes with the statistics 't' and 'mean', without "
                "variance_groups; leave one of them out"
            )
        if not self.flips(test):
            _check_effect_moves(test, blocks, whole_blocks)


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
