"""Compiled margins of the nearest centroid from inner products, in cache.

Importing this module needs numba (the extra ``fast``). Nothing here is fast math: sums
are exact (``_class_sums.py``), and every other number is rounded as the numpy pass of
``_nearest_centroid.py`` rounds it, so that both give the same bits.
"""

from collections import namedtuple
from typing import Any

import numpy as np
from numba import njit

from neuroextrap.margins._best_kernel import share_of_best
from neuroextrap.margins._class_sums_kernel import (
    TOGETHER,
    fill_class_sums,
    put_last,
)

# fold of every sample (n,), where each fold begins (F + 1,), and what sums of a class's
# training samples and their squared lengths are multiplied by, (B, F, K)
Folds = namedtuple("Folds", "of_sample edges twice inverse")

# folds whose training sets grow: training samples of the first fold of each chain and
# where each chain's begin, (C + 1,); its folds, (C + 1,); samples tested, fold after
# fold, and where each fold's begin, (F + 1,)
Growth = namedtuple("Growth", "first first_edges folds test edges")

_compile = njit(cache=True, nogil=True, error_model="numpy")


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
def _fill_margins(grams: Any, labelings: Any, folds: Any, b: int, margins: Any) -> None:
    """Fill the margins (K, n) of one labeling."""
    gram, table, cross, squares = grams
    members, edges = labelings.members[b], labelings.edges[b]
    twice, inverse = folds.twice[b], folds.inverse[b]
    fill_class_sums(table, members, edges, cross)
    for k in range(len(cross)):
        row, out = cross[k], margins[k]
        of_class = members[edges[k] : edges[k + 1]]
        _fill_squares(gram, row, of_class, folds.of_sample, squares)
        for f in range(len(squares)):
            factor, constant = twice[f, k], squares[f] * inverse[f, k]
            for i in range(folds.edges[f], folds.edges[f + 1]):
                out[i] = row[i] * factor - constant


@_compile
def _workspace(gram: Any, table: Any, folds: Any) -> Any:
    """Add arrays for inner products with sums, and for their squared lengths."""
    n_folds, n_classes = folds.twice.shape[1:]
    return gram, table, np.empty((n_classes, len(gram))), np.empty(n_folds)


@_compile
def fill_centroid_shares(
    gram: Any, table: Any, labelings: Any, folds: Any, out: Any
) -> None:
    """Fill the shares (B,) of best classes by the nearest centroid.

    ``gram`` (n, n) are inner products of the samples, one fold after the other;
    ``table`` is the same with zeros between samples of one fold.
    """
    grams = _workspace(gram, table, folds)
    margins = np.empty(grams[2].shape, np.float32)
    best, classes = np.empty_like(margins[0]), np.empty(len(gram), np.int32)
    for b in range(len(out)):
        _fill_margins(grams, labelings, folds, b, margins)
        truth, weights = labelings.truth[b], labelings.weights[b]
        out[b] = share_of_best(margins, truth, weights, best, classes)


@_compile
def fill_centroid_margins(
    gram: Any, table: Any, labelings: Any, folds: Any, out: Any
) -> None:
    """Fill the margins (n, K, B) of every labeling; the rest as above."""
    grams = _workspace(gram, table, folds)
    margins = np.empty((TOGETHER, *grams[2].shape), np.float32)
    n_labelings = out.shape[2]
    for start in range(0, n_labelings, TOGETHER):
        stop = min(start + TOGETHER, n_labelings)
        for b in range(start, stop):
            _fill_margins(grams, labelings, folds, b, margins[b - start])
        put_last(margins, out[:, :, start:stop])


@_compile
def _add_samples(gram: Any, samples: Any, codes: Any, cross: Any, squares: Any) -> None:
    """Add training samples to the sums of their classes.

    ``cross`` (K, n) are the inner products of all samples with these sums, ``squares``
    (K,) the squared lengths of the sums.
    """
    for sample in samples:
        k = codes[sample]
        row, out = gram[sample], cross[k]
        squares[k] += 2.0 * out[sample] + row[sample]
        for i in range(len(out)):
            out[i] += row[i]


@_compile
def fill_growing_margins(
    grams: Any, codes: Any, growth: Any, factors: Any, out: Any
) -> None:
    """Fill the margins (n_test, K, S) of regions where training sets grow."""
    twice, inverse = factors
    n_classes = twice.shape[1]
    cross, squares = np.empty((n_classes, grams.shape[1])), np.empty(n_classes)
    for s in range(len(grams)):
        gram = grams[s]
        for c in range(len(growth.folds) - 1):
            cross[:], squares[:] = 0.0, 0.0
            new = growth.first[growth.first_edges[c] : growth.first_edges[c + 1]]
            for f in range(growth.folds[c], growth.folds[c + 1]):
                _add_samples(gram, new, codes, cross, squares)
                start = growth.edges[f]
                new = growth.test[start : growth.edges[f + 1]]
                for k in range(n_classes):
                    constant, factor = squares[k] * inverse[f, k], twice[f, k]
                    for i in range(len(new)):
                        out[start + i, k, s] = cross[k, new[i]] * factor - constant
