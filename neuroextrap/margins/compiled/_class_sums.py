"""Compiled sums over the samples of classes, and distances."""

from typing import Any

import numpy as np
from numba import njit

from neuroextrap._compiling import bundle
from neuroextrap.margins.compiled._counting import FIRST, count_beaten


@njit(cache=True, nogil=True, error_model="numpy")
def fill_nearest(
    order: Any, distances: Any, codes: Any, counts: Any, fold_of_test: Any, out: Any
) -> None:
    """Fill minus the distances (n_test, K, S, B) to the nearest sample of each class.

    From samples ``order`` from near to far, (S, n_test, n). The mean over all subsets
    of m among n samples of a class: in C(n - j, m - 1) of them, of all C(n, m), sample
    j from 1 is the nearest.
    """
    n_test, n_classes = out.shape[:2]
    passed, share = np.empty(n_classes), np.empty(n_classes)
    for t in range(n_test):
        for b in range(len(codes)):
            classes, n = codes[b], counts[fold_of_test[t], :, b]
            m = n.min()
            for s in range(len(order)):
                margins, n_left = out[t, :, s, b], n_classes
                for k in range(n_classes):
                    margins[k], passed[k], share[k] = 0.0, 0.0, m / n[k]
                for i in range(order.shape[2]):
                    k = classes[order[s, t, i]]
                    if passed[k] > n[k] - m:
                        continue
                    margins[k] -= share[k] * distances[s, t, i]
                    passed[k] += 1.0
                    share[k] *= (n[k] - passed[k] - m + 1.0) / (n[k] - passed[k])
                    n_left -= passed[k] > n[k] - m
                    if n_left == 0:
                        break


# B labelings: samples sorted by class (B, n), and where each class begins (B, K + 1)
Sorted = bundle("members edges")

# fold of every sample (n,), where each fold begins (F + 1,), and what sums of a class's
# training samples and their squared lengths are multiplied by, (B, F, K)
Folds = bundle("of_sample edges twice inverse")

# of regions: tables (S, n, n_test) whose rows are summed by class; the same in whole
# ``units`` (S,), float32, of which a sum has `UNITS` at most; and inner products
# (S, n, n) of samples in the order of folds, where nearest centroids are made of the
# sums, or (S, 0, 0), where each test point has a unit of its own
Tables = bundle("exact lanes units grams")
_Table = bundle("rows unit gram")  # of one region
UNITS = 2.0**24  # whole numbers up to which float32 has all

_compile = njit(cache=True, nogil=True, error_model="numpy")


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc"})
def fill_centered(features: Any, out: Any) -> None:
    """Fill features (p, n) minus their means over the samples."""
    for p in range(len(features)):
        row, centered, total = features[p], out[p], 0.0
        for i in range(len(row)):
            total += np.float64(row[i])
        mean = total / len(row)
        for i in range(len(row)):
            centered[i] = row[i] - mean


@_compile
def fill_symmetric(gram: Any, shift: float) -> None:
    """Round an upper triangle (n, n) by adding and subtracting; mirror it."""
    for i in range(len(gram)):
        row = gram[i]
        for j in range(i):
            row[j] = gram[j, i]
        for j in range(i, len(gram)):
            row[j] = (row[j] + shift) - shift


@_compile
def fill_class_sums(table: Any, members: Any, edges: Any, sums: Any) -> None:
    """Fill the sums (K, n_test) of the rows of a table that belong to each class."""
    n_test = sums.shape[1]
    for k in range(len(edges) - 1):
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
def _take_off(x: Any, samples: Any, classes: Any, mean: Any, sums: Any) -> None:
    """Take some samples of x (n, p), about a mean, off the sums (K, p) by class."""
    for sample in samples:
        row, out = x[sample], sums[classes[sample]]
        for j in range(len(row)):
            out[j] -= row[j] - mean[j]


@_compile
def fill_training_sums(
    x: Any, means: Any, codes: Any, held: Any, edges: Any, sums: Any
) -> None:
    """Fill sums (B, F, K, p) of samples (n, p) by class: of all, less those held out.

    About the ``means`` (F, p) of folds, which hold out samples ``held`` and begin there
    at ``edges``.
    """
    n_classes, n_features = sums.shape[2:]
    total, size = np.empty((n_classes, n_features)), np.empty(n_classes)
    for b in range(len(codes)):
        classes = codes[b]
        total[:], size[:] = 0.0, 0.0
        for i in range(len(x)):
            row, out = x[i], total[classes[i]]
            size[classes[i]] += 1.0
            for j in range(n_features):
                out[j] += row[j]
        for f in range(len(edges) - 1):
            of_fold, mean = sums[b, f], means[f]
            for k in range(n_classes):
                for j in range(n_features):
                    of_fold[k, j] = total[k, j] - size[k] * mean[j]
            _take_off(x, held[edges[f] : edges[f + 1]], classes, mean, of_fold)


@_compile
def _fill_squares(
    table: Any, cross: Any, members: Any, of_sample: Any, squares: Any
) -> None:
    """Fill the squared length of each fold's sum over one class's training samples.

    The length over all samples, minus twice the held-out samples' products ``cross``,
    in the table's unit, with the sum, and theirs with each other.
    """
    gram, total = table.gram, 0.0
    squares[:] = 0.0
    for a in range(len(members)):
        sample, fold = members[a], of_sample[members[a]]
        within = gram[sample, sample]
        other = a - 1  # pairs within the fold, each twice
        while other >= 0 and of_sample[members[other]] == fold:
            within += 2.0 * gram[sample, members[other]]
            other -= 1
        product = cross[sample] * table.unit
        total += product + within
        squares[fold] -= 2.0 * product + within
    for fold in range(len(squares)):
        squares[fold] += total


@_compile
def _fill_margins(
    table: Any, by_class: Any, folds: Any, b: int, squares: Any, out: Any
) -> float:
    """Fill the sums (K, n_test) of a table's rows by class, under one labeling.

    Where there are inner products, margins of the nearest centroid are made of them.
    Returns how far they may be from those of `Tables.exact`, in float32, if the table
    is in whole units: half a unit a sample of a sum, and of the products in a square;
    all else are roundings of numbers of this size.
    """
    members, edges, error = by_class.members[b], by_class.edges[b], 0.0
    fill_class_sums(table.rows, members, edges, out)
    if len(table.gram) == 0:
        for k in range(len(out)):
            error = max(error, 0.5 * (edges[k + 1] - edges[k]) + 2.0)
        return error
    for k in range(len(out)):
        row, of_class = out[k], members[edges[k] : edges[k + 1]]
        largest, length, size = 0.0, 0.0, len(of_class)
        _fill_squares(table, row, of_class, folds.of_sample, squares)
        for f in range(len(squares)):
            factor = folds.twice[b, f, k]
            constant = squares[f] * folds.inverse[b, f, k]
            largest, length = max(largest, factor), max(length, abs(constant))
            scale, shift = row.dtype.type(factor * table.unit), row.dtype.type(constant)
            for i in range(folds.edges[f], folds.edges[f + 1]):
                row[i] = row[i] * scale - shift
        missed = (0.5 * size + 5.0) * largest + 0.375 * (size * largest) ** 2
        error = max(error, table.unit * missed + 5.0 / UNITS * length)
    return error


@_compile
def fill_margins(tables: Any, by_class: Any, folds: Any, out: Any) -> None:
    """Fill the margins (S, B, K, n_test) of regions from their tables."""
    work, squares = np.empty(out.shape[2:]), np.empty(len(folds.edges) - 1)
    for s in range(len(out)):
        table = _Table(tables.exact[s], 1.0, tables.grams[s])
        for b in range(out.shape[1]):
            _fill_margins(table, by_class, folds, b, squares, work)
            _copy_rows(work, out[s, b])


@_compile
def _copy_rows(rows: Any, out: Any) -> None:
    """Copy rows into those of another precision."""
    for k in range(len(rows)):
        row, copied = rows[k], out[k]
        for i in range(len(row)):
            copied[i] = row[i]


@_compile
def _has_any(values: Any) -> bool:
    """Return whether one of the counts is above 0."""
    largest = values[0]
    for value in values:
        largest = max(largest, value)
    return largest > 0


@_compile
def count_margins(
    tables: Any, by_class: Any, folds: Any, y: Any, margins: Any, exact: Any, out: Any
) -> bool:
    """Count what such margins of regions beat and tie, (2, S, B, n_test), in cache.

    ``y`` (B, n_test) are the true classes. Of tables in whole units, which are half as
    long and whose sums are exact in float32; a labeling under which a margin is too
    close to that of the true class is counted again. ``margins`` (., K, n_test) of some
    labelings and the ``exact`` (1, K, n_test) ones of one are written over. Returns
    whether one is NaN.
    """
    n_together, unknown, n_classes = len(margins), False, margins.shape[1]
    squares = np.empty(len(folds.edges) - 1)
    work = np.empty((n_classes, margins.shape[2]))
    none = np.zeros((1, n_classes), margins.dtype)
    nothing = np.zeros((1, n_classes), exact.dtype)
    for s in range(out.shape[1]):
        beaten, tied = out[0, s], out[1, s]
        whole = _Table(tables.lanes[s], tables.units[s], tables.grams[s])
        table = _Table(tables.exact[s], 1.0, tables.grams[s])
        for start in range(0, len(y), n_together):
            stop, slack = min(start + n_together, len(y)), 0.0
            for b in range(start, stop):
                of_one = margins[b - start]
                error = _fill_margins(whole, by_class, folds, b, squares, of_one)
                slack = max(slack, 2.0 * error)
            some, few = slice(start, stop), margins[: stop - start]
            counts = beaten[some], tied[some]
            unknown |= count_beaten(few, none, y[some], FIRST, slack, *counts)
            for b in range(start, stop):
                if _has_any(tied[b]):
                    _fill_margins(table, by_class, folds, b, squares, work)
                    _copy_rows(work, exact[0])
                    one = slice(b, b + 1)
                    again = beaten[one], tied[one]
                    unknown |= count_beaten(exact, nothing, y[one], FIRST, 0.0, *again)
    return unknown


@_compile
def fill_held_out_margins(
    grams: Any, labelings: Any, codes: Any, folds: Any, factors: Any, out: Any
) -> None:
    """Fill the margins (S, B, K, n_test) of the nearest centroid, whatever the folds.

    From the sums over all samples those over the samples that a fold holds out are
    taken off; ``factors`` are twice and inverse, as of `Folds`.
    """
    n_classes, n = out.shape[2], grams.shape[1]
    cross, within = np.empty((n_classes, n)), np.empty((n_classes, n))
    totals, squares = np.empty(n_classes), np.empty(n_classes)
    twice, inverse = factors
    for s in range(len(grams)):
        gram = grams[s]
        for b in range(len(codes)):
            classes, margins = codes[b], out[s, b]
            fill_class_sums(gram, labelings.members[b], labelings.edges[b], cross)
            totals[:] = 0.0
            for i in range(n):
                totals[classes[i]] += cross[classes[i], i]
            for f in range(len(folds.edges) - 1):
                held = folds.held[folds.edges[f] : folds.edges[f + 1]]
                _fill_within(gram, held, classes, within)
                for k in range(n_classes):
                    squares[k] = totals[k]
                for i in range(len(held)):
                    k = classes[held[i]]
                    squares[k] += within[k, i] - 2.0 * cross[k, held[i]]
                for point in range(folds.row_edges[f], folds.row_edges[f + 1]):
                    i = folds.rows[point]
                    for k in range(n_classes):
                        own = cross[k, held[i]] - within[k, i]
                        constant = squares[k] * inverse[b, f, k]
                        margins[k, point] = own * twice[b, f, k] - constant


@_compile
def _fill_within(gram: Any, held: Any, classes: Any, within: Any) -> None:
    """Fill products (K, n_held) of held-out samples with the sums of each class."""
    within[:, : len(held)] = 0.0
    for other in held:
        row, out = gram[other], within[classes[other]]
        for i in range(len(held)):
            out[i] += row[held[i]]
