"""Compiled discriminant margins of many labelings, kept or counted, fold by fold."""

from typing import Any

import numpy as np
from numba import njit

from neuroextrap._compiling import bundle
from neuroextrap.margins.compiled._class_sums import fill_class_sums
from neuroextrap.margins.compiled._counting import FIRST, count_beaten
from neuroextrap.margins.compiled._lda_moments import (
    TOGETHER,
    copy_lanes,
    fill_errors,
    fill_point_margins,
    fit_fold,
    workspace,
)

# held-out samples of all folds, where each fold's start, the row of every test point
# among its fold's held-out samples, and where each fold's start
Folds = bundle("held edges rows row_edges")

# I - H (n, n) of a region, its inverse held-out blocks (sum of n_held ** 2,), one fold
# after the other, and its number among the regions
Region = bundle("dense inverses place")

# of B labelings: samples sorted by class (B, n), where classes begin (B, K + 1),
# classes of samples (B, n), training samples of a class and what is added to its margin
# whatever the region, or its weight if the rule is that of ridge regression, both
# (F, K, B), K even; and whether it is
Group = bundle("members edges codes counts constants is_ridge")

_compile = njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})


@_compile
def _longest(edges: Any) -> int:
    """Return the size of the largest fold."""
    longest = 0
    for f in range(len(edges) - 1):
        longest = max(longest, edges[f + 1] - edges[f])
    return longest


@_compile
def _fill_total(sums: Any, members: Any, edges: Any, total: Any, column: int) -> None:
    """Fill the upper triangle of Y'E over all samples, of one labeling."""
    n_classes = len(edges) - 1
    for k in range(n_classes):
        of_class = members[edges[k] : edges[k + 1]]
        for m in range(k, n_classes):
            row, value = sums[m], 0.0
            for sample in of_class:
                value += row[sample]
            total[k, m, column] = value


@_compile
def _gather_fold(
    f: int, held: Any, sums: Any, labelings: Any, columns: Any, work: Any
) -> None:
    """Turn the residuals of a fold's held-out samples, and its counts, over."""
    n_samples = labelings.codes.shape[1]
    for k in range(len(work.counts)):
        counts, constants = labelings.counts[f, k], labelings.constants[f, k]
        for x in range(TOGETHER):
            work.counts[k, x] = counts[columns[x]]
            work.constants[k, x] = constants[columns[x]]
        for i in range(len(held)):
            out, place = work.inside[i, k], np.uint64(k * n_samples + held[i])
            for x in range(TOGETHER):
                out[x] = sums[x, place]


@_compile
def _fill_sums(
    dense: Any, labelings: Any, start: int, columns: Any, sums: Any, total: Any
) -> None:
    """Fill residuals of all samples (., K * n), and the triangles of Y'E."""
    n_samples, width = len(dense), len(total)
    for x in range(TOGETHER):
        columns[x] = min(start + x, len(labelings.codes) - 1)
        members, edges = labelings.members[columns[x]], labelings.edges[columns[x]]
        of_one = sums[x, : width * n_samples].reshape(width, n_samples)
        fill_class_sums(dense, members, edges, of_one)
        _fill_total(of_one, members, edges, total, x)


@_compile
def _write(scores: Any, first: int, place: int, columns: Any, out: Any) -> None:
    """Write the margins (., K, .) of test points of a region, from the first one on."""
    for i in range(len(scores)):
        for m in range(scores.shape[1]):
            for x in range(TOGETHER):
                out[first + i, m, place, columns[x]] = scores[i, m, x]


@_compile
def _count(scores: Any, first: int, truth: Any, columns: Any, counts: Any) -> bool:
    """Count what these margins beat and tie, (2, B, n_test); True if one is NaN."""
    beaten = np.empty((len(scores), TOGETHER), counts.dtype)
    tied, none = np.empty_like(beaten), np.zeros(scores.shape[:2], scores.dtype)
    classes = truth.astype(np.int32)
    unknown = count_beaten(scores, none, classes, FIRST, 0.0, beaten, tied)
    for x in range(TOGETHER):
        for i in range(len(scores)):
            counts[0, columns[x], first + i] = beaten[i, x]
            counts[1, columns[x], first + i] = tied[i, x]
    return unknown


@_compile
def fill_labelings(
    region: Any, folds: Any, labelings: Any, scores: Any, out: Any, counts: Any
) -> bool:
    """Fill margins (n_test, K, n_regions, B) of many labelings, or count them.

    ``counts`` (2, n_regions, B, n_test) are what margins beat and tie; ``out`` or they
    have no size. In ``scores`` (., K, .) is room for the test points of a fold, in the
    precision of margins. False if a within-class scatter is singular or not finite.
    """
    n_classes, width, unknown = scores.shape[1], labelings.counts.shape[1], False
    work = workspace(_longest(folds.edges), width)
    # an odd number of cache lines each: else a column of them is in few places of it
    n_lines = (width * len(region.dense) + 7) // 8
    sums = np.zeros((TOGETHER, 8 * (n_lines | 1)))
    total = np.zeros((width, width, TOGETHER))
    margins = np.empty((n_classes, TOGETHER))
    columns = np.empty(TOGETHER, np.int64)
    truth = np.empty((len(scores), TOGETHER), np.int64)
    for start in range(0, len(labelings.codes), TOGETHER):
        _fill_sums(region.dense, labelings, start, columns, sums, total)
        of_fold = 0
        for f in range(len(folds.edges) - 1):
            held = folds.held[folds.edges[f] : folds.edges[f + 1]]
            n_held = len(held)
            _gather_fold(f, held, sums, labelings, columns, work)
            inverse = region.inverses[of_fold : of_fold + n_held**2]
            of_fold += n_held**2
            fill_errors(inverse.reshape(n_held, n_held), n_held, work)
            fit_fold(total, n_held, n_classes, labelings.is_ridge, work)
            first = folds.row_edges[f]
            rows = folds.rows[first : folds.row_edges[f + 1]]
            for i in range(len(rows)):
                for x in range(TOGETHER):
                    truth[i, x] = labelings.codes[columns[x], held[rows[i]]]
                fill_point_margins(work.errors[rows[i]], truth[i], work, margins)
                for m in range(n_classes):
                    copy_lanes(margins[m], scores[i, m])
            tested = scores[: len(rows)]
            if out.size > 0:
                _write(tested, first, region.place, columns, out)
            else:
                some = counts[:, region.place]
                unknown |= _count(tested, first, truth, columns, some)
    return work.regular[0] > 0 and not unknown


@_compile
def _fill_upper(moment: Any, total: Any, column: int) -> None:
    """Fill a column with the upper triangle of moments (K, K)."""
    for k in range(len(moment)):
        for m in range(k, len(moment)):
            total[k, m, column] = moment[k, m]


@_compile
def fill_fits(
    errors: Any, moments: Any, edges: Any, labelings: Any, test: Any, out: Any
) -> bool:
    """Fill the margins (n_test, K, M) of M ridge fits, folds of fits side by side.

    Fits are those of all ``labelings`` of a region, then those of the next: ``errors``
    (M, n_test, K) are true minus predicted at the samples ``test`` of folds that begin
    at ``edges``, ``moments`` (M, F, K, K) those of the residuals. False as above.
    """
    n_folds, n_classes = len(edges) - 1, errors.shape[2]
    nothing = 0 * n_folds  # is held out; a literal would be compiled by itself
    n_fits, width = len(errors) * n_folds, labelings.counts.shape[1]
    work, longest = workspace(nothing + 1, width), _longest(edges)
    total, margins = np.zeros((width, width, TOGETHER)), np.empty((n_classes, TOGETHER))
    codes, points = np.empty(TOGETHER, np.int64), np.empty(TOGETHER, np.int64)
    columns, folds = np.empty(TOGETHER, np.int64), np.empty(TOGETHER, np.int64)
    for start in range(0, n_fits, TOGETHER):
        for x in range(TOGETHER):
            fit = min(start + x, n_fits - 1)
            columns[x], folds[x] = fit // n_folds, fit % n_folds
            _fill_upper(moments[columns[x], folds[x]], total, x)
            labeling = columns[x] % len(labelings.codes)
            for k in range(width):
                work.counts[k, x] = labelings.counts[folds[x], k, labeling]
                work.constants[k, x] = labelings.constants[folds[x], k, labeling]
        fit_fold(total, nothing, n_classes, labelings.is_ridge, work)
        for i in range(longest):
            work.errors[0] = 0.0
            for x in range(TOGETHER):
                points[x] = min(edges[folds[x]] + i, edges[folds[x] + 1] - 1)
                labeling = columns[x] % len(labelings.codes)
                codes[x] = labelings.codes[labeling, test[points[x]]]
                for k in range(n_classes):
                    work.errors[0, k, x] = -errors[columns[x], points[x], k]
            fill_point_margins(work.errors[0], codes, work, margins)
            for x in range(TOGETHER):
                for m in range(n_classes):
                    out[points[x], m, columns[x]] = margins[m, x]
    return work.regular[0] > 0
