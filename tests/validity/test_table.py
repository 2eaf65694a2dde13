"""The checks of the validity table, with few simulated sets."""

import re

import numpy as np
import pytest
from scipy import stats

from benchmarks.validity import __main__ as runner
from benchmarks.validity import results
from benchmarks.validity.registry import CHECKS, Row

CLEAR = 1e-6  # with few sets, only a clear failure counts
every_check = pytest.mark.parametrize("check", CHECKS.values(), ids=list(CHECKS))


@every_check
def test_no_guarantee_clearly_fails(check):
    rows = check.rows(quick=True)
    assert rows
    failing = [row for row in rows if row.verdict(CLEAR) == "fails"]
    assert [(row.guarantee, row.design, row.measured) for row in failing] == []
    for row in rows:  # a promise that is always broken would be found
        if row.is_count and row.in_scope:
            broken = np.ones(len(row.values))
            always = Row(row.guarantee, row.design, broken, nominal=row.nominal)
            assert always.verdict(CLEAR) == "fails", (row.design, len(broken))


def test_a_check_draws_the_same_numbers_again_and_others_do_not_matter():
    binomial = CHECKS["binomial"]
    first, again = (binomial.rows(quick=True)[0].values for _ in range(2))
    np.testing.assert_array_equal(first, again)
    other = binomial.rows(quick=True, seed=1)[0].values
    assert (first != other).any()


def test_counts_have_the_exact_interval_and_chance():
    row = Row("promise", "design", np.repeat([0, 1], [90, 10]))
    low, high = row.interval()
    assert low == pytest.approx(stats.beta.ppf(0.005, 10, 91))
    assert high == pytest.approx(stats.beta.ppf(0.995, 11, 90))
    exact = sum(stats.binom.pmf(k, 100, 0.05) for k in range(10, 101))
    assert row.chance() == pytest.approx(exact)
    assert row.verdict() == "holds"
    assert Row("", "", np.repeat([0, 1], [80, 20])).verdict() == "fails"


def test_shares_have_the_normal_interval_of_their_mean():
    values = np.array([0.0, 0.5, 0.25, 0.25])
    row = Row("promise", "design", values, nominal=0.1)
    error = values.std(ddof=1) / 2
    assert row.interval()[1] == pytest.approx(0.25 + 2.5758293 * error)
    assert row.chance() == pytest.approx(stats.norm.sf(0.15 / error))


def test_out_of_scope_neither_holds_nor_fails():
    assert Row("", "", np.ones(50), in_scope=False).verdict() == "out of scope"


@pytest.mark.parametrize("values", [[0.1, np.nan], [0.1], [[0.1, 0.2]]])
def test_missing_values_are_an_error(values):
    with pytest.raises(ValueError, match="two or more numbers"):
        Row("promise", "design", values)


def test_the_page_shows_the_results_and_every_check_has_some():
    kept = results.read()
    assert set(kept) == set(CHECKS), "run python -m benchmarks.validity --only NAME"
    page = results.PAGE.read_text(encoding="utf-8")
    assert page.endswith(results.tables(kept))
    assert "fails" not in re.findall(r'"(\w+)"$', page, flags=re.MULTILINE)


def test_quick_runs_keep_nothing(capsys, monkeypatch):
    def refuse(_):
        raise AssertionError

    monkeypatch.setattr(results, "write", refuse)
    arguments = ["--quick", "--only", "binomial", "--n-jobs", "1", "--seed", "3"]
    assert runner.main(arguments) == 0
    printed = capsys.readouterr().out
    assert "[1/1, " in printed
    assert "96 points, 8 classes" in printed
    assert printed.endswith("0 rows fail\n")


def test_results_are_written_in_the_order_of_the_checks(tmp_path, monkeypatch):
    monkeypatch.setattr(results, "RESULTS", tmp_path / "results.json")
    monkeypatch.setattr(results, "PAGE", tmp_path / "page.rst")
    before = f"Above\n\n{results.MARK}a former table\n"
    results.PAGE.write_text(before, encoding="utf-8")
    rows = [results.as_record(Row("promise", "design", np.repeat([0, 1], [99, 1])))]
    run = {**results.provenance(), "seed": 1}
    later = {**run, "date": "2000-01-01"}
    last, first = list(CHECKS)[3], next(iter(CHECKS))
    results.write(
        {
            last: {"run": run, "rows": rows},
            "former_check": {"run": run, "rows": rows},
            first: {"run": later, "rows": rows},
        }
    )
    assert list(results.read()) == [first, last]
    page = results.PAGE.read_text(encoding="utf-8")
    assert page.startswith(f"Above\n\n{results.MARK}\n2 rows: 2 hold, 0 fail")
    assert '"promise", "design", "0.05", "0.010"' in page
    assert f"``{last}``: Run on {run['date']}" in page
    assert "a former table" not in page


def test_numbers_below_zero_have_as_many_digits_as_others():
    row = Row("promise", "design", np.array([-0.2314, 0.2314, -0.6942]), nominal=0.0)
    run = {**results.provenance(), "seed": 1}
    record = {"run": run, "rows": [results.as_record(row)]}
    assert '"-0.231"' in results.tables({next(iter(CHECKS)): record})
