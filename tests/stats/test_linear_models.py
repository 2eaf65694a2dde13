"""Contrasts of linear models and their statistics against textbook formulas."""

import numpy as np
import pytest
from scipy import stats as scipy_stats

from tests.stats.seam import _linear_scores as linear_scores
from tests.stats.seam import linear_test

RNG = np.random.default_rng(8)
COVARIATES = np.column_stack([np.ones(9), RNG.normal(size=(9, 2))])
GROUPS = np.repeat(np.eye(2), [4, 6], axis=0)
DESIGNS = {
    "mean": (np.ones((7, 1)), [1.0]),
    "twice the mean": (np.ones((7, 1)), [2.0]),
    "slope": (COVARIATES, [0, 1, 0]),
    "difference of slopes": (COVARIATES, [0, 1, -1]),
    "intercept at mean 2": (COVARIATES, [1, 2, 0]),
    "two groups": (GROUPS, [1, -1]),
    "columns of other scales": (COVARIATES * [1e6, 1e-6, 3], [0, 0, 1]),
}


def textbook(design, y, contrast):
    """Estimate and Student's t of a contrast, by the inverse of the cross products."""
    inverse = np.linalg.inv(design.T @ design)
    coefficients = inverse @ design.T @ y
    free = len(y) - design.shape[1]
    variance = np.square(y - design @ coefficients).sum(axis=0) / free
    estimate = contrast @ coefficients
    return estimate, estimate / np.sqrt(variance * (contrast @ inverse @ contrast))


def responses(n, n_features=5):
    return np.random.default_rng(n).normal(0.5, 1, size=(n, n_features))


@pytest.mark.parametrize("name", DESIGNS)
def test_estimate_and_t_of_the_observed_design(name):
    design, contrast = DESIGNS[name]
    contrast = np.asarray(contrast, dtype=float)
    test, y = linear_test(design, contrast), responses(len(design))
    estimate, t = textbook(design, y, contrast)
    effect = test.effect
    np.testing.assert_allclose(effect @ y / (effect @ effect), estimate, rtol=1e-8)
    assert np.abs(test.nuisance.T @ effect).max(initial=0) < 1e-8 * np.abs(effect).max()
    observed, length = test.rows[np.newaxis], np.linalg.norm(effect)
    residuals = test.residuals(y)
    np.testing.assert_allclose(
        linear_scores.Mean(residuals, length)(observed)[0], estimate, rtol=1e-8
    )
    score = linear_scores.StudentT(
        linear_scores.unit_length(residuals), test.degrees_of_freedom
    )
    np.testing.assert_allclose(score.heights(score(observed))[0], t, rtol=1e-8)
    assert test.degrees_of_freedom == len(design) - design.shape[1]
    assert test.is_intercept == (design.shape[1] == 1)
    assert len(test.effect) == len(design)


def test_the_nuisance_is_what_the_design_has_beside_the_effect():
    test = linear_test(COVARIATES, [0, 1, -1])
    together = test.rows
    np.testing.assert_allclose(together.T @ together, np.eye(3), atol=1e-12)
    refit = together @ (together.T @ COVARIATES)
    np.testing.assert_allclose(refit, COVARIATES, atol=1e-12)
    left = test.residuals(responses(9))
    np.testing.assert_allclose(test.nuisance.T @ left, 0, atol=1e-12)
    y = responses(7)
    assert linear_test(np.ones((7, 1)), [1]).residuals(y) is y


@pytest.mark.parametrize("name", ["slope", "two groups", "mean"])
def test_rearranged_designs_are_refitted(name):
    design, contrast = DESIGNS[name]
    test, y = linear_test(design, contrast), responses(len(design))
    left = test.residuals(y)
    orders = [np.random.default_rng(b).permutation(len(y)) for b in range(4)]
    designs = test.rows[np.array(orders)]
    score = linear_scores.StudentT(
        linear_scores.unit_length(left), test.degrees_of_freedom
    )
    found = score.heights(score(designs))
    smoothed = linear_scores.SmoothedT(
        left, np.square(left).sum(axis=0), test.degrees_of_freedom, lambda v: v
    )(designs)
    first = np.eye(designs.shape[2])[0]
    expected = np.array([textbook(each, left, first)[1] for each in designs])
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    np.testing.assert_allclose(smoothed, expected, rtol=1e-9)


def test_variances_are_smoothed_before_they_divide():
    test, y = linear_test(np.ones((7, 1)), [1]), 1e-3 * responses(7)
    total = np.square(y).sum(axis=0)
    pooled = linear_scores.SmoothedT(
        y, total, 6, lambda v: np.full_like(v, v.mean(axis=-1, keepdims=True))
    )(test.rows[np.newaxis])[0]
    spread = np.sqrt(y.var(axis=0, ddof=1).mean() / 7)
    np.testing.assert_allclose(pooled, y.mean(axis=0) / spread, rtol=1e-12)


def test_features_that_lack_observations():
    y = responses(8)
    lost = np.random.default_rng(1).random(y.shape) < 0.3
    known = np.where(lost, np.nan, y)
    n_known = (~lost).sum(axis=0).astype(float)
    rows = linear_test(np.ones((8, 1)), [1]).rows[np.newaxis]
    filled = np.where(lost, 0.0, y)
    mean = linear_scores.Mean(filled, np.sqrt(8), n_known)(rows)[0]
    np.testing.assert_allclose(mean, np.nanmean(known, axis=0))
    score = linear_scores.StudentT(linear_scores.unit_length(filled), 7, n_known)
    t = score.heights(score(rows))[0]
    expected = scipy_stats.ttest_1samp(known, 0, nan_policy="omit").statistic
    np.testing.assert_allclose(t, expected)


def test_a_perfect_fit_is_infinite_not_missing():
    score = linear_scores.StudentT(linear_scores.unit_length(np.ones((5, 2))), 4)
    rows = linear_test(np.ones((5, 1)), [1]).rows[np.newaxis]
    assert (score.heights(score(rows) * (1 + 1e-15)) > 1e6).all()
    assert (score.heights(-score(rows) * (1 + 1e-15)) < -1e6).all()


def test_unequal_variances_of_two_groups_are_welch():
    test, y = linear_test(GROUPS, [1, -1]), responses(10)
    y[:4] *= 5
    group = np.repeat([0, 1], [4, 6])
    linear_scores.check_variance_groups(group, test)
    v = linear_scores.AspinWelch(test.residuals(y), group)(test.rows[np.newaxis])[0]
    welch = scipy_stats.ttest_ind(y[:4], y[4:], equal_var=False).statistic
    np.testing.assert_allclose(v, welch, rtol=1e-9)


def test_one_variance_group_is_student():
    test, y = linear_test(COVARIATES, [0, 1, 0]), responses(9)
    group = np.zeros(9, dtype=int)
    v = linear_scores.AspinWelch(test.residuals(y), group)(test.rows[np.newaxis])[0]
    np.testing.assert_allclose(v, textbook(COVARIATES, y, [0, 1, 0])[1], rtol=1e-9)


def test_median_of_signed_observations():
    y, signs = responses(6), np.array([[1, 1, 1, 1, 1, 1], [1, -1, 1, -1, -1, 1]])
    median = linear_scores.Median(y)
    found = median(0.4 * signs[..., np.newaxis])
    assert median.heights(found) is found
    np.testing.assert_array_equal(found[0], np.median(y, axis=0))
    np.testing.assert_array_equal(found[1], np.median(signs[1][:, None] * y, axis=0))


def test_a_variance_group_without_residuals():
    design = np.column_stack([np.ones(6), np.eye(6)[0]])
    test = linear_test(design, [1, 0])
    alone = np.r_[1, np.zeros(5, dtype=int)]
    with pytest.raises(ValueError, match="a group of 1 subjects that the design fits"):
        linear_scores.check_variance_groups(alone, test)
    linear_scores.check_variance_groups(np.repeat([0, 1], 3), test)
    pair = linear_test(np.repeat(np.eye(2), [2, 4], axis=0), [1, -1])
    linear_scores.check_variance_groups(np.repeat([0, 1], [2, 4]), pair)


@pytest.mark.parametrize(
    ("design", "contrast", "message"),
    [
        (np.ones(5), [1], "must have shape"),
        (np.ones((5, 1)), [1, 0], "one weight per column"),
        (np.ones((5, 1)), [0], "not all zero"),
        (np.array([[1.0], [np.nan], [1]]), [1], "must be finite"),
        (np.ones((5, 1)), [np.inf], "must be finite"),
        (np.eye(5)[:, :1] * 0, [1], "column of zeros"),
        (np.column_stack([np.ones(10), GROUPS]), [0, 1, -1], "depend on one another"),
        (np.ones((5, 2)) + 1e-13 * np.eye(5, 2), [1, 0], "depend on one another"),
        (np.eye(3), [1, 0, 0], "has 3 columns for 3 subjects"),
    ],
)
def test_designs_that_cannot_be_tested(design, contrast, message):
    with pytest.raises(ValueError, match=message):
        linear_test(design, contrast)
