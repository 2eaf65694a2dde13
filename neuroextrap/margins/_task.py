"""One task of a run: some regions under all labelings.

A task is a pure function of its plan and its data, so tasks can run in any order, on
any machine, and be repeated. It goes over its regions in passes, a pass over the
labelings in batches; all sizes depend on the design alone, so no result on workers.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np

from neuroextrap.design._design import Design
from neuroextrap.design._forward_tests import ForwardFolds
from neuroextrap.margins._best_classes import (
    Shares,
    shares_of_margins,
    shares_of_regions,
)
from neuroextrap.margins._kernel import AdditiveKernel, Batch
from neuroextrap.margins._outcomes import correct_outcomes
from neuroextrap.margins._plan import PASS_SIZE, Plan, TaskData
from neuroextrap.margins._statistic import AccuracyStatistic
from neuroextrap.margins._wins import (
    beaten_and_tied,
    rank_tables,
    win_histogram,
)
from neuroextrap.margins.algebra._region_sums import COLUMNS
from neuroextrap.stats._null_counts import NullCounts

# (beaten, tied, first labeling, number of labelings)
Counts = tuple[np.ndarray, np.ndarray, int, int]


def run_task(plan: Plan, data: TaskData) -> dict[str, np.ndarray]:
    """Compute the wins of a task's regions and their permuted statistics.

    The result has ``wins`` (n_regions, K); ``weighted_wins`` (n_weightings, n_regions,
    K); ``score`` (n_regions,) the observed statistic; ``n_reached`` (n_regions,) how
    many permuted statistics reach it; ``n_best`` (n_regions,) how many test points have
    their class strictly best; ``maxima`` (n_permutations,) the largest permuted
    statistic over the task's regions; ``null`` (n_permutations, n_regions) when kept;
    with forward tests their ``n_correct`` (n_regions, n_sums) and ``forward_wins``
    (n_regions, K).
    """
    n_regions, n_classes = data.n_regions, plan.design.n_classes
    result = {
        "wins": np.empty((n_regions, n_classes)),
        "weighted_wins": np.empty((plan.n_weightings, n_regions, n_classes)),
        "score": np.empty(n_regions),
        "n_reached": np.zeros(n_regions, dtype=np.int64),
        "n_best": np.empty(n_regions),
        "maxima": np.full(plan.n_permutations, -np.inf),
    }
    if plan.keep_null:
        result["null"] = np.empty((plan.n_permutations, n_regions), dtype=np.float32)
    counted = _counted(plan, data)
    if counted is not None:
        own = iter([(*counted[0], 0, 1)])
        _score(plan, slice(0, data.n_regions), own, result)
    elif plan.needs_best_only and plan.n_permutations:
        for first, n_regions, shares in _all_shares(plan, data):
            _score_best(plan, slice(first, first + n_regions), shares, result)
    else:
        for first, n_regions, counts in _all_counts(plan, data):
            _score(plan, slice(first, first + n_regions), counts, result)
    if plan.forward is not None:
        result |= _run_forward(plan, data, None if counted is None else counted[1])
    return result


def _counted(plan: Plan, data: TaskData) -> Any:
    """Count own and forward tests of all regions in one go, None where none can."""
    count = plan.observed_counter()
    if count is None or not data.may_be_counted:
        return None
    regions = data.regions
    regions.sort_indices()
    return count(data.centered(), regions)


def _run_forward(
    plan: Plan, data: TaskData, counted: tuple[np.ndarray, np.ndarray] | None
) -> dict[str, np.ndarray]:
    """Count the correct outcomes of the forward tests, and their average wins.

    Margins that are summed over features are made some folds at a time, as many as the
    plan's own tests, so that they take no more memory than these. Tests that are
    ``counted`` already have no margins.
    """
    forward, tests = cast(ForwardFolds, plan.forward), plan.forward_plan()
    n_classes = plan.design.n_classes
    n_correct = np.zeros((data.n_regions, forward.outcomes.n_sums), dtype=np.float32)
    wins = np.zeros((data.n_regions, n_classes))
    for some in _fold_batches(plan):
        design = forward.design.some_folds(some)
        points = _points(forward.design, some)
        whole = design is forward.design
        part = tests if whole else replace(tests, design=design)
        passes = _all_counts(part, data)
        if counted is not None:
            passes = iter([(0, data.n_regions, iter([(*counted, 0, 1)]))])
        for first, n_regions, counts in passes:
            rows = slice(first, first + n_regions)
            beaten, tied, _, _ = next(counts)
            outcomes = correct_outcomes(beaten, tied, n_classes)
            n_correct[rows, some] = (forward.sums[some, points] @ outcomes).T
            weights = forward.weighting[points, np.newaxis]
            wins[rows] += win_histogram(beaten, tied, weights, n_classes)
    return {"n_correct": n_correct, "forward_wins": wins}


def _fold_batches(plan: Plan) -> list[slice]:
    """Return which folds of the forward tests are made together."""
    design = cast(ForwardFolds, plan.forward).design
    if not plan.forward_by_sums:
        return [slice(0, len(design.folds))]
    most, batches, start = len(plan.design.test), [], 0
    stops = [rows.stop for rows in design.fold_slices]
    for fold, stop in enumerate(stops):
        if fold > start and stop - design.fold_slices[start].start > most:
            batches.append(slice(start, fold))
            start = fold
    return [*batches, slice(start, len(stops))]


def largest_batch(plan: Plan) -> int:
    """Return how many margins of a feature forward tests by sums make at once."""
    slices = cast(ForwardFolds, plan.forward).design.fold_slices
    batches = _fold_batches(replace(plan, forward_by_sums=True))
    points = max(slices[b.stop - 1].stop - slices[b.start].start for b in batches)
    return max(points, plan.design.n_samples) * plan.design.n_classes


def first_margins(plan: Plan, data: TaskData) -> np.ndarray:
    """Return the observed margins (n_test, K, n_regions) of a task's first pass."""
    observed = replace(plan, codes=plan.codes[:1])
    _, _, batches = next(_passes(observed, data))
    return next(batches).margins


def observed_margins(
    plan: Plan, data: TaskData
) -> Iterator[tuple[int, int, np.ndarray]]:
    """Yield (first region, number of regions, margins) under the observed labeling.

    Margins have shape (n_test, K, n_regions), a few regions of the task at a time.
    """
    observed = replace(plan, codes=plan.codes[:1])
    for first, n_regions, batches in _passes(observed, data):
        yield first, n_regions, next(batches).margins


def _all_counts(
    plan: Plan, data: TaskData
) -> Iterator[tuple[int, int, Iterator[Counts]]]:
    """Yield (first region, number of regions, iterator of their counts).

    Counts have shape (n_test, n_regions * n_labelings), region-major.
    """
    for first, n_regions, batches in _passes(plan, data):
        if plan.pairing:
            margins = next(batches).margins
            for region in range(n_regions):
                counts = _pairing_counts(plan, margins[:, :, region])
                yield first + region, 1, counts
        else:
            yield first, n_regions, _label_counts(plan, n_regions, batches)


def _label_counts(
    plan: Plan, n_regions: int, batches: Iterator[Batch]
) -> Iterator[Counts]:
    """Count wins where every labeling has margins of its own."""
    for margins, start, width in batches:
        y = np.tile(plan.test_codes()[:, start : start + width], n_regions)
        yield *beaten_and_tied(margins, y), start, width


def _pairing_counts(plan: Plan, margins: np.ndarray) -> Iterator[Counts]:
    """Count one region's wins when only the labels of its test points are permuted."""
    y = plan.test_codes()
    beaten, tied = rank_tables(margins)
    row = np.arange(len(y))[:, None] * margins.shape[1]
    width = max(1, PASS_SIZE // len(y))
    for start in range(0, y.shape[1], width):
        pick = row + y[:, start : start + width]
        yield beaten.take(pick), tied.take(pick), start, pick.shape[1]


def _passes(plan: Plan, data: TaskData) -> Iterator[tuple[int, int, Iterator[Batch]]]:
    """Yield (first region, number of regions, their batches) of every pass."""
    if plan.by_sums:
        yield 0, data.n_regions, _summed_batches(plan, data)
        return
    for first, xs in _samples(plan, data):
        yield first, len(xs), plan.kernel.batches(xs, plan)


def _all_shares(
    plan: Plan, data: TaskData
) -> Iterator[tuple[int, int, Iterator[Shares]]]:
    """Yield (first region, number of regions, their shares) of every pass."""
    if plan.by_sums:
        batches = _summed_batches(plan, data)
        yield 0, data.n_regions, shares_of_margins(plan, data.n_regions, batches)
        return
    for first, xs in _samples(plan, data):
        yield first, len(xs), shares_of_regions(plan, xs)


def _samples(plan: Plan, data: TaskData) -> Iterator[tuple[int, Sequence[np.ndarray]]]:
    """Yield (first region, samples of each region) of every pass, whitened."""
    for first in range(0, data.n_regions, plan.pass_regions):
        regions = range(first, min(first + plan.pass_regions, data.n_regions))
        yield first, data.samples_of(regions, plan.whitener)


def _summed_batches(plan: Plan, data: TaskData) -> Iterator[Batch]:
    """Yield the margins of all the task's regions as sums over features.

    A few folds at a time, whose numbers stay in cache.
    """
    kernel, design = cast(AdditiveKernel, plan.kernel), cast(Design, plan.design)
    n_test, n_classes, n_regions = len(design.test), design.n_classes, data.n_regions
    for labeling, codes in enumerate(plan.codes[: plan.n_trained]):
        margins = np.empty((n_test, n_classes, n_regions), dtype=np.float32)
        together = list(_folds_at_once(design))
        blocks = kernel.margins_of_folds(data.features.T, codes, design, together)
        for folds, of_features in zip(together, blocks, strict=True):
            part, rows = design.some_folds(folds), _points(design, folds)
            out = margins[rows].reshape(-1, n_regions)
            data.sums.fill(of_features.reshape(len(of_features), -1), out)
            margins[rows] += kernel.constant(codes, part)[:, :, np.newaxis]
        yield Batch(margins, labeling, 1)


def _folds_at_once(design: Design) -> Iterator[slice]:
    """Yield folds whose margins of a feature are few enough, at least one fold."""
    start, edges = 0, design.fold_slices
    for fold in range(len(edges)):
        first = edges[start].start
        if fold > start and (edges[fold].stop - first) * design.n_classes > COLUMNS:
            yield slice(start, fold)
            start = fold
    yield slice(start, len(edges))


def _points(design: Design, folds: slice) -> slice:
    """Return where the test points of some folds lie."""
    slices = design.fold_slices[folds]
    return slice(slices[0].start, slices[-1].stop)


def _score(
    plan: Plan, rows: slice, counts: Iterator[Counts], result: dict[str, np.ndarray]
) -> None:
    """Fill the results of one pass: wins, observed statistic, permuted statistics."""
    n_regions, n_classes = rows.stop - rows.start, plan.design.n_classes
    for beaten, tied, start, width in counts:
        if start == 0:
            _observe(plan, rows, (beaten[:, ::width], tied[:, ::width]), result)
        if start + width == 1:  # the observed labels alone
            continue
        weights = plan.weights_of(slice(start, start + width), n_regions)
        wins = win_histogram(beaten, tied, weights, n_classes)
        scores = plan.statistic(wins).reshape(n_regions, width)
        if start == 0:
            scores, start = scores[:, 1:], 1
        _compare(scores, start - 1, rows, result)


def _score_best(
    plan: Plan, rows: slice, batches: Iterator[Shares], result: dict[str, np.ndarray]
) -> None:
    """Fill the same where permuted labels need the best class of each point only."""
    n_regions = rows.stop - rows.start
    of_best = cast(AccuracyStatistic, plan.statistic).of_best
    for share, start, width, observed in batches:
        scores = of_best(share).reshape(n_regions, width)
        if observed is not None:
            y = np.repeat(plan.test_codes()[:, :1], n_regions, axis=1)
            _observe(plan, rows, beaten_and_tied(observed, y), result)
            scores, start = scores[:, 1:], 1
        _compare(scores, start - 1, rows, result)


def _observe(
    plan: Plan,
    rows: slice,
    counts: tuple[np.ndarray, np.ndarray],
    result: dict[str, np.ndarray],
) -> None:
    """Fill what the observed labels give, from counts (n_test, n_regions)."""
    n_classes = plan.design.n_classes
    weights = plan.weights_of(slice(0, 1), rows.stop - rows.start)
    wins = win_histogram(*counts, weights, n_classes)
    result["wins"][rows] = wins
    result["score"][rows] = plan.statistic(wins)
    result["n_best"][rows] = (counts[0] == n_classes - 1).sum(axis=0)
    for f in range(len(result["weighted_wins"])):
        weighting = cast(np.ndarray, plan.weightings)[f][:, None]
        result["weighted_wins"][f, rows] = win_histogram(*counts, weighting, n_classes)


def _compare(
    permuted: np.ndarray, start: int, rows: slice, result: dict[str, np.ndarray]
) -> None:
    """Count the permuted statistics that reach the observed one; keep the maxima."""
    counts = NullCounts(
        result["score"], result["n_reached"], result["maxima"], result.get("null")
    )
    counts.add(permuted, start, rows)
