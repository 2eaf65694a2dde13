"""Results that take their places together, with a record of where they come from.

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
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from neuroextrap.maps._provenance import (
    DESCRIPTION,
    check_dataset,
    dataset_of,
    file_hash,
    json_text,
    read_json,
    replaced_file,
)
from neuroextrap.margins.running._checkpoint import Lock
from neuroextrap.stats._validation import warn

STAGING = ".neuroextrap-partial-"
"""What the names of hidden folders with new files begin with."""
_LIST, _LOCK = "commit.json", "lock"
_PATIENCE = 60.0  # seconds for another process to move its files
_ATTEMPTS = 20


def tried_again(act, *args, **options):
    """Return what a function does, again if a folder that it needs vanishes meanwhile.

    Another process may remove folders that it finds empty.
    """
    for _ in range(_ATTEMPTS - 1):
        with suppress(FileNotFoundError, FileExistsError):
            return act(*args, **options)
    return act(*args, **options)


def _remove_abandoned(folder):
    """Remove hidden folders whose process ended before its files were whole."""
    for staging in Path(folder).glob(f"{STAGING}*/"):
        lock = Lock(staging / _LOCK)
        if lock.held and not (staging / _LIST).exists():
            shutil.rmtree(staging, ignore_errors=True)
        lock.release()


def _commit(staging, moves, remove=()):
    """Move staged files to their names, or paths, from the folder above, all or none.

    Files at the paths in `remove` are deleted before that.
    """
    staged = [staging / name for name in moves]
    for path in (*staged, *{path.parent for path in staged}):
        _sync(path)
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
    with suppress(FileNotFoundError):  # it has removed the folder
        while path.exists() and time.monotonic() < end:
            lock = Lock(path.with_name(_LOCK))
            taken = lock.taken
            lock.release()
            if not taken:
                break
            time.sleep(0.02)
    return not path.exists()


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
        with replaced_file(place) as partial:
            shutil.copyfile(source, partial)
            _sync(partial)
        source.unlink()


def _read_list(staging):
    """Return the list of a staging folder; what it names is in our own data set."""
    path = staging / _LIST
    remedy = f"remove {staging} and write the results again"
    try:
        plan = json.loads(path.read_text(encoding="utf-8"))
        targets, removed = [*plan["move"].values()], [*plan["remove"]]
        inside = [_is_inside(staging, staging / name) for name in plan["move"]]
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
    if _is_inside(folder, folder / target):
        return True
    root = dataset_of(folder / DESCRIPTION)
    with suppress(ValueError):  # a data set of others
        if root is not None:
            check_dataset(root, overwrite=False)
            return _is_inside(root, folder / target)
    return False


def _is_inside(folder, path):
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


PROVENANCE_FILE = "provenance.json"
"""Plain name of the one file that differs between equal runs."""
_LISTS = (PROVENANCE_FILE, "analysis.json", "maps.json")


@contextmanager
def replaced_results(parts, *, overwrite=False, sources=(), elsewhere=None, stale=()):
    """Yield a folder for the new files, under plain names, of each of several results.

    `parts` are pairs of ResultFiles, all in one folder, and provenance. When the block
    ends well the files take their places in one step, with a record of provenance, the
    date, and the hash of every file; files of the results that were there, or in
    `stale` ResultFiles, and have no successor are removed. Plain names in `elsewhere`
    (a dict) go to the paths there, in the same data set, over what is there, and belong
    to no results; what is there and not written is removed. `sources` are the files
    that were analyzed.
    """
    first = parts[0][0]
    for files, _ in parts:
        files.check(overwrite=overwrite)
    made: list[Path] = []
    staging, lock = None, None
    try:
        staging, lock = tried_again(_begin, first, sources, made)
        folders = [staging / str(number) for number in range(len(parts))]
        for folder in folders:
            folder.mkdir()
        yield folders
        staged = [(folder, *part) for folder, part in zip(folders, parts, strict=True)]
        _take_places(staging, staged, elsewhere or {}, stale, overwrite=overwrite)
    finally:
        if lock is not None:
            lock.release()
        if staging is not None and not (staging / _LIST).exists():
            shutil.rmtree(staging, ignore_errors=True)
        _remove_empty(made)


def _begin(files, sources, made):
    """Return a hidden folder for new files, and its lock; note what is made.

    FileNotFoundError if another process took it for an abandoned one before that.
    """
    made += files.create(sources)
    finish_interrupted(files.folder)
    _remove_abandoned(files.folder)
    staging = Path(tempfile.mkdtemp(prefix=STAGING, dir=files.folder))
    lock = Lock(staging / _LOCK)
    if lock.taken or not staging.is_dir():
        lock.release()
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), staging)
    return staging, lock


def _take_places(staging, staged, elsewhere, stale, *, overwrite):
    """Add the records of provenance, and move all files to their names."""
    moves, folder = {}, staging.parent
    places = {
        name: Path(os.path.relpath(path, folder)).as_posix()
        for name, path in elsewhere.items()
    }
    for part, files, provenance in staged:
        for path in _record(part, files, provenance, elsewhere):
            target = places.get(path.name) or _name(files, part, path)
            moves[path.relative_to(staging).as_posix()] = target
    targets = set(moves.values())
    lock = _wait_for(folder)
    try:
        gone = {name for name in places.values() if (folder / name).is_file()}
        for files in [*(files for _, files, _ in staged), *stale]:
            gone |= _written_before(files)
        for _, files, _ in staged:
            files.check(overwrite=overwrite)  # nothing else wrote meanwhile
        _commit(staging, moves, gone - targets)
    finally:
        lock.release()


def _record(part, files, provenance, elsewhere):
    """Write the record of one of the results; return all that is staged of it."""
    paths = sorted(path for path in part.rglob("*") if path.is_file())
    hashes = {
        _name(files, part, path): file_hash(path)
        for path in paths
        if path.name not in elsewhere
    }
    record = {
        **provenance,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "files": hashes,
    }
    text = json_text(PROVENANCE_FILE, record)
    (part / PROVENANCE_FILE).write_text(text, encoding="utf-8")
    return [*paths, part / PROVENANCE_FILE]


def _name(files, part, path):
    """Return what a staged file will be called; results in folders keep their names."""
    inside = path.relative_to(part).as_posix()
    return files.name(inside) if "/" not in inside else inside


def _wait_for(folder):
    """Lock the folder against other writers while files are moved."""
    end = time.monotonic() + _PATIENCE
    lock = Lock(folder)
    while lock.taken and time.monotonic() < end:
        time.sleep(0.05)
        lock = Lock(folder)
    if lock.taken:
        raise ValueError(
            f"output folder {folder} is being written by another process; wait for it, "
            "or choose another"
        )
    return lock


def _written_before(files):
    """Return the names of the files that earlier results consist of."""
    names = set()
    for plain in _LISTS:
        path = files.path(plain)
        if path.is_file():
            with suppress(ValueError):  # damaged: what it lists stays
                names |= {path.name, *_listed(read_json(path))}
    return {
        name
        for name in names
        if _is_inside(files.folder, files.folder / name)
        and (files.folder / name).is_file()
    }


def _listed(content):
    """Yield the names of files that the content of an index or a record lists."""
    listed = content.get("files")
    yield from listed if isinstance(listed, dict) else ()
    maps = content.get("maps")
    for entry in maps.values() if isinstance(maps, dict) else ():
        if isinstance(entry, dict):
            hashes = entry.get("sha256")
            yield from hashes if isinstance(hashes, dict) else ()


def _remove_empty(made):
    """Remove folders, and what describes a data set, that no results came into."""
    for path in reversed(made):
        if path.is_dir():
            with suppress(OSError):  # holds results
                path.rmdir()
        elif path.is_file():
            of_data_set = (
                path.parent.rglob(name) for name in ("*_stat.*", f"{STAGING}*")
            )
            if not any(next(found, None) for found in of_data_set):
                path.unlink()
