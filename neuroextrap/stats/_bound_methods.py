"""The inequalities behind lower bounds on accuracy.

A method is a function of accuracies and a design that returns the bound before it is
cut off at chance. `BOUND_METHODS` are those on average Bayes accuracy, for accuracies
(..., n_sizes) of some set sizes; `CLASS_BOUND_METHODS` those on the Bayes accuracy of
the given classes, for accuracies (...). Of these, Hoeffding covers folds; the others
need a single train/test split.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, xlogy

from neuroextrap.stats._validation import FloatArray

if TYPE_CHECKING:
    from neuroextrap.stats._test_design import TestDesign


Sizes = NDArray[np.int64]
Hybrid = tuple[int, float, float]  # numbers of classes and of repeats, the log term

_BISECTIONS = 50
_WHOLE = 1e-6  # how near a number of correct outcomes must lie to a whole one
_LARGEST_TILT = 500.0
_N_RATES = 96


def _subgaussian(accuracy: FloatArray, sizes: Sizes, design: TestDesign) -> FloatArray:
    """Subtract one margin for classes and test points together."""
    del sizes
    variance = (1 + design.noise) * design.log_term / (2 * design.n_classes)
    return accuracy - math.sqrt(variance)


def _chebyshev(accuracy: FloatArray, sizes: Sizes, design: TestDesign) -> FloatArray:
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


def _hybrid(accuracy: FloatArray, sizes: Sizes, design: TestDesign) -> FloatArray:
    """Return the smallest average Bayes accuracy that the data do not exclude.

    A is excluded if some rate x >= 0 has ``n log(1 + A (e^x - 1)) + psi(theta; A) - x n
    a < -log_term``, with n test points, a the observed accuracy, theta the slope of the
    first term in the number of classes identified, and ``psi = min(theta^2 K / 8, K A
    (e^theta - 1 - theta), K (1 - A) theta^2)``, which bounds its log-moments.
    """
    del sizes
    candidates, critical = _critical_accuracies(
        design.n_classes, design.smallest, design.log_term
    )
    bound = np.interp(accuracy, critical, candidates)
    return np.asarray(np.where(np.isnan(accuracy), np.nan, bound))


BOUND_METHODS = {
    "chebyshev": _chebyshev,
    "hybrid": _hybrid,
    "subgaussian": _subgaussian,
}


@lru_cache(maxsize=32)
def _critical_accuracies(
    n_classes: int, n_repeats: float, log_term: float
) -> tuple[FloatArray, FloatArray]:
    """Tabulate candidates A and the observed accuracy above which A is excluded."""
    half = np.geomspace(1e-7, 0.5, 5000)
    candidates = np.concatenate([half, 1 - half[-2::-1]])
    parts = np.array_split(candidates, 40)
    design = n_classes, n_repeats, log_term
    critical = [_critical_accuracy(part, design) for part in parts]
    # the bound is the smallest A that is not excluded
    return candidates, np.maximum.accumulate(np.concatenate(critical))


def _critical_accuracy(candidates: FloatArray, design: Hybrid) -> FloatArray:
    """Return inf over rates of (moments + log_term) / (rate n) for A (m,)."""
    low = np.full(len(candidates), np.log(1e-6))
    high = np.full(len(candidates), np.log(60.0))
    for _ in range(3):
        steps = np.linspace(0, 1, _N_RATES)
        log_rate = low[:, np.newaxis] + (high - low)[:, np.newaxis] * steps
        value = _exclusion(np.exp(log_rate), candidates[:, np.newaxis], design)
        best = value.argmin(axis=1)
        width = (high - low) / (_N_RATES - 1)
        high = low + width * np.minimum(best + 1, _N_RATES - 1)
        low = low + width * np.maximum(best - 1, 0)
    return value.min(axis=1)


def _exclusion(rate: FloatArray, accuracy: FloatArray, design: Hybrid) -> FloatArray:
    """Return (n log(1 + A (e^x - 1)) + psi + log_term) / (x n)."""
    n_classes, n_repeats, log_term = design
    gain = np.expm1(rate)
    theta = n_repeats * gain / (1 + accuracy * gain)
    allowed = theta <= _LARGEST_TILT
    theta = np.minimum(theta, _LARGEST_TILT)
    lower = np.minimum(theta**2 / 8, accuracy * (np.expm1(theta) - theta))
    psi = n_classes * np.minimum(lower, (1 - accuracy) * theta**2)
    n_test = n_classes * n_repeats
    total = n_test * np.log1p(accuracy * gain) + psi + log_term
    return np.where(allowed, total / (rate * n_test), np.inf)


def _hoeffding(accuracy: FloatArray, design: TestDesign) -> FloatArray:
    """Subtract one margin for the test points; folds allowed."""
    variance = design.noise * design.log_term / (2 * design.n_classes)
    return accuracy - math.sqrt(variance)


def _clopper_pearson(accuracy: FloatArray, design: TestDesign) -> FloatArray:
    """Count correct outcomes of equally many independent points of each class."""
    n_correct, n_test = count_correct(accuracy, design)
    return clopper_pearson_lower(n_correct, n_test, design.alpha / design.n_bounds)


def kl_of_design(accuracy: FloatArray, design: TestDesign) -> FloatArray:
    """Invert the Chernoff bound, as if all classes had the fewest repeats."""
    n_test = design.n_classes * float(split_repeats(design, "kl").min())
    return kl_lower(accuracy, n_test, design.log_term)


CLASS_BOUND_METHODS = {
    "clopper_pearson": _clopper_pearson,
    "hoeffding": _hoeffding,
    "kl": kl_of_design,
}


def split_repeats(design: TestDesign, method: str) -> FloatArray:
    """Return the repeats (n_classes,) of a single split; folds are an error."""
    repeats = np.atleast_2d(np.asarray(design.n_repeats, dtype=np.float64))
    if len(repeats) > 1:
        raise ValueError(
            f"method={method!r} needs a single split into training and test set; "
            f"n_repeats has {len(repeats)} folds: use method='hoeffding', or test "
            "forward in time, see forward_bayes_accuracy_lower_bound"
        )
    if (repeats != np.rint(repeats)).any():
        raise ValueError(
            f"n_repeats={design.n_repeats!r} must be whole numbers for method="
            f"{method!r}; give the test points of every class"
        )
    return np.broadcast_to(repeats[0], (design.n_classes,))


def count_correct(accuracy: FloatArray, design: TestDesign) -> tuple[FloatArray, float]:
    """Return the whole number of correct outcomes of accuracies, and of test points."""
    repeats = split_repeats(design, "clopper_pearson")
    if (repeats != repeats[0]).any():
        raise ValueError(
            "n_repeats must be equal for all classes for method='clopper_pearson'; "
            f"got {repeats.min():g}..{repeats.max():g}: use method='kl'"
        )
    check_binomial_worst(design.confidence_level, design.n_bounds)
    n_test = float(repeats.sum())
    n_correct = np.asarray(accuracy * n_test)
    whole = np.rint(n_correct)
    wrong = np.abs(n_correct - whole) > _WHOLE
    if wrong.any():
        raise ValueError(
            f"accuracy must be a whole number of {n_test:g} test points for method="
            f"'clopper_pearson'; got {n_correct[wrong].flat[0]:g}, as ties give: use "
            "method='kl'"
        )
    return whole, n_test


def check_binomial_worst(confidence_level: float, n_bounds: int) -> None:
    """Raise unless the binomial law is the worst case of independent test points."""
    alpha = (1 - confidence_level) / n_bounds
    if alpha > 0.25:
        raise ValueError(
            f"confidence_level={confidence_level!r} must be at least 0.75 for Clopper-"
            "Pearson bounds (the error of each of several bounds at most 0.25); got an "
            f"error of {alpha:.3g}"
        )


def clopper_pearson_lower(
    n_correct: FloatArray, n_test: float, alpha: float
) -> FloatArray:
    """Return the rate at which `n_correct` (...) outcomes have probability alpha.

    Chances may differ, their mean being the rate: for alpha up to .25 and at least one
    outcome expected right, the binomial law is the worst case (Hoeffding 1956, "On the
    distribution of the number of successes in independent trials", theorem 5).
    """
    successes = np.maximum(n_correct, 1)
    rate = betaincinv(successes, n_test - successes + 1, alpha)
    return np.where(np.isnan(n_correct) | (n_correct >= 1), rate, 0.0)


def kl_lower(
    share: FloatArray, n_test: float, log_goal: float | FloatArray
) -> FloatArray:
    """Return the rate L < share (...) with ``n_test * KL(share, L) = log_goal``."""

    def diverges(rate: FloatArray) -> NDArray[np.bool_]:
        with np.errstate(divide="ignore", invalid="ignore"):
            gain = xlogy(share, share) - xlogy(share, rate)
            loss = xlogy(1 - share, 1 - share) - xlogy(1 - share, 1 - rate)
        return np.asarray(gain + loss > log_goal / n_test)

    highest = np.asarray(share, dtype=np.float64)
    bound = largest_reached(diverges, np.zeros_like(share), highest)
    return np.where(np.isnan(share), np.nan, bound)


def largest_reached(
    reached: Callable[[FloatArray], NDArray[np.bool_]],
    low: FloatArray,
    high: FloatArray,
) -> FloatArray:
    """Bisect between `low` and `high` (...) for the largest values `reached`."""
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        reaches = reached(middle)
        low, high = np.where(reaches, middle, low), np.where(reaches, high, middle)
    return low
