"""Curves of two parameters without a distribution of U.

A straight line of logit accuracy in the log number of distractors, and the exact-match
model, a Pitman-Yor process.
"""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from neuroextrap.stats._accuracy import accuracy_weights, row_product
from neuroextrap.stats._extrapolation._gaussian import clip_to_resolution
from neuroextrap.stats._extrapolation._method import (
    ExtrapolationMethod,
    WinMethod,
    WinSample,
    log_spaced_set_sizes,
    measured_curve,
)
from neuroextrap.stats._validation import check_integer, check_level

_N_FIT_SIZES = 100
_BOUNDS = np.array([np.log(1e-4), -9.0]), np.array([np.log(1e8), 9.0])


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
        below = sizes < self._fit_sizes(self.wins_.shape[-1])[0]
        if below.any():
            accuracy[..., below] = measured_curve(self.wins_, sizes[below])
        return accuracy


class PitmanYor(ExtrapolationMethod):
    """A_k = E[D_k] / k with D_k the distinct values among k draws.

    Two parameters, discount d and concentration alpha, fitted to the curve with
    weights log k. It has no distribution of U.

    Parameters
    ----------
    n_fit_sizes : int, default=100
        Largest number of set sizes in the fit, log-spaced in 2..K.

    References
    ----------
    Rocher, Hendrickx & de Montjoye 2025, "A scaling law to model the effectiveness
    of identification techniques", Nature Communications 16.
    """

    name = "pitman_yor"
    uses_scores = False
    has_cdf = False

    def __init__(self, *, n_fit_sizes: int = 100):
        self.n_fit_sizes = check_integer(n_fit_sizes, "n_fit_sizes", minimum=1)

    def fit(self, sample: WinSample) -> Self:
        from scipy.optimize import least_squares

        sizes = log_spaced_set_sizes(sample.n_classes, self.n_fit_sizes)
        curve, root = sample.curve(sizes), np.sqrt(np.log(sizes))

        def residual(point: np.ndarray) -> np.ndarray:
            concentration, discount = _parameters(point)
            return root * (pitman_yor_accuracy(concentration, discount, sizes) - curve)

        starts = [(np.log(12.0), -1.0), (np.log(12.0), 1.0), (np.log(sizes[-1]), -3.0)]
        fits = [
            least_squares(residual, s, bounds=_BOUNDS, max_nfev=2000) for s in starts
        ]
        best = min(fits, key=lambda fit: fit.cost)
        self.concentration_, self.discount_ = _parameters(best.x)
        self.certificate_ = {
            "converged": bool(best.success),
            "message": f"the search for least squares ended: {best.message}",
        }
        return self

    def accuracy(self, set_sizes: ArrayLike) -> np.ndarray:
        return pitman_yor_accuracy(self.concentration_, self.discount_, set_sizes)


def _parameters(point: np.ndarray) -> tuple[float, float]:
    """Return concentration and discount from the free coordinates (log, logit)."""
    return float(np.exp(point[0])), float(special.expit(point[1]))


def pitman_yor_accuracy(
    concentration: float, discount: float, set_sizes: ArrayLike
) -> np.ndarray:
    """Return E[distinct values among k draws] / k (n_sizes,), alpha > 0, 0 < d < 1.

    It is alpha / (d k) times Gamma(a + d + k) Gamma(a) / (Gamma(a + d) Gamma(a + k)),
    less one.
    """
    k = np.asarray(set_sizes, float)
    if concentration < 10:
        at_once = special.betaln(concentration, discount)
        log_ratio = at_once - special.betaln(concentration + k, discount)
    else:
        # differences of log-gammas lose all digits: the integral of
        # digamma(a + k + t) - digamma(a + t) over t in (0, d) is summed instead
        node, weight = np.polynomial.legendre.leggauss(16)
        t = concentration + discount * (node + 1) / 2
        gain = special.digamma(np.add.outer(k, t)) - special.digamma(t)
        log_ratio = gain @ weight * (discount / 2)
    return concentration / (discount * k) * np.expm1(log_ratio)
