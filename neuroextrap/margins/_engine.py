"""The one loop over regions and permutations."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
from joblib import Parallel, delayed
from scipy.stats import rankdata

from neuroextrap.margins._paths import with_path
from neuroextrap.margins._plan import Plan, TaskData
from neuroextrap.margins._task import observed_margins as margins_of_task
from neuroextrap.margins._task import run_task
from neuroextrap.margins._wins import NAN_MARGINS, win_chances
from neuroextrap.margins.running._checkpoint import Checkpoint, run_identity
from neuroextrap.margins.running._execution import Work, one_blas_thread, run_tasks
from neuroextrap.stats._null_counts import LargestValues
from neuroextrap.stats._validation import check_n_jobs

Task = tuple[int, np.ndarray]  # its number, and the rows of its regions
_PART_REGIONS = 64  # gone over together where no labels are permuted
# results of a task that have a row for every region
BY_REGION = (
    *("wins", "score", "n_reached", "n_best", "n_correct", "forward_wins", "measured"),
    "correlation",
)


@dataclass(frozen=True)
class RegionScores:
    """The results of a run for every region.

    ``wins`` of shape (n_regions, K) are win distributions, NaN where a region was not
    analyzed; ``weighted_wins`` (n_weightings, n_regions, K) the same under each further
    weighting of the test points. ``score`` (n_regions,) is the observed statistic,
    ``n_reached`` (n_regions,) the number of permuted statistics that reach it,
    ``maxima`` (n_permutations,) the largest statistic over regions for every
    permutation, and ``null`` (n_permutations, n_regions) all permuted statistics, when
    kept. ``largest`` (n_permutations, n_largest) are the largest of them under every
    permutation, packed with their regions (``stats/_null_counts.py``), in decreasing
    order, -inf where those of other shards are missing; None in results that were
    written without. ``done`` (n_regions,) marks the regions analyzed in this run (all,
    but for a shard). ``n_best`` (n_regions,) is the number of test points whose class
    was strictly the best. With forward tests ``n_correct``
    (n_regions, n_sums) are their numbers of correct outcomes, and ``forward_wins``
    (n_regions, K) their average wins. ``measured`` (n_regions, n_sizes, 2) are
    accuracies and standard errors of classifiers trained on random subsets of the
    classes, of every size.
    ``correlation`` (n_regions,) is that of decoded with true targets, if these are no
    classes.
    """

    wins: np.ndarray
    weighted_wins: np.ndarray
    score: np.ndarray
    n_reached: np.ndarray
    maxima: np.ndarray
    null: np.ndarray | None
    done: np.ndarray
    n_best: np.ndarray | None = None
    n_correct: np.ndarray | None = None
    forward_wins: np.ndarray | None = None
    measured: np.ndarray | None = None
    largest: np.ndarray | None = None
    correlation: np.ndarray | None = None


def score_regions(  # noqa: PLR0913
    X: np.ndarray,
    regions: scipy.sparse.csr_array,
    plan: Plan,
    *,
    n_jobs: int = 1,
    checkpoint: str | Path | None = None,
    shard: tuple[int, int] | None = None,
    null: np.ndarray | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> RegionScores:
    """Compute the wins of every region, observed and permuted.

    ``X`` holds finite float32 samples (n_samples, n_features), centered per feature;
    ``regions`` of shape (n_regions, n_features) says which features belong to which
    region, and empty rows are left NaN. ``n_jobs`` joblib workers do not affect
    results. ``checkpoint`` is a folder for the results of finished tasks. A ``shard``
    (i, N) computes tasks i, i + N, i + 2 N, ... only, i from 0. ``null``, an array
    (n_permutations, n_regions), is filled with all permuted statistics. ``progress`` is
    called with (regions done, regions in all) after every finished task.
    """
    plan = with_path(plan, regions)
    filled, size = np.flatnonzero(np.diff(regions.indptr)), plan.task_size
    starts = range(0, len(filled), size)  # empty regions belong to no task
    tasks = [(number, filled[a : a + size]) for number, a in enumerate(starts)]
    if shard is not None:
        tasks = tasks[shard[0] :: shard[1]]
    scores = empty_scores(regions.shape[0], plan, null)
    n_total, n_done = sum(len(rows) for _, rows in tasks), 0
    largest = LargestValues.start(plan.n_permutations, len(filled))
    part = "whole" if shard is None else f"{shard[0] + 1}of{shard[1]}"
    kept: AbstractContextManager[Checkpoint | None] = nullcontext()
    if checkpoint is not None:
        identity = identify_run(X, regions, plan) | {"kept of tasks": "all statistics"}
        kept = Checkpoint(checkpoint, identity, part)
    with kept as store:
        for rows, result in _results(X, regions, plan, tasks, n_jobs, store):
            _fill_in(scores, rows, result)
            np.maximum(scores.maxima, result["maxima"], out=scores.maxima)
            largest.add(result["null"], rows)
            n_done += len(rows)
            if progress is not None:
                progress(n_done, n_total)
    return replace(scores, largest=largest.ordered())


def identify_run(
    X: np.ndarray, regions: scipy.sparse.csr_array, plan: Plan
) -> dict[str, Any]:
    """Return what makes a run what it is, in JSON values.

    Equal for equal data, regions, plan, tasks and versions, whatever the shard and the
    workers.
    """
    plan = with_path(plan, regions)
    return run_identity(X, regions, plan) | {"task size": plan.task_size}


def observed_margins(
    X: np.ndarray, regions: scipy.sparse.csr_array, plan: Plan, region: int
) -> np.ndarray:
    """Compute one region's margins (n_test, K) under the observed labeling.

    Rows are in the order of ``plan.design.test``.
    """
    if regions.indptr[region] == regions.indptr[region + 1]:
        raise ValueError(
            f"region {region} was not analyzed: it has too few usable voxels; choose "
            "another region, or lower min_voxels"
        )
    data = task_data(X, regions, np.array([region]))
    (_, margins) = next(margins_of_task(with_path(plan, regions), data))
    return margins[:, :, 0]


def why_untrainable(
    X: np.ndarray, regions: scipy.sparse.csr_array, plan: Plan
) -> str | None:
    """Return why a plan's forward tests cannot be trained, None if they can.

    The largest region is tried in the fold that trains on fewest samples of a class:
    some classifiers need more of them than the first runs have.
    """
    sizes = np.diff(regions.indptr)
    if plan.forward is None or not sizes.any():
        return None
    design, codes = plan.forward.design, plan.codes[0]
    fewest = [np.bincount(codes[train]).min() for train, _ in design.folds]
    fold = int(np.argmin(fewest))
    first = replace(plan.forward_plan, design=design.some_folds(slice(fold, fold + 1)))
    try:
        next(margins_of_task(first, task_data(X, regions, np.array([sizes.argmax()]))))
    except ValueError as error:
        return (
            f"the classifier cannot be trained on the {fewest[fold]} samples per class "
            f"with which it begins ({error})"
        )
    return None


def task_data(
    X: np.ndarray, regions: scipy.sparse.csr_array, rows: np.ndarray
) -> TaskData:
    """Return some regions with the data of just their features."""
    members = scipy.sparse.csr_array(regions[rows])
    is_member = np.zeros(regions.shape[1], dtype=bool)
    is_member[members.indices] = True
    columns = np.flatnonzero(is_member)
    place = np.empty(regions.shape[1], dtype=np.int32)
    place[columns] = np.arange(len(columns), dtype=np.int32)
    indices = place[members.indices]
    task_regions = scipy.sparse.csr_array(
        (members.data, indices, members.indptr), shape=(len(rows), len(columns))
    )
    features = np.ascontiguousarray(X[:, columns].T)
    return TaskData(features=features, regions=task_regions, columns=columns)


def _results(
    X: np.ndarray,
    regions: scipy.sparse.csr_array,
    plan: Plan,
    tasks: list[Task],
    n_jobs: int,
    store: Checkpoint | None,
) -> Iterator[tuple[np.ndarray, dict[str, np.ndarray]]]:
    """Yield (rows, result) of every task: stored ones first, then as they finish."""
    missing = {}
    for number, rows in tasks:
        result = None if store is None else store.load(number)
        if result is None:
            missing[number] = rows
        else:
            yield rows, result
    work = Work(
        function=run_task,
        shared=plan,
        data_of=lambda number: task_data(X, regions, missing[number]),
        names={number: _name(number, rows) for number, rows in missing.items()},
    )
    for number, result in run_tasks(work, n_jobs=n_jobs, prefer=plan.kernel.prefer):
        if store is not None:
            store.save(number, result)
        yield missing[number], result


def _name(number: int, rows: np.ndarray) -> str:
    """Return what messages call a task."""
    return f"task {number} (regions {rows[0]} to {rows[-1]})"


def empty_scores(n_regions: int, plan: Plan, null: np.ndarray | None) -> RegionScores:
    """Return scores before any task is done."""
    n_classes, forward = plan.design.n_classes, plan.forward

    def missing(*shape: int, dtype: type = float) -> np.ndarray:
        return np.full((n_regions, *shape), np.nan, dtype)

    scores = RegionScores(
        wins=missing(n_classes),
        weighted_wins=np.full((plan.n_weightings, n_regions, n_classes), np.nan),
        score=missing(),
        n_reached=np.zeros(n_regions, dtype=np.int64),
        n_best=missing(),
        maxima=np.full(plan.n_permutations, -np.inf),
        null=null,
        done=np.zeros(n_regions, dtype=bool),
        measured=missing(len(plan.subset_sizes), 2) if plan.subsets else None,
        correlation=missing() if plan.kernel.correlates else None,
    )
    if forward is None:
        return scores
    return replace(
        scores,
        n_correct=missing(forward.outcomes.n_sums, dtype=np.float32),
        forward_wins=missing(n_classes),
    )


def _fill_in(
    scores: RegionScores, rows: np.ndarray, result: dict[str, np.ndarray]
) -> None:
    """Put a task's results where its regions belong."""
    scores.done[rows] = True
    scores.weighted_wins[:, rows] = result["weighted_wins"]
    if scores.null is not None:
        scores.null[:, rows] = result["null"]
    for name in BY_REGION:
        values = getattr(scores, name)
        if values is not None:
            values[rows] = result[name]


def map_parts(
    function: Callable[..., np.ndarray],
    X: np.ndarray,
    regions: scipy.sparse.csr_array,
    plan: Plan,
    rows: np.ndarray,
    given: Any,
    *,
    n_jobs: int,
) -> Iterator[tuple[slice, np.ndarray]]:
    """Yield (slice of ``rows``, ``function(plan, data of these regions, given)``).

    Some regions at a time, none of them empty; ``n_jobs`` threads do not affect
    results.
    """
    plan = with_path(plan, regions)
    starts = range(0, len(rows), _PART_REGIONS)
    parts = [slice(a, min(a + _PART_REGIONS, len(rows))) for a in starts]
    n_jobs = check_n_jobs(n_jobs)
    parallel = Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")
    calls = (
        delayed(function)(plan, task_data(X, regions, rows[part]), given)
        for part in parts
    )
    with one_blas_thread():
        yield from zip(parts, parallel(calls), strict=True)


def region_outcomes(
    X: np.ndarray,
    regions: scipy.sparse.csr_array,
    plan: Plan,
    rows: np.ndarray,
    set_size: int,
    *,
    n_jobs: int = 1,
) -> Iterator[tuple[slice, np.ndarray]]:
    """Yield (slice of ``rows``, chances to win) under the observed labeling.

    Chances have shape (n of the slice, n_test), in the order of ``plan.design.test``,
    among ``set_size`` - 1 random distractors; the rest as in `map_parts`.
    """
    return map_parts(_chances, X, regions, plan, rows, set_size, n_jobs=n_jobs)


def _chances(plan: Plan, data: TaskData, set_size: int) -> np.ndarray:
    """Return the chances (n_regions, n_test) of some regions."""
    codes = plan.codes[0][plan.design.test]
    outcomes = np.empty((data.n_regions, len(codes)))
    for part, margins in margins_of_task(plan, data):
        for i, region in enumerate(range(part.start, part.stop)):
            outcomes[region] = win_chances(margins[:, :, i], codes, set_size)
    return outcomes


def choice_tables(
    X: np.ndarray,
    regions: scipy.sparse.csr_array,
    plan: Plan,
    rows: np.ndarray,
    weights: np.ndarray,
    *,
    n_jobs: int = 1,
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield (regions, tables) under the observed labeling, part by part.

    ``rows`` are indices of regions, none of them empty. Tables have shape (n_regions,
    2, n_sets, K, K). Entry [c, d] of the first is what test points of class c that were
    assigned to class d weigh together; those with several best classes are shared
    equally. That of the second is what they weigh times the share of other classes with
    a smaller margin than class d (half of those with the same). ``weights`` (n_sets,
    n_test) are in the order of ``plan.design.test``. ``n_jobs`` threads do not affect
    results.
    """
    codes, n_classes = plan.codes[0][plan.design.test], plan.design.n_classes
    is_class = np.arange(n_classes)[:, np.newaxis] == codes
    by_class = (weights[:, np.newaxis] * is_class).reshape(-1, len(codes))
    given = regions, plan, rows, by_class
    for part, tables in map_parts(_tables, X, *given, n_jobs=n_jobs):
        shape = len(tables), 2, len(weights), n_classes, n_classes
        yield rows[part], tables.reshape(shape)


def _tables(plan: Plan, data: TaskData, by_class: np.ndarray) -> np.ndarray:
    """Return both tables of some regions, (n_regions, 2, n_sets * K, K)."""
    tables = np.empty((data.n_regions, 2, len(by_class), plan.design.n_classes))
    for part, margins in margins_of_task(plan, data):
        if np.isnan(margins.min()):
            raise ValueError(NAN_MARGINS)
        best = margins == margins.max(axis=1, keepdims=True)
        chosen = best / best.sum(axis=1, keepdims=True)
        beaten = (rankdata(margins, axis=1) - 1) / (plan.design.n_classes - 1)
        for kind, shares in enumerate((chosen, beaten)):
            tables[part, kind] = np.moveaxis(np.tensordot(by_class, shares, 1), 2, 0)
    return tables
