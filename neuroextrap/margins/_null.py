"""Permuted statistics of every region, on disk."""

import errno
import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np

_BLOCK = 2**22  # numbers written at a time
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


@contextmanager
def null_file(
    path: str | Path | None, n_permutations: int, n_regions: int
) -> Iterator[np.ndarray | None]:
    """Open a memory-mapped .npy file that takes its name when all is well.

    It holds float32 of shape (n_permutations, n_regions), NaN at the start. Its room on
    disk is taken before anything is computed: ValueError, with path and size, where
    there is too little. A path of None opens nothing and yields None.
    """
    if path is None:
        yield None
        return
    path = Path(path).expanduser()
    partial = path.with_name(f".{path.name}.{uuid.uuid4().hex}.partial")
    try:
        _make(partial, path, (n_permutations, n_regions))
        null = np.lib.format.open_memmap(partial, mode="r+")
        yield null
        null.flush()
        del null
        partial.replace(path)
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)


def _make(partial: Path, path: Path, shape: tuple[int, int]) -> None:
    """Write a file of NaN; a memory-mapped file without room would crash Python."""
    n_bytes = 4 * shape[0] * shape[1]
    try:
        if path.is_dir():
            raise IsADirectoryError("it is a folder")
        with open(partial, "xb") as file:
            header = {"descr": "<f4", "fortran_order": False, "shape": shape}
            np.lib.format.write_array_header_1_0(file, header)
            file.flush()
            _reserve(file.fileno(), file.tell(), n_bytes)
            _fill(file, shape[0] * shape[1])
            file.flush()
            os.fsync(file.fileno())  # some file systems tell of a full disk only here
    except OSError as error:
        raise ValueError(
            f"save_null={str(path)!r} cannot be written, {n_bytes / 2**20:.1f} MiB are "
            f"needed ({error.strerror or error}); make room or name another file"
        ) from error


def _reserve(handle: int, start: int, n_bytes: int) -> None:
    """Take room on disk at once where the file system can; else writing takes it."""
    if n_bytes and hasattr(os, "posix_fallocate"):
        try:
            os.posix_fallocate(handle, start, n_bytes)
        except OSError as error:
            if error.errno in _FULL:
                raise


def _fill(file: object, n_numbers: int) -> None:
    """Write NaN."""
    block = np.full(min(_BLOCK, n_numbers), np.nan, dtype="<f4")
    for start in range(0, n_numbers, _BLOCK):
        file.write(block[: n_numbers - start].data)  # type: ignore[attr-defined]
