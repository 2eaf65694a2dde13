"""Bounds on the mean Bayes accuracy of subjects, and how many a test needs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp, nctdtr, ndtr, ndtri, stdtrit

from neuroextrap.stats._bound_methods import largest_reached
from neuroextrap.stats._forward import LAMBDAS, forward_design, log_e_value_needed
from neuroextrap.stats._pvalues import e_value_false_discovery_rate
from neuroextrap.stats._validation import (
    FloatArray,
    brief,
    check_accuracy,
    check_choice,
    check_integer,
    check_level,
    check_number,
    real_array,
)

# shares of the largest bet and what each weighs, fixed before any data are seen: the
# largest is the best one where subjects differ little
SHARES = np.array([0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 0.85, 1.0])
WEIGHTS = np.append(np.full(8, 1 / 16), 1 / 2)


def population_accuracy_lower_bound(
    accuracy: ArrayLike,
    *,
    confidence_level: float = 0.95,
    n_regions: int = 1,
    chance: float | None = None,
) -> FloatArray:
    """Bound the mean Bayes accuracy in the population that subjects were drawn from.

    `accuracy` (n_subjects, ...) is cross-validated; NaN gives NaN. With subjects drawn
    independently, ``prod(1 - c + c accuracy / m)`` is an e-value against a population
    mean of at most m, for every 0 <= c <= 1; the bound is the m at which its weighted
    mean over a fixed grid of c falls to ``n_regions / (1 - confidence_level)``
    (Waudby-Smith & Ramdas 2024, "Estimating means of bounded random variables by
    betting", proposition 2).

    With `chance`, the k of n regions with e-values against it of at least n / (k (1 -
    confidence_level)), k as large as possible, have bounds at this threshold instead.
    Of these an expected proportion of at most 1 - confidence_level exceeds the truth,
    however regions depend on one another (Xu, Wang & Ramdas 2024, "Post-selection
    inference for e-value based confidence intervals"); the others say nothing.
    """
    values = check_accuracy(accuracy, "n_subjects, ...")
    goal = log_e_value_needed(confidence_level, n_regions)
    flat = values.reshape(len(values), -1)

    def log_e_value(mean: FloatArray) -> FloatArray:
        total = np.tile(np.log(WEIGHTS)[:, np.newaxis], flat.shape[1])
        for row in flat:
            total += betting_gains(row / mean)
        return np.asarray(logsumexp(total, axis=0))

    finite = np.isfinite(flat.sum(axis=0))
    if chance is not None:
        log_e_values = log_e_value(np.full(len(finite), float(chance)))[finite]
        with np.errstate(over="ignore"):
            rates = e_value_false_discovery_rate(np.exp(log_e_values))
        n_selected = max(1, int((rates <= 1 - confidence_level).sum()))
        goal = np.log(max(1, len(rates)) / (1 - confidence_level) / n_selected)
    bound = _largest_mean(log_e_value, goal, flat.shape[1])
    return np.where(finite, bound, np.nan).reshape(values.shape[1:])


def betting_gains(ratio: FloatArray) -> FloatArray:
    """Return log(1 - c + c ratio) of the share c of every bet, (n_shares, ...)."""
    with np.errstate(divide="ignore", over="ignore"):
        return np.asarray(np.log1p(np.multiply.outer(SHARES, ratio - 1)))


def subjects_accuracy_lower_bound(
    designs: list, *, confidence_level: float = 0.95, n_regions: int = 1
) -> FloatArray:
    """Bound the mean Bayes accuracy of exactly these subjects, from forward tests.

    `designs` holds `n_correct` (..., n_orders, n_steps), `n_units` and `first_steps` of
    each subject, as in :func:`forward_bayes_accuracy_lower_bound`; of the latter those
    are used that all have by position. Bets are in proportion to 1 / number of units,
    so that all weigh alike; the product of e-values is compared with the largest
    expectation that a mean of at most beta allows: by the concavity of log, that of
    equal accuracies where all have the same design.
    """
    goal = log_e_value_needed(confidence_level, n_regions)
    parts = [_from_first_steps(*design) for design in designs]
    n_first = min(len(totals) for _, totals in parts)
    units = np.stack([totals[:n_first] for _, totals in parts])
    bets = LAMBDAS[:, np.newaxis] * (units.mean(axis=0) / units)[:, np.newaxis]
    gained: Any = 0.0
    for (sums, _), bet in zip(parts, bets, strict=True):
        scaled = bet[..., np.newaxis] * sums[..., np.newaxis, :n_first, :]
        gained = gained + logsumexp(scaled, axis=-1) - np.log(sums.shape[-1])
    log_largest = _log_largest(units, bets)
    rows = gained.reshape(-1, *bets.shape[1:])

    def log_e_value(beta: FloatArray) -> FloatArray:
        terms = rows - log_largest(beta)
        return np.asarray(logsumexp(terms, axis=(1, 2)) - np.log(bets[0].size))

    bound = _largest_mean(log_e_value, goal, len(rows))
    finite = ~np.isnan(rows).any(axis=(1, 2))
    return np.where(finite, bound, np.nan).reshape(gained.shape[:-2])


def _log_largest(
    units: FloatArray, bets: FloatArray
) -> Callable[[FloatArray], FloatArray]:
    """Return the largest growth as a function of means (n,), (n, n_lambda, n_first)."""
    table = None if (units == units[0]).all() else _largest_growth(units, bets)

    def log_largest(beta: FloatArray) -> FloatArray:
        if table is not None:
            return table[np.ceil(beta * _STEPS).astype(int)]
        rate = np.log1p(np.expm1(LAMBDAS) * beta[:, np.newaxis])
        return rate[..., np.newaxis] * (len(units) * units[0])

    return log_largest


_STEPS = 1000  # of the means for which the largest growth is tabulated


def _largest_growth(units: FloatArray, bets: FloatArray) -> FloatArray:
    """Return the largest growth of means of 0, ..., 1, (_STEPS + 1, n_lambda, n_first).

    The growth, the sum over subjects of n log(1 + (exp(bet) - 1) beta), is concave in
    every beta: at its largest all slopes are one number, or beta is 0 or 1.
    """
    means = np.linspace(0, 1, _STEPS + 1)[:, np.newaxis, np.newaxis]
    first, number = np.unique(units, axis=0, return_index=True, return_counts=True)[1:]
    units, odds = units[first][:, np.newaxis], np.expm1(bets[first])
    shares = (number / number.sum())[:, np.newaxis, np.newaxis, np.newaxis]
    low = np.full((_STEPS + 1, *odds.shape[1:]), 1e-12)
    high = np.full_like(low, float((units * odds).max()))
    for _ in range(80):
        slope = np.sqrt(low * high)
        each = np.clip(units[:, np.newaxis] / slope - 1 / odds[:, np.newaxis], 0, 1)
        above = (shares * each).sum(axis=0) > means
        low, high = np.where(above, slope, low), np.where(above, high, slope)
    each = np.clip(units[:, np.newaxis] / low - 1 / odds[:, np.newaxis], 0, 1)
    growth = units[:, np.newaxis] * np.log1p(odds[:, np.newaxis] * each)
    return np.asarray((number.sum() * shares * growth).sum(axis=0))


def _from_first_steps(
    n_correct: ArrayLike, n_units: ArrayLike, first_steps: ArrayLike
) -> tuple[FloatArray, FloatArray]:
    """Return outcomes (..., n_first, n_orders) and units (n_first,) from steps on."""
    design = forward_design(n_correct, n_units, first_steps)
    sums, shape = design.sums()
    totals = design.totals[design.design].reshape(-1, len(design.first_steps))
    if (totals != totals[0]).any():
        raise ValueError(
            "n_units from a first step on must be the same in every order; use "
            "orders that test as many units"
        )
    return sums.reshape(*shape, *totals.shape).swapaxes(-1, -2), totals[0]


def _largest_mean(
    log_e_value: Callable[[FloatArray], FloatArray], goal: float, n_regions: int
) -> FloatArray:
    """Return the largest mean, rounded down, whose falling e-value reaches a goal."""
    low, high = np.zeros(n_regions), np.ones(n_regions)
    return largest_reached(lambda mean: log_e_value(mean) >= goal, low, high)


_MOST_SUBJECTS = 10_000
_DRAWS = 10_000  # simulated studies, so that a power has a standard error of .004


def required_subjects(  # noqa: PLR0913 - the options of one documented call
    pilot: ArrayLike,
    *,
    test: str,
    baseline: float,
    null_sd: float | None = None,
    gamma: float = 0.5,
    power: float = 0.8,
    confidence_level: float = 0.95,
    n_regions: int = 1,
    pilot_confidence: float = 0.5,
) -> int:
    """Return the number of subjects with which a test of the group finds an effect.

    The subjects of a pilot tell the mean and the standard deviation of the score in the
    population. (The latter includes the noise of a subject's score: runs and repeats
    have to be those of the study.) If these are the true ones of normal scores, the
    test comes out in a study of so many new subjects with probability `power`.

    Parameters
    ----------
    pilot : array-like of shape (n_subjects,)
        Score of each subject of the pilot, in one region chosen beforehand. The best
        region of a map looks better than it is.
    test : {"t", "prevalence", "information"}
        "t": the mean is above the baseline, by :func:`neuroextrap.group.sign_flip_test`
        (one-sided). "prevalence": more than `gamma` of the population carry
        information, ``p_value_prevalence`` of
        :func:`neuroextrap.group.prevalence_test`. "information": accuracies, of a beta
        distribution, lift ``population_bayes_accuracy_bound`` of
        :func:`neuroextrap.group.group_information` to the baseline.
    baseline : float
        Chance level of the score; for "information" the desired bound.
    null_sd : float or None, default=None
        Standard deviation of a subject's permuted scores, for "prevalence" only.
    gamma : float, default=0.5
        Prevalence of the null hypothesis, for "prevalence".
    power : float, default=0.8
        Probability with which the test comes out.
    confidence_level : float, default=0.95
        One minus the level of the test, or the confidence of the bound.
    n_regions : int, default=1
        Number of regions to correct for, by Bonferroni.
    pilot_confidence : float, default=0.5
        Confidence that the true mean is no smaller than the one that is planned for:
        0.5 takes the pilot's mean as it is, 0.8 allows for a lucky pilot.

    Returns
    -------
    n_subjects : int
        At least 2; of "information" by 10,000 simulated studies from a fixed seed.

    Raises
    ------
    TypeError, ValueError
        If there are fewer than two scores, all are the same, their mean is not above
        the baseline, an option does not fit the test, or 10,000 subjects do not suffice
        (for prevalence, the score of every single one has to differ from chance).

    References
    ----------
    Perugini, Gallucci & Costantini 2014, "Safeguard power as a protection against
    imprecise power estimates", Perspectives on Psychological Science 9.

    Examples
    --------
    >>> pilot = [0.31, 0.24, 0.38, 0.27, 0.35, 0.29, 0.22, 0.33]
    >>> required_subjects(pilot, test="t", baseline=0.25)
    10
    >>> required_subjects(pilot, test="t", baseline=0.25, pilot_confidence=0.8)
    21
    """
    check_choice(test, "test", ("t", "prevalence", "information"))
    if (null_sd is None) == (test == "prevalence"):
        raise ValueError(
            f"test={test!r} goes with null_sd for 'prevalence' and without for the "
            f"others; got null_sd={brief(null_sd)}"
        )
    level, baseline = check_level(power, "power"), check_number(baseline, "baseline")
    own_sd = 1.0 if null_sd is None else check_number(null_sd, "null_sd")
    mean, sd = _planned_mean(pilot, check_level(pilot_confidence, "pilot_confidence"))
    if own_sd <= 0 or mean <= baseline:
        raise ValueError(
            f"baseline={baseline} must be below the mean that is planned for, "
            f"{mean:.3g}, with pilot_confidence={pilot_confidence}, and "
            f"null_sd must be above 0; got {null_sd!r}"
        )
    error = 1 - check_level(confidence_level, "confidence_level")
    alpha = error / check_integer(n_regions, "n_regions", minimum=1)
    effect = (mean - baseline) / sd
    if test == "t":
        powers = _t_powers(effect, alpha, error)
    elif test == "prevalence":
        gamma = check_level(gamma, "gamma")
        powers = _prevalence_powers(effect, own_sd / sd, gamma, alpha)
    else:
        powers = _information_powers(mean, sd, baseline, alpha)
    for n_subjects, reached in zip(range(1, _MOST_SUBJECTS + 1), powers, strict=False):
        if n_subjects > 1 and reached >= level:
            return n_subjects
    raise ValueError(
        f"{_MOST_SUBJECTS} subjects do not have a power of {power} in test={test!r}; "
        "lower gamma or the baseline, or measure more runs of each subject"
    )


def _planned_mean(pilot: ArrayLike, confidence: float) -> tuple[float, float]:
    """Return a lower limit of the mean of a pilot's scores, and their deviation."""
    scores = real_array(pilot, "pilot", "n_subjects,", least=2)
    sd = scores.std(ddof=1)
    if not 0 < sd < np.inf:
        raise ValueError("pilot must have finite scores of subjects that differ")
    allowance = stdtrit(len(scores) - 1, confidence) * sd / np.sqrt(len(scores))
    return float(scores.mean() - allowance), float(sd)


def _t_powers(effect: float, alpha: float, error: float) -> Iterator[float]:
    """Yield the power of t-tests of 1, 2, ... subjects; 0 of those with few flips."""
    for n in count(1):  # pragma: no branch (the caller stops)
        power = 1 - float(nctdtr(n - 1, effect * np.sqrt(n), -stdtrit(n - 1, alpha)))
        yield power if 2.0**-n <= error else 0.0


def _prevalence_powers(
    effect: float, null_sd: float, gamma: float, alpha: float
) -> Iterator[float]:
    """Yield how likely every p-value of 1, 2, ... subjects is as small as needed."""
    for n in count(1):  # pragma: no branch (the caller stops)
        largest = (alpha ** (1 / n) - gamma) / (1 - gamma)
        needed = -null_sd * ndtri(largest) if largest > 0 else np.inf
        yield float(ndtr(effect - needed) ** n)


def _information_powers(
    mean: float, sd: float, bound: float, alpha: float
) -> Iterator[float]:
    """Yield the share of simulated groups of 1, 2, ... subjects that prove a bound."""
    spread = mean * (1 - mean) / sd**2 - 1
    if not 0 < bound < mean < 1 or spread <= 0:
        raise ValueError(
            "pilot must hold accuracies between 0 and 1, and baseline a bound above 0; "
            f"got a mean of {mean:.3g}, a deviation of {sd:.3g} and {bound}"
        )
    rng = np.random.default_rng(0)
    bets = np.tile(np.log(WEIGHTS)[:, np.newaxis], _DRAWS)
    while True:
        accuracy = rng.beta(mean * spread, (1 - mean) * spread, _DRAWS)
        bets += betting_gains(accuracy / bound)
        yield float(np.mean(logsumexp(bets, axis=0) >= -np.log(alpha)))
