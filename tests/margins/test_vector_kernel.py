"""Rows of numbers in registers, against numpy."""

import numpy as np
import pytest
from numba import njit

from neuroextrap.margins.compiled._lane_sums import fill_blocks, fill_sums
from neuroextrap.margins.compiled._sweep import invert
from neuroextrap.margins.compiled._vector import (
    LANES,
    ROW,
    add,
    add_product,
    all_above,
    divide,
    load,
    load_index,
    load_number,
    multiply,
    spread,
    store,
    take_product,
    to_single,
    transpose,
    where_above,
    where_code,
    where_equal,
    where_same,
)


@njit
def _calculate(array, codes, out):
    """Addresses, in bytes, of arrays that the test keeps."""
    one, other = load(array + 3 * 8), load(array + 3 * 8 + ROW)
    third = load(array + 40 * 8)
    results = (
        add(one, other),
        multiply(one, other),
        divide(one, other),
        add_product(one, other, third),
        take_product(one, other, third),
        to_single(one),
        where_above(one, other, third, spread(load_number(array + 8))),
        where_equal(one, third, other, one),
        where_code(codes + 5, 2, one, other),
        where_same(codes + 5, codes + 6, one, other),
    )
    for i, result in enumerate(results):
        store(out + 8 + i * ROW, result)


@njit
def _all_above(array):
    return all_above(load(array), load(array + ROW))


@njit
def _indices(array):
    return [load_index(array + 4 * i) for i in range(3)]


@njit
def _transpose(array, out):
    transpose(array + 2 * 8, out + 8, 3 * ROW)


@njit
def _sums(table, members, edges, blocks, places):
    fill_blocks(table, blocks)
    block, samples, out, scratch = places
    for c in range(len(blocks)):
        to = out + c * (edges.shape[1] - 1) * LANES * ROW
        fill_sums(block, samples, len(table), edges, to, scratch)
        block += len(table) * ROW


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


def inverted(array, width):
    """Invert in place matrices (width ** 2, LANES), behind which scratch lies."""
    matrix = array.ctypes.data
    return invert(matrix, matrix + width**2 * ROW, width)


def test_operations_are_those_of_numpy():
    array, codes = numbers(60), np.arange(40, dtype=np.uint8) // 2 % 3
    array[44:48] = array[7:11]  # equal in the first and the third row
    out = np.full(10 * LANES + 2, np.nan)
    _calculate(array.ctypes.data, codes.ctypes.data, out.ctypes.data)
    one, other, third = (array[a : a + LANES] for a in (3, 3 + LANES, 40))
    rows = out[1:-1].reshape(10, LANES)
    assert np.isnan(out[[0, -1]]).all()
    np.testing.assert_array_equal(rows[:3], [one + other, one * other, one / other])
    np.testing.assert_allclose(rows[3], one + other * third, rtol=1e-14, atol=1e-15)
    np.testing.assert_allclose(rows[4], one - other * third, rtol=1e-14, atol=1e-15)
    np.testing.assert_array_equal(rows[5], one.astype(np.float32))
    np.testing.assert_array_equal(rows[6], np.where(one > other, third, array[1]))
    np.testing.assert_array_equal(rows[7], np.where(one == third, other, one))
    assert (one == third).sum() == 4
    np.testing.assert_array_equal(
        rows[8], np.where(codes[5 : 5 + LANES] == 2, one, other)
    )
    same = codes[5 : 5 + LANES] == codes[6 : 6 + LANES]
    assert 0 < same.sum() < LANES
    np.testing.assert_array_equal(rows[9], np.where(same, one, other))


@pytest.mark.parametrize("lane", [0, LANES - 1])
def test_one_number_that_is_not_above_is_found(lane):
    array = np.repeat([1.0, 0.0], LANES)
    assert _all_above(array.ctypes.data)
    for value in (0.0, -1.0, np.nan):
        array[lane] = value
        assert not _all_above(array.ctypes.data)


def test_indices_have_no_sign():
    array = np.array([0, 7, 2**32 - 1], dtype=np.uint32)
    assert _indices(array.ctypes.data) == array.tolist()


def test_rows_become_columns():
    array, out = numbers(LANES**2 + 2), np.full(3 * LANES**2, np.nan)
    _transpose(array.ctypes.data, out.ctypes.data)
    places = 1 + 3 * LANES * np.arange(LANES)[:, None] + np.arange(LANES)
    np.testing.assert_array_equal(out[places], array[2:].reshape(LANES, LANES).T)
    assert np.isnan(out).sum() == out.size - LANES**2


@pytest.mark.parametrize("n_columns", [1, LANES, 2 * LANES + 3])
def test_sums_by_class_are_products_with_indicators(n_columns):
    """Exact: whole numbers. A class may have no samples."""
    rng, n_classes = np.random.default_rng(0), 4
    table = rng.integers(-9, 9, (30, n_columns)).astype(float)
    codes = rng.integers(0, n_classes, (LANES, 30))
    codes[1] = 2
    members = np.argsort(codes, axis=1, kind="stable").astype(np.uint32)
    ordered = np.take_along_axis(codes, members.astype(int), axis=1)
    edges = np.stack(
        [np.searchsorted(row, np.arange(n_classes + 1)) for row in ordered]
    )
    n_blocks = -(-n_columns // LANES)
    out = np.full((n_blocks * LANES, n_classes, LANES), np.nan)
    blocks, scratch = np.zeros((n_blocks, 30, LANES)), np.empty(LANES**2)
    arrays = blocks, members, out, scratch
    places = tuple(array.ctypes.data for array in arrays)
    _sums(table, members, edges.astype(np.int32), blocks, places)
    indicators = codes[:, :, None] == np.arange(n_classes)
    expected = np.einsum("sc,bsk->ckb", table, indicators)
    np.testing.assert_array_equal(out[:n_columns], expected)
    np.testing.assert_array_equal(out[n_columns:], 0.0)


@pytest.mark.parametrize("width", [2, 4, 10])
def test_inverses_are_those_of_numpy(width):
    factors = numbers(LANES, width, width + 2)
    matrices = factors @ factors.swapaxes(1, 2)
    array = np.zeros((width**2 + 5 * width, LANES))
    lower = np.tril_indices(width, -1)
    stacked = matrices.copy()
    stacked[:, lower[0], lower[1]] = np.nan  # the upper triangle is enough
    array[: width**2] = stacked.reshape(LANES, -1).T
    assert inverted(array, width)
    ours = array[: width**2].T.reshape(matrices.shape)
    theirs = np.linalg.inv(matrices)
    size = np.abs(theirs).max(axis=(1, 2), keepdims=True)
    np.testing.assert_allclose(ours / size, theirs / size, rtol=0, atol=1e-11)
    np.testing.assert_array_equal(ours, ours.swapaxes(1, 2))


@pytest.mark.parametrize("bad", ["singular", "not finite"])
@pytest.mark.parametrize("place", range(4))
def test_one_matrix_without_an_inverse_is_found(place, bad):
    array = np.zeros((16 + 20, LANES))
    array[:16] = np.eye(4).reshape(-1, 1)
    assert inverted(array, 4)
    array[:16] = np.eye(4).reshape(-1, 1)
    array[5 * place, 7] = 0.0 if bad == "singular" else np.nan
    assert not inverted(array, 4)


def test_a_matrix_of_less_than_full_rank_is_found():
    """Its last pivot is rounding error, whichever of two that are swept together."""
    for width in (2, 4, 6):
        factors = numbers(LANES, width, width - 1)
        matrices = factors @ factors.swapaxes(1, 2)
        array = np.zeros((width**2 + 5 * width, LANES))
        array[: width**2] = matrices.reshape(LANES, -1).T
        assert not inverted(array, width)
