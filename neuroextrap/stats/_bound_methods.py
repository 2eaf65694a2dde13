"""The inequalities behind the lower bounds on average Bayes accuracy.

A method is a function of accuracies (..., n_sizes), set sizes and a design that returns
the bound before it is cut off at chance; `_METHODS` names them all.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from neuroextrap.stats._tested import Tested
from neuroextrap.stats._validation import FloatArray

Sizes = NDArray[np.int64]
BoundMethod = Callable[[FloatArray, Sizes, Tested], FloatArray]

_LARGEST_TILT = 500.0
_N_RATES = 96


def _subgaussian(accuracy: FloatArray, sizes: Sizes, design: Tested) -> FloatArray:
    """Subtract one margin for classes and test points together."""
    del sizes
    variance = (1 + design.noise) * design.log_term / (2 * design.n_classes)
    return accuracy - math.sqrt(variance)


def _chebyshev(accuracy: FloatArray, sizes: Sizes, design: Tested) -> FloatArray:
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
    return accuracy - (test + 1 / math.sqrt(2 * alpha * design.n_classes))


def _hybrid(accuracy: FloatArray, sizes: Sizes, design: Tested) -> FloatArray:
    """Invert exponential moments that know how little there is near 0 and 1."""
    del sizes
    arguments = (design.n_classes, design.smallest, design.log_term)
    return _hybrid_lower_bound(accuracy, *arguments)


_METHODS: dict[str, BoundMethod] = {
    "subgaussian": _subgaussian,
    "chebyshev": _chebyshev,
    "hybrid": _hybrid,
}


def bound_method(name: str) -> BoundMethod:
    """Return the bound of this name."""
    if name not in _METHODS:
        raise ValueError(f"method must be one of {sorted(_METHODS)}; got {name!r}")
    return _METHODS[name]


def _hybrid_lower_bound(
    accuracy: FloatArray, n_classes: int, n_repeats: float, log_term: float
) -> FloatArray:
    """Return the smallest average Bayes accuracy that the data do not exclude.

    An accuracy A is excluded at a level exp(-log_term) if some rate x >= 0 has
    ``n log(1 + A (e^x - 1)) + psi(theta; A) - x n a < -log_term``, where n is the
    number of test points, a the observed accuracy, theta the slope of the first
    term in the number of classes identified, and psi bounds the log-moment
    generating function of that number:
    ``min(theta^2 K / 8, K A (e^theta - 1 - theta), K (1 - A) theta^2)``.
    """
    candidates, critical = _critical_accuracies(n_classes, n_repeats, log_term)
    bound = np.interp(accuracy, critical, candidates)
    return np.asarray(np.where(np.isnan(accuracy), np.nan, bound))


@lru_cache(maxsize=32)
def _critical_accuracies(
    n_classes: int, n_repeats: float, log_term: float
) -> tuple[FloatArray, FloatArray]:
    """Tabulate candidates A and the observed accuracy above which A is excluded."""
    half = np.geomspace(1e-7, 0.5, 5000)
    candidates = np.concatenate([half, 1 - half[-2::-1]])
    critical = np.concatenate(
        [
            _critical_accuracy(part, n_classes, n_repeats, log_term)
            for part in np.array_split(candidates, 40)
        ]
    )
    # the bound is the smallest A that is not excluded
    return candidates, np.maximum.accumulate(critical)


def _critical_accuracy(
    candidates: FloatArray, n_classes: int, n_repeats: float, log_term: float
) -> FloatArray:
    """Return inf over rates of (moments + log_term) / (rate n) for A (m,).

    Every rate gives a valid bound, so a search that misses the best one is only
    ever conservative.
    """
    low = np.full(len(candidates), np.log(1e-6))
    high = np.full(len(candidates), np.log(60.0))
    for _ in range(3):
        steps = np.linspace(0, 1, _N_RATES)
        log_rate = low[:, np.newaxis] + (high - low)[:, np.newaxis] * steps
        value = _exclusion(
            np.exp(log_rate), candidates[:, np.newaxis], n_classes, n_repeats, log_term
        )
        best = value.argmin(axis=1)
        width = (high - low) / (_N_RATES - 1)
        low, high = (
            low + width * np.maximum(best - 1, 0),
            low + width * np.minimum(best + 1, _N_RATES - 1),
        )
    return value.min(axis=1)


def _exclusion(
    rate: FloatArray,
    accuracy: FloatArray,
    n_classes: int,
    n_repeats: float,
    log_term: float,
) -> FloatArray:
    """Return (n log(1 + A (e^x - 1)) + psi + log_term) / (x n)."""
    gain = np.expm1(rate)
    theta = n_repeats * gain / (1 + accuracy * gain)
    allowed = theta <= _LARGEST_TILT
    theta = np.minimum(theta, _LARGEST_TILT)
    psi = n_classes * np.minimum(
        np.minimum(theta**2 / 8, accuracy * (np.expm1(theta) - theta)),
        (1 - accuracy) * theta**2,
    )
    n_test = n_classes * n_repeats
    total = n_test * np.log1p(accuracy * gain) + psi + log_term
    return np.where(allowed, total / (rate * n_test), np.inf)
