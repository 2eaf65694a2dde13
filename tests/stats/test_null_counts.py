"""Streaming counts of permuted statistics against counting all at once."""

import numpy as np
import pytest

from neuroextrap.stats import max_statistic_p_value, permutation_p_value
from tests.stats.seam import (
    LargestValues,
    NullCounts,
    largest_heights,
    n_largest,
    packed_largest,
    round_ties,
    spread_known,
    tie_floor,
    unpacked_largest,
)


def test_counts_in_batches_equal_counts_at_once():
    rng = np.random.default_rng(0)
    score, null = rng.integers(0, 5, 7).astype(float), rng.integers(0, 5, (30, 7))
    counts = NullCounts.start(score, 30)
    for regions in (slice(0, 3), slice(3, 7)):
        for first in range(0, 30, 8):
            counts.add(null[first : first + 8, regions].T, first, regions)
    np.testing.assert_array_equal(counts.p_value(), permutation_p_value(score, null))
    np.testing.assert_array_equal(
        counts.p_value_fwe(), max_statistic_p_value(score, null.max(axis=1))
    )
    np.testing.assert_array_equal(counts.maxima, null.max(axis=1))


def test_null_rows_are_kept_where_asked():
    null = np.random.default_rng(1).normal(size=(6, 4))
    counts = NullCounts(
        np.zeros(4), np.zeros(4, dtype=int), np.full(6, -np.inf), np.empty((6, 4))
    )
    counts.add(null[:2].T, 0)
    counts.add(null[2:].T, 2)
    np.testing.assert_array_equal(counts.null, null)


@pytest.mark.parametrize("sizes", [[40], [1] * 40, [3, 30, 7], [39, 1]])
@pytest.mark.parametrize("n_kept", [1, 7, 40])
def test_the_largest_values_are_those_of_sorted_maps(sizes, n_kept):
    null = np.random.default_rng(2).integers(0, 9, (11, 40)).astype(np.float32)
    largest = LargestValues(np.empty((11, 0)), n_kept)
    for regions in np.split(np.arange(40), np.cumsum(sizes)[:-1]):
        largest.add(null[:, regions], regions)
        assert sum(part.shape[1] for part in [largest.kept, *largest.new]) < 2 * n_kept
    values, regions = unpacked_largest(largest.ordered())
    np.testing.assert_array_equal(values, -np.sort(-null, axis=1)[:, :n_kept])
    np.testing.assert_array_equal(np.take_along_axis(null, regions, axis=1), values)
    assert all(len(set(row)) == n_kept for row in regions.tolist())


@pytest.mark.parametrize("n_kept", [1, 7, 300])
@pytest.mark.parametrize("shift", [-9, 0, 9])
@pytest.mark.parametrize("step", [0.0, 1e-8, 0.5])
def test_the_largest_heights_are_found_without_a_look_at_all(n_kept, shift, step):
    values = np.random.default_rng(3).normal(size=(11, 700)) + shift
    values = np.round(values / step) * step if step else values
    values[0, :20] = np.inf
    found = largest_heights(values, np.arange(700), n_kept, np.arcsinh)
    every = packed_largest(np.arcsinh(values), np.arange(700))
    expected = np.sort(every, axis=1)[:, -n_kept:]
    np.testing.assert_array_equal(np.sort(found, axis=1), expected)


def test_values_that_are_still_missing_are_marked():
    largest = LargestValues.start(2, n_regions=3)
    largest.add(np.array([[1.0, 2.0], [4.0, 3.0]]), np.array([2, 0]))
    expected = [[2, 1, -np.inf], [4, 3, -np.inf]]
    values, regions = unpacked_largest(largest.ordered())
    np.testing.assert_array_equal(values, expected)
    np.testing.assert_array_equal(regions[:, :2], [[0, 2], [2, 0]])
    assert LargestValues.start(0, n_regions=3).ordered().shape == (0, 3)


def test_no_more_values_are_kept_than_memory_allows():
    assert n_largest(70_000, 1000) == 1000
    assert n_largest(48, 1000) == 48
    assert n_largest(70_000, 100_000) * 100_000 <= 2**22
    assert n_largest(0, 0) == n_largest(70_000, 10**9) == 1


def test_a_tie_is_equal_to_ten_digits_of_the_summands():
    observed, scale = np.array([0.0, 300.0]), np.array([1.0, 100.0])
    np.testing.assert_allclose(
        observed - tie_floor(observed, scale), scale * 1e-10, 1e-4
    )


def test_nothing_permuted_counts_nothing():
    counts = NullCounts.start(np.ones(3), 2)
    counts.add(np.empty((3, 0)), 2)
    assert not counts.n_reached.any()
    assert (counts.maxima == -np.inf).all()


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_sums_in_another_order_are_ties(scale):
    values = np.random.default_rng(2).normal(size=200) * scale
    forward, backward = values.sum(), values[::-1].sum()
    size = np.abs(values).mean()
    assert backward >= tie_floor(forward, size)
    assert round_ties(forward / scale) == round_ties(backward / scale)
    assert forward - 1e-6 * size < tie_floor(forward, size)


def test_known_values_are_spread_and_the_others_nan():
    known = np.array([True, False, True])
    spread = spread_known(known, {"a": np.array([1.0, 2.0]), "b": np.ones((2, 2))})
    np.testing.assert_array_equal(spread["a"], [1, np.nan, 2])
    assert spread["b"].shape == (3, 2)
    assert np.isnan(spread["b"][1]).all()
