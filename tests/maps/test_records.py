"""Records say what maps mean; nothing is read out of their names."""

from dataclasses import replace

import numpy as np
import pytest

from neuroextrap.decoding import IdentificationSearchLight
from neuroextrap.reporting import peak_table
from tests.maps.seam import (
    GROUP_MAPS,
    MAPS,
    MapRecord,
    decide,
    describe_map,
    identification_sections,
    page_maps,
    provenance,
    record_of,
    validity_notes,
    viewer_data,
)


@pytest.fixture
def fitted():
    """A searchlight over one-dimensional neighborhoods, with permutations."""
    rng = np.random.default_rng(0)
    y, runs = np.tile([0, 1, 2], 4), np.repeat(np.arange(4), 3)
    X = rng.normal(size=(3, 9))[y] + rng.normal(size=(12, 9))
    regions = np.abs(np.subtract.outer(np.arange(9), np.arange(9))) < 2
    light = IdentificationSearchLight(regions=regions, n_permutations=19)
    return light.fit(X, y, groups=runs)


def maps_of_viewer(fitted, name):
    """What a viewer that begins with a map says of the maps it offers, untested."""
    view = replace(page_maps(fitted), finding=decide({name: np.full(9, np.nan)}))
    return viewer_data(view, name, np.arange(9))["maps"]


def test_every_map_has_a_record_of_its_name(fitted):
    assert fitted.region_scores_.keys() <= MAPS.keys()
    assert all(name == record.name for name, record in MAPS.items())
    assert all(record.description and record.unit for record in MAPS.values())


def test_simultaneous_bounds_differ_by_their_scope_only():
    bounds = [name for name in MAPS if f"{name}_fwe" in MAPS and "bound" in name]
    assert len(bounds) == 5
    for name in bounds:
        single, simultaneous = MAPS[name], MAPS[f"{name}_fwe"]
        assert single.description.endswith("; every region by itself")
        assert simultaneous.description == single.description.replace(
            "every region by itself", "simultaneous over regions"
        )
        assert simultaneous.simultaneous
        assert not single.simultaneous
        assert (single.unit, single.chance) == (simultaneous.unit, simultaneous.chance)


@pytest.mark.parametrize(
    ("name", "threshold"),
    [
        ("accuracy", 1 / 7),
        ("pairwise_accuracy", 0.5),
        ("average_bayes_accuracy_bound_fwe", 1 / 7),
        ("implied_information", 0.0),
        ("information_bound", 0.0),
        ("p_value_fdr", 0.05),
        ("neg_log10_p_fwe", 1.301),
        ("n_voxels", 0.0),
    ],
)
def test_first_thresholds_are_chance_or_significance(name, threshold):
    assert MAPS[name].first_threshold(n_classes=7) == threshold


def test_small_p_values_are_strong(fitted):
    values = np.array([0.2, 0.01, np.nan])
    np.testing.assert_array_equal(MAPS["p_value"].strength(values), -values)
    np.testing.assert_array_equal(MAPS["accuracy"].strength(values), values)
    table = peak_table(fitted, statistic="p_value")
    assert list(table["p_value"]) == sorted(fitted.region_scores_["p_value"])[:10]


def test_sidecars_tell_chance_and_tail():
    origin = provenance(random_state=3)
    assert describe_map(MAPS["accuracy"], origin, n_classes=8)["chance"] == 0.125
    assert describe_map(MAPS["accuracy"], origin)["chance"] is None
    p_value = describe_map(MAPS["p_value"], origin, n_classes=8)
    assert (p_value["tail"], p_value["chance"]) == ("lower", None)
    assert p_value["random_state"] == 3


def test_names_mean_nothing(fitted):
    record = record_of("p_value_accuracy_fwe")
    assert record.first_threshold(n_classes=4) == 0.0
    assert record.tail == "upper"
    fitted.region_scores_["p_value_accuracy_fwe"] = np.arange(9.0)
    (shown,) = [
        entry
        for entry in maps_of_viewer(fitted, "p_value_accuracy_fwe")
        if entry["label"] == "p value accuracy (all regions at once)"
    ]
    assert not shown["smaller"]
    assert shown["begins"] == "The threshold starts at 0."
    assert peak_table(fitted, statistic="p_value_accuracy_fwe")["region"][0] == 8


def test_a_new_map_needs_its_record_only(fitted, monkeypatch):
    record = MapRecord(
        name="margin_of_victory",
        description="Median margin of the true class over its best rival",
        unit="a.u.",
        chance=0.0,
        note="The margin depends on the scale of the data.",
        overview=True,
    )
    monkeypatch.setitem(MAPS, record.name, record)
    values = np.linspace(-1, 1, 9)
    fitted.region_scores_[record.name] = values
    np.testing.assert_array_equal(
        peak_table(fitted, statistic=record.name)[record.name], values[::-1]
    )
    assert record.note in validity_notes(fitted)
    labels = [entry["label"] for entry in maps_of_viewer(fitted, "accuracy")]
    assert "margin of victory" in labels
    assert "margin of victory" in dict(identification_sections(fitted))["Peaks"]


def test_pictures_show_what_lies_above_a_threshold():
    drawn = [each for each in [*MAPS.values(), *GROUP_MAPS.values()] if each.overview]
    assert drawn
    assert all(record.tail == "upper" for record in drawn)
