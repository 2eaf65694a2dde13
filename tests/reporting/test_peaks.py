"""The peak table: the planted spheres on top, numbers from region_scores_."""

import numpy as np
import pytest

from neuroextrap.reporting import peak_table


def test_planted_spheres_are_the_peaks(brain, fitted):
    table = peak_table(fitted, n_peaks=2)
    places = table[["x", "y", "z"]].to_numpy()
    for center in brain.coordinates:
        assert np.sqrt(((places - center) ** 2).sum(axis=1)).min() <= 12


def test_rows_hold_the_regions_numbers_strongest_first(fitted):
    table = peak_table(fitted, n_peaks=5, statistic="implied_information")
    assert list(table["implied_information"]) == sorted(
        table["implied_information"], reverse=True
    )
    for name in ("accuracy", "n_voxels", "p_value_fwe", "bayes_accuracy_bound_fwe"):
        expected = fitted.region_scores_[name][table["region"]]
        np.testing.assert_array_equal(table[name], expected)


def test_peaks_keep_their_distance(fitted):
    table = peak_table(fitted, n_peaks=8, min_distance=40.0)
    places = table[["x", "y", "z"]].to_numpy()
    distance = np.sqrt(((places[:, None] - places) ** 2).sum(axis=-1))
    assert distance[~np.eye(len(places), dtype=bool)].min() >= 40.0


def test_arrays_are_listed_without_places(one_region):
    table = peak_table(one_region)
    assert len(table) == 1
    assert "x" not in table.columns


def test_bad_arguments_are_named(fitted):
    with pytest.raises(ValueError, match="n_peaks must be an integer >= 1; got 0"):
        peak_table(fitted, n_peaks=0)
    with pytest.raises(ValueError, match="statistic='speed' must be one of"):
        peak_table(fitted, statistic="speed")
