"""Compiled search for the best class of every test point.

Nothing here is fast math: margins and shares are compared and added as they are.
"""

from collections import namedtuple
from typing import Any

import numpy as np
from numba import njit

# B labelings: samples sorted by class (B, n), where each class begins (B, K + 1), the
# class of every test point (B, n_test), and its weight (B, n_test), or (B, 0) if equal
Sorted = namedtuple("Sorted", "members edges truth weights")

_COLUMNS = 512  # of one test point, which stay in the first cache

_compile = njit(cache=True, nogil=True, error_model="numpy")


@_compile
def _compare_class(row: Any, k: int, best: Any, classes: Any) -> int:
    """Keep the best margins so far and their classes; return how many tied with one."""
    n_tied = 0
    for i in range(len(row)):
        n_tied += row[i] == best[i]
        classes[i] = np.int32(k) if row[i] > best[i] else classes[i]
        best[i] = row[i] if row[i] > best[i] else best[i]
    return n_tied


@_compile
def share_of_best(
    margins: Any, truth: Any, weights: Any, best: Any, classes: Any
) -> float:
    """Return the weight of the test points whose class is best, of margins (K, n_test).

    Ties share it; added in the order of the points, as ``numpy.bincount`` does. Without
    weights, (0,), the points are counted.
    """
    n_classes, n_test = margins.shape
    n_tied, first = 0, margins[0]
    for i in range(n_test):
        best[i], classes[i] = first[i], 0
    for k in range(1, n_classes):
        n_tied += _compare_class(margins[k], k, best, classes)
    if n_tied == 0 and len(weights) == 0:
        n_best = 0
        for i in range(n_test):
            n_best += classes[i] == truth[i]
        return float(n_best)
    share = 0.0
    for i in range(n_test):
        if margins[truth[i], i] == best[i]:
            n_best = 0
            for k in range(n_classes):
                n_best += margins[k, i] == best[i]
            share += 1.0 / n_best * (weights[i] if len(weights) else 1.0)
    return share


@_compile
def _fill_best(margins: Any, best: Any, n_best: Any) -> bool:
    """Fill a point's best margins and how many share them, of (K, width); False if NaN.

    ``best`` and ``n_best`` are as wide as the margins at least.
    """
    n_classes, width = margins.shape
    is_number = True
    for b in range(width):
        best[b], n_best[b] = margins[0, b], 0.0
        is_number &= best[b] == best[b]
    for k in range(1, n_classes):
        row = margins[k]
        for b in range(width):
            is_number &= row[b] == row[b]
            best[b] = max(best[b], row[b])
    for k in range(n_classes):
        row = margins[k]
        for b in range(width):
            n_best[b] += row[b] == best[b]
    return is_number


@_compile
def add_best_shares(margins: Any, y: Any, weights: Any, out: Any) -> bool:
    """Add the shares (M,) of best classes of margins (n_test, K, M); False if NaN.

    ``weights`` are (n_test, M), or have one row or one column for all. Some columns at
    a time, which stay in the first cache.
    """
    n_test, _, n_batch = margins.shape
    best, n_best = np.empty(_COLUMNS, margins.dtype), np.empty(_COLUMNS)
    is_number = True
    for start in range(0, n_batch, _COLUMNS):
        stop = min(start + _COLUMNS, n_batch)
        for i in range(n_test):
            part = margins[i, :, start:stop]
            is_number &= _fill_best(part, best, n_best)
            weight = weights[min(i, weights.shape[0] - 1)]
            for b in range(stop - start):
                if part[y[i, start + b], b] == best[b]:
                    column = min(start + b, weights.shape[1] - 1)
                    out[start + b] += 1.0 / n_best[b] * weight[column]
    return is_number


@_compile
def count_beaten(margins: Any, y: Any, beaten: Any, up_to: Any) -> bool:
    """Count the classes below the true one, and those not above; False if NaN.

    ``margins`` (n_test, K, M), the rest (n_test, M), less than 2^24 classes.
    """
    n_test, n_classes, n_batch = margins.shape
    truth, is_number = np.empty(_COLUMNS, margins.dtype), True
    # counted in float32, in which a comparison and a sum are one instruction each
    below, reached = np.empty(_COLUMNS, np.float32), np.empty(_COLUMNS, np.float32)
    one, zero = np.float32(1), np.float32(0)
    for i in range(n_test):
        for start in range(0, n_batch, _COLUMNS):
            stop = min(start + _COLUMNS, n_batch)
            # rows are contiguous to the compiler, which a slice of slices is not
            classes = y[i, start:stop]
            for b in range(len(classes)):
                truth[b] = margins[i, classes[b], start + b]
                is_number &= truth[b] == truth[b]
                below[b], reached[b] = zero, zero
            for k in range(n_classes):
                row = margins[i, k, start:stop]
                for b in range(len(row)):
                    below[b] += one if row[b] < truth[b] else zero
                    reached[b] += one if row[b] <= truth[b] else zero
            for b in range(len(classes)):
                beaten[i, start + b], up_to[i, start + b] = below[b], reached[b]
    return is_number


@_compile
def add_wins(beaten: Any, tied: Any, weights: Any, wins: Any) -> bool:
    """Add the weights of untied points to wins (K, M); return whether any is tied.

    ``weights`` (n_test, M), or one row or one column for all; added point by point, as
    a sum over the points is.
    """
    n_test, n_batch = beaten.shape
    any_tied = False
    for i in range(n_test):
        weight = weights[min(i, weights.shape[0] - 1)]
        for b in range(n_batch):
            if tied[i, b] == 0:
                wins[beaten[i, b], b] += weight[min(b, len(weight) - 1)]
            else:
                any_tied = True
    return any_tied
