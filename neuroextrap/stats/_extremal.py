"""The largest average accuracy at a given information, and its inverse."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.polynomial.polynomial import polyval
from numpy.typing import ArrayLike

from neuroextrap.stats._gaussian_limit import (
    gauss_legendre_panels,
    quintic_coefficients,
    quintic_root,
)
from neuroextrap.stats._validation import (
    FloatArray,
    check_accuracy,
    check_information,
    check_n_classes,
    nats_per_unit,
)

_SMALL = 1e-3  # below this tilt the cumulant series is exact to 1e-13


class _Table(NamedTuple):
    """Information as a smooth function of the accuracy, for one k."""

    logit: FloatArray  # (n_grid,) log((C - 1/k) / (1 - C)), increasing
    log_information: FloatArray  # (3, n_grid): log nats, two derivatives by logit

    def cells(self, grid: FloatArray, values: FloatArray) -> tuple[FloatArray, ...]:
        """Return start, step and both ends of the cells of a grid that hold values."""
        cell = np.searchsorted(grid[1:-1], values, side="right")
        start, step = self.logit[cell], self.logit[cell + 1] - self.logit[cell]
        return start, step, *self.log_information[:, [cell, cell + 1]].swapaxes(0, 1)


def max_average_accuracy(
    information: ArrayLike, n_classes: ArrayLike, *, base: float = 2
) -> FloatArray:
    r"""Return the largest average Bayes accuracy that this information allows.

    Over all continuous joint distributions with mutual information I, the
    average Bayes accuracy among k random classes is at most C_k(I), attained by
    a density that depends on the tilt c:

    .. math:: Q_c(t) = \frac{e^{c t^{k-1}}}{\int_0^1 e^{c s^{k-1}} ds},\quad
        I = \int_0^1 Q_c \log Q_c,\quad C_k(I) = \int_0^1 Q_c(t) t^{k-1} dt.

    Parameters
    ----------
    information : array-like of shape (...)
        Mutual information, not negative; infinity gives 1 and NaN gives NaN.
    n_classes : float or array-like of shape (...)
        Number k of random classes, at least 2 (up to 1e12); broadcasts.
    base : float, default=2
        Unit of `information`: 2 for bits, ``math.e`` for nats.

    Returns
    -------
    accuracy : ndarray of shape (...)
        In [1/k, 1]; the inverse of :func:`min_information`.

    Raises
    ------
    ValueError
        If information is negative, a number of classes below two, or `base` not
        above 1.

    References
    ----------
    Zheng 2017, thesis, theorem 4.3.1 (with the infimum read as a supremum).

    Examples
    --------
    >>> max_average_accuracy([0, 1, 4], 20)
    array([0.05      , 0.33395842, 0.73607879])
    """
    nats = nats_per_unit(base) * check_information(information)
    return _per_size(_accuracy_of, nats, check_n_classes(n_classes))


def min_information(
    accuracy: ArrayLike, n_classes: ArrayLike, *, base: float = 2
) -> FloatArray:
    """Return the least information compatible with an average Bayes accuracy.

    The inverse of :func:`max_average_accuracy`. It has no ceiling at log k: as
    the accuracy a tends to one it grows like log((k - 1) / (1 - a)) - 1 nats.
    Applied to an estimated accuracy it is an estimate; applied to a lower
    confidence bound it is a bound, see :func:`information_lower_bound`.

    Parameters
    ----------
    accuracy : array-like of shape (...)
        Average Bayes accuracy among `n_classes` random classes; NaN gives NaN.
    n_classes : float or array-like of shape (...)
        Number k of random classes, at least 2 (up to 1e12); broadcasts.
    base : float, default=2
        Unit of the result: 2 for bits, ``math.e`` for nats.

    Returns
    -------
    information : ndarray of shape (...)
        0 at or below 1/k, infinity at 1; relative error below 1e-9.

    Raises
    ------
    ValueError
        If accuracies lie outside [0, 1], a number of classes is below two, or
        `base` is not above 1.

    References
    ----------
    Zheng 2017, thesis, theorem 4.3.1 (with the infimum read as a supremum).

    Examples
    --------
    >>> import math
    >>> min_information([0.05, 0.5, 0.9, 0.99], 20, base=math.e)
    array([0.      , 1.415258, 4.137655, 6.540039])
    """
    unit = nats_per_unit(base)
    values, k = check_accuracy(accuracy), check_n_classes(n_classes)
    return np.asarray(_per_size(_information_of, values, k) / unit)


def _per_size(
    function: Callable[[FloatArray, float], FloatArray],
    values: FloatArray,
    k: FloatArray,
) -> FloatArray:
    """Apply function(values, k) to the broadcast values of each distinct k."""
    values, k = np.broadcast_arrays(values, k)
    out = np.empty(values.shape)
    for size in np.unique(k):
        of_size = k == size
        out[of_size] = function(values[of_size], float(size))
    return out


def _information_of(accuracy: FloatArray, k: float) -> FloatArray:
    """Return nats for accuracies (n,) and one k."""
    table = _table(k)
    out = np.where(accuracy >= 1, np.inf, 0.0)
    out[np.isnan(accuracy)] = np.nan
    inside = (accuracy > 1 / k) & (accuracy < 1)
    a = accuracy[inside]
    logit = np.log((a - 1 / k) / (1 - a))
    x = np.clip(logit, table.logit[0], table.logit[-1])
    start, step, low, high = table.cells(table.logit, x)
    coefficients = quintic_coefficients(low, high, step)
    values = polyval((x - start) / step, coefficients, tensor=False)
    # below the table information is quadratic in the excess accuracy
    out[inside] = np.exp(values + 2 * np.minimum(logit - x, 0))
    return out


def _accuracy_of(nats: FloatArray, k: float) -> FloatArray:
    """Return accuracies for nats (n,) and one k."""
    table = _table(k)
    values = table.log_information[0]
    out = np.where(np.isnan(nats), np.nan, 1 / k)
    # past the table's end the accuracy differs from one by less than 1e-15
    out[nats >= np.exp(values[-1])] = 1.0
    inside = (nats > 0) & (nats < np.exp(values[-1]))
    target = np.log(nats[inside])
    y = np.maximum(target, values[0])
    start, step, low, high = table.cells(values, y)
    low[0] -= y
    high[0] -= y
    logit = start + step * quintic_root(low, high, step)
    odds = np.exp(logit + (target - y) / 2)
    out[inside] = (1 / k + odds) / (1 + odds)
    return out


@lru_cache(maxsize=512)
def _table(k: float) -> _Table:
    """Tabulate log information against the logit of the accuracy for one k."""
    ends = np.arange(np.log(1e-7), 0, 0.08), np.arange(np.log(60), np.log(1e17), 0.08)
    tilt = np.concatenate([np.exp(ends[0]), np.arange(1, 60, 0.08), np.exp(ends[1])])
    parts = [extremal_channel(part, k) for part in np.array_split(tilt, 16)]
    excess, lost, variance, nats = np.concatenate(parts, axis=-1)
    logit = np.log(excess / lost)
    # dI/dC = c and dC/dc = variance of t**(k-1) under Q
    scale = 1 - 1 / k
    dC = excess * lost / scale
    ddC = dC * (lost - excess) / scale
    dI = tilt * dC
    ddI = dC**2 / variance + tilt * ddC
    first = dI / nats
    return _Table(logit, np.stack([np.log(nats), first, ddI / nats - first**2]))


def extremal_channel(tilt: FloatArray, k: float) -> FloatArray:
    """Return C - 1/k, 1 - C, Var(t**(k-1)) and I in nats for tilts (n,)."""
    small = tilt < _SMALL
    scaled = tilt >= 40
    out = np.empty((4, len(tilt)))
    for which, function in (
        (small, _by_cumulants),
        (~small & ~scaled, _by_moments),
        (scaled, _by_scaled_moments),
    ):
        if which.any():
            out[:, which] = function(tilt[which], k)
    return out


def _by_cumulants(c: FloatArray, k: float) -> FloatArray:
    """Expand in the cumulants of T = t**(k-1), t uniform; E T**j = 1/(j(k-1)+1)."""
    m = k - 1
    m1, m2, m3, m4, m5 = (1 / (j * m + 1) for j in range(1, 6))
    k2 = m**2 / ((2 * m + 1) * (m + 1) ** 2)
    k3 = m3 - 3 * m2 * m1 + 2 * m1**3
    k4 = m4 - 4 * m3 * m1 - 3 * m2**2 + 12 * m2 * m1**2 - 6 * m1**4
    k5 = (
        m5 - 5 * m4 * m1 - 10 * m3 * m2 + 20 * m3 * m1**2 + 30 * m2**2 * m1
        - 60 * m2 * m1**3 + 24 * m1**5
    )  # fmt: skip
    excess = c * (k2 + c * (k3 / 2 + c * (k4 / 6 + c * k5 / 24)))
    variance = k2 + c * (k3 + c * (k4 / 2 + c * k5 / 6))
    nats = c**2 * (k2 / 2 + c * (k3 / 3 + c * (k4 / 8 + c * k5 / 30)))
    return np.stack([excess, m / k - excess, variance, nats])


def _by_moments(c: FloatArray, k: float) -> FloatArray:
    """Integrate exp(c t**m) - 1 with t**m = exp(-x); no overflow for c < 40."""
    m = k - 1
    x, density = _nodes(c, m)
    t = np.exp(-x)
    gain = np.expm1(c[:, np.newaxis] * t) * density
    excess_mass = gain.sum(axis=-1)  # Z - 1
    z = 1 + excess_mass
    # E t = (1/k + integral of t gain) / Z, and the same for squares
    first = (gain * t).sum(axis=-1)
    second = (gain * t * t).sum(axis=-1)
    accuracy = (1 / k + first) / z
    excess = (first - excess_mass / k) / z
    variance = (1 / (2 * m + 1) + second) / z - accuracy**2
    lost = (m / k + (gain * -np.expm1(-x)).sum(axis=-1)) / z
    nats = c * accuracy - np.log1p(excess_mass)
    return np.stack([excess, lost, variance, nats])


def _by_scaled_moments(c: FloatArray, k: float) -> FloatArray:
    """Integrate with the factor exp(c) taken out; moments of 1 - t**m."""
    m = k - 1
    x, density = _nodes(c, m)
    gap = -np.expm1(-x)  # 1 - t**m
    rest = np.exp(-c)
    gain = (np.exp(-c[:, np.newaxis] * gap) - rest[:, np.newaxis]) * density
    z = rest + gain.sum(axis=-1)
    lost = (rest * m / k + (gain * gap).sum(axis=-1)) / z
    square = rest * (1 - 2 / k + 1 / (2 * m + 1)) + (gain * gap**2).sum(axis=-1)
    return np.stack([m / k - lost, lost, square / z - lost**2, -c * lost - np.log(z)])


def _nodes(c: FloatArray, m: float) -> tuple[FloatArray, FloatArray]:
    """Return nodes x (n, n_nodes) and weights times exp(-x/m)/m."""
    first = 1e-3 / np.maximum(c, 1)
    last = np.log1p(c) + 45
    powers = np.linspace(0, 1, 60)
    geometric = first[:, np.newaxis] * (last / first)[:, np.newaxis] ** powers
    edges = np.concatenate([np.zeros((len(c), 1)), geometric], axis=-1)
    x, weights = gauss_legendre_panels(edges, 16)
    return x, weights * np.exp(-x / m) / m
