"""Compiled sums over the samples of each class, for many labelings.

A matrix product with indicators of the classes would add a zero for every other class;
here a sample is added once. Sums of rounded terms are exact
(``algebra/_class_sums.py``): then both give the same bits. Indices are unsigned, since
a signed one is asked each time whether it is negative.
"""

from typing import Any

import numpy as np
from numba import njit

_compile = njit(cache=True, nogil=True, error_model="numpy")
TOGETHER = 8  # labelings whose sums are written side by side, a cache line of them


@_compile
def fill_class_sums(table: Any, members: Any, edges: Any, sums: Any) -> None:
    """Add the rows (n_test,) of a table that belong to each class, shape (K, n_test).

    Four rows at a time: the sum is read and written once for them. Short integers are
    added as such, if no sum is out of their range.
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
def put_last(of_labelings: Any, out: Any) -> None:
    """Write (B, K, n) as (n, K, B); further labelings than ``out`` has are left."""
    n, n_classes, width = out.shape
    for i in range(n):
        for k in range(n_classes):
            row = out[i, k]
            for b in range(width):
                row[b] = of_labelings[b, k, i]


@_compile
def fill_sums_of_labelings(table: Any, members: Any, edges: Any, out: Any) -> None:
    """Fill the sums (n_columns, K, B) of a table's rows by class, labelings last.

    ``table`` has shape (n_samples, n_columns), ``members`` (B, n_samples) are samples
    sorted by class, and ``edges`` (B, K + 1) say where classes begin.
    """
    n_columns, n_classes, n_labelings = out.shape
    sums = np.empty((TOGETHER, n_classes, n_columns))
    for start in range(0, n_labelings, TOGETHER):
        width = min(TOGETHER, n_labelings - start)
        for b in range(width):
            fill_class_sums(table, members[start + b], edges[start + b], sums[b])
        put_last(sums, out[:, :, start : start + width])
