"""Predictions from one win probability for each test point."""

import numpy as np

_BLOCK = 4_000_000


class PointWins:
    """Average accuracy and distribution of per-point win probabilities.

    Parameters
    ----------
    log_win : ndarray of shape (n_test,)
        log U of each test point, at most 0.
    weights : ndarray of shape (n_test,)
        Weight of each test point; they sum to one.
    """

    def __init__(self, log_win, weights):
        self.log_win = log_win
        self.weights = weights

    def accuracy(self, set_sizes):
        """Weighted mean of U^(k - 1) at each set size."""
        power = np.asarray(set_sizes, float) - 1
        step = max(1, _BLOCK // len(self.log_win))
        return np.concatenate(
            [
                np.exp(np.multiply.outer(power[i : i + step], self.log_win))
                @ self.weights
                for i in range(0, len(power), step)
            ]
        )

    def cdf(self, u):
        """Weighted share of points with U at most `u`."""
        return (np.exp(self.log_win) <= np.asarray(u, float)[..., None]) @ self.weights


def split_ties(tied):
    """Split a test point with ties into equally likely ways of breaking them.

    With ties U = Pr(less) + s Pr(equal), s uniform on (0, 1), which pairs of
    Gauss-Legendre nodes stand for in cells that shrink towards both ends.

    Parameters
    ----------
    tied : ndarray of bool, shape (n_test,)
        Which points are split.

    Returns
    -------
    rows : ndarray of int, shape (n_split,)
        Point that each part belongs to.
    share : ndarray of shape (n_split,)
        s, or 0 where nothing is split.
    weight : ndarray of shape (n_split,)
        Part of the point's weight.
    """
    node, part = _unit_quadrature()
    rows = np.repeat(np.arange(len(tied)), np.where(tied, len(node), 1))
    share, weight = np.zeros(len(rows)), np.ones(len(rows))
    share[tied[rows]] = np.tile(node, np.count_nonzero(tied))
    weight[tied[rows]] = np.tile(part, np.count_nonzero(tied))
    return rows, share, weight


def _unit_quadrature(n_cells=48):
    """Nodes and weights on (0, 1), cells geometric from 1e-9 at either end."""
    left = np.geomspace(1e-9, 0.5, n_cells)
    edges = np.r_[0.0, left, 1 - left[-2::-1], 1.0]
    half = np.diff(edges) / 2
    middle = edges[:-1] + half
    node = np.stack([middle - half / np.sqrt(3), middle + half / np.sqrt(3)], 1)
    return node.ravel(), np.repeat(half, 2)
