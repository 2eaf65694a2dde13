"""Compiled counting: how the true class of every test point fares among the others.

Nothing here is fast math: margins are compared as they are.
"""

from typing import Any

import numpy as np
from numba import njit

_COLUMNS = 512  # of one test point, which stay in the first cache

_compile = njit(cache=True, nogil=True, error_model="numpy")


@_compile
def count_beaten(
    margins: Any, offsets: Any, y: Any, first: int, beaten: Any, tied: Any
) -> bool:
    """Count the classes below the true one, and those level with it.

    Of margins (n_test, K, M) without their ``offsets`` (n_test or 1, K), from column
    ``first`` of the rest on: ``y`` (L, .), the same for every L points, ``beaten`` and
    ``tied`` (n_test, .). Returns whether a margin is NaN.
    """
    n_test, n_classes, n_batch = margins.shape
    truth, n_unknown = np.empty(_COLUMNS, margins.dtype), 0
    below, reached = np.empty(_COLUMNS, np.int32), np.empty(_COLUMNS, np.int32)
    unknown = np.empty(_COLUMNS, np.int32)
    for i in range(n_test):
        added = offsets[min(i, len(offsets) - 1)]
        for start in range(0, n_batch, _COLUMNS):
            stop = min(start + _COLUMNS, n_batch)
            some = slice(first + start, first + stop)
            # rows are contiguous to the compiler, which a slice of slices is not
            classes, fewer, level = y[i % len(y), some], beaten[i, some], tied[i, some]
            for b in range(len(classes)):
                truth[b] = margins[i, classes[b], start + b] + added[classes[b]]
                below[b], reached[b], unknown[b] = 0, -1, 0
            for k in range(n_classes):
                row, offset = margins[i, k, start:stop], added[k]
                for b in range(len(row)):
                    margin = row[b] + offset
                    below[b] += np.int32(margin < truth[b])
                    reached[b] += np.int32(margin <= truth[b])
                    unknown[b] |= np.int32(np.isnan(margin))
            for b in range(len(fewer)):
                fewer[b], level[b] = below[b], reached[b] - below[b]
                n_unknown += unknown[b]
    return n_unknown > 0


@_compile
def add_wins(beaten: Any, tied: Any, weights: Any, wins: Any) -> None:
    """Add weights (n_test or 1, M or 1) to wins (K, M), a tie's to all it may be."""
    n_test, n_batch = beaten.shape
    most = np.empty(n_test, np.int32)  # ties of every point
    for start in range(0, n_batch, _COLUMNS):
        some = slice(start, min(start + _COLUMNS, n_batch))
        out, highest = wins[:, some], 0
        for i in range(n_test):
            below, level = beaten[i, some], tied[i, some]
            weight = weights[min(i, weights.shape[0] - 1)]
            weight = weight[some] if len(weight) > 1 else weight
            most[i] = 0
            for b in range(len(below)):
                if level[b] == 0:
                    out[below[b], b] += weight[min(b, len(weight) - 1)]
                else:
                    most[i] = max(most[i], level[b])
            highest = max(highest, most[i])
        for extra in range(highest + 1):
            for i in range(n_test):
                for b in range(start, some.stop if most[i] > 0 else start):
                    n_ties = tied[i, b]
                    if n_ties > 0 and n_ties >= extra:
                        row = min(i, weights.shape[0] - 1)
                        weight = weights[row, min(b, weights.shape[1] - 1)]
                        wins[beaten[i, b] + extra, b] += weight / (n_ties + 1)
