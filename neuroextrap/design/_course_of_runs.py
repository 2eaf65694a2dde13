"""What follows the course of runs: classes, samples, and responses in series."""

import re
from typing import NamedTuple

import numpy as np
import scipy.fft
from scipy.stats import chi2

from neuroextrap.design._findings import (
    BOUNDS,
    EVERYTHING,
    P_VALUES,
    TOO_OPTIMISTIC,
    TOO_SMALL,
    Finding,
)
from neuroextrap.design._folds import (
    counts_of,
    means_of,
    of_unit_length,
    rows_by_run,
    some_columns,
)
from neuroextrap.stats._pvalues import LEVEL

_SHUFFLES = 99
_LARGE_AGREEMENT = 0.5
_FEWEST_SORTED = 5  # samples of a class; fewer may come in a row by chance
_SURELY = 1e-3  # p-value at which classes are said to follow the time in runs,
_PROBABLY = LEVEL  # and where the samples change in the course of runs
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


def same_order(labels):
    """Return a Finding where classes come in (nearly) the same order in all runs."""
    if labels.groups is None:
        return None
    rows, run = labels.in_time
    agreement = order_agreement(labels.codes[rows], run)
    if agreement is None:
        return None
    how = "the same" if agreement == 1 else "nearly the same"
    remedy = "only an experiment with another order in each run can tell"
    if labels.order is None:
        remedy = f"{_LISTED}; otherwise {remedy}"
    because = f"the classes come in {how} order in all runs, {_LOOKS}"
    seen = "same_order", "doubtful", agreement, EVERYTHING
    return Finding(*seen, because, _IF_CHANGING, remedy)


def classes_in_turn(labels):
    """Return a Finding where no runs are given and classes come one after the other."""
    order, counts = labels.order, np.bincount(labels.codes)
    if labels.groups is not None or not labels.trained or counts.min() < _FEWEST_SORTED:
        return None
    rows = slice(None) if order is None else np.argsort(order, kind="stable")
    if np.count_nonzero(np.diff(labels.codes[rows])) >= len(counts):
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
    rows, run = labels.in_time
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
    cell = np.unique(labels.exchanged, return_inverse=True)[1][first]
    codes, size = labels.codes[first], np.bincount(cell)
    of_units = np.bincount(units, scores) / np.bincount(units)
    of_units -= (np.bincount(cell, of_units) / size)[cell]
    spread = np.bincount(cell, of_units**2) / np.maximum(size - 1, 1)
    sums = np.bincount(codes, of_units)
    counts = np.zeros((len(size), len(sums)), dtype=int)
    np.add.at(counts, (cell, codes), 1)
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
    rows, run = labels.in_time
    first = np.flatnonzero(np.diff(run, prepend=-1))
    patterns = np.add.reduceat((rest * scores[:, None])[rows], first)
    products = patterns @ patterns.T
    np.fill_diagonal(products, 0.0)
    return bool(products.sum() > _CHANGES * np.sqrt(2 * np.square(products).sum()))


def position_in_run(labels):
    """Return the place of samples in their run, -1 (first) to 1 (last); 0 if alone."""
    rows, run = labels.in_time
    size = np.bincount(run)[run]
    rank = np.arange(len(run)) - np.searchsorted(run, run)
    place = np.empty(len(run))
    place[rows] = (2 * rank + 1 - size) / np.maximum(size - 1, 1)
    return place


def order_agreement(codes, run):
    """Return how much runs agree in the order of classes, 0 to 1; None if by chance.

    The codes are in the order of runs and of time.
    """
    runs = np.split(codes, np.flatnonzero(np.diff(run)) + 1)
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
    counts = counts_of(position, np.concatenate(runs))
    n_runs = counts.sum(axis=1)
    pairs = (n_runs * (n_runs - 1)).sum()
    return float((counts * (counts - 1)).sum() / pairs) if pairs else 0.0


def runs_out_of_time(groups):
    """Return a Finding where numbers of runs do not rise with the rows, else None."""
    names, first = np.unique(groups, return_index=True)
    parts = [re.split(r"(\d+(?:\.\d+)?)(?=\D*$)", str(name)) for name in names]
    if len({(part[0], part[-1], len(part)) for part in parts}) > 1 or len(parts[0]) < 3:
        return None
    order = np.argsort(first)
    steps = np.diff([float(parts[i][1]) for i in order])
    if (steps > 0).all():
        return None
    first_runs = ", ".join(map(str, names[order][:5]))
    because = (
        f"the rows list the runs in another order than their numbers ({first_runs}...)"
    )
    effect = "e-values, which test runs in this order, may fail when runs are added"
    remedy = "sort the samples by the time at which they were measured"
    seen = "runs_out_of_time", "doubtful", float((steps < 0).sum()), ("e_value*",)
    return Finding(*seen, because, effect, remedy)


_FEWEST_PAIRS = 8
_SMALLEST_CORRELATION = 0.05
_ERRORS = 3.0
_OF_NEIGHBORS = (
    "lower bounds may be too large and, unless their order was random, p-values too "
    "small"
)
_AVERAGE = (
    "average them (fit_events(samples='blocks')), or give blocks=... with one number "
    "per block"
)


def alike_neighbors(rest, labels):
    """Return a Finding where neighboring samples correlate beyond class and run."""
    if rest is None or labels.blocks is not None:
        return None
    correlation = neighbor_correlation(rest, labels)
    if correlation is None:
        return None
    because = (
        "neighboring samples of one class depend on each other, as scans of one block "
        f"or overlapping trials do (they correlate {correlation:.2f} beyond their "
        "class and run)"
    )
    seen = "correlated_neighbors", "doubtful", correlation, P_VALUES + BOUNDS
    return Finding(*seen, because, _OF_NEIGHBORS, _AVERAGE)


def neighbor_correlation(rest, labels):
    """Return the mean correlation of neighbors of a class in a run; None if small."""
    first = np.flatnonzero(np.diff(labels.cells) == 0)
    if len(first) < _FEWEST_PAIRS or not rest.shape[1]:
        return None
    products = np.einsum("if,if->i", rest[first], rest[first + 1]) / rest.shape[1]
    mean, error = products.mean(), products.std(ddof=1) / np.sqrt(len(products))
    return float(mean) if mean - _ERRORS * error > _SMALLEST_CORRELATION else None


_MOST_COLUMNS, _MOST_LAGS, _REORDERED = 32, 30, 199
_SMALLEST_INFLATION = 1.1
_FEWEST_INDEPENDENT = 20  # rows of a run over the inflation, for shifts
_LENGTHS = 5  # of a block, in the rows over which neighbors correlate
OF_RESPONSES = ("test responses", "is predicted", "their predictions")
OF_TARGETS = ("samples", "their targets explain", "the targets")


def findings_of_series(responses, predictions, groups, *, exchange, words=OF_RESPONSES):
    """Return Findings, 0 or 1, about exchanging rows that depend on their neighbors."""
    rows_word, explained, others = words
    if not responses.shape[1]:
        return ()
    inflation = neighbor_inflation(responses, predictions, groups) or 1.0
    shortest = np.bincount(rows_by_run(len(responses), groups)[1]).min()
    effect = "p-values may be too small"
    if exchange == "rows" and inflation >= _SMALLEST_INFLATION:
        because = (
            f"{rows_word} that follow each other depend on each other beyond what "
            f"{explained}, and so do {others}, as in a film or a story "
            f"(correlations have {inflation:.1f} times the variance that they have in "
            "independent rows)"
        )
        effect = TOO_SMALL
        remedy = f"give exchange='shifts', with {rows_word} in the order of acquisition"
    elif exchange == "rows":
        return ()
    elif exchange != "shifts":
        length = correlation_length(responses, predictions, groups)
        if inflation < _SMALLEST_INFLATION or exchange >= _LENGTHS * length:
            return ()
        because = (
            f"blocks of {exchange} {rows_word} are short for the {length} over which "
            "neighbors depend on each other"
        )
        remedy = "exchange longer blocks, or circular shifts of whole runs"
    elif inflation > 1 and shortest < _FEWEST_INDEPENDENT * inflation:
        because = (
            f"runs of {shortest} {rows_word} are short for how long neighbors "
            "depend on each other, and circular shifts join their ends"
        )
        remedy = "test longer runs"
    elif all(_has_trend(values, groups) for values in (responses, predictions)):
        because = f"{rows_word} and {others} both have trends, which shifts break"
        remedy = f"remove trends (detrend the {rows_word}, or high-pass filter them)"
    else:
        return ()
    seen = ("correlated_neighbors", "doubtful", inflation, P_VALUES)
    return (Finding(*seen, because, effect, remedy),)


def neighbor_inflation(responses, predictions, groups=None):
    """Return by how much dependence of rows inflates the variance of correlations.

    1 + 2 * sum_k r_y(k) r_f(k) of responses y and predictions f (Bartlett 1946), mean
    over columns. None if one of 199 free orders gives as much: noise may depend on time
    where stimuli come in random order.
    """
    rows, run = rows_by_run(len(responses), groups)
    n_lags = min(_MOST_LAGS, np.bincount(run).max() // 3)
    y, f = (_scaled(values[rows], run) for values in (responses, predictions))
    y = _scaled(y - f * (y * f).sum(axis=0), run)
    place = np.arange(len(y)) + n_lags * run  # zeros between runs
    of_y, of_f = (_autocorrelation(values, place, n_lags) for values in (y, f))
    observed, rng = _inflation(of_y, of_f), np.random.default_rng(0)
    for _ in range(_REORDERED):
        order = np.lexsort((rng.random(len(y)), run))
        for values, other in ((y, of_f), (f, of_y)):
            mixed = _autocorrelation(values[order], place, n_lags)
            if _inflation(mixed, other) >= observed:
                return None
    return observed


def correlation_length(responses, predictions, groups=None):
    """Return the lag by which autocorrelation of both series has fallen to 1/e."""
    rows, run = rows_by_run(len(responses), groups)
    n_lags = max(1, np.bincount(run).max() // 3)
    place, lengths = np.arange(len(rows)) + n_lags * run, []
    for values in (responses, predictions):
        columns = _scaled(values[rows], run)
        n_varying = max(1, columns.any(axis=0).sum())  # constant ones are all zero
        mean = _autocorrelation(columns, place, n_lags).sum(axis=1) / n_varying
        fallen = np.flatnonzero(mean <= np.exp(-1))
        lengths.append(1 + (fallen[0] if fallen.size else n_lags - 1))
    return int(max(lengths))


def _has_trend(values, groups):
    """Return whether columns have larger linear trends in runs than if shifted."""
    rows, run = rows_by_run(len(values), groups)
    columns, sizes, trends = _scaled(values[rows], run), np.bincount(run), []
    for part in np.linspace(0, 1, 1 + _REORDERED):
        time = [
            np.roll(np.linspace(-1, 1, size), int(np.ceil(part * (size - 1))))
            for size in sizes
        ]
        trends.append(np.square(np.concatenate(time) @ columns).sum())
    return trends[0] > max(trends[1:])


def _scaled(values, run):
    """Return some columns, without the means of runs, of length one or zero."""
    some = some_columns(values, _MOST_COLUMNS).astype(float)
    return of_unit_length(some - means_of(some, run)[run], axis=0)


def _autocorrelation(values, place, n_lags):
    """Return the autocorrelation of every column at its places, (n_lags, n_columns)."""
    padded = np.zeros((place[-1] + 1 + n_lags, values.shape[1]))
    padded[place] = values
    size = scipy.fft.next_fast_len(len(padded), real=True)
    spectrum = scipy.fft.rfft(padded, size, axis=0)
    power = scipy.fft.irfft(np.abs(spectrum) ** 2, size, axis=0)
    return power[1 : n_lags + 1]


def _inflation(first, second):
    """Return the inflation by two autocorrelations (n_lags, n_columns)."""
    return float(1 + 2 * (first * second).sum(axis=0).mean())
