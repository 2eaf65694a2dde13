"""Compiled discriminant margins: all K x K steps of a batch of labelings, in cache.

Importing this module needs numba (the extra ``fast``). Every array carries the
labelings last, so that one machine instruction serves several of them;
`fill_margins` is the entry, and ``LDAMargins`` in ``_lda.py`` has the formulas.
"""

from collections import namedtuple
from typing import Any

import numpy as np
from numba import njit

# held-out samples of all folds, where each fold's start, the row of every test point
# among its fold's held-out samples, and where each fold's start
Folds = namedtuple("Folds", "held edges rows row_edges")
# per fold, (F, K, B): training samples of a class, what a prior adds to its margin
Classes = namedtuple("Classes", "counts log_priors")
# arrays of one fold, used again by the next: errors (n_held, K, B), moments (K, K, B),
# the rest (K, B); small enough together to stay in the first cache
Workspace = namedtuple("Workspace", "errors moments column row shares constants")

# No fast math but fused multiply-add: sums keep their order, so that the same labeling
# gets the same margins to the last bit whatever else is in its batch. Divisions by zero
# give infinity, as in numpy; a singular matrix is found by its pivots instead.
_compile = njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
_EPSILON = float(np.finfo(float).eps)

# The innermost loops below all run over the labelings, b: rows are bound to names
# before (``out``, ``left``, ``right``), so that the compiler sees three contiguous
# vectors and no index arithmetic, and turns the loop into vector instructions.


@_compile
def _copy(out: Any, values: Any) -> None:
    """Copy numbers: quicker here than an assignment to a slice."""
    for b in range(values.size):
        out[b] = values[b]


@_compile
def _total_moments(indicators: Any, residuals: Any) -> np.ndarray:
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
def _fill_errors(inverse: Any, residuals: Any, held: Any, errors: Any) -> None:
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
def _fill_moments(
    total: Any, residuals: Any, held: Any, counts: Any, work: Any
) -> None:
    """Upper triangle of Q = Y'E - E_f' E^_f + d d'/N."""
    n_classes, width = counts.shape
    moments, errors, shares = work.moments, work.errors, work.shares
    for k in range(n_classes):
        for m in range(k, n_classes):
            # Y'E of all samples, and d d'/N of this fold
            out, left, right = moments[k, m], counts[k], shares[m]
            start = total[k, m]
            for b in range(width):
                out[b] = start[b] + left[b] * right[b]
            # take the held-out samples off, in their order
            for i in range(len(held)):
                left, right = residuals[held[i], k], errors[i, m]
                for b in range(width):
                    out[b] -= left[b] * right[b]


@_compile
def _read_pivot(a: Any, k: int, column: Any, row: Any) -> None:
    """Copy column k of the upper triangle; divide it by its diagonal."""
    n_classes, width = column.shape
    for i in range(n_classes):
        _copy(column[i], a[i, k] if i < k else a[k, i])
    # row[k] holds 1 / pivot, by which the others are multiplied
    inverse = row[k]
    for b in range(width):
        inverse[b] = 1.0 / column[k, b]
    for i in range(n_classes):
        if i != k:
            out, left = row[i], column[i]
            for b in range(width):
                out[b] = left[b] * inverse[b]


@_compile
def _eliminate(a: Any, k: int, column: Any, row: Any) -> None:
    """Subtract the product of the pivot's column and row from the others."""
    n_classes, width = column.shape
    for i in range(n_classes):
        for j in range(i, n_classes):
            if k not in (i, j):
                out, left, right = a[i, j], column[i], row[j]
                for b in range(width):
                    out[b] -= left[b] * right[b]


@_compile
def _write_pivot(a: Any, k: int, row: Any) -> None:
    """Write the swept row and column."""
    n_classes, width = row.shape
    for i in range(k):
        _copy(a[i, k], row[i])
    for i in range(k + 1, n_classes):
        _copy(a[k, i], row[i])
    for b in range(width):
        a[k, k, b] = -row[k, b]


@_compile
def _invert(a: Any, smallest: Any, column: Any, row: Any) -> bool:
    """Invert symmetric (K, K, B) in place by Gauss-Jordan sweeps; False if singular.

    Only the upper triangle is read; the whole is written. No pivoting.
    """
    n_classes, width = column.shape
    # a pivot below the rounding error of its own diagonal element means singular; the
    # diagonal is read before the sweeps change it
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
    # the sweeps leave minus the inverse in the upper triangle
    for i in range(n_classes):
        for j in range(i, n_classes):
            out, mirror = a[i, j], a[j, i]
            for b in range(width):
                out[b] = -out[b]
                mirror[b] = out[b]
    return regular


@_compile
def _fill_constants(counts: Any, log_priors: Any, work: Any) -> None:
    """Fill what a fold adds to the margins of a class."""
    n_classes, width = counts.shape
    inverse, constants = work.moments, work.constants
    for m in range(n_classes):
        # the log prior and half of 1 / d_m - (Q^-1)_mm
        out, left, right = constants[m], inverse[m, m], counts[m]
        for b in range(width):
            out[b] = log_priors[m, b] - 0.5 * (left[b] - 1.0 / right[b])
        # the mean of the training samples, whose predictions are the class shares
        for k in range(n_classes):
            left, right = inverse[k, m], work.shares[k]
            for b in range(width):
                out[b] -= left[b] * right[b]


@_compile
def _fill_scores(indicators: Any, errors: Any, work: Any, out: Any) -> None:
    """Fill the margins (K, B) of one test point."""
    n_classes, width = out.shape
    # the sweeps are over: their column and row serve again
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
def _fill_shares(counts: Any, shares: Any) -> None:
    """Fill each class's share of the training samples."""
    n_classes, width = counts.shape
    for b in range(width):
        size = 0.0
        for k in range(n_classes):
            size += counts[k, b]
        for k in range(n_classes):
            shares[k, b] = counts[k, b] / size


@_compile
def _workspace(folds: Any, n_classes: int, width: int) -> Any:
    """Allocate the arrays of one fold, for the fold that holds out most samples."""
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
def fill_margins(
    residuals: Any, indicators: Any, inverses: Any, folds: Any, classes: Any, out: Any
) -> bool:
    """Fill the margins ``out`` (n_test, K, B) of one region under B labelings.

    ``residuals`` and ``indicators``, (n_samples, K, B), are (I - H) Y and Y of each
    labeling; ``inverses``, (sum of n_held ** 2,), the inverse held-out blocks of I - H,
    one fold after the other. False when a within-class scatter is singular or not
    finite.
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
        # d / N; E^_f; Q; Q^-1 in its place; what is the same for all test points
        _fill_shares(counts, work.shares)
        _fill_errors(inverse, residuals, held, work.errors)
        _fill_moments(total, residuals, held, counts, work)
        regular &= _invert(work.moments, work.constants, work.column, work.row)
        _fill_constants(counts, classes.log_priors[f], work)
        for t in range(folds.row_edges[f], folds.row_edges[f + 1]):
            i = folds.rows[t]  # the test point among the held-out samples
            _fill_scores(indicators[held[i]], work.errors[i], work, out[t])
    return regular


@_compile
def _add_between(counts: Any, moments: Any, work: Any) -> None:
    """Fill Q, the residual moments and d d'/N."""
    n_classes, width = counts.shape
    for k in range(n_classes):
        for m in range(k, n_classes):
            out, start = work.moments[k, m], moments[k, m]
            left, right = counts[k], work.shares[m]
            for b in range(width):
                out[b] = start[b] + left[b] * right[b]


@_compile
def fill_growing_margins(
    errors: Any, moments: Any, indicators: Any, rows: Any, classes: Any, out: Any
) -> bool:
    """Fill the margins ``out`` (n_test, K, S) of S regions from their ridge fits.

    Regions lie where labelings are elsewhere: ``errors`` and ``indicators``
    (n_test, K, S) are those of the test points, ``moments`` (F, K, K, S) of the
    residuals, and ``rows`` (F + 1,) says where the test points of each fold begin.
    False when a within-class scatter is singular or not finite.
    """
    n_folds, n_classes, _, width = moments.shape
    square, few = (n_classes, n_classes, width), (n_classes, width)
    empty = np.empty(few), np.empty(few), np.empty(few), np.empty(few)
    work = Workspace(np.empty((0, n_classes, width)), np.empty(square), *empty)
    regular = True
    for f in range(n_folds):
        counts = classes.counts[f]
        _fill_shares(counts, work.shares)
        _add_between(counts, moments[f], work)
        regular &= _invert(work.moments, work.constants, work.column, work.row)
        _fill_constants(counts, classes.log_priors[f], work)
        for t in range(rows[f], rows[f + 1]):
            _fill_scores(indicators[t], errors[t], work, out[t])
    return regular
