"""Predictions from one win probability for each test point."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from neuroextrap.stats._extrapolation._method import ExtrapolationMethod

_BATCH_NUMBERS = 4_000_000


class PointWins:
    """Average accuracy and distribution of per-point win probabilities.

    `log_win` (n_test,) is log U of each test point, at most 0; `weights` (n_test,) sum
    to one.
    """

    def __init__(self, log_win: np.ndarray, weights: np.ndarray):
        self.log_win = log_win
        self.weights = weights

    def accuracy(self, set_sizes: ArrayLike) -> np.ndarray:
        """Return the weighted mean of U^(k - 1) at each set size."""
        power = np.asarray(set_sizes, float) - 1
        width = max(1, _BATCH_NUMBERS // len(self.log_win))
        return np.concatenate(
            [
                np.exp(np.multiply.outer(power[i : i + width], self.log_win))
                @ self.weights
                for i in range(0, len(power), width)
            ]
        )

    def cdf(self, u: ArrayLike) -> np.ndarray:
        """Return the weighted share of points with U at most `u`."""
        return (np.exp(self.log_win) <= np.asarray(u, float)[..., None]) @ self.weights


class PointMethod(ExtrapolationMethod):
    """A method that gives every test point a win probability of its own.

    `fit` sets `points_`, a :class:`PointWins`.
    """

    needs_scores = True
    points_: PointWins

    def accuracy(self, set_sizes: ArrayLike) -> np.ndarray:
        return self.points_.accuracy(set_sizes)

    def cdf(self, u: ArrayLike) -> np.ndarray:
        return self.points_.cdf(u)


def split_ties(tied: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Split a test point with ties into equally likely ways of breaking them.

    With ties U = Pr(less) + s Pr(equal), s uniform on (0, 1), which pairs of
    Gauss-Legendre nodes stand for in cells that shrink towards both ends. `tied`
    (n_test,) says which points are split; returned are the point of each part, s (0
    where nothing is split) and the part of the point's weight, each of shape
    (n_split,).
    """
    node, part = _unit_quadrature()
    rows = np.repeat(np.arange(len(tied)), np.where(tied, len(node), 1))
    share, weight = np.zeros(len(rows)), np.ones(len(rows))
    share[tied[rows]] = np.tile(node, np.count_nonzero(tied))
    weight[tied[rows]] = np.tile(part, np.count_nonzero(tied))
    return rows, share, weight


def _unit_quadrature(n_cells: int = 48) -> tuple[np.ndarray, np.ndarray]:
    """Return nodes and weights on (0, 1), cells geometric from 1e-9 at either end."""
    left = np.geomspace(1e-9, 0.5, n_cells)
    edges = np.r_[0.0, left, 1 - left[-2::-1], 1.0]
    half = np.diff(edges) / 2
    middle = edges[:-1] + half
    node = np.stack([middle - half / np.sqrt(3), middle + half / np.sqrt(3)], 1)
    return node.ravel(), np.repeat(half, 2)
