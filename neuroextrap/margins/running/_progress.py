"""Progress of finished work, with the time that is left."""

import logging
import sys
import time
import warnings
from typing import Any

logger = logging.getLogger(__name__)


class Progress:
    """Show how many regions (or other units) are done and how long the rest will take.

    With ``verbose`` above 0 a terminal or a notebook shows a progress bar (of tqdm);
    elsewhere lines are logged at level INFO, at least ``interval`` seconds apart. With
    ``verbose`` 0 such lines are logged at level DEBUG. The time left is extrapolated
    from what was finished after the first report, which includes compiling.
    """

    def __init__(
        self, verbose: int = 0, interval: float = 15.0, unit: str = "regions"
    ) -> None:
        self.level = logging.INFO if verbose else logging.DEBUG
        self.interval = interval
        self.unit = unit
        self._shows_bar = bool(verbose) and (_in_terminal() or _in_notebook())
        self._bar: Any = None
        self._start = self._last = time.monotonic()
        self._first: tuple[float, int] | None = None  # time, and units done

    def __call__(self, done: int, total: int) -> None:
        """Report that ``done`` of ``total`` units are finished."""
        if self._shows_bar:
            self._draw(done, total)
        else:
            self._log(done, total)

    def _draw(self, done: int, total: int) -> None:
        """Move the bar; it stays, complete, when everything is done."""
        if self._bar is None:
            self._bar = _new_bar(total, self.unit)
        self._bar.update(done - self._bar.n)
        if done >= total:
            self._bar.close()
            self._bar = None

    def _log(self, done: int, total: int) -> None:
        """Log a line now and then, and when everything is done."""
        now = time.monotonic()
        self._first = self._first or (now, done)
        if done < total and now - self._last < self.interval:
            return
        self._last = now
        begin, first = self._first
        known = done > first
        left = (now - begin) / (done - first) * (total - done) if known else 0.0
        logger.log(
            self.level,
            "%d of %d %s (%d%%), %s elapsed%s",
            done,
            total,
            self.unit,
            100 * done // total,
            clock(now - self._start),
            f", {clock(left)} left" if known else "",
        )


def clock(seconds: float) -> str:
    """Show seconds as h:mm:ss.

    >>> clock(3905.2)
    '1:05:05'
    """
    seconds = round(seconds)
    return f"{seconds // 3600}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"


def _new_bar(total: int, unit: str) -> Any:
    """Return an empty bar, as text where a notebook has no widgets."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a notebook without ipywidgets
        from tqdm.auto import tqdm

        return tqdm(total=total, unit=f" {unit}", file=sys.stderr, dynamic_ncols=True)


def _in_terminal() -> bool:
    """Whether standard error is shown on a terminal."""
    return sys.stderr is not None and sys.stderr.isatty()


def _in_notebook() -> bool:
    """Whether the process is the kernel of a notebook."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return shell is not None and "IPKernelApp" in shell.config
