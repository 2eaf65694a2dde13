"""Permutations and sign flips of the rows of a design against lists of all of them."""

from itertools import permutations, product

import numpy as np
import pytest

from tests.stats.seam import (
    NameExchanges,
    _equal_rows,
    flipped,
    linear_test,
    named_share,
    permuted,
)

MEAN = linear_test(np.ones((4, 1)), [1])
MEAN_OF_12 = linear_test(np.ones((12, 1)), [1])
GROUPS = linear_test(np.repeat(np.eye(2), [2, 3], axis=0), [1, -1])
SLOPE = linear_test(np.column_stack([np.ones(4), [0.0, 1, 3, 7]]), [0, 1])
BLOCKS = np.array(["b", "b", "a", "a"])
FLIP = {"whole_blocks": False, "two_sided": False, "random_state": 0}


def every_permutation(test, blocks=None, **options):
    """All of them: fewer exist than are asked for."""
    options = {"whole_blocks": False, "random_state": 0} | options
    with pytest.warns(UserWarning, match="ways to exchange the subjects exist"):
        found = permuted(test, blocks, n_permutations=100, **options)
    assert found.are_all
    assert (found.signs == 1).all()
    return found


def rows_of(arrangements):
    return {tuple(row) for row in arrangements.source}


@pytest.mark.parametrize("two_sided", [False, True])
def test_all_sign_flips(two_sided):
    options = FLIP | {"two_sided": two_sided}
    with pytest.warns(UserWarning, match="distinct sign flips of 4 subjects exist"):
        found = flipped(MEAN, None, n_permutations=100, **options)
    signs = {tuple(row) for row in found.signs}
    everything = set(product([-1, 1], repeat=4))
    if two_sided:  # a flip and its opposite give the same absolute statistic
        assert len(signs) == 8
        assert signs | {tuple(-np.array(s)) for s in signs} == everything
    else:
        assert signs == everything
    assert len(found.signs) == len(signs) == found.n_permutations + 1
    assert found.are_all
    assert (found.signs[0] == 1).all()
    assert (found.source == np.arange(4)).all()


def test_all_sign_flips_can_be_just_as_many_as_were_asked_for():
    with pytest.warns(UserWarning, match="no p-value can be below 0.0625"):
        found = flipped(MEAN, None, n_permutations=15, **FLIP)
    assert found.are_all
    few = flipped(MEAN, None, n_permutations=14, **FLIP)
    assert not few.are_all
    assert few.signs.shape == (15, 4)


def test_signs_are_those_of_whole_blocks():
    options = FLIP | {"whole_blocks": True}
    with pytest.warns(UserWarning, match="distinct sign flips of 2 blocks exist"):
        found = flipped(MEAN, BLOCKS, n_permutations=100, **options)
    signs = {tuple(row) for row in found.signs}
    assert signs == {(a, a, b, b) for a, b in product([-1, 1], repeat=2)}
    with pytest.warns(UserWarning, match="4 subjects"):  # blocks only bound exchanges
        found = flipped(MEAN, BLOCKS, n_permutations=100, **FLIP)
    assert len(found.signs) == 16


def test_rearranged_rows():
    with pytest.warns(UserWarning, match="distinct sign flips"):
        found = flipped(MEAN, None, n_permutations=100, **FLIP)
    rows = found.rows(MEAN.rows, slice(3, 9))
    assert rows.shape == (6, 4, 1)
    np.testing.assert_array_equal(rows[..., 0], 0.5 * found.signs[3:9])
    found = permuted(SLOPE, None, whole_blocks=False, n_permutations=5, random_state=1)
    np.testing.assert_array_equal(
        found.rows(SLOPE.rows, slice(0, 6)), SLOPE.rows[found.source]
    )


def test_all_permutations_of_a_covariate():
    found = every_permutation(SLOPE)
    assert rows_of(found) == set(permutations(range(4)))
    assert len(found.source) == 24
    assert found.source[0].tolist() == [0, 1, 2, 3]


def test_subjects_of_one_group_are_not_exchanged_with_each_other():
    found = every_permutation(GROUPS)
    effects = {tuple(np.round(GROUPS.effect[row], 6)) for row in found.source}
    assert len(effects) == len(found.source) == 10  # 5 choose 2
    drawn = permuted(GROUPS, None, whole_blocks=False, n_permutations=6, random_state=0)
    assert not drawn.are_all
    assert len(drawn.source) == 7


def test_permutations_within_blocks():
    found = every_permutation(SLOPE, BLOCKS)
    assert rows_of(found) == {
        a + b for a in permutations((0, 1)) for b in permutations((2, 3))
    }


def test_blocks_of_equal_size_are_exchanged_as_wholes():
    design = np.column_stack([np.ones(7), [0.0, 5, 1, 6, 2, 8, 9]])
    test = linear_test(design, [0, 1])
    blocks = [3, 3, 1, 1, 2, 2, 0]  # the last one has no partner
    found = every_permutation(test, blocks, whole_blocks=True)
    pairs = [(0, 1), (2, 3), (4, 5)]
    expected = {(*sum(order, ()), 6) for order in permutations(pairs)}
    assert rows_of(found) == expected
    assert found.source[0].tolist() == list(range(7))


def test_equal_blocks_count_once():
    design = np.column_stack([np.ones(6), [0.0, 1, 0, 1, 2, 3]])
    found = every_permutation(
        linear_test(design, [0, 1]), [0, 0, 1, 1, 2, 2], whole_blocks=True
    )
    slopes = {tuple(design[row, 1]) for row in found.source}
    assert slopes == {(0, 1, 0, 1, 2, 3), (0, 1, 2, 3, 0, 1), (2, 3, 0, 1, 0, 1)}
    assert len(found.source) == 3


def test_rows_equal_up_to_rounding_are_one():
    values = np.array([0.1 + 0.2, 0.3, 1.0, 2.0])
    test = linear_test(np.column_stack([np.ones(4), values]), [0, 1])
    found = every_permutation(test)
    assert len(found.source) == 12  # 4! / 2!


def test_minus_zero_is_zero():
    assert _equal_rows(np.array([[0.0, 1.0], [-0.0, 1.0]])).tolist() == [0, 0]


@pytest.mark.parametrize("blocks", [None, np.repeat(np.arange(6), 2)])
def test_a_seed_draws_the_same_arrangements(blocks):
    design = np.column_stack([np.ones(12), np.arange(12.0)])
    test = linear_test(design, [0, 1])
    options = {"whole_blocks": blocks is not None, "n_permutations": 9}
    first, same, other = (
        permuted(test, blocks, random_state=seed, **options).source
        for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, same)
    assert (first != other).any()
    flips = [
        flipped(
            MEAN_OF_12,
            None,
            two_sided=False,
            random_state=seed,
            whole_blocks=False,
            n_permutations=9,
        ).signs
        for seed in (0, 0, 1)
    ]
    np.testing.assert_array_equal(flips[0], flips[1])
    assert (flips[0] != flips[2]).any()


def test_where_nothing_can_be_exchanged():
    within = np.array(["a", "a", "b", "b", "b"])
    options = {"whole_blocks": False, "n_permutations": 9, "random_state": 0}
    with pytest.raises(ValueError, match="exchanging changes nothing: all subjects"):
        permuted(GROUPS, within, **options)


def test_exchanged_names_are_standardized_over_all_pairings():
    tables = np.random.default_rng(0).random((2, 4, 4))
    exchanges = NameExchanges.of(4, 23, None)
    assert exchanges.are_all
    assert len(exchanges) == 23
    assert not NameExchanges.of(4, 22, 0).are_all
    sums = np.array(
        [
            tables[:, np.arange(4), list(names)].sum(axis=1)
            for names in permutations(range(4))
        ]
    )
    z = (sums - sums.mean(axis=0)) / sums.std(axis=0)
    observed, exchanged = exchanges.compared(tables)
    np.testing.assert_allclose(observed, z[0], atol=1e-9)
    np.testing.assert_allclose(exchanged, z[1:].T, atol=1e-9)
    np.testing.assert_allclose(named_share(tables), sums[0])
