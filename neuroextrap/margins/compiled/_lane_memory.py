"""Arrays for loops over rows of numbers: how they lie in memory, and where.

Importing this module needs numba (the extra ``fast``). ``_vector.py`` has what is done
with the rows.
"""

from math import prod
from typing import Any

import numpy as np
from numba import njit

from neuroextrap.margins.compiled._vector import LANES

_compile = njit(cache=True, nogil=True, error_model="numpy")


def aligned(*shape: int) -> np.ndarray:
    """Allocate rows of numbers, shape (..., `LANES`), each in whole lines of cache."""
    array = np.empty(prod(shape) * LANES + 8)
    first = -array.ctypes.data // 8 % 8
    return array[first : first + array.size - 8].reshape(*shape, LANES)


def grouped(array: np.ndarray) -> np.ndarray:
    """Split the last axis into groups, put first: (..., B) to (G, ..., `LANES`)."""
    split = array.reshape(*array.shape[:-1], array.shape[-1] // LANES, LANES)
    return np.ascontiguousarray(np.moveaxis(split, -2, 0))


@_compile
def address_of(array: Any) -> int:
    """Return the address of an array, which whoever calls these loops keeps."""
    return np.intp(array.ctypes.data)  # type: ignore[return-value]
