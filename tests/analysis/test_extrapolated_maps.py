"""Extrapolated maps are extrapolated arrays, region by region, and say from what."""

import json
import logging

import numpy as np
import pytest
import scipy.sparse

from neuroextrap.decoding import IdentificationSearchLight
from neuroextrap.stats import AccuracyExtrapolator


@pytest.fixture(scope="module")
def fitted():
    """Three regions of plain arrays, ten classes; the last region has no voxels."""
    rng = np.random.default_rng(0)
    y, runs = np.tile(np.arange(10), 4), np.repeat(np.arange(4), 10)
    X = rng.normal(size=(10, 9))[y] + rng.normal(size=(40, 9))
    regions = np.zeros((3, 9), bool)
    regions[0, :4] = regions[1] = True
    light = IdentificationSearchLight(regions=scipy.sparse.csr_array(regions))
    return light.fit(X, y, groups=runs)


def test_maps_are_the_predictions_of_every_region(fitted):
    maps = fitted.extrapolate([10, 50])
    assert list(maps) == [10, 50]
    for region in (0, 1):
        model = AccuracyExtrapolator()
        model.fit(fitted.region_margins(region), fitted.test_codes_)
        found = [maps[10][region], maps[50][region]]
        np.testing.assert_array_equal(found, model.predict([10, 50]))
    assert np.isnan(maps[50][2])
    assert (maps.method, maps.source) == ("auto", "margins")
    assert "extrapolated by 'auto' from every region's margins" in maps.notes


def test_without_margins_wins_are_used_and_it_is_said(fitted, tmp_path):
    fitted.to_directory(tmp_path / "kept")
    again = IdentificationSearchLight.from_directory(tmp_path / "kept")
    maps = again.extrapolate(50)
    for region in (0, 1):
        model = AccuracyExtrapolator().fit_wins(again.wins_[region], 40)
        np.testing.assert_allclose(maps[50][region], model.predict(50), rtol=1e-9)
    assert maps.source == "wins"
    assert "win distributions, without scores" in maps.notes[-1]
    assert again.extrapolator(0).sample_.margins is None
    with pytest.raises(ValueError, match="needs the scores, which results read from"):
        again.extrapolate(50, method="tail")


@pytest.mark.parametrize("method", ["gaussian", "gaussian_mixture"])
def test_all_regions_at_once_equal_one_by_one(fitted, method):
    maps = fitted.extrapolate([10, 1000], method=method)
    model = AccuracyExtrapolator(method).fit_wins(fitted.wins_[0], 40)
    found = [maps[10][0], maps[1000][0]]
    np.testing.assert_allclose(found, model.predict([10, 1000]), rtol=1e-6)


@pytest.mark.parametrize(
    ("set_sizes", "options", "message"),
    [
        ([1], {}, "set_sizes must be at least 2"),
        ([20.5], {}, "set_sizes must be whole numbers"),
        ([], {}, "set_sizes must be a number or"),
        ([20], {"method": "magic"}, "method='magic' must be one of 'auto'"),
    ],
)
def test_arguments_are_checked_before_any_work(
    fitted, monkeypatch, set_sizes, options, message
):
    monkeypatch.setattr(type(fitted), "extrapolator", None)
    with pytest.raises(ValueError, match=message):
        fitted.extrapolate(set_sizes, **options)


def test_memory_is_checked_before_any_work(fitted, monkeypatch):
    monkeypatch.setattr(type(fitted), "extrapolator", None)
    monkeypatch.setattr(fitted, "max_memory", 1000)
    with pytest.raises(ValueError, match="max_memory=1000 is too little"):
        fitted.extrapolate([20, 50])


def test_progress_is_logged(fitted, monkeypatch, caplog):
    monkeypatch.setattr(fitted, "verbose", 1)
    with caplog.at_level(logging.INFO):
        fitted.extrapolate(20)
    assert "2 of 2 regions (100%)" in caplog.text


def test_a_warning_of_every_region_is_given_once_and_kept_as_a_note(fitted):
    with pytest.warns(UserWarning, match="not identified beyond") as caught:
        maps = fitted.extrapolate(1000, method="spline")
    assert len(caught) == 1
    assert "not identified beyond about 20 classes" in maps.notes[-1]


def test_sidecars_name_method_source_and_notes(tmp_path):
    nibabel = pytest.importorskip("nibabel")
    rng = np.random.default_rng(1)
    y, runs = np.tile(np.arange(6), 4), np.repeat(np.arange(4), 6)
    data = rng.normal(size=(3, 3, 2, 24)) + rng.normal(size=(3, 3, 2, 6))[..., y]
    mask = nibabel.Nifti1Image(np.ones((3, 3, 2), np.int8), np.diag([2.0, 2, 2, 1]))
    img = nibabel.Nifti1Image(data, mask.affine)
    light = IdentificationSearchLight(mask, radius=3).fit(img, y, groups=runs)
    maps = light.extrapolate([6, 30])
    maps.to_directory(tmp_path / "out")
    about = json.loads((tmp_path / "out" / "accuracy_among_30.json").read_text())
    assert about["parameters"]["method"] == "auto"
    assert about["parameters"]["source"] == "margins"
    assert list(maps.notes) == about["parameters"]["notes"]
    assert about["chance"] == pytest.approx(1 / 30)
    written = nibabel.load(tmp_path / "out" / "accuracy_among_30.nii.gz").get_fdata()
    np.testing.assert_array_equal(written, maps[30].get_fdata())
    with pytest.raises(ValueError, match="not empty"):
        maps.to_directory(tmp_path / "out")
    with pytest.warns(UserWarning, match="8 classes or more"):
        wide = light.extrapolate(30, confidence_level=0.9)
    wide.to_directory(tmp_path / "wide")
    for end, ends in (("lower", wide.lower), ("upper", wide.upper)):
        stem = tmp_path / "wide" / f"accuracy_among_30_{end}"
        written = nibabel.load(f"{stem}.nii.gz").get_fdata()
        np.testing.assert_array_equal(written, ends[30].get_fdata())
        about = json.loads(stem.with_suffix(".json").read_text())
        assert f"{end.capitalize()} end of the interval" in json.dumps(about)


def test_plain_arrays_are_not_written(fitted, tmp_path):
    with pytest.raises(ValueError, match="plain arrays have no images"):
        fitted.extrapolate(20).to_directory(tmp_path / "out")


def test_intervals_are_those_of_every_region(fitted, tmp_path):
    maps = fitted.extrapolate([20, 50], confidence_level=0.8)
    fitted.to_directory(tmp_path / "kept")
    again = IdentificationSearchLight.from_directory(tmp_path / "kept")
    for results, found in ((fitted, maps), (again, again.extrapolate(50))):
        assert (found.lower is None) == (results is again)
        found = results.extrapolate([20, 50], confidence_level=0.8)
        for region in (0, 1):
            model = results.extrapolator(region)
            lower, upper = model.predict_interval([20, 50], 0.8)
            np.testing.assert_allclose(found[50][region], model.predict(50), rtol=1e-9)
            np.testing.assert_array_equal(found.lower[50][region], lower[1])
            np.testing.assert_array_equal(found.upper[20][region], upper[0])
        assert np.isnan(found.upper[20][2])
    assert "intervals hold with confidence 0.8 each" in maps.notes


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"confidence_level": 1.0}, "confidence_level must lie strictly"),
        (
            {"confidence_level": 0.9, "method": "gaussian"},
            "method='gaussian' has no calibrated interval; use method='auto'",
        ),
    ],
)
def test_intervals_are_refused_before_any_work(fitted, monkeypatch, options, message):
    monkeypatch.setattr(type(fitted), "extrapolator", None)
    with pytest.raises(ValueError, match=message):
        fitted.extrapolate(20, **options)
