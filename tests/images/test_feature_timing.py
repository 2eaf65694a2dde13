"""Features at any rate become features of volumes: known integrals, and loops."""

import numpy as np
import pandas as pd
import pytest

from tests.images.seam import features_of_volumes


def by_small_steps(table, n_volumes, t_r, n_steps=2000):
    """Average the step function at the middles of many equal steps of each volume."""
    t = (np.arange(n_volumes * n_steps) + 0.5) * t_r / n_steps
    onset = table["onset"].to_numpy()
    on = (onset <= t[:, None]) & (t[:, None] < onset + table["duration"].to_numpy())
    return (on @ table["value"].to_numpy()).reshape(n_volumes, n_steps).mean(axis=1)


def test_frames_are_averaged_over_volumes():
    """A film at 4 frames a second, volumes of 1.5 s: means of six frames."""
    frames = np.random.default_rng(0).normal(size=(36, 2))
    table = pd.DataFrame(frames, columns=["motion", "light"])
    table.insert(0, "onset", np.arange(36) / 4)
    found = features_of_volumes(table, 6, 1.5)
    assert found.columns.tolist() == ["motion", "light"]
    expected = frames.reshape(6, 6, 2).mean(axis=1)
    np.testing.assert_allclose(found.to_numpy(), expected, rtol=1e-12)


def test_slow_features_hold_until_the_next():
    """One rating every three volumes; the last lasts as long as the one before it."""
    table = pd.DataFrame({"onset": [0.0, 6.0, 12.0], "rating": [1.0, 4.0, 2.0]})
    found = features_of_volumes(table, 10, 2.0)["rating"]
    assert found.tolist() == [1, 1, 1, 4, 4, 4, 2, 2, 2, 0]


def test_volumes_that_two_rows_share_are_weighted_by_time():
    table = pd.DataFrame({"onset": [0.0, 1.5], "x": [2.0, 6.0]})
    found = features_of_volumes(table, 2, 2.0)["x"]
    np.testing.assert_allclose(found, [(1.5 * 2 + 0.5 * 6) / 2, 6 * 0.5])


def test_words_add_up_as_they_do_in_small_steps():
    """Of any duration, overlapping, before the first and after the last volume."""
    rng = np.random.default_rng(1)
    words = pd.DataFrame(
        {
            "onset": rng.uniform(-2, 11, 25).round(2),
            "duration": rng.uniform(0.1, 3, 25).round(2),
            "value": rng.normal(size=25),
        }
    )
    found = features_of_volumes(words, 5, 2.0)["value"]
    np.testing.assert_allclose(found, by_small_steps(words, 5, 2.0), atol=0.01)


def test_the_integral_is_kept_at_any_repetition_time():
    rng = np.random.default_rng(2)
    words = pd.DataFrame({"onset": np.sort(rng.uniform(0, 9, 30)), "duration": 0.3})
    words["x"] = rng.normal(size=30)
    total = (words["duration"] * words["x"]).sum()
    for t_r in (0.72, 1.0, 2.3):
        found = features_of_volumes(words, int(12 / t_r), t_r)["x"]
        assert found.sum() * t_r == pytest.approx(total)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"onset": [0.0, 2, 1], "x": [1.0, 2, 3]}, "column onset must increase.*row 3"),
        ({"onset": [0.0], "x": [1.0]}, "column onset must increase"),
        ({"onset": [0.0, np.nan], "x": [1.0, 2]}, "column onset has .* in row 2"),
        ({"onset": [0.0, 1], "duration": [1.0, 0], "x": [1.0, 2]}, "not positive.*2"),
        ({"onset": [0.0, 1]}, "has times, but no features"),
        ({"onset": [0.0, 1], "x": ["a", "b"]}, "column x has 'a' in row 1"),
        ({"onset": [900.0, 901], "x": [1.0, 2]}, "no row falls into the run of 10 s"),
    ],
)
def test_tables_that_cannot_be_timed(columns, message):
    with pytest.raises(ValueError, match=message):
        features_of_volumes(pd.DataFrame(columns), 5, 2.0, "film.tsv")


@pytest.mark.parametrize(
    ("times", "t_r"),
    [
        (1000.0, 2.0),  # milliseconds
        (1 / 60, 2.0),  # minutes
        (1.0, 2000.0),  # milliseconds between volumes
        (1 / 2.5, 2.5),  # volumes
    ],
)
def test_other_units_than_seconds_are_told(times, t_r):
    onset = np.arange(0, 250, 0.5)
    table = pd.DataFrame({"onset": onset, "x": np.arange(500.0)})
    n_volumes = int(250 / t_r) if t_r < 100 else 125
    with pytest.warns(UserWarning, match="film: rows last from 0 to .* in seconds"):
        features_of_volumes(table.assign(onset=onset * times), n_volumes, t_r, "film")
    if t_r < 100:
        features_of_volumes(table, n_volumes, t_r, "film")
        features_of_volumes(table[:300], n_volumes, t_r, "film")  # shorter than the run
        features_of_volumes(table, n_volumes // 2 + 5, t_r, "film")  # and longer
