"""How much of a machine a run may take, and which part of the run it does."""

import re

import numpy as np
from joblib import effective_n_jobs

from neuroextrap.margins._cost import estimate_memory

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
    >>> from neuroextrap.margins._resources import parse_memory
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


def parse_shard(shard):
    """Return which part of a run to do, of how many.

    Parameters
    ----------
    shard : tuple of (int, int), str "i/N", or None
        Counted from 1.

    Returns
    -------
    part : tuple of (int, int), or None
        Index from 0, and number of parts.

    Raises
    ------
    ValueError
        When it is not i of N.

    Examples
    --------
    >>> from neuroextrap.margins._resources import parse_shard
    >>> parse_shard("2/4")
    (1, 4)
    """
    if shard is None:
        return None
    parts = shard.split("/") if isinstance(shard, str) else shard
    try:
        index, n_parts = (int(part) for part in parts)
    except (TypeError, ValueError):
        index, n_parts = 0, 0
    if not 1 <= index <= n_parts:
        raise ValueError(
            f"shard={shard!r} must be 'i/N' with i from 1 to N, such as '1/4'"
        )
    return index - 1, n_parts


def affordable_workers(X, regions, plan, *, max_memory, n_jobs):
    """Return as many of the workers asked for as the memory allows.

    Parameters
    ----------
    X : ndarray of float32, shape (n_samples, n_features)
        Samples in rows.
    regions : scipy.sparse.csr_array, shape (n_regions, n_features)
        Members of every region.
    plan : Plan
        What every task of the run shares.
    max_memory : str or number
        Memory budget, as `parse_memory` reads it.
    n_jobs : int
        Number of joblib workers asked for.

    Returns
    -------
    n_workers : int
        At least 1.

    Raises
    ------
    ValueError
        When the memory is too little for one worker.

    Examples
    --------
    >>> import numpy as np, scipy.sparse
    >>> from neuroextrap.margins._folds import make_design
    >>> from neuroextrap.margins._nearest_centroid import NearestCentroidMargins
    >>> from neuroextrap.margins._resources import affordable_workers
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
    >>> affordable_workers(X, regions, plan, max_memory="1G", n_jobs=2)
    2
    """
    budget = parse_memory(max_memory)
    for n_workers in range(effective_n_jobs(n_jobs), 0, -1):
        if estimate_memory(X, regions, plan, n_workers) <= budget:
            return n_workers
    needed = estimate_memory(X, regions, plan, 1) / 2**30
    raise ValueError(
        f"max_memory={max_memory!r} is too little: about {needed:.1f} GiB are needed; "
        "raise it, or use fewer voxels (mask, stride) or a smaller radius"
    )
