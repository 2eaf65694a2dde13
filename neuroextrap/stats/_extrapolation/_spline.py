"""Convex D(u) from linear splines: non-negative least squares on the curve."""

import numpy as np

from neuroextrap.stats._extrapolation._sample import log_spaced_set_sizes
from neuroextrap.stats._extrapolation._simplex import (
    distances_from_one,
    simplex_least_squares,
    uniform_mixture_accuracy,
)


class Spline:
    """Non-decreasing density of U by linear splines in D(u) and least squares.

    D(u) = sum_a beta_a max(u - a, 0) with beta >= 0 and D(1) = sum_a beta_a (1 - a)
    at most one; in the weights beta_a (1 - a) that is a mixture of uniforms on
    (a, 1), the atom at U = 1 taking what is left. Not identified beyond about 2K.

    Parameters
    ----------
    n_knots : int
        Number of knots a, geometric in 1 - a.
    max_fit_sizes : int
        Most set sizes the curve is compared at, log-spaced in 2..K.

    References
    ----------
    Zheng, Achanta & Benjamini 2018, "Extrapolating expected accuracies for large
    multi-class problems", ClassExReg with a linear spline basis.
    """

    needs_scores = False
    reliable_factor = 2.0
    monotone = True

    def __init__(self, *, n_knots=10_000, max_fit_sizes=200):
        if n_knots < 2:
            raise ValueError(f"n_knots must be at least 2, got {n_knots}.")
        if max_fit_sizes < 1:
            raise ValueError(f"max_fit_sizes must be at least 1, got {max_fit_sizes}.")
        self.n_knots = n_knots
        self.max_fit_sizes = max_fit_sizes

    def fit(self, sample):
        """Fit the weights of the knots.

        Parameters
        ----------
        sample : WinSample
            Wins of one classifier.

        Returns
        -------
        Spline
            Itself, with `distances_` (1 - a), `weights_` and `certificate_`.
        """
        sizes = log_spaced_set_sizes(sample.n_classes, self.max_fit_sizes)
        smallest = 1e-5 / sample.n_classes
        distances = np.r_[distances_from_one(self.n_knots, smallest), 0.0]
        columns = uniform_mixture_accuracy(distances, sizes)
        weights, gap = simplex_least_squares(columns, sample.curve(sizes))
        used = weights > 0
        self.distances_, self.weights_ = distances[used], weights[used]
        self.certificate_ = {"converged": gap < 1e-6, "duality_gap": gap}
        return self

    def accuracy(self, set_sizes):
        """Predict average accuracy at `set_sizes`."""
        return uniform_mixture_accuracy(self.distances_, set_sizes) @ self.weights_

    def cdf(self, u):
        """Pr(U <= u) of the fitted win probability."""
        return uniform_mixture_cdf(u, self.distances_, self.weights_)


def uniform_mixture_cdf(u, distances, weights):
    """D(u) of a mixture of uniforms on (1 - distance, 1) and an atom at one."""
    u = np.asarray(u, float)[..., None]
    safe = np.where(distances > 0, distances, 1.0)
    parts = np.where(distances > 0, np.clip((u - (1 - distances)) / safe, 0, 1), u >= 1)
    return parts @ weights
