"""Around a command: what it says, its Dask cluster, signals that end it."""

import contextlib
import importlib.util
import json
import logging
import re
import signal
import sys
import threading
import warnings
from pathlib import Path

from neuroextrap._parameter_table import command_words

logger = logging.getLogger("neuroextrap")


def say(text=""):
    """Write a line to stdout, in characters that it has, as a result of the command."""
    encoding = sys.stdout.encoding or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:  # a file on Windows, say
        text = text.replace("\N{MINUS SIGN}", "-")
        text = text.encode(encoding, "backslashreplace").decode(encoding)
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
    """Send the package's log and warnings to stderr while a command runs."""
    kind = _BesideBars if sys.stderr.isatty() else logging.StreamHandler
    handler = kind(sys.stderr)  # as it is now
    handler.setFormatter(_Formatter())
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


_SECONDS_TO_CONNECT = 10
_ADDRESS = re.compile(r"((tcp|tls|ucx|wss?)://)?[^/\s]+:\d+/?")


@contextlib.contextmanager
def dask_cluster(args):
    """Connect to the cluster that options name, but in a dry run, during a command."""
    named = getattr(args, "dask", None)
    if named is None or getattr(args, "dry_run", False):
        yield
        return
    if importlib.util.find_spec("distributed") is None:
        raise ModuleNotFoundError(
            "--dask needs the package distributed; pip install 'neuroextrap[dask]'"
        )
    from neuroextrap.margins import use_executor

    with _client(named) as client, use_executor(client):
        n_workers, n_threads = len(client.nthreads()), sum(client.nthreads().values())
        logger.info("Dask cluster of %d workers, %d threads", n_workers, n_threads)
        yield


def _client(named):
    """Return a client of the scheduler at an address or in a scheduler file."""
    from distributed import Client

    address = _address_in(named) if Path(named).is_file() else named
    try:
        if not _ADDRESS.fullmatch(str(address)):  # a client would try for long
            raise ValueError("that is no host:port and no file")
        return Client(address, timeout=_SECONDS_TO_CONNECT, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        reason = " ".join(str(error).split())
        raise ValueError(
            f"--dask {named}: no scheduler answers ({reason}); give its address, such "
            "as tcp://host:8786, or the file that dask scheduler --scheduler-file wrote"
        ) from error


def _address_in(path):
    """Return the address that a scheduler file holds."""
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))["address"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise ValueError(
            f"--dask {path}: the file is no scheduler file; give the one that dask "
            "scheduler --scheduler-file wrote, or an address"
        ) from None


class Terminated(KeyboardInterrupt):
    """Somebody asked the process to end, such as the scheduler of a cluster."""


@contextlib.contextmanager
def ending_on_sigterm():
    """Raise `Terminated` on the first SIGTERM, unless there is another handler."""
    in_main = threading.current_thread() is threading.main_thread()
    if not in_main or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return

    def end(number, frame):  # noqa: ARG001 - what the system calls it with
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        raise Terminated

    signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
