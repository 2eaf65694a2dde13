"""Means of functions of a probit-normal win probability, with derivatives.

The win probability is U = Phi(W), W normal with mean mu and standard deviation
nu. Everything here is a trapezoidal sum over one fixed grid of W, which
converges exponentially because the integrands are analytic and vanish at both
ends of the grid (what does not vanish there is split off in closed form). One
grid for all regions turns a whole brain into one matrix product.
"""

from dataclasses import dataclass

import numpy as np
from scipy import special

LOWEST, HIGHEST = -9.0, 14.0
MEAN_RANGE = (-8.0, 12.0)
LOG_SD_RANGE = (np.log(0.1), np.log(5.0))
_N_DERIVATIVES = 6


@dataclass(frozen=True)
class NormalTable:
    """Columns g_j(W) tabulated on a grid: E g_j = offset + slope Phi(s) + G @ table.

    Parameters
    ----------
    nodes : ndarray of shape (n_nodes,)
        Equispaced grid of W.
    table : ndarray of shape (n_nodes, n_columns)
        Part of each column that vanishes at both ends, times the grid's step.
    offset, slope : ndarray of shape (n_columns,)
        Closed-form part; Phi(s) = E Phi(W), s = mu / sqrt(1 + nu^2).
    """

    nodes: np.ndarray
    table: np.ndarray
    offset: np.ndarray
    slope: np.ndarray


def grid_nodes(step):
    """Equispaced nodes over the whole range of W."""
    return np.linspace(LOWEST, HIGHEST, int(np.ceil((HIGHEST - LOWEST) / step)) + 1)


def power_table(set_sizes, *, step=1 / 32):
    """Tabulate Phi(W)^(k - 1) for every set size k.

    Parameters
    ----------
    set_sizes : array_like of shape (n_sizes,)
        Numbers of classes k >= 2; they need not be integers.
    step : float
        Step of the grid. 1/32 gives errors below 1e-14 up to k = 1e15, 1/16 up to
        k = 1e5.

    Returns
    -------
    NormalTable
        One column a set size.
    """
    nodes = grid_nodes(step)
    power = np.asarray(set_sizes, float) - 2
    log_cdf = special.log_ndtr(nodes)[:, None]
    vanishing = np.exp(log_cdf) * np.expm1(power * log_cdf)
    ones = np.ones(power.size)
    return NormalTable(nodes, vanishing * (nodes[1] - nodes[0]), 0 * ones, ones)


def binomial_table(n_classes):
    """Tabulate the probability of each number of wins, Binomial(K - 1, Phi(W)).

    Parameters
    ----------
    n_classes : int
        Number of classes K.

    Returns
    -------
    NormalTable
        One column for each number of wins v = 0..K-1.
    """
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


def table_means(table, mean, log_sd):
    """Return E g_j for each (mu, nu).

    Parameters
    ----------
    table : NormalTable
        The functions g_j.
    mean, log_sd : array_like of shape (n,)
        mu and log nu.

    Returns
    -------
    ndarray of shape (n, n_columns)
        Expectations.
    """
    mean, log_sd = np.atleast_1d(mean), np.atleast_1d(log_sd)
    weights = _density(table.nodes, mean, log_sd)[1]
    pairwise = _pairwise(mean, log_sd)[0]
    return table.offset + np.outer(pairwise, table.slope) + weights @ table.table


def table_derivatives(table, mean, log_sd):
    """Return E g_j and its first and second derivatives in (mu, log nu).

    Parameters
    ----------
    table : NormalTable
        The functions g_j.
    mean, log_sd : ndarray of shape (n,)
        mu and log nu.

    Returns
    -------
    ndarray of shape (6, n, n_columns)
        Value, d mu, d log nu, d mu mu, d mu log nu, d log nu log nu.
    """
    z, weights = _density(table.nodes, mean, log_sd)
    precision = np.exp(-log_sd)[:, None]
    spread = z * z - 1
    stack = np.empty((_N_DERIVATIVES, *weights.shape))
    stack[0] = weights
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


def _density(nodes, mean, log_sd):
    """Standardized nodes and normal density, both (n, n_nodes)."""
    precision = np.exp(-log_sd)[:, None]
    z = (nodes - mean[:, None]) * precision
    return z, np.exp(-0.5 * z * z) * (precision / np.sqrt(2 * np.pi))


def _pairwise(mean, log_sd):
    """E Phi(W) = Phi(mu / sqrt(1 + nu^2)) and its derivatives, shape (6, n)."""
    variance = np.exp(2 * log_sd)
    total = 1 + variance
    root = np.sqrt(total)
    s, s_mean = mean / root, 1 / root
    s_mixed = -variance / total / root
    s_log_sd = mean * s_mixed
    s_log_sd2 = s_log_sd * (2 - 3 * variance / total)
    phi = np.exp(-0.5 * s * s) / np.sqrt(2 * np.pi)
    return np.stack(
        [
            special.ndtr(s),
            phi * s_mean,
            phi * s_log_sd,
            -phi * s * s_mean**2,
            phi * (s_mixed - s * s_mean * s_log_sd),
            phi * (s_log_sd2 - s * s_log_sd**2),
        ]
    )
