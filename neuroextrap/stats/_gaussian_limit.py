"""Identification accuracy of the Gaussian limit, at any set size."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import log_ndtr, ndtri

from neuroextrap.stats._validation import (
    FloatArray,
    batches,
    check_information,
    check_real_set_sizes,
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
    return gaussian_accuracy(shift, sizes)


def gaussian_accuracy(shift: ArrayLike, set_size: ArrayLike) -> FloatArray:
    """Return piBar_k(c) for broadcast shifts c >= 0 and sizes k."""
    c, k = np.broadcast_arrays(np.asarray(shift, float), np.asarray(set_size, float))
    out = np.where(np.isnan(c), np.nan, 1.0)
    # beyond this shift every distractor is out of reach of double precision
    todo = np.flatnonzero(np.isfinite(c.ravel()) & (c.ravel() < 60))
    flat = out.reshape(-1)
    # the integrand is log-concave, and falls at least like exp(-z**2 / 2) from its mode
    nodes, weights = gauss_legendre_panels(np.linspace(-9.5, 9.5, 65), 20)
    for batch in batches(len(todo), _BATCH):
        shift, size = c.ravel()[todo[batch]], k.ravel()[todo[batch]]
        z = _mode(shift, size)[:, np.newaxis] + nodes
        log_density = -0.5 * (z - shift[:, np.newaxis]) ** 2 - 0.5 * np.log(2 * np.pi)
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
