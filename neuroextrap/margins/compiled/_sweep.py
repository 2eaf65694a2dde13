"""Compiled inverses of K x K moments by Gauss-Jordan sweeps, many labelings at once.

Every number of a matrix is a row of `LANES` labelings (``_vector.py``).
"""

import numpy as np
from numba import njit

from neuroextrap.margins.compiled._vector import (
    ROW,
    add_product,
    all_above,
    divide,
    load,
    multiply,
    spread,
    store,
    take_product,
)

_compile = njit(cache=True, nogil=True, error_model="numpy")
_EPSILON = float(np.finfo(float).eps)


@_compile
def _fill_least(matrix: int, least: int, width: int) -> None:
    """Fill below what a pivot is the rounding error of its own diagonal element."""
    share = spread(10.0 * width * _EPSILON)
    for k in range(width):
        diagonal = load(matrix + k * (width + 1) * ROW)
        store(least + k * ROW, multiply(share, diagonal))


@_compile
def _read_pivots(matrix: int, scratch: int, k: int, width: int) -> bool:
    """Copy columns k and k + 1 and what the inverse of their block makes of them.

    The block becomes minus its inverse, [[1 / p + f g, -g], [-g, 1 / s]] with ``f`` of
    the pivot ``p`` and ``g`` of the second, ``s``. False if one of these is too small.
    """
    step, least = width * ROW, scratch + 4 * width * ROW
    corner = matrix + k * (step + ROW)
    p, q = load(corner), load(corner + ROW)
    inverse_p = divide(spread(1.0), p)
    f = multiply(q, inverse_p)
    s = take_product(load(corner + step + ROW), q, f)
    inverse_s = divide(spread(1.0), s)
    regular = all_above(p, load(least + k * ROW))
    regular &= all_above(s, load(least + (k + 1) * ROW))
    for i in range(width):
        place, next_one = matrix + k * step + i * ROW, step
        if i < k:
            place, next_one = matrix + i * step + k * ROW, ROW
        first, second = load(place), load(place + next_one)
        to = scratch + 4 * i * ROW
        scaled = multiply(take_product(second, f, first), inverse_s)
        store(to, first)
        store(to + ROW, second)
        first = multiply(first, inverse_p)
        store(to + 2 * ROW, take_product(first, f, scaled))
        store(to + 3 * ROW, scaled)
    g, minus = multiply(f, inverse_s), spread(-1.0)
    to = scratch + 4 * k * ROW
    store(to + 2 * ROW, multiply(minus, add_product(inverse_p, f, g)))
    store(to + 3 * ROW, g)
    store(to + 6 * ROW, g)
    store(to + 7 * ROW, multiply(minus, inverse_s))
    return regular


@_compile
def _eliminate(matrix: int, scratch: int, i: int, width: int) -> None:
    """Subtract from rows i and i + 1 their share of the pivots' rows."""
    step, columns = width * ROW, scratch + 4 * i * ROW
    a, b = load(columns), load(columns + ROW)
    c, d = load(columns + 4 * ROW), load(columns + 5 * ROW)
    for m in range(i, width, 2):
        place, rows = matrix + i * step + m * ROW, scratch + (4 * m + 2) * ROW
        first, second = load(rows), load(rows + ROW)
        value = take_product(load(place), a, first)
        store(place, take_product(value, b, second))
        value = take_product(load(place + step), c, first)
        store(place + step, take_product(value, d, second))
        place, rows = place + ROW, rows + 4 * ROW
        first, second = load(rows), load(rows + ROW)
        value = take_product(load(place), a, first)
        store(place, take_product(value, b, second))
        value = take_product(load(place + step), c, first)
        store(place + step, take_product(value, d, second))


@_compile
def _write_pivots(matrix: int, scratch: int, k: int, width: int) -> None:
    """Write the swept rows and columns k and k + 1."""
    step = width * ROW
    for i in range(width):
        scaled = scratch + (4 * i + 2) * ROW
        place, next_one = matrix + k * step + i * ROW, step
        if i < k:
            place, next_one = matrix + i * step + k * ROW, ROW
        store(place, load(scaled))
        store(place + next_one, load(scaled + ROW))


@_compile
def _mirror(matrix: int, width: int) -> None:
    """Turn minus the upper triangle into the whole symmetric matrix."""
    step, minus = width * ROW, spread(-1.0)
    for i in range(width):
        for m in range(i, width):
            place = matrix + i * step + m * ROW
            value = multiply(minus, load(place))
            store(place, value)
            store(matrix + m * step + i * ROW, value)


@_compile
def invert(matrix: int, scratch: int, width: int) -> bool:
    """Invert symmetric matrices of even width in place; False if one is singular.

    Two pivots are swept at a time, without pivoting. Only the upper triangle is read;
    the whole is written. ``matrix`` and ``scratch``, 5 rows for each of the matrix that
    may be written over, are addresses.
    """
    regular = True
    _fill_least(matrix, scratch + 4 * width * ROW, width)
    for k in range(0, width, 2):
        regular &= _read_pivots(matrix, scratch, k, width)
        for i in range(0, width, 2):
            if i != k:
                _eliminate(matrix, scratch, i, width)
        _write_pivots(matrix, scratch, k, width)
    _mirror(matrix, width)
    return regular
