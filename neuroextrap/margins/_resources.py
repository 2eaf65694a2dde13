"""How much of a machine a run may take, and which part of the run it does."""

import operator
import re
from typing import Any

import numpy as np
import scipy.sparse
from joblib import effective_n_jobs

from neuroextrap.margins._estimated_cost import estimate_memory
from neuroextrap.margins._plan import Plan
from neuroextrap.stats._validation import brief

_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


def parse_memory(memory: Any) -> int:
    """Turn "2G" into a number of bytes; units K, M, G and T are powers of 1024."""
    number = isinstance(memory, (int, float, np.number)) and not isinstance(
        memory, bool
    )
    if number and 0 < memory < np.inf:
        return int(memory)
    text = memory.upper() if isinstance(memory, str) else ""
    match = re.fullmatch(r"\s*([0-9]+\.?[0-9]*)\s*([KMGT]?)(I?B)?\s*", text)
    if match is None or float(match[1]) == 0:
        raise ValueError(
            f"max_memory={brief(memory)} must be a size such as '2G', or a number of "
            "bytes above 0"
        )
    return int(float(match[1]) * _UNITS[match[2]])


def parse_shard(shard: Any) -> tuple[int, int] | None:
    """Turn "i/N" or (i, N), counted from 1, into (index from 0, number of parts)."""
    if shard is None:
        return None
    parts = shard.split("/") if isinstance(shard, str) else shard
    try:
        index, n_parts = (_whole(part) for part in parts)
    except (TypeError, ValueError):
        index, n_parts = 0, 0
    if not 1 <= index <= n_parts:
        raise ValueError(
            f"shard={brief(shard)} must be 'i/N' with i from 1 to N, such as '1/4'"
        )
    return index - 1, n_parts


def _whole(part: Any) -> int:
    """Return a whole number, given as text or not."""
    if isinstance(part, str):
        return int(part)
    return operator.index(part)


def check_labelings_fit(n_permutations: int, n_samples: int, max_memory: Any) -> None:
    """Raise when the permuted labelings alone need more than the memory given."""
    needed = 4 * n_permutations * n_samples
    if needed > parse_memory(max_memory):
        raise ValueError(
            f"n_permutations={n_permutations} of {n_samples} samples need "
            f"{needed / 2**30:.1f} GiB, max_memory={max_memory!r} is less; lower the "
            "number, or raise max_memory"
        )


def affordable_workers(
    X: np.ndarray,
    regions: scipy.sparse.csr_array,
    plan: Plan,
    *,
    max_memory: Any,
    n_jobs: int,
    of_images: bool = True,
) -> int:
    """Return as many of the ``n_jobs`` workers as the memory allows, at least 1.

    ``of_images`` says whether voxels, not columns of an array, can be left out.
    """
    budget = parse_memory(max_memory)
    for n_workers in range(effective_n_jobs(n_jobs), 0, -1):
        if estimate_memory(X, regions, plan, n_workers) <= budget:
            return n_workers
    needed = estimate_memory(X, regions, plan, 1) / 2**30
    fewer = "voxels (mask, stride) or a smaller radius"
    if not of_images:
        fewer = "samples, classes or columns, or smaller regions"
    raise ValueError(
        f"max_memory={max_memory!r} is too little: about {needed:.1f} GiB are needed; "
        f"raise it, or use fewer {fewer}"
    )


def continue_line(
    fewer: tuple[float, float], more: tuple[float, float], n: float
) -> float:
    """Continue the line through two (number, seconds) to ``n``; it never falls."""
    slope = max(0.0, more[1] - fewer[1]) / max(1, more[0] - fewer[0])
    return more[1] + slope * max(0, n - more[0])
