"""Labels are one entry a sample, of one kind, none of them missing."""

from datetime import date

import numpy as np
import pandas as pd
import pytest

from tests.stats.seam import check_labels


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1, 2, 2], "i"),
        ([1.5, 2, 2], "f"),
        (np.array(["face", "house"]), "U"),
        (["face", "house"], "U"),
        ((True, False), "b"),
        ([1, np.float32(2.5), True], "f"),
        ([b"a", b"b"], "S"),
        (np.array(["a", "b"], dtype=object), "U"),
        (pd.Series([3, 1]), "i"),
        (pd.Series(["a", "b"], dtype="string"), "U"),
        (np.array(["2020-01-01", "2020-01-02"], dtype="M8[D]"), "M"),
        ([date(2020, 1, 1), date(2020, 1, 2)], "O"),
    ],
)
def test_entries_of_one_kind_are_kept(values, kind):
    labels = check_labels(values, "y")
    assert labels.dtype.kind == kind
    assert labels.tolist() == list(np.asarray(values).tolist())


def test_a_masked_array_without_masked_entries_is_an_array():
    labels = check_labels(np.ma.masked_array([1, 2], mask=[False, False]), "y")
    assert labels.tolist() == [1, 2]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.ma.masked_array([1, 2], mask=[False, True]), r"runs is a masked .*\[~runs"),
        ([1 + 1j, 2], "runs has dtype complex128; give numbers or text"),
        (["a", 1], r"runs mixes int, str; give entries of one kind.* in runs\]"),
        ([1, "a", b"c"], "runs mixes bytes, int, str"),
        ([(1, 2), (1, 2, 3)], None),
        (np.array([{}, {}], dtype=object), "runs has entries of type dict; give"),
    ],
)
def test_other_types_and_mixtures_are_refused(values, message):
    if message is None:  # a ragged list
        with pytest.raises(ValueError, match="runs holds lists of different lengths"):
            check_labels(values, "runs")
        return
    with pytest.raises(TypeError, match=message):
        check_labels(values, "runs")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ("face", r"runs='face' has shape \(\); give one entry for every sample"),
        (3, r"runs=3 has shape \(\)"),
        ([], r"runs has shape \(0,\)"),
        ([[1, 2]], r"runs has shape \(1, 2\)"),
        ([1.0, np.nan, np.nan], r"runs has NaN in row 1 \(2 missing in all\); give"),
        (["a", None], r"runs has None in row 1 \(1 missing in all\)"),
        (["a", float("nan"), "b"], r"runs has nan in row 1 \(1 missing"),
        (np.array([np.float64("nan"), "b"], dtype=object), "runs has nan in row 0"),
        (pd.array([1, pd.NA]), "runs has NaN in row 1"),
        (pd.array(["a", pd.NA]), "runs has <NA> in row 1"),
        ([pd.NaT, pd.NaT], r"runs has NaT in row 0 \(2 missing"),
        (np.array(["2020", "NaT"], dtype="M8[Y]"), r"runs has NaT in row 1"),
        (np.array([1, "NaT"], dtype="m8[D]"), r"runs has NaT in row 1"),
    ],
)
def test_missing_entries_and_other_shapes_are_refused(values, message):
    with pytest.raises(ValueError, match=message):
        check_labels(values, "runs")
