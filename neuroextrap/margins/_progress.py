"""Progress of finished work, with the time that is left."""

import logging
import time

logger = logging.getLogger(__name__)


class Progress:
    """Log how many regions (or other units) are done and how long the rest will take.

    With ``verbose`` 0 messages are logged at level DEBUG, above at level INFO, at least
    ``interval`` seconds apart.
    """

    def __init__(
        self, verbose: int = 0, interval: float = 2.0, unit: str = "regions"
    ) -> None:
        self.level = logging.INFO if verbose else logging.DEBUG
        self.interval = interval
        self.unit = unit
        self._start = self._last = time.monotonic()

    def __call__(self, done: int, total: int) -> None:
        """Report that ``done`` of ``total`` units are finished."""
        now = time.monotonic()
        if done < total and now - self._last < self.interval:
            return
        self._last = now
        elapsed = now - self._start
        left = elapsed / done * (total - done)
        logger.log(
            self.level,
            "%d of %d %s (%d%%), %s elapsed, %s left",
            done,
            total,
            self.unit,
            100 * done // total,
            _clock(elapsed),
            _clock(left),
        )


def _clock(seconds: float) -> str:
    """Show seconds as h:mm:ss."""
    seconds = round(seconds)
    return f"{seconds // 3600}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
