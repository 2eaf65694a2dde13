"""Arrays for loops over rows of numbers: how they lie in memory, and where.

``_vector.py`` has what is done with the rows.
"""

from math import prod
from typing import Any

import numpy as np
from numba import njit

from neuroextrap.margins.compiled._vector import LANES

_LINE = 64  # bytes of a line of cache

_compile = njit(cache=True, nogil=True, error_model="numpy")


def aligned(*shape: int, dtype: Any = np.float64) -> np.ndarray:
    """Allocate rows of numbers, shape (..., `LANES`), the first in a line of cache."""
    size = prod(shape) * LANES * np.dtype(dtype).itemsize
    array = np.empty(size + _LINE, dtype=np.uint8)
    first = -array.ctypes.data % _LINE
    return array[first : first + size].view(dtype).reshape(*shape, LANES)


def grouped(array: np.ndarray) -> np.ndarray:
    """Split the last axis into groups, put first: (..., B) to (G, ..., `LANES`)."""
    split = array.reshape(*array.shape[:-1], array.shape[-1] // LANES, LANES)
    return np.ascontiguousarray(np.moveaxis(split, -2, 0))


@_compile
def address_of(array: Any) -> int:
    """Return the address of an array, which whoever calls these loops keeps."""
    return np.intp(array.ctypes.data)  # type: ignore[return-value]
