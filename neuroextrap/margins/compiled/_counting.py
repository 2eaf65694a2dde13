"""Compiled counting: how the true class of every test point fares among the others.

Nothing here is fast math: margins are compared as they are.
"""

from typing import Any

import numpy as np
from numba import njit

_COLUMNS = 512  # of one test point, which stay in the first cache

_compile = njit(cache=True, nogil=True, error_model="numpy")


@_compile
def count_beaten(margins: Any, y: Any, beaten: Any, up_to: Any) -> None:
    """Count the classes below the true one, and those not above it.

    ``margins`` (n_test, K, M), ``y`` (L, M), the same for every L points; the rest
    (n_test, M).
    """
    n_test, n_classes, n_batch = margins.shape
    truth = np.empty(_COLUMNS, margins.dtype)
    below, reached = np.empty((2, _COLUMNS), np.int32)
    for i in range(n_test):
        for start in range(0, n_batch, _COLUMNS):
            stop = min(start + _COLUMNS, n_batch)
            # rows are contiguous to the compiler, which a slice of slices is not
            classes = y[i % len(y), start:stop]
            for b in range(len(classes)):
                truth[b] = margins[i, classes[b], start + b]
                below[b], reached[b] = 0, 0
            for k in range(n_classes):
                row = margins[i, k, start:stop]
                for b in range(len(row)):
                    below[b] += np.int32(row[b] < truth[b])
                    reached[b] += np.int32(row[b] <= truth[b])
            fewer, as_many = beaten[i, start:stop], up_to[i, start:stop]
            for b in range(len(fewer)):
                fewer[b], as_many[b] = below[b], reached[b]


@_compile
def count_own(scores: Any, own: Any, beaten: Any, up_to: Any) -> None:
    """Count the same for scores (n_regions, n_test, B, K) of regions and labelings.

    ``own`` (n_test, B) are the true classes; the rest (n_test, n_regions, B).
    """
    n_regions, n_test, n_labelings, n_classes = scores.shape
    for s in range(n_regions):
        for i in range(n_test):
            for b in range(n_labelings):
                row = scores[s, i, b]
                truth = row[own[i, b]]
                below, reached = np.int32(0), np.int32(0)
                for k in range(n_classes):
                    below += np.int32(row[k] < truth)
                    reached += np.int32(row[k] <= truth)
                beaten[i, s, b], up_to[i, s, b] = below, reached


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
