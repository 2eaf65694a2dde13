"""The Dask cluster that ``--dask`` names."""

import contextlib
import importlib.util
import json
import logging
from pathlib import Path

logger = logging.getLogger(__name__)

_SECONDS_TO_CONNECT = 10


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
