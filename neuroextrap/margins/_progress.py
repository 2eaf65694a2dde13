"""Progress of finished work, with the time that is left."""

import logging
import time

logger = logging.getLogger(__name__)


class Progress:
    """Log how many regions are done and how long the rest will take.

    Parameters
    ----------
    verbose : int
        0 logs at level DEBUG, more at level INFO.
    interval : float
        Least seconds between two messages.

    Examples
    --------
    >>> from neuroextrap.margins._progress import Progress
    >>> Progress(verbose=0)(5, 10)
    """

    def __init__(self, verbose=0, interval=2.0):
        self.level = logging.INFO if verbose else logging.DEBUG
        self.interval = interval
        self._start = self._last = time.monotonic()

    def __call__(self, done, total):
        """Report that ``done`` of ``total`` regions are finished.

        Parameters
        ----------
        done, total : int
        """
        now = time.monotonic()
        if done < total and now - self._last < self.interval:
            return
        self._last = now
        elapsed = now - self._start
        left = elapsed / done * (total - done)
        logger.log(
            self.level,
            "%d of %d regions (%d%%), %s elapsed, %s left",
            done,
            total,
            100 * done // total,
            _clock(elapsed),
            _clock(left),
        )


def _clock(seconds):
    """Show seconds as h:mm:ss."""
    seconds = round(seconds)
    return f"{seconds // 3600}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
