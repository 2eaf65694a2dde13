"""Regressions of the curve on a basis: of moments of D(u), or radial functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from neuroextrap.stats._accuracy import accuracy_weights
from neuroextrap.stats._extrapolation._gaussian import clip_to_resolution
from neuroextrap.stats._extrapolation._method import (
    ExtrapolationMethod,
    WinSample,
    half_of_classes,
    log_spaced_set_sizes,
)
from neuroextrap.stats._extrapolation._mixtures import (
    MEAN_RANGE,
    nonnegative_least_squares,
    power_table,
    table_means,
)
from neuroextrap.stats._gaussian_limit import gauss_legendre_panels
from neuroextrap.stats._validation import (
    brief,
    check_integer,
    check_real_set_sizes,
    random_generator,
    real_array,
)

Basis = Callable[[np.ndarray], np.ndarray]
DEFAULT_BASES = ("probit", 3, 4, 6)
_MOST_SPLINES = 1000
PROBIT_SDS = (0.7, 1.4)
BANDWIDTHS = tuple(round(0.1 * i, 1) for i in range(1, 11))
_INVISIBLE = 1e-6


class SplineBasis:
    """Linear splines max(u - a, 0), with the knots a = 1 - K^(-j / n_basis)."""

    def __init__(self, n_basis: int, n_classes: int):
        self.knots = 1 - float(n_classes) ** (-np.arange(n_basis) / n_basis)

    def __call__(self, u: ArrayLike) -> np.ndarray:
        """Return the basis functions at u (m,), shape (m, n_basis)."""
        return np.maximum(np.asarray(u, float)[:, None] - self.knots, 0)

    def moments(self, set_sizes: ArrayLike) -> np.ndarray:
        """Return (k - 1)/k - a + a^k / k for each size and knot, (n_sizes, n_basis)."""
        k = np.asarray(set_sizes, float)[:, None]
        return (k - 1) / k - self.knots + self.knots**k / k


class ProbitBasis:
    """Distributions of Phi(N(mean, sd^2)) that have this accuracy among `n_classes`."""

    def __init__(self, accuracy: float, n_classes: int, sds: Sequence[float]):
        table, grid = power_table([n_classes]), np.linspace(*MEAN_RANGE, 401)
        self.sds = np.array(sds)
        curves = [table_means(table, grid, 0 * grid + np.log(sd))[:, 0] for sd in sds]
        self.means = np.array(
            [np.interp(accuracy, np.maximum.accumulate(c), grid) for c in curves]
        )

    def __call__(self, u: ArrayLike) -> np.ndarray:
        """Return the basis functions at u (m,), shape (m, n_basis)."""
        z = special.ndtri(np.asarray(u, float))[:, None]
        return special.ndtr((z - self.means) / self.sds)

    def moments(self, set_sizes: ArrayLike) -> np.ndarray:
        """Return one minus the accuracy of each, shape (n_sizes, n_basis)."""
        table = power_table(set_sizes)
        return 1 - table_means(table, self.means, np.log(self.sds)).T


def basis_moments(basis: Basis, set_sizes: ArrayLike) -> np.ndarray:
    """Return moments (k - 1) int_0^1 h(u) u^(k-2) du of a basis, (n_sizes, n_basis)."""
    if hasattr(basis, "moments"):
        return np.asarray(basis.moments(set_sizes), float)
    # u = exp(-x / (k - 1)) makes it the mean of h over a unit exponential x
    edges = np.r_[0.0, np.geomspace(1e-6, 45.0, 96)]
    nodes, weights = gauss_legendre_panels(edges, 12)
    weights *= np.exp(-nodes)
    power = np.asarray(set_sizes, float) - 1
    values = [real_array(basis(np.exp(-nodes / p)), "basis(u)") for p in power]
    if any(each.ndim != 2 or len(each) != len(nodes) for each in values):
        raise ValueError(
            "basis must turn u of shape (m,) into an array (m, n_basis); got shape "
            f"{values[0].shape} for {nodes.shape}"
        )
    return np.array([weights @ each for each in values])


def extrapolate_risk(
    risk: ArrayLike,
    fit_set_sizes: ArrayLike,
    set_sizes: ArrayLike,
    *,
    basis: int | Basis = 3,
    weights: ArrayLike | None = None,
) -> np.ndarray:
    """Extrapolate a risk curve by regression on the moments of a basis.

    A risk that averages K(U) over test points, Risk_k = (k - 1) int K(u) u^(k-2) du,
    is linear in the function K; with K(u) = sum_l beta_l h_l(u) the coefficients
    are found by weighted least squares at `fit_set_sizes`. Unconstrained: this is
    the estimator for general costs, where the curve need not be an accuracy.

    Parameters
    ----------
    risk : array-like of shape (n_fit_sizes,)
        Average risk at each of `fit_set_sizes`; one minus accuracy for 0-1 cost.
    fit_set_sizes : array-like of shape (n_fit_sizes,)
        Numbers of classes k >= 2 of the curve.
    set_sizes : array-like of shape (n_sizes,)
        Numbers of classes k >= 2 to predict.
    basis : int or callable, default=3
        Number of linear splines max(u - a, 0), or a function from u of shape (m,)
        to the basis functions of shape (m, n_basis); it may carry a method
        ``moments(set_sizes)`` giving their moments (n_sizes, n_basis).
    weights : array-like of shape (n_fit_sizes,) or None, default=None
        Weights of the squared errors. If None, they are equal.

    Returns
    -------
    risk : ndarray of shape (n_sizes,)
        Predicted risk, not projected to any range.

    Raises
    ------
    ValueError
        If the curve and its set sizes differ in length, hold NaN, or the weights
        are negative.

    References
    ----------
    Zheng, Achanta & Benjamini 2018, "Extrapolating expected accuracies for large
    multi-class problems", section 3, with factor k - 1 for the printed k - 2.

    Examples
    --------
    A uniform win probability, U ~ Uniform(0, 1), has risk (k - 1) / k:

    >>> import numpy as np
    >>> sizes = np.arange(2, 11)
    >>> extrapolate_risk((sizes - 1) / sizes, sizes, [100], basis=1)
    array([0.99])
    """
    risk = real_array(risk, "risk")
    sizes = check_real_set_sizes(fit_set_sizes, "fit_set_sizes")
    wanted = check_real_set_sizes(set_sizes)
    if risk.shape != sizes.shape or risk.ndim != 1:
        raise ValueError(
            "risk and fit_set_sizes must be one-dimensional and equally long, got "
            f"shapes {risk.shape} and {sizes.shape}"
        )
    if not np.isfinite(risk).all():
        raise ValueError("risk must be finite, got NaN or infinity")
    basis = as_basis(basis, int(sizes.max()))
    coefficients = moment_coefficients(basis, risk, sizes, weights)
    return basis_moments(basis, np.atleast_1d(wanted)) @ coefficients


def as_basis(
    basis: str | int | Basis, n_classes: int, accuracy: float | None = None
) -> Basis:
    """Turn a number of splines, or "probit" for an accuracy at K, into a basis."""
    if callable(basis):
        return basis
    if isinstance(basis, str) and basis == "probit" and accuracy is not None:
        return ProbitBasis(accuracy, n_classes, PROBIT_SDS)
    if isinstance(basis, int | np.integer) and 1 <= basis <= _MOST_SPLINES:
        return SplineBasis(basis, n_classes)
    names = "" if accuracy is None else "'probit', "
    raise ValueError(
        f"basis must be {names}a callable or a number of splines in 1.."
        f"{_MOST_SPLINES}, got {brief(basis)}"
    )


def moment_coefficients(
    basis: Basis,
    risk: np.ndarray,
    set_sizes: ArrayLike,
    weights: ArrayLike | None = None,
) -> np.ndarray:
    """Fit a risk curve by weighted least squares on the moments of a basis."""
    root = np.ones(len(risk)) if weights is None else real_array(weights, "weights")
    if root.shape != risk.shape or not (root >= 0).all() or not root.any():
        raise ValueError(
            "weights must be non-negative, one per set size, and not all zero, got "
            f"shape {root.shape} for {len(risk)} set sizes"
        )
    root = np.sqrt(root)
    columns = basis_moments(basis, set_sizes)
    return np.linalg.lstsq(root[:, None] * columns, root * risk, rcond=None)[0]


class Moment(ExtrapolationMethod):
    """Unconstrained regression of 1 - A_k on the moments of a basis of D(u).

    Parameters
    ----------
    basis : "probit", int, callable or sequence of these, default=("probit", 3, 4, 6)
        "probit": the distributions of Phi(N(mean, sd^2)) with sd 0.7 and 1.4 that have
        the observed accuracy at K. Else the number of linear splines, or any basis as
        in `extrapolate_risk`. Of several, the one that best predicts A_K from the sizes
        up to K/2 of the same curve is chosen.
    weights : callable or None, default=None
        Function from set sizes (n_sizes,) to weights of the squared errors. If None,
        they are equal.
    max_fit_sizes : int, default=200
        Largest number of set sizes in the fit, log-spaced in 2..K.

    References
    ----------
    Zheng, Achanta & Benjamini 2018, section 3.
    """

    name = "moment"
    reliable_factor = 2.0
    monotone_to = 2

    def __init__(
        self,
        *,
        basis: str | int | Basis | Sequence[str | int | Basis] = DEFAULT_BASES,
        weights: Callable[[np.ndarray], np.ndarray] | None = None,
        max_fit_sizes: int = 200,
    ):
        given: Any = basis
        one = isinstance(basis, str) or not isinstance(basis, Sequence)
        self.bases: tuple[Any, ...] = (given,) if one else tuple(given)
        for candidate in self.bases:
            as_basis(candidate, 2, 0.5)
        self.weights = weights
        self.max_fit_sizes = max_fit_sizes

    def fit(self, sample: WinSample) -> Self:
        chosen = self._choose(sample) if len(self.bases) > 1 else self.bases[0]
        resolved = float(clip_to_resolution(sample.wins[-1], sample.n_test))
        self.basis_ = as_basis(chosen, sample.n_classes, resolved)
        sizes = log_spaced_set_sizes(sample.n_classes, self.max_fit_sizes)
        self.coefficients_ = self._regress(self.basis_, sample.curve(sizes), sizes)
        return self

    def _regress(
        self, basis: Basis, curve: np.ndarray, sizes: np.ndarray
    ) -> np.ndarray:
        """Return the coefficients for one curve."""
        weights = None if self.weights is None else self.weights(sizes)
        return moment_coefficients(basis, 1 - curve, sizes, weights)

    def _choose(self, sample: WinSample) -> str | int | Basis:
        """Return the candidate that best predicts A_K from the sizes up to K/2."""
        n_half = max(sample.n_classes // 2, 2)
        sizes = log_spaced_set_sizes(n_half, self.max_fit_sizes)
        curve, errors = sample.curve(sizes), []
        resolved = float(clip_to_resolution(curve[-1], sample.n_test))
        for candidate in self.bases:
            basis = as_basis(candidate, n_half, resolved)
            ahead = basis_moments(basis, [sample.n_classes])[0]
            risk = ahead @ self._regress(basis, curve, sizes)
            errors.append(abs(1 - risk - sample.wins[-1]))
        return self.bases[int(np.argmin(errors))]

    def accuracy(self, set_sizes: ArrayLike) -> np.ndarray:
        return 1 - basis_moments(self.basis_, set_sizes) @ self.coefficients_

    def cdf(self, u: ArrayLike) -> np.ndarray:
        u = np.asarray(u, float)
        return (self.basis_(u.ravel()) @ self.coefficients_).reshape(u.shape)


class RadialBasis(ExtrapolationMethod):
    """Non-negative regression on E[Phi(N(t, h^2))^(k - 1)] and a constant.

    The bandwidth h minimizes the error of predicting A_K from the sizes up to K/2
    of random half samples of the classes (without the scores: of the whole
    sample's own curve). The weights are not normalized.

    Parameters
    ----------
    bandwidths : sequence of float, default=(0.1, 0.2, ..., 1.0)
        Candidates for h, each at least 0.1.
    n_half_samples : int, default=20
        Number of half samples drawn.
    n_fit_sizes : int, default=100
        Number of equispaced set sizes in the regression.
    random_state : int, numpy.random.Generator or None, default=0
        Seed of the half samples.

    References
    ----------
    Zheng, Achanta & Benjamini 2018, section 4 (knots up to Phi^-1(1 - 1/K^2)).
    """

    name = "radial_basis"
    uses_scores = True

    def __init__(
        self,
        *,
        bandwidths: Sequence[float] = BANDWIDTHS,
        n_half_samples: int = 20,
        n_fit_sizes: int = 100,
        random_state: int | np.random.Generator | None = 0,
    ):
        self.bandwidths = tuple(float(h) for h in bandwidths)
        if not self.bandwidths or min(self.bandwidths) < 0.1:
            raise ValueError(
                f"bandwidths must be at least 0.1, got {tuple(bandwidths)}"
            )
        self.n_half_samples = check_integer(n_half_samples, "n_half_samples", minimum=1)
        self.n_fit_sizes = check_integer(n_fit_sizes, "n_fit_sizes", minimum=1)
        self.random_state = random_state

    def fit(self, sample: WinSample) -> Self:
        self.bandwidth_ = self._choose(sample)
        sizes = equispaced_set_sizes(sample.n_classes, self.n_fit_sizes)
        self.knots_ = radial_knots(sample.n_classes, self.bandwidth_)
        columns = radial_columns(self.knots_, self.bandwidth_, sizes)
        self.weights_ = _regress(columns, sample.curve(sizes))
        return self

    def _choose(self, sample: WinSample) -> float:
        """Return the bandwidth that best predicts A_K from half the classes."""
        if len(self.bandwidths) == 1:
            return self.bandwidths[0]
        n_half = max(sample.n_classes // 2, 2)
        sizes = equispaced_set_sizes(n_half, self.n_fit_sizes)
        curves, errors = self._half_curves(sample, n_half, sizes), []
        for h in self.bandwidths:
            knots = radial_knots(sample.n_classes, h)  # those of the final fit
            columns = radial_columns(knots, h, sizes)
            ahead = radial_columns(knots, h, [sample.n_classes])[0]
            predicted = [ahead @ _regress(columns, c) for c in curves]
            errors.append(np.mean((np.array(predicted) - sample.wins[-1]) ** 2))
        return self.bandwidths[int(np.argmin(errors))]

    def _half_curves(
        self, sample: WinSample, n_half: int, set_sizes: np.ndarray
    ) -> np.ndarray:
        """Return curves among random halves; without scores the whole's own."""
        if sample.margins is None:
            return sample.curve(set_sizes)[None]
        rng, tested = random_generator(self.random_state), np.unique(sample.y_true)
        draws = range(self.n_half_samples)
        halves = [half_of_classes(rng, sample.n_classes, tested, n_half) for _ in draws]
        wins = np.stack([half.wins for half in sample.subsets(np.stack(halves))])
        return wins @ accuracy_weights(n_half, set_sizes)

    def accuracy(self, set_sizes: ArrayLike) -> np.ndarray:
        return radial_columns(self.knots_, self.bandwidth_, set_sizes) @ self.weights_

    def cdf(self, u: ArrayLike) -> np.ndarray:
        z = (special.ndtri(u)[..., None] - self.knots_) / self.bandwidth_
        certain = np.asarray(u) >= 1
        return special.ndtr(z) @ self.weights_[:-1] + certain * self.weights_[-1]


def _regress(columns: np.ndarray, curve: np.ndarray) -> np.ndarray:
    """Fit a curve by non-negative weights of the columns that are not all but zero."""
    weights = np.zeros(columns.shape[1])
    seen = columns.max(0) > _INVISIBLE
    weights[seen] = nonnegative_least_squares(columns[:, seen], curve)
    return weights


def equispaced_set_sizes(n_classes: int, n_sizes: int) -> np.ndarray:
    """Return at most `n_sizes` distinct equispaced set sizes from 2 up to K."""
    step = n_classes / min(n_sizes, n_classes - 1)
    sizes = np.rint(step * np.arange(1, min(n_sizes, n_classes - 1) + 1)).astype(int)
    return np.unique(np.clip(sizes, 2, n_classes))


def radial_knots(n_classes: int, bandwidth: float) -> np.ndarray:
    """Return equispaced knots within +- Phi^-1(1 - 1/K^2), about a bandwidth apart."""
    largest = -special.ndtri(1 / n_classes**2)
    return np.linspace(-largest, largest, 2 * int(np.ceil(largest / bandwidth)) + 1)


def radial_columns(
    knots: np.ndarray, bandwidth: float, set_sizes: ArrayLike
) -> np.ndarray:
    """Return E[Phi(N(t, h^2))^(k - 1)] for each size and knot, and a column of ones."""
    log_sd = np.full(len(knots), np.log(bandwidth))
    columns = table_means(power_table(set_sizes), knots, log_sd).T
    return np.hstack([columns, np.ones((len(columns), 1))])
