"""Small fitted analyses to report on, and a browser to read the reports."""

import base64
import contextlib
import functools
import gzip
import itertools
import json
import os
import re
import select
import shutil
import signal
import subprocess
import time
import warnings

import matplotlib.pyplot as plt
import numpy as np
import pytest
import scipy.spatial
from nibabel import Nifti1Image
from nilearn.surface import InMemoryMesh, PolyMesh, SurfaceImage
from sklearn.utils import Bunch

from neuroextrap.datasets import simulate_brain
from neuroextrap.decoding import IdentificationSearchLight, compare_decoders
from tests.reporting.seam import identification_sections

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


@pytest.fixture(scope="session")
def brain():
    """Two spheres in a coarse brain, 4 classes, 5 runs."""
    return simulate_brain(
        resolution=8,
        radius=16.0,
        information=(30.0, 40.0),
        coordinates=[(30, -50, -20), (-40, -70, 0)],
        n_classes=4,
        n_runs=5,
    )


@pytest.fixture(scope="session")
def fitted(brain):
    """A searchlight with permutations."""
    light = IdentificationSearchLight(
        brain.masker.mask_img_, radius=16.0, n_permutations=20
    )
    return light.fit(brain.imgs, brain.y, groups=brain.runs)


@pytest.fixture(scope="session")
def sections(fitted):
    """The parts of its report, by heading."""
    return dict(identification_sections(fitted))


@pytest.fixture(scope="session")
def reports(request):
    """A function that makes the report of a fixture's analysis, once.

    Returns the report, what was warned of, and whether its figures were closed.
    """

    @functools.cache
    def report(name):
        analysis, before = request.getfixturevalue(name), plt.get_fignums()
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            made = analysis.generate_report()
        return made, [str(each.message) for each in told], plt.get_fignums() == before

    return report


@pytest.fixture(scope="session")
def page(reports):
    """The report of the searchlight, as HTML."""
    return reports("fitted")[0].get_standalone()


@pytest.fixture(scope="session")
def compared(fitted, brain):
    """The same classifier on the responses, and on noise in their place."""
    noise = np.random.default_rng(0).normal(size=brain.imgs.shape)
    deaf = IdentificationSearchLight(brain.masker.mask_img_, radius=16.0)
    deaf.fit(Nifti1Image(noise, brain.imgs.affine), brain.y, groups=brain.runs)
    return compare_decoders(fitted, deaf, unit="sample", n_permutations=100)


@pytest.fixture(scope="session")
def one_region():
    """One region of plain arrays, without permutations, class names to be escaped."""
    rng = np.random.default_rng(0)
    names = np.array(["<b>face</b>", "a & b", '"cat"'])
    y, runs = np.tile([0, 1, 2], 6), np.repeat(np.arange(6), 3)
    X = rng.normal(size=(3, 9))[y] + rng.normal(size=(18, 9))
    return IdentificationSearchLight().fit(X, names[y], groups=runs)


REGION_NAMES = ["</script><b>left</b>", "a & b", '"c"', "d"]


@pytest.fixture(scope="session")
def atlas(brain):
    """Four slabs across x, a gap between them, with names to be escaped."""
    mask = brain.masker.mask_img_
    slab = 1 + np.arange(mask.shape[0]) // 7
    slab[[6, 7, 13, 14]] = 0
    labels = np.broadcast_to(slab[:, None, None], mask.shape).astype(np.int16)
    bunch = Bunch(maps=Nifti1Image(labels, mask.affine), labels=REGION_NAMES)
    light = IdentificationSearchLight(mask, labels_img=bunch)
    return light.fit(brain.imgs, brain.y, groups=brain.runs)


@pytest.fixture(scope="session")
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
    light = IdentificationSearchLight(mask, radius=5.0, process_mask_img=mask)
    return light.fit(Nifti1Image(data, affine), y, groups=runs)


def _ball(center):
    """A closed mesh of 300 vertices, 40 mm across."""
    number = np.arange(300) + 0.5
    height, angle = 1 - number / 150, np.pi * (1 + 5**0.5) * number
    ring = np.sqrt(1 - height**2)
    places = np.stack([ring * np.cos(angle), ring * np.sin(angle), height], axis=1)
    faces = scipy.spatial.ConvexHull(places).simplices
    return InMemoryMesh(coordinates=20 * places + center, faces=faces)


@pytest.fixture(scope="session")
def surface():
    """Two balls; the outer side of the left one tells six classes apart."""
    rng = np.random.default_rng(0)
    y, runs = np.tile(np.arange(6), 4), np.repeat(np.arange(4), 6)
    mesh = PolyMesh(left=_ball([-40, 0, 0]), right=_ball([40, 0, 0]))
    data = {side: rng.normal(size=(300, 24)) for side in ("left", "right")}
    outer = np.maximum(-45 - mesh.parts["left"].coordinates[:, 0], 0) / 15
    data["left"] += outer[:, None] * rng.normal(size=(300, 6))[:, y]
    light = IdentificationSearchLight(radius=9.0, n_permutations=20)
    return light.fit(SurfaceImage(mesh=mesh, data=data), y, groups=runs)


@pytest.fixture(scope="session")
def page_data():
    """What a page knows of its regions: a function of its HTML."""

    def read(page):
        match = re.search(r'class="nx-data">(.*?)</script>', page)
        data = json.loads(_inflated(match.group(1)))
        data["survives"] = _unpacked(data["survives"], "u1").astype(bool)
        data["region_of"] = _unpacked(data["region_of"], "<i4")
        for each in data["maps"]:
            each["values"] = _unpacked(each["values"], "<f4")
        for side in data.get("hemispheres", ()):
            for name, kind in (("coordinates", "<f4"), ("faces", "<i4")):
                side[name] = _unpacked(side[name], kind).reshape(-1, 3)
            side["features"] = _unpacked(side["features"], "<i4")
            side["shades"] = _unpacked(side["shades"], "u1")
        return data

    return read


def _unpacked(text, kind):
    return np.frombuffer(_inflated(text), dtype=kind)


def _inflated(text):
    return gzip.decompress(base64.b64decode(text))


_STATE = """JSON.stringify({
  place: document.querySelector(".nx-place").textContent,
  curve: Array.from(document.querySelectorAll(".nx-observed polyline")).map(
    function (line) { return line.getAttribute("points"); }).join(""),
  numbers: Array.from(document.querySelectorAll(".nx-numbers tr")).map(
    function (line) { return line.cells[0].textContent + "=" +
                             line.cells[1].textContent; })
})"""


# Pictures are drawn when the browser next draws. Windows get messages in the order in
# which they are sent: a mark that a frame sends back has passed all that was on its
# way. What came may give a frame another height, which it tells in turn: until all is
# still.
_DRAWN = """(async function () {
  var frames = Array.from(document.querySelectorAll(".nx-viewer iframe"));
  var n = 0, before;
  function drawn() {
    return new Promise(function (done) {
      requestAnimationFrame(function () { requestAnimationFrame(done); });
    });
  }
  function passed(frame) {
    var inner = frame.contentWindow, mark = "mark " + (n++);
    return new Promise(function (done) {
      function pass(event) {
        if (event.data !== mark) { return; }
        event.currentTarget.removeEventListener("message", pass);
        if (event.currentTarget === window) { done(); return; }
        window.postMessage(mark, "*");
      }
      inner.addEventListener("message", pass);
      window.addEventListener("message", pass);
      inner.postMessage(mark, "*");
    });
  }
  function shown() {
    return JSON.stringify([
      document.documentElement.scrollHeight,
      frames.map(function (frame) {
        return [frame.height, frame.contentDocument.body.offsetHeight];
      }),
      Array.from(document.querySelectorAll(".nx-shown, .nx-place, .nx-near"))
        .map(function (text) { return text.textContent; })
    ]);
  }
  await drawn();
  do {
    before = shown();
    await Promise.all(frames.map(passed));
    await drawn();
  } while (frames.length && shown() !== before);
})()"""
_STARTED = """document.readyState === "complete" && Array.from(
  document.querySelectorAll(".nx-viewer")).every(section => section.dataset.started)"""
_COLORED = """(function () {
  var canvas = CANVAS, n = 0;
  var x = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
  for (var i = 0; i < x.length; i += 4) {
    var low = Math.min(x[i], x[i + 1], x[i + 2]);
    n += x[i + 3] > 0 && Math.max(x[i], x[i + 1], x[i + 2]) - low > 24;
  }
  return n;
})()"""
_CODES = {
    "ArrowLeft": {"windowsVirtualKeyCode": 37},
    "ArrowUp": {"windowsVirtualKeyCode": 38},
    "ArrowRight": {"windowsVirtualKeyCode": 39},
    "ArrowDown": {"windowsVirtualKeyCode": 40},
    "PageUp": {"windowsVirtualKeyCode": 33},
    "End": {"windowsVirtualKeyCode": 35},
    "Home": {"windowsVirtualKeyCode": 36},
}


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
        self._folder = folder
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
        deadline = time.monotonic() + 120
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

    def settle(self):
        """Wait until the page is whole, and all is drawn, in frames too."""
        self.wait_for(_STARTED)
        answer = self.call("Runtime.evaluate", expression=_DRAWN, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer

    def wait_for(self, expression):
        deadline = time.monotonic() + 120
        while not self.value(expression):
            assert time.monotonic() < deadline, f"never came true: {expression}"
            time.sleep(0.1)

    def open(self, page):
        """Open a page, HTML or the path of a file, and wait until it is drawn."""
        if isinstance(page, str):
            path = self._folder / "page.html"
            path.write_text(page, encoding="utf-8")
            page = path
        self.events.clear()
        self.call("Page.navigate", url=page.as_uri())
        self.settle()

    def state(self):
        """What the panel below the brain shows."""
        return json.loads(self.value(_STATE))

    def box(self, selector):
        """Where the first such element is (pixels), scrolled into view."""
        element = f"document.querySelector({json.dumps(selector)})"
        self.value(f"{element}.scrollIntoView({{block: 'center'}})")
        return json.loads(
            self.value(f"JSON.stringify({element}.getBoundingClientRect())")
        )

    def colored(self, canvas):
        """Number of pixels of a canvas that are neither gray nor transparent."""
        return self.value(_COLORED.replace("CANVAS", canvas))

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

    def press(self, key):
        """Press a key on what has the focus."""
        for kind in ("keyDown", "keyUp"):
            self.call(
                "Input.dispatchKeyEvent", type=kind, key=key, code=key, **_CODES[key]
            )

    def resize(self, width, height=900):
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    def screenshot(self, path, width=None):
        """Picture of the whole page."""
        if width is not None:
            self.resize(width)
            self.settle()
            self.resize(width, self.value("document.documentElement.scrollHeight"))
            self.settle()
        beyond = width is None  # the viewport is the page otherwise
        shot = self.call("Page.captureScreenshot", captureBeyondViewport=beyond)
        path.write_bytes(base64.b64decode(shot["data"]))
        if width is not None:
            self.call("Emulation.clearDeviceMetricsOverride")

    def complaints(self):
        """Exceptions, console messages and log entries, warnings left out."""
        events = []
        for event in self.events:
            entry = event.get("params", {}).get("entry", {})
            loud = event["method"].startswith("Runtime.exception")
            loud |= event["method"] == "Runtime.consoleAPICalled"
            if loud or entry.get("level") == "error":
                events.append(event)
        return events

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


@pytest.fixture(scope="session")
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
