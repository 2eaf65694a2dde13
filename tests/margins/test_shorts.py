"""Rows of short integers in registers, against numpy."""

import numpy as np
import pytest
from numba import njit

from neuroextrap.margins.compiled._leads import (
    COLUMNS,
    ShortGroups,
    fill_leads,
    fill_short_blocks,
    fill_short_sums,
    leads_memory,
)
from neuroextrap.margins.compiled._shorts import (
    LANES,
    SHORT_ROW,
    SINGLE_ROW,
    add_shorts,
    add_singles,
    add_where_code,
    add_where_same,
    count_above,
    larger_shorts,
    larger_size,
    load_shorts,
    load_singles,
    multiply_singles,
    spread_short,
    spread_single,
    store_shorts,
    store_singles,
    take_shorts,
    take_singles,
    to_shorts,
    to_singles,
    transpose_shorts,
    where_short,
)

ENDS = np.iinfo(np.int16)


@njit
def _calculate_shorts(array, singles, out):
    """Addresses, in bytes, of arrays that the test keeps."""
    one, other = load_shorts(array + 2), load_shorts(array + 2 + SHORT_ROW)
    results = (
        add_shorts(one, other),
        take_shorts(one, other),
        larger_shorts(one, other),
        where_short(one, -7, other, spread_short(5)),
        count_above(one, one, other),
        to_shorts(load_singles(singles + 4)),
    )
    for i, result in enumerate(results):
        store_shorts(out + 2 + i * SHORT_ROW, result)


@njit
def _calculate_singles(array, codes, out):
    one, other = load_singles(array + 4), load_singles(array + 4 + SINGLE_ROW)
    some, others = load_shorts(codes + 2), load_shorts(codes + 2 + SHORT_ROW)
    results = (
        add_singles(one, other),
        take_singles(one, other),
        multiply_singles(one, other),
        add_where_code(one, some, 2, other),
        add_where_same(one, some, others, np.float32(0.5)),
        larger_size(one, other),
        to_singles(some),
        spread_single(np.float32(0.1)),
    )
    for i, result in enumerate(results):
        store_singles(out + 4 + i * SINGLE_ROW, result)


@njit
def _transpose(array, out):
    transpose_shorts(array + 2, out + 2, 3 * SHORT_ROW)


def whole(size, low=ENDS.min, high=ENDS.max, seed=0):
    return np.random.default_rng(seed).integers(low, high, size, dtype=np.int16)


def test_operations_on_short_integers_are_those_of_numpy():
    array, singles = whole(2 * LANES + 1), np.zeros(LANES + 1, np.float32)
    array[3:5] = -7
    singles[1:] = [2.9, -2.9, 32767.4, -32768, 0.5, *[7.0] * (LANES - 5)]
    out = np.full(6 * LANES + 2, 99, np.int16)
    _calculate_shorts(array.ctypes.data, singles.ctypes.data, out.ctypes.data)
    one, other = array[1 : 1 + LANES], array[1 + LANES :]
    difference = one.astype(int) - other
    assert (difference > ENDS.max).any()
    assert (difference < ENDS.min).any()
    with np.errstate(over="ignore"):
        expected = [
            one + other,
            np.clip(difference, ENDS.min, ENDS.max),
            np.maximum(one, other),
            np.where(one == -7, other, 5),
            one + (one > other),
            np.trunc(singles[1:]),
        ]
    np.testing.assert_array_equal(out[1:-1].reshape(6, LANES), expected)
    assert (out[[0, -1]] == 99).all()


def test_operations_on_singles_are_those_of_numpy():
    rng = np.random.default_rng(0)
    array = rng.standard_normal(2 * LANES + 1, dtype=np.float32)
    codes = whole(2 * LANES + 1, 0, 4)
    out = np.full(8 * LANES + 2, np.nan, np.float32)
    _calculate_singles(array.ctypes.data, codes.ctypes.data, out.ctypes.data)
    one, other = array[1 : 1 + LANES], array[1 + LANES :]
    some, others = codes[1 : 1 + LANES], codes[1 + LANES :]
    assert 0 < (some == others).sum() < LANES
    expected = [
        one + other,
        one - other,
        one * other,
        np.where(some == 2, one + other, one),
        np.where(some == others, one + np.float32(0.5), one),
        np.where(np.abs(other) > one, np.abs(other), one),
        some,
        np.full(LANES, np.float32(0.1)),
    ]
    np.testing.assert_array_equal(out[1:-1].reshape(8, LANES), expected)
    assert np.isnan(out[[0, -1]]).all()


def test_rows_become_columns():
    array = whole(LANES**2 + 1)
    out = np.zeros(3 * LANES**2, np.int16)
    _transpose(array.ctypes.data, out.ctypes.data)
    places = 1 + 3 * LANES * np.arange(LANES)[:, None] + np.arange(LANES)
    np.testing.assert_array_equal(out[places], array[1:].reshape(LANES, LANES).T)
    out[places] = 0
    assert not out.any()


@pytest.mark.parametrize("folds", [0, 1, 3])
@pytest.mark.parametrize("n_test", [1, COLUMNS, 2 * COLUMNS + 3])
def test_leads_are_those_of_sums_by_class(n_test, folds):
    """Sums near the ends of the range; a class may have no samples."""
    rng, n, K, G = np.random.default_rng(n_test), 30, 5, 2
    table = whole((n, n_test), -1000, 1000)
    codes = rng.integers(0, K, (G, LANES, n))
    codes[:, 3] %= K - 1
    truth = rng.integers(0, K, (G, n_test, LANES), dtype=np.int16)
    members = np.argsort(codes, axis=2, kind="stable").astype(np.uint32)
    counts = (codes[..., None] == np.arange(K)).sum(axis=2)
    edges = np.zeros((G, LANES, K + 1), np.int32)
    edges[..., 1:] = counts.cumsum(axis=2)
    groups, of_folds = ShortGroups(members, edges, truth), np.array([0])
    if folds:
        of_folds = np.linspace(0, n_test, folds + 1).astype(int)
    work = leads_memory(n, n_test, max(folds, 1), K)
    work.blocks[:] = 1
    work.constants[:] = whole(work.constants.shape)
    fill_short_blocks(table, work.blocks)
    for g in range(G):
        fill_short_sums(groups, g, work)
        one_hot = codes[g][..., None] == np.arange(K)
        sums = np.einsum("bjk,ji->ikb", one_hot, table.astype(int))
        np.testing.assert_array_equal(work.sums[:n_test], sums)
        fill_leads(groups, g, of_folds, 700, work)
        if folds:
            fold = np.searchsorted(of_folds, np.arange(n_test), side="right") - 1
            taken = work.constants[fold].astype(int)
            sums = np.clip(sums - taken, ENDS.min, ENDS.max)
        own = np.take_along_axis(sums, truth[g][:, None].astype(int), axis=1)[:, 0]
        np.put_along_axis(sums, truth[g][:, None].astype(int), ENDS.min, axis=1)
        lead = np.clip(own - sums.max(axis=1), ENDS.min, ENDS.max)
        np.testing.assert_array_equal(work.lead, lead)
        expected = [(lead > 700).sum(axis=0), (lead >= -700).sum(axis=0)]
        np.testing.assert_array_equal(work.counts, expected)
