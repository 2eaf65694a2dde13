"""Compiled counting: how the true class of every test point fares among the others.

Nothing here is fast math: margins and shares are compared and added as they are.
"""

from typing import Any

import numpy as np
from numba import njit

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
def _share_of_one(
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
def fill_shares(margins: Any, truth: Any, weights: Any, out: Any) -> None:
    """Fill the shares (S, B) of best classes of margins (S, B, K, n_test).

    ``truth`` (B, n_test) are the true classes, ``weights`` (B, n_test), or (B, 0) where
    points are counted.
    """
    best = np.empty(margins.shape[3], margins.dtype)
    classes = np.empty(margins.shape[3], np.int32)
    for s in range(len(margins)):
        for b in range(len(truth)):
            out[s, b] = _share_of_one(
                margins[s, b], truth[b], weights[b], best, classes
            )


@_compile
def add_shares(margins: Any, truth: Any, weights: Any, out: Any) -> None:
    """Add the same (S, B) where margins (n_test, K, S, B) have the labelings last.

    ``truth`` (n_test, B); ``weights`` (n_test, B), or one row or one column for all.
    Some labelings at a time, which stay in the first cache.
    """
    n_test, n_classes, n_regions, n_labelings = margins.shape
    best, n_best = np.empty(_COLUMNS, margins.dtype), np.empty(_COLUMNS)
    for i in range(n_test):
        weight = weights[min(i, weights.shape[0] - 1)]
        for s in range(n_regions):
            for start in range(0, n_labelings, _COLUMNS):
                width = min(_COLUMNS, n_labelings - start)
                best[:], n_best[:] = -np.inf, 0.0
                for k in range(n_classes):
                    row = margins[i, k, s, start : start + width]
                    for b in range(width):
                        best[b] = max(best[b], row[b])
                for k in range(n_classes):
                    row = margins[i, k, s, start : start + width]
                    for b in range(width):
                        n_best[b] += row[b] == best[b]
                for b in range(width):
                    column = start + b
                    if margins[i, truth[i, column], s, column] == best[b]:
                        of_point = weight[min(column, weights.shape[1] - 1)]
                        out[s, column] += 1.0 / n_best[b] * of_point


@_compile
def share_of_points(margins: Any, truth: Any, weights: Any) -> float:
    """Return the same of one labeling, whose margins (n_test, K) have classes last.

    ``weights`` (n_test,), or (1,) for all.
    """
    share = 0.0
    for i in range(len(margins)):
        row, own = margins[i], margins[i, truth[i]]
        n_above, n_equal = np.int32(0), np.int32(0)
        for k in range(len(row)):
            n_above += np.int32(row[k] > own)
            n_equal += np.int32(row[k] == own)
        if n_above == 0:
            share += 1.0 / n_equal * weights[min(i, len(weights) - 1)]
    return share


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
