"""The viewer: what its page knows of every region, and what is refused."""

import re
from html import unescape
from types import SimpleNamespace

import numpy as np
import pytest
from nibabel.affines import apply_affine

from neuroextrap.datasets import simulate_brain
from neuroextrap.decoding import IdentificationSearchLight
from neuroextrap.reporting import peak_table
from tests.reporting.seam import (
    Report,
    identification_sections,
    viewer_html,
    viewer_page,
)


def _region_at(data, voxel):
    """Naive twin of the script's look-up: expand every run."""
    starts, lengths = data["features"]
    flat = np.ravel_multi_index(tuple(voxel), data["shape"])
    flats = np.concatenate(
        [s + np.arange(n) for s, n in zip(starts, lengths, strict=True)]
    )
    feature = np.flatnonzero(flats == flat)
    return data["region_of"][feature[0]] if len(feature) else -1


@pytest.mark.usefixtures("undrawn")
def test_every_voxel_leads_to_its_region(fitted, page_data):
    data = page_data(viewer_html(fitted, max_regions=10**6))
    mask_img = fitted.masker_.mask_img_
    voxels = np.argwhere(mask_img.get_fdata() > 0)
    scores = fitted.region_scores_
    accuracy = [column["label"] for column in data["columns"]].index("accuracy")
    for region in range(0, len(voxels), 37):
        assert _region_at(data, voxels[region]) == region
        row = data["regions"].index(region)
        assert data["curves"][row] == pytest.approx(
            fitted.accuracy_curve(region)[1], rel=1e-3
        )
        assert data["bounds"][row] == pytest.approx(
            [scores["bayes_accuracy_bound_fwe"][region]], rel=1e-3
        )
        value = data["values"][row][accuracy]
        assert value == pytest.approx(scores["accuracy"][region], rel=1e-3)
        place = apply_affine(mask_img.affine, voxels[region])
        assert data["places"][row] == pytest.approx(place)
    assert data["kept"] == data["analyzed"]


@pytest.mark.usefixtures("undrawn")
def test_strongest_regions_are_kept_and_the_page_says_so(fitted, page_data):
    values = fitted.region_scores_["implied_information"]
    page = viewer_html(fitted, max_regions=7)
    data = page_data(page)
    column = [c["label"] for c in data["columns"]].index("implied information")
    kept = [row[column] for row in data["values"]]
    assert kept == pytest.approx(np.sort(values)[::-1][:7], rel=1e-3)
    assert data["kept"] == len(data["curves"]) == len(set(data["regions"])) == 7
    assert f"the 7 strongest of {data['analyzed']:,} regions" in page


@pytest.mark.usefixtures("undrawn")
def test_it_starts_at_the_peak(fitted, page_data):
    data = page_data(viewer_html(fitted))
    peak = peak_table(fitted, n_peaks=1, statistic="implied_information")
    place = data["places"][data["start"]]
    assert place == pytest.approx(peak[["x", "y", "z"]].to_numpy()[0])
    assert page_data(viewer_html(fitted, max_regions=1))["start"] == 0


@pytest.mark.usefixtures("undrawn")
def test_smallest_p_values_are_the_strongest(fitted, page_data):
    data = page_data(viewer_html(fitted, map_name="p_value_fwe", max_regions=5))
    column = [c["label"] for c in data["columns"]].index("corrected p (family-wise)")
    smallest = np.sort(fitted.region_scores_["p_value_fwe"])[:5]
    assert [row[column] for row in data["values"]] == pytest.approx(smallest, rel=1e-3)


def test_page_is_a_report_without_network_or_third_parties(fitted):
    report = viewer_page(fitted, max_regions=5)
    assert isinstance(report, Report)
    page = unescape(report.get_standalone())
    assert set(re.findall(r"https?://[^\s\"'<]*", page)) == {
        "http://www.w3.org/2000/svg"
    }
    assert not re.search(r"<link |<script[^>]* src=", page)
    sources = re.findall(r'<img[^>]* src="(.{11})', page)
    assert len(sources) == 6  # three of nilearn's viewer, three outlines
    assert set(sources) == {"data:image/"}


@pytest.mark.usefixtures("undrawn")
def test_pages_of_a_large_set_stay_small(page_data):
    n_classes, n_runs = 40, 2
    brain = simulate_brain(resolution=8, n_classes=n_classes, n_runs=n_runs)
    light = IdentificationSearchLight(brain.masker.mask_img_, radius=8.0)
    light.fit(brain.imgs, brain.y, groups=brain.runs)
    page = viewer_html(light, max_regions=5000)
    data = page_data(page)
    size = len(re.search(r'class="nx-data">(.*?)</script>', page).group(1))
    assert data["kept"] > 2000
    assert size / data["kept"] < 500


def test_another_viewer_of_nilearn_is_told(fitted, monkeypatch):
    def view_img(*args, **kwargs):
        return SimpleNamespace(
            html="<html><body><script>other()</script></body></html>"
        )

    monkeypatch.setattr("nilearn.plotting.view_img", view_img)
    assert "does not call brainsprite any more" in str(viewer_page(fitted))


@pytest.mark.usefixtures("undrawn")
def test_report_says_when_nilearn_has_another_viewer(fitted, monkeypatch, caplog):
    monkeypatch.setattr(
        "nilearn.plotting.view_img", lambda *a, **k: SimpleNamespace(html="<body>")
    )
    section = dict(identification_sections(fitted))["Explore the maps"]
    assert 'class="note"' in section
    assert "the report has no interactive viewer" in caplog.text


@pytest.mark.usefixtures("undrawn")
def test_arrays_have_no_viewer_in_their_report(one_region):
    assert "Explore the maps" not in dict(identification_sections(one_region))


@pytest.mark.usefixtures("undrawn")
def test_all_atlas_regions_are_kept_and_names_escaped(atlas, page_data):
    page = viewer_html(atlas, max_regions=1)
    data = page_data(page)
    assert set(data["names"]) == set(atlas.table_["name"])
    assert "</script><b>" not in page
    rows = [atlas.table_["name"].unique().tolist().index(n) for n in data["names"]]
    curves = atlas.table_["accuracy"].to_numpy().reshape(4, -1)[rows]
    assert np.array(data["curves"]) == pytest.approx(curves, rel=1e-3)
    information = [row[2] for row in data["values"]]
    assert information == sorted(information, reverse=True)
    assert "all 4 regions" in page


@pytest.mark.usefixtures("undrawn")
def test_read_from_a_folder_shows_the_same(fitted, tmp_path, page_data):
    fitted.to_directory(tmp_path / "results")
    again = IdentificationSearchLight.from_directory(tmp_path / "results")
    first, second = (
        page_data(viewer_html(each, max_regions=20)) for each in (again, fitted)
    )
    np.testing.assert_equal(first, second)
