"""Files that take their places together: staged, made durable, listed, then moved.

A folder of results cannot be swapped in one move: it may be a mount point, hold files
of others, or hold several analyses under BIDS names. So new files are written to a
hidden folder beside the old ones. Once they are whole and on disk, the list of moves is
written there, in one step: from then on the new results count. A process that is killed
before leaves the old results; one that is killed later leaves a list, and the next
reader or writer finishes it.
"""

import errno
import json
import os
import shutil
import tempfile
import time
import uuid
from contextlib import suppress
from pathlib import Path

from neuroextrap.maps._bids import DESCRIPTION, check_dataset, dataset_of
from neuroextrap.margins.running._checkpoint import Lock
from neuroextrap.stats._warn import warn

STAGING = ".neuroextrap-partial-"
"""What the names of hidden folders with new files begin with."""
_LIST = "commit.json"
_PATIENCE = 60.0  # seconds for another process to move its files


def new_staging(folder):
    """Make a hidden folder for new files and lock it; return it and its lock.

    FileNotFoundError if another process took it for an abandoned one before that.
    """
    staging = Path(tempfile.mkdtemp(prefix=STAGING, dir=folder))
    lock = Lock(staging)
    if lock.taken or not staging.is_dir():
        lock.release()
        _remove_file(staging)
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), staging)
    return staging, lock


def remove_abandoned(folder):
    """Remove hidden folders whose process ended before its files were whole."""
    for staging in Path(folder).glob(f"{STAGING}*"):
        lock = Lock(staging)
        if lock.held and not (staging / _LIST).exists():
            shutil.rmtree(staging, ignore_errors=True)
        lock.release()


def commit(staging, moves, remove=()):
    """Move staged files to their names, or paths, from the folder above, all or none.

    Files at the paths in `remove` are deleted before that.
    """
    for name in moves:
        _sync(staging / name)
    text = json.dumps({"move": dict(moves), "remove": sorted(remove)}, indent=1)
    partial = staging / f"{_LIST}.partial"
    partial.write_text(text, encoding="utf-8")
    _sync(partial)
    _sync(staging)
    os.replace(partial, staging / _LIST)
    _sync(staging)
    try:
        _finish(staging)
    except KeyboardInterrupt as interrupt:
        _finish(staging)
        raise type(interrupt)("the results had been written") from None


def is_committed(staging):
    """Return whether the files of a staging folder count."""
    return (staging / _LIST).exists()


def finish_interrupted(folder, *, below=False):
    """Finish moves that a killed process began in (or `below`) a folder, and warn.

    A process that is alive is waited for. ValueError if they cannot be finished.
    """
    pattern = f"{STAGING}*/{_LIST}"
    lists = Path(folder).rglob(pattern) if below else Path(folder).glob(pattern)
    for path in sorted(lists):
        try:
            if _finished_by_another(path):
                continue
            _finish(path.parent)
        except OSError as error:
            raise ValueError(
                f"{path.parent.parent} holds results that an interrupted run has "
                f"written in part, and they cannot be completed "
                f"({error.strerror or error}); make the folder writable and read again"
            ) from error
        warn(
            f"{path.parent.parent}: completed the results of a run that was killed "
            "while it moved them into place"
        )


def _finished_by_another(path):
    """Wait while the process that wrote a list moves its files; whether it has."""
    end = time.monotonic() + _PATIENCE
    while path.exists() and time.monotonic() < end:
        lock = Lock(path.parent)
        taken = lock.taken
        lock.release()
        _remove_file(path.parent)
        if not taken:
            break
        time.sleep(0.02)
    return not path.exists()


def _remove_file(staging):
    """Remove the file that a lock makes where a staging folder was, if it did."""
    if not staging.is_dir():
        with suppress(OSError):
            staging.unlink()


def _finish(staging):
    """Carry out the list of a staging folder, as far as that is not yet done."""
    folder = staging.parent
    plan = _read_list(staging)
    for name in plan["remove"]:
        Path(os.path.normpath(folder / name)).unlink(missing_ok=True)
    for name, target in plan["move"].items():
        place = Path(os.path.normpath(folder / target))
        place.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileNotFoundError):  # moved before
            _move(staging / name, place)
    _sync(folder)
    shutil.rmtree(staging, ignore_errors=True)


def _move(source, place):
    """Move a file over another one, in one step even from another file system."""
    try:
        os.replace(source, place)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        partial = place.with_name(f".partial-{uuid.uuid4().hex}")
        try:
            shutil.copyfile(source, partial)
            _sync(partial)
            os.replace(partial, place)
        finally:
            partial.unlink(missing_ok=True)
        source.unlink()


def _read_list(staging):
    """Return the list of a staging folder; what it names is in our own data set."""
    path = staging / _LIST
    remedy = f"remove {staging} and write the results again"
    try:
        plan = json.loads(path.read_text(encoding="utf-8"))
        targets, removed = [*plan["move"].values()], [*plan["remove"]]
        inside = [is_inside(staging, staging / name) for name in plan["move"]]
        inside += [_is_own(staging.parent, path) for path in [*targets, *removed]]
    except FileNotFoundError:  # another process has finished it
        return {"move": {}, "remove": []}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        wrong = type(error).__name__
        raise ValueError(f"{path} is damaged ({wrong}); {remedy}") from error
    if not all(inside):
        raise ValueError(f"{path} is damaged (files elsewhere); {remedy}")
    return plan


def _is_own(folder, target):
    """Return whether a path is in a folder, or in the data set that this is in."""
    if is_inside(folder, folder / target):
        return True
    root = dataset_of(folder / DESCRIPTION)
    with suppress(ValueError):  # a data set of others
        if root is not None:
            check_dataset(root, overwrite=False)
            return is_inside(root, folder / target)
    return False


def is_inside(folder, path):
    """Return whether a path lies below a folder."""
    path, folder = os.path.abspath(path), os.path.abspath(folder)
    return Path(path).is_relative_to(folder) and path != folder


def _sync(path):
    """Ask the system to put a file or folder on disk now, where it can."""
    is_folder = os.path.isdir(path)
    try:
        handle = os.open(path, os.O_RDONLY if is_folder else os.O_RDWR)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError:
        if not is_folder:  # not every system can do it with folders
            raise
