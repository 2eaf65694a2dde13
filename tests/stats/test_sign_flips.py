"""Paired sign flips against enumeration."""

import itertools

import numpy as np
import pytest
from scipy.optimize import brentq

from neuroextrap.stats import paired_sign_flip_test
from tests.stats.seam import (
    _rearrangement_test,
    count_sign_flips,
    sign_flips,
    two_sample_exchange_test,
)


@pytest.mark.parametrize("two_sided", [True, False])
def test_all_flips_equal_enumeration(two_sided):
    D = np.random.default_rng(0).normal(size=(4, 7)) + 0.5
    found = paired_sign_flip_test(D, n_permutations=127, two_sided=two_sided)
    signs = np.array(list(itertools.product([1, -1], repeat=7)))
    null, observed = D @ signs.T, D.sum(axis=1)
    if two_sided:
        null, observed = np.abs(null), np.abs(observed)
    reached = null >= observed[:, None] - 1e-9
    np.testing.assert_allclose(found.p_value, reached.mean(axis=1))
    largest = null.max(axis=0) >= observed[:, None] - 1e-9
    np.testing.assert_allclose(found.p_value_fwe, largest.mean(axis=1))
    np.testing.assert_allclose(found.score, D.sum(axis=1))
    assert found.n_permutations == (63 if two_sided else 127)


@pytest.mark.parametrize("two_sided", [True, False])
def test_cross_validated_sums_are_compared_by_a_smaller_t(two_sided):
    """The twin looks for the sum whose t is that of the differences, divided."""
    D = np.random.default_rng(5).normal(size=(4, 7))
    D += np.array([[1.5], [0.8], [-0.9], [0.0]])
    found = paired_sign_flip_test(
        D, n_permutations=127, two_sided=two_sided, cross_validated=True
    )
    signs = np.array(list(itertools.product([1, -1], repeat=7)))

    def t_of(total, row):
        return total / 7 / np.sqrt((np.mean(row**2) - (total / 7) ** 2) / 6)

    compared = []
    for row in D:
        wanted = t_of(row.sum(), row) / np.sqrt(2 * 6 / 4)
        ends = np.sqrt(7 * np.sum(row**2)) * (1 - 1e-12) * np.array([-1, 1])
        compared.append(
            brentq(lambda total, r=row, t=wanted: t_of(total, r) - t, *ends)
        )
    compared, null = np.array(compared), D @ signs.T
    if two_sided:
        null, compared = np.abs(null), np.abs(compared)
    null[:, 0] = np.maximum(null[:, 0], compared)  # the observed signs reach it
    reached = null >= compared[:, None] - 1e-9
    np.testing.assert_allclose(found.p_value, reached.mean(axis=1))
    largest = null.max(axis=0) >= compared[:, None] - 1e-9
    np.testing.assert_allclose(found.p_value_fwe, largest.mean(axis=1))
    np.testing.assert_allclose(found.score, D.sum(axis=1))
    exact = paired_sign_flip_test(D, n_permutations=127, two_sided=two_sided)
    assert (found.p_value[:2] > exact.p_value[:2]).any()


@pytest.mark.parametrize("n_units", [1, 2, 3, 4, 40])
def test_equal_differences_keep_their_sum(n_units):
    """Their t is infinite, whatever divides it; without any difference p is 1."""
    D = np.array([[2.0], [0.0]]) * np.ones(n_units)
    tests = [
        paired_sign_flip_test(D, cross_validated=crossed) for crossed in (True, False)
    ]
    np.testing.assert_array_equal(tests[0].p_value, tests[1].p_value)
    assert tests[0].p_value[1] == 1


@pytest.mark.parametrize("two_sided", [True, False])
def test_enumerated_flips_are_distinct_and_never_the_observed_signs(two_sided):
    flips = sign_flips(6, 63, 0, two_sided=two_sided)
    assert len(flips) + 1 == count_sign_flips(6, two_sided=two_sided)
    equivalent = {tuple(row) for row in flips} | {(1.0,) * 6}
    if two_sided:  # a flip and its opposite are one
        equivalent |= {tuple(-np.array(row)) for row in equivalent}
    assert len(equivalent) == 64


@pytest.mark.parametrize("n_units", [1, 2, 3])
def test_two_units_have_two_signs(n_units):
    one_sided = count_sign_flips(n_units, two_sided=False)
    assert one_sided == 2**n_units
    both = count_sign_flips(n_units, two_sided=True)
    assert both == max(2, 2 ** (n_units - 1))


def test_flips_are_listed_only_if_there_is_room_for_all():
    """Of 8 signs 7 are others: 7 lists them, 6 draws."""
    seven = sign_flips(3, 7, 0, two_sided=False)
    assert len({tuple(row) for row in seven}) == 7
    six = sign_flips(3, 6, 0, two_sided=False)
    assert six.shape == (6, 3)
    drawn = [sign_flips(3, 6, seed, two_sided=False) for seed in range(40)]
    # with replacement: the observed signs are among the draws now and then
    assert any((flips == 1).all(axis=1).any() for flips in drawn)


def test_drawn_flips_are_as_many_as_asked_for_and_repeatable():
    draws = [sign_flips(20, 50, 3, two_sided=False) for _ in range(2)]
    assert draws[0].shape == (50, 20)
    assert set(np.unique(draws[0])) == {-1.0, 1.0}
    np.testing.assert_array_equal(*draws)


def test_a_single_unit_has_one_flip():
    test = paired_sign_flip_test(np.array([[2.0]]))
    assert test.p_value == 1.0
    assert test.n_permutations == 1


def test_batches_of_flips_change_nothing(monkeypatch):
    D = np.random.default_rng(1).normal(size=(3, 30))
    options = {"n_permutations": 500, "step_down": True, "random_state": 4}
    whole = paired_sign_flip_test(D, **options)
    monkeypatch.setattr(_rearrangement_test, "_BATCH_NUMBERS", 21)
    parts = paired_sign_flip_test(D, **options)
    for name in ("score", "p_value", "p_value_fwe", "p_value_fwe_step_down"):
        np.testing.assert_array_equal(getattr(whole, name), getattr(parts, name))
    assert whole.n_permutations == 500


def test_defaults_are_what_the_documentation_says():
    D = np.random.default_rng(2).normal(size=(2, 40))
    default = paired_sign_flip_test(D)
    assert default.n_permutations == 1000
    said = paired_sign_flip_test(D, n_permutations=1000, two_sided=True, random_state=0)
    np.testing.assert_array_equal(default.p_value, said.p_value)
    other = paired_sign_flip_test(D, random_state=1)
    assert (default.p_value != other.p_value).any()


def test_step_down_is_by_the_largest_sum_over_the_regions_left():
    rng = np.random.default_rng(3)
    differences = rng.normal(size=(4, 6)) + np.array([[2.0], [1.2], [0.3], [0.0]])
    test = paired_sign_flip_test(differences, two_sided=False, step_down=True)
    signs = np.array(list(itertools.product([1, -1], repeat=6)))
    sums = differences @ signs.T  # the observed signs are among them
    expected, largest = np.empty(4), 0.0
    order = np.argsort(-test.score)
    for place, region in enumerate(order):
        left = sums[order[place:]].max(axis=0)
        largest = max(largest, np.mean(left >= test.score[region] - 1e-9))
        expected[region] = largest
    np.testing.assert_allclose(test.p_value_fwe_step_down, expected)
    assert (test.p_value_fwe_step_down <= test.p_value_fwe).all()
    assert (test.p_value_fwe_step_down < test.p_value_fwe).any()


def test_step_down_is_only_computed_when_asked_for():
    assert paired_sign_flip_test(np.ones((2, 4))).p_value_fwe_step_down is None


def test_no_region_gives_no_p_value():
    found = paired_sign_flip_test(np.empty((0, 5)))
    assert found.p_value.shape == found.p_value_fwe.shape == (0,)


@pytest.mark.parametrize("n_sets", [300, pytest.param(5000, marks=pytest.mark.slow)])
def test_family_wise_error_is_kept_for_exchangeable_outcomes(n_sets):
    rng = np.random.default_rng(2)
    mixing = rng.normal(size=(6, 6))
    p = [
        paired_sign_flip_test(
            mixing @ rng.exponential(size=(6, 12)) * rng.choice([-1, 1], 12),
            n_permutations=99,
            random_state=rng,
        ).p_value_fwe.min()
        for _ in range(n_sets)
    ]
    for level in (0.05, 0.2):
        rate = np.mean(np.array(p) <= level + 1e-12)
        assert abs(rate - level) < 4 * np.sqrt(level * (1 - level) / n_sets)


def test_bad_input():
    for wrong in (np.zeros(3), np.zeros((2, 0)), np.array([[1.0, np.nan]])):
        with pytest.raises(ValueError, match="differences must be finite numbers of"):
            paired_sign_flip_test(wrong)
    with pytest.raises(ValueError, match="n_permutations must be an integer >= 1"):
        paired_sign_flip_test(np.ones((1, 3)), n_permutations=0)


@pytest.mark.parametrize("scale", [2.0**-60, 1e-13, 1e6])
def test_the_unit_of_differences_does_not_matter(scale):
    """Ties of large numbers are found, and small numbers are no ties."""
    rng = np.random.default_rng(22)
    differences = rng.normal(size=(4, 9)) + np.array([0.0, 0.5, 1.0, 2.0])[:, None]
    differences[:2] = np.round(differences[:2], 1)  # with ties
    options = {"n_permutations": 400, "step_down": True}
    expected = paired_sign_flip_test(differences, **options)
    found = paired_sign_flip_test(differences * scale, **options)
    for name in ("p_value", "p_value_fwe", "p_value_fwe_step_down"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    assert found.p_value[3] < 0.05 < found.p_value[0]


def test_units_of_two_analyses_are_exchanged():
    found = two_sample_exchange_test(np.array([[8.0, 9, 7, 1, 2, 3]]), 3)
    np.testing.assert_allclose([found.score[0], found.p_value[0]], [6, 2 / 20])
    assert found.n_permutations == 19
