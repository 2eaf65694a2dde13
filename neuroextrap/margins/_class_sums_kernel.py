"""Compiled sums over the samples of each class, for many labelings.

Importing this module needs numba (the extra ``fast``). A matrix product with indicators
of the classes would add a zero for every other class; here a sample is added once.
"""

from typing import Any

import numpy as np
from numba import njit

_compile = njit(cache=True, nogil=True, error_model="numpy")
_TOGETHER = 8  # labelings whose sums are written side by side, a cache line of them


@_compile
def fill_class_sums(table: Any, members: Any, edges: Any, sums: Any) -> None:
    """Add the rows (n_test,) of a table that belong to each class, shape (K, n_test).

    Four rows at a time: the sum is read and written once for them.
    """
    n_classes, n_test = sums.shape
    for k in range(n_classes):
        out, a = sums[k], edges[k]
        out[:] = 0.0
        while edges[k + 1] - a >= 4:
            first, second = table[members[a]], table[members[a + 1]]
            third, fourth = table[members[a + 2]], table[members[a + 3]]
            for i in range(n_test):
                out[i] += (first[i] + second[i]) + (third[i] + fourth[i])
            a += 4
        while a < edges[k + 1]:
            row = table[members[a]]
            for i in range(n_test):
                out[i] += row[i]
            a += 1


@_compile
def fill_sums_of_labelings(table: Any, members: Any, edges: Any, out: Any) -> None:
    """Fill the sums (n_columns, K, B) of a table's rows by class, labelings last.

    ``table`` has shape (n_samples, n_columns), ``members`` (B, n_samples) are samples
    sorted by class, and ``edges`` (B, K + 1) say where classes begin.
    """
    n_columns, n_classes, n_labelings = out.shape
    sums = np.empty((_TOGETHER, n_classes, n_columns))
    for start in range(0, n_labelings, _TOGETHER):
        width = min(_TOGETHER, n_labelings - start)
        for b in range(width):
            fill_class_sums(table, members[start + b], edges[start + b], sums[b])
        for i in range(n_columns):
            for k in range(n_classes):
                row = out[i, k, start : start + width]
                for b in range(width):
                    row[b] = sums[b, k, i]
