"""True discoveries: the twin over all subsets, coverage of all sets at once, ties."""

from itertools import combinations

import numpy as np
import pytest

from neuroextrap.stats import true_discoveries, true_discovery_thresholds


def bound_over_all_subsets(scores, chosen, thresholds):
    """Fewest others in the chosen set, over all sets that may be uninformative."""
    fewest, n = len(chosen), len(scores)
    for size in range(n + 1):
        for null in combinations(range(n), size):
            largest = sorted(scores[list(null)], reverse=True)
            if all(v <= c for v, c in zip(largest, thresholds, strict=False)):
                fewest = min(fewest, len(set(chosen) - set(null)))
    return fewest


@pytest.mark.parametrize("n_thresholds", [1, 3, 9])
def test_bound_is_the_least_over_all_subsets(n_thresholds):
    rng = np.random.default_rng(n_thresholds)
    for _ in range(8):
        scores = rng.integers(0, 8, 7).astype(float)
        thresholds = np.sort(rng.integers(0, 7, n_thresholds))[::-1].astype(float)
        chosen = np.flatnonzero(rng.random(7) < 0.7)
        expected = bound_over_all_subsets(scores, chosen, thresholds)
        assert true_discoveries(scores[chosen], thresholds) == expected


def test_larger_regions_never_have_fewer():
    rng = np.random.default_rng(0)
    thresholds = true_discovery_thresholds(rng.normal(size=(100, 30)))
    scores = rng.normal(1.5, 1, size=30)
    counts = [true_discoveries(scores[:n], thresholds) for n in range(31)]
    assert counts[0] == 0
    assert counts[-1] > 0
    assert (np.diff(counts) >= 0).all()


def test_thresholds_follow_increasing_linear_transforms_and_ignore_order():
    rng = np.random.default_rng(1)
    null = rng.normal(size=(100, 30))
    thresholds = true_discovery_thresholds(null)
    assert (np.diff(thresholds) <= 0).all()
    np.testing.assert_allclose(
        true_discovery_thresholds(3 * null - 2), 3 * thresholds - 2
    )
    np.testing.assert_array_equal(
        true_discovery_thresholds(rng.permuted(null, axis=1)), thresholds
    )


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_ties_with_the_largest_permuted_value_are_no_discoveries(kind):
    null = np.full((60, 5), 0.7, dtype=kind)
    thresholds = true_discovery_thresholds(null)
    assert true_discoveries(np.full(5, 0.7), thresholds) == 0
    assert true_discoveries(np.full(5, 0.71), thresholds) == 5


def joint_error(n_sets, decimals):
    """Proportion of sign-flipped studies with a threshold exceeded by null regions."""
    rng, errors = np.random.default_rng(3), 0
    for _ in range(n_sets):
        subjects = rng.normal(size=(20, 40)) + rng.normal(size=(20, 1))
        subjects[:, :5] += 2
        flips = rng.choice([-1, 1], size=(200, 20))
        scores, null = subjects.mean(axis=0), flips @ subjects / 20
        scores, null = np.round(scores, decimals), np.round(null, decimals)
        thresholds = true_discovery_thresholds(-np.sort(-null, axis=1)[:, :15])
        errors += true_discoveries(scores[5:], thresholds) > 0
    return errors / n_sets


@pytest.mark.parametrize("decimals", [1, 6])
@pytest.mark.parametrize(
    "n_sets", [200, pytest.param(3000, id="full", marks=pytest.mark.slow)]
)
def test_uninformative_regions_are_rarely_counted_in_any_set(n_sets, decimals):
    assert joint_error(n_sets, decimals) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / n_sets)


def test_thirty_seven_permutations_are_just_enough():
    null = np.random.default_rng(0).normal(size=(37, 4))
    assert np.isfinite(true_discovery_thresholds(null)).all()
    with pytest.raises(ValueError, match=r"36 permutations.*at least 37"):
        true_discovery_thresholds(null[:36])


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: true_discovery_thresholds(np.ones(50)), "n_permutations, n_largest"),
        (lambda: true_discovery_thresholds(np.ones((50, 0))), "n_largest"),
        (lambda: true_discovery_thresholds(np.full((50, 2), -np.inf)), "finite"),
        (lambda: true_discoveries([np.nan], [1.0]), "scores must not hold NaN"),
        (lambda: true_discoveries([1.0], []), "thresholds must have shape"),
        (lambda: true_discoveries([1.0], [np.nan]), "thresholds must not hold NaN"),
    ],
)
def test_bad_input_is_refused(call, match):
    with pytest.raises(ValueError, match=match):
        call()
