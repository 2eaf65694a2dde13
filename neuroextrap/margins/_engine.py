"""The one loop over regions and permutations."""

import uuid
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse
import threadpoolctl
from joblib import Parallel, delayed

from neuroextrap.margins._checkpoint import Checkpoint, run_identity
from neuroextrap.margins._paths import sums_are_faster
from neuroextrap.margins._task import Block, first_margins, run_task

# numbers per margin array of a task, and bounds on its regions: fixed, so that neither
# workers nor memory decide where one task ends
_TASK_SIZE = 3 * 2**22
_MIN_TASK_REGIONS, _MAX_TASK_REGIONS = 64, 3 * 2**12
_PERMUTED_TASK_REGIONS = 128


@dataclass(frozen=True)
class RegionScores:
    """What a run found for every region.

    Parameters
    ----------
    wins : ndarray, shape (n_regions, K)
        Win distributions; NaN where a region was not analyzed.
    weighted_wins : ndarray, shape (n_weightings, n_regions, K)
        The same under each further weighting of the test points.
    score : ndarray, shape (n_regions,)
        Observed statistic.
    n_reached : ndarray of int, shape (n_regions,)
        Number of permuted statistics that reach the observed one.
    maxima : ndarray, shape (n_permutations,)
        Largest statistic over regions, for every permutation.
    null : ndarray of float32, shape (n_permutations, n_regions), or None
        All permuted statistics, when kept.
    done : ndarray of bool, shape (n_regions,)
        Regions analyzed in this run (all, but for a shard).

    Examples
    --------
    >>> import numpy as np, scipy.sparse
    >>> from neuroextrap.margins._engine import score_regions
    >>> from neuroextrap.margins._folds import make_design
    >>> from neuroextrap.margins._nearest_centroid import NearestCentroidMargins
    >>> from neuroextrap.margins._statistic import resolve_statistic
    >>> from neuroextrap.margins._task import Plan
    >>> codes = np.array([[0, 1, 0, 1], [0, 1, 1, 0]])
    >>> X = np.array([[0.0], [1.0], [0.2], [0.8]], dtype=np.float32)
    >>> regions = scipy.sparse.csr_array(np.ones((1, 1), dtype=bool))
    >>> plan = Plan(
    ...     kernel=NearestCentroidMargins(),
    ...     design=make_design(codes[0], 2, groups=[1, 1, 2, 2]),
    ...     codes=codes,
    ...     statistic=resolve_statistic("accuracy", 2, [2]),
    ... )
    >>> scores = score_regions(X, regions, plan)
    >>> scores.wins.tolist(), scores.done.tolist()
    ([[0.0, 1.0]], [True])
    """

    wins: np.ndarray
    weighted_wins: np.ndarray
    score: np.ndarray
    n_reached: np.ndarray
    maxima: np.ndarray
    null: np.ndarray | None
    done: np.ndarray


def score_regions(  # noqa: PLR0913
    X, regions, plan, *, n_jobs=1, checkpoint=None, shard=None, null=None, progress=None
):
    """Compute the wins of every region, observed and permuted.

    Parameters
    ----------
    X : ndarray of float32, shape (n_samples, n_features)
        Finite samples, centered per feature.
    regions : scipy.sparse.csr_array, shape (n_regions, n_features)
        Which features belong to which region; empty rows are left NaN.
    plan : Plan
        What every task of the run shares.
    n_jobs : int
        Number of joblib workers; does not affect results.
    checkpoint : path-like or None
        Folder for the results of finished tasks.
    shard : tuple of (int, int) or None
        (i, N): compute tasks i, i + N, i + 2 N, ... only, i from 0.
    null : ndarray or None
        Where to put all permuted statistics, shape (n_permutations, n_regions).
    progress : callable or None
        Called as progress(regions done, regions in all) after every finished task.

    Returns
    -------
    RegionScores
        Wins and counts of every region.

    Examples
    --------
    >>> import numpy as np, scipy.sparse
    >>> from neuroextrap.margins._engine import score_regions
    >>> from neuroextrap.margins._folds import make_design
    >>> from neuroextrap.margins._nearest_centroid import NearestCentroidMargins
    >>> from neuroextrap.margins._statistic import resolve_statistic
    >>> from neuroextrap.margins._task import Plan
    >>> codes = np.array([[0, 1, 0, 1], [0, 1, 1, 0]])
    >>> X = np.array([[0.0], [1.0], [0.2], [0.8]], dtype=np.float32)
    >>> regions = scipy.sparse.csr_array(np.ones((1, 1), dtype=bool))
    >>> plan = Plan(
    ...     kernel=NearestCentroidMargins(),
    ...     design=make_design(codes[0], 2, groups=[1, 1, 2, 2]),
    ...     codes=codes,
    ...     statistic=resolve_statistic("accuracy", 2, [2]),
    ... )
    >>> scores = score_regions(X, regions, plan)
    >>> scores.score, scores.maxima
    (array([1.]), array([0.]))
    """
    plan = with_path(plan, regions)
    tasks = _tasks(regions, plan)
    if shard is not None:
        tasks = tasks[shard[0] :: shard[1]]
    store = None
    if checkpoint is not None:
        identity = run_identity(X, regions, plan) | {"task size": task_size(plan)}
        store = Checkpoint(checkpoint, identity)
    scores = _empty(regions.shape[0], plan, null)
    total, done = sum(len(rows) for _, rows in tasks), 0
    for rows, result in _results(X, regions, plan, tasks, n_jobs, store):
        _place(scores, rows, result)
        np.maximum(scores.maxima, result["maxima"], out=scores.maxima)
        done += len(rows)
        if progress is not None:
            progress(done, total)
    return scores


def observed_margins(X, regions, plan, region):
    """Compute one region's margins under the observed labeling.

    Parameters
    ----------
    X : ndarray of float32, shape (n_samples, n_features)
        Samples in rows.
    regions : scipy.sparse.csr_array, shape (n_regions, n_features)
        Members of every region.
    plan : Plan
        What every task of the run shares.
    region : int
        Index of the region.

    Returns
    -------
    margins : ndarray, shape (n_test, K)
        Rows in the order of the folds' test samples.

    Raises
    ------
    ValueError
        When the region has no usable feature.

    Examples
    --------
    >>> import numpy as np, scipy.sparse
    >>> from neuroextrap.margins._engine import observed_margins
    >>> from neuroextrap.margins._folds import make_design
    >>> from neuroextrap.margins._nearest_centroid import NearestCentroidMargins
    >>> from neuroextrap.margins._statistic import resolve_statistic
    >>> from neuroextrap.margins._task import Plan
    >>> codes = np.array([[0, 1, 0, 1], [0, 1, 1, 0]])
    >>> X = np.array([[0.0], [1.0], [0.2], [0.8]], dtype=np.float32)
    >>> regions = scipy.sparse.csr_array(np.ones((1, 1), dtype=bool))
    >>> plan = Plan(
    ...     kernel=NearestCentroidMargins(),
    ...     design=make_design(codes[0], 2, groups=[1, 1, 2, 2]),
    ...     codes=codes,
    ...     statistic=resolve_statistic("accuracy", 2, [2]),
    ... )
    >>> observed_margins(X, regions, plan, 0).argmax(axis=1)
    array([0, 1, 0, 1])
    """
    if regions.indptr[region] == regions.indptr[region + 1]:
        raise ValueError(f"region {region} was not analyzed: too few usable voxels")
    block = make_block(X, regions, np.array([region]))
    return first_margins(with_path(plan, regions), block)[:, :, 0]


def with_path(plan, regions):
    """Return a plan that says how margins are made, from all regions of the run.

    Parameters
    ----------
    plan : Plan
        Returned as it is if it says so already.
    regions : scipy.sparse.csr_array, shape (n_regions, n_features)
        Members of every region.

    Returns
    -------
    plan : Plan
        By sums over features, or region by region, whichever is faster.

    Examples
    --------
    >>> import numpy as np, scipy.sparse
    >>> from neuroextrap.margins._engine import with_path
    >>> from neuroextrap.margins._folds import make_design
    >>> from neuroextrap.margins._nearest_centroid import NearestCentroidMargins
    >>> from neuroextrap.margins._statistic import resolve_statistic
    >>> from neuroextrap.margins._task import Plan
    >>> codes = np.array([[0, 1, 0, 1]])
    >>> plan = Plan(
    ...     kernel=NearestCentroidMargins(),
    ...     design=make_design(codes[0], 2, groups=[1, 1, 2, 2]),
    ...     codes=codes,
    ...     statistic=resolve_statistic("accuracy", 2, [2]),
    ... )
    >>> a_voxel, a_brain = np.ones((1, 1)), np.ones((1, 20_000))
    >>> with_path(plan, scipy.sparse.csr_array(a_voxel)).by_sums
    True
    >>> with_path(plan, scipy.sparse.csr_array(a_brain)).by_sums
    False
    """
    if plan.by_sums is not None:
        return plan
    summing = replace(plan, by_sums=True)
    chosen = sums_are_faster(plan, regions, task_size(summing))
    return replace(plan, by_sums=chosen)


def task_size(plan):
    """Return the number of regions of a task; the plan alone decides it.

    Parameters
    ----------
    plan : Plan

    Returns
    -------
    n_regions : int
    """
    step = np.clip(_TASK_SIZE // plan.size, _MIN_TASK_REGIONS, _MAX_TASK_REGIONS)
    if not plan.by_sums or plan.n_permutations:
        step = min(step, _PERMUTED_TASK_REGIONS)
    return int(step)


def make_block(X, regions, rows):
    """Return some regions with the data of just their features.

    Parameters
    ----------
    X : ndarray of float32, shape (n_samples, n_features)
    regions : scipy.sparse.csr_array, shape (n_regions, n_features)
    rows : ndarray of int
        Which regions.

    Returns
    -------
    Block
    """
    members = scipy.sparse.csr_array(regions[rows])
    here = np.zeros(regions.shape[1], dtype=bool)
    here[members.indices] = True
    columns = np.flatnonzero(here)
    local = (np.cumsum(here, dtype=np.int32) - 1)[members.indices]
    small = scipy.sparse.csr_array(
        (members.data, local, members.indptr), shape=(len(rows), len(columns))
    )
    features = np.ascontiguousarray(X[:, columns].T, dtype=np.float32)
    return Block(features=features, regions=small, columns=columns)


def _tasks(regions, plan):
    """Return (number, rows) of every task; empty regions belong to none."""
    filled = np.flatnonzero(np.diff(regions.indptr))
    step = task_size(plan)
    starts = range(0, len(filled), step)
    return [(number, filled[a : a + step]) for number, a in enumerate(starts)]


# tells a task whether it runs in the process that made it
_PROCESS = uuid.uuid4().hex


def _run_block(plan, rows, number, block, parent):
    """Run one task, in another process with one BLAS thread."""
    if parent != _PROCESS:
        threadpoolctl.threadpool_limits(limits=1, user_api="blas")
    return number, rows, run_task(plan, block)


def _results(X, regions, plan, tasks, n_jobs, store):
    """Yield (rows, result) of every task: stored ones first, then as they finish."""
    missing = []
    for number, rows in tasks:
        result = None if store is None else store.load(number)
        if result is None:
            missing.append((number, rows))
        else:
            yield rows, result
    calls = (
        delayed(_run_block)(plan, rows, number, make_block(X, regions, rows), _PROCESS)
        for number, rows in missing
    )
    parallel = Parallel(
        n_jobs=n_jobs,
        prefer=getattr(plan.kernel, "prefer", "threads"),
        return_as="generator_unordered",
        batch_size=1,
    )
    with threadpoolctl.threadpool_limits(limits=1, user_api="blas"):
        for number, rows, result in parallel(calls):
            if store is not None:
                store.save(number, result)
            yield rows, result


def _empty(n_regions, plan, null):
    """Return scores before any task is done."""
    n_classes = plan.design.n_classes
    n_weightings = 0 if plan.weightings is None else len(plan.weightings)
    return RegionScores(
        wins=np.full((n_regions, n_classes), np.nan),
        weighted_wins=np.full((n_weightings, n_regions, n_classes), np.nan),
        score=np.full(n_regions, np.nan),
        n_reached=np.zeros(n_regions, dtype=np.int64),
        maxima=np.full(plan.n_permutations, -np.inf),
        null=null,
        done=np.zeros(n_regions, dtype=bool),
    )


def _place(scores, rows, result):
    """Put a task's results where its regions belong."""
    scores.wins[rows] = result["wins"]
    scores.weighted_wins[:, rows] = result["weighted_wins"]
    scores.score[rows] = result["score"]
    scores.n_reached[rows] = result["n_reached"]
    scores.done[rows] = True
    if scores.null is not None:
        scores.null[:, rows] = result["null"]
