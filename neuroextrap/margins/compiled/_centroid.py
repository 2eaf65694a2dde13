"""Compiled margins of the nearest centroid from inner products, in cache.

Nothing here is fast math: sums are exact (``algebra/_class_sums.py``), and every other
number is rounded alike in all loops, so that they give the same bits.
"""

from collections import namedtuple
from typing import Any

import numpy as np
from numba import njit

from neuroextrap.margins.compiled._best import share_of_best
from neuroextrap.margins.compiled._class_sums import (
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


@_compile
def fill_window_margins(
    grams: Any, codes: Any, windows: Any, factors: Any, out: Any
) -> None:
    """Fill the same where training sets are windows in a circle of parts.

    ``grams`` (S, n, n) and ``codes`` (n,) have the samples of one part after the other.
    """
    n_test, n_classes, n_regions = out.shape
    margins = np.empty((TOGETHER, n_classes, n_test), out.dtype)
    work = windows_workspace(len(codes), len(windows.fold), n_classes)
    for start in range(0, n_regions, TOGETHER):
        stop = min(start + TOGETHER, n_regions)
        for s in range(start, stop):
            fill_windows(grams[s], codes, windows, factors, work, margins[s - start])
        put_last(margins, out[:, :, start:stop])


@_compile
def windows_workspace(n_samples: int, n_parts: int, n_classes: int) -> Any:
    """Make arrays for the sums over the parts before each, and for squared lengths.

    Of every part: that of its sums, that of those of the window before it, and the
    products of both.
    """
    before = np.empty((n_parts + 1, n_classes, n_samples))
    return before, np.empty((3, n_parts, n_classes))


@_compile
def fill_windows(
    gram: Any, codes: Any, windows: Any, factors: Any, work: Any, margins: Any
) -> None:
    """Fill the margins (K, n_test) of one region."""
    before, of_parts = work
    _fill_before(gram, codes, windows.edges, before)
    _fill_within(gram, codes, windows.edges, of_parts[0])
    sums = before, of_parts[0], of_parts[1], of_parts[2]
    _fill_windows(codes, windows, factors, sums, margins)


@_compile
def _fill_before(gram: Any, codes: Any, edges: Any, before: Any) -> None:
    """Fill products with the sums of classes over the parts before, (P + 1, K, n)."""
    before[0] = 0.0
    for a in range(len(before) - 1):
        before[a + 1] = before[a]
        for j in range(edges[a], edges[a + 1]):
            products, sums = gram[j], before[a + 1, codes[j]]
            for m in range(len(sums)):
                sums[m] += products[m]


@_compile
def _fill_windows(
    codes: Any, windows: Any, factors: Any, sums: Any, margins: Any
) -> None:
    """Fill the margins (K, n_test) of one region from sums of inner products."""
    before, within, squares, own = sums
    n_parts = len(windows.fold)
    squares[:], own[:] = 0.0, 0.0
    for i in range(n_parts - 1):
        _lengthen(squares, own, within)
        for b in range(n_parts):
            # the window begins with part a, of the round before where it is behind b
            is_behind = b <= i
            a = b - 1 - i + (n_parts if is_behind else 0)
            rows = before[b], before[n_parts if is_behind else 0], before[a]
            for m in range(windows.edges[b], windows.edges[b + 1]):
                k = codes[m]
                own[b, k] += (rows[0][k, m] + rows[1][k, m]) - rows[2][k, m]
            if windows.fold[b, i] >= 0:
                _put_margins(windows, b, i, factors, rows, squares, margins)


@_compile
def _put_margins(
    windows: Any, b: int, i: int, factors: Any, rows: Any, squares: Any, margins: Any
) -> None:
    """Turn products with sums over a window into the margins (K, n_test) of a fold."""
    twice, inverse = factors
    upper, around, lower = rows
    fold = windows.fold[b, i]
    first, stop, row = windows.edges[b], windows.edges[b + 1], windows.rows[fold]
    for k in range(len(upper)):
        constant, factor = squares[b, k] * inverse[fold, k], twice[fold, k]
        for m in range(first, stop):
            cross = (upper[k, m] + around[k, m]) - lower[k, m]
            margins[k, row + (m - first)] = cross * factor - constant


@_compile
def fill_other_margins(
    grams: Any, codes: Any, edges: Any, factors: Any, out: Any
) -> None:
    """Fill the margins (n, K, S) of folds that train on the samples of all others.

    Inner products and codes as above, ``edges`` (F + 1,) of the folds.
    """
    n_samples, n_classes, n_regions = out.shape
    margins = np.empty((TOGETHER, n_classes, n_samples), out.dtype)
    work = others_workspace(n_samples, len(edges) - 1, n_classes)
    for start in range(0, n_regions, TOGETHER):
        stop = min(start + TOGETHER, n_regions)
        for s in range(start, stop):
            fill_others(grams[s], codes, edges, factors, work, margins[s - start])
        put_last(margins, out[:, :, start:stop])


@_compile
def others_workspace(n_samples: int, n_folds: int, n_classes: int) -> Any:
    """Make arrays for products with the sums of classes, and for those of each fold."""
    return np.empty((n_classes, n_samples)), np.empty((2, n_folds, n_classes))


@_compile
def fill_others(
    gram: Any, codes: Any, edges: Any, factors: Any, work: Any, margins: Any
) -> None:
    """Fill the margins (K, n) of one region."""
    twice, inverse = factors
    cross, of_folds = work
    within, own = of_folds[0], of_folds[1]
    _fill_others(gram, codes, edges, cross)
    _fill_within(gram, codes, edges, within)
    own[:] = 0.0
    for f in range(len(own)):
        for m in range(edges[f], edges[f + 1]):
            own[f, codes[m]] += cross[codes[m], m]
    for k in range(len(cross)):
        total = own[:, k].sum() + within[:, k].sum()
        for f in range(len(own)):
            square = total - (2.0 * own[f, k] + within[f, k])
            constant, factor = square * inverse[f, k], twice[f, k]
            for m in range(edges[f], edges[f + 1]):
                margins[k, m] = cross[k, m] * factor - constant


@_compile
def _fill_others(gram: Any, codes: Any, edges: Any, cross: Any) -> None:
    """Fill products (K, n) with the sums of classes over all other folds."""
    cross[:] = 0.0
    for j in range(len(codes)):
        products, sums = gram[j], cross[codes[j]]
        for m in range(len(sums)):
            sums[m] += products[m]
    for f in range(len(edges) - 1):
        for j in range(edges[f], edges[f + 1]):
            for m in range(edges[f], edges[f + 1]):
                cross[codes[j], m] -= gram[j, m]


@_compile
def _fill_within(gram: Any, codes: Any, edges: Any, within: Any) -> None:
    """Fill the squared length of each part's sum over each class, (P, K)."""
    within[:] = 0.0
    for b in range(len(within)):
        for j in range(edges[b], edges[b + 1]):
            for m in range(edges[b], edges[b + 1]):
                if codes[m] == codes[j]:
                    within[b, codes[j]] += gram[j, m]


@_compile
def _lengthen(squares: Any, own: Any, within: Any) -> None:
    """Turn squared lengths of windows before each part into those of a part more.

    The window before part b, one part longer, is the window before part b - 1 and that
    part. ``own`` are products of the samples of each part with the sums of the window
    before it; they begin anew.
    """
    last = len(squares) - 1
    for k in range(squares.shape[1]):
        carried = squares[last, k] + 2.0 * own[last, k] + within[last, k]
        for b in range(len(squares)):
            following = squares[b, k] + 2.0 * own[b, k] + within[b, k]
            squares[b, k] = carried
            carried = following
            own[b, k] = 0.0
