"""One kernel density of the wrong classes' scores for each test point."""

from __future__ import annotations

from typing import Self

import numpy as np
from scipy import special

from neuroextrap.stats._extrapolation._bandwidth import cross_validated_bandwidth
from neuroextrap.stats._extrapolation._point_wins import (
    PointMethod,
    PointWins,
    split_ties,
)
from neuroextrap.stats._extrapolation._sample import WinSample

_BATCH_NUMBERS = 4_000_000


class KernelDensity(PointMethod):
    """Win probability of every test point from a kernel density of its distractors.

    Two opposing biases: smoothing the density lowers the curve, powering a noisy
    probability raises it. The bandwidth of each is chosen by unbiased cross-validation.

    References
    ----------
    Kay, Naselaris, Prenger & Gallant 2008, supplementary methods (set-size
    extrapolation); Zheng, Achanta & Benjamini 2018, section 5, with the accuracy
    a^(k-1) in place of the printed 1 - (1 - a)^(k-1).
    """

    name = "kde_ucv"
    continuous_scores = True
    bandwidth = "ucv"

    def fit(self, sample: WinSample) -> Self:
        if sample.n_classes < 3:
            raise ValueError(
                f"a kernel density needs at least 3 classes, got {sample.n_classes}; "
                "use method='gaussian_mixture'"
            )
        true_scores = sample.own_scores()
        width = max(1, _BATCH_NUMBERS // sample.n_classes)
        parts = [
            kernel_log_win(
                true_scores[i : i + width],
                sample.distractor_scores(slice(i, i + width)),
                self.bandwidth,
            )
            for i in range(0, len(true_scores), width)
        ]
        log_win = np.concatenate(parts)
        rows, share, weight = split_ties(np.isnan(log_win))
        log_win = np.where(share > 0, np.log(np.maximum(share, 1e-300)), log_win[rows])
        self.points_ = PointWins(log_win, sample.point_weights()[rows] * weight)
        return self


class BiasedKernelDensity(KernelDensity):
    """As `kde_ucv`, with bandwidths by biased cross-validation."""

    name = "kde_bcv"
    bandwidth = "bcv"


def kernel_log_win(
    true_scores: np.ndarray, others: np.ndarray, bandwidth: str
) -> np.ndarray:
    """Return log probabilities (n_test,) of beating a random distractor.

    `true_scores` (n_test,) are the scores of the true classes, `others` (n_test,
    n_others) those of the others, and `bandwidth` is "ucv" or "bcv". A row of equal
    scores is compared as it stands, NaN where the true score is equal too.
    """
    width = cross_validated_bandwidth(others, bandwidth)
    smooth = width > 0
    lead = true_scores[:, None] - others
    lose = np.empty(len(true_scores))
    scaled = lead[smooth] / width[smooth, None]
    lose[smooth] = special.ndtr(-scaled).mean(1)
    behind = lead[~smooth, 0]
    lose[~smooth] = np.where(behind == 0, np.nan, behind < 0)
    with np.errstate(divide="ignore"):
        return np.log1p(-lose)
