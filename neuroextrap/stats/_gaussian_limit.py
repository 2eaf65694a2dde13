"""Accuracy of the Gaussian limit at any set size, and its inverse.

The latter is implied information: the limit's curve nearest to an observed one. If the
limit does not describe a curve, implied information drifts with the set size.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.polynomial.polynomial import polyder, polyval
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_ndtr, ndtri

from neuroextrap.stats._accuracy import half_lost_point
from neuroextrap.stats._shared_options import described_by
from neuroextrap.stats._validation import (
    FloatArray,
    batches,
    check_curves,
    check_information,
    check_integer,
    check_real_set_sizes,
    check_set_sizes,
    nats_per_unit,
)

_BATCH = 2000  # integrals at once


def gaussian_identification_accuracy(
    information: ArrayLike, set_sizes: ArrayLike, *, base: float = 2
) -> FloatArray:
    r"""Return the k-class accuracy of the high-dimensional (Gaussian) limit.

    When many weak dimensions add up to a fixed information I, the average Bayes
    accuracy among k random classes tends to

    .. math:: \bar\pi_k(\sqrt{2 I}), \qquad
        \bar\pi_k(c) = \int \varphi(z - c)\, \Phi(z)^{k-1}\, dz

    with I in nats. Its inverse is :func:`implied_information`.

    Parameters
    ----------
    information : array-like of shape (...)
        Information, not negative; infinity gives 1 and NaN gives NaN.
    set_sizes : float or array-like of shape (n_sizes,)
        Sizes k >= 2, up to 1e12 and beyond; they need not be whole.
    base : float, default=2
        Unit of `information`: 2 for bits, ``math.e`` for nats.

    Returns
    -------
    accuracy : ndarray of shape (..., n_sizes), or (...) for one size
        Relative error below 1e-12.

    Raises
    ------
    ValueError
        If information is negative, a size is below two or `base` is not above 1.

    References
    ----------
    Zheng & Benjamini 2016, "Estimating mutual information in high dimensions via
    classification error", theorem 1.

    Examples
    --------
    >>> gaussian_identification_accuracy([0, 2, 4], [2, 1000])
    array([[0.5       , 0.001     ],
           [0.88048405, 0.06770202],
           [0.95205452, 0.20166587]])
    """
    sizes = check_real_set_sizes(set_sizes)
    nats = check_information(information) * nats_per_unit(base)
    shift = np.sqrt(2 * nats).reshape(nats.shape + (1,) * sizes.ndim)
    c, k = np.broadcast_arrays(shift, sizes)
    out = np.where(np.isnan(c), np.nan, 1.0)
    # beyond this shift every distractor is out of reach of double precision
    todo = np.flatnonzero(np.isfinite(c.ravel()) & (c.ravel() < 60))
    flat = out.reshape(-1)
    # the integrand is log-concave, and falls at least like exp(-z**2 / 2) from its mode
    nodes, weights = gauss_legendre_panels(np.linspace(-9.5, 9.5, 65), 20)
    for batch in batches(len(todo), _BATCH):
        at, size = c.ravel()[todo[batch]], k.ravel()[todo[batch]]
        z = _mode(at, size)[:, np.newaxis] + nodes
        log_density = -0.5 * (z - at[:, np.newaxis]) ** 2 - 0.5 * np.log(2 * np.pi)
        power = (size[:, np.newaxis] - 1) * log_ndtr(z)
        total = (np.exp(log_density + power) * weights).sum(axis=-1)
        flat[todo[batch]] = np.minimum(total, 1.0)
    return flat.reshape(c.shape)


def _mode(c: FloatArray, k: FloatArray) -> FloatArray:
    """Bisect for the zero of the integrand's decreasing log-derivative."""
    low = c.copy()
    high = np.maximum(c, -ndtri(0.5 / k)) + 2
    for _ in range(20):
        z = (low + high) / 2
        ratio = np.exp(-0.5 * z**2 - 0.5 * np.log(2 * np.pi) - log_ndtr(z))
        rising = (k - 1) * ratio > z - c
        low, high = np.where(rising, z, low), np.where(rising, high, z)
    return (low + high) / 2


def gauss_legendre_panels(
    edges: FloatArray, n_nodes: int
) -> tuple[FloatArray, FloatArray]:
    """Return nodes and weights for panels between `edges` (..., n_panels + 1)."""
    x, w = np.polynomial.legendre.leggauss(n_nodes)
    half = np.diff(edges, axis=-1)[..., np.newaxis] / 2
    middle = (edges[..., 1:] + edges[..., :-1])[..., np.newaxis] / 2
    flat = (*edges.shape[:-1], -1)
    return (middle + half * x).reshape(flat), (half * w).reshape(flat)


_STEP = 0.05  # grid step of the shift c = sqrt(2 I)
_CURVES_AT_ONCE = 4000


class _Table(NamedTuple):
    """Errors 1 - piBar_k(c) and three derivatives on a grid of c."""

    shift: FloatArray  # (n_grid,)
    error: FloatArray  # (4, n_grid, n_sizes)
    product: FloatArray  # (3, n_grid): error . error', and two derivatives of it


def implied_information(
    accuracy: ArrayLike, set_sizes: ArrayLike, *, base: float = 2
) -> FloatArray:
    """Return the information whose Gaussian-limit curve fits best.

    Least squares over the given set sizes between the accuracy curve and
    :func:`gaussian_identification_accuracy`. An index of the curve, in units of
    information: it equals the mutual information when many weak dimensions add
    up, may lie above or below it otherwise, and is no bound (see
    :func:`information_lower_bound`). Never negative, it is above zero on average where
    there is no information: by .07 bits for 8 classes tested once, .006 for 8 classes
    tested 12 times, .004 for 100 tested once. Subtracting the mean over permuted labels
    removes this. :func:`implied_information_interval` gives its uncertainty; with
    fewer than ten classes, large values are very uncertain.

    Parameters
    ----------
    accuracy : array-like of shape (..., n_sizes), or (...) for one size
        Accuracy curves, see :func:`average_accuracy`; a NaN gives NaN.
    set_sizes : float or array-like of shape (n_sizes,)
        Sizes of the curves, at least 2.
    base : float, default=2
        Unit of the result: 2 for bits, ``math.e`` for nats.

    Returns
    -------
    information : ndarray of shape (...)
        0 for curves at or below chance, infinity for curves that are 1
        everywhere (maps carry :func:`resolution_information` instead). A row
        does not depend on the rows beside it, to the last digit.

    Raises
    ------
    ValueError
        If accuracies lie outside [0, 1], a size is below two, the last axis has
        another length than `set_sizes`, or `base` is not above 1.

    References
    ----------
    Zheng & Benjamini 2016, "Estimating mutual information in high dimensions via
    classification error", section 3; several set sizes at once are ours.

    Examples
    --------
    >>> from neuroextrap.stats import gaussian_identification_accuracy
    >>> curve = gaussian_identification_accuracy(1.5, [2, 5, 20])
    >>> implied_information(curve, [2, 5, 20])
    array(1.5)
    """
    sizes = check_real_set_sizes(set_sizes)
    curves = check_curves(accuracy, sizes)
    unit = nats_per_unit(base)
    if sizes.ndim == 0:
        curves, sizes = curves[..., np.newaxis], sizes[np.newaxis]
    flat = curves.reshape(-1, len(sizes))
    table = _table(tuple(sizes.tolist()))
    shift = np.empty(len(flat))
    for part in batches(len(flat), _CURVES_AT_ONCE):
        shift[part] = _fit_shift(np.ascontiguousarray(1 - flat[part]), table)
    return (0.5 * shift**2 / unit).reshape(curves.shape[:-1])


@described_by(implied_information)
def resolution_information(
    n_classes: int, n_test: int, set_sizes: ArrayLike, *, base: float = 2
) -> FloatArray:
    """Return the largest implied information that a test set resolves.

    The implied information of the curve ``1 - (k - 1) / (2 n_test (K - 1))``:
    half a test point lost to one distractor. Maps carry it where every test
    point beats every distractor, and say in how many regions that is so.

    Parameters
    ----------
    n_classes : int
        Number of classes K, at least 2.
    n_test : int
        Number of test points, at least 1.
    set_sizes : int or array-like of int of shape (n_sizes,)
        Sizes of the curves, of 2..n_classes.

    Returns
    -------
    information : ndarray of shape ()
        Finite.

    Raises
    ------
    TypeError, ValueError
        If a number is not whole, or out of range, or `base` not above 1.

    Examples
    --------
    >>> resolution_information(8, 96, [2, 4, 8])
    array(14.266...)
    """
    n_classes = check_integer(n_classes, "n_classes", minimum=2)
    n_test = check_integer(n_test, "n_test", minimum=1)
    sizes = check_set_sizes(set_sizes, n_classes=n_classes)
    curve = 1 - half_lost_point(sizes, n_classes, n_test)
    return implied_information(curve, sizes, base=base)


@lru_cache(maxsize=16)
def _table(set_sizes: tuple[float, ...]) -> _Table:
    """Tabulate errors and derivatives for one tuple of set sizes."""
    largest = max(set_sizes)
    # past this shift the error of every size is lost in double precision
    last = 12.5 + np.sqrt(2 * np.log(largest))
    shift = np.arange(0, last + _STEP, _STEP)
    edges = np.linspace(-9.5, last + 9.5, int((last + 19) / 0.3) + 1)
    z, weights = gauss_legendre_panels(edges, 20)
    lost = -np.expm1((np.asarray(set_sizes) - 1) * log_ndtr(z)[:, np.newaxis])
    away = z - shift[:, np.newaxis]
    density = np.exp(-0.5 * away**2) * weights / np.sqrt(2 * np.pi)
    hermite = (np.ones_like(away), away, away**2 - 1, away**3 - 3 * away)
    error = np.stack([(factor * density) @ lost for factor in hermite])
    e0, e1, e2, e3 = error
    product = np.stack([e0 * e1, e1**2 + e0 * e2, 3 * e1 * e2 + e0 * e3]).sum(axis=-1)
    return _Table(shift, error, product)


def _fit_shift(errors: FloatArray, table: _Table) -> FloatArray:
    """Return the least-squares shift c of each row of errors (n, n_sizes)."""
    grid = table.error[0]
    lost = (grid**2).sum(axis=-1) - 2 * (np.nan_to_num(errors) @ grid.T)
    nearest = lost.argmin(axis=-1)
    slope = _slope_data(errors, nearest, table)[0]
    left = np.where(slope < 0, nearest, nearest - 1)
    left = np.clip(left, 0, len(table.shift) - 2)
    low = _slope_data(errors, left, table)
    high = _slope_data(errors, left + 1, table)
    fraction = quintic_root(low, high, _STEP)
    shift = table.shift[left] + _STEP * fraction
    shift[(left == 0) & (low[0] >= 0)] = 0.0
    shift[(errors <= 0).all(axis=-1)] = np.inf
    shift[np.isnan(errors).any(axis=-1)] = np.nan
    return shift


def _slope_data(
    errors: FloatArray, node: NDArray[np.intp], table: _Table
) -> FloatArray:
    """Return half the slope of the squared distance, and two derivatives."""
    moments = [(errors * each[node]).sum(axis=-1) for each in table.error[1:]]
    return np.stack([p[node] - m for p, m in zip(table.product, moments, strict=True)])


def quintic_root(
    low: FloatArray, high: FloatArray, step: FloatArray | float
) -> FloatArray:
    """Return the root in [0, 1] of quintics with ends (value, two derivatives)."""
    coefficients = quintic_coefficients(low, high, step)
    a, b = np.zeros(low.shape[1:]), np.ones(low.shape[1:])
    for _ in range(12):
        middle = (a + b) / 2
        below = polyval(middle, coefficients, tensor=False) < 0
        a, b = np.where(below, middle, a), np.where(below, b, middle)
    root, slopes = (a + b) / 2, polyder(coefficients)
    for _ in range(4):
        value = polyval(root, coefficients, tensor=False)
        slope = polyval(root, slopes, tensor=False)
        change = np.divide(value, slope, out=np.zeros_like(root), where=slope > 0)
        root = np.clip(root - change, a, b)
    return root


def quintic_coefficients(
    low: FloatArray, high: FloatArray, step: FloatArray | float
) -> FloatArray:
    """Return the six coefficients of quintic Hermite interpolation on [0, 1]."""
    f0, d0, s0 = low[0], low[1] * step, low[2] * step**2
    f1, d1, s1 = high[0], high[1] * step, high[2] * step**2
    rise, turn, bend = f1 - f0 - d0 - s0 / 2, d1 - d0 - s0, s1 - s0
    cubic = 10 * rise - 4 * turn + bend / 2
    quartic = -15 * rise + 7 * turn - bend
    quintic = 6 * rise - 3 * turn + bend / 2
    return np.stack([f0, d0, s0 / 2, cubic, quartic, quintic])


@described_by(implied_information)
def information_drift(
    accuracy: ArrayLike, set_sizes: ArrayLike, *, base: float = 2
) -> FloatArray:
    """Return how implied information changes per doubling of the set size.

    Where the Gaussian limit holds, the information implied by each set size alone
    is the same. A downward drift means fewer hard confusions are averaged out
    than in the limit (low-dimensional codes), an upward drift the reverse; either
    way extrapolate with a method that has more than one parameter.

    Parameters
    ----------
    accuracy : array-like of shape (..., n_sizes)
        Accuracy curves, see :func:`average_accuracy`; NaN gives NaN.
    set_sizes : array-like of int of shape (n_sizes,)
        At least two sizes k >= 2.

    Returns
    -------
    drift : ndarray of shape (...)
        Least-squares slope of the implied information of each size on log2 of the
        size. Sizes whose accuracy is perfect, or not above chance, imply no finite
        positive information and are left out; NaN where fewer than two remain.

    Raises
    ------
    ValueError
        If accuracies lie outside [0, 1], there are fewer than two sizes, or the
        last axis has another length.

    References
    ----------
    Zheng & Benjamini 2016, "Estimating mutual information in high dimensions via
    classification error", section 3; the diagnostic is ours.

    Examples
    --------
    >>> from neuroextrap.stats import gaussian_identification_accuracy
    >>> curve = gaussian_identification_accuracy(1.5, [2, 8, 32])
    >>> bool(abs(information_drift(curve, [2, 8, 32])) < 1e-9)
    True
    """
    sizes = check_set_sizes(set_sizes)
    if sizes.ndim == 0 or len(np.unique(sizes)) < 2:
        raise ValueError(f"set_sizes must hold at least two sizes; got {sizes}")
    curves = check_curves(accuracy, sizes)
    of_size = [
        implied_information(curves[..., i], size, base=base)
        for i, size in enumerate(sizes)
    ]
    information = np.stack(of_size, axis=-1)
    missing = np.isnan(curves).any(axis=-1)
    used = (information > 0) & np.isfinite(information)
    used[missing] = False
    # least squares over the last axis, of the used entries
    n_used, x = used.sum(axis=-1, keepdims=True), np.log2(sizes)
    mean = (used * x).sum(axis=-1, keepdims=True) / np.maximum(n_used, 1)
    x = np.where(used, x - mean, 0.0)
    cross, spread = (x * np.where(used, information, 0.0)).sum(axis=-1), (x**2).sum(-1)
    slope = np.divide(cross, spread, out=np.full_like(cross, np.nan), where=spread > 0)
    return np.asarray(np.where(n_used[..., 0] < 2, np.nan, slope))
