"""High-dimensional limit: one number carries the curve from K to every k."""

import numpy as np
from scipy import special

from neuroextrap.stats._extrapolation._normal_mixture import (
    MEAN_RANGE,
    power_table,
    table_derivatives,
    table_means,
)

_BLOCK = 256


def clip_to_resolution(accuracy, n_test):
    """Keep accuracies half a test point away from 0 and 1."""
    half = 0.5 / np.asarray(n_test, float)
    return np.clip(accuracy, half, 1 - half)


def invert_gaussian_accuracy(accuracy, n_classes, *, n_newton=4):
    """Return c with E[Phi(Z + c)^(K - 1)] = accuracy.

    Parameters
    ----------
    accuracy : array_like of shape (n,)
        Accuracies strictly between 0 and 1.
    n_classes : int
        Number of classes K.
    n_newton : int
        Newton steps after the look-up in a table of step 0.05.

    Returns
    -------
    ndarray of shape (n,)
        Shifts c; 0 at chance.
    """
    accuracy = np.atleast_1d(np.asarray(accuracy, float))
    table = power_table([n_classes])
    grid = np.arange(MEAN_RANGE[0], MEAN_RANGE[1], 0.05)
    curve = np.maximum.accumulate(table_means(table, grid, 0 * grid)[:, 0])
    shift = np.interp(accuracy, curve, grid)
    for start in range(0, len(shift), _BLOCK):
        block = slice(start, start + _BLOCK)
        for _ in range(n_newton):
            value, slope = table_derivatives(table, shift[block], 0 * shift[block])[:2]
            step = (accuracy[block] - value[:, 0]) / np.maximum(slope[:, 0], 1e-12)
            shift[block] = np.clip(shift[block] + step, *MEAN_RANGE)
    return shift


class Gaussian:
    """One-parameter extrapolation of the high-dimensional limit.

    The shift c solves piBar_K(c) = A_K; the prediction is piBar_k(c), which at
    k = K gives A_K back. An A_K of 0 or 1 is taken to be half a test point away.

    References
    ----------
    Zheng, Achanta & Benjamini 2018, "Extrapolating expected accuracies for large
    multi-class problems", the high-dimensional estimator.
    """

    needs_scores = False
    reliable_factor = np.inf
    monotone = True

    def fit(self, sample):
        """Solve for the shift.

        Parameters
        ----------
        sample : WinSample
            Wins of one classifier.

        Returns
        -------
        Gaussian
            Itself, with `shift_`.
        """
        observed = clip_to_resolution(sample.wins[-1], sample.n_test)
        self.shift_ = float(invert_gaussian_accuracy(observed, sample.n_classes)[0])
        return self

    def accuracy(self, set_sizes):
        """Predict average accuracy at `set_sizes`."""
        return table_means(power_table(set_sizes), self.shift_, 0.0)[0]

    def cdf(self, u):
        """Pr(U <= u) of the fitted win probability."""
        return special.ndtr(special.ndtri(u) - self.shift_)
