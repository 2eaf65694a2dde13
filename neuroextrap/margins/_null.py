"""Permuted statistics of every region, on disk."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np


@contextmanager
def null_file(
    path: str | Path | None, n_permutations: int, n_regions: int
) -> Iterator[np.ndarray | None]:
    """Open a memory-mapped .npy file that takes its name when all is well.

    It holds float32 of shape (n_permutations, n_regions), NaN at the start. A path of
    None opens nothing and yields None.
    """
    if path is None:
        yield None
        return
    path = Path(path)
    partial = path.with_name(f".{path.name}.partial")
    null = np.lib.format.open_memmap(
        partial, mode="w+", dtype=np.float32, shape=(n_permutations, n_regions)
    )
    null[:] = np.nan
    try:
        yield null
        null.flush()
        partial.replace(path)
    finally:
        del null
        partial.unlink(missing_ok=True)
