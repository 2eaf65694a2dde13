"""How many classes, how many repeats: planning an experiment for a desired bound."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np
from scipy.stats import binom

from neuroextrap.stats._bound_methods import check_binomial_worst
from neuroextrap.stats._forward import cyclic_orders, forward_e_value, joined_runs
from neuroextrap.stats._shared_options import described_by
from neuroextrap.stats._test_design import TestDesign
from neuroextrap.stats._validation import (
    brief,
    check_choice,
    check_integer,
    check_level,
    check_number,
)

_MOST_CLASSES = 2**40
_MOST_TESTS = 2**36
_LOOKED_AT = 2**12  # numbers of repeats below one that has the power
_DRAWS = 10_000  # simulated experiments: a power has a standard error of .004


def required_classes(  # noqa: PLR0913 - the options of one documented call
    accuracy: float,
    bound: float,
    *,
    analysis: str,
    n_runs: int | None = None,
    n_repeats: int = 1,
    power: float = 0.8,
    confidence_level: float = 0.95,
    n_regions: int = 1,
    method: str = "subgaussian",
) -> int:
    """Return the number of classes with which an analysis reaches a bound.

    The number K with which the lower bound on the average Bayes accuracy of random
    classes reaches `bound` with probability `power`, if the average accuracy is
    `accuracy`, among all K classes or at a set size that was fixed in advance. (Power
    rises in small steps, so that a slightly smaller number may do.) More repeats help
    little: the draw of the classes matters as much as the noise of one test of each.

    Parameters
    ----------
    accuracy : float
        Accuracy to be expected, a proportion.
    bound : float
        Desired lower bound on the average Bayes accuracy, below `accuracy`.
    analysis : {"forward", "folds", "split"}
        Tests behind the bound. "forward": train on the earlier runs and test on the
        next, in cyclic orders, which the searchlight does by default if there are runs;
        "folds": leave one run out, with ``bounds="folds"``; "split": one training and
        one test set.
    n_runs : int or None, default=None
        Number of runs, at least 2, each with all classes; None for a split.
    n_repeats : int, default=1
        Test points of each class in every run, or in the test set of a split.
    power : float, default=0.8
        Probability with which the bound is reached, computed for classes that differ as
        much as they can: each is identified always or never, independently.
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
    TypeError, ValueError
        If a count is not an integer, or too small, `accuracy` and `bound` are not
        ordered proportions, or more than 10^12 classes would be needed.

    Examples
    --------
    >>> required_classes(0.9, 0.7, analysis="split")
    97
    >>> required_classes(0.9, 0.7, analysis="forward", n_runs=12)
    56
    """
    n_runs = _check_runs(analysis, n_runs)
    _check_goal(accuracy, bound)
    power = check_level(power, "power")
    repeats = float(check_integer(n_repeats, "n_repeats", minimum=1))
    if analysis == "forward":  # as many as would be as noisy
        sizes, tested, _ = _forward_tests(n_runs)
        repeats /= float(np.mean(1 / np.sqrt(sizes[tested].sum(axis=1))) ** 2)
    test = partial(TestDesign, confidence_level=confidence_level, n_regions=n_regions)

    def reached(n_classes: int) -> bool:
        design = test(n_classes, repeats)
        share = binom.isf(power, n_classes, accuracy) / n_classes  # at least so many
        lower = design.average_bayes_accuracy_bound(share, n_classes, method=method)
        return bool(lower >= bound) and 1 / n_classes < bound

    return _smallest(reached, 2, _MOST_CLASSES, "classes")


@described_by(required_classes)
def required_repeats(  # noqa: PLR0913 - the options of one documented call
    accuracy: float,
    bound: float | None = None,
    *,
    n_classes: int,
    analysis: str,
    n_runs: int | None = None,
    power: float = 0.8,
    confidence_level: float = 0.95,
    n_regions: int = 1,
) -> int:
    """Return the number of test repeats with which an analysis reaches a bound.

    The smallest number r of test points of each class, in every run or in the test set
    of a split, with which the lower bound on the Bayes accuracy of the K given classes
    (of a split, that of Clopper and Pearson) reaches `bound` with probability `power`,
    if every test point is identified with probability `accuracy`, independently.
    Learning is left out: the classifier is as accurate after few training runs as after
    many, so real power is less.

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

    Returns
    -------
    n_repeats : int
        At least 1; of "forward" by 10,000 simulated experiments from a fixed seed.

    Raises
    ------
    TypeError, ValueError
        If a count is not an integer, or too small; if `accuracy` and `bound` are not
        ordered proportions, or so close that more than 10^10 test points would be
        needed (of forward tests no number may do); or if one bound of a split may fail
        with a probability above .25, where Clopper-Pearson bounds may not hold.

    Examples
    --------
    >>> required_repeats(0.5, 0.4, n_classes=8, analysis="split")
    20
    >>> required_repeats(0.5, 0.4, n_classes=8, analysis="forward", n_runs=4)
    16
    """
    n_classes = check_integer(n_classes, "n_classes", minimum=2)
    n_regions = check_integer(n_regions, "n_regions", minimum=1)
    alpha = (1 - check_level(confidence_level, "confidence_level")) / n_regions
    n_runs = _check_runs(analysis, n_runs)
    if analysis == "split":
        check_binomial_worst(confidence_level, n_regions)
    power = check_level(power, "power")
    goal = _check_goal(accuracy, 1 / n_classes if bound is None else bound)

    def reached(n_repeats: int) -> bool:
        n_test = n_repeats * n_classes
        return _power(accuracy, goal, analysis, n_test, n_runs, alpha) >= power

    fewest = _smallest(reached, 1, _MOST_TESTS // (n_classes * n_runs), "repeats")
    if analysis == "forward":
        return fewest
    # power rises in steps, not evenly: look at the numbers below
    return next(r for r in range(max(1, fewest - _LOOKED_AT), fewest + 1) if reached(r))


def _power(
    accuracy: float, goal: float, analysis: str, n_test: int, n_runs: int, alpha: float
) -> float:
    """Return how often n_test points in every run lift a bound to the goal."""
    if analysis == "forward":
        sizes, tested, first_steps = _forward_tests(n_runs)
        units, rng = sizes * n_test, np.random.default_rng(0)
        right = rng.binomial(units, accuracy, size=(_DRAWS, len(units)))[:, tested]
        e = forward_e_value(right, units[tested], goal, first_steps=first_steps)
        return float(np.mean(e >= 1 / alpha))
    # the least number of correct outcomes whose bound reaches the goal
    least = binom.isf(alpha, n_test, goal) + 1
    if analysis == "folds":
        margin = math.sqrt(-math.log(alpha) / (2 * n_test))
        n_test = n_test * n_runs
        least = math.ceil(n_test * (goal + margin) - 1e-6)
    return float(binom.sf(least - 1, n_test, accuracy))


def _forward_tests(n_runs: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return runs of each part, parts tested (n_orders, n_steps), and first steps."""
    sizes = np.bincount(joined_runs(n_runs))
    orders, shortest, first_steps = cyclic_orders(len(sizes))
    return sizes, orders[:, shortest:], first_steps


def _check_runs(analysis: str, n_runs: int | None) -> int:
    """Return the number of runs, 1 for a split; raise unless they fit the analysis."""
    check_choice(analysis, "analysis", ("forward", "folds", "split"))
    if (n_runs is None) != (analysis == "split"):
        raise ValueError(
            f"analysis={analysis!r} goes with n_runs for 'forward' and 'folds' and "
            f"without for 'split'; got n_runs={brief(n_runs)}"
        )
    return 1 if n_runs is None else check_integer(n_runs, "n_runs", minimum=2)


def _check_goal(accuracy: float, bound: float) -> float:
    """Return the bound; raise unless it is a proportion below the accuracy."""
    expected = check_number(accuracy, "accuracy")
    if not 0 < check_number(bound, "bound") < expected <= 1:
        raise ValueError(
            f"accuracy={accuracy!r} and bound={bound!r} must be proportions, the bound "
            "above 0 and below the accuracy; a bound cannot exceed what is observed"
        )
    return bound


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
