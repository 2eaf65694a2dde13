"""Bounds on the accuracy among the classes at hand.

A method is a function of accuracies (...) and a design that returns the lower bound on
the Bayes accuracy of the given classes before it is cut off at chance; `_METHODS` names
them all. Hoeffding's covers folds; the others need a single train/test split.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.special import betaincinv, xlogy

from neuroextrap.stats._tested import Tested
from neuroextrap.stats._validation import FloatArray

ClassBoundMethod = Callable[[FloatArray, Tested], FloatArray]

_BISECTIONS = 50
_WHOLE = 1e-6  # how near a number of correct outcomes must lie to a whole one


def _hoeffding(accuracy: FloatArray, design: Tested) -> FloatArray:
    """Subtract one margin for the test points; folds allowed."""
    variance = design.noise * design.log_term / (2 * design.n_classes)
    return accuracy - math.sqrt(variance)


def _clopper_pearson(accuracy: FloatArray, design: Tested) -> FloatArray:
    """Count correct outcomes of equally many independent points of each class."""
    n_correct, n_test = count_correct(accuracy, design)
    return clopper_pearson_lower(n_correct, n_test, design.alpha / design.n_bounds)


def _kl(accuracy: FloatArray, design: Tested) -> FloatArray:
    """Invert the Chernoff bound of outcomes of unequal weight.

    The accuracy is a sum of n outcomes X_i of weight w_i = 1 / (K r_i), the heaviest of
    weight w. The outcomes y_i = w_i X_i / w lie in [0, 1], their sum is accuracy / w
    and its mean at most beta / w, so that with q = n w (1 for equal repeats)
    ``n KL(accuracy / q, beta / q)`` is what Chernoff's inequality bounds.
    """
    repeats = split_repeats(design, "kl")
    n_test = float(repeats.sum())
    unevenness = n_test / (design.n_classes * float(repeats.min()))
    return unevenness * kl_lower(accuracy / unevenness, n_test, design.log_term)


_METHODS: dict[str, ClassBoundMethod] = {
    "hoeffding": _hoeffding,
    "clopper_pearson": _clopper_pearson,
    "kl": _kl,
}


def class_bound_method(name: str) -> ClassBoundMethod:
    """Return the bound of this name."""
    if name not in _METHODS:
        raise ValueError(f"method={name!r} must be one of {sorted(_METHODS)}")
    return _METHODS[name]


def upper_class_bound(accuracy: FloatArray, design: Tested, method: str) -> FloatArray:
    """Return upper bounds (...) on the accuracy of this classifier, errors counted.

    With a single error less than one may have been expected; Clopper-Pearson then holds
    for equal chances only, and the union bound takes its place.
    """
    if method == "kl":
        return np.asarray(1 - _kl(1 - accuracy, design))
    if method != "clopper_pearson":
        raise ValueError(f"method={method!r} must be 'clopper_pearson' or 'kl'")
    n_correct, n_test = count_correct(accuracy, design)
    alpha = design.alpha / design.n_bounds
    lowest_error = clopper_pearson_lower(n_test - n_correct, n_test, alpha)
    single = n_test - n_correct == 1
    lowest_error[single] = np.minimum(lowest_error[single], alpha / n_test)
    return np.asarray(1 - lowest_error)


def split_repeats(design: Tested, method: str) -> FloatArray:
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


def count_correct(accuracy: FloatArray, design: Tested) -> tuple[FloatArray, float]:
    """Return the whole number of correct outcomes of accuracies, and of test points."""
    repeats = split_repeats(design, "clopper_pearson")
    if (repeats != repeats[0]).any():
        raise ValueError(
            "n_repeats must be equal for all classes for method='clopper_pearson'; "
            f"got {repeats.min():g}..{repeats.max():g}: use method='kl'"
        )
    if design.alpha / design.n_bounds > 0.25:
        raise ValueError(
            f"confidence_level={design.confidence_level} must be at least 0.75 for "
            "method='clopper_pearson', whose worst case is known from there on"
        )
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


def clopper_pearson_lower(
    n_correct: FloatArray, n_test: float, alpha: float
) -> FloatArray:
    """Return the rate at which so many correct outcomes have probability alpha.

    `n_correct` of shape (...) holds whole numbers of `n_test` independent outcomes.
    Their chances may differ as long as their mean is the rate: for alpha up to .25 and
    at least one outcome expected right, the binomial law is the worst case (Hoeffding
    1956, "On the distribution of the number of successes in independent trials",
    theorem 5).
    """
    successes = np.maximum(n_correct, 1)
    rate = betaincinv(successes, n_test - successes + 1, alpha)
    return np.where(np.isnan(n_correct) | (n_correct >= 1), rate, 0.0)


def kl_lower(
    share: FloatArray, n_test: float, log_goal: float | FloatArray
) -> FloatArray:
    """Return the rate L < share with ``n_test * KL(share, L) = log_goal`` (broadcasts).

    The Chernoff bound of the mean of `n_test` independent outcomes in [0, 1], so that
    ties and averages over a block are allowed; `share` of shape (...).
    """
    goal = log_goal / n_test
    low, high = np.zeros_like(share), np.asarray(share, dtype=np.float64).copy()
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        far = _binary_divergence(share, middle) > goal
        low, high = np.where(far, middle, low), np.where(far, high, middle)
    return np.where(np.isnan(share), np.nan, low)


def _binary_divergence(p: FloatArray, q: FloatArray) -> FloatArray:
    """Return KL(p, q) of two coins, nats; infinite where q excludes what p allows."""
    with np.errstate(divide="ignore", invalid="ignore"):
        gain = xlogy(p, p) - xlogy(p, q)
        loss = xlogy(1 - p, 1 - p) - xlogy(1 - p, 1 - q)
    return np.asarray(gain + loss)
