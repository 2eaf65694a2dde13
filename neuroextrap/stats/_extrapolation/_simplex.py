"""Least squares with non-negative weights, and the grids the dictionaries live on."""

import numpy as np


def nonnegative_least_squares(columns, target):
    """Minimize ||columns @ w - target|| over w >= 0.

    Parameters
    ----------
    columns : ndarray of shape (n_rows, n_columns)
        Dictionary.
    target : ndarray of shape (n_rows,)
        What to reproduce.

    Returns
    -------
    ndarray of shape (n_columns,)
        Weights.
    """
    from scipy.optimize import nnls

    return nnls(columns, target, maxiter=30 * columns.shape[1] + 300)[0]


def simplex_least_squares(columns, target):
    """Minimize ||columns @ w - target|| over w >= 0 with sum(w) = 1.

    On the simplex columns @ w - target = Z w with Z = columns - target, so the
    answer is the point of least norm in the convex hull of Z's columns. Appending
    a row of ones with target 1 to Z makes it an ordinary non-negative problem: for
    a total s the cost is s^2 ||Z w||^2 + (s - 1)^2, least over s at an increasing
    function of ||Z w||, so the direction w is exact and only its total shrinks.

    Parameters
    ----------
    columns : ndarray of shape (n_rows, n_columns)
        Dictionary.
    target : ndarray of shape (n_rows,)
        What to reproduce.

    Returns
    -------
    weights : ndarray of shape (n_columns,)
        Non-negative, summing to one.
    gap : float
        Duality gap: an upper bound on how much of half the squared error could
        still be gained.
    """
    shifted = columns - target[:, None]
    rows = np.vstack([shifted, np.ones(columns.shape[1])])
    weights = nonnegative_least_squares(rows, np.r_[np.zeros(len(target)), 1.0])
    weights /= weights.sum()
    gradient = shifted.T @ (shifted @ weights)
    return weights, float(gradient @ weights - gradient.min())


def distances_from_one(n_points, smallest):
    """Geometric grid of 1 - u from 1 down to `smallest`."""
    return np.geomspace(1.0, smallest, n_points)


def uniform_mixture_accuracy(distances, set_sizes):
    """Average accuracy at k of win probabilities uniform on (a, 1).

    Parameters
    ----------
    distances : ndarray of shape (n_points,)
        1 - a; 0 is the atom at U = 1.
    set_sizes : array_like of shape (n_sizes,)
        Numbers of classes k.

    Returns
    -------
    ndarray of shape (n_sizes, n_points)
        (1 - a^k) / (k (1 - a)), and 1 at a = 1.
    """
    k = np.asarray(set_sizes, float)[:, None]
    safe = np.where(distances > 0, distances, 1.0)
    with np.errstate(divide="ignore"):
        power = -np.expm1(k * np.log1p(-safe))
    return np.where(distances > 0, power / (k * safe), 1.0)
