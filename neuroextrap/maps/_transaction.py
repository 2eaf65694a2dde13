"""Results of one analysis written as a whole, with a record of where they come from."""

import shutil
import time
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from neuroextrap.maps._commit import (
    commit,
    finish_interrupted,
    is_committed,
    new_staging,
    remove_abandoned,
)
from neuroextrap.maps._file_hash import file_hash
from neuroextrap.maps._json import json_text, read_json
from neuroextrap.margins.running._locks import Lock

PROVENANCE_FILE = "provenance.json"
"""Plain name of the one file that differs between equal runs."""
_LISTS = (PROVENANCE_FILE, "analysis.json", "maps.json")
_PATIENCE = 60.0  # seconds for another process to finish its moves


@contextmanager
def replaced_results(files, *, overwrite=False, provenance=None, sources=()):
    """Yield a folder for new files, under plain names, that replace the results.

    When the block ends well they take their places in the ResultFiles `files`, all or
    none, with a record of `provenance` (a dict), the date, and the hash of every file;
    files of the results that were there and have no successor are removed, those of
    others left alone. Whatever happens before leaves the folder as it was. `sources`
    are the files that were analyzed, whose data set a BIDS data set names.

    ValueError when the folder cannot take results (see :meth:`ResultFiles.check`).
    """
    files.check(overwrite=overwrite)
    made = files.create(sources)
    staging, lock = None, None
    try:
        finish_interrupted(files.folder)
        remove_abandoned(files.folder)
        staging, lock = new_staging(files.folder)
        yield staging
        _take_places(staging, files, provenance or {}, overwrite)
    finally:
        if lock is not None:
            lock.release()
        if staging is not None and not is_committed(staging):
            shutil.rmtree(staging, ignore_errors=True)
        _remove_empty(made)


def _take_places(staging, files, provenance, overwrite):
    """Add the record of provenance, and move all files to their names."""
    moves = {path.name: files.name(path.name) for path in staging.iterdir()}
    hashes = {moves[name]: file_hash(staging / name) for name in sorted(moves)}
    record = {
        **provenance,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "files": hashes,
    }
    text = json_text(PROVENANCE_FILE, record)
    (staging / PROVENANCE_FILE).write_text(text, encoding="utf-8")
    moves[PROVENANCE_FILE] = files.name(PROVENANCE_FILE)
    lock = _wait_for(files.folder)
    try:
        files.check(overwrite=overwrite)  # nobody else wrote meanwhile
        stale = _written_before(files) - set(moves.values())
        commit(staging, moves, stale)
    finally:
        lock.release()


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
        if Path(name).name == name and (files.folder / name).is_file()
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
