"""p-values against counting."""

import numpy as np
import pytest
from scipy import stats

from neuroextrap.stats import (
    binomial_p_value,
    max_statistic_p_value,
    permutation_p_value,
    step_down_p_value,
)
from tests.stats.seam import z_from_p


def test_counts_ties_as_at_least_as_large():
    assert permutation_p_value(2.0, [1, 2, 3, 2]) == 4 / 5
    assert permutation_p_value(9.0, [1, 2, 3, 2]) == 1 / 5
    assert permutation_p_value(0.0, [0.0] * 99) == 1


def test_permutation_broadcasts_and_keeps_missing():
    rng = np.random.default_rng(0)
    score, null = rng.normal(size=(3, 4)), rng.normal(size=(20, 3, 4))
    score[0, 0] = np.nan
    null[:, 0, 0] = np.nan
    p = permutation_p_value(score, null)
    assert np.isnan(p[0, 0])
    assert p[1, 2] == (1 + sum(null[:, 1, 2] >= score[1, 2])) / 21
    one_null = permutation_p_value(score[1], null[:, 1, 1:2])
    assert one_null.shape == (4,)


@pytest.mark.parametrize("shape", [(4,), (3,), (2, 3)])
def test_many_scores_against_one_null_distribution(shape):
    """As many scores as permutations, too: each is against all permutations."""
    rng = np.random.default_rng(1)
    score, null = rng.normal(size=shape), rng.normal(size=3)
    naive = np.array([(1 + sum(null >= one)) / 4 for one in score.ravel()])
    np.testing.assert_array_equal(
        permutation_p_value(score, null), naive.reshape(shape)
    )


def test_maximum_counts_over_regions():
    scores = np.array([[0.1, 0.5], [0.9, np.nan]])
    maxima = np.array([0.5, 0.4, 0.9, 0.2])
    np.testing.assert_array_equal(
        max_statistic_p_value(scores, maxima), [[1, 3 / 5], [2 / 5, np.nan]]
    )
    assert max_statistic_p_value(1.0, maxima).shape == ()


@pytest.mark.parametrize(("n_test", "n_classes"), [(20, 2), (24, 8), (96, 3)])
def test_binomial_is_the_upper_tail(n_test, n_classes):
    correct = np.arange(n_test + 1)
    exact = stats.binom.sf(correct - 1, n_test, 1 / n_classes)
    np.testing.assert_allclose(
        binomial_p_value(correct, n_test, n_classes), exact, rtol=1e-10
    )
    assert np.isnan(binomial_p_value(np.nan, n_test, n_classes))


@pytest.mark.parametrize(
    ("function", "arguments", "error", "message"),
    [
        (permutation_p_value, (1.0, []), ValueError, "n_permutations at least 1"),
        (permutation_p_value, (1.0, 2.0), ValueError, "n_permutations at least 1"),
        (permutation_p_value, ([1, 2], np.ones((5, 3))), ValueError, "broadcast"),
        (permutation_p_value, (1.0, [np.nan, 1]), ValueError, "null_scores hold NaN"),
        (max_statistic_p_value, (1.0, []), ValueError, "n_permutations at least 1"),
        (max_statistic_p_value, (1, np.ones((2, 2))), ValueError, "null_maxima must"),
        (max_statistic_p_value, (1, [np.nan]), ValueError, "must not hold NaN"),
        (binomial_p_value, (3, 21, 2), ValueError, "multiple of n_classes"),
        (binomial_p_value, (3.5, 20, 2), ValueError, "n_correct must be whole"),
        (binomial_p_value, (21, 20, 2), ValueError, "n_correct must be whole"),
        (binomial_p_value, (-1, 20, 2), ValueError, "n_correct must be whole"),
        (binomial_p_value, (1, 20.0, 2), TypeError, "n_test must be"),
        (binomial_p_value, (1, 20, 1), ValueError, "n_classes must be"),
    ],
)
def test_refuses(function, arguments, error, message):
    with pytest.raises(error, match=message):
        function(*arguments)


def naive_step_down(scores, null):
    """Compare each region with the maxima over those of no larger score."""
    raw = []
    for score in scores:
        left = scores <= score
        raw.append(
            (1 + sum(row[left].max() >= score for row in null)) / (1 + len(null))
        )
    return [
        max(p for p, other in zip(raw, scores, strict=True) if other >= score)
        for score in scores
    ]


@pytest.mark.parametrize("n_values", [3, 1000])
@pytest.mark.parametrize("batch", [1, 2**24])
def test_step_down_equals_its_definition(n_values, batch, monkeypatch):
    monkeypatch.setattr("neuroextrap.stats._pvalues._BATCH_NUMBERS", batch)
    rng = np.random.default_rng(n_values)
    for n_regions in (1, 2, 9):
        scores = rng.integers(n_values, size=n_regions).astype(float)
        null = rng.integers(n_values, size=(30, n_regions)).astype(float)
        p = step_down_p_value(scores, null)
        np.testing.assert_array_equal(p, naive_step_down(scores, null))
        single = max_statistic_p_value(scores, null.max(axis=1))
        assert (p <= single).all()
        assert p[scores.argmax()] == single[scores.argmax()]


def test_step_down_leaves_missing_regions_out():
    rng = np.random.default_rng(0)
    scores, null = rng.normal(size=5), rng.normal(size=(20, 5))
    scores[2], null[:, 2] = np.nan, 99
    p = step_down_p_value(scores, null)
    assert np.isnan(p[2])
    rest = [0, 1, 3, 4]
    np.testing.assert_array_equal(
        p[rest], step_down_p_value(scores[rest], null[:, rest])
    )


def test_step_down_keeps_the_family_wise_level_and_finds_more():
    """Three active regions of ten, correlated; twenty exchangeable rows."""
    rng = np.random.default_rng(1)
    active = np.arange(10) < 3
    errors, found = [], []
    for _ in range(1500):
        rows = rng.normal(size=(20, 10)) + rng.normal(size=(20, 1))
        scores = rows[0] + np.where(active, [6, 3, 2, *[0] * 7], 0)
        single = max_statistic_p_value(scores, rows[1:].max(axis=1)) <= 0.05
        down = step_down_p_value(scores, rows[1:]) <= 0.05
        errors.append((down & ~active).any())
        found.append([single[active].sum(), down[active].sum()])
    assert np.mean(errors) <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 1500)
    assert np.diff(np.mean(found, axis=0)) > 0.01


@pytest.mark.parametrize(
    ("scores", "null", "message"),
    [
        ([1.0, 2.0], np.ones(3), "n_regions"),
        ([1.0, 2.0], np.ones((3, 3)), "n_regions"),
        ([1.0, 2.0], np.ones((0, 2)), "at least one permutation"),
        ([1.0, 2.0], [[1.0, np.nan]], "NaN where score is a number"),
    ],
)
def test_step_down_refuses(scores, null, message):
    with pytest.raises(ValueError, match=message):
        step_down_p_value(scores, null)


def test_normal_scores_are_finite():
    z = z_from_p([1.0, 0.5, 0.001, np.nan], 999)
    np.testing.assert_allclose(z, [-3.2905, 0, 3.0902, np.nan], atol=1e-4)
    assert z_from_p(20 / 20, 19) < z_from_p(19 / 20, 19)


def test_ties_with_null_scores_of_single_precision_stay_ties():
    """0.7 is not a number of float32: unrounded, no permuted score would reach it."""
    scores = np.array([0.7, 0.1, np.nan])
    null = np.tile(np.array([0.7, 0.1, 0.0], dtype=np.float32), (9, 1))
    assert (null[:, 0] < scores[0]).all()
    np.testing.assert_array_equal(permutation_p_value(scores, null), [1, 1, np.nan])
    np.testing.assert_array_equal(step_down_p_value(scores, null), [1, 1, np.nan])
