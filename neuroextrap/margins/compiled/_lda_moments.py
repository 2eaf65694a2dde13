"""Compiled discriminant margins of a fold: the K x K steps of many labelings, in cache.

`TOGETHER` labelings (or regions) lie side by side in the last axis of every array, so
that plain loops over them become vector instructions; the last of them is repeated
until they are this many. The number of classes is made even by one without samples, so
that pivots are swept two by two. ``LDAMargins`` in ``classifiers/_lda.py`` has the
formulas.
"""

from typing import Any

import numpy as np
from numba import njit

from neuroextrap._compiling import bundle

TOGETHER = 64

# of a fold: residuals of its held-out samples and predicted minus true, (n_held, K, .);
# moments (K, K, .), training samples of a class and constants (K, .), and what may be
# written over, (K, 4, .) and (4, .); whether no pivot was too small
Work = bundle("inside errors moments counts constants pivots rows regular")

_EPSILON = float(np.finfo(float).eps)

# No fast math but fused multiply-add: sums keep their order. Divisions by zero give
# infinity, as in numpy; a singular matrix is found by its pivots instead.
_compile = njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})


@_compile
def workspace(n_held: int, width: int) -> Any:
    """Allocate what the largest fold needs."""
    return Work(
        np.empty((n_held, width, TOGETHER)),
        np.empty((n_held, width, TOGETHER)),
        np.empty((width, width, TOGETHER)),
        np.empty((width, TOGETHER)),
        np.empty((width, TOGETHER)),
        np.empty((width, 4, TOGETHER)),
        np.empty((4, TOGETHER)),
        np.ones(1, np.int64),
    )


@_compile
def copy_lanes(values: Any, out: Any) -> None:
    """Copy what lies side by side: a loop, which compiles in no time."""
    for x in range(TOGETHER):
        out[x] = values[x]


@_compile
def fill_errors(inverse: Any, n_held: int, work: Any) -> None:
    """Fill out-of-fold errors: minus the inverse held-out block times the residuals."""
    for i in range(n_held):
        weights = inverse[i]
        for k in range(work.inside.shape[1]):
            out, j = work.errors[i, k], 0
            out[:] = 0.0
            while j + 4 <= n_held:
                a, b, c, d = weights[j], weights[j + 1], weights[j + 2], weights[j + 3]
                one, two = work.inside[j, k], work.inside[j + 1, k]
                three, four = work.inside[j + 2, k], work.inside[j + 3, k]
                for x in range(TOGETHER):
                    value = out[x] - a * one[x]
                    value = value - b * two[x]
                    value = value - c * three[x]
                    out[x] = value - d * four[x]
                j += 4
            while j < n_held:
                weight, row = weights[j], work.inside[j, k]
                for x in range(TOGETHER):
                    out[x] -= weight * row[x]
                j += 1


@_compile
def _add_counts(counts: Any, size: Any) -> None:
    """Fill the number of training samples, class by class."""
    size[:] = 0.0
    for k in range(len(counts)):
        for x in range(TOGETHER):
            size[x] += counts[k, x]


@_compile
def _take_held_out(work: Any, n_held: int, k: int, m: int, out: Any) -> None:
    """Add the products of two classes over held-out samples, in their order."""
    inside, errors, j = work.inside, work.errors, 0
    while j + 4 <= n_held:
        a, b, c, d = inside[j, k], inside[j + 1, k], inside[j + 2, k], inside[j + 3, k]
        one, two = errors[j, m], errors[j + 1, m]
        three, four = errors[j + 2, m], errors[j + 3, m]
        for x in range(TOGETHER):
            value = out[x] + a[x] * one[x]
            value = value + b[x] * two[x]
            value = value + c[x] * three[x]
            out[x] = value + d[x] * four[x]
        j += 4
    while j < n_held:
        left, error = inside[j, k], errors[j, m]
        for x in range(TOGETHER):
            out[x] += left[x] * error[x]
        j += 1


@_compile
def _fill_moments(total: Any, n_held: int, n_classes: int, work: Any) -> None:
    """Fill the upper half of Q = Y'E - E_f' E^_f + d d'/N; errors are minus E^_f."""
    width, counts = len(total), work.counts
    size, share = work.rows[0], work.rows[1]
    _add_counts(counts, size)
    for x in range(TOGETHER):
        size[x] = 1.0 / size[x]
    for k in range(width):
        for x in range(TOGETHER):
            share[x] = size[x] * counts[k, x]
        for m in range(k, width):
            out, of_all, count = work.moments[k, m], total[k, m], counts[m]
            for x in range(TOGETHER):
                out[x] = of_all[x] + share[x] * count[x]
            _take_held_out(work, n_held, k, m, out)
    if n_classes < width:  # a class without samples is left alone
        work.moments[n_classes, n_classes] = 1.0


@_compile
def _read_pivots(k: int, least: Any, work: Any) -> None:
    """Copy columns k and k + 1 and what the inverse of their block makes of them.

    The block becomes minus its inverse, [[1 / p + f g, -g], [-g, 1 / s]] with ``f`` of
    the pivot ``p`` and ``g`` of the second, ``s``.
    """
    matrix, pivots = work.moments, work.pivots
    p, q, corner = matrix[k, k], matrix[k, k + 1], matrix[k + 1, k + 1]
    factor, second = work.rows[0], work.rows[1]
    by_first, by_second, n_small = work.rows[2], work.rows[3], 0
    for x in range(TOGETHER):
        by_first[x] = 1.0 / p[x]
        factor[x] = q[x] * by_first[x]
        second[x] = corner[x] - q[x] * factor[x]
        by_second[x] = 1.0 / second[x]
        n_small += not (p[x] > least[k, x] and second[x] > least[k + 1, x])
    work.regular[0] &= n_small == 0
    for i in range(len(matrix)):
        one = matrix[i, k] if i < k else matrix[k, i]
        two = matrix[i, k + 1] if i < k else matrix[k + 1, i]
        if i == k:
            two = q
        out = pivots[i]
        for x in range(TOGETHER):
            a, b = one[x], two[x]
            scaled = (b - factor[x] * a) * by_second[x]
            out[0, x], out[1, x] = a, b
            out[2, x] = a * by_first[x] - factor[x] * scaled
            out[3, x] = scaled
    for x in range(TOGETHER):
        f, inverse = factor[x], by_second[x]
        g = f * inverse
        pivots[k, 2, x] = -(by_first[x] + f * g)
        pivots[k, 3, x] = pivots[k + 1, 2, x] = g
        pivots[k + 1, 3, x] = -inverse


@_compile
def _eliminate(i: int, matrix: Any, pivots: Any) -> None:
    """Subtract from row i its share of the pivots' rows."""
    a, b = pivots[i, 0], pivots[i, 1]
    for m in range(i, len(matrix)):
        out, first, second = matrix[i, m], pivots[m, 2], pivots[m, 3]
        for x in range(TOGETHER):
            value = out[x] - a[x] * first[x]
            out[x] = value - b[x] * second[x]


@_compile
def _write_pivots(k: int, matrix: Any, pivots: Any) -> None:
    """Write the swept rows and columns k and k + 1, in the upper half."""
    for i in range(k):
        copy_lanes(pivots[i, 2], matrix[i, k])
        copy_lanes(pivots[i, 3], matrix[i, k + 1])
    for i in range(k, len(matrix)):
        copy_lanes(pivots[i, 2], matrix[k, i])
        copy_lanes(pivots[i, 3], matrix[k + 1, i])


@_compile
def _invert(least: Any, work: Any) -> None:
    """Invert moments in place, whose upper half is given, by two pivots at a time."""
    matrix, pivots = work.moments, work.pivots
    width = len(matrix)
    for k in range(width):
        for x in range(TOGETHER):
            least[k, x] = 10.0 * width * _EPSILON * matrix[k, k, x]
    for k in range(0, width, 2):
        _read_pivots(k, least, work)
        for i in range(width):
            if not k <= i <= k + 1:
                _eliminate(i, matrix, pivots)
        _write_pivots(k, matrix, pivots)
    for i in range(width):
        for m in range(i, width):
            out = matrix[i, m]
            for x in range(TOGETHER):
                out[x] = -out[x]
            copy_lanes(out, matrix[m, i])


@_compile
def _weigh_equally(n_classes: int, work: Any) -> None:
    """Turn moments into the weights of ridge regression, and weights into constants."""
    moments, weights = work.moments, work.constants
    total, size = work.rows[0], work.rows[1]
    width = len(moments)
    _add_counts(work.counts, size)
    for m in range(width):
        total[:] = 0.0
        for k in range(width):  # the upper triangle of a symmetric matrix
            moment, weight = moments[min(k, m), max(k, m)], weights[k]
            for x in range(TOGETHER):
                total[x] += weight[x] * moment[x]
        for x in range(TOGETHER):
            value = total[x] / size[x] - 1.0 / n_classes
            work.pivots[m, 0, x] = weights[m, x] * value - 1.0 / n_classes
    for k in range(width):
        moments[k] = 0.0
        copy_lanes(weights[k], moments[k, k])
        copy_lanes(work.pivots[k, 0], weights[k])


@_compile
def fit_fold(
    total: Any, n_held: int, n_classes: int, is_ridge: bool, work: Any
) -> None:
    """Turn a fold's moments into inverses, and its constants into those of margins."""
    _fill_moments(total, n_held, n_classes, work)
    if is_ridge:
        _weigh_equally(n_classes, work)
        return
    _invert(work.inside[0], work)  # whose residuals are not needed any more
    for k in range(len(total)):
        out, diagonal = work.constants[k], work.moments[k, k]
        for x in range(TOGETHER):
            out[x] -= 0.5 * diagonal[x]


@_compile
def fill_point_margins(errors: Any, codes: Any, work: Any, margins: Any) -> None:
    """Write the margins (K, .) of a test point, from predicted minus true (K, .)."""
    for x in range(TOGETHER):
        errors[codes[x], x] += 1.0
    for m in range(len(margins)):
        scores = margins[m]
        copy_lanes(work.constants[m], scores)
        for k in range(0, len(errors), 2):
            one, two = work.moments[k, m], work.moments[k + 1, m]
            first, second = errors[k], errors[k + 1]
            for x in range(TOGETHER):
                value = scores[x] + first[x] * one[x]
                scores[x] = value + second[x] * two[x]
