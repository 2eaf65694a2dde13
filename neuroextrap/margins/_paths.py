"""Two ways to the same margins: sums over features, or one region at a time.

Sums touch every feature once for each labeling, whatever the number of regions it is
in; a region of its own is read once for all labelings. So sums are faster where
regions overlap and labelings are few, and a map of spheres is made by them, while an
atlas, a whole mask, and most permutation tests are done region by region.
"""

from typing import NamedTuple

import numpy as np

# sums of a task hold this many numbers at most: fixed, so that the memory at hand does
# not decide a rounding
_LARGEST_SUMS = 2**27


class Work(NamedTuple):
    """What one task has to do, in numbers.

    Parameters
    ----------
    n_regions : int
    n_features : int
        Different features of the regions.
    n_memberships : int
        Features counted as often as they are in a region.
    n_labelings : int
        Labelings that a classifier is trained on.
    """

    n_regions: int
    n_features: int
    n_memberships: int
    n_labelings: int


def work_of_a_task(plan, regions, step):
    """Count the work of a task in the middle of the regions.

    Parameters
    ----------
    plan : Plan
    regions : scipy.sparse.csr_array, shape (n_regions, n_features)
    step : int
        Regions of a task.

    Returns
    -------
    Work
    """
    filled = np.flatnonzero(np.diff(regions.indptr))
    start = max(0, (len(filled) - step) // 2)
    members = regions[filled[start : start + step]]
    here = np.zeros(regions.shape[1], dtype=bool)
    here[members.indices] = True
    return Work(members.shape[0], int(here.sum()), members.nnz, plan.n_trained)


def sums_are_faster(plan, regions, step):
    """Choose how margins are made, from the plan and all regions alone.

    Parameters
    ----------
    plan : Plan
    regions : scipy.sparse.csr_array, shape (n_regions, n_features)
    step : int
        Regions of a task that sums.

    Returns
    -------
    bool
    """
    if not plan.is_additive:
        return False
    work = work_of_a_task(plan, regions, step)
    if work.n_features * plan.size > _LARGEST_SUMS:
        return False
    by_sums, by_regions = plan.kernel.costs(work, plan.design)
    return bool(by_sums < by_regions)
