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
