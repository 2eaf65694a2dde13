"""Test responses that follow each other in time: their exchange, and findings."""

import numpy as np
import scipy.fft

from neuroextrap import stats
from neuroextrap.design._findings import P_VALUES, TOO_SMALL, Finding
from neuroextrap.design._folds import (
    means_of,
    of_unit_length,
    runs_in_time,
    some_columns,
)
from neuroextrap.stats._permutation import shift_rows
from neuroextrap.stats._validation import brief

EXCHANGES = ("rows", "shifts")
_MOST_COLUMNS, _MOST_LAGS, _SHUFFLES = 32, 30, 199
_SMALLEST_INFLATION = 1.1
_FEWEST_INDEPENDENT = 20  # rows of a run over the inflation, for shifts
_LENGTHS = 5  # of a block, in the rows over which neighbors correlate


def check_exchange(exchange):
    """Raise ValueError unless `exchange` is a name or a number of rows."""
    named = isinstance(exchange, str) and exchange in EXCHANGES
    whole = isinstance(exchange, (int, np.integer)) and not isinstance(exchange, bool)
    if not named and not (whole and exchange > 0):
        raise ValueError(
            f"exchange={brief(exchange)} is unknown; choose one of {EXCHANGES}, or a "
            "whole number of rows that are exchanged as one block"
        )


def exchanged(codes, *, exchange, groups, n_permutations, random_state):
    """Return other pairings (n_permutations, n_test) of responses and stimuli.

    Stimuli `codes` (n_test,) change places by "rows", repeats together, by "shifts" of
    whole series, or by blocks of so many rows.
    """
    check_exchange(exchange)
    given = {"n_permutations": n_permutations, "random_state": random_state}
    repeated = len(np.unique(codes)) < len(codes)
    if exchange == "rows":
        blocks = codes if repeated else None
        return stats.permute_labels(codes, groups=groups, blocks=blocks, **given)
    if repeated:
        raise ValueError(
            f"exchange={exchange!r} needs one response to each stimulus, because "
            "repeats of a series must move together; give repeats='average' (and "
            "groups=None if the repeats are the runs)"
        )
    if exchange == "shifts":
        return codes[shift_rows(len(codes), groups, **given)]
    return _exchanged_blocks(codes, exchange, groups, given)


def _exchanged_blocks(codes, length, groups, given):
    """Return pairings by the exchange of blocks of consecutive rows within runs."""
    rows, run = _by_run(len(codes), groups)
    place = np.arange(len(rows)) - np.searchsorted(run, run)  # in the run
    first = np.flatnonzero(place % length == 0)
    blocks = np.split(rows, first[1:])
    orders = stats.permute_labels(range(len(blocks)), groups=run[first], **given)
    pairings = np.empty((len(orders), len(codes)), codes.dtype)
    for order, pairing in zip(orders, pairings, strict=True):
        pairing[rows] = codes[np.concatenate([blocks[i] for i in order])]
    return pairings


OF_RESPONSES = ("test responses", "is predicted", "their predictions")
OF_TARGETS = ("samples", "their targets explain", "the targets")


def findings_of_series(responses, predictions, groups, *, exchange, words=OF_RESPONSES):
    """Return Findings, 0 or 1, about exchanging rows that depend on their neighbors."""
    rows_word, explained, others = words
    if not responses.shape[1]:
        return ()
    inflation = neighbor_inflation(responses, predictions, groups) or 1.0
    shortest = np.bincount(_by_run(len(responses), groups)[1]).min()
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
    rows, run = _by_run(len(responses), groups)
    n_lags = min(_MOST_LAGS, np.bincount(run).max() // 3)
    y, f = (_scaled(values[rows], run) for values in (responses, predictions))
    y = _scaled(y - f * (y * f).sum(axis=0), run)
    place = np.arange(len(y)) + n_lags * run  # zeros between runs
    of_y, of_f = (_autocorrelation(values, place, n_lags) for values in (y, f))
    observed, rng = _inflation(of_y, of_f), np.random.default_rng(0)
    for _ in range(_SHUFFLES):
        order = np.lexsort((rng.random(len(y)), run))
        for values, other in ((y, of_f), (f, of_y)):
            mixed = _autocorrelation(values[order], place, n_lags)
            if _inflation(mixed, other) >= observed:
                return None
    return observed


def correlation_length(responses, predictions, groups=None):
    """Return the lag by which autocorrelation of both series has fallen to 1/e."""
    rows, run = _by_run(len(responses), groups)
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
    rows, run = _by_run(len(values), groups)
    columns, sizes, trends = _scaled(values[rows], run), np.bincount(run), []
    for part in np.linspace(0, 1, 1 + _SHUFFLES):
        time = [
            np.roll(np.linspace(-1, 1, size), int(np.ceil(part * (size - 1))))
            for size in sizes
        ]
        trends.append(np.square(np.concatenate(time) @ columns).sum())
    return trends[0] > max(trends[1:])


def _by_run(n_rows, groups):
    """Return the rows ordered by run, and the run of each, as codes."""
    return runs_in_time(np.zeros(n_rows) if groups is None else groups)


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
