"""What a run will take: seconds by timing a few regions, memory by counting."""

import re
import time

import numpy as np

from neuroextrap.margins._engine import make_block, task_size
from neuroextrap.margins._task import PASS_SIZE, run_task

_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


def parse_memory(memory):
    """Turn "2G" into a number of bytes.

    Parameters
    ----------
    memory : str or number
        A number of bytes, or text with a unit K, M, G or T (powers of 1024).

    Returns
    -------
    n_bytes : int
        Rounded down.

    Raises
    ------
    ValueError
        When the text is not a size.

    Examples
    --------
    >>> from neuroextrap.margins import parse_memory
    >>> parse_memory("1.5G")
    1610612736
    """
    if isinstance(memory, (int, float, np.number)) and memory > 0:
        return int(memory)
    match = re.fullmatch(r"\s*([0-9.]+)\s*([KMGT]?)(i?B)?\s*", str(memory).upper())
    if match is None:
        raise ValueError(
            f"max_memory={memory!r} must be a size such as '2G', or a number of bytes"
        )
    return int(float(match[1]) * _UNITS[match[2]])


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
    >>> from neuroextrap.margins import (
    ...     NearestCentroidMargins,
    ...     Plan,
    ...     estimate_seconds,
    ...     make_design,
    ...     resolve_statistic,
    ... )
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
    >>> from neuroextrap.margins import (
    ...     NearestCentroidMargins,
    ...     Plan,
    ...     estimate_memory,
    ...     make_design,
    ...     resolve_statistic,
    ... )
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
    n_regions, n_classes = regions.shape[0], plan.design.n_classes
    n_weightings = 0 if plan.weightings is None else len(plan.weightings)
    results = 8 * n_regions * (n_classes * (1 + n_weightings) + 40)
    data = 3 * X.nbytes  # in float32, and as it was read
    members = 2 * (regions.indices.nbytes + regions.data.nbytes + regions.indptr.nbytes)
    labels = 3 * plan.codes.nbytes
    if not plan.is_additive:
        labels += 4 * plan.n_trained * plan.size  # indicators of the classes
    return int(
        data + members + results + labels + n_workers * _task_bytes(regions, plan)
    )


def _task_bytes(regions, plan):
    """Bytes of one task at its peak: margins of a pass, and the arrays made of them."""
    step = task_size(plan)
    if plan.is_additive:
        return 4 * plan.size * (2 * _features_of_a_task(regions, step) + 3 * step)
    null = 8 * plan.n_permutations * step if plan.keep_null else 0
    return 8 * 12 * max(plan.size, PASS_SIZE) + null


def _features_of_a_task(regions, step):
    """Count the features of a task in the middle of the regions."""
    filled = np.flatnonzero(np.diff(regions.indptr))
    start = max(0, (len(filled) - step) // 2)
    here = np.zeros(regions.shape[1], dtype=bool)
    here[regions[filled[start : start + step]].indices] = True
    return int(here.sum())
