"""A straight line of logit accuracy in the log number of distractors."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from neuroextrap.stats._accuracy import accuracy_weights, row_product
from neuroextrap.stats._extrapolation._gaussian import clip_to_resolution
from neuroextrap.stats._extrapolation._method import WinMethod
from neuroextrap.stats._extrapolation._sample import measured_curve
from neuroextrap.stats._validation import check_level

_N_FIT_SIZES = 100


class Logistic(WinMethod):
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
    has_cdf = False
    monotone = False

    def __init__(self, *, start: float = 0.25):
        self.start = check_level(start, "start")

    def fit_many(
        self, wins: np.ndarray, n_test: np.ndarray, start: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """Return intercepts and slopes."""
        del start
        n_classes = wins.shape[1]
        sizes = self._fit_sizes(n_classes)
        curves = row_product(wins, accuracy_weights(n_classes, sizes))
        y = special.logit(clip_to_resolution(curves, n_test[:, None]))
        x = np.log(sizes - 1)
        spread = x - x.mean()
        slope = np.full(len(wins), -1.0)
        if len(sizes) > 1:
            slope = row_product(y, spread[:, None])[:, 0] / (spread @ spread)
            slope = np.minimum(slope, 0)
        return np.stack([y.mean(axis=1) - slope * x.mean(), slope], axis=1), None

    def _fit_sizes(self, n_classes: int) -> np.ndarray:
        """Return log-spaced sizes from `start` times K to K, the last two at least."""
        first = max(2, min(int(np.ceil(self.start * n_classes)), n_classes - 1))
        sizes = np.geomspace(first, n_classes, _N_FIT_SIZES)
        return np.unique(np.rint(sizes).astype(int))

    def curves(self, parameters: np.ndarray, set_sizes: ArrayLike) -> np.ndarray:
        log_distractors = np.log(np.asarray(set_sizes, float) - 1)
        return special.expit(parameters[:, :1] + parameters[:, 1:] * log_distractors)

    def accuracy(self, set_sizes: ArrayLike) -> np.ndarray:
        """Predict, and return the measured curve below the range of the fit."""
        sizes, accuracy = np.asarray(set_sizes, float), super().accuracy(set_sizes)
        below = sizes < self._fit_sizes(len(self.wins_))[0]
        if below.any():
            accuracy[below] = measured_curve(self.wins_, sizes[below])
        return accuracy
