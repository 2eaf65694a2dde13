"""The viewer in a real browser: what a click shows."""

import json
import re

import numpy as np
import pytest
from nibabel.affines import apply_affine

from neuroextrap.decoding import IdentificationSearchLight
from tests.reporting.seam import (
    MAPS,
    make_page,
    viewer_html,
    viewer_page,
    viewer_section,
)


def _with_curves(data):
    """Naive twin of the look-up: place (mm) and row of every voxel with a curve."""
    starts, lengths = data["features"]
    flat = np.concatenate(
        [s + np.arange(n) for s, n in zip(starts, lengths, strict=True)]
    )
    voxels = np.stack(np.unravel_index(flat, data["shape"]), axis=1)
    row_of = {region: row for row, region in enumerate(data["regions"])}
    rows = np.array([row_of.get(region, -1) for region in data["region_of"]])
    places = apply_affine(np.array(data["affine"]), voxels)
    return places[rows >= 0], rows[rows >= 0]


def test_a_click_changes_the_curve(browser, fitted, viewers, tmp_path):
    browser.open(viewers("fitted"))
    before = browser.state()
    box = browser.box("iframe")
    # the first pane is a sagittal slice: another place in it
    browser.click(box["x"] + 0.16 * box["width"], box["y"] + 0.35 * box["height"])
    browser.settle()
    after = browser.state()
    assert after["curve"] not in ("", before["curve"])
    assert after["numbers"] != before["numbers"]
    place = [int(v) for v in re.findall(r"-?\d+", after["place"])[:3]]
    region = fitted.find_region(tuple(place))
    shown = dict(item.split("=") for item in after["numbers"])
    for name in ("accuracy", "implied_information", "p_value_fwe", "n_voxels"):
        label, value = MAPS[name].label, fitted.region_scores_[name][region]
        assert float(shown[label]) == pytest.approx(value, rel=1e-3)
    browser.screenshot(tmp_path / "viewer.png")
    assert (tmp_path / "viewer.png").stat().st_size > 20_000
    assert browser.complaints() == []
    assert browser.requests() <= {"file", "data", "about"}


@pytest.mark.parametrize("analysis", ["fitted", "atlas"])
def test_script_finds_what_the_twin_finds(browser, analysis, viewers, page_data):
    page = viewers(analysis, max_regions=200)
    browser.open(page)
    data = page_data(page)
    rng = np.random.default_rng(0)
    voxels = rng.integers(0, data["shape"], size=(400, 3))
    answers = json.loads(
        browser.value(
            "(function () {var s = document.querySelector('.nx-viewer');"
            "var d = neuroextrapViewer.dataOf(s); return JSON.stringify("
            + json.dumps(voxels.tolist())
            + ".map(function (v) {return neuroextrapViewer.find(d, v.map(function (x, "
            "i) {return d.affine[i][0] * v[0] + d.affine[i][1] * v[1] + "
            "d.affine[i][2] * v[2] + d.affine[i][3];}));}))})()"
        )
    )
    places, rows = _with_curves(data)
    n_near = 0
    for voxel, answer in zip(voxels, answers, strict=True):
        xyz = apply_affine(np.array(data["affine"]), voxel)
        distances = np.linalg.norm(places - xyz, axis=1)
        if distances.min() < 1e-6:
            row = rows[np.argmin(distances)]
            assert (answer["row"], answer["miss"]) == (row, 0)
        elif distances.min() > data["reach"]:
            assert answer is None
        else:
            n_near += 1
            assert answer["miss"] == pytest.approx(distances.min())
            nearest = distances[rows == answer["row"]].min()
            assert nearest == pytest.approx(distances.min())
    assert n_near > 10


def _shown_at(browser, page, *spots):
    """Open a page and click; what is shown at first and after every click."""
    browser.open(page)
    box, states = browser.box("iframe"), [browser.state()]
    for right, down in spots:
        x, y = box["x"] + right * box["width"], box["y"] + down * box["height"]
        browser.click(x, y)
        browser.settle()
        states.append(browser.state())
    assert browser.complaints() == []
    return states


def test_atlas_clicks_name_the_region_and_gaps(browser, atlas, tmp_path):
    spots = [(x, 0.4) for x in np.linspace(0.7, 0.95, 9)] + [(0.995, 0.02)]
    states = _shown_at(browser, viewer_html(atlas, bg_img=False), *spots)
    browser.screenshot(tmp_path / "atlas.png")
    places = [state["place"] for state in states]
    for name in atlas.table_["name"].unique()[:3]:
        assert any(place.startswith(f"{name}, (") for place in places)
    assert any("; the nearest with a curve: " in place for place in places)
    assert browser.value("document.querySelectorAll('.nx-place b').length") == 0
    assert places[-1].startswith("Not analyzed: (")
    assert states[-1]["curve"] == ""


def test_two_classes_have_a_curve_of_one_point(browser, brain):
    light = IdentificationSearchLight(
        brain.masker.mask_img_, radius=16.0, classes=np.unique(brain.y)[:2].tolist()
    )
    page = viewer_html(light.fit(brain.imgs, brain.y, groups=brain.runs), max_regions=9)
    (state,) = _shown_at(browser, page)
    assert re.fullmatch(r"264,[\d.]+", state["curve"])


def test_turned_axes_lead_to_the_right_voxel(browser, viewers, tmp_path, page_data):
    page = viewers("oblique", bg_img=False)
    data = page_data(page)
    spots = (0.1, 0.4), (0.5, 0.35), (0.8, 0.4)
    first, *others = _shown_at(browser, page, *spots)
    browser.screenshot(tmp_path / "oblique.png")
    place = np.array(re.findall(r"-?\d+", first["place"])[:3], dtype=float)
    assert np.abs(place - data["places"][data["start"]]).max() <= 0.5
    column = [c["label"] for c in data["columns"]].index("accuracy")
    for state in others:
        place = np.array(re.findall(r"-?\d+", state["place"])[:3], dtype=float)
        distances = np.linalg.norm(np.array(data["places"]) - place, axis=1)
        row = int(np.argmin(distances))
        assert distances[row] < 1
        shown = dict(item.split("=") for item in state["numbers"])
        assert float(shown["accuracy"]) == data["values"][row][column]


def test_the_color_under_the_cross_is_the_number_shown(browser, oblique, viewers):
    browser.open(viewers("oblique", bg_img=False))
    browser.value("document.querySelector('.nx-threshold').focus()")
    browser.press("Home")  # all are drawn
    browser.settle()
    browser.value(
        "window.addEventListener('message', e => {"
        "if (e.data.neuroextrap) { window.last = e.data.value; }})"
    )
    values = oblique.region_scores_["implied_information"]
    box, seen = browser.box("iframe"), []
    for right, down in np.random.default_rng(3).uniform(
        (0.72, 0.2), (0.9, 0.6), (12, 2)
    ):
        x, y = box["x"] + right * box["width"], box["y"] + down * box["height"]
        browser.click(x, y)
        browser.settle()
        drawn, state = browser.value("window.last"), browser.state()
        shown = dict(item.split("=") for item in state["numbers"])
        if not state["place"].startswith("Not analyzed"):
            number = float(shown["implied information"])
            # 256 colors; transparent where the map is zero
            step = values.max() / 255
            assert (drawn or 0.0) == pytest.approx(number, abs=1.5 * step)
            seen.append(number)
    assert len(np.unique(seen)) >= 3


def test_two_viewers_on_a_page_do_not_meddle(browser, fitted):
    section = viewer_section(fitted, max_regions=50)
    page = make_page("Two", [("First", section), ("Second", section)]).get_standalone()
    second = "document.querySelectorAll('.nx-place')[1].textContent"
    browser.open(page)
    before = browser.value(second)
    assert before != ""
    box, place = browser.box("iframe"), browser.state()["place"]
    browser.click(box["x"] + 0.16 * box["width"], box["y"] + 0.35 * box["height"])
    browser.settle()
    assert browser.state()["place"] != place
    assert browser.value(second) == before


@pytest.fixture(scope="module")
def small(fitted):
    """A page of a viewer that keeps few curves."""
    return viewer_page(fitted, max_regions=50)


def test_a_saved_page_is_the_page_itself(browser, small, tmp_path):
    path = tmp_path / "saved.html"
    small.save_as_html(path)
    browser.open(path)
    assert browser.state()["curve"] != ""
    assert browser.complaints() == []


def test_a_notebook_shows_the_page_in_a_frame(browser, small):
    browser.open(f"<body>{small._repr_html_()}</body>")
    inside = "document.querySelector('iframe')?.contentDocument"
    browser.wait_for(f"{inside}?.querySelectorAll('.nx-numbers tr').length > 0")
    assert browser.complaints() == []


def test_a_viewer_that_was_hidden_gets_its_height(browser, viewers):
    page = viewers("fitted", max_regions=200)
    page = page.replace('<div class="nx-viewer">', '<div class="nx-viewer" hidden>')
    browser.open(page)
    browser.value("document.querySelector('.nx-viewer').hidden = false")
    browser.settle()
    inside = "document.querySelector('iframe').contentDocument"
    assert browser.value(
        f"{inside}.querySelector('canvas').height > 100 && "
        f"document.querySelector('iframe').height > {inside}.body.offsetHeight"
    )
    assert browser.value("document.querySelectorAll('.nx-numbers tr').length")
    assert browser.colored(f"{inside}.querySelector('canvas')") > 100
    assert browser.complaints() == []
