"""Compiled counting: how the true class of every test point fares among the others.

Nothing here is fast math: margins are compared as they are.
"""

from typing import Any

import numpy as np
from numba import njit

# column; for a literal 0 the loop would be compiled once more
FIRST: Any = np.intp(0)
_COLUMNS = 512  # of one test point, which stay in the first cache

_compile = njit(cache=True, nogil=True, error_model="numpy")


@_compile
def _has_nan(margins: Any, offsets: Any) -> bool:
    """Return whether one of margins (K, M) plus offsets (K,) is NaN."""
    unknown = False
    for k in range(len(offsets)):
        for margin in margins[k]:
            unknown |= np.isnan(margin + offsets[k])
    return unknown


@_compile
def count_beaten(
    margins: Any,
    offsets: Any,
    y: Any,
    first: int,
    slack: float,
    beaten: Any,
    tied: Any,
) -> bool:
    """Count the classes below the true one, and those level with it.

    Of margins (n_test, K, M) without their ``offsets`` (n_test or 1, K), from column
    ``first`` of the rest on: ``y`` (L, .), the same for every L points, ``beaten`` and
    ``tied`` (n_test, .). Margins within the ``slack`` are level. Returns whether a
    margin is NaN.
    """
    n_test, n_classes, n_batch = margins.shape
    low, high = np.empty(_COLUMNS, margins.dtype), np.empty(_COLUMNS, margins.dtype)
    below, reached = np.empty(_COLUMNS, np.int32), np.empty(_COLUMNS, np.int32)
    unknown = False
    for i in range(n_test):
        added = offsets[min(i, len(offsets) - 1)]
        for start in range(0, n_batch, _COLUMNS):
            stop = min(start + _COLUMNS, n_batch)
            some = slice(first + start, first + stop)
            # rows are contiguous to the compiler, which a slice of slices is not
            classes, fewer, level = y[i % len(y), some], beaten[i, some], tied[i, some]
            for b in range(len(classes)):
                truth = margins[i, classes[b], start + b] + added[classes[b]]
                low[b], high[b] = truth - slack, truth + slack
                below[b], reached[b] = 0, -1
            for k in range(n_classes):
                row, offset = margins[i, k, start:stop], added[k]
                for b in range(len(row)):
                    margin = row[b] + offset
                    below[b] += np.int32(margin < low[b])
                    reached[b] += np.int32(not margin > high[b])  # NaN, too
            most = np.int32(0)
            for b in range(len(fewer)):
                fewer[b], level[b] = below[b], reached[b] - below[b]
                most = max(most, reached[b] - below[b])
            if most > 0:
                unknown |= _has_nan(margins[i, :, start:stop], added)
    return unknown


@_compile
def add_wins(beaten: Any, tied: Any, weights: Any, wins: Any) -> None:
    """Add weights (M or 1, n_test or 1) to wins (M, K), a tie's to all it may be.

    Of counts (M, n_test).
    """
    for b in range(len(beaten)):
        below, level, out = beaten[b], tied[b], wins[b]
        weight, most = weights[min(b, len(weights) - 1)], 0
        last = len(weight) - 1
        for i in range(len(below)):
            if level[i] == 0:
                out[below[i]] += weight[min(i, last)]
            most = max(most, level[i])
        for extra in range(most + 1 if most > 0 else 0):
            for i in range(len(below)):
                if level[i] > 0 and level[i] >= extra:
                    out[below[i] + extra] += weight[min(i, last)] / (level[i] + 1)
