"""Compiled counting: how the true class of every test point fares among the others.

Nothing here is fast math: margins are compared as they are.
"""

from typing import Any

import numpy as np
from numba import njit

_COLUMNS = 512  # of one test point, which stay in the first cache

_compile = njit(cache=True, nogil=True, error_model="numpy")


@_compile
def count_beaten(margins: Any, y: Any, beaten: Any, tied: Any) -> bool:
    """Count the classes below the true one, and those level with it.

    ``margins`` (n_test, K, M), ``y`` (L, M), the same for every L points; the rest
    (n_test, M). Returns whether a margin is NaN.
    """
    n_test, n_classes, n_batch = margins.shape
    truth = np.empty(_COLUMNS, margins.dtype)
    below, reached = np.empty((2, _COLUMNS), np.int32)
    n_unknown = 0
    for i in range(n_test):
        for start in range(0, n_batch, _COLUMNS):
            stop = min(start + _COLUMNS, n_batch)
            # rows are contiguous to the compiler, which a slice of slices is not
            classes = y[i % len(y), start:stop]
            for b in range(len(classes)):
                truth[b] = margins[i, classes[b], start + b]
                below[b], reached[b] = 0, -1
            for k in range(n_classes):
                row = margins[i, k, start:stop]
                for b in range(len(row)):
                    below[b] += np.int32(row[b] < truth[b])
                    reached[b] += np.int32(row[b] <= truth[b])
                    n_unknown += row[b] != row[b]
            fewer, level = beaten[i, start:stop], tied[i, start:stop]
            for b in range(len(fewer)):
                fewer[b], level[b] = below[b], reached[b] - below[b]
    return n_unknown > 0


@_compile
def count_own(
    decoded: Any, rules: Any, edges: Any, own: Any, beaten: Any, tied: Any
) -> bool:
    """Count the same for vectors decoded (n_regions, n_test, B, n_columns).

    Scores are vector @ weights - constants, the ``rules``, (n_folds, 1 or B, n_columns,
    K) and (n_folds, 1 or B, K or 0); ``own`` (n_test, B) are the own candidates.
    Returns whether the score of one is NaN.
    """
    weights, constants = rules
    n_regions, _, n_labelings, _ = decoded.shape
    n_rules, known = weights.shape[1], True
    for f in range(len(weights)):
        rows = slice(edges[f], edges[f + 1])
        for s in range(n_regions):
            if n_rules == 1 and n_labelings > 1:
                out = own[rows], beaten[rows, s], tied[rows, s]
                known &= _count_blocks(
                    decoded[s, rows], weights[f, 0], constants[f, 0], *out
                )
                continue
            for b in range(n_labelings):
                r, one = b % n_rules, slice(b, b + 1)
                block = np.ascontiguousarray(decoded[s, rows, b])
                out = own[rows, one].T, beaten[rows, s, one].T, tied[rows, s, one].T
                known &= _count_blocks(
                    block.reshape((1, *block.shape)),
                    weights[f, r],
                    constants[f, r],
                    *out,
                )
    return not known


@_compile
def _count_blocks(
    decoded: Any, weights: Any, constants: Any, own: Any, beaten: Any, tied: Any
) -> bool:
    """Count for blocks (n, m, n_columns) of one rule; the rest (n, m)."""
    n_blocks, size, _ = decoded.shape
    n_classes, known = weights.shape[1], True
    scores = np.empty((size, n_classes), decoded.dtype)
    level = np.empty(n_classes, np.int32)
    for i in range(n_blocks):
        np.dot(decoded[i], weights, scores)
        if len(constants):
            scores -= constants
        level[:] = 0
        for b in range(size):
            row = scores[b]
            truth, below = row[own[i, b]], np.int32(0)
            for k in range(n_classes):
                below += np.int32(row[k] < truth)
            for k in range(n_classes):
                level[k] += np.int32(row[k] == truth)
            beaten[i, b], tied[i, b] = below, 0
            known &= not np.isnan(truth)
        if level.sum() > size:  # some candidates are level with the own one
            for b in range(size):
                tied[i, b] = np.sum(scores[b] == scores[b, own[i, b]]) - 1
    return known


@_compile
def add_wins(beaten: Any, tied: Any, weights: Any, wins: Any) -> None:
    """Add weights (n_test or 1, M or 1) to wins (K, M), a tie's to all it may be."""
    n_test, n_batch = beaten.shape
    most = np.empty(n_test, np.int32)  # ties of every point
    for start in range(0, n_batch, _COLUMNS):
        some = slice(start, min(start + _COLUMNS, n_batch))
        out = wins[:, some]
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
        for extra in range(most.max() + 1):
            for i in np.flatnonzero(most):
                for b in range(start, some.stop):
                    n_ties = tied[i, b]
                    if n_ties > 0 and n_ties >= extra:
                        row = min(i, weights.shape[0] - 1)
                        weight = weights[row, min(b, weights.shape[1] - 1)]
                        wins[beaten[i, b] + extra, b] += weight / (n_ties + 1)
