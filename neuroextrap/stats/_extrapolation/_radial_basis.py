"""ClassExReg: non-negative regression of the curve on radial basis functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from neuroextrap.stats._extrapolation._method import ExtrapolationMethod
from neuroextrap.stats._extrapolation._mixtures import (
    nonnegative_least_squares,
    power_table,
    table_means,
)
from neuroextrap.stats._extrapolation._sample import WinSample
from neuroextrap.stats._validation import check_integer

BANDWIDTHS = tuple(round(0.1 * i, 1) for i in range(1, 11))

_INVISIBLE = 1e-6


class RadialBasis(ExtrapolationMethod):
    """Non-negative regression on E[Phi(N(t, h^2))^(k - 1)] and a constant.

    The bandwidth h minimizes the error of predicting A_K from the sizes up to K/2
    of random half samples of the classes (without the scores: of the whole
    sample's own curve). The weights are not normalized.

    Parameters
    ----------
    bandwidths : sequence of float, default=(0.1, 0.2, ..., 1.0)
        Candidates for h, each at least 0.1.
    n_half_samples : int, default=20
        Number of half samples drawn.
    n_fit_sizes : int, default=100
        Number of equispaced set sizes in the regression.
    random_state : int, numpy.random.Generator or None, default=0
        Seed of the half samples.

    References
    ----------
    Zheng, Achanta & Benjamini 2018, section 4 (knots up to Phi^-1(1 - 1/K^2)).
    """

    name = "radial_basis"

    def __init__(
        self,
        *,
        bandwidths: Sequence[float] = BANDWIDTHS,
        n_half_samples: int = 20,
        n_fit_sizes: int = 100,
        random_state: int | np.random.Generator | None = 0,
    ):
        self.bandwidths = tuple(float(h) for h in bandwidths)
        if not self.bandwidths or min(self.bandwidths) < 0.1:
            raise ValueError(
                f"bandwidths must be at least 0.1, got {tuple(bandwidths)}"
            )
        self.n_half_samples = check_integer(n_half_samples, "n_half_samples", minimum=1)
        self.n_fit_sizes = check_integer(n_fit_sizes, "n_fit_sizes", minimum=1)
        self.random_state = random_state

    def fit(self, sample: WinSample) -> Self:
        self.bandwidth_ = self._choose(sample)
        sizes = equispaced_set_sizes(sample.n_classes, self.n_fit_sizes)
        self.knots_ = radial_knots(sample.n_classes, self.bandwidth_)
        columns = radial_columns(self.knots_, self.bandwidth_, sizes)
        self.weights_ = _regress(columns, sample.curve(sizes))
        return self

    def _choose(self, sample: WinSample) -> float:
        """Return the bandwidth that best predicts A_K from half the classes."""
        if len(self.bandwidths) == 1:
            return self.bandwidths[0]
        n_half = max(sample.n_classes // 2, 2)
        sizes = equispaced_set_sizes(n_half, self.n_fit_sizes)
        curves = sample.half_curves(
            n_half, sizes, n_draws=self.n_half_samples, random_state=self.random_state
        )
        errors = []
        for h in self.bandwidths:
            knots = radial_knots(sample.n_classes, h)  # those of the final fit
            columns = radial_columns(knots, h, sizes)
            ahead = radial_columns(knots, h, [sample.n_classes])[0]
            predicted = [ahead @ _regress(columns, c) for c in curves]
            errors.append(np.mean((np.array(predicted) - sample.wins[-1]) ** 2))
        return self.bandwidths[int(np.argmin(errors))]

    def accuracy(self, set_sizes: ArrayLike) -> np.ndarray:
        return radial_columns(self.knots_, self.bandwidth_, set_sizes) @ self.weights_

    def cdf(self, u: ArrayLike) -> np.ndarray:
        z = (special.ndtri(u)[..., None] - self.knots_) / self.bandwidth_
        certain = np.asarray(u) >= 1
        return special.ndtr(z) @ self.weights_[:-1] + certain * self.weights_[-1]


def _regress(columns: np.ndarray, curve: np.ndarray) -> np.ndarray:
    """Fit a curve by non-negative weights of the columns that are not all but zero."""
    weights = np.zeros(columns.shape[1])
    seen = columns.max(0) > _INVISIBLE
    weights[seen] = nonnegative_least_squares(columns[:, seen], curve)
    return weights


def equispaced_set_sizes(n_classes: int, n_sizes: int) -> np.ndarray:
    """Return at most `n_sizes` distinct equispaced set sizes from 2 up to K."""
    step = n_classes / min(n_sizes, n_classes - 1)
    sizes = np.rint(step * np.arange(1, min(n_sizes, n_classes - 1) + 1)).astype(int)
    return np.unique(np.clip(sizes, 2, n_classes))


def radial_knots(n_classes: int, bandwidth: float) -> np.ndarray:
    """Return equispaced knots within +- Phi^-1(1 - 1/K^2), about a bandwidth apart."""
    largest = -special.ndtri(1 / n_classes**2)
    return np.linspace(-largest, largest, 2 * int(np.ceil(largest / bandwidth)) + 1)


def radial_columns(
    knots: np.ndarray, bandwidth: float, set_sizes: ArrayLike
) -> np.ndarray:
    """Return E[Phi(N(t, h^2))^(k - 1)] for each size and knot, and a column of ones."""
    log_sd = np.full(len(knots), np.log(bandwidth))
    columns = table_means(power_table(set_sizes), knots, log_sd).T
    return np.hstack([columns, np.ones((len(columns), 1))])
