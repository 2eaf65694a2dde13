"""Classes whose order lets the course of a run look like a difference between them."""

import re
from typing import NamedTuple

import numpy as np
from scipy.stats import chi2

from neuroextrap.design._findings import EVERYTHING, TOO_OPTIMISTIC, Finding
from neuroextrap.design._folds import (
    counts_of,
    means_of,
    members,
    row_codes,
    runs_in_time,
)

_SHUFFLES = 99
_LARGE_AGREEMENT = 0.5
_FEWEST_SORTED = 5  # samples of a class; fewer may come in a row by chance
_SURELY = 1e-3  # p-value at which classes are said to follow the time in runs,
_PROBABLY = 0.05  # and where the samples change in the course of runs
_SELDOM = 0.4  # changes of class over those in random order, in stretches
_CHANGES = 2.3  # standard errors by which these changes are alike in all runs
_MOST_SAMPLES = 2000
_LOOKS = (
    "so that whatever changes in the course of a run (drift, fatigue, habituation) "
    "looks like a difference between classes"
)
_IF_CHANGING = f"{TOO_OPTIMISTIC} if responses change in the course of runs"
_UNSORTED = (
    "give fit(..., order=...) the time of every sample if the rows are not listed in "
    "the order of acquisition"
)
_LISTED = (
    "if the samples are not listed in the order of acquisition, give fit(..., "
    "order=...) the time of every sample in its run"
)


def finding_of_time(rest, labels):
    """Return a Finding about when the classes come, or None; `rest` may be None."""
    return (
        same_order(labels.codes, labels.groups, labels.order)
        or classes_in_turn(labels)
        or classes_follow_time(rest, labels)
    )


def same_order(codes, groups, order=None):
    """Return a Finding where classes come in (nearly) the same order in all runs."""
    agreement = order_agreement(codes, groups, order)
    if agreement is None:
        return None
    how = "the same" if agreement == 1 else "nearly the same"
    remedy = "only an experiment with another order in each run can tell"
    if order is None:
        remedy = f"{_LISTED}; otherwise {remedy}"
    because = f"the classes come in {how} order in all runs, {_LOOKS}"
    seen = "same_order", "doubtful", agreement, EVERYTHING
    return Finding(*seen, because, _IF_CHANGING, remedy)


def classes_in_turn(labels):
    """Return a Finding where no runs are given and classes come one after the other."""
    order, counts = labels.order, np.bincount(labels.codes)
    if labels.groups is not None or not labels.trained or counts.min() < _FEWEST_SORTED:
        return None
    codes = labels.codes
    codes = codes if order is None else codes[np.argsort(order, kind="stable")]
    if np.count_nonzero(np.diff(codes)) >= len(counts):
        return None
    grade = "note" if order is None else "doubtful"
    remedy = _UNSORTED if order is None else "only another experiment can tell"
    because = (
        "the classes come one after the other, in no runs, so that whatever changes in "
        "time (drift, fatigue, habituation) looks like a difference between classes"
    )
    effect = f"{TOO_OPTIMISTIC} if responses change in time"
    seen = "classes_in_turn", grade, float(len(counts)), EVERYTHING
    return Finding(*seen, because, effect, remedy)


def classes_follow_time(rest, labels):
    """Return a Finding where a class comes earlier in runs than another, else None.

    Scans of blocks that are not given differ in their times anyhow, and are left to
    `alike_neighbors`.
    """
    if labels.groups is None or not labels.trained or _in_stretches(labels):
        return None
    place = position_in_run(labels)
    tests = [time_test(place**power, labels) for power in (1, 2)]
    test = min(tests, key=lambda each: each.p_value)
    probable = [each for each in tests if each.p_value <= _PROBABLY]
    drift = next((each for each in probable if drifts(rest, each.scores, labels)), None)
    if drift is None and test.p_value > _SURELY:
        return None
    test = drift or test
    because = (
        "some classes come earlier in runs than others (class explains "
        f"{test.share:.0%} of the variance of the position in a run), {_LOOKS}"
    )
    effect = _IF_CHANGING
    if drift is not None:
        because += ", and the samples do change in the course of runs"
        effect = TOO_OPTIMISTIC
    remedy = (
        "give the position in its run of every sample to "
        "neuroextrap.decoding.trial_confound"
    )
    if labels.order is None:
        remedy = f"{_LISTED}; otherwise {remedy}"
    seen = ("classes_follow_time", "doubtful", test.share, EVERYTHING)
    return Finding(*seen, because, effect, remedy)


def _in_stretches(labels):
    """Return whether classes change less than .4 as often as in random order."""
    if labels.blocks is not None:
        return False
    rows, run = runs_in_time(labels.groups, labels.order)
    within = run[1:] == run[:-1]
    changes = np.mean((np.diff(labels.codes[rows]) != 0)[within]) if any(within) else 1
    frequency = np.bincount(labels.codes) / len(labels.codes)
    return changes < _SELDOM * (1 - np.square(frequency).sum())


class TimeTest(NamedTuple):
    """Whether classes differ in a score of time, as permuted labels would by chance."""

    p_value: float
    share: float  # of the variance of the scores that classes explain
    scores: np.ndarray  # of the samples, without means of what is exchanged, (n,)


def time_test(scores, labels):
    """Compare mean scores (n_samples,) of classes, with labels exchanged at random.

    The generalized Cochran-Mantel-Haenszel test (Landis, Heyman & Koch 1978).
    """
    units = np.arange(len(scores)) if labels.units is None else labels.units
    first = np.unique(units, return_index=True)[1]
    cell, codes = row_codes(labels.exchanged)[first], labels.codes[first]
    of_units = means_of(scores[:, None], units)
    of_units = (of_units - means_of(of_units, cell)[cell]).ravel()
    size = np.bincount(cell)
    spread = np.bincount(cell, of_units**2) / np.maximum(size - 1, 1)
    counts = counts_of(cell, codes)  # (n_cells, n_classes)
    sums = np.bincount(codes, of_units)
    shares = counts / size[:, None]
    covariance = np.diag(spread @ counts) - (counts * spread[:, None]).T @ shares
    rank = np.linalg.matrix_rank(covariance, hermitian=True)
    if not rank:
        return TimeTest(1.0, 0.0, scores)
    statistic = sums @ np.linalg.pinv(covariance, hermitian=True) @ sums
    share = float((sums**2 / np.bincount(codes)).sum() / np.square(of_units).sum())
    return TimeTest(float(chi2.sf(statistic, rank)), share, of_units[units])


def drifts(rest, scores, labels):
    """Return whether samples change with scores of time (n_samples,) alike in all runs.

    Slow noise of each run its own is none: its signs, and so products, are random.
    """
    if rest is None or len(rest) > _MOST_SAMPLES:
        return False
    patterns = members(row_codes(labels.groups)) @ (rest * scores[:, None])
    products = patterns @ patterns.T
    np.fill_diagonal(products, 0.0)
    return bool(products.sum() > _CHANGES * np.sqrt(2 * np.square(products).sum()))


def position_in_run(labels):
    """Return the place of samples in their run, -1 (first) to 1 (last); 0 if alone."""
    rows, run = runs_in_time(labels.groups, labels.order)
    size = np.bincount(run)[run]
    rank = np.arange(len(run)) - np.searchsorted(run, run)
    place = np.empty(len(run))
    place[rows] = (2 * rank + 1 - size) / np.maximum(size - 1, 1)
    return place


def order_agreement(codes, groups, order=None):
    """Return how much runs agree in the order of classes, 0 to 1; None if by chance."""
    if groups is None:
        return None
    rows, run = runs_in_time(groups, order)
    runs = np.split(codes[rows], np.flatnonzero(np.diff(run)) + 1)
    observed = _agreement(runs)
    if observed <= _LARGE_AGREEMENT:
        return None
    rng, chance = np.random.default_rng(0), []
    for _ in range(_SHUFFLES):
        chance.append(_agreement([rng.permutation(run) for run in runs]))
        if observed == 1 > chance[-1]:
            return 1.0
        if observed < 1 and chance[-1] >= observed:
            return None
    mean = np.mean(chance)
    excess = float((observed - mean) / (1 - mean)) if mean < 1 else 0.0
    return excess if excess > _LARGE_AGREEMENT else None


def _agreement(runs):
    """Return the proportion of pairs of runs with the same class at a position."""
    position = np.concatenate([np.arange(len(run)) for run in runs])
    codes = np.concatenate(runs)
    counts = counts_of(position, codes)
    n_runs = counts.sum(axis=1)
    pairs = (n_runs * (n_runs - 1)).sum()
    return float((counts * (counts - 1)).sum() / pairs) if pairs else 0.0


def runs_out_of_time(groups):
    """Return Findings, 0 or 1, where numbers of runs do not rise with the rows."""
    names, first = np.unique(groups, return_index=True)
    parts = [re.split(r"(\d+(?:\.\d+)?)(?=\D*$)", str(name)) for name in names]
    if len({(part[0], part[-1], len(part)) for part in parts}) > 1 or len(parts[0]) < 3:
        return ()
    order = np.argsort(first)
    numbers = np.array([float(part[1]) for part in parts])[order]
    if (np.diff(numbers) > 0).all():
        return ()
    shown = ", ".join(str(name) for name in names[order][:5])
    because = f"the rows list the runs in another order than their numbers ({shown}...)"
    effect = "e-values, which test runs in this order, may fail when runs are added"
    remedy = "sort the samples by the time at which they were measured"
    n_backward = float((np.diff(numbers) < 0).sum())
    seen = "runs_out_of_time", "doubtful", n_backward, ("e_value*",)
    return (Finding(*seen, because, effect, remedy),)
