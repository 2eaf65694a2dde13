"""Arrays of numbers in .npy files."""

import os

import numpy as np


def load_array(path, *, mmap_mode=None):
    """Read a .npy file; ValueError that names it when it holds no plain array.

    Python objects (pickles) are never read. `mmap_mode` is that of ``numpy.load``.
    """
    path = os.fspath(path)
    try:
        array = np.load(path, mmap_mode=mmap_mode, allow_pickle=False)
    except FileNotFoundError:
        raise
    except (EOFError, OSError, ValueError) as error:
        if isinstance(error, OSError) and error.filename is not None:
            raise
        raise ValueError(
            f"{path} holds no array of numbers, it is damaged or of another kind; "
            "write it again with numpy.save"
        ) from error
    if not isinstance(array, np.ndarray):  # an archive of several arrays
        array.close()
        raise ValueError(
            f"{path} is an archive of arrays (.npz); write one array with numpy.save"
        )
    return array
