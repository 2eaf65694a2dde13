"""How many classes, how many repeats: planning an experiment for a desired bound."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.stats import binom, norm

from neuroextrap.stats._forward import LAMBDAS, forward_e_value
from neuroextrap.stats._forward_design import cyclic_orders, joined_runs
from neuroextrap.stats._test_design import TestDesign
from neuroextrap.stats._validation import check_integer, check_level

_MOST_CLASSES = 2**40
_MOST_TESTS = 2**36
_FEW_REPEATS = 2**12
_LARGEST_ALPHA = 0.25  # of Hoeffding 1956, as in the bounds that are planned for
_DRAWS = 10_000  # simulated experiments, so that a power has a standard error of .004
_ANALYSES = ("forward", "folds", "split")


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
    rises in small steps, so that a slightly smaller number may reach it too.) More
    repeats help little: the draw of the classes matters as much as the noise of one
    test of each class.

    Parameters
    ----------
    accuracy : float
        Accuracy to be expected, a proportion.
    bound : float
        Desired lower bound on the average Bayes accuracy, below `accuracy`.
    analysis : {"forward", "folds", "split"}
        Tests behind the bound, as in :func:`required_repeats`.
    n_runs : int or None, default=None
        Number of runs, at least 2; None for a split.
    n_repeats : int, default=1
        Test points of each class in every run, or in the test set of a split.
    power : float, default=0.8
        Probability with which the bound is reached. It is computed for classes that
        differ as much as they can, each identified always or never, independently; so
        it is at least that if classes are more alike.
    confidence_level : float, default=0.95
        Confidence level of the lower bounds.
    n_regions : int, default=1
        Number of regions whose bounds hold simultaneously.
    method : {"subgaussian", "chebyshev", "hybrid"}, default="subgaussian"
        Inequality behind the bound, see :func:`average_bayes_accuracy_lower_bound`;
        the searchlight uses "subgaussian".

    Returns
    -------
    n_classes : int
        At least 2.

    Raises
    ------
    TypeError, ValueError
        If a number of runs, repeats or regions is not an integer, or too small.
    ValueError
        If `accuracy` and `bound` are not ordered proportions, the analysis is not
        known, or more than 10^12 classes would be needed.

    See Also
    --------
    required_repeats : Number of repeats for the classes at hand.

    Examples
    --------
    >>> from neuroextrap.stats import required_classes
    >>> required_classes(0.9, 0.7, analysis="split")
    97
    >>> required_classes(0.9, 0.7, analysis="forward", n_runs=12)
    56
    """
    n_runs = _check_runs(analysis, n_runs)
    _check_goal(accuracy, bound)
    power = check_level(power, "power")
    n_repeats = check_integer(n_repeats, "n_repeats", minimum=1)
    effective = float(n_repeats)
    if analysis == "forward":
        sizes, tested, _ = _forward_tests(n_runs)
        noise = np.mean(1 / np.sqrt(sizes[tested].sum(axis=1))) ** 2
        effective /= float(noise)

    def reached(n_classes: int) -> bool:
        design = TestDesign(
            n_classes,
            effective,
            confidence_level=confidence_level,
            n_regions=n_regions,
        )
        share = binom.isf(power, n_classes, accuracy) / n_classes  # at least so many
        lower = design.average_bayes_accuracy_bound(share, n_classes, method=method)
        return bool(lower >= bound) and 1 / n_classes < bound

    return _smallest(reached, 2, _MOST_CLASSES, "classes")


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
    reaches `bound` with probability `power`, if every test point is identified with
    probability `accuracy`, independently. Learning is left out: a classifier has this
    accuracy however few runs it was trained on, which forward tests of few or
    difficult runs fall short of.

    Parameters
    ----------
    accuracy : float
        Accuracy to be expected among the K classes, a proportion.
    bound : float or None, default=None
        Desired lower bound on the Bayes accuracy, below `accuracy`. If None, the chance
        level 1 / K: a test that the classes can be told apart at all.
    n_classes : int
        Number of classes K.
    analysis : {"forward", "folds", "split"}
        Tests behind the bound. "forward": train on the earlier runs and test on the
        next, in cyclic orders, which the searchlight does by default if there are runs;
        "folds": leave one run out, with ``bounds="folds"``; "split": one training and
        one test set, by the method of Clopper and Pearson.
    n_runs : int or None, default=None
        Number of runs, at least 2, each with all classes; None for a split.
    power : float, default=0.8
        Probability with which the bound is reached.
    confidence_level : float, default=0.95
        Confidence level of the lower bound.
    n_regions : int, default=1
        Number of regions whose bounds hold simultaneously.

    Returns
    -------
    n_repeats : int
        At least 1. The power of "forward" is simulated in 10,000 experiments, from the
        same seed every time.

    Raises
    ------
    TypeError, ValueError
        If `n_classes`, `n_runs` or `n_regions` is not an integer, or too small.
    ValueError
        If `accuracy` and `bound` are not ordered proportions, or so close that more
        than 10^10 test points would be needed, or that forward tests never tell them
        apart; if the analysis is not known; or if one bound of a split may fail with a
        probability above .25, where Clopper-Pearson bounds are not known to hold.

    See Also
    --------
    required_classes : Number of classes for a bound on their population.
    required_subjects : Number of subjects for a test of the group.

    References
    ----------
    Clopper & Pearson 1934, "The use of confidence or fiducial limits illustrated in
    the case of the binomial", Biometrika 26.

    Examples
    --------
    20 in one test set, 16 in each of four runs, 6 in each of ten:

    >>> from neuroextrap.stats import required_repeats
    >>> required_repeats(0.5, 0.4, n_classes=8, analysis="split")
    20
    >>> [
    ...     required_repeats(0.5, 0.4, n_classes=8, analysis="forward", n_runs=n)
    ...     for n in (4, 10)
    ... ]
    [16, 6]
    """
    n_classes = check_integer(n_classes, "n_classes", minimum=2)
    n_regions = check_integer(n_regions, "n_regions", minimum=1)
    alpha = (1 - check_level(confidence_level, "confidence_level")) / n_regions
    n_runs = _check_runs(analysis, n_runs)
    if analysis == "split" and alpha > _LARGEST_ALPHA:
        raise ValueError(
            f"confidence_level={confidence_level!r} must be such that (1 - "
            f"confidence_level) / n_regions is at most {_LARGEST_ALPHA}, got "
            f"{alpha:.3g}; Clopper-Pearson bounds hold from there on"
        )
    power = check_level(power, "power")
    goal = 1 / n_classes if bound is None else bound
    _check_goal(accuracy, goal)
    plan = _Plan(accuracy, goal, n_classes, n_runs, power, alpha)
    if analysis == "forward":
        return plan.repeats_of_forward_tests()
    return plan.counted_repeats(analysis)


class _Plan(NamedTuple):
    """What required_repeats plans for; `alpha` is the error of one bound."""

    accuracy: float
    goal: float
    n_classes: int
    n_runs: int
    power: float
    alpha: float

    def repeats_of_forward_tests(self) -> int:
        """Return the repeats in every run with which forward tests have the power."""
        growth = LAMBDAS * self.accuracy - np.log1p(np.expm1(LAMBDAS) * self.goal)
        if growth.max() <= 0:
            raise self._too_close("no number of")
        most = _MOST_TESTS // (self.n_classes * self.n_runs)
        return _smallest(self._forward_tests_reach, 1, most, "repeats")

    def _forward_tests_reach(self, n_repeats: int) -> bool:
        """Whether so many repeats in every run have the power, simulated."""
        sizes, tested, first_steps = _forward_tests(self.n_runs)
        units = sizes * (n_repeats * self.n_classes)
        rng = np.random.default_rng(0)
        correct = rng.binomial(units, self.accuracy, size=(_DRAWS, len(units)))
        e = forward_e_value(
            correct[:, tested], units[tested], self.goal, first_steps=first_steps
        )
        return bool(np.mean(e >= 1 / self.alpha) >= self.power)

    def counted_repeats(self, analysis: str) -> int:
        """Return the repeats with which a count of correct outcomes has the power."""
        # margin and spread of the accuracy with one test point in every run
        variance = self.accuracy * (1 - self.accuracy) / self.n_runs
        margin = math.sqrt(-math.log(self.alpha) / 2)
        if analysis == "split":
            margin = norm.isf(self.alpha) * math.sqrt(self.goal * (1 - self.goal))
        width = margin + math.sqrt(variance) * norm.ppf(self.power)
        guess = max(width, 0.0) ** 2 / (self.accuracy - self.goal) ** 2 / self.n_classes
        if guess * self.n_classes > _MOST_TESTS:
            raise self._too_close(f"about {guess:.1e}")
        # power rises in steps, not evenly: look at every number from well below
        first = 1 if guess < _FEW_REPEATS else int(0.9 * guess)
        while True:
            repeats = np.arange(first, first + _FEW_REPEATS)
            n_test = repeats * (self.n_classes * self.n_runs)
            # the least number of correct outcomes whose bound reaches the goal
            if analysis == "split":
                least = binom.isf(self.alpha, n_test, self.goal) + 1
            else:
                needed = self.goal + margin / np.sqrt(self.n_classes * repeats)
                least = np.ceil(n_test * needed - 1e-6)
            reached = binom.sf(least - 1, n_test, self.accuracy) >= self.power
            if reached.any():
                return int(repeats[reached.argmax()])
            first += _FEW_REPEATS

    def _too_close(self, how_many: str) -> ValueError:
        """Return the error of a goal that cannot be reached."""
        return ValueError(
            f"accuracy={self.accuracy!r} is too close to bound={self.goal!r}: "
            f"{how_many} repeats would be needed; lower the bound"
        )


def _forward_tests(n_runs: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return runs of each part, parts tested (n_orders, n_steps), and first steps."""
    sizes = np.bincount(joined_runs(n_runs))
    orders, shortest, first_steps = cyclic_orders(len(sizes))
    return sizes, orders[:, shortest:], first_steps


def _check_runs(analysis: str, n_runs: int | None) -> int:
    """Return the number of runs, 1 for a split; raise unless they fit the analysis."""
    if analysis not in _ANALYSES:
        raise ValueError(f"analysis={analysis!r} must be one of {_ANALYSES}")
    if (n_runs is None) != (analysis == "split"):
        raise ValueError(
            f"analysis={analysis!r} does not go with n_runs={n_runs!r}; give the "
            "number of runs for 'forward' and 'folds', and None for 'split'"
        )
    return 1 if n_runs is None else check_integer(n_runs, "n_runs", minimum=2)


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
