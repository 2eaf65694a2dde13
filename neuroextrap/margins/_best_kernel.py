"""Compiled search for the best class of every test point, margins in cache.

Importing this module needs numba (the extra ``fast``). Nothing here is fast math: every
number is the one that the numpy passes of ``_wins.py``, ``_nearest_centroid.py`` and
``_ridge.py`` give, to the last bit. Sums over samples may be taken in any order since
their terms were rounded so that they are exact (``_class_sums.py``).
"""

from collections import namedtuple
from typing import Any

import numpy as np
from numba import njit

from neuroextrap.margins._class_sums_kernel import fill_class_sums

# B labelings: samples sorted by class (B, n), where each class begins (B, K + 1), the
# class of every test point (B, n_test), and its weight (B, n_test), or (B, 0) if equal
Sorted = namedtuple("Sorted", "members edges truth weights")
# fold of every sample (n,), where each fold begins (F + 1,), and what sums of a class's
# training samples and their squared lengths are multiplied by, (B, F, K)
Folds = namedtuple("Folds", "of_sample edges twice inverse")

# Indices are unsigned: a signed one would be asked each time whether it is negative.
_COLUMNS = 512

_compile = njit(cache=True, nogil=True, error_model="numpy")


@_compile
def _compare_class(row: Any, k: int, best: Any, classes: Any) -> int:
    """Keep the best margins so far and their classes; return how many tied with one."""
    n_tied = 0
    for i in range(len(row)):
        n_tied += row[i] == best[i]
        classes[i] = k if row[i] > best[i] else classes[i]
        best[i] = row[i] if row[i] > best[i] else best[i]
    return n_tied


@_compile
def _share_of_best(
    margins: Any, truth: Any, weights: Any, best: Any, classes: Any
) -> float:
    """Return the weight of the test points whose class is best, of margins (K, n_test).

    Ties share it; added in the order of the points, as ``numpy.bincount`` does. Without
    weights, (0,), the points are counted.
    """
    n_classes, n_test = margins.shape
    best[:] = margins[0]
    classes[:] = 0
    n_tied = 0
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
def fill_linear_shares(table: Any, labelings: Any, out: Any) -> None:
    """Fill the shares (B,) of best classes where margins are sums of a class's rows.

    ``table`` (n_samples, n_test) is what a sample adds to the margins of its class.
    """
    n_classes, n_test = labelings.edges.shape[1] - 1, table.shape[1]
    sums, best = np.empty((n_classes, n_test)), np.empty(n_test)
    classes = np.empty(n_test, np.int64)
    for b in range(len(labelings.members)):
        fill_class_sums(table, labelings.members[b], labelings.edges[b], sums)
        out[b] = _share_of_best(
            sums, labelings.truth[b], labelings.weights[b], best, classes
        )


@_compile
def _fill_squares(
    gram: Any, cross: Any, members: Any, of_sample: Any, squares: Any
) -> None:
    """Fill the squared length of each fold's sum over one class's training samples.

    ``cross`` (n,) are the inner products of samples with these sums, ``members`` the
    samples of the class, one fold after the other. The length over all samples, minus
    twice the held-out samples' products with the training ones, minus their products
    with each other.
    """
    total = 0.0
    squares[:] = 0.0
    for a in range(len(members)):
        sample, fold = members[a], of_sample[members[a]]
        within = gram[sample, sample]
        other = a - 1  # pairs within the fold, each twice
        while other >= 0 and of_sample[members[other]] == fold:
            within += 2.0 * gram[sample, members[other]]
            other -= 1
        total += cross[sample] + within
        squares[fold] -= 2.0 * cross[sample] + within
    for fold in range(len(squares)):
        squares[fold] += total


@_compile
def fill_centroid_shares(
    gram: Any, table: Any, labelings: Any, folds: Any, out: Any
) -> None:
    """Fill the shares (B,) of best classes by the nearest centroid.

    ``gram`` (n, n) are inner products of the samples, one fold after the other;
    ``table`` is the same with zeros between samples of one fold.
    """
    n_folds, n_classes = folds.twice.shape[1:]
    margins, squares = np.empty((n_classes, len(gram))), np.empty(n_folds)
    best, classes = np.empty(len(gram)), np.empty(len(gram), np.int64)
    for b in range(len(labelings.members)):
        members, edges = labelings.members[b], labelings.edges[b]
        twice, inverse = folds.twice[b], folds.inverse[b]
        fill_class_sums(table, members, edges, margins)
        for k in range(n_classes):
            row, of_class = margins[k], members[edges[k] : edges[k + 1]]
            _fill_squares(gram, row, of_class, folds.of_sample, squares)
            for f in range(n_folds):
                factor, constant = twice[f, k], squares[f] * inverse[f, k]
                for i in range(folds.edges[f], folds.edges[f + 1]):
                    row[i] = row[i] * factor - constant
        out[b] = _share_of_best(
            margins, labelings.truth[b], labelings.weights[b], best, classes
        )


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
