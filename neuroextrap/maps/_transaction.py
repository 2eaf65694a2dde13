"""Results of one analysis written as a whole, with a record of where they come from."""

import json
import os
import shutil
import time
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from neuroextrap.maps._commit import (
    commit,
    finish_interrupted,
    is_committed,
    is_inside,
    new_staging,
    remove_abandoned,
)
from neuroextrap.maps._provenance import file_hash
from neuroextrap.maps._result_files import ATTEMPTS
from neuroextrap.margins.running._checkpoint import Lock


def json_text(name, value):
    """Return JSON text, numbers that are not finite null; TypeError names the value."""
    try:
        return json.dumps(_plain(value), indent=2, allow_nan=False) + "\n"
    except TypeError as error:
        raise TypeError(
            f"{name} cannot be written as JSON ({error}); use numbers, text, lists and "
            "dicts"
        ) from error


def read_json(path, remedy="write the results again"):
    """Return the dict of a JSON file; ValueError with the remedy when it is damaged."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is damaged (no JSON); {remedy}") from error
    if not isinstance(value, dict):
        raise ValueError(f"{path} is damaged (no JSON object); {remedy}")
    return value


def _plain(value):
    """Turn numpy values into Python's, what is not finite into None."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, (np.ndarray, np.generic)):
        return _plain(value.tolist())
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value


PROVENANCE_FILE = "provenance.json"
"""Plain name of the one file that differs between equal runs."""
_LISTS = (PROVENANCE_FILE, "analysis.json", "maps.json")
_PATIENCE = 60.0  # seconds for another process to finish its moves


@contextmanager
def replaced_results(
    files, *, overwrite=False, provenance=None, sources=(), elsewhere=None
):
    """Yield a folder for new files, under plain names, that replace the results.

    When the block ends well they take their places in the ResultFiles `files`, all or
    none, with a record of `provenance` (a dict), the date, and the hash of every file;
    files of the results that were there and have no successor are removed, those of
    others are kept. Whatever happens before leaves the folder as it was. `sources`
    are the files that were analyzed. Plain names in `elsewhere` (a dict) go to the
    paths there, in the same data set, over what is there, and belong to no results.
    """
    given = {"overwrite": overwrite, "sources": sources, "elsewhere": elsewhere}
    with replaced_together([(files, provenance or {})], **given) as [folder]:
        yield folder


@contextmanager
def replaced_together(parts, *, overwrite=False, sources=(), elsewhere=None, stale=()):
    """Yield a folder for each of several results that take their places in one step.

    `parts` are pairs of ResultFiles, all in one folder, and provenance. Results that
    are there and lie in `stale`, ResultFiles too, are removed, and so are files at
    paths in `elsewhere` that are not written. Otherwise as ``replaced_results``.
    """
    first = parts[0][0]
    for files, _ in parts:
        files.check(overwrite=overwrite)
    made: list[Path] = []
    staging, lock = None, None
    try:
        staging, lock = _begin(first, sources, made)
        folders = [staging]
        if len(parts) > 1:
            folders = [staging / str(number) for number in range(len(parts))]
            for folder in folders:
                folder.mkdir()
        yield folders
        staged = [(folder, *part) for folder, part in zip(folders, parts, strict=True)]
        _take_places(staging, staged, elsewhere or {}, stale, overwrite=overwrite)
    finally:
        if lock is not None:
            lock.release()
        if staging is not None and not is_committed(staging):
            shutil.rmtree(staging, ignore_errors=True)
        _remove_empty(made)


def _begin(files, sources, made):
    """Return a staging folder in that of the results, and its lock; note what is made.

    Another process may meanwhile remove folders that it finds empty.
    """
    for left in reversed(range(ATTEMPTS)):
        try:
            made += files.create(sources)
            finish_interrupted(files.folder)
            remove_abandoned(files.folder)
            return new_staging(files.folder)
        except FileNotFoundError:
            if not left:
                raise
    raise AssertionError


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
        commit(staging, moves, gone - targets)
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
        if is_inside(files.folder, files.folder / name)
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
    """Remove folders (and what describes a data set) that nothing came into."""
    for path in reversed(made):
        if path.is_dir():
            with suppress(OSError):  # holds results
                path.rmdir()
        elif path.is_file():
            beside = path.parent.iterdir()
            if all(other.is_file() and other in made for other in beside):
                path.unlink()
