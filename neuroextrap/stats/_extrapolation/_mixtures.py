"""Mixtures: of normals, and of uniforms by least squares with non-negative weights."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from neuroextrap.stats._extrapolation._method import (
    ExtrapolationMethod,
    Mixture,
    PointWins,
    UniformWins,
    WinSample,
    log_spaced_set_sizes,
)
from neuroextrap.stats._validation import check_integer

LOWEST, HIGHEST = -9.0, 14.0
MEAN_RANGE = (-8.0, 12.0)
LOG_SD_RANGE = (np.log(0.1), np.log(5.0))
_N_DERIVATIVES = 6


@dataclass(frozen=True)
class NormalTable:
    """Columns g_j(W) tabulated on a grid: E g_j = offset + slope Phi(s) + G @ table.

    `table` holds the part of each column that vanishes at both ends; `offset` and
    `slope` (n_columns,) the closed form, Phi(s) = E Phi(W), s = mu / sqrt(1 + nu^2).
    """

    nodes: np.ndarray
    table: np.ndarray
    offset: np.ndarray
    slope: np.ndarray

    def columns(self, chosen: np.ndarray) -> NormalTable:
        """Return the table of some of the columns."""
        return NormalTable(
            self.nodes, self.table[:, chosen], self.offset[chosen], self.slope[chosen]
        )


def grid_nodes(step: float) -> np.ndarray:
    """Return equispaced nodes over the whole range of W."""
    return np.linspace(LOWEST, HIGHEST, int(np.ceil((HIGHEST - LOWEST) / step)) + 1)


def power_table(set_sizes: ArrayLike, *, step: float = 1 / 32) -> NormalTable:
    """Tabulate Phi(W)^(k - 1); the step's errors are below 1e-14 up to k = 1e15."""
    nodes = grid_nodes(step)
    power = np.asarray(set_sizes, float) - 2
    log_cdf = special.log_ndtr(nodes)[:, None]
    vanishing = np.exp(log_cdf) * np.expm1(power * log_cdf)
    ones = np.ones(power.size)
    return NormalTable(nodes, vanishing * (nodes[1] - nodes[0]), 0 * ones, ones)


def binomial_table(n_classes: int) -> NormalTable:
    """Tabulate the probability of v = 0..K-1 wins, Binomial(K - 1, Phi(W))."""
    nodes = grid_nodes(min(1 / 16, 0.5 / np.sqrt(n_classes)))
    n_others, wins = n_classes - 1, np.arange(n_classes)
    win, lose = special.log_ndtr(nodes)[:, None], special.log_ndtr(-nodes)[:, None]
    log_choose = -np.log(n_classes) - special.betaln(wins + 1, n_classes - wins)
    table = np.exp(log_choose + wins * win + (n_others - wins) * lose)
    offset, slope = np.zeros(n_classes), np.zeros(n_classes)
    table[:, 0] = np.exp(lose[:, 0]) * np.expm1((n_others - 1) * lose[:, 0])
    table[:, -1] = np.exp(win[:, 0]) * np.expm1((n_others - 1) * win[:, 0])
    offset[0], slope[0], slope[-1] = 1, -1, 1
    return NormalTable(nodes, table * (nodes[1] - nodes[0]), offset, slope)


def table_means(table: NormalTable, mean: ArrayLike, log_sd: ArrayLike) -> np.ndarray:
    """Return E g_j for each (mu, log nu) of shape (n,), as (n, n_columns)."""
    mean, log_sd = np.atleast_1d(mean), np.atleast_1d(log_sd)
    weights = _density(table.nodes, mean, log_sd)[1]
    pairwise = _pairwise(mean, log_sd)[0]
    return table.offset + np.outer(pairwise, table.slope) + weights @ table.table


def table_derivatives(
    table: NormalTable, mean: np.ndarray, log_sd: np.ndarray
) -> np.ndarray:
    """Return E g_j and its derivatives in (mu, log nu) (n,), (6, n, n_columns)."""
    z, weights = _density(table.nodes, mean, log_sd)
    precision = np.exp(-log_sd)[:, None]
    spread = z * z - 1
    stack = np.empty((_N_DERIVATIVES, *weights.shape))
    stack[0] = weights  # then d mu, d log nu, d mu mu, d mu log nu, d log nu log nu
    stack[1] = weights * z * precision
    stack[2] = weights * spread
    stack[3] = weights * spread * precision**2
    stack[4] = stack[1] * (spread - 2)
    stack[5] = weights * (spread**2 - 2 * z * z)
    means = stack.reshape(-1, weights.shape[1]) @ table.table
    means = means.reshape(_N_DERIVATIVES, len(mean), -1)
    means += _pairwise(mean, log_sd)[:, :, None] * table.slope
    means[0] += table.offset
    return means


def _density(
    nodes: np.ndarray, mean: np.ndarray, log_sd: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return standardized nodes and the normal density, both (n, n_nodes)."""
    precision = np.exp(-log_sd)[:, None]
    z = (nodes - mean[:, None]) * precision
    return z, np.exp(-0.5 * z * z) * (precision / np.sqrt(2 * np.pi))


def _pairwise(mean: np.ndarray, log_sd: np.ndarray) -> np.ndarray:
    """Return E Phi(W) = Phi(mu / sqrt(1 + nu^2)) and its derivatives, (6, n)."""
    variance = np.exp(2 * log_sd)
    total = 1 + variance
    root = np.sqrt(total)
    s, s_mean = mean / root, 1 / root
    s_mixed = -variance / total / root
    s_log_sd = mean * s_mixed
    phi = np.exp(-0.5 * s * s) / np.sqrt(2 * np.pi)
    return np.stack(
        [
            special.ndtr(s),
            phi * s_mean,
            phi * s_log_sd,
            -phi * s * s_mean**2,
            phi * (s_mixed - s * s_mean * s_log_sd),
            phi * (s_log_sd * (2 - 3 * variance / total) - s * s_log_sd**2),
        ]
    )


def nonnegative_least_squares(columns: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Minimize ||columns @ w - target|| over w >= 0; returns w (n_columns,)."""
    from scipy.optimize import nnls

    return nnls(columns, target, maxiter=30 * columns.shape[1] + 300)[0]


def simplex_least_squares(
    columns: np.ndarray, target: np.ndarray
) -> tuple[np.ndarray, float]:
    """Minimize ||columns @ w - target|| over w >= 0, sum(w) = 1; return w and the gap.

    With Z = columns - target, a row of ones with target 1 makes it a non-negative
    problem: for a total s the cost is s^2 ||Z w||^2 + (s - 1)^2, so that the direction
    is exact and only the total shrinks. The gap bounds what half the squares may gain.
    """
    shifted = columns - target[:, None]
    rows = np.vstack([shifted, np.ones(columns.shape[1])])
    weights = nonnegative_least_squares(rows, np.r_[np.zeros(len(target)), 1.0])
    weights /= weights.sum()
    gradient = shifted.T @ (shifted @ weights)
    return weights, float(gradient @ weights - gradient.min())


_TOLERANCE = 1e-6


class CurveMixture(ExtrapolationMethod):
    """Mixture over a dictionary of curves, weights >= 0 that sum to one."""

    reliable_factor = 2.0
    mixture: ClassVar[type[Mixture]]

    def __init__(self, n_atoms: int, option: str, max_fit_sizes: int):
        self.n_atoms = check_integer(n_atoms, option, minimum=2)
        self.max_fit_sizes = check_integer(max_fit_sizes, "max_fit_sizes", minimum=1)

    @abstractmethod
    def grid(self, n_classes: int) -> np.ndarray:
        """Return the atoms of the dictionary, shape (n_atoms,)."""

    def fit(self, sample: WinSample) -> Self:
        sizes = log_spaced_set_sizes(sample.n_classes, self.max_fit_sizes)
        atoms = self.grid(sample.n_classes)
        columns, target = self.mixture.curves(atoms, sizes), sample.curve(sizes)
        weights, gap = simplex_least_squares(columns, target)
        self.mixture_ = self.mixture.of_used(atoms, weights)
        self.certificate_ = {
            "converged": gap < _TOLERANCE,
            "message": (
                f"half the squared error of the curve is at most {gap:.2g} above its "
                f"minimum ({_TOLERANCE:g} asked for)"
            ),
            "duality_gap": gap,
        }
        return self


class Exponential(CurveMixture):
    """Mixture of exp(-kappa (k - 1)), kappa = -log U, by least squares.

    The weights are non-negative and sum to one with an atom at U = 0 (accuracy 0
    at every k) among them. Not identified beyond about 2K.

    Parameters
    ----------
    n_rates : int, default=1000
        Number of finite positive rates kappa, on a geometric grid.
    max_fit_sizes : int, default=200
        Largest number of set sizes the curve is compared at, log-spaced in 2..K.

    References
    ----------
    Zheng, Achanta & Benjamini 2016, the mixed exponential estimator with the sign of
    its exponent corrected.
    """

    name = "exponential"
    mixture = PointWins

    def __init__(self, *, n_rates: int = 1000, max_fit_sizes: int = 200):
        super().__init__(n_rates, "n_rates", max_fit_sizes)

    def grid(self, n_classes: int) -> np.ndarray:
        rates = np.geomspace(1e-5 / n_classes, 30.0, self.n_atoms)
        return -np.r_[0.0, rates, np.inf]


class Spline(CurveMixture):
    """Non-decreasing density of U by linear splines in D(u) and least squares.

    D(u) = sum_a beta_a max(u - a, 0) with beta >= 0 and D(1) = sum_a beta_a (1 - a)
    at most one; in the weights beta_a (1 - a) that is a mixture of uniforms on
    (a, 1), the atom at U = 1 taking what is left. Not identified beyond about 2K.

    Parameters
    ----------
    n_knots : int, default=10_000
        Number of knots a, geometric in 1 - a.
    max_fit_sizes : int, default=200
        Largest number of set sizes the curve is compared at, log-spaced in 2..K.

    References
    ----------
    Zheng, Achanta & Benjamini 2018, ClassExReg with a linear spline basis.
    """

    name = "spline"
    mixture = UniformWins

    def __init__(self, *, n_knots: int = 10_000, max_fit_sizes: int = 200):
        super().__init__(n_knots, "n_knots", max_fit_sizes)

    def grid(self, n_classes: int) -> np.ndarray:
        """Return 1 - a for every knot a, and 0 for the atom at one."""
        return np.r_[np.geomspace(1.0, 1e-5 / n_classes, self.n_atoms), 0.0]
