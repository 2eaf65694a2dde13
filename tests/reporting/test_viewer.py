"""The viewer: what its page knows, and what a click shows in a real browser."""

import base64
import contextlib
import itertools
import json
import os
import re
import select
import shutil
import signal
import subprocess
import time
from html import unescape
from types import SimpleNamespace

import numpy as np
import pytest
from nibabel import Nifti1Image
from nibabel.affines import apply_affine
from nilearn.reporting import HTMLReport
from sklearn.utils import Bunch

from neuroextrap.datasets import simulate_brain
from neuroextrap.decoding import IdentificationSearchLight
from neuroextrap.reporting import interactive_viewer, make_page, peak_table
from neuroextrap.reporting._viewer import report_section, viewer_section

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--enable-unsafe-swiftshader",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--remote-debugging-pipe",
    "--window-size=1100,900",
]


def _page(*args, **kwargs):
    return interactive_viewer(*args, **kwargs).get_standalone()


def _data(page):
    found = re.search(r'<script type="application/json"[^>]*>(.*?)</script>', page)
    return json.loads(found.group(1))


def _row_at(data, voxel):
    """Naive twin of the script's look-up: expand every run."""
    starts, lengths, rows = data["voxels"]
    flat = np.ravel_multi_index(tuple(voxel), data["shape"])
    for start, length, row in zip(starts, lengths, rows, strict=True):
        if start <= flat < start + length:
            return row
    return None


NAMES = ["</script><b>left</b>", "a & b", '"c"', "d"]


@pytest.fixture(scope="module")
def atlas(brain):
    """Four slabs across x, a gap between them, with names to be escaped."""
    mask = brain.masker.mask_img_
    slab = 1 + np.arange(mask.shape[0]) // 7
    slab[[6, 7, 13, 14]] = 0
    labels = np.broadcast_to(slab[:, None, None], mask.shape).astype(np.int16)
    bunch = Bunch(maps=Nifti1Image(labels, mask.affine), labels=NAMES)
    light = IdentificationSearchLight(mask, labels_img=bunch)
    return light.fit(brain.imgs, brain.y, groups=brain.runs)


@pytest.fixture(scope="module")
def oblique():
    """Anisotropic voxels in turned axes, one thin axis; no groups with all classes."""
    turn = np.array([[0.8, -0.6, 0], [0.6, 0.8, 0], [0, 0, -1]])
    affine = np.eye(4)
    affine[:3, :3] = turn @ np.diag([3.0, 2.0, 6.0])
    affine[:3, 3] = 10, -40, 25
    rng = np.random.default_rng(1)
    y, runs = np.tile([0, 1, 2], 3), np.repeat([0, 1, 2], 3)
    shape = 9, 14, 3
    data = rng.normal(size=(*shape, 9)) + rng.normal(size=(*shape, 3))[..., y]
    mask = Nifti1Image(np.ones(shape, dtype=np.uint8), affine)
    light = IdentificationSearchLight(mask, radius=5.0, center_mask_img=mask)
    return light.fit(Nifti1Image(data, affine), y, groups=runs)


def test_every_voxel_leads_to_its_region(fitted):
    data = _data(_page(fitted, max_regions=10**6))
    results, mask_img = fitted.results_, fitted.masker_.mask_img_
    voxels = np.argwhere(mask_img.get_fdata() > 0)
    scores = fitted.region_scores_
    accuracy = [column["label"] for column in data["columns"]].index("accuracy")
    for region in range(0, len(voxels), 37):
        row = _row_at(data, voxels[region])
        assert (row is None) == np.isnan(scores["accuracy"][region])
        assert data["curves"][row] == pytest.approx(
            fitted.accuracy_curve(region)[1], rel=1e-3
        )
        assert data["bounds"][row] == pytest.approx(
            results.bound_curve(region)[1], rel=1e-3
        )
        value = data["values"][row][accuracy]
        assert value == pytest.approx(scores["accuracy"][region], rel=1e-3)
        place = apply_affine(mask_img.affine, voxels[region])
        assert data["places"][row] == pytest.approx(place)
    assert data["kept"] == data["analysed"]


def test_strongest_regions_are_kept_and_the_page_says_so(fitted):
    values = fitted.region_scores_["implied_information"]
    page = _page(fitted, max_regions=7)
    data = _data(page)
    column = [c["label"] for c in data["columns"]].index("implied information")
    kept = [row[column] for row in data["values"]]
    assert kept == pytest.approx(np.sort(values)[::-1][:7], rel=1e-3)
    assert data["kept"] == len(data["curves"]) == sum(data["voxels"][1]) == 7
    assert f"the 7 strongest of {data['analysed']} regions" in page


def test_it_starts_at_the_peak(fitted):
    data = _data(_page(fitted))
    peak = peak_table(fitted, n_peaks=1, statistic="implied_information")
    place = data["places"][data["start"]]
    assert place == pytest.approx(peak[["x", "y", "z"]].to_numpy()[0])
    assert _data(_page(fitted, max_regions=1))["start"] == 0


def test_smallest_p_values_are_the_strongest(fitted):
    data = _data(_page(fitted, map_name="p_value_fwe", max_regions=5))
    column = [c["label"] for c in data["columns"]].index("p value fwe")
    smallest = np.sort(fitted.region_scores_["p_value_fwe"])[:5]
    assert [row[column] for row in data["values"]] == pytest.approx(smallest, rel=1e-3)


def test_page_is_a_report_without_network_or_third_parties(fitted):
    report = interactive_viewer(fitted, max_regions=5)
    assert isinstance(report, HTMLReport)
    page = unescape(report.get_standalone())
    assert set(re.findall(r"https?://[^\s\"'<]*", page)) == {
        "http://www.w3.org/2000/svg"
    }
    assert not re.search(r"<link |<script[^>]* src=", page)
    sources = re.findall(r'<img[^>]* src="(.{11})', page)
    assert len(sources) == 3
    assert set(sources) == {"data:image/"}


def test_pages_of_a_large_set_stay_small():
    n_classes, n_runs = 40, 2
    brain = simulate_brain(resolution=8, n_classes=n_classes, n_runs=n_runs)
    light = IdentificationSearchLight(brain.masker.mask_img_, radius=8.0)
    light.fit(brain.imgs, brain.y, groups=brain.runs)
    data = _data(_page(light))
    size = len(json.dumps(data))
    assert data["kept"] > 2000
    assert size / data["kept"] < 500


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"map_name": "volume"}, "map_name='volume' is not one of"),
        ({"max_regions": 0}, "max_regions must be at least 1, got 0"),
    ],
)
def test_bad_options_are_refused(fitted, options, match):
    with pytest.raises(ValueError, match=match):
        interactive_viewer(fitted, **options)


def test_arrays_have_no_volume_to_click(one_region):
    with pytest.raises(ValueError, match="no volume to click into"):
        interactive_viewer(one_region)


def test_surfaces_have_no_volume_to_click(fitted, monkeypatch):
    monkeypatch.setattr("neuroextrap.images.is_surface_masker", lambda masker: True)
    with pytest.raises(ValueError, match="it comes from a surface"):
        interactive_viewer(fitted)


def test_another_viewer_of_nilearn_is_told(fitted, monkeypatch):
    def view_img(*args, **kwargs):
        return SimpleNamespace(
            html="<html><body><script>other()</script></body></html>"
        )

    monkeypatch.setattr("nilearn.plotting.view_img", view_img)
    with pytest.raises(RuntimeError, match="does not call brainsprite any more"):
        interactive_viewer(fitted)


def test_report_says_when_nilearn_has_another_viewer(fitted, monkeypatch, caplog):
    monkeypatch.setattr(
        "nilearn.plotting.view_img", lambda *a, **k: SimpleNamespace(html="<body>")
    )
    assert 'class="note"' in report_section(fitted)
    assert "the report has no interactive viewer" in caplog.text


def test_report_says_that_the_viewer_is_for_volumes(fitted, one_region, monkeypatch):
    assert report_section(one_region) == ""
    monkeypatch.setattr("neuroextrap.images.is_surface_masker", lambda masker: True)
    assert "is for volumes" in report_section(fitted)


def test_all_atlas_regions_are_kept_and_names_escaped(atlas):
    page = _page(atlas, max_regions=1)
    data = _data(page)
    assert sorted(data["names"]) == sorted(NAMES)
    assert "</script><b>" not in page
    rows = [atlas.table_["name"].unique().tolist().index(n) for n in data["names"]]
    curves = atlas.table_["accuracy"].to_numpy().reshape(4, -1)[rows]
    assert np.array(data["curves"]) == pytest.approx(curves, rel=1e-3)
    information = [row[2] for row in data["values"]]
    assert information == sorted(information, reverse=True)
    assert "all 4 regions" in page


def test_read_from_a_folder_shows_the_same(fitted, tmp_path):
    fitted.to_directory(tmp_path / "results")
    again = IdentificationSearchLight.from_directory(tmp_path / "results")
    assert _data(_page(again, max_regions=20)) == _data(_page(fitted, max_regions=20))


class _Browser:
    """Chromium spoken to over a pipe (DevTools protocol)."""

    def __init__(self, folder):
        to_child, self._write = os.pipe()
        self._read, from_child = os.pipe()
        command = f'exec "$0" "$@" 3<&{to_child} 4>&{from_child}'
        self._process = subprocess.Popen(
            ["bash", "-c", command, CHROMIUM, *FLAGS, f"--user-data-dir={folder}"],
            pass_fds=(to_child, from_child),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        os.close(to_child)
        os.close(from_child)
        self._numbers, self._buffer, self.events = itertools.count(1), b"", []
        self._session = None

    def attach(self):
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call(
            "Target.attachToTarget", targetId=target, flatten=True
        )["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def _message(self, deadline):
        while b"\0" not in self._buffer:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self._read], [], [], left)[0]:
                raise TimeoutError("the browser does not answer")
            got = os.read(self._read, 1 << 20)
            if not got:
                raise EOFError("the browser has gone")
            self._buffer += got
        text, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(text)

    def call(self, method, **params):
        number = next(self._numbers)
        request = {"id": number, "method": method, "params": params}
        if self._session:
            request["sessionId"] = self._session
        os.write(self._write, json.dumps(request).encode() + b"\0")
        deadline = time.monotonic() + 60
        while True:
            message = self._message(deadline)
            if message.get("id") == number:
                assert "error" not in message, message
                return message["result"]
            self.events.append(message)

    def value(self, expression):
        answer = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True
        )
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def wait_for(self, expression):
        deadline = time.monotonic() + 30
        while not self.value(expression):
            assert time.monotonic() < deadline, f"never came true: {expression}"
            time.sleep(0.1)

    def open(self, path):
        self.events.clear()
        self.call("Page.navigate", url=path.as_uri())
        self.wait_for("document.querySelectorAll('.nx-numbers tr').length > 0")

    def click(self, x, y):
        for kind in ("mousePressed", "mouseReleased"):
            self.call(
                "Input.dispatchMouseEvent",
                type=kind,
                x=x,
                y=y,
                button="left",
                clickCount=1,
            )

    def screenshot(self, path):
        shot = self.call("Page.captureScreenshot", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(shot["data"]))

    def complaints(self):
        """Exceptions, console messages and log entries, warnings left out."""
        found = []
        for event in self.events:
            entry = event.get("params", {}).get("entry", {})
            loud = event["method"].startswith("Runtime.exception")
            loud |= event["method"] == "Runtime.consoleAPICalled"
            if loud or entry.get("level") == "error":
                found.append(event)
        return found

    def requests(self):
        sent = (e for e in self.events if e["method"] == "Network.requestWillBeSent")
        urls = {e["params"]["request"]["url"].split(":")[0] for e in sent}
        return urls

    def close(self):
        with contextlib.suppress(OSError, EOFError, TimeoutError, AssertionError):
            self._session = None
            self.call("Browser.close")
            self._process.wait(10)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait(10)
        os.close(self._read)
        os.close(self._write)


def _expanded(data):
    """Place (mm) and row of every voxel that has a curve."""
    starts, lengths, rows = data["voxels"]
    flat = np.concatenate(
        [s + np.arange(n) for s, n in zip(starts, lengths, strict=True)]
    )
    voxels = np.stack(np.unravel_index(flat, data["shape"]), axis=1)
    return apply_affine(np.array(data["affine"]), voxels), np.repeat(rows, lengths)


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    """Headless Chromium, closed at the end."""
    if CHROMIUM is None:
        pytest.skip("chromium is not installed")
    running = _Browser(tmp_path_factory.mktemp("profile"))
    try:
        running.attach()
        yield running
    finally:
        running.close()


_STATE = """JSON.stringify({
  place: document.querySelector(".nx-place").textContent,
  curve: Array.from(document.querySelectorAll(".nx-observed polyline")).map(
    function (line) { return line.getAttribute("points"); }).join(""),
  numbers: Array.from(document.querySelectorAll(".nx-numbers tr")).map(
    function (line) { return line.cells[0].textContent + "=" +
                             line.cells[1].textContent; })
})"""


def _state(browser):
    return json.loads(browser.value(_STATE))


def _frame_box(browser):
    return json.loads(
        browser.value(
            "JSON.stringify(document.querySelector('iframe').getBoundingClientRect())"
        )
    )


def test_a_click_changes_the_curve(browser, fitted, tmp_path):
    path = tmp_path / "viewer.html"
    path.write_text(_page(fitted), encoding="utf-8")
    browser.open(path)
    before = _state(browser)
    box = _frame_box(browser)
    # the first pane is a sagittal slice: another place in it
    browser.click(box["x"] + 0.16 * box["width"], box["y"] + 0.35 * box["height"])
    browser.wait_for(
        "document.querySelector('.nx-place').textContent !== "
        + json.dumps(before["place"])
    )
    after = _state(browser)
    assert after["curve"] not in ("", before["curve"])
    assert after["numbers"] != before["numbers"]
    place = [int(v) for v in re.findall(r"-?\d+", after["place"])[:3]]
    region = fitted.find_region(tuple(place))
    shown = dict(item.split("=") for item in after["numbers"])
    for label in ("accuracy", "implied information", "p value fwe", "n voxels"):
        value = fitted.region_scores_[label.replace(" ", "_")][region]
        assert float(shown[label]) == pytest.approx(value, rel=1e-3)
    browser.screenshot(tmp_path / "viewer.png")
    assert (tmp_path / "viewer.png").stat().st_size > 20_000
    assert browser.complaints() == []
    assert browser.requests() <= {"file", "data", "about"}


@pytest.mark.parametrize("analysis", ["fitted", "atlas"])
def test_script_finds_what_the_twin_finds(browser, analysis, request, tmp_path):
    page = _page(request.getfixturevalue(analysis), max_regions=200)
    path = tmp_path / "few.html"
    path.write_text(page, encoding="utf-8")
    browser.open(path)
    data = _data(page)
    rng = np.random.default_rng(0)
    voxels = rng.integers(0, data["shape"], size=(400, 3))
    found = json.loads(
        browser.value(
            "(function () {var s = document.querySelector('.nx-viewer');"
            "var d = neuroextrapViewer.dataOf(s); return JSON.stringify("
            + json.dumps(voxels.tolist())
            + ".map(function (v) {return neuroextrapViewer.find(d, v.map(function (x, "
            "i) {return d.affine[i][0] * v[0] + d.affine[i][1] * v[1] + "
            "d.affine[i][2] * v[2] + d.affine[i][3];}));}))})()"
        )
    )
    places, rows = _expanded(data)
    n_near = 0
    for voxel, answer in zip(voxels, found, strict=True):
        xyz = apply_affine(np.array(data["affine"]), voxel)
        distances = np.linalg.norm(places - xyz, axis=1)
        row = _row_at(data, voxel)
        if row is not None:
            assert (answer["row"], answer["miss"]) == (row, 0)
        elif distances.min() > data["reach"]:
            assert answer is None
        else:
            n_near += 1
            assert answer["miss"] == pytest.approx(distances.min())
            own = distances[rows == answer["row"]].min()
            assert own == pytest.approx(distances.min())
    assert n_near > 10


def _shown_at(browser, page, path, *spots):
    """Open a page and click; what is shown at first and after every click."""
    path.write_text(page, encoding="utf-8")
    browser.open(path)
    box, states = _frame_box(browser), [_state(browser)]
    for right, down in spots:
        x, y = box["x"] + right * box["width"], box["y"] + down * box["height"]
        browser.click(x, y)
        time.sleep(0.2)
        states.append(_state(browser))
    assert browser.complaints() == []
    return states


def test_atlas_clicks_name_the_region_and_gaps(browser, atlas, tmp_path):
    spots = [(x, 0.4) for x in np.linspace(0.7, 0.95, 9)] + [(0.995, 0.02)]
    states = _shown_at(browser, _page(atlas), tmp_path / "atlas.html", *spots)
    browser.screenshot(tmp_path / "atlas.png")
    places = [state["place"] for state in states]
    for name in NAMES[:3]:
        assert any(place.startswith(f"{name}, (") for place in places)
    assert any("; the nearest with a curve: " in place for place in places)
    assert browser.value("document.querySelectorAll('.nx-place b').length") == 0
    assert places[-1].startswith("Not analysed at")
    assert states[-1]["curve"] == ""


def test_two_classes_have_a_curve_of_one_point(browser, brain, tmp_path):
    light = IdentificationSearchLight(
        brain.masker.mask_img_, radius=16.0, classes=np.unique(brain.y)[:2].tolist()
    )
    page = _page(light.fit(brain.imgs, brain.y, groups=brain.runs), max_regions=9)
    (state,) = _shown_at(browser, page, tmp_path / "two_classes.html")
    assert re.fullmatch(r"264,[\d.]+", state["curve"])


def test_turned_axes_lead_to_the_right_voxel(browser, oblique, tmp_path):
    page = _page(oblique)
    data = _data(page)
    first, *others = _shown_at(
        browser, page, tmp_path / "oblique.html", (0.1, 0.4), (0.5, 0.35), (0.8, 0.4)
    )
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


def test_the_colour_under_the_cross_is_the_number_shown(browser, oblique, tmp_path):
    path = tmp_path / "colours.html"
    path.write_text(_page(oblique), encoding="utf-8")
    browser.open(path)
    browser.value(
        "window.addEventListener('message', e => {window.last = e.data.value})"
    )
    values = oblique.region_scores_["implied_information"]
    box, seen = _frame_box(browser), []
    for right, down in np.random.default_rng(3).uniform(
        (0.72, 0.2), (0.9, 0.6), (12, 2)
    ):
        x, y = box["x"] + right * box["width"], box["y"] + down * box["height"]
        browser.click(x, y)
        time.sleep(0.1)
        drawn, state = browser.value("window.last"), _state(browser)
        shown = dict(item.split("=") for item in state["numbers"])
        if not state["place"].startswith("Not analysed"):
            number = float(shown["implied information"])
            # 256 colours; transparent where the map is zero
            step = values.max() / 255
            assert (drawn or 0.0) == pytest.approx(number, abs=1.5 * step)
            seen.append(number)
    assert len(np.unique(seen)) >= 3


def test_two_viewers_on_a_page_do_not_meddle(browser, fitted, tmp_path):
    sections = [
        ("First", viewer_section(fitted, max_regions=50)),
        ("Second", viewer_section(fitted, map_name="accuracy", max_regions=50)),
    ]
    page = make_page("Two", sections).get_standalone()
    second = "document.querySelectorAll('.nx-place')[1].textContent"
    path = tmp_path / "two.html"
    path.write_text(page, encoding="utf-8")
    browser.open(path)
    browser.wait_for(f"!{second}.startsWith('Click')")
    before = browser.value(second)
    box, place = _frame_box(browser), _state(browser)["place"]
    browser.click(box["x"] + 0.16 * box["width"], box["y"] + 0.35 * box["height"])
    browser.wait_for(
        "document.querySelector('.nx-place').textContent !== " + json.dumps(place)
    )
    assert browser.value(second) == before


def test_a_saved_report_is_a_frame_in_a_frame(browser, fitted, tmp_path):
    path = tmp_path / "saved.html"
    interactive_viewer(fitted, max_regions=50).save_as_html(path)
    browser.call("Page.navigate", url=path.as_uri())
    inside = "document.querySelector('iframe')?.contentDocument"
    browser.wait_for(f"{inside}?.querySelectorAll('.nx-numbers tr').length > 0")
    assert browser.complaints() == []
