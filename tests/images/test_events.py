import numpy as np
import pandas as pd
import pytest

from tests.images.seam import labels_of_volumes, read_events


def bids(**changes):
    columns = {
        "onset": [2.0, 8.0],
        "duration": [4.0, 2.0],
        "trial_type": ["face", "cat"],
    }
    return pd.DataFrame(columns | changes)


def test_files_and_frames_are_read_alike(tmp_path):
    bids().to_csv(tmp_path / "events.tsv", sep="\t", index=False)
    bids().to_csv(tmp_path / "events.csv", index=False)
    for given in (tmp_path / "events.tsv", str(tmp_path / "events.csv"), bids()):
        table, name = read_events(given)
        assert table["onset"].tolist() == [2.0, 8.0]
        assert table["trial_type"].tolist() == ["face", "cat"]
        assert name == ("events" if isinstance(given, pd.DataFrame) else str(given))


def test_the_users_frame_is_untouched_and_missing_types_are_empty():
    given = bids(trial_type=["face", None])
    table, _ = read_events(given)
    assert table["trial_type"].tolist() == ["face", ""]
    assert given["trial_type"].tolist()[0] == "face"
    assert given["trial_type"].isna().tolist() == [False, True]


def test_numbers_serve_as_conditions():
    table, _ = read_events(pd.DataFrame({"trial_type": [3, 5]}))
    assert table["trial_type"].tolist() == ["3", "5"]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (
            bids().drop(columns="trial_type"),
            r"events lacks column\(s\) \['trial_type'\], it has \['onset', 'dur",
        ),
        (bids().drop(columns="duration"), r"lacks column\(s\) \['duration'\]"),
        (bids().drop(columns="onset"), r"lacks column\(s\) \['onset'\]"),
        (pd.DataFrame({"label": ["a"]}), r"lacks column\(s\) \['trial_type'\]"),
        (bids().iloc[:0], "has no row"),
        (
            bids(onset=[1.0, "n/a"]),
            "column onset has 'n/a' in row 2",
        ),
        (bids(duration=[np.nan, 1]), "column duration has .* row 1"),
    ],
)
def test_bad_tables_are_refused(table, message):
    with pytest.raises(ValueError, match=message):
        read_events(table)


def test_bad_files_are_refused_by_name(tmp_path):
    with pytest.raises(ValueError, match=r"no file .*gone\.tsv"):
        read_events(tmp_path / "gone.tsv")
    (tmp_path / "empty.tsv").write_text("")
    with pytest.raises(ValueError, match=r"empty\.tsv is not a table"):
        read_events(tmp_path / "empty.tsv")
    (tmp_path / "other.tsv").write_text("condition\trun\nface\t1\n")
    with pytest.raises(ValueError, match=r"other\.tsv lacks .* \['condition', 'run'\]"):
        read_events(tmp_path / "other.tsv")
    with pytest.raises(
        TypeError, match="events must be a path or a DataFrame, got int"
    ):
        read_events(3)


def test_volumes_belong_to_the_event_that_covers_their_time():
    labels = labels_of_volumes(bids(), "events", 6, 2.0)
    assert labels.tolist() == ["", "face", "face", "", "cat", ""]
    later = labels_of_volumes(bids(), "events", 6, 2.0, delay=2.0)
    assert later.tolist() == ["", "", "face", "face", "", "cat"]
    odd = labels_of_volumes(bids(onset=[2.0, 7.0]), "events", 6, 2.0)
    assert odd.tolist() == ["", "face", "face", "", "cat", ""]


def test_rounded_onsets_lose_no_volume():
    onsets = np.arange(30) / 3
    exact = pd.DataFrame({"onset": onsets, "duration": 1 / 3})
    exact["trial_type"] = [f"event {i}" for i in range(30)]
    for events in (exact, exact.round(3)):
        found = labels_of_volumes(events, "events", 30, 1 / 3)
        assert found.tolist() == exact["trial_type"].tolist()


def test_events_of_missing_type_cover_nothing():
    table, _ = read_events(bids(trial_type=["face", None]))
    assert labels_of_volumes(table, "events", 6, 2.0).tolist()[4] == ""


def test_events_without_volumes_and_overlaps_are_refused():
    with pytest.raises(ValueError, match="'cat' at 8 s covers none of the 3 volumes"):
        labels_of_volumes(bids(), "events", 3, 2.0)
    with pytest.raises(ValueError, match="'face' at 2 s covers none"):
        labels_of_volumes(bids(duration=[0, 2]), "events", 6, 2.0)
    with pytest.raises(ValueError, match="'cat' at 4 s overlaps an earlier"):
        labels_of_volumes(bids(onset=[2.0, 4.0]), "events", 6, 2.0)
