"""The curve as a mixture of simple ones, by least squares: exponential and spline."""

from __future__ import annotations

from abc import abstractmethod
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from neuroextrap.stats._extrapolation._method import ExtrapolationMethod
from neuroextrap.stats._extrapolation._mixtures import (
    simplex_least_squares,
    uniform_mixture_accuracy,
    uniform_mixture_cdf,
)
from neuroextrap.stats._extrapolation._sample import WinSample, log_spaced_set_sizes

_TOLERANCE = 1e-6


class CurveMixture(ExtrapolationMethod):
    """Mixture over a dictionary of curves, weights >= 0 that sum to one.

    A subclass gives the dictionary: its grid of `atoms`, and the curve of each atom.
    """

    uses_scores = False
    reliable_factor = 2.0

    def __init__(self, n_atoms: int, option: str, max_fit_sizes: int):
        if n_atoms < 2:
            raise ValueError(f"{option} must be at least 2, got {n_atoms}")
        if max_fit_sizes < 1:
            raise ValueError(f"max_fit_sizes must be at least 1, got {max_fit_sizes}")
        self.n_atoms = n_atoms
        self.max_fit_sizes = max_fit_sizes

    @abstractmethod
    def grid(self, n_classes: int) -> np.ndarray:
        """Return the atoms of the dictionary, shape (n_atoms,)."""

    @abstractmethod
    def curves(self, atoms: np.ndarray, set_sizes: ArrayLike) -> np.ndarray:
        """Return the accuracy curve of each atom, shape (n_sizes, n_atoms)."""

    def fit(self, sample: WinSample) -> Self:
        sizes = log_spaced_set_sizes(sample.n_classes, self.max_fit_sizes)
        atoms = self.grid(sample.n_classes)
        weights, gap = simplex_least_squares(
            self.curves(atoms, sizes), sample.curve(sizes)
        )
        used = weights > 0
        self.atoms_, self.weights_ = atoms[used], weights[used]
        self.certificate_ = {
            "converged": gap < _TOLERANCE,
            "message": (
                f"half the squared error of the curve is at most {gap:.2g} above its "
                f"minimum ({_TOLERANCE:g} asked for)"
            ),
            "duality_gap": gap,
        }
        return self

    def accuracy(self, set_sizes: ArrayLike) -> np.ndarray:
        return self.curves(self.atoms_, set_sizes) @ self.weights_


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
    Zheng, Achanta & Benjamini 2016, "How many faces can be recognized? Performance
    extrapolation for multi-class classification", the mixed exponential estimator
    with the sign of its exponent corrected.
    """

    name = "exponential"

    def __init__(self, *, n_rates: int = 1000, max_fit_sizes: int = 200):
        super().__init__(n_rates, "n_rates", max_fit_sizes)

    def grid(self, n_classes: int) -> np.ndarray:
        rates = np.geomspace(1e-5 / n_classes, 30.0, self.n_atoms)
        return np.r_[0.0, rates, np.inf]

    def curves(self, atoms: np.ndarray, set_sizes: ArrayLike) -> np.ndarray:
        power = np.asarray(set_sizes, float) - 1
        return np.exp(-np.multiply.outer(power, atoms))

    def cdf(self, u: ArrayLike) -> np.ndarray:
        with np.errstate(divide="ignore"):
            rate = -np.log(np.asarray(u, float))[..., None]
        return (self.atoms_ >= rate) @ self.weights_


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
    Zheng, Achanta & Benjamini 2018, "Extrapolating expected accuracies for large
    multi-class problems", ClassExReg with a linear spline basis.
    """

    name = "spline"

    def __init__(self, *, n_knots: int = 10_000, max_fit_sizes: int = 200):
        super().__init__(n_knots, "n_knots", max_fit_sizes)

    def grid(self, n_classes: int) -> np.ndarray:
        """Return 1 - a for every knot a, and 0 for the atom at one."""
        return np.r_[np.geomspace(1.0, 1e-5 / n_classes, self.n_atoms), 0.0]

    def curves(self, atoms: np.ndarray, set_sizes: ArrayLike) -> np.ndarray:
        return uniform_mixture_accuracy(atoms, set_sizes)

    def cdf(self, u: ArrayLike) -> np.ndarray:
        return uniform_mixture_cdf(u, self.atoms_, self.weights_)
