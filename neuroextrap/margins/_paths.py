"""Two ways to the same margins: sums over features, or one region at a time.

Sums touch every feature once for each labeling, whatever the number of regions it is
in; a region of its own is read once for all labelings. So sums are faster where
regions overlap and labelings are few, and a map of spheres is made by them, while an
atlas, a whole mask, and most permutation tests are done region by region.
"""

import numpy as np
import scipy.sparse

from neuroextrap.design._design import Design
from neuroextrap.margins._kernel import AdditiveKernel, Work
from neuroextrap.margins._plan import Plan

# sums of a task hold this many numbers at most: fixed, so that the memory at hand does
# not decide a rounding
_LARGEST_SUMS = 2**27


def work_of_a_task(plan: Plan, regions: scipy.sparse.csr_array, size: int) -> Work:
    """Count the work of a task of so many regions, in the middle of all regions."""
    filled = np.flatnonzero(np.diff(regions.indptr))
    start = max(0, (len(filled) - size) // 2)
    members = regions[filled[start : start + size]]
    is_member = np.zeros(regions.shape[1], dtype=bool)
    is_member[members.indices] = True
    return Work(
        members.shape[0],
        int(is_member.sum()),
        members.nnz,
        plan.n_trained,
        None if plan.whitener is not None else _n_changes(members),
    )


def _n_changes(members: scipy.sparse.csr_array) -> int:
    """Count how regions differ from the one before, at most all of their features."""
    sizes = np.diff(members.indptr)
    ones = scipy.sparse.csr_array(
        (np.ones(members.nnz, dtype=np.int32), members.indices, members.indptr),
        shape=members.shape,
    )
    shared = ones[1:].multiply(ones[:-1]).sum(axis=1)
    changes = sizes[1:] + sizes[:-1] - 2 * shared
    return int(sizes[0] + np.minimum(changes, sizes[1:]).sum())


def path_costs(
    plan: Plan,
    regions: scipy.sparse.csr_array,
    size: int,
    *,
    at_once: int | None = None,
) -> tuple[float, float]:
    """Estimate the nanoseconds of a region by sums over features, and on its own.

    From the plan and all regions alone; infinite where there is no such way. ``size``
    is the number of regions of a task, and ``at_once`` how many numbers of a feature
    are in memory together (None: those of all test points).
    """
    if not (isinstance(plan.kernel, AdditiveKernel) and plan.is_additive):
        return np.inf, 0.0
    work = work_of_a_task(plan, regions, size)
    assert isinstance(plan.design, Design)  # additive classifiers are cross-validated
    by_sums, by_regions = plan.kernel.costs(work, plan.design)
    if work.n_features * (plan.size if at_once is None else at_once) > _LARGEST_SUMS:
        by_sums = np.inf
    n_regions = max(1, work.n_regions)
    return by_sums / n_regions, by_regions / n_regions
