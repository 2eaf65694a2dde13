"""What a run will take: seconds by timing a few regions, memory by counting."""

import time

import numpy as np

from neuroextrap.margins._engine import make_block, task_size, with_path
from neuroextrap.margins._paths import work_of_a_task
from neuroextrap.margins._task import PASS_SIZE, run_task


def estimate_seconds(X, regions, plan, *, n_regions=32):
    """Time a few regions and extrapolate to all, on one core.

    Parameters
    ----------
    X : ndarray of float32, shape (n_samples, n_features)
        Samples in rows.
    regions : scipy.sparse.csr_array, shape (n_regions, n_features)
        Members of every region.
    plan : Plan
        What every task of the run shares.
    n_regions : int
        Number of regions to time.

    Returns
    -------
    seconds : float
        On one core, for all regions.

    Examples
    --------
    >>> import numpy as np, scipy.sparse
    >>> from neuroextrap.margins._cost import estimate_seconds
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
    >>> estimate_seconds(X, regions, plan) > 0
    True
    """
    plan = with_path(plan, regions)
    filled = np.flatnonzero(np.diff(regions.indptr))
    some = np.unique(np.linspace(0, len(filled) - 1, n_regions).astype(int))
    block = make_block(X, regions, filled[some])
    run_task(plan, make_block(X, regions, filled[:1]))  # caches and imports
    start = time.perf_counter()
    run_task(plan, block)
    return (time.perf_counter() - start) * len(filled) / len(some)


def estimate_memory(X, regions, plan, n_workers=1):
    """Count the bytes that a run needs at its peak, the data included.

    Parameters
    ----------
    X : ndarray, shape (n_samples, n_features)
        Samples in rows.
    regions : scipy.sparse.csr_array, shape (n_regions, n_features)
        Members of every region.
    plan : Plan
        What every task of the run shares.
    n_workers : int
        Number of workers, each with a task in memory.

    Returns
    -------
    n_bytes : int
        An estimate from counting, not from measuring.

    Examples
    --------
    >>> import numpy as np, scipy.sparse
    >>> from neuroextrap.margins._cost import estimate_memory
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
    >>> estimate_memory(X, regions, plan) > X.nbytes
    True
    """
    plan = with_path(plan, regions)
    n_regions, n_classes = regions.shape[0], plan.design.n_classes
    n_weightings = 0 if plan.weightings is None else len(plan.weightings)
    results = 8 * n_regions * (n_classes * (1 + n_weightings) + 40)
    data = 3 * X.nbytes  # in float32, and as it was read
    members = 2 * (regions.indices.nbytes + regions.data.nbytes + regions.indptr.nbytes)
    labels = 3 * plan.codes.nbytes
    if not plan.by_sums:
        labels += 12 * plan.size * plan.n_kept
    work = work_of_a_task(plan, regions, task_size(plan))
    task = _sums_bytes(plan, work) if plan.by_sums else _regions_bytes(plan, regions)
    n_tasks = -(-int((np.diff(regions.indptr) > 0).sum()) // task_size(plan))
    n_workers = min(n_workers, n_tasks)
    waiting = 1 if n_workers == 1 else min(2 * n_workers, n_tasks)  # made ahead of time
    block = 4 * plan.design.n_samples * work.n_features + 10 * work.n_memberships
    return int(data + members + results + labels + waiting * block + n_workers * task)


def _sums_bytes(plan, work):
    """Bytes of a task that sums: margins of its features and of its regions."""
    return 4 * plan.size * (work.n_features + 3 * work.n_regions)


def _regions_bytes(plan, regions):
    """Bytes of a task that takes regions one by one, at the largest of them."""
    sizes = np.diff(regions.indptr)
    sizes = sizes[sizes > 0].astype(np.int64)
    step, n = min(plan.pass_regions, len(sizes)), plan.design.n_samples
    ends = np.cumsum(sizes)
    together = int((ends[step - 1 :] - np.append(0, ends[:-step])).max())
    samples = 4 * n * (together + 6 * min(2**14, int(sizes.max())))  # some in float64
    workspace = 32 * n * n * step  # inner products and what is made of them
    if hasattr(plan.kernel, "workspace"):
        workspace = plan.kernel.workspace(int(sizes.max()), n)
    if hasattr(plan.whitener, "workspace"):
        workspace += plan.whitener.workspace(int(sizes.max()), n)
    margins = 8 * 12 * max(plan.size, PASS_SIZE)
    null = 8 * plan.n_permutations * task_size(plan) if plan.keep_null else 0
    return samples + workspace + margins + null
