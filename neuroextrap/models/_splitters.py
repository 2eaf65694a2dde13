"""What users may give as ``cv``."""

from collections.abc import Iterable
from typing import Any

import numpy as np


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
