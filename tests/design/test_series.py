"""Test responses that follow each other in time."""

import numpy as np
import pytest
from scipy.signal import lfilter

from tests.design.seam import exchanged, findings_of_series, neighbor_inflation


def series(rng, n_rows, correlation, n_columns=6):
    """Return autoregressive columns whose neighbors have a correlation."""
    noise = rng.normal(size=(n_rows + 100, n_columns))
    return lfilter([1], [1, -correlation], noise, axis=0)[100:]


def naive_inflation(y, f, groups, n_lags):
    """Compute the inflation by loops over columns, lags and rows."""
    found = []
    for column in range(y.shape[1]):
        a, b = y[:, column].copy(), f[:, column].copy()
        for group in np.unique(groups):
            a[groups == group] -= a[groups == group].mean()
            b[groups == group] -= b[groups == group].mean()
        a -= b * (a @ b) / (b @ b)
        a, b = a / np.sqrt(a @ a), b / np.sqrt(b @ b)
        inflation = 1
        for lag in range(1, n_lags + 1):
            pairs = [(t, t + lag) for t in range(len(a) - lag)]
            pairs = [(t, u) for t, u in pairs if groups[t] == groups[u]]
            inflation += (
                2
                * sum(a[t] * a[u] for t, u in pairs)
                * sum(b[t] * b[u] for t, u in pairs)
            )
        found.append(inflation)
    return np.mean(found)


def test_inflation_is_that_of_the_formula():
    """Lags stay within runs, and are at most a third of the longest one."""
    rng = np.random.default_rng(0)
    y, f, groups = series(rng, 60, 0.9), series(rng, 60, 0.9), np.repeat([0, 1], 30)
    found = neighbor_inflation(y, f, groups)
    assert found == pytest.approx(naive_inflation(y, f, groups, 10))


def test_order_of_runs_in_the_table_does_not_matter():
    """Rows of several runs may alternate."""
    rng = np.random.default_rng(1)
    y, f, groups = series(rng, 80, 0.9), series(rng, 80, 0.9), np.repeat([0, 1], 40)
    mixed = np.arange(80).reshape(2, 40).T.ravel()
    expected = neighbor_inflation(y, f, groups)
    assert neighbor_inflation(y[mixed], f[mixed], groups[mixed]) == pytest.approx(
        expected
    )


@pytest.mark.parametrize("n_rows", [30, 100, 300])
def test_series_are_found(n_rows):
    """Where responses and predictions are AR(0.9)."""
    rng = np.random.default_rng(2)
    found = neighbor_inflation(series(rng, n_rows, 0.9), series(rng, n_rows, 0.9))
    assert found > 1.5


SILENT = {
    "independent rows": (0.0, 0.0),
    "slow noise, stimuli in random order": (0.9, 0.0),
    "independent noise, a table sorted by name": (0.0, 0.9),
}


@pytest.mark.parametrize("case", SILENT)
def test_exchangeable_rows_are_accepted(case):
    """No alarm in 60 sets, whether or not responses are predicted."""
    rng = np.random.default_rng(3)
    of_responses, of_predictions = SILENT[case]
    alarms = 0
    for number in range(60):
        f = series(rng, 40, of_predictions)
        y = series(rng, 40, of_responses) + (number % 2) * f
        alarms += len(findings_of_series(y, f, None, exchange="rows"))
    assert alarms <= 2


def test_constant_columns_and_short_tables_are_accepted():
    """There is nothing to be seen of them."""
    rng = np.random.default_rng(4)
    y = series(rng, 30, 0.9)
    assert neighbor_inflation(y, np.ones_like(y)) is None
    assert neighbor_inflation(y[:2], y[:2] + 1) is None
    assert not findings_of_series(y[:, :0], y[:, :0], None, exchange="rows")


def test_findings_name_the_remedy():
    """Free exchange of a series, shifts of a short one, and shifts of trends."""
    rng = np.random.default_rng(5)
    y, f = series(rng, 40, 0.9), series(rng, 40, 0.9)
    time = np.linspace(-2, 2, 150)[:, None]
    drifts = rng.normal(size=(2, 150, 6)) + time
    cases = {
        "exchange='shifts'": findings_of_series(y, f, None, exchange="rows"),
        "test longer runs": findings_of_series(y, f, None, exchange="shifts"),
        "high-pass filter": findings_of_series(*drifts, None, exchange="shifts"),
    }
    for remedy, (found,) in cases.items():
        assert remedy in found.note


def test_long_stationary_series_can_be_shifted():
    """Nothing is found."""
    rng = np.random.default_rng(6)
    y, f = series(rng, 300, 0.7), series(rng, 300, 0.7)
    assert findings_of_series(y, f, None, exchange="rows")
    assert not findings_of_series(y, f, None, exchange="shifts")


def test_shifts_are_circular_within_runs():
    """Every order is a shift of each run by an offset of its own."""
    codes, groups = np.array([5, 1, 4, 2, 0, 3]), np.array([7, 7, 7, 7, 2, 2])
    with pytest.warns(UserWarning, match="only 7 other shifts.* below 0.125"):
        shifted = exchanged(
            codes, exchange="shifts", groups=groups, n_permutations=99, random_state=0
        )
    expected = {
        (*np.roll(codes[:4], i).tolist(), *np.roll(codes[4:], j).tolist())
        for i in range(4)
        for j in range(2)
    } - {tuple(codes.tolist())}
    assert {tuple(row) for row in shifted.tolist()} == expected
    assert len(shifted) == 7


def test_many_runs_are_drawn():
    """Each run has an offset of its own."""
    codes, groups = np.arange(400), np.repeat(np.arange(10), 40)
    shifted = exchanged(
        codes, exchange="shifts", groups=groups, n_permutations=50, random_state=0
    )
    assert len(np.unique(shifted, axis=0)) == len(shifted) == 50
    for row in shifted:
        offsets = (row - codes) % 40
        assert (groups[row] == groups).all()
        assert all(len(set(offsets[groups == g])) == 1 for g in range(10))
        assert offsets.any()


@pytest.mark.parametrize(
    ("codes", "exchange", "message"),
    [
        ([0, 1, 2, 0], "shifts", "one response to each stimulus"),
        ([0, 1, 2, 3], "blocks", "exchange='blocks' is unknown; choose one of"),
    ],
)
def test_what_cannot_be_exchanged(codes, exchange, message):
    """Errors say what to do."""
    with pytest.raises(ValueError, match=message):
        exchanged(
            np.array(codes),
            exchange=exchange,
            groups=None,
            n_permutations=3,
            random_state=0,
        )


def test_single_rows_cannot_be_shifted():
    """Groups of one row have no order."""
    with pytest.raises(ValueError, match="nothing can be shifted"):
        exchanged(
            np.arange(3),
            exchange="shifts",
            groups=np.arange(3),
            n_permutations=3,
            random_state=0,
        )
