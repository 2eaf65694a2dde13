"""What the command line says: results on stdout, everything else on stderr."""

import contextlib
import logging
import sys
import warnings

from neuroextrap.analysis._parameters import command_words

logger = logging.getLogger("neuroextrap")


def say(text=""):
    """Write a line to stdout, as a result of the command."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


class _BesideBars(logging.StreamHandler):
    """On a terminal, lines are written above a progress bar that is being drawn."""

    def emit(self, record):
        """Write the record above the bars."""
        from tqdm import tqdm

        try:
            tqdm.write(self.format(record), file=self.stream)
        except Exception:  # what logging handlers do with what goes wrong
            self.handleError(record)


@contextlib.contextmanager
def console(*, quiet=False, verbose=False):
    """Send the package's log and warnings to stderr while a command runs.

    With `quiet` only warnings are shown; with `verbose`, debug messages too.
    """
    handler = _handler()
    level = logging.WARNING if quiet else logging.INFO
    before = logger.level
    logger.setLevel(logging.DEBUG if verbose else level)
    logger.addHandler(handler)
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before)


def _handler():
    """Return a handler for stderr as it is now."""
    on_terminal = sys.stderr.isatty()
    kind = _BesideBars if on_terminal else logging.StreamHandler
    handler = kind(sys.stderr)
    handler.setFormatter(_Formatter())
    return handler


class _Formatter(logging.Formatter):
    """Plain messages in words of the command line; warnings say what they are."""

    def format(self, record):
        """Return one line for the record."""
        text = command_words(" ".join(record.getMessage().split()))
        if record.levelno >= logging.WARNING:
            text = f"{record.levelname.lower()}: {text}"
        if record.exc_info:
            text = f"{text}\n{self.formatException(record.exc_info)}"
        return text


def _show_warning(message, category, filename, lineno, file=None, line=None):
    """Log a warning as one line, without the place in the source."""
    del category, filename, lineno, file, line
    logger.warning("%s", message)
