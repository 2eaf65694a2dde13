"""From participants.tsv, and sessions of everyone, to tests over participants."""

import numpy as np
import pandas as pd
import pytest

from tests.cohorts.seam import (
    find_table,
    make_design,
    mean_motion,
    read_participants,
    resolve_test,
)

NAMES = [f"sub-{k:02d}" for k in range(1, 9)]


@pytest.fixture
def table(tmp_path):
    """A table as people have it: text, n/a, further participants, another order."""
    frame = pd.DataFrame(
        {
            "participant_id": [*NAMES, "sub-99"],
            "group": [*["patients", "controls"] * 4, "patients"],
            "age": ["31", "25", "n/a", "40", "22", "33", "28", "51", "90"],
            "sex": [*"MFFMMFFM", "F"],
            "site": [*"112233", "n/a", "1", "1"],
            "center": ["a", "b", "c", "a", "b", "c", "a", "b", "c"],
        }
    )
    (tmp_path / "dataset_description.json").write_text("{}")
    path = tmp_path / "participants.tsv"
    frame.iloc[::-1].to_csv(path, sep="\t", index=False)
    out = tmp_path / "derivatives" / "out"
    assert find_table(out) == path
    return read_participants(None, out)


def test_groups_and_centered_covariates(table):
    found = make_design(table, NAMES, "patients - controls", ["age", "sex"])
    assert found.left_out == {"sub-03": "no age in the table of participants"}
    rows = found.table
    assert list(rows.index) == [name for name in NAMES if name != "sub-03"]
    assert rows["patients"].tolist() == [1, 0, 0, 1, 0, 1, 0]
    assert (rows["patients"] + rows["controls"] == 1).all()
    ages = np.array([31, 25, 40, 22, 33, 28, 51.0])
    np.testing.assert_allclose(rows["age"], ages - ages.mean())
    np.testing.assert_allclose(rows[["age", "sex=M"]].mean(), 0, atol=1e-12)
    [told] = found.words
    assert "group (controls 4, patients 3)" in told
    assert "age, centered at 32.86" in told
    assert "intercept" not in told
    assert resolve_test(rows, found.contrast, 7).degrees_of_freedom == 3


def test_a_mean_with_covariates_and_a_slope_have_an_intercept(table):
    mean = make_design(table, NAMES, None, ["age"])
    slope = make_design(table, NAMES, "age", [])
    assert (mean.contrast, slope.contrast) == ("intercept", "age")
    for found in (mean, slope):
        assert list(found.table) == ["age", "intercept"]
        assert "an intercept" in found.words[0]


def test_any_difference_of_several_groups_is_f(table):
    found = make_design(table, NAMES, "center", [])
    assert found.contrast == ["`b` - `a`", "`c` - `a`"]
    test = resolve_test(found.table, found.contrast, 8)
    assert (test.n_effects, test.degrees_of_freedom) == (2, 5)


def test_numbers_that_may_be_names_are_told(table):
    found = make_design(table, NAMES, "site", [])
    assert "a slope: write text if its numbers name groups" in found.words[0]


@pytest.mark.parametrize(
    ("contrast", "covariates", "message"),
    [
        ("patient - controls", [], "'patient' is no column and no value"),
        ("patients - M", [], "make one column of both"),
        ("patients - controls", ["height"], "'height' is not in the table"),
        ("1 - 2", [], "names no column or group"),
        (["age", 3], [], "must be text"),
        ("age", ["note"], "another value for everyone"),
        ("age", ["mixed"], "has 'old' for sub-01 and numbers for others"),
    ],
)
def test_what_cannot_be_tested_is_said(table, contrast, covariates, message):
    table["note"] = [f"note {k}" for k in range(len(table))]
    table["mixed"] = ["old" if name == "sub-01" else "3" for name in table.index]
    with pytest.raises((ValueError, TypeError), match=message):
        make_design(table, NAMES, contrast, covariates)


def test_numbers_name_groups_where_their_values_are_named(table):
    found = make_design(table, NAMES, "`1` - `2`", [])
    assert found.table[["1", "2", "3"]].sum(axis=1).eq(1).all()
    assert found.words[0].endswith("site (1 3, 2 2, 3 2)")
    assert resolve_test(found.table, found.contrast, 7).degrees_of_freedom == 4
    slope = make_design(table, NAMES, "site", [])
    assert "a slope: write text if its numbers name groups" in slope.words[0]


def test_tables_as_people_save_them(tmp_path):
    rows = ["participant_id\tage\tgroup", "sub-01\t31 \tp ", " 02\t 40\tc"]
    path = tmp_path / "participants.tsv"
    path.write_bytes(("\ufeff" + "\r\n".join(rows) + "\r\n").encode())
    table = read_participants(path, tmp_path)
    assert table.to_dict("index") == {
        "sub-01": {"age": "31", "group": "p"},
        "sub-02": {"age": "40", "group": "c"},
    }
    with pytest.raises(ValueError, match=r"nobody has age .* must be called sub-1 "):
        make_design(table, ["sub-1", "sub-2"], "age", [])
    table["dose"] = "3"
    with pytest.raises(ValueError, match="dose is 3 in all participants"):
        make_design(table, ["sub-01", "sub-02"], "age", ["dose"])


def test_a_table_without_ids_or_with_one_twice(tmp_path):
    with pytest.raises(ValueError, match="has no column participant_id"):
        read_participants(pd.DataFrame({"age": [1]}), tmp_path)
    twice = pd.DataFrame({"participant_id": ["sub-01", "01"], "age": [1, 2]})
    with pytest.raises(ValueError, match="has sub-01 in two rows"):
        read_participants(twice, tmp_path)
    assert read_participants(None, tmp_path / "nowhere").empty


def test_motion_is_the_mean_over_runs(tmp_path):
    paths = [str(tmp_path / f"{k}.tsv") for k in (1, 2)]
    rng = np.random.default_rng(0)
    names = [f"{kind}_{axis}" for kind in ("trans", "rot") for axis in "xyz"]
    motion = pd.DataFrame(rng.normal(size=(20, 6)) * [1, 1, 1, 0.01, 0.01, 0.01])
    motion.set_axis(names, axis=1).to_csv(paths[0], sep="\t", index=False)
    by_hand = np.abs(np.diff(motion.to_numpy(), axis=0))
    by_hand = by_hand[:, :3].sum(axis=1) + 50 * by_hand[:, 3:].sum(axis=1)
    frame = pd.DataFrame({"framewise_displacement": ["n/a", "1", "3"]})
    frame.to_csv(paths[1], sep="\t", index=False)
    assert mean_motion(paths) == pytest.approx(np.mean([*by_hand, 1, 3]), abs=1e-4)
    assert mean_motion(paths[1:]) == 2.0
    assert mean_motion([paths[1], None]) is None
    frame.rename(columns=str.upper).to_csv(paths[1], sep="\t", index=False)
    assert mean_motion(paths) is None


def test_tables_as_spreadsheets_leave_them(tmp_path):
    """Blank rows at the end are nobody; a decimal comma is no name of a group."""
    path = tmp_path / "participants.tsv"
    head = "participant_id\tage\tgroup\n"
    path.write_text(
        f"{head}sub-01\t20,5\ta\nsub-02\t20,5\tb\nsub-03\t31\tb\n\t\t\n\t\t\n"
    )
    table = read_participants(path, tmp_path)
    assert table.index.tolist() == ["sub-01", "sub-02", "sub-03"]
    with pytest.raises(ValueError, match=r"age has '20,5', a number with a comma"):
        make_design(table, list(table.index), "age", ())
    path.write_text(f"{head}sub-01\t20\ta\n\t30\tb\n")
    with pytest.raises(ValueError, match="has a row without participant_id"):
        read_participants(path, tmp_path)
