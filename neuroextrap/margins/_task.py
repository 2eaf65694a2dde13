"""One task of a run: some regions under all labelings.

A task is a pure function of its plan and its data, so tasks can run in any order, on
any machine, and be repeated. It goes over its regions in passes, a pass over the
labelings in batches; batch sizes depend only on the plan, so results do not depend on
the number of workers.
"""

import itertools
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any, cast

import numpy as np

from neuroextrap.design._design import Design
from neuroextrap.design._forward_tests import ForwardFolds
from neuroextrap.margins._kernel import AdditiveKernel, Batch, Counts, RegionSamples
from neuroextrap.margins._plan import PASS_SIZE, Plan, TaskData
from neuroextrap.margins._wins import (
    CorrelationStatistic,
    beaten_and_tied,
    correct_outcomes,
    rank_tables,
    win_histogram,
)
from neuroextrap.stats._null_counts import NullCounts

# numbers of a feature that are summed together: those of a neighborhood stay in cache
COLUMNS = 64
# beaten or tied classes that are counted before anything is made of them, at least:
# many steps of a few numbers each would have workers wait for the interpreter
_COUNTED = 2**18
Result = dict[str, np.ndarray]


def empty_results(plan: Plan, n_regions: int) -> Result:
    """Return room for what regions have, NaN until it is filled; see `RegionScores`."""
    by_class = n_regions, plan.design.n_classes
    missing = partial(np.full, fill_value=np.nan)
    results = {
        "wins": missing(by_class),
        "score": missing(n_regions),
        "n_best": missing(n_regions),
        "weighted_wins": missing((plan.n_weightings, *by_class)),
        "n_reached": np.zeros(n_regions, dtype=np.int64),
        "maxima": np.full(plan.n_permutations, -np.inf),
    }
    if plan.forward is not None:
        shape = n_regions, plan.forward.outcomes.n_sums
        results["n_correct"] = missing(shape, dtype=np.float32)
        results["forward_wins"] = missing(by_class)
    if plan.subsets:
        results["measured"] = missing((n_regions, len(plan.subset_sizes), 2))
    if plan.kernel.correlates:
        results["correlation"] = missing(n_regions)
    return results


def run_task(plan: Plan, data: TaskData) -> Result:
    """Compute what `empty_results` has, and ``null`` (n_permutations, n_regions)."""
    n_regions, forward = data.n_regions, plan.forward
    result = empty_results(plan, n_regions)
    result["null"] = np.empty((plan.n_permutations, n_regions), dtype=np.float32)
    if plan.subsets:
        result["measured"] = _measured(plan, data)
    if plan.by_sums:
        _score(plan, slice(0, n_regions), _summed_batches(plan, data), result)
        if forward is not None:
            _score_forward_by_sums(plan, data, result)
        return result
    for rows, xs in _passes(plan, data):
        if any(plan.kernel.keeps_margins(x.shape[1], plan) for x in xs):
            _score(plan, rows, plan.kernel.batches(xs, plan), result)
        else:
            counts = _together(rows, plan.kernel.counts(xs, plan))
            _score_wins(plan, rows, counts, result)
        if forward is not None:  # what is made of the samples serves both
            margins = next(plan.kernel.batches(xs, plan.forward_plan)).margins
            folds = slice(0, len(forward.design.folds))
            _score_forward(plan, rows, folds, margins, result)
    return result


def observed_margins(plan: Plan, data: TaskData) -> Iterator[tuple[slice, np.ndarray]]:
    """Yield (regions, margins (n_test, K, n_regions)) under the observed labeling."""
    plan = replace(plan, codes=plan.codes[:1], forward=None)
    if plan.by_sums:
        yield slice(0, data.n_regions), next(_summed_batches(plan, data)).margins
        return
    for rows, xs in _passes(plan, data):
        yield rows, next(plan.kernel.batches(xs, plan)).margins


def _passes(plan: Plan, data: TaskData) -> Iterator[tuple[slice, RegionSamples]]:
    """Yield (regions, their samples) of every pass, whitened."""
    for first in range(0, data.n_regions, plan.pass_regions):
        stop = min(first + plan.pass_regions, data.n_regions)
        yield slice(first, stop), data.samples_of(range(first, stop), plan.whitener)


def _summed_batches(plan: Plan, data: TaskData) -> Iterator[Batch]:
    """Yield the margins of all the task's regions as sums over features."""
    from neuroextrap.margins.compiled._features import fill_member_sums

    kernel, design = cast(AdditiveKernel, plan.kernel), cast(Design, plan.design)
    n_test, n_classes, n_regions = len(design.test), design.n_classes, data.n_regions
    together = _folds_at_once(design, COLUMNS // n_classes)
    regions = data.regions
    by_region = regions.indptr, regions.indices, regions.data.astype(np.float32)
    for labeling, codes in enumerate(plan.codes[: plan.n_trained]):
        margins = np.empty((n_test, n_classes, n_regions), dtype=np.float32)
        blocks = kernel.margins_of_folds(data.features.T, codes, design, together)
        for folds, of_features in zip(together, blocks, strict=True):
            part, rows = design.some_folds(folds), _points(design, folds)
            rows_of = of_features.reshape(len(of_features), -1)
            sums = np.empty((n_regions, rows_of.shape[1]), dtype=np.float32)
            fill_member_sums(*by_region, rows_of, sums)
            margins[rows] = sums.T.reshape(-1, n_classes, n_regions)
            margins[rows] += kernel.constant(codes, part)[:, :, np.newaxis]
        yield Batch(margins, labeling, 1)


def _folds_at_once(design: Design, most: int) -> list[slice]:
    """Return consecutive folds that have at most `most` test points, or are single."""
    batches, start, edges = [], 0, design.fold_slices
    for fold, rows in enumerate(edges):
        if fold > start and rows.stop - edges[start].start > most:
            batches.append(slice(start, fold))
            start = fold
    return [*batches, slice(start, len(edges))]


def _points(design: Design, folds: slice) -> slice:
    """Return where the test points of some folds lie."""
    slices = design.fold_slices[folds]
    return slice(slices[0].start, slices[-1].stop)


def _measured(plan: Plan, data: TaskData) -> np.ndarray:
    """Return accuracy and error (n_regions, n_sizes, 2) of subsets of classes."""
    estimates = np.full((data.n_regions, len(plan.subset_sizes), 2), np.nan)
    for regions, xs in _passes(plan, data):
        for column, k in enumerate(plan.subset_sizes):
            tests = [each for each in plan.subsets if each.design.n_classes == k]
            parts = [plan.of_observed(each.design, each.codes[None]) for each in tests]
            each = zip(parts, tests, strict=True)
            values = np.concatenate(
                [_subset_accuracies(part, test.rows, xs) for part, test in each], axis=1
            )
            n_disjoint = plan.design.n_classes // k
            estimates[regions, column, 0] = values.mean(axis=1)
            if n_disjoint > 1:
                error = values.std(axis=1, ddof=1) / np.sqrt(n_disjoint)
                estimates[regions, column, 1] = error
    return estimates


def _subset_accuracies(
    plan: Plan, subsets: np.ndarray, xs: RegionSamples
) -> np.ndarray:
    """Return the accuracy of regions with subsets (n_subsets, n_rows) of samples.

    Subsets are further regions to the classifier, as many at once as fit.
    """
    shift = 0 if getattr(plan.kernel, "as_given", False) else 1
    at_once = max(1, len(xs[0]) // subsets.shape[1])
    values = np.empty((len(xs), len(subsets)))
    for start in range(0, len(subsets), at_once):
        rows = subsets[start : start + at_once]
        some = (x[own] for x in xs for own in rows)
        samples = RegionSamples(x - shift * x.mean(axis=0) for x in some)
        try:
            margins = next(plan.kernel.batches(samples, plan)).margins
        except ValueError as error:
            raise ValueError(
                f"curves='measured' trains on {plan.design.n_classes} of the classes, "
                f"which this classifier cannot ({error}); give larger set_sizes, or "
                "curves='trained_on_all'"
            ) from error
        counts = beaten_and_tied(margins, plan.test_codes)
        weights = plan.weights_of(slice(0, 1), margins.shape[2])
        shares = win_histogram(*counts, weights, plan.design.n_classes)[:, -1]
        values[:, start : start + len(rows)] = shares.reshape(len(xs), -1)
    return values


def _score_forward_by_sums(plan: Plan, data: TaskData, result: Result) -> None:
    """Fill the forward tests by sums over features, some folds at a time."""
    tests = plan.forward_plan
    design = cast(Design, tests.design)
    for folds in _folds_at_once(design, len(plan.design.test)):
        part = replace(tests, design=design.some_folds(folds))
        batch = next(_summed_batches(part, data))
        _score_forward(plan, slice(0, data.n_regions), folds, batch.margins, result)


def _score_forward(
    plan: Plan, rows: slice, folds: slice, margins: np.ndarray, result: Result
) -> None:
    """Count the correct outcomes of some folds of the forward tests, and their wins."""
    forward, n_classes = cast(ForwardFolds, plan.forward), plan.design.n_classes
    points = _points(forward.design, folds)
    y = plan.codes[0, forward.design.test[points], np.newaxis]
    beaten, tied = beaten_and_tied(margins, y)
    outcomes = correct_outcomes(beaten, tied, n_classes)
    sums = forward.sums
    if folds.stop - folds.start < sums.shape[0]:
        sums = sums[folds, points]
    result["n_correct"][rows, folds] = (sums @ outcomes).T
    weights = forward.weighting[points, np.newaxis]
    if folds.start == 0:  # the first are filled, all others added
        result["forward_wins"][rows] = 0.0
    result["forward_wins"][rows] += win_histogram(beaten, tied, weights, n_classes)


def _n(rows: slice) -> int:
    """Return the number of regions of a pass."""
    return rows.stop - rows.start


def _score(plan: Plan, rows: slice, batches: Iterator[Batch], result: Result) -> None:
    """Fill the results of one pass: wins, observed statistic, permuted statistics."""
    if plan.pairing:
        margins = next(batches).margins
        for i, region in enumerate(range(rows.start, rows.stop)):
            counts = _pairing_counts(plan, margins[:, :, i])
            _score_wins(plan, slice(region, region + 1), counts, result)
    elif plan.kernel.correlates:
        _score_correlated(plan, rows, batches, result)
    else:
        _score_wins(plan, rows, _together(rows, _label_counts(plan, batches)), result)


def _label_counts(plan: Plan, batches: Iterator[Batch]) -> Iterator[Counts]:
    """Count wins where every labeling has margins of its own."""
    for margins, start, width, *_ in batches:
        y = plan.codes[start : start + width, plan.design.test]
        counts = beaten_and_tied(margins, y.T)
        del margins  # whose memory, still in cache, serves the next batch
        yield *counts, start, width


def _together(rows: slice, counts: Iterator[Counts]) -> Iterator[Counts]:
    """Join consecutive counts of regions until they are enough."""
    first, stop, parts = 0, 0, []
    for beaten, tied, start, width in counts:
        parts.append((beaten, tied))
        stop = start + width
        if (stop - first) * _n(rows) * len(beaten) >= _COUNTED:
            yield *_joined(parts, _n(rows)), first, stop - first
            first, parts = stop, []
    if parts:
        yield *_joined(parts, _n(rows)), first, stop - first


def _joined(
    parts: list[tuple[np.ndarray, np.ndarray]], n_regions: int
) -> tuple[np.ndarray, np.ndarray]:
    """Join counts (n_test, n_regions * n_labelings), laid out in memory as they are."""
    if len(parts) == 1:
        return parts[0]
    beaten, tied = (
        np.concatenate([c.reshape(len(c), n_regions, -1) for c in counts], axis=2)
        for counts in zip(*parts, strict=True)
    )
    return beaten.reshape(len(beaten), -1), tied.reshape(len(tied), -1)


def _pairing_counts(plan: Plan, margins: np.ndarray) -> Iterator[Counts]:
    """Count one region's wins when only the labels of its test points are permuted."""
    y = plan.test_codes
    beaten, tied = rank_tables(margins)
    row = np.arange(len(y))[:, None] * margins.shape[1]
    width = max(1, PASS_SIZE // len(y))
    for start in range(0, y.shape[1], width):
        pick = row + y[:, start : start + width]
        yield beaten.take(pick), tied.take(pick), start, pick.shape[1]


def _score_wins(
    plan: Plan, rows: slice, counts: Iterator[Counts], result: Result
) -> None:
    """Fill the results of one pass from counts (n_test, n_regions * n_labelings)."""
    for beaten, tied, start, width in counts:
        if start == 0:
            _observe(plan, rows, (beaten[:, ::width], tied[:, ::width]), result)
        if start + width == 1:  # only the observed labels
            continue
        weights = plan.weights_of(slice(start, start + width), _n(rows))
        wins = win_histogram(beaten, tied, weights, plan.design.n_classes)
        _compare(plan.statistic(wins), start, rows, result)


def _score_correlated(
    plan: Plan, rows: slice, batches: Iterator[Batch], result: Result
) -> None:
    """Fill the same where batches have correlations, which may be the statistic."""
    first = next(batches)
    correlation = cast(np.ndarray, first.correlation)[:, 0]
    result["correlation"][rows] = correlation
    every = itertools.chain([first], batches)
    if not isinstance(plan.statistic, CorrelationStatistic):
        _score_wins(plan, rows, _together(rows, _label_counts(plan, every)), result)
        return
    of_batch = plan.statistic.of_batch
    counts = beaten_and_tied(first.margins, plan.test_codes[:, :1])
    _observe(plan, rows, counts, result, of_batch(correlation))
    for batch in every:
        _compare(of_batch(batch.correlation), batch.first_labeling, rows, result)


def _observe(
    plan: Plan, rows: slice, counts: tuple[Any, Any], result: Result, scores: Any = None
) -> None:
    """Fill what the observed labels give, from counts and perhaps scores."""
    n_classes = plan.design.n_classes
    weights = plan.weights_of(slice(0, 1), _n(rows))
    wins = win_histogram(*counts, weights, n_classes)
    result["wins"][rows] = wins
    result["score"][rows] = plan.statistic(wins) if scores is None else scores
    result["n_best"][rows] = (counts[0] == n_classes - 1).sum(axis=0)
    for f in range(len(result["weighted_wins"])):
        weighting = cast(np.ndarray, plan.weightings)[f][:, None]
        result["weighted_wins"][f, rows] = win_histogram(*counts, weighting, n_classes)


def _compare(scores: np.ndarray, start: int, rows: slice, result: Result) -> None:
    """Count permuted statistics that reach the observed one; keep the maxima."""
    scores = scores.reshape(_n(rows), -1)
    if start == 0:
        scores, start = scores[:, 1:], 1
    counts = NullCounts(
        result["score"], result["n_reached"], result["maxima"], result["null"]
    )
    counts.add(scores, start - 1, rows)
