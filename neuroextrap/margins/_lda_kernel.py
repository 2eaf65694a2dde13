"""Compiled discriminant margins: all K x K steps of a batch of labelings, in cache.

Importing this module needs numba (the extra ``fast``). Every array carries the
labelings last, so that one machine instruction serves several of them;
`fill_margins` is the entry, and ``LDAMargins`` in ``_lda.py`` has the formulas.
"""

from collections import namedtuple

import numpy as np
from numba import njit

# held-out samples of all folds, where each fold's start, the place of every test
# point among its fold's held-out samples, and where each fold's start
Folds = namedtuple("Folds", "held edges rows row_edges")
# per fold, (F, K, B): training samples of a class, what a prior adds to its margin
Classes = namedtuple("Classes", "counts log_priors")
# what a fold needs: errors (n_held, K, B), moments (K, K, B), the rest (K, B)
Workspace = namedtuple("Workspace", "errors moments column row shares constants")

_compile = njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
_EPSILON = float(np.finfo(float).eps)


@_compile
def _copy(out, values):
    """Copy numbers: quicker here than an assignment to a slice."""
    for b in range(values.size):
        out[b] = values[b]


@_compile
def _total_moments(indicators, residuals):
    """Upper triangle of Y'E over all samples, shape (K, K, B)."""
    n_samples, n_classes, width = residuals.shape
    total = np.zeros((n_classes, n_classes, width))
    for i in range(n_samples):
        for k in range(n_classes):
            for m in range(k, n_classes):
                out, left, right = total[k, m], indicators[i, k], residuals[i, m]
                for b in range(width):
                    out[b] += left[b] * right[b]
    return total


@_compile
def _fill_errors(inverse, residuals, held, errors):
    """Out-of-fold errors: the inverse held-out block times the residuals."""
    _, n_classes, width = residuals.shape
    for i in range(len(held)):
        for k in range(n_classes):
            out = errors[i, k]
            out[:] = 0.0
            for j in range(len(held)):
                weight, row = inverse[i, j], residuals[held[j], k]
                for b in range(width):
                    out[b] += weight * row[b]


@_compile
def _fill_moments(total, residuals, held, counts, work):
    """Upper triangle of Q = Y'E - E_f' E^_f + d d'/N."""
    n_classes, width = counts.shape
    moments, errors, shares = work.moments, work.errors, work.shares
    for k in range(n_classes):
        for m in range(k, n_classes):
            out, left, right = moments[k, m], counts[k], shares[m]
            start = total[k, m]
            for b in range(width):
                out[b] = start[b] + left[b] * right[b]
            for i in range(len(held)):
                left, right = residuals[held[i], k], errors[i, m]
                for b in range(width):
                    out[b] -= left[b] * right[b]


@_compile
def _read_pivot(a, k, column, row):
    """Copy column k of the upper triangle; divide it by its diagonal."""
    n_classes, width = column.shape
    for i in range(n_classes):
        _copy(column[i], a[i, k] if i < k else a[k, i])
    inverse = row[k]
    for b in range(width):
        inverse[b] = 1.0 / column[k, b]
    for i in range(n_classes):
        if i != k:
            out, left = row[i], column[i]
            for b in range(width):
                out[b] = left[b] * inverse[b]


@_compile
def _eliminate(a, k, column, row):
    """Subtract the product of the pivot's column and row from the others."""
    n_classes, width = column.shape
    for i in range(n_classes):
        for j in range(i, n_classes):
            if k not in (i, j):
                out, left, right = a[i, j], column[i], row[j]
                for b in range(width):
                    out[b] -= left[b] * right[b]


@_compile
def _write_pivot(a, k, row):
    """Write the swept row and column."""
    n_classes, width = row.shape
    for i in range(k):
        _copy(a[i, k], row[i])
    for i in range(k + 1, n_classes):
        _copy(a[k, i], row[i])
    for b in range(width):
        a[k, k, b] = -row[k, b]


@_compile
def _invert(a, smallest, column, row):
    """Invert symmetric (K, K, B) in place by Gauss-Jordan sweeps; False if singular.

    Only the upper triangle is read; the whole is written. No pivoting.
    """
    n_classes, width = column.shape
    for k in range(n_classes):
        for b in range(width):
            smallest[k, b] = 10 * n_classes * _EPSILON * a[k, k, b]
    regular = True
    for k in range(n_classes):
        _read_pivot(a, k, column, row)
        for b in range(width):
            regular &= column[k, b] > smallest[k, b]
        _eliminate(a, k, column, row)
        _write_pivot(a, k, row)
    for i in range(n_classes):
        for j in range(i, n_classes):
            out, mirror = a[i, j], a[j, i]
            for b in range(width):
                out[b] = -out[b]
                mirror[b] = out[b]
    return regular


@_compile
def _fill_constants(counts, log_priors, work):
    """Fill what a fold adds to the margins of a class."""
    n_classes, width = counts.shape
    inverse, constants = work.moments, work.constants
    for m in range(n_classes):
        out, left, right = constants[m], inverse[m, m], counts[m]
        for b in range(width):
            out[b] = log_priors[m, b] - 0.5 * (left[b] - 1.0 / right[b])
        for k in range(n_classes):
            left, right = inverse[k, m], work.shares[k]
            for b in range(width):
                out[b] -= left[b] * right[b]


@_compile
def _fill_scores(indicators, errors, work, out):
    """Fill the margins (K, B) of one test point."""
    n_classes, width = out.shape
    predicted, inverse, score = work.column, work.moments, work.row[0]
    for k in range(n_classes):
        for b in range(width):
            predicted[k, b] = indicators[k, b] - errors[k, b]
    for m in range(n_classes):
        _copy(score, work.constants[m])
        for k in range(n_classes):
            left, right = predicted[k], inverse[k, m]
            for b in range(width):
                score[b] += left[b] * right[b]
        _copy(out[m], score)


@_compile
def _fill_shares(counts, shares):
    """Fill each class's share of the training samples."""
    n_classes, width = counts.shape
    for b in range(width):
        size = 0.0
        for k in range(n_classes):
            size += counts[k, b]
        for k in range(n_classes):
            shares[k, b] = counts[k, b] / size


@_compile
def _workspace(folds, n_classes, width):
    n_held = np.diff(folds.edges).max()
    few = (n_classes, width)
    return Workspace(
        np.empty((n_held, n_classes, width)),
        np.empty((n_classes, n_classes, width)),
        np.empty(few),
        np.empty(few),
        np.empty(few),
        np.empty(few),
    )


@_compile
def fill_margins(residuals, indicators, inverses, folds, classes, out):
    """Fill the margins of one region under B labelings, in every fold.

    Parameters
    ----------
    residuals, indicators : ndarray, shape (n_samples, K, B)
        (I - H) Y and Y of each labeling.
    inverses : ndarray, shape (sum of n_held ** 2,)
        Inverse held-out blocks of I - H, one fold after the other.
    folds : Folds
    classes : Classes
    out : ndarray, shape (n_test, K, B)
        Filled.

    Returns
    -------
    regular : bool
        False when a within-class scatter is singular or not finite.
    """
    _, n_classes, width = residuals.shape
    total = _total_moments(indicators, residuals)
    work = _workspace(folds, n_classes, width)
    offset, regular = 0, True
    for f in range(len(folds.edges) - 1):
        held = folds.held[folds.edges[f] : folds.edges[f + 1]]
        size = len(held)
        inverse = inverses[offset : offset + size**2].reshape(size, size)
        offset += size**2
        counts = classes.counts[f]
        _fill_shares(counts, work.shares)
        _fill_errors(inverse, residuals, held, work.errors)
        _fill_moments(total, residuals, held, counts, work)
        regular &= _invert(work.moments, work.constants, work.column, work.row)
        _fill_constants(counts, classes.log_priors[f], work)
        for t in range(folds.row_edges[f], folds.row_edges[f + 1]):
            i = folds.rows[t]
            _fill_scores(indicators[held[i]], work.errors[i], work, out[t])
    return regular
