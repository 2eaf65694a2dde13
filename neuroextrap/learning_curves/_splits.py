"""Training sizes, and random splits by subject, each from a stream of its own."""

import numpy as np

_MAX_DRAWS = 1000


def check_train_sizes(train_sizes, n_groups):
    """Return increasing training sizes, 2 to n_groups - 1 if None."""
    if train_sizes is None:
        if n_groups < 3:
            raise ValueError(
                f"{n_groups} groups given; a learning curve from 2 training groups up "
                "needs at least 3; give more groups, or train_sizes=[1]"
            )
        return np.arange(2, n_groups)
    sizes = np.unique(np.atleast_1d(train_sizes))
    if sizes.dtype.kind not in "iu" or sizes[0] < 1 or sizes[-1] >= n_groups:
        raise ValueError(
            f"train_sizes={np.asarray(train_sizes).tolist()} must be whole numbers "
            f"between 1 and {n_groups - 1}; {n_groups} groups are given, leave at "
            "least one to test"
        )
    return sizes


def draw_split(seed, size, split, holds, *, twin, least=1):
    """Draw the order of groups of one split: the first `size` train the model.

    With `twin`, the next `size` train its twin. The stream depends on seed, size and
    split number only, so that any split can be drawn alone, in any order, on any
    worker. Draws in which fewer than `least` training groups hold a class (or none of
    the twin's does) are thrown away; `holds` (n_groups, n_classes) says which group has
    which class.
    """
    rng = np.random.default_rng([seed, size, split])
    for _ in range(_MAX_DRAWS):
        order = rng.permutation(len(holds))
        enough = holds[order[:size]].sum(axis=0).min() >= least
        if enough and (not twin or holds[order[size : 2 * size]].any(axis=0).all()):
            return order
    raise ValueError(
        f"no {size} training groups that hold every class"
        + (" twice" if least > 1 else "")
        + f" were found in {_MAX_DRAWS} draws; use larger train_sizes"
        + (" or pattern=None (which needs no second half)" if twin else "")
        + (" or prior_weight=None (which leaves no group out)" if least > 1 else "")
    )
