"""Permuted statistics of every region, on disk."""

from contextlib import contextmanager
from pathlib import Path

import numpy as np


@contextmanager
def null_file(path, n_permutations, n_regions):
    """Open a memory-mapped .npy file that takes its name when all is well.

    Parameters
    ----------
    path : path-like or None
        None opens nothing and yields None.
    n_permutations, n_regions : int
        Shape of the array.

    Yields
    ------
    null : ndarray of float32, shape (n_permutations, n_regions), or None
        Starts as NaN.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from neuroextrap.margins._null import null_file
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with null_file(Path(folder) / "null.npy", 3, 2) as null:
    ...         null[:] = 0.5
    ...     written = [path.name for path in Path(folder).iterdir()]
    >>> written
    ['null.npy']
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
