"""Least squares with non-negative weights, and mixtures of uniforms."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike


def nonnegative_least_squares(columns: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Minimize ||columns @ w - target|| over w >= 0; returns w (n_columns,)."""
    from scipy.optimize import nnls

    return nnls(columns, target, maxiter=30 * columns.shape[1] + 300)[0]


def simplex_least_squares(
    columns: np.ndarray, target: np.ndarray
) -> tuple[np.ndarray, float]:
    """Minimize ||columns @ w - target|| over w >= 0 with sum(w) = 1.

    On the simplex columns @ w - target = Z w with Z = columns - target, so the
    answer is the point of least norm in the convex hull of Z's columns. Appending
    a row of ones with target 1 to Z makes it an ordinary non-negative problem: for
    a total s the cost is s^2 ||Z w||^2 + (s - 1)^2, least over s at an increasing
    function of ||Z w||, so the direction w is exact and only its total shrinks.
    Returns w (n_columns,) and the duality gap, an upper bound on how much of half the
    squared error could still be gained.
    """
    shifted = columns - target[:, None]
    rows = np.vstack([shifted, np.ones(columns.shape[1])])
    weights = nonnegative_least_squares(rows, np.r_[np.zeros(len(target)), 1.0])
    weights /= weights.sum()
    gradient = shifted.T @ (shifted @ weights)
    return weights, float(gradient @ weights - gradient.min())


def uniform_mixture_accuracy(distances: np.ndarray, set_sizes: ArrayLike) -> np.ndarray:
    """Return average accuracy at k of win probabilities uniform on (a, 1).

    (1 - a^k) / (k (1 - a)), and 1 at a = 1, of shape (n_sizes, n_points); `distances`
    (n_points,) are 1 - a.
    """
    k = np.asarray(set_sizes, float)[:, None]
    safe = np.where(distances > 0, distances, 1.0)
    with np.errstate(divide="ignore"):
        power = -np.expm1(k * np.log1p(-safe))
    return np.where(distances > 0, power / (k * safe), 1.0)


def uniform_mixture_cdf(
    u: ArrayLike, distances: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    """Return D(u) of a mixture of uniforms on (1 - distance, 1) and an atom at one."""
    u = np.asarray(u, float)[..., None]
    safe = np.where(distances > 0, distances, 1.0)
    parts = np.where(distances > 0, np.clip((u - (1 - distances)) / safe, 0, 1), u >= 1)
    return parts @ weights
