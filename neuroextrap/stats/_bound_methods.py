"""The margins behind the lower bounds: one function a method."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable

import numpy as np

from neuroextrap.stats._hybrid import hybrid_lower_bound
from neuroextrap.stats._repeats import Design
from neuroextrap.stats._validation import FloatArray


def _subgaussian(accuracy: FloatArray, sizes: np.ndarray, design: Design) -> FloatArray:
    """Subtract one margin for classes and test points together."""
    log_term = math.log(design.n_bounds / design.alpha)
    margin = math.sqrt((1 + design.noise) * log_term / (2 * design.n_classes))
    _warn_if_vacuous(margin, sizes)
    return accuracy - margin


def _chebyshev(accuracy: FloatArray, sizes: np.ndarray, design: Design) -> FloatArray:
    """Subtract Hoeffding's margin for test points, Chebyshev's for classes."""
    if (sizes != design.n_classes).any():
        raise ValueError(
            f"set_sizes must be {design.n_classes} (all classes) for method="
            f"'chebyshev'; got {sizes}: use method='subgaussian'"
        )
    # models share their classes, so only regions and sizes split that event
    alpha = design.alpha / (design.n_bounds / design.n_models)
    test = math.sqrt(
        design.noise * math.log(4 * design.n_models / alpha) / (2 * design.n_classes)
    )
    margin = test + 1 / math.sqrt(2 * alpha * design.n_classes)
    _warn_if_vacuous(margin, sizes)
    return accuracy - margin


def _hybrid(accuracy: FloatArray, sizes: np.ndarray, design: Design) -> FloatArray:
    """Invert exponential moments that know how little there is near 0 and 1."""
    log_term = math.log(design.n_bounds / design.alpha)
    arguments = (design.n_classes, design.smallest, log_term)
    perfect = float(hybrid_lower_bound(np.ones(1), *arguments)[0])
    _warn_if_vacuous(1 - perfect, sizes)
    return hybrid_lower_bound(accuracy, *arguments)


_METHODS: dict[str, Callable[..., FloatArray]] = {
    "subgaussian": _subgaussian,
    "chebyshev": _chebyshev,
    "hybrid": _hybrid,
}


def bound_method(name: str) -> Callable[..., FloatArray]:
    """Return the bound of this name."""
    if name not in _METHODS:
        raise ValueError(f"method must be one of {sorted(_METHODS)}; got {name!r}")
    return _METHODS[name]


def _warn_if_vacuous(margin: float, sizes: np.ndarray) -> None:
    """Warn where not even perfect accuracy would be above chance."""
    vacuous = np.atleast_1d(sizes)[np.atleast_1d(margin >= 1 - 1 / sizes)]
    if len(vacuous):
        warnings.warn(
            f"the bound's margin {margin:.2f} leaves nothing above chance at set "
            f"sizes {vacuous.tolist()}: more classes are needed, or the bound for "
            "the given classes (bayes_accuracy_lower_bound)",
            stacklevel=4,
        )
