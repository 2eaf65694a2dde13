"""A straight line of logit accuracy in the log number of distractors."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from neuroextrap.stats._accuracy import accuracy_weights, row_product
from neuroextrap.stats._extrapolation._gaussian import clip_to_resolution
from neuroextrap.stats._extrapolation._method import ExtrapolationMethod
from neuroextrap.stats._extrapolation._sample import WinSample, measured_curve

_N_FIT_SIZES = 100


class Logistic(ExtrapolationMethod):
    """Straight line of logit A_k in log(k - 1), fitted to the upper measured range.

    The naive rival that every other method has to beat. With log(k - 1), the number of
    distractors, in place of log k the line is exact at chance (slope -1) and for win
    probabilities U ~ Beta(a, 1); with many classes the two are the same. Least squares
    with equal weights at no more than 100 log-spaced set sizes from `start` times K to
    K; below, the prediction is the measured curve. The slope is at most zero, and -1
    where only one set size is measured. Accuracies of 0 or 1 are taken to be half a
    test point away. It has no distribution of U.

    Parameters
    ----------
    start : float, default=0.25
        Smallest set size of the fit as a share of K.

    References
    ----------
    Friedman et al. 2019, "Biometric performance as a function of gallery size",
    Applied Sciences 9 (a straight line in the log number of people enrolled).
    """

    name = "logistic"
    uses_scores = False
    has_cdf = False
    monotone = False

    def __init__(self, *, start: float = 0.25):
        if not 0 < start < 1:
            raise ValueError(f"start={start} must lie between 0 and 1; use 0.25")
        self.start = start

    def fit(self, sample: WinSample) -> Self:
        lines = fit_lines(sample.wins[None], np.array([sample.n_test]), self.start)
        self.intercept_, self.slope_ = lines[0]
        # below its range the measured curve holds
        self.first_, self.wins_ = (
            _fit_sizes(sample.n_classes, self.start)[0],
            sample.wins,
        )
        return self

    def accuracy(self, set_sizes: ArrayLike) -> np.ndarray:
        sizes = np.asarray(set_sizes, float)
        lines = np.array([[self.intercept_, self.slope_]])
        accuracy = predict_lines(lines, sizes)[0]
        below = sizes < self.first_
        if below.any():
            accuracy[below] = measured_curve(self.wins_, sizes[below])
        return accuracy


def fit_lines(wins: np.ndarray, n_test: np.ndarray, start: float = 0.25) -> np.ndarray:
    """Fit intercepts and slopes (n_regions, 2) to wins (n_regions, n_classes)."""
    n_classes = wins.shape[1]
    sizes = _fit_sizes(n_classes, start)
    curves = row_product(wins, accuracy_weights(n_classes, sizes))
    y = special.logit(clip_to_resolution(curves, n_test[:, None]))
    x = np.log(sizes - 1)
    spread = x - x.mean()
    slope = np.full(len(wins), -1.0)
    if len(sizes) > 1:
        slope = np.minimum(row_product(y, spread[:, None])[:, 0] / (spread @ spread), 0)
    return np.stack([y.mean(axis=1) - slope * x.mean(), slope], axis=1)


def predict_lines(lines: np.ndarray, set_sizes: np.ndarray) -> np.ndarray:
    """Return the accuracy of each line at each set size, (n_regions, n_sizes)."""
    return special.expit(lines[:, :1] + lines[:, 1:] * np.log(set_sizes - 1))


def _fit_sizes(n_classes: int, start: float) -> np.ndarray:
    """Return log-spaced set sizes from `start` times K to K, the last two at least."""
    first = max(2, min(int(np.ceil(start * n_classes)), n_classes - 1))
    return np.unique(np.rint(np.geomspace(first, n_classes, _N_FIT_SIZES)).astype(int))
