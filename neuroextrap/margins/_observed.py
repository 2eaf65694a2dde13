"""Outcomes of every test point in every region, a few regions at a time."""

from collections.abc import Iterator

import numpy as np
import scipy.sparse
from joblib import Parallel, delayed

from neuroextrap.margins._engine import task_data
from neuroextrap.margins._paths import with_path
from neuroextrap.margins._plan import Plan
from neuroextrap.margins._task import observed_margins
from neuroextrap.margins._wins import win_chances

_TASK_REGIONS = 64


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

    ``rows`` are indices of regions, none of them empty; chances have shape (n of the
    slice, n_test), in the order of ``plan.design.test``, among ``set_size`` - 1 random
    distractors. ``n_jobs`` threads do not affect results.
    """
    plan = with_path(plan, regions)
    parts = [
        slice(start, min(start + _TASK_REGIONS, len(rows)))
        for start in range(0, len(rows), _TASK_REGIONS)
    ]
    parallel = Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")
    calls = (
        delayed(_part_outcomes)(X, regions, plan, rows[part], set_size)
        for part in parts
    )
    yield from zip(parts, parallel(calls), strict=True)


def _part_outcomes(
    X: np.ndarray,
    regions: scipy.sparse.csr_array,
    plan: Plan,
    rows: np.ndarray,
    set_size: int,
) -> np.ndarray:
    """Return the chances (n_rows, n_test) of some regions."""
    codes = plan.codes[0][plan.design.test]
    outcomes = np.empty((len(rows), len(codes)))
    for part, margins in observed_margins(plan, task_data(X, regions, rows)):
        for i, region in enumerate(range(part.start, part.stop)):
            outcomes[region] = win_chances(margins[:, :, i], codes, set_size)
    return outcomes
