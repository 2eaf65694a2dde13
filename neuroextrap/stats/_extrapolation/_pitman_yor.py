"""Exact-match model: a Pitman-Yor process with two parameters."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from neuroextrap.stats._extrapolation._method import ExtrapolationMethod
from neuroextrap.stats._extrapolation._sample import WinSample, log_spaced_set_sizes
from neuroextrap.stats._validation import check_integer

_BOUNDS = np.array([np.log(1e-4), -9.0]), np.array([np.log(1e8), 9.0])


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
    """Return E[distinct values among k draws] / k (n_sizes,), alpha > 0, 0 < d < 1."""
    k = np.asarray(set_sizes, float)
    log_ratio = _log_gamma_ratio(concentration, discount, k)
    return concentration / (discount * k) * np.expm1(log_ratio)


def _log_gamma_ratio(start: float, discount: float, k: np.ndarray) -> np.ndarray:
    """Return the log of Gamma(a + d + k) Gamma(a) / (Gamma(a + d) Gamma(a + k)).

    Differences of log-gammas lose all digits when a is large; there the integral of
    digamma(a + k + t) - digamma(a + t) over t in (0, d) is summed instead.
    """
    if start < 10:
        return special.betaln(start, discount) - special.betaln(start + k, discount)
    node, weight = np.polynomial.legendre.leggauss(16)
    t = start + discount * (node + 1) / 2
    gain = special.digamma(np.add.outer(k, t)) - special.digamma(t)
    return gain @ weight * (discount / 2)
