"""Around a command: the Dask cluster that it works on, and signals that end it."""

import contextlib
import importlib.util
import json
import logging
import re
import signal
import threading
from pathlib import Path

logger = logging.getLogger(__name__)

_SECONDS_TO_CONNECT = 10
_ADDRESS = re.compile(r"((tcp|tls|ucx|wss?)://)?[^/\s]+:\d+/?")


@contextlib.contextmanager
def dask_cluster(args):
    """Connect to the cluster that the options name, if any, while the command runs.

    A dry run needs none. ValueError when there is no such scheduler.
    """
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
    """Raise `Terminated` on SIGTERM while a command runs.

    Without it the process would end at once and leave unfinished files behind. A
    handler that was set before stays, and only a main thread can have one. A second
    SIGTERM ends the process.
    """
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
