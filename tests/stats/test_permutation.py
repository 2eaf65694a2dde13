"""Permutations: units, groups, enumeration, uniformity, refusals."""

import itertools
import warnings
from collections import Counter

import numpy as np
import pytest
from scipy import stats

from neuroextrap.stats import permute_labels
from tests.stats.seam import _count, _units, shift_rows


def count_permutations(y, groups=None, blocks=None):
    """Return how many labelings exist, the observed one included."""
    return _count(_units(y, groups, blocks))


def all_labelings(y, groups):
    """Every distinct labeling that keeps the labels of each group."""
    kept = set()
    for order in itertools.permutations(range(len(y))):
        if all(groups[i] == groups[j] for i, j in enumerate(order)):
            kept.add(tuple(y[j] for j in order))
    return kept


@pytest.mark.parametrize(
    ("y", "groups"),
    [
        ("aabb", [0, 0, 0, 0]),
        ("abcab", [0, 0, 0, 1, 1]),
        ("aabcc", [1, 0, 1, 0, 1]),
        ("aaabb", [0, 0, 0, 1, 1]),
        ("cabbca", [0, 0, 0, 1, 1, 1]),  # neither group begins in sorted order
        ("bacacb", [0, 0, 1, 1, 2, 2]),
    ],
)
def test_enumerates_all_others_once(y, groups):
    y = list(y)
    expected = all_labelings(y, groups) - {tuple(y)}
    assert count_permutations(y, groups) == len(expected) + 1
    if not expected:
        return
    permuted = permute_labels(
        y, groups=groups, n_permutations=len(expected), random_state=0
    )
    assert {tuple(row) for row in permuted} == expected
    assert len(permuted) == len(expected)


def test_fewer_than_asked_warns_and_says_how_small_p_can_get():
    with pytest.warns(UserWarning, match=r"only 5 other .* below 0.167"):
        permuted = permute_labels(list("aabb"), n_permutations=100)
    assert permuted.shape == (5, 4)


@pytest.mark.parametrize("n_permutations", [3, 50])
def test_each_other_labeling_is_equally_likely(n_permutations):
    # 3 asked of 89: listed or drawn by rejection; 50 of 89: listed
    y = [0, 0, 1, 1, 2, 2]
    counts = Counter()
    for seed in range(400):
        permuted = permute_labels(y, n_permutations=n_permutations, random_state=seed)
        rows = {tuple(row) for row in permuted}
        assert len(rows) == n_permutations
        assert tuple(y) not in rows
        counts.update(rows)
    assert len(counts) == 89
    chi2 = stats.chisquare(list(counts.values()))
    # without replacement the counts are less dispersed than multinomial
    assert chi2.pvalue > 1e-3


def test_shifts_move_whole_runs_and_are_drawn_as_the_seed_says():
    runs = [0, 0, 0, 0, 1, 1, 1]
    every = {(a, b) for a in range(4) for b in range(3)} - {(0, 0)}

    def offsets(orders):
        assert (np.diff(orders[:, :4]) % 4 == 1).all()
        assert (np.diff(orders[:, 4:]) % 3 == 1).all()
        return [(-row[0] % 4, (4 - row[4]) % 3) for row in orders.tolist()]

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        exact = shift_rows(7, runs, 11, 0)  # as many as there are: all, no warning
        drawn = shift_rows(7, runs, 10, 5)
    assert sorted(offsets(exact)) == sorted(every)
    np.testing.assert_array_equal(drawn, shift_rows(7, runs, 10, 5))
    assert not np.array_equal(drawn, shift_rows(7, runs, 10, 6))
    offsets(drawn)
    with pytest.warns(UserWarning, match=r"only 11 other shifts .* below 0.0833"):
        assert len(shift_rows(7, runs, 12, 0)) == 11


def test_runs_of_one_row_stay_however_many_there_are():
    runs = np.r_[np.arange(70), [70, 70, 70]]
    every = shift_rows(73, runs, 2, 0)
    np.testing.assert_array_equal(every[:, :70], [np.arange(70)] * 2)
    np.testing.assert_array_equal(every[:, 70:], [[72, 70, 71], [71, 72, 70]])


def test_drawing_from_many_is_distinct_and_within_groups():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(4), 8)
    y = np.concatenate([rng.permutation(8) for _ in range(4)])
    permuted = permute_labels(y, groups=groups, n_permutations=500, random_state=1)
    assert permuted.dtype == y.dtype
    assert len(np.unique(permuted, axis=0)) == 500
    for group in range(4):
        part = np.sort(permuted[:, groups == group], axis=1)
        np.testing.assert_array_equal(part, np.tile(np.arange(8), (500, 1)))


def test_samples_of_a_unit_move_together():
    y = np.array(list("aaabbbccaabbcc"))
    groups = np.array([0] * 8 + [1] * 6)
    blocks = np.array([5, 5, 5, 1, 1, 1, 2, 2, 0, 0, 1, 1, 2, 2])
    assert count_permutations(y, groups, blocks) == 36
    permuted = permute_labels(
        y, groups=groups, blocks=blocks, n_permutations=35, random_state=0
    )
    for group, block in {*zip(groups, blocks, strict=True)}:
        part = permuted[:, (groups == group) & (blocks == block)]
        assert (part == part[:, :1]).all()
    # unit labels are exchanged, so group sizes of labels may change
    assert any(Counter(row[:8]) != Counter(y[:8]) for row in permuted.tolist())


def test_repeatable_and_accepts_a_generator():
    y = np.arange(20)
    first = permute_labels(y, n_permutations=5, random_state=3)
    np.testing.assert_array_equal(
        first, permute_labels(y, n_permutations=5, random_state=3)
    )
    again = permute_labels(y, n_permutations=5, random_state=np.random.default_rng(3))
    np.testing.assert_array_equal(first, again)


def test_a_group_may_lack_the_last_classes():
    with pytest.warns(UserWarning, match="only 17 other labelings exist") as caught:
        permute_labels([0, 1, 2, 0, 1, 1], groups=[0, 0, 0, 1, 1, 1], n_permutations=99)
    # 3! * 3 - 1 others; no two classes are equally frequent in both groups
    assert "differ only in the names" not in str(caught[0].message)


def test_counts_are_exact_integers():
    assert count_permutations(np.arange(30)) == 265252859812191058636308480000000
    assert count_permutations(list("aa")) == 1


@pytest.mark.parametrize(
    ("y", "groups", "n_renamings"),
    [
        ("abababab", "11223344", 2),
        ("abcabc", "111222", 6),
        ("aabcabbc", "11112222", 1),
        ("aabbccabc", "111111222", 6),
        ("aabcaabc", "11112222", 2),
        ("aab", None, 1),
        ("aabb", None, 2),
    ],
)
def test_renamed_classes_are_counted(y, groups, n_renamings):
    """Enumerate the labelings that are the observed one under other names."""
    y, groups = np.array(list(y)), None if groups is None else list(groups)
    total = count_permutations(y, groups)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        others = permute_labels(y, groups=groups, n_permutations=total)
    same = sum(len({*zip(y, other, strict=True)}) == len(set(y)) for other in others)
    assert same + 1 == n_renamings
    with pytest.warns(UserWarning, match="labelings exist") as caught:
        permute_labels(y, groups=groups, n_permutations=total)
    message = str(caught[0].message)
    assert f"below {1 / total:.3g}" in message
    assert ("names of the classes" in message) == (n_renamings > 1)
    assert n_renamings == 1 or f"below {n_renamings / total:.3g} for" in message


@pytest.mark.parametrize(
    ("y", "options", "message"),
    [
        ([0, 1], {"blocks": [0, 0]}, "constant within a unit"),
        ([0, 1], {"blocks": [0]}, "blocks must have one entry per label"),
        ([0, 1], {"groups": [0, 1, 2]}, "groups must have one entry per label"),
        ([0, 1], {"groups": [0, 1]}, "no other labeling"),
        ([1, 1, 1], {}, "no other labeling"),
        ([], {}, "y must have shape"),
        ([[0, 1]], {}, "y must have shape"),
        ([0, 1], {"n_permutations": 0}, "n_permutations must be"),
    ],
)
def test_refuses(y, options, message):
    options = {"n_permutations": 1} | options
    with pytest.raises(ValueError, match=message):
        permute_labels(y, **options)


def test_refuses_types_and_count_refuses():
    with pytest.raises(TypeError, match="n_permutations must be"):
        permute_labels([0, 1], n_permutations=10.5)
    with pytest.raises(ValueError, match="constant within a unit"):
        count_permutations([0, 1], blocks=[0, 0])
    with pytest.raises(ValueError, match="groups must have"):
        count_permutations([0, 1], groups=[0])
