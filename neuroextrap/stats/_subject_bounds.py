"""Lower bounds on the mean Bayes accuracy of subjects: of these, and of a population.

Both come from e-values. Those of independent subjects multiply; what differs is which
mean the product bounds.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp

from neuroextrap.stats._bound_methods import largest_reached
from neuroextrap.stats._forward import (
    LAMBDAS,
    check_first_steps,
    log_e_value_needed,
)
from neuroextrap.stats._validation import FloatArray

# shares of the largest bet and what each weighs, fixed before any data are seen: the
# largest is the best one where subjects differ little
SHARES = np.array([0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 0.85, 1.0])
WEIGHTS = np.append(np.full(8, 1 / 16), 1 / 2)
_BATCH_NUMBERS = 2**22
_SLACK = 1e-6  # outcomes of runs are kept in float32, whose rounding can exceed one


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

    With `chance`, bounds are of the regions that are selected because they exceed it
    (e-BH): those k of n regions with e-values of at least n / (k (1 -
    confidence_level)), k as large as possible, have bounds at this threshold instead.
    Of these an expected proportion of at most 1 - confidence_level exceeds the truth,
    however regions depend on one another (Xu, Wang & Ramdas 2024, "Post-selection
    inference for e-value based confidence intervals"); those of the others lie below
    chance and say nothing.
    """
    values = np.asarray(accuracy, dtype=np.float64)
    goal = log_e_value_needed(confidence_level, n_regions)
    if values.ndim == 0 or ((values < 0) | (values > 1)).any():
        raise ValueError(
            "accuracy must hold proportions between 0 and 1, one row per subject; got "
            f"shape {values.shape}"
        )
    flat = values.reshape(len(values), -1)

    def log_e_value(mean: FloatArray) -> FloatArray:
        total = np.tile(np.log(WEIGHTS)[:, np.newaxis], flat.shape[1])
        for row in flat:
            total += betting_gains(row / mean)
        return np.asarray(logsumexp(total, axis=0))

    known = np.isfinite(flat.sum(axis=0))
    if chance is not None:
        e_values = log_e_value(np.full(len(known), float(chance)))[known]
        goals = np.log(
            len(e_values) / (1 - confidence_level) / np.arange(1, len(e_values) + 1)
        )
        reached = np.flatnonzero(np.sort(e_values)[::-1] >= goals)
        goal = goals[reached[-1] if len(reached) else 0] if len(goals) else goal
    bound = _largest_mean(log_e_value, goal, flat.shape[1])
    return np.where(known, bound, np.nan).reshape(values.shape[1:])


def betting_gains(ratio: FloatArray) -> FloatArray:
    """Return log(1 - c + c ratio) of the share c of every bet, (n_shares, ...)."""
    with np.errstate(divide="ignore", over="ignore"):
        return np.asarray(np.log1p(np.multiply.outer(SHARES, ratio - 1)))


def subjects_accuracy_lower_bound(
    n_correct: ArrayLike,
    n_units: ArrayLike,
    *,
    first_steps: ArrayLike = (0,),
    confidence_level: float = 0.95,
    n_regions: int = 1,
) -> FloatArray:
    """Bound the mean Bayes accuracy of exactly these subjects, from forward tests.

    By the concavity of log, the product of the subjects' e-values at one lambda is an
    e-value against a mean of at most beta. `n_correct` (n_subjects, ..., n_orders,
    n_steps), `n_units` and `first_steps`, the same in all subjects, are those of
    :func:`forward_bayes_accuracy_lower_bound`; NaN gives NaN.
    """
    counts = np.asarray(n_correct, dtype=np.float64)
    goal = log_e_value_needed(confidence_level, n_regions)
    if counts.ndim < 3:
        raise ValueError(
            "n_correct must have shape (n_subjects, ..., n_orders, n_steps); got "
            f"{counts.shape}"
        )
    units = np.broadcast_to(np.asarray(n_units, dtype=np.float64), counts.shape[-2:])
    if ((counts < -_SLACK) | (counts > units + _SLACK)).any():
        raise ValueError("n_correct must lie between 0 and n_units in every step")
    sums, totals = _from_first_steps(counts, units, first_steps)
    shape = counts.shape[1:-2]
    flat = sums.reshape(len(counts), -1, *sums.shape[-2:])

    def log_largest(beta: FloatArray) -> FloatArray:
        rate = np.log1p(np.expm1(LAMBDAS) * beta[:, np.newaxis])
        return rate[..., np.newaxis] * (len(counts) * totals)

    width = max(1, _BATCH_NUMBERS // flat[:, 0].size)
    bounds = []
    for first in range(0, flat.shape[1], width):
        gained = _gained(flat[:, first : first + width], LAMBDAS[:, np.newaxis])
        bounds.append(_product_bound(gained.sum(axis=0), log_largest, goal))
    return np.concatenate(bounds).reshape(shape)


def mixed_subjects_lower_bound(
    designs: list, *, confidence_level: float = 0.95, n_regions: int = 1
) -> FloatArray:
    """Bound the mean Bayes accuracy of exactly these subjects, of different designs.

    `designs` holds what :func:`subjects_accuracy_lower_bound` takes, for each subject.
    Each bets in proportion to 1 / its number of units, so that all weigh alike, and the
    product of e-values is compared with the largest expectation that a mean of at most
    beta allows. Of the first steps, those that all subjects have by position are used.
    """
    goal = log_e_value_needed(confidence_level, n_regions)
    parts = []
    for n_correct, n_units, first_steps in designs:
        counts = np.asarray(n_correct, dtype=np.float64)
        units = np.broadcast_to(np.asarray(n_units, float), counts.shape[-2:])
        parts.append(_from_first_steps(counts, units, first_steps))
    n_first = min(len(totals) for _, totals in parts)
    units = np.stack([totals[:n_first] for _, totals in parts])
    bets = LAMBDAS[:, np.newaxis] * (units.mean(axis=0) / units)[:, np.newaxis]
    gained = np.zeros((len(parts[0][0]), *bets.shape[1:]))
    for (sums, _), bet in zip(parts, bets, strict=True):
        gained += _gained(sums[:, :n_first], bet)
    largest = _largest_growth(units, bets)

    def log_largest(beta: FloatArray) -> FloatArray:
        return largest[np.ceil(beta * _STEPS).astype(int)]

    return _product_bound(gained, log_largest, goal)


_STEPS = 1000  # of the means for which the largest growth is tabulated


def _largest_growth(units: FloatArray, bets: FloatArray) -> FloatArray:
    """Return the largest growth that means of 0, 1 / _STEPS, ..., 1 allow.

    The growth, the sum over subjects of n log(1 + (exp(bet) - 1) beta), is concave in
    every beta: at its largest all slopes are one number, or beta is 0 or 1. `units`
    (n_subjects, n_first), `bets` (n_subjects, n_lambda, n_first) -> (_STEPS + 1,
    n_lambda, n_first).
    """
    means = np.linspace(0, 1, _STEPS + 1)[:, np.newaxis, np.newaxis]
    found, number = np.unique(units, axis=0, return_index=True, return_counts=True)[1:]
    units, odds = units[found][:, np.newaxis], np.expm1(bets[found])
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
    counts: FloatArray, units: FloatArray, first_steps: ArrayLike
) -> tuple[FloatArray, FloatArray]:
    """Return outcomes (..., n_first, n_orders) and units (n_first,) from steps on."""
    counts = np.clip(counts, 0, units)
    firsts = check_first_steps(first_steps, counts.shape[-1])
    sums = np.stack([counts[..., first:].sum(axis=-1) for first in firsts], axis=-2)
    totals = np.stack([units[:, first:].sum(axis=-1) for first in firsts])
    if (totals != totals[:, :1]).any():
        raise ValueError(
            "n_units from a first step on must be the same in every order; use "
            "orders that test as many units"
        )
    return sums, totals[:, 0]


def _gained(sums: FloatArray, bets: FloatArray) -> FloatArray:
    """Return log means over orders of exp(bet S), (..., n_lambda, n_first)."""
    scaled = bets[..., np.newaxis] * sums[..., np.newaxis, :, :]
    return np.asarray(logsumexp(scaled, axis=-1) - np.log(sums.shape[-1]))


def _product_bound(
    gained: FloatArray, log_largest: Callable[[FloatArray], FloatArray], goal: float
) -> FloatArray:
    """Return where mean e-values (n_regions, n_lambda, n_first) fall to a goal."""

    def log_e_value(beta: FloatArray) -> FloatArray:
        terms = gained - log_largest(beta)
        n_terms = terms.shape[1] * terms.shape[2]
        return np.asarray(logsumexp(terms, axis=(1, 2)) - np.log(n_terms))

    bound = _largest_mean(log_e_value, goal, len(gained))
    return np.where(np.isnan(gained).any(axis=(1, 2)), np.nan, bound)


def _largest_mean(
    log_e_value: Callable[[FloatArray], FloatArray], goal: float, n_regions: int
) -> FloatArray:
    """Return the largest mean, rounded down, whose falling e-value reaches a goal."""
    low, high = np.zeros(n_regions), np.ones(n_regions)
    return largest_reached(lambda mean: log_e_value(mean) >= goal, low, high)
