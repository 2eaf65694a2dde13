"""Permuted statistics of every region, on disk."""

import errno
import glob
import json
import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from neuroextrap.margins.running._checkpoint import Lock, array_hash
from neuroextrap.stats._validation import warn

_BLOCK = 2**22  # numbers written at a time
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


@contextmanager
def null_file(
    path: str | Path | None,
    n_permutations: int,
    n_regions: int,
    about: dict[str, Any] | None = None,
) -> Iterator[np.ndarray | None]:
    """Open a memory-mapped .npy file of float32 that takes its name when all is well.

    It is NaN at the start. Its room on disk is taken before anything is computed:
    ValueError, with path and size, where there is too little. `about`, JSON values that
    say whose maps these are, goes to a file beside it. Files that killed processes left
    under this name are removed. A path of None yields None.
    """
    if path is None:
        yield None
        return
    path = Path(path).expanduser()
    _remove_abandoned(path)
    partial, lock = _new_partial(path)
    try:
        _make(partial, path, (n_permutations, n_regions))
        null = np.lib.format.open_memmap(partial, mode="r+")
        yield null
        null.flush()
        fingerprint = _fingerprint(null)
        del null
        with suppress(OSError):  # what describes other maps must not stay
            _about_path(path).unlink(missing_ok=True)
        partial.replace(path)
        if about is not None:
            _describe(path, {**about, "fingerprint": fingerprint})
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
        if lock is not None:
            lock.release()


def read_about_null(path: str | Path, null: np.ndarray) -> dict[str, Any] | None:
    """Return what a file of permuted maps says of itself, None if nothing."""
    beside = _about_path(Path(path).expanduser())
    try:
        about = json.loads(beside.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (ValueError, RecursionError):
        about = None
    if not isinstance(about, dict) or about.get("fingerprint") != _fingerprint(null):
        raise ValueError(
            f"{beside} does not describe the permuted maps in {path} (one of the two "
            "was changed or exchanged); write them again with save_null"
        )
    return about


def _about_path(path: Path) -> Path:
    """Return the path of the description of a file of permuted maps."""
    return path.with_name(f"{path.name}.json")


def _describe(path: Path, about: dict[str, Any]) -> None:
    """Write the description of a file; one that cannot be written costs a warning."""
    partial = path.with_name(f".{path.name}.{uuid.uuid4().hex}.json")
    try:
        partial.write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")
        partial.replace(_about_path(path))
    except OSError as error:
        warn(
            f"{_about_path(path)} cannot be written ({error.strerror or error}): "
            f"nothing beside {path} says which run its maps are of"
        )
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)


def _fingerprint(null: np.ndarray) -> str:
    """Fingerprint permuted maps by the first and the last of them."""
    return array_hash(np.asarray(null[[0, -1]] if len(null) else null))


def _new_partial(path: Path) -> tuple[Path, Lock | None]:
    """Return the name of a new file and its lock, None where no file can be made."""
    while True:
        partial = path.with_name(f".{path.name}.{uuid.uuid4().hex}.partial")
        try:
            lock = Lock(partial)
        except OSError:
            return partial, None
        # between making and locking it, another process may have taken it for abandoned
        if lock.held and not partial.exists():
            lock.release()
        elif not lock.taken:
            return partial, lock


def _remove_abandoned(path: Path) -> None:
    """Remove what killed processes left: files under this name that are not locked."""
    for name in path.parent.glob(f".{glob.escape(path.name)}.*.partial"):
        with suppress(OSError):
            lock = Lock(name)
            if lock.held:
                name.unlink()
            lock.release()


def _make(partial: Path, path: Path, shape: tuple[int, int]) -> None:
    """Write a file of NaN; a memory-mapped file without room would crash Python."""
    n_numbers = shape[0] * shape[1]
    try:
        if path.is_dir():
            raise IsADirectoryError("it is a folder")
        with open(partial, "wb") as file:
            header = {"descr": "<f4", "fortran_order": False, "shape": shape}
            np.lib.format.write_array_header_1_0(file, header)
            file.flush()
            _reserve(file.fileno(), file.tell(), 4 * n_numbers)
            block = np.full(min(_BLOCK, n_numbers), np.nan, dtype="<f4")
            for start in range(0, n_numbers, _BLOCK):
                file.write(block[: n_numbers - start].data)
            file.flush()
            os.fsync(file.fileno())  # some file systems tell of a full disk only here
    except OSError as error:
        raise ValueError(
            f"save_null={str(path)!r} cannot be written, {n_numbers / 2**18:.1f} MiB "
            f"are needed ({error.strerror or error}); make room or name another file"
        ) from error


def _reserve(handle: int, start: int, n_bytes: int) -> None:
    """Take room on disk at once where the file system can; else writing takes it."""
    if n_bytes and hasattr(os, "posix_fallocate"):
        try:
            os.posix_fallocate(handle, start, n_bytes)
        except OSError as error:
            if error.errno in _FULL:
                raise
