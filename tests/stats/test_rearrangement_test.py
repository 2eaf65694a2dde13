"""The one loop of permutations against plain loops, whole and in parts."""

import numpy as np
import pytest

from neuroextrap.stats import step_down_p_value
from tests.stats.seam import (
    Corrections,
    Mean,
    Median,
    Part,
    find_clusters,
    flipped,
    linear_test,
    permute,
    rearrangement_test,
    threshold_free_enhancement,
    tie_floor,
)

CHAIN = np.stack([np.arange(8), np.arange(1, 9)], axis=1)


def problem():
    rng = np.random.default_rng(0)
    null = np.round(rng.normal(size=(60, 9)), 1)  # with ties
    return null, np.round(null[7] + rng.choice([0, 1.5], 9), 1)


@pytest.mark.parametrize("two_sided", [False, True])
def test_counts_and_clusters_equal_plain_loops(two_sided):
    null, observed = problem()
    compared, floor = (
        (np.abs(null), np.abs(observed)) if two_sided else (null, observed)
    )
    corrections = Corrections(two_sided, True, CHAIN, np.full(9, 0.8), True)
    seen = []
    found = permute(
        lambda permutations, _: null[permutations],
        floor,
        60,
        corrections,
        progress=lambda *n: seen.append(n),
    )
    p = found.p_values()
    reached = [(1 + sum(row[v] >= floor[v] for row in compared)) / 61 for v in range(9)]
    largest = [(1 + sum(row.max() >= f for row in compared)) / 61 for f in floor]
    np.testing.assert_allclose(p["p_value"], reached)
    np.testing.assert_allclose(p["p_value_fwe"], largest)
    expected = step_down_p_value(floor, compared)
    np.testing.assert_array_equal(p["p_value_fwe_step_down"], expected)
    signs = (1, -1) if two_sided else (1,)
    for name in ("extent", "mass"):
        by_row = [
            max(
                getattr(find_clusters(sign * row - 0.8, CHAIN), name).max(initial=0.0)
                for sign in signs
            )
            for row in null
        ]
        np.testing.assert_allclose(found.cluster_maxima[f"cluster_{name}"], by_row)
    by_row = [
        max(threshold_free_enhancement(s * row, CHAIN).max() for s in signs)
        for row in null
    ]
    np.testing.assert_allclose(found.cluster_maxima["tfce"], by_row)
    assert seen == [(60, 60)]


def test_parts_of_permutations_or_of_features_change_nothing():
    null, observed = problem()
    whole = permute(lambda rows, columns: null[rows, columns], observed, 60)
    of_features = [Part(slice(60), slice(k, k + 4)) for k in (4, 0, 8)]
    of_both = [
        Part(slice(i, i + 20), slice(k, k + 3)) for i in (0, 20, 40) for k in (0, 3, 6)
    ]
    for parts in (of_features, of_both):
        found = permute(
            lambda rows, columns: null[rows, columns], observed, 60, parts=parts
        )
        for name, values in whole.p_values().items():
            np.testing.assert_array_equal(found.p_values()[name], values)
        np.testing.assert_array_equal(found.counts.maxima, null.max(axis=1))
    assert whole.p_values().keys() == {"p_value", "p_value_fwe"}


@pytest.mark.filterwarnings("ignore:only .* distinct sign flips")
@pytest.mark.parametrize(("kind", "lengths"), [(Mean, [7**0.5]), (Median, [])])
def test_the_unit_of_the_maps_decides_no_tie(kind, lengths):
    """Small numbers are no ties, and equal sums in any unit are."""
    values = np.random.default_rng(1).integers(-3, 5, size=(7, 12)).astype(float)
    test = linear_test(np.ones((7, 1)), [1.0])
    options = {"whole_blocks": False, "two_sided": False, "random_state": 0}
    arrangements = flipped(test, None, n_permutations=200, **options)
    found = []
    for unit in (1.0, 2.0**-40, 2.0**30):
        scorer = (
            Median(values * unit) if kind is Median else Mean(values * unit, 7**0.5)
        )
        maps, *_ = rearrangement_test(scorer, arrangements, test.rows, Corrections())
        found.append(maps)
    for other in found[1:]:
        for name in ("p_value", "p_value_fwe"):
            np.testing.assert_array_equal(other[name], found[0][name])
    signs = arrangements.signs[:, :, None] * values[None]
    sums = np.median(signs, axis=1) if kind is Median else signs.sum(axis=1)
    np.testing.assert_allclose(found[0]["p_value"], (sums >= sums[0]).mean(axis=0))


def test_nothing_is_as_large_as_what_lies_a_tolerance_above():
    observed = np.array([1.0, 1.0])
    null = tie_floor(observed, 1.0)[None] + np.array([[0.0, -1e-12]])
    found = permute(lambda *_: null, tie_floor(observed, 1.0), 1)
    assert found.counts.n_reached.tolist() == [1, 0]


@pytest.mark.filterwarnings("ignore:only .* distinct sign flips")
def test_clusters_have_the_p_values_of_their_maxima():
    values = np.random.default_rng(2).normal(size=(6, 9)) + np.repeat([0, 1.5, 0], 3)
    test = linear_test(np.ones((6, 1)), [1.0])
    options = {"whole_blocks": False, "two_sided": True, "random_state": 0}
    arrangements = flipped(test, None, n_permutations=100, **options)
    corrections = Corrections(True, False, CHAIN, np.full(9, 0.7), True)
    scorer = Mean(values, 6**0.5)
    maps, maxima, _ = rearrangement_test(scorer, arrangements, test.rows, corrections)
    for name in ("cluster_extent", "cluster_mass", "tfce"):
        size, largest = np.abs(maps[name]), maxima[name]
        reached = (largest >= size[:, None] - 1e-8).sum(axis=1)
        p = np.where(size > 0, (1 + reached) / (1 + len(largest)), 1)
        np.testing.assert_allclose(maps[f"p_value_fwe_{name}"], p)
    assert maps["cluster_extent"].max() >= 3
