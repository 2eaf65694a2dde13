"""What training scans leave to estimate the noise from, and sizes that leave enough."""

import numpy as np

from neuroextrap.learning_curves._splits import check_train_sizes
from neuroextrap.stats._warn import warn

# At as many residual degrees of freedom as components the noise seems to vanish in some
# direction, and posteriors are certain; at twice as many, distances to class means are
# overestimated about twofold, which the weight of the prior makes up for.
_PER_COMPONENT = 2


def residual_freedom(run, size):
    """Return the fewest residual degrees of freedom of so many training groups.

    Scans of the smallest groups, minus one for every label, minus one for every group
    mean that was subtracted (but one, which the labels' means hold already).
    """
    n_scans = int(np.sort(np.bincount(run.groups))[:size].sum())
    n_means = size - 1 if run.centered else 0
    return max(0, n_scans - len(run.classes) - n_means)


def default_train_sizes(run, n_left_out):
    """Return all training sizes that leave enough to estimate the noise, increasing.

    `n_left_out` training groups are left out at a time to choose the weight of the
    prior. If no size leaves enough, the largest, with a warning.
    """
    sizes = check_train_sizes(None, len(run.group_names))
    freedom = np.array([residual_freedom(run, size) for size in sizes])
    inner = np.array([residual_freedom(run, size - n_left_out) for size in sizes])
    needed = 1
    if run.is_canonical:
        components = min(run.classifier.n_components, run.X.shape[1])
        needed = _PER_COMPONENT * components
    enough = (freedom >= needed) & (inner >= 1)
    if enough.any():
        return sizes[enough]
    warn(
        f"train_sizes=None: even {sizes[-1]} training groups leave only "
        f"{freedom[-1]} residual degrees of freedom, fewer than the {needed} that "
        "this classifier should have; the curve has this one size: give more groups, "
        "fewer n_components or coarser labels"
    )
    return sizes[-1:]
