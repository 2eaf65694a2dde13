"""What users may give as ``cv``, and how folds are dealt out."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from neuroextrap.stats._validation import random_generator


def check_cv_argument(cv: Any) -> None:
    """Raise unless ``cv`` is a number of folds, a splitter or a list of folds."""
    if isinstance(cv, (int, np.integer)) and not isinstance(cv, bool):
        if cv < 2:
            raise ValueError(f"cv={cv!r} must be at least 2 folds; use 5, for example")
        return
    splits = hasattr(cv, "split") or isinstance(cv, Iterable)
    if isinstance(cv, (bool, str)) or not splits:
        raise TypeError(
            f"cv={cv!r} must be a number of folds, a scikit-learn splitter or a list "
            "of (train, test); use 5, for example"
        )


def deal_folds(n_units: int, n_folds: int, random_state: Any = 0) -> list[np.ndarray]:
    """Deal stimuli, or other units, out to folds at random, as equally as can be.

    Never in their order, in which every fold could be a level of a factor: residuals
    of a fold would contain its effect. Fewer than twice as many units as folds are left
    out one by one. Units of a fold are sorted.

    >>> [[fold.size for fold in deal_folds(n_units, 3)] for n_units in (7, 5)]
    [[3, 2, 2], [1, 1, 1, 1, 1]]
    """
    n_folds = n_units if n_units < 2 * n_folds else n_folds
    order = random_generator(random_state).permutation(n_units)
    return [np.sort(fold) for fold in np.array_split(order, n_folds)]
