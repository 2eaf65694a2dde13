"""Compiled sums of rows, in the order in which a sparse product adds them.

Nothing here is fast math: members are added in their order.
"""

import math
from typing import Any

import numpy as np
from numba import njit

TOGETHER = 16  # sums that are written side by side, a cache line of them

_compile = njit(cache=True, nogil=True, error_model="numpy")


@_compile
def _add_rows(members: Any, rows: Any, out: Any) -> None:
    """Add some rows, four at a time: the sum is read and written once for them."""
    a, n_columns = 0, len(out)
    out[:] = 0.0
    while a + 4 <= len(members):
        first, second = rows[members[a]], rows[members[a + 1]]
        third, fourth = rows[members[a + 2]], rows[members[a + 3]]
        for j in range(n_columns):
            out[j] = (((out[j] + first[j]) + second[j]) + third[j]) + fourth[j]
        a += 4
    while a < len(members):
        row = rows[members[a]]
        for j in range(n_columns):
            out[j] += row[j]
        a += 1


@_compile
def fill_parts(indptr: Any, indices: Any, n_features: int, rows: Any) -> None:
    """Fill the rows behind the features, each a sum of rows before it, mostly few."""
    for r in range(len(indptr) - 1):
        members, out = indices[indptr[r] : indptr[r + 1]], rows[n_features + r]
        if len(members) == 2:
            first, second = rows[members[0]], rows[members[1]]
            for j in range(len(out)):
                out[j] = first[j] + second[j]
        elif len(members) == 3:
            first, second, third = rows[members[0]], rows[members[1]], rows[members[2]]
            for j in range(len(out)):
                out[j] = (first[j] + second[j]) + third[j]
        else:
            _add_rows(members, rows, out)


@_compile
def fill_sums(indptr: Any, indices: Any, rows: Any, out: Any) -> None:
    """Fill the sums (n_columns, n_regions) of rows (n_rows, n_columns).

    Some regions at a time, so that whole cache lines are written.
    """
    n_columns, n_regions = out.shape
    sums = np.empty((TOGETHER, n_columns), rows.dtype)
    for start in range(0, n_regions, TOGETHER):
        width = min(TOGETHER, n_regions - start)
        for b in range(width):
            r = start + b
            _add_rows(indices[indptr[r] : indptr[r + 1]], rows, sums[b])
        for j in range(n_columns):
            line = out[j, start : start + width]
            for b in range(width):
                line[b] = sums[b, j]


@_compile
def fill_symmetric(sums: Any, out: Any, digits: int) -> None:
    """Fill (n, n) from an upper triangle, rounded to ``digits`` of the largest number.

    None is larger than the largest of the diagonal; no digits stand for no rounding.
    The sums may have further rows and columns.
    """
    n, largest, shift = len(out), 0.0, 0.0
    if digits:
        for i in range(n):
            largest = max(largest, sums[i, i])
        exponent: Any = np.int32(math.frexp(largest)[1] - digits + 52)
        shift = math.ldexp(1.5, exponent)
    for i in range(n):
        row, above = out[i], sums[i]
        for j in range(i, n):
            row[j] = (above[j] + shift) - shift
    # some columns at a time, so that what is read stays in cache
    for start in range(0, n, TOGETHER):
        stop = min(start + TOGETHER, n)
        for j in range(start + 1, n):
            row = out[j]
            for i in range(start, min(stop, j)):
                row[i] = out[i, j]
