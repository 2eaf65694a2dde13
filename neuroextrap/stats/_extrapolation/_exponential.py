"""The curve as a mixture of decaying exponentials."""

import numpy as np

from neuroextrap.stats._extrapolation._sample import log_spaced_set_sizes
from neuroextrap.stats._extrapolation._simplex import simplex_least_squares


class Exponential:
    """Mixture of exp(-kappa (k - 1)), kappa = -log U, by least squares.

    The weights are non-negative and sum to one with an atom at U = 0 (accuracy 0
    at every k) among them. Not identified beyond about 2K.

    Parameters
    ----------
    n_rates : int
        Number of finite positive rates kappa, on a geometric grid.
    max_fit_sizes : int
        Most set sizes the curve is compared at, log-spaced in 2..K.

    References
    ----------
    Zheng, Achanta & Benjamini 2016, "How many faces can be recognized? Performance
    extrapolation for multi-class classification", the mixed exponential estimator
    with the sign of its exponent corrected.
    """

    needs_scores = False
    reliable_factor = 2.0
    monotone = True

    def __init__(self, *, n_rates=1000, max_fit_sizes=200):
        if n_rates < 2:
            raise ValueError(f"n_rates must be at least 2, got {n_rates}.")
        if max_fit_sizes < 1:
            raise ValueError(f"max_fit_sizes must be at least 1, got {max_fit_sizes}.")
        self.n_rates = n_rates
        self.max_fit_sizes = max_fit_sizes

    def fit(self, sample):
        """Fit the weights of the rates.

        Parameters
        ----------
        sample : WinSample
            Wins of one classifier.

        Returns
        -------
        Exponential
            Itself, with `rates_`, `weights_` and `certificate_`.
        """
        sizes = log_spaced_set_sizes(sample.n_classes, self.max_fit_sizes)
        smallest = 1e-5 / sample.n_classes
        rates = np.r_[0.0, np.geomspace(smallest, 30.0, self.n_rates), np.inf]
        columns = np.exp(-np.multiply.outer(sizes - 1.0, rates))
        weights, gap = simplex_least_squares(columns, sample.curve(sizes))
        used = weights > 0
        self.rates_, self.weights_ = rates[used], weights[used]
        self.certificate_ = {"converged": gap < 1e-6, "duality_gap": gap}
        return self

    def accuracy(self, set_sizes):
        """Predict average accuracy at `set_sizes`."""
        power = np.asarray(set_sizes, float) - 1
        return np.exp(-np.multiply.outer(power, self.rates_)) @ self.weights_

    def cdf(self, u):
        """Pr(U <= u) of the fitted win probability."""
        with np.errstate(divide="ignore"):
            rate = -np.log(np.asarray(u, float))[..., None]
        return (self.rates_ >= rate) @ self.weights_
