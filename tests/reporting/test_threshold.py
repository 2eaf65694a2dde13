"""The threshold, the cuts and the menu of maps, moved in a real browser."""

import numpy as np
import pytest
from nibabel import Nifti1Image
from nibabel.affines import apply_affine

from neuroextrap.decoding import IdentificationSearchLight
from tests.reporting.seam import (
    MAPS,
    make_page,
    viewer_html,
    viewer_section,
)

SLICES = "document.querySelector('iframe').contentDocument.querySelector('canvas')"
GLASS = "document.querySelectorAll('.nx-glass canvas')[{}]"
SHOWN = "document.querySelector('.nx-shown').textContent"
LEVEL = "Number(document.querySelector('.nx-level').value)"


def _press(browser, selector, *keys):
    browser.value(f"document.querySelector({selector!r}).focus()")
    for key in keys:
        browser.press(key)
    browser.settle()


def _choose(browser, selector, number):
    browser.value(
        f"(function () {{var menu = document.querySelector({selector!r});"
        f"menu.selectedIndex = {number}; menu.dispatchEvent(new Event('change'));}})()"
    )
    browser.settle()


def leading_count(text):
    return int(text.split()[0].replace(",", ""))


def _n_shown(browser):
    return leading_count(browser.value(SHOWN))


def test_the_slider_hides_more_and_more(browser, fitted, viewers):
    browser.open(viewers("fitted", bg_img=False))
    views = [SLICES, *(GLASS.format(i) for i in range(3))]
    values = fitted.region_scores_["implied_information"]
    counts, levels = [], []
    _press(browser, ".nx-threshold", "Home")
    for _ in range(10):
        counts.append([browser.colored(view) for view in views])
        levels.append(browser.value(LEVEL))
        step = values.max() / 200
        expected = [(values > levels[-1] + sign * step).sum() for sign in (1, -1)]
        assert expected[0] <= _n_shown(browser) <= expected[1]
        _press(browser, ".nx-threshold", "PageUp")
    assert np.all(np.diff(levels) > 0)
    assert np.all(np.diff(counts, axis=0) <= 0)
    assert np.all(np.array(counts)[0] > np.array(counts)[-1])
    _press(browser, ".nx-threshold", "End")
    assert _n_shown(browser) == 0
    assert browser.colored(views[1]) == 0
    assert browser.complaints() == []
    assert browser.requests() <= {"file", "data", "about"}


def test_a_typed_threshold_is_exact(browser, fitted, viewers):
    browser.open(viewers("fitted", map_name="accuracy"))
    values = fitted.region_scores_["accuracy"]
    assert "above 0.25" in browser.value(SHOWN)  # chance, with four classes
    assert _n_shown(browser) == (values > 0.25).sum()
    for level in np.unique(values)[[3, -3]]:
        browser.value(
            "(function () {var box = document.querySelector('.nx-level');"
            f"box.value = {float(level)!r};"
            "box.dispatchEvent(new Event('change'));})()"
        )
        assert _n_shown(browser) == (values > level).sum()


def test_every_map_has_its_unit_and_first_threshold(browser, fitted, viewers):
    browser.open(viewers("fitted"))
    menu = "document.querySelector('.nx-map')"
    names = browser.value(f"Array.from({menu}.options).map(o => o.text).join()")
    name_of = {record.label: name for name, record in MAPS.items()}
    names = [name_of[label] for label in names.split(",")]
    scores = fitted.region_scores_
    overview = [name for name, record in MAPS.items() if record.overview]
    assert names == [n for n in overview if n in scores and scores[n].max() > 0]
    for number, name in enumerate(names):
        _choose(browser, ".nx-map", number)
        start = {"neg_log10_p_fwe": 1.301}.get(name, 0.25 * ("accuracy" in name))
        assert browser.value(LEVEL) == pytest.approx(start, rel=1e-2)
        assert _n_shown(browser) == (scores[name] > start).sum()
        unit = browser.value("document.querySelector('.nx-unit').textContent")
        assert ("bits" in unit) == ("information" in name)
        what = browser.value("document.querySelector('.nx-what').textContent")
        assert ("family-wise" in what) == (name == "neg_log10_p_fwe")


def test_small_p_values_are_the_strong_ones(browser, fitted, viewers):
    browser.open(viewers("fitted", map_name="p_value_fwe"))
    values = fitted.region_scores_["p_value_fwe"]
    assert "at or below 0.05" in browser.value(SHOWN)
    assert _n_shown(browser) == (values <= 0.05).sum() > 0
    _press(browser, ".nx-threshold", "Home")
    assert _n_shown(browser) == np.isfinite(values).sum()
    assert browser.colored(GLASS.format(0)) > 0


_CENTROID = """(function () {
  var canvas = CANVAS, n = 0, sums = [0, 0], width = canvas.width;
  var x = canvas.getContext("2d").getImageData(0, 0, width, canvas.height).data;
  for (var i = 0; i < x.length / 4; i++) {
    if (x[4 * i + 3] === 0) { continue; }
    n += 1;
    sums[0] += (i % width + 0.5) / width;
    sums[1] += 1 - (Math.floor(i / width) + 0.5) / canvas.height;
  }
  return sums.map(function (sum) { return sum / n; });
})()"""


@pytest.mark.parametrize("place", [(-40, -70, 0), (30, -50, -20)])
def test_the_glass_brain_has_every_voxel_in_its_place(browser, brain, place, page_data):
    light = IdentificationSearchLight(
        brain.masker.mask_img_, radius=10.0, process_mask_img=_at(place, brain)
    )
    light.fit(brain.imgs, brain.y, groups=brain.runs)
    page = viewer_html(light, map_name="n_voxels")
    browser.open(page)
    data = page_data(page)
    for view, (axis, across) in enumerate([(1, 2), (0, 2), (0, 1)]):
        frame = data["glass"]["xyz"[view]]
        centroid = browser.value(_CENTROID.replace("CANVAS", GLASS.format(view)))
        centroid = np.array(centroid) * [frame[1] - frame[0], frame[3] - frame[2]]
        centroid += [frame[0], frame[2]]
        expected = np.array(data["places"][0])[[axis, across]]
        np.testing.assert_allclose(centroid, expected, atol=1.5)


def _at(place, brain):
    """A mask of the one voxel nearest to a place (mm)."""
    mask = brain.masker.mask_img_
    voxel = np.rint(apply_affine(np.linalg.inv(mask.affine), place)).astype(int)
    one = np.zeros(mask.shape, dtype=np.uint8)
    one[tuple(voxel)] = 1
    return Nifti1Image(one, mask.affine)


def test_sliders_move_the_cuts_and_the_panel(browser, viewers):
    browser.open(viewers("fitted"))
    places = "Array.from(document.querySelectorAll('.nx-slice + output')).map("
    places += "o => o.textContent).join()"
    before, panel = browser.value(places), browser.state()
    _press(browser, ".nx-slice", *(["ArrowRight"] * 8))
    after = browser.value(places)
    moved = [leading_count(text) for text in (before, after)]
    assert moved[1] - moved[0] == pytest.approx(8 * 2, abs=1)  # the template's 2 mm
    assert browser.state() != panel
    assert browser.state()["place"].startswith("(") or "Not analyzed" in str(
        browser.state()
    )
    assert browser.complaints() == []


def test_a_slow_answer_does_not_move_the_sliders_back(browser, viewers):
    browser.open(viewers("fitted"))
    browser.value("""(function () {
      var slider = document.querySelector('.nx-slice'), first = Number(slider.value);
      window.seen = [];
      window.addEventListener('message', () => { window.seen.push(slider.value); });
      [first + 3, first + 6].forEach(function (value) {
        slider.value = value;
        slider.dispatchEvent(new Event('input'));
      });
      window.wanted = slider.value;
    })()""")
    browser.wait_for("window.seen.length >= 2")
    assert browser.value("window.seen.every(value => value === window.wanted)")


def test_thresholds_of_two_viewers_do_not_meddle(browser, fitted):
    section = viewer_section(fitted, max_regions=50, only_surviving=False)
    sections = [("", section)] * 2
    browser.open(make_page("Two", sections).get_standalone())
    second = "document.querySelectorAll('.nx-shown')[1].textContent"
    before = browser.value(second)
    assert before != ""
    _press(browser, ".nx-threshold", "End")
    assert _n_shown(browser) == 0
    assert browser.value(second) == before


def test_surfaces_are_colored_turned_and_clicked(browser, surface, viewers, page_data):
    browser.open(viewers("surface"))
    data = page_data(viewers("surface"))
    left = "document.querySelectorAll('.nx-mesh canvas')[0]"
    counts = []
    _press(browser, ".nx-threshold", "Home")
    for _ in range(10):
        counts.append(browser.colored(left))
        _press(browser, ".nx-threshold", "PageUp")
    assert np.all(np.diff(counts) <= 0)
    assert counts[0] > counts[5] > counts[-1]
    _press(browser, ".nx-threshold", "Home")
    seen = browser.colored(left)
    _press(browser, ".nx-mesh canvas", "ArrowLeft", "ArrowUp")
    assert browser.colored(left) != seen
    _choose(browser, ".nx-look", 0)
    assert browser.colored(left) == seen
    side = data["hemispheres"][0]
    for vertex, spot in _spots(side["coordinates"]):
        box = browser.box(".nx-mesh canvas")
        x, y = box["x"] + spot[0] * box["width"], box["y"] + spot[1] * box["height"]
        browser.click(x, y)
        browser.settle()
        state = browser.state()
        assert state["place"].startswith(f"vertex {vertex} (left), (")
        shown = dict(item.split("=") for item in state["numbers"])
        region = data["region_of"][side["features"][vertex]]
        for name in ("accuracy", "implied_information", "p_value_fwe"):
            label, value = MAPS[name].label, surface.region_scores_[name][region]
            assert float(shown[label]) == pytest.approx(value, rel=1e-3)
    assert browser.complaints() == []
    assert browser.requests() <= {"file", "data", "about"}


def _spots(places):
    """Vertices on the left of a ball, and where they are on its canvas (shares)."""
    middle = (places.max(axis=0) + places.min(axis=0)) / 2
    reach = 0.51 * float(np.ptp(places, axis=0).max())
    for vertex in np.argsort(places[:, 0])[:3].tolist():
        _, y, z = (places[vertex] - middle).tolist()
        # seen from the left the front is on the left; 440 x 360 pixels
        yield vertex, (0.5 - y / reach / 2, 0.5 - z / reach / 2 * 440 / 360)
