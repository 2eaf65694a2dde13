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
from neuroextrap.margins._task import Result, empty_results, run_task
from neuroextrap.margins._task import observed_margins as margins_of_task
from neuroextrap.margins._wins import NAN_MARGINS, win_chances
from neuroextrap.margins.running._checkpoint import Checkpoint, run_identity
from neuroextrap.margins.running._execution import Work, one_blas_thread, run_tasks
from neuroextrap.stats._null_counts import LargestValues
from neuroextrap.stats._validation import batches, check_n_jobs

Task = tuple[int, np.ndarray]  # its number, and the rows of its regions
_PART_REGIONS = 64  # gone over together where no labels are permuted


@dataclass(frozen=True)
class RegionScores:
    """The results of a run for every region.

    ``wins`` (n_regions, K) are win distributions, NaN where a region was not analyzed,
    ``weighted_wins`` (n_weightings, n_regions, K) those of further weightings,
    ``score`` (n_regions,) the observed statistic, ``n_reached`` the number of permuted
    ones that reach it, ``maxima`` (n_permutations,) their largest over regions,
    ``null`` (n_permutations, n_regions) all of them, when kept, ``largest``
    (n_permutations, n_largest) the largest, packed with their regions
    (``stats/_null_counts.py``), in decreasing order. ``done`` marks the regions of this
    run or shard, ``n_best`` counts test points whose class was strictly the best; of
    forward tests ``n_correct`` (n_regions, n_sums) are numbers of correct outcomes,
    ``forward_wins`` average wins; ``measured`` (n_regions, n_sizes, 2) accuracies and
    errors of classifiers trained on random subsets of the classes, ``correlation`` that
    of decoded with true targets.
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

    ``X`` (n_samples, n_features) holds finite float32 samples, centered per feature. A
    ``shard`` (i, N) computes tasks i, i + N, ... only, i from 0. ``null``
    (n_permutations, n_regions) is filled with all permuted statistics; ``progress`` is
    called with (regions done, regions in all) after every finished task.
    """
    plan = with_path(plan, regions)
    filled = np.flatnonzero(np.diff(regions.indptr))  # empty ones belong to no task
    parts = batches(len(filled), plan.task_size)
    tasks = [(number, filled[part]) for number, part in enumerate(parts)]
    if shard is not None:
        tasks = tasks[shard[0] :: shard[1]]
    n_regions = regions.shape[0]
    done, empty = np.zeros(n_regions, dtype=bool), empty_results(plan, n_regions)
    scores = RegionScores(**empty, null=null, done=done)
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
    """Return what makes a run what it is, as JSON values, whatever the workers."""
    plan = with_path(plan, regions)
    return run_identity(X, regions, plan) | {"task size": plan.task_size}


def observed_margins(
    X: np.ndarray, regions: scipy.sparse.csr_array, plan: Plan, region: int
) -> np.ndarray:
    """Compute one region's margins (n_test, K) under the observed labeling."""
    data = region_data(X, regions, region)
    (_, margins) = next(margins_of_task(with_path(plan, regions), data))
    return margins[:, :, 0]


def region_data(
    X: np.ndarray, regions: scipy.sparse.csr_array, region: int
) -> TaskData:
    """Return the data of one region; ValueError if it was not analyzed."""
    if regions.indptr[region] == regions.indptr[region + 1]:
        raise ValueError(
            f"region {region} was not analyzed: it has too few usable voxels; choose "
            "another region, or lower min_voxels"
        )
    return task_data(X, regions, np.array([region]))


def why_untrainable(
    X: np.ndarray, regions: scipy.sparse.csr_array, plan: Plan
) -> str | None:
    """Return why the smallest forward fold cannot be trained, None if it can."""
    sizes = np.diff(regions.indptr)
    if plan.forward is None or not sizes.any():
        return None
    design, codes = plan.forward.design, plan.codes[0]
    fewest = [np.bincount(codes[train]).min() for train, _ in design.folds]
    fold = int(np.argmin(fewest))
    # the next one too where folds are cheap: loops over growing ones are those of a run
    some = slice(fold, fold + 1 + (not plan.kernel.refits))
    first = replace(plan.forward_plan, design=design.some_folds(some))
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
    place = np.zeros(regions.shape[1], dtype=np.int32)
    place[members.indices] = 1
    columns = np.flatnonzero(place)
    place[columns] = np.arange(len(columns))
    parts = members.data, place[members.indices], members.indptr
    own = scipy.sparse.csr_array(parts, shape=(len(rows), len(columns)))
    features = np.ascontiguousarray(X[:, columns].T)
    return TaskData(features=features, regions=own, columns=columns)


def _results(
    X: np.ndarray,
    regions: scipy.sparse.csr_array,
    plan: Plan,
    tasks: list[Task],
    n_jobs: int,
    store: Checkpoint | None,
) -> Iterator[tuple[np.ndarray, Result]]:
    """Yield (rows, result) of every task: stored ones first, then as they finish."""
    missing = {}
    for number, rows in tasks:
        result = None if store is None else store.load(number)
        if result is None:
            missing[number] = rows
        else:
            yield rows, result
    names = {
        number: f"task {number} (regions {rows[0]} to {rows[-1]})"
        for number, rows in missing.items()
    }
    work = Work(run_task, plan, lambda k: task_data(X, regions, missing[k]), names)
    for number, result in run_tasks(work, n_jobs=n_jobs, prefer=plan.kernel.prefer):
        if store is not None:
            store.save(number, result)
        yield missing[number], result


def _fill_in(scores: RegionScores, rows: np.ndarray, result: Result) -> None:
    """Put a task's results where its regions belong."""
    scores.done[rows] = True
    scores.weighted_wins[:, rows] = result["weighted_wins"]
    if scores.null is not None:
        scores.null[:, rows] = result["null"]
    for name in result.keys() - {"weighted_wins", "null", "maxima"}:
        getattr(scores, name)[rows] = result[name]


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
    """Yield (slice of ``rows``, ``function(plan, data of these regions, given)``)."""
    plan = with_path(plan, regions)
    parts = batches(len(rows), _PART_REGIONS)
    n_jobs = check_n_jobs(n_jobs)
    parallel = Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")
    calls = (
        delayed(function)(plan, task_data(X, regions, rows[part]), given)
        for part in parts
    )
    with one_blas_thread():
        yield from zip(parts, parallel(calls), strict=True)


def chances(plan: Plan, data: TaskData, set_size: int) -> np.ndarray:
    """Return the chances to win (n_regions, n_test) under the observed labeling.

    Among ``set_size`` - 1 random distractors, in the order of ``plan.design.test``.
    """
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
    """Yield (regions, tables) of the regions ``rows``, none empty, part by part.

    Under the observed labeling, in tables (n_regions, 2, n_sets, K, K): entry [c, d] of
    the first is what test points of class c that were assigned to class d weigh
    together; those with several best classes are shared equally. That of the second is
    what they weigh times the share of other classes with a smaller margin than class d
    (half of those with the same). ``weights`` (n_sets, n_test) are in the order of
    ``plan.design.test``.
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
