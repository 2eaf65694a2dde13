"""Chromium without a window, which opens pages, clicks and looks."""

import base64
import contextlib
import itertools
import json
import os
import select
import shutil
import signal
import subprocess
import time

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


class Browser:
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
