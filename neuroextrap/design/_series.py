"""Test responses that follow each other in time: how they are exchanged, and doubts."""

import warnings
from itertools import pairwise

import numpy as np
import scipy.fft

from neuroextrap import stats
from neuroextrap.design._doubts import Doubt
from neuroextrap.stats._permutation import shift_rows

EXCHANGES = ("rows", "shifts")
_MOST_COLUMNS = 32
_MOST_LAGS = 30
_SHUFFLES = 99
_SMALLEST_INFLATION = 1.1
_FEWEST_INDEPENDENT = 20
"""Rows of a run, divided by the inflation, of which shifts keep the level."""


def exchanged(codes, *, exchange, groups, n_permutations, random_state):
    """Return other pairings (n_permutations, n_test) of responses and stimuli.

    `codes` (n_test,) are the stimuli. By "rows" stimuli change places within groups,
    all repeats of one together; by "shifts" the series of each group as a whole.
    """
    if exchange not in EXCHANGES:
        raise ValueError(f"exchange={exchange!r} must be one of {EXCHANGES}")
    given = {
        "groups": groups,
        "n_permutations": n_permutations,
        "random_state": random_state,
    }
    repeated = len(np.unique(codes)) < len(codes)
    if exchange == "rows":
        return stats.permute_labels(codes, blocks=codes if repeated else None, **given)
    if repeated:
        raise ValueError(
            "exchange='shifts' needs one response to each stimulus: a series that is "
            "repeated is no longer one if each repeat is shifted by itself; give "
            "repeats='average' (and groups=None if the repeats are the runs)"
        )
    return codes[shift_rows(len(codes), groups, n_permutations, random_state)]


def doubts_of_series(responses, predictions, groups, *, exchange):
    """Return a Doubt where rows depend on their neighbors, against their exchange.

    The arguments are those of :func:`neighbor_inflation` and :func:`exchanged`.
    """
    inflation = neighbor_inflation(responses, predictions, groups)
    if exchange == "rows":
        if inflation is None or inflation < _SMALLEST_INFLATION:
            return ()
        return (
            Doubt(
                "test responses that follow each other depend on each other, and so do "
                "their predictions",
                "test responses that follow each other depend on each other beyond "
                "what is predicted, and so do their predictions, as in recordings of "
                f"a film or a story (correlations have {inflation:.1f} times the "
                "variance that they have in independent rows): exchanged one by one, "
                "they make p-values too small; give exchange='shifts', with responses "
                "in the order of acquisition",
            ),
        )
    runs = _runs(len(responses), groups)
    needed = _FEWEST_INDEPENDENT * (inflation or 1)
    shortest = min(map(len, runs))
    if inflation is not None and shortest < needed:
        return (
            Doubt(
                "the runs of test responses are short for how long these depend on "
                "their neighbors",
                f"the shortest run has {shortest} test responses, fewer than the "
                f"{needed:.0f} that circular shifts need where neighbors depend on "
                "each other as they do here: p-values are somewhat too small; test "
                "longer runs",
                of_bounds=False,
            ),
        )
    if all(_has_trend(values, runs) for values in (responses, predictions)):
        return (
            Doubt(
                "test responses and their predictions change steadily in the course "
                "of a run",
                "test responses and their predictions both have trends in the course "
                "of a run, which shifts destroy, so that p-values are too small: "
                "remove trends from the responses first (detrend, or high-pass filter)",
                of_bounds=False,
            ),
        )
    return ()


def neighbor_inflation(responses, predictions, groups=None):
    """Return by how much dependence of rows inflates the variance of correlations.

    Where rows t of the responses y and of the predictions f are independent of one
    another, both with autocorrelation, the correlation of y and f has ::

        1 + 2 * sum_k r_y(k) r_f(k)

    times the variance that it has if rows are exchanged freely (Bartlett 1946), here
    averaged over columns. What the predictions explain of a column is first subtracted
    from the responses, and the means of runs from both. Lags stay within runs, and are
    at most a third of the longest one. None if the inflation could be chance: if one of
    99 free orders of the responses, or of the predictions, gives as much. Trials whose
    stimuli came in random order are therefore accepted, however much their noise
    depends on time.

    `responses` and `predictions` have shape (n_rows, n_columns), in the order of
    acquisition within each of `groups` (n_rows,).
    """
    runs = _runs(len(responses), groups)
    n_lags = min(_MOST_LAGS, max(map(len, runs)) // 3)
    y, f = (_scaled(_some(values), runs) for values in (responses, predictions))
    y = _scaled(y - f * (y * f).sum(axis=0), runs)
    varies = y.any(axis=0) & f.any(axis=0)
    if n_lags < 1 or not varies.any():
        return None
    y, f = y[:, varies], f[:, varies]
    of_y, of_f = (_autocorrelation(values, runs, n_lags) for values in (y, f))
    observed = _inflation(of_y, of_f)
    rng = np.random.default_rng(0)
    for _ in range(_SHUFFLES):
        order = np.concatenate([rng.permutation(run) for run in runs])
        place = np.concatenate(runs)
        for values, other in ((y, of_f), (f, of_y)):
            mixed = np.empty_like(values)
            mixed[place] = values[order]
            if _inflation(_autocorrelation(mixed, runs, n_lags), other) >= observed:
                return None
    return observed


def _has_trend(values, runs):
    """Return whether columns have larger linear trends in runs than if shifted."""
    columns = _scaled(_some(values), runs)
    time = np.concatenate([np.linspace(-1, 1, len(run)) for run in runs])
    groups = np.empty(len(values))
    for number, run in enumerate(runs):
        groups[run] = number
    with warnings.catch_warnings():  # few shifts are enough to compare with
        warnings.simplefilter("ignore", UserWarning)
        others = shift_rows(len(values), groups, _SHUFFLES, 0)
    place = np.concatenate(runs)
    trends = [
        np.square(time @ columns[order[place]]).sum()
        for order in (np.arange(len(values)), *others)
    ]
    return trends[0] > max(trends[1:])


def _some(values):
    """Return a few of the columns of (n_rows, n_columns)."""
    return values[:, :: -(-values.shape[1] // _MOST_COLUMNS)]


def _runs(n_rows, groups):
    """Return the rows of every run, in their order."""
    codes = np.zeros(n_rows) if groups is None else groups
    rows = np.argsort(np.unique(codes, return_inverse=True)[1], kind="stable")
    edges = np.cumsum(np.unique(codes, return_counts=True)[1])
    return [rows[a:b] for a, b in pairwise([0, *edges])]


def _scaled(values, runs):
    """Return columns without the means of runs, of length one; zero if constant."""
    rest = np.array(values, dtype=float)
    for run in runs:
        rest[run] -= rest[run].mean(axis=0)
    length = np.sqrt(np.square(rest).sum(axis=0))
    return np.where(length > 0, rest / np.where(length > 0, length, 1), 0)


def _autocorrelation(values, runs, n_lags):
    """Return the autocorrelation of every column within runs, (n_lags, n_columns)."""
    total = np.zeros((n_lags, values.shape[1]))
    for run in runs:
        n_lags_of_run = min(n_lags, len(run) - 1)
        size = scipy.fft.next_fast_len(len(run) + n_lags_of_run, real=True)
        spectrum = scipy.fft.rfft(values[run], size, axis=0)
        lagged = scipy.fft.irfft(np.abs(spectrum) ** 2, size, axis=0)
        total[:n_lags_of_run] += lagged[1 : n_lags_of_run + 1]
    return total


def _inflation(first, second):
    """Return the inflation by two autocorrelations (n_lags, n_columns)."""
    return float(1 + 2 * (first * second).sum(axis=0).mean())
