"""Tables of text: what is written is what is read."""

import gzip

import numpy as np
import pandas as pd
import pytest

from tests.images.seam import (
    numbers,
    read_events,
    read_runs,
    read_tables,
    read_text_table,
    text_column,
)

HOSTILE = ["NA", "None", "null", "NaN", "nan", "NULL", "N/A", "#N/A", "-", "<NA>", "Na"]


@pytest.fixture
def write(tmp_path):
    """Return a function that writes text or bytes to a file and returns its path."""

    def save(content, name="events.tsv"):
        raw = content if isinstance(content, bytes) else content.encode()
        path = tmp_path / name
        path.write_bytes(gzip.compress(raw) if name.endswith(".gz") else raw)
        return str(path)

    return save


def conditions(path):
    return read_events(path)[0]["trial_type"].tolist()


def test_conditions_with_odd_names_stay(write):
    path = write("trial_type\n" + "\n".join(HOSTILE) + "\n")
    assert conditions(path) == HOSTILE


def test_only_n_a_and_nothing_are_missing(write):
    path = write("trial_type\trun\nface\t1\nn/a\t1\n\t2\nn/A\t2\n")
    assert conditions(path) == ["face", "", "", "n/A"]


@pytest.mark.parametrize(
    "labels",
    [
        ["1", "01", "1.0", "+1", "1e0", "001"],
        ["True", "true", "1", "TRUE"],
        ["2020-01-02", "02/01/2020"],
        ["a b", "a  b", "ab"],
        ["é", "é", "日本"],  # composed and decomposed
        ["1,5", "1.5"],
        ["Face", "face"],
    ],
)
def test_distinct_text_is_distinct(write, labels):
    path = write("trial_type\n" + "\n".join(labels) + "\n")
    assert conditions(path) == labels
    assert conditions(pd.DataFrame({"trial_type": labels})) == labels


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.tsv", "onset\tduration\ttrial_type\n0\t2\tface, left\n4\t2\tcat\n"),
        ("a.csv", 'onset,duration,trial_type\n0,2,"face, left"\n4,2,cat\n'),
        ("A.CSV", 'onset,duration,trial_type\n0,2,"face, left"\n4,2,cat\n'),
        ("a.tsv.gz", "onset\tduration\ttrial_type\n0\t2\tface, left\n4\t2\tcat\n"),
        ("a.csv.gz", 'onset,duration,trial_type\n0,2,"face, left"\n4,2,cat\n'),
        (
            "crlf.tsv",
            "onset\tduration\ttrial_type\r\n0\t2\tface, left\r\n4\t2\tcat\r\n",
        ),
        ("cr.tsv", "onset\tduration\ttrial_type\r0\t2\tface, left\r4\t2\tcat\r"),
        ("bom.tsv", "\ufeffonset\tduration\ttrial_type\n0\t2\tface, left\n4\t2\tcat"),
        ("end.tsv", "onset\tduration\ttrial_type\n0\t2\tface, left\n4\t2\tcat\n\n\n"),
        (
            "my events 1.txt",
            "onset\tduration\ttrial_type\n0\t2\tface, left\n4\t2\tcat\n",
        ),
    ],
)
def test_all_the_ways_to_write_a_table(write, name, content):
    table, _ = read_events(write(content, name))
    assert table["onset"].tolist() == [0.0, 4.0]
    assert table["trial_type"].tolist() == ["face, left", "cat"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("trial_type\trun\ttrial_type\na\t1\tb\n", "more than one column 'trial_type'"),
        ("run\trun\ttrial_type\n1\t2\tb\n", "more than one column 'run'"),
        (b"trial_type\nface\nc\0\n", "NUL byte in line 3"),
        (b"trial_type\nvisag\xe9\n", r"not a table of UTF-8 text \(line 2\)"),
        ("trial_type\trun\nface\n", "row 1 has 1 entries for 2 columns"),
        ("trial_type\trun\nface\t1\ncat\t1\t2\n", "row 2 has 3 entries for 2 columns"),
        ("trial_type\trun\nface\t1\n\ncat\t1\n", "row 2 has 0 entries for 2 columns"),
        ("", "is empty"),
        ("\n\n", "is empty"),
        ("trial_type\n", "has no row"),
        ("trial_type\nface \n", "'face ' in row 1, which begins or ends with a blank"),
        ("trial_type\n face\n", "begins or ends with a blank"),
        ("trial_type\t\nface\t1\n", "column without a name"),
        (" trial_type\nface\n", r"lacks column\(s\) \['trial_type'\]"),
        (
            "onset,duration,trial_type\n0,1,a\n",
            "has one column, .*; separate .* by tabs",
        ),
        ("trial_type;run\nface;1\n", "has one column, 'trial_type;run'"),
        ("trial_type, seen\nface\n", r"lacks column\(s\) \['trial_type'\]"),
        ("trial_type;run\n\n\n1\n", "row 1 has 0 entries"),
        ('trial_type\n"face\n', "is not a table"),
        ("onset\tduration\ttrial_type\n0\tn/a\ta\n", "duration has 'n/a' in row 1"),
        ("onset\tduration\ttrial_type\n0,5\t1\ta\n", "onset has '0,5' in row 1"),
        ("onset\tduration\ttrial_type\n0\t-1\ta\n", "duration is -1 s in row 1"),
        ("onset\tduration\ttrial_type\ninf\t1\ta\n", "column onset has 'inf' in row 1"),
    ],
)
def test_damaged_tables_are_refused_by_file_and_row(write, content, message):
    path = write(content)
    with pytest.raises(ValueError, match=message) as error:
        read_events(path)
    assert path in str(error.value)


def test_a_damaged_archive_is_refused(tmp_path):
    whole = gzip.compress(b"trial_type\nface\n" * 50)
    for content in (whole[:-9], b"trial_type\nface\n"):
        path = tmp_path / "events.tsv.gz"
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"events\.tsv\.gz cannot be decompressed"):
            read_events(path)


def test_frames_are_checked_alike():
    twice = pd.DataFrame([["a", "b"]], columns=["trial_type", "trial_type"])
    with pytest.raises(
        ValueError, match="events has more than one column 'trial_type'"
    ):
        read_events(twice)
    mixed = pd.DataFrame({"trial_type": [1, "1"]}, dtype=object)
    with pytest.raises(ValueError, match="different types that are the same text"):
        read_events(mixed)
    missing = [None, np.nan, pd.NA, "n/a", "", "None"]
    frame = pd.DataFrame({"trial_type": missing}, dtype=object)
    assert conditions(frame) == ["", "", "", "", "", "None"]
    category = pd.DataFrame({"trial_type": pd.Categorical(["b", "a", None])})
    assert conditions(category) == ["b", "a", ""]


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (["0", "1", "10", "2"], [0, 1, 10, 2]),
        (["1", "01"], ["1", "01"]),
        (["1", "1.0"], ["1", "1.0"]),
        (["-1", "3"], [-1, 3]),
        (["run-1", "run-2"], ["run-1", "run-2"]),
        (["1", "²"], ["1", "²"]),
        (["9" * 30, "1"], ["9" * 30, "1"]),
        (["None", "NA"], ["None", "NA"]),
        (["-", "1"], ["-", "1"]),
    ],
)
def test_runs_are_numbers_only_where_nothing_is_lost(write, written, read):
    path = write("run\n" + "\n".join(written) + "\n")
    runs = read_runs(read_text_table(path, "events"), path)
    assert runs.tolist() == read
    assert len(set(runs.tolist())) == len(set(written))


def test_runs_of_frames_keep_their_numbers():
    for values in ([3, 7], [1.5, 2.5]):
        assert read_runs(pd.DataFrame({"run": values}), "events").tolist() == values
    with pytest.raises(ValueError, match="column run has no entry in row 2"):
        read_runs(pd.DataFrame({"run": [1.0, np.nan]}), "events")


def test_rows_without_a_condition_are_counted(volume, write, caplog):
    runs = [
        write("trial_type\nface\nn/a\n\t\n".replace("\t", "n/a"), f"{i}.tsv")
        for i in range(2)
    ]
    imgs = [volume(np.ones((2, 2, 2, 3))) for _ in runs]
    with caplog.at_level("WARNING", logger="neuroextrap"):
        read_tables(imgs, runs)
    (record,) = caplog.records
    assert record.getMessage().startswith("4 of 6 rows of the events have no condition")
    assert runs[0] in record.getMessage()


def test_number_tables_hold_numbers(write):
    path = write("a\tb\n1\t2.5\n-3e2\t4\n")
    np.testing.assert_array_equal(
        numbers(read_text_table(path, "--features"), path), [[1, 2.5], [-300, 4]]
    )
    for content, message in (
        ("a\tb\n1\tn/a\n", "column b has 'n/a' in row 1"),
        ("a\tb\n1\t\n", "column b has '' in row 1"),
        ("a\tb\n1\tinf\n", "column b has 'inf' in row 1"),
        ("a\tb\n1\t2\t3\n", "row 1 has 3 entries for 2 columns"),
        ("a\tb\n1\t2\n1\n", "row 2 has 1 entries for 2 columns"),
        ("a\ta\n1\t2\n", "more than one column 'a'"),
        ("a;b\n1;2\n", "has one column, 'a;b'; separate columns by tabs"),
        ("", "is not a table"),
        (b"a\n\0\n", "NUL"),
    ):
        with pytest.raises(ValueError, match=message):
            numbers(read_text_table(write(content), "--features"), "--features")
    with pytest.raises(ValueError, match="no file"):
        read_text_table("nowhere.tsv", "--features")
    text = pd.DataFrame({"a": ["1", "1_0"]})
    with pytest.raises(ValueError, match="column a has '1_0' in row 2"):
        numbers(text, "--stimuli")
    assert text_column(text, "a", "--stimuli").tolist() == ["1", "1_0"]
