"""How many classes, how many repeats: planning an experiment for a desired bound."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.stats import binom, norm

from neuroextrap.stats._test_design import TestDesign
from neuroextrap.stats._validation import check_integer, check_level

_MOST_CLASSES = 2**40
_MOST_TESTS = 2**36
_FEW_REPEATS = 2**12
_LARGEST_ALPHA = 0.25  # of Hoeffding 1956, as in the bounds that are planned for


def required_classes(
    accuracy: float,
    bound: float,
    *,
    n_repeats: int = 1,
    confidence_level: float = 0.95,
    n_regions: int = 1,
    method: str = "subgaussian",
) -> int:
    """Return the number of classes that a bound needs at an observed accuracy.

    The smallest K for which an accuracy of `accuracy`, among all K classes or at a set
    size that was fixed in advance, lifts the lower bound on the average Bayes accuracy
    of random classes to `bound`. It is reached in about half of the experiments whose
    true accuracy is `accuracy`; for more power give a lower one. More repeats help
    little: the draw of the classes matters as much as the noise of one test of
    each class.

    Parameters
    ----------
    accuracy : float
        Accuracy that is observed, a proportion.
    bound : float
        Desired lower bound on the average Bayes accuracy, below `accuracy`.
    n_repeats : int, default=1
        Test points of each class, in each fold under cross-validation.
    confidence_level : float, default=0.95
        Confidence level of the lower bounds.
    n_regions : int, default=1
        Number of regions whose bounds hold simultaneously.
    method : {"subgaussian", "chebyshev", "hybrid"}, default="subgaussian"
        Inequality behind the bound, see :func:`average_bayes_accuracy_lower_bound`.

    Returns
    -------
    n_classes : int
        At least 2.

    Raises
    ------
    ValueError
        If `accuracy` and `bound` are not ordered proportions, or more than 10^12
        classes would be needed.

    See Also
    --------
    required_repeats : Number of repeats for the classes at hand.

    Examples
    --------
    >>> from neuroextrap.stats import required_classes
    >>> required_classes(0.9, 0.7), required_classes(0.9, 0.7, n_repeats=10)
    (75, 42)
    >>> required_classes(0.9, 0.7, n_regions=70_000)
    354
    """
    _check_goal(accuracy, bound)

    def reached(n_classes: int) -> bool:
        design = TestDesign(
            n_classes,
            n_repeats,
            confidence_level=confidence_level,
            n_regions=n_regions,
        )
        lower = design.average_bayes_accuracy_bound(accuracy, n_classes, method=method)
        return bool(lower >= bound) and 1 / n_classes < bound

    return _smallest(reached, 2, _MOST_CLASSES, "classes")


def required_repeats(
    accuracy: float,
    bound: float | None = None,
    *,
    n_classes: int,
    power: float = 0.8,
    confidence_level: float = 0.95,
    n_regions: int = 1,
) -> int:
    """Return the number of test repeats that prove a bound for the classes at hand.

    The smallest number r of test points of each class, in one test set that was not
    used for training, with which the Clopper-Pearson lower bound on the Bayes accuracy
    of the K given classes reaches `bound` with probability `power`, when a test point
    is identified with probability `accuracy`. It is the plan of a single split into
    training and test: cross-validation with as many test points, by forward testing
    above all, reaches the bound less often.

    Parameters
    ----------
    accuracy : float
        Accuracy to be expected among the K classes, a proportion.
    bound : float or None, default=None
        Desired lower bound on the Bayes accuracy, below `accuracy`. If None, the chance
        level 1 / K: a test that the classes can be told apart at all.
    n_classes : int
        Number of classes K.
    power : float, default=0.8
        Probability with which the bound is reached.
    confidence_level : float, default=0.95
        Confidence level of the lower bound.
    n_regions : int, default=1
        Number of regions whose bounds hold simultaneously.

    Returns
    -------
    n_repeats : int
        At least 1.

    Raises
    ------
    TypeError, ValueError
        If `n_classes` or `n_regions` is not an integer, or too small.
    ValueError
        If `accuracy` and `bound` are not ordered proportions, or so close that more
        than 10^10 test points would be needed, or if one bound may fail with a
        probability above .25, where Clopper-Pearson bounds are not known to hold.

    See Also
    --------
    required_classes : Number of classes for a bound on their population.

    References
    ----------
    Clopper & Pearson 1934, "The use of confidence or fiducial limits illustrated in
    the case of the binomial", Biometrika 26.

    Examples
    --------
    >>> from neuroextrap.stats import required_repeats
    >>> required_repeats(0.5, n_classes=8), required_repeats(0.5, 0.4, n_classes=8)
    (2, 20)
    """
    n_classes = check_integer(n_classes, "n_classes", minimum=2)
    n_regions = check_integer(n_regions, "n_regions", minimum=1)
    alpha = (1 - check_level(confidence_level, "confidence_level")) / n_regions
    if alpha > _LARGEST_ALPHA:
        raise ValueError(
            f"confidence_level={confidence_level!r} must be such that (1 - "
            f"confidence_level) / n_regions is at most {_LARGEST_ALPHA}, got "
            f"{alpha:.3g}; Clopper-Pearson bounds hold from there on"
        )
    power = check_level(power, "power")
    goal = 1 / n_classes if bound is None else bound
    _check_goal(accuracy, goal)
    # about how many repeats are needed, by the normal approximation
    error = norm.isf(alpha) * math.sqrt(goal * (1 - goal))
    error += norm.ppf(power) * math.sqrt(accuracy * (1 - accuracy))
    guess = float((max(error, 0.0) / (accuracy - goal)) ** 2) / n_classes
    if guess * n_classes > _MOST_TESTS:
        raise ValueError(
            f"accuracy={accuracy!r} is too close to bound={goal!r}: about "
            f"{guess:.1e} repeats would be needed; lower the bound"
        )
    # power rises in steps, not evenly: look at every number from well below the guess
    first = 1 if guess < _FEW_REPEATS else int(0.9 * guess)
    while True:
        repeats = np.arange(first, first + _FEW_REPEATS)
        n_test = n_classes * repeats
        # the least number of correct outcomes whose bound reaches the goal
        least = binom.isf(alpha, n_test, goal) + 1
        enough = np.flatnonzero(binom.sf(least - 1, n_test, accuracy) >= power)
        if len(enough):
            return int(repeats[enough[0]])
        first += _FEW_REPEATS


def _check_goal(accuracy: float, bound: float) -> None:
    """Raise unless the bound is a proportion below the accuracy."""
    if not 0 < bound < accuracy <= 1:
        raise ValueError(
            f"accuracy={accuracy!r} and bound={bound!r} must be proportions, the bound "
            "above 0 and below the accuracy; a bound cannot exceed what is observed"
        )


def _smallest(reached: Callable[[int], bool], low: int, most: int, what: str) -> int:
    """Return the least integer from which on a monotone condition holds."""
    high = low
    while not reached(high):
        if high >= most:
            raise ValueError(
                f"more than {most:.0e} {what} would be needed; lower the bound"
            )
        low, high = high, 2 * high
    while high - low > 1:
        middle = math.floor((low + high) / 2)
        low, high = (low, middle) if reached(middle) else (middle, high)
    return high
