"""What a run may take and what it would take: memory, workers, time."""

import operator
import re
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, cast

import numpy as np
import scipy.sparse
from joblib import effective_n_jobs

from neuroextrap.design._design import Design
from neuroextrap.margins._engine import task_data
from neuroextrap.margins._paths import middle_task, with_path
from neuroextrap.margins._plan import ONLY_TESTS, Plan
from neuroextrap.margins._task import COLUMNS, run_task
from neuroextrap.margins.running._execution import one_blas_thread
from neuroextrap.stats._null_counts import n_largest
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
        wholes = (int(p) if isinstance(p, str) else operator.index(p) for p in parts)
        index, n_parts = wholes
    except (TypeError, ValueError):
        index, n_parts = 0, 0
    if not 1 <= index <= n_parts:
        raise ValueError(
            f"shard={brief(shard)} must be 'i/N' with i from 1 to N, such as '1/4'"
        )
    return index - 1, n_parts


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
    """Return as many of the ``n_jobs`` workers as the memory allows, at least 1."""
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


# what an estimate may take, as far as it can be known, and what it looks at
_SECONDS = 4.0
_FEW_LABELINGS, _TIMED_REGIONS = 4, 128
Timer = Callable[[Plan, np.ndarray], float]  # seconds of some regions of a plan


def estimate_seconds(
    X: np.ndarray, regions: scipy.sparse.csr_array, plan: Plan
) -> float:
    """Time a small part of a run and extrapolate to all of it, on one core.

    One task in the middle where sums are shared, else regions from all over, or one
    region under some labelings; of classifiers that are refitted, one fold.
    """
    plan, filled = with_path(plan, regions), np.flatnonzero(np.diff(regions.indptr))
    seconds = partial(_seconds, X, regions)
    if plan.by_sums:
        timed = middle_task(plan, regions)
        seconds(plan, timed[:1])  # imports and compiles
        return seconds(plan, timed) * len(filled) / len(timed)
    one = filled[len(filled) // 2 :][:1]
    first, each = _first_look(seconds, plan, one)
    of_region = first + each * (plan.n_trained - 1)
    n_regions = int(_SECONDS / max(1e-9, of_region))
    if plan.kernel.refits or n_regions == 0:
        if not plan.kernel.refits and plan.n_trained > 1:
            of_region = _seconds_of_one(seconds, plan, one, first, each)
        return len(filled) * of_region
    n_regions = min(n_regions, _TIMED_REGIONS, len(filled))
    timed = np.unique(np.linspace(0, len(filled) - 1, n_regions).astype(int))
    return seconds(plan, filled[timed]) * len(filled) / len(timed)


def _first_look(seconds: Timer, plan: Plan, one: np.ndarray) -> tuple[float, float]:
    """Time a region: seconds of the first labeling and of each further one."""
    few = min(_FEW_LABELINGS, plan.n_trained)
    if plan.kernel.refits:
        fold = cast(Design, plan.design).some_folds(slice(0, 1))
        part = replace(plan, design=fold, **ONLY_TESTS)
        seconds(_with_labelings(part, 1), one)  # imports
        unit = seconds(_with_labelings(part, few), one) / few
        first, each = plan.n_fits
        return unit * first, unit * each
    # fills caches, imports and compiles: what permutations need, too
    seconds(_with_labelings(plan, min(2, plan.n_trained)), one)
    first = seconds(_with_labelings(plan, 1), one)
    more = seconds(_with_labelings(plan, few), one)
    return first, max(0.0, more - first) / max(1, few - 1)


def _seconds_of_one(
    seconds: Timer, plan: Plan, one: np.ndarray, first: float, each: float
) -> float:
    """Extrapolate from some labelings of a region to all; ``each`` is a guess."""
    some = int(np.clip(_SECONDS / max(each, 1e-9), 2, plan.n_trained))
    longer = max(0.0, seconds(_with_labelings(plan, some), one) - first)
    return first + (plan.n_trained - 1) * longer / (some - 1)


def _with_labelings(plan: Plan, n_labelings: int) -> Plan:
    """Return a plan of the first labelings only."""
    return replace(plan, codes=plan.codes[:n_labelings])


def _seconds(
    X: np.ndarray, regions: scipy.sparse.csr_array, plan: Plan, rows: np.ndarray
) -> float:
    """Return the CPU time of some regions."""
    data = task_data(X, regions, rows)
    with one_blas_thread():  # as in a run
        start = time.process_time()
        run_task(plan, data)
        return time.process_time() - start


def estimate_memory(
    X: np.ndarray, regions: scipy.sparse.csr_array, plan: Plan, n_workers: int = 1
) -> int:
    """Count the bytes that a run needs at its peak, one task a worker."""
    plan = with_path(plan, regions)
    n_regions, n_classes = regions.shape[0], plan.design.n_classes
    n_sums = 0 if plan.forward is None else plan.forward.outcomes.n_sums
    results = 8 * n_regions * (n_classes * (2 + plan.n_weightings) + n_sums + 40)
    data = 3 * X.nbytes  # in float32, and as it was read
    members = 2 * (regions.indices.nbytes + regions.data.nbytes + regions.indptr.nbytes)
    labels = 3 * plan.codes.nbytes
    of_task = regions[middle_task(plan, regions)]
    n_features = len(np.unique(of_task.indices))
    if plan.by_sums:
        # margins of regions, of features some at a time; samples in float64
        n_summed, some = of_task.shape[0], min(plan.size, 8 * COLUMNS)
        task = 8 * plan.size * n_summed + 4 * some * (n_features + n_summed)
        task += 8 * of_task.nnz
    else:
        forward = () if plan.forward is None else (plan.forward_plan,)
        task = max(_passes_bytes(tests, regions, plan) for tests in (plan, *forward))
        if _direct_bytes(plan, regions) is None:
            labels += plan.kernel.indicator_bytes * plan.size * plan.n_kept
    n_tasks = -(-int((np.diff(regions.indptr) > 0).sum()) // plan.task_size)
    n_workers = min(n_workers, n_tasks)
    waiting = 1 if n_workers == 1 else min(2 * n_workers, n_tasks)  # made ahead of time
    each = 4 * plan.n_permutations * plan.task_size  # null, samples and members
    each += 4 * plan.design.n_samples * n_features + 10 * of_task.nnz
    largest = 24 * plan.n_permutations * n_largest(n_regions, plan.n_permutations)
    shared = data + members + results + labels + largest
    return int(shared + waiting * each + n_workers * task)


def _direct_bytes(plan: Plan, regions: scipy.sparse.csr_array) -> int | None:
    """Bytes of a margin that is made with nothing of its size beside it."""
    if plan.whitener is not None:
        return None
    return plan.kernel.direct_bytes(int(np.diff(regions.indptr).max()), plan.design)


def _passes_bytes(plan: Plan, regions: scipy.sparse.csr_array, whole: Plan) -> int:
    """Bytes of passes, at the largest of them; forward tests of a plan keep margins."""
    sizes = np.diff(regions.indptr)
    sizes = sizes[sizes > 0].astype(np.int64)
    n_regions, n = min(plan.pass_regions, len(sizes)), plan.design.n_samples
    largest, ends = int(sizes.max()), np.cumsum(sizes)
    together = int((ends[n_regions - 1 :] - np.append(0, ends[:-n_regions])).max())
    direct = _direct_bytes(plan, regions)
    copies = 6 if direct is None else 2  # some in float64
    samples = 4 * n * (together + copies * min(2**14, largest))
    workspace = plan.kernel.workspace(largest, n_regions, plan.design)
    if hasattr(plan.whitener, "workspace"):
        workspace += plan.whitener.workspace(largest, n)
    each, width = 8 * 12 if direct is None else direct + 2, plan.batch_width
    if plan is whole and not plan.kernel.keeps_margins(largest, plan):
        each, width = 32 / plan.design.n_classes, plan.counted_width  # of a test point
    margins = each * plan.size * width * n_regions
    return int(samples + workspace + margins)
