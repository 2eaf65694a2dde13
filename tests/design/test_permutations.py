"""Which labelings are compared, and what is said of them."""

import numpy as np
import pytest
from sklearn.model_selection import KFold, ShuffleSplit, StratifiedShuffleSplit

from neuroextrap.stats import permute_labels
from tests.design.seam import (
    Balance,
    FewLabelings,
    _sorted_folds,
    code_labels,
    code_targets,
    few_exchanges,
    few_permutations,
    fewest_permutations,
    fold_balance,
    make_design,
    permuted_codes,
)


def test_blocks_move_as_wholes_within_their_run():
    blocks, runs = np.arange(36) // 2, np.arange(36) // 12
    y = np.random.default_rng(0).permuted(np.tile([0, 1, 2], (3, 2)), axis=1).ravel()
    labels = code_labels(y[blocks], None, runs, blocks)
    design = make_design(labels.codes, 3, groups=runs)
    codes = permuted_codes(labels, design, 40, 0).codes
    assert len(codes) == 41
    np.testing.assert_array_equal(codes[0], labels.codes)
    np.testing.assert_array_equal(codes[:, ::2], codes[:, 1::2])
    of_runs = np.sort(codes.reshape(41, 3, 12), axis=2)
    np.testing.assert_array_equal(of_runs, np.broadcast_to(of_runs[:1], (41, 3, 12)))


def test_labelings_that_cannot_be_trained_are_refused():
    labels = code_labels([0, 1, 0, 1], None, None, None)
    design = make_design(labels.codes, 2, cv=KFold(2))
    with pytest.raises(ValueError, match="without training samples"):
        permuted_codes(labels, design, 20, 0, cv=KFold(2))


def test_targets_of_a_regression_move_between_ready_folds():
    """They are no classes, whose counts in folds could have been made equal."""
    labels, _ = code_targets(np.arange(20.0)[:, None], None, None)
    folds = list(KFold(4).split(np.zeros(20)))
    design = make_design(labels.codes, 20, cv=folds, trained=False)
    found = permuted_codes(labels, design, 20, 0, cv=folds)
    assert [each.name for each in found.findings] == ["no_groups"]
    moved = np.sort(found.codes[:, :5], axis=1)
    assert (moved[1:] != moved[0]).any(axis=1).all()


def test_with_one_split_labels_of_test_samples_move_alone():
    """The classifier stays as it is; that of targets is fitted to permuted ones."""
    y, split = np.tile([0, 1], 10), StratifiedShuffleSplit(1, random_state=0)
    labels = code_labels(y, None, None, None)
    design = make_design(labels.codes, 2, cv=split)
    found = permuted_codes(labels, design, 20, 0, cv=split)
    changed = (found.codes != y).any(axis=0)
    assert found.pairing
    assert changed[design.test].any()
    assert not changed[np.setdiff1d(np.arange(20), design.test)].any()
    assert "freely" in found.findings[0].because
    targets, _ = code_targets(np.arange(20.0)[:, None], None, None)
    blind = ShuffleSplit(1, random_state=0)
    found = permuted_codes(targets, design, 20, 0, cv=blind)
    assert not found.pairing
    assert (found.codes[1:] != targets.codes).any(axis=0).all()


@pytest.mark.parametrize(
    ("first", "proportional"), [((3, 2), True), ((4, 1), False), ((5, 0), False)]
)
def test_folds_with_their_share_of_every_class_are_proportional(first, proportional):
    """To less than one sample: of five, two or three."""
    y = np.tile(np.repeat([0, 1, 1, 0], [*first, *first]), 2)
    labels = code_labels(y, None, None, None)
    folds = list(KFold(4).split(y))
    balance = fold_balance(labels, make_design(labels.codes, 2, cv=folds))
    assert balance.proportional == proportional
    assert balance.of_labels == proportional


@pytest.mark.parametrize(
    ("proportional", "as_equal", "of_labels"),
    [
        (False, 0.1, True),
        (False, 0.11, False),
        (True, 0.9, True),
        (True, None, False),  # whole runs: counts that cannot change say nothing
    ],
)
def test_folds_more_equal_than_nine_tenths_are_of_labels(
    proportional, as_equal, of_labels
):
    assert Balance(proportional, as_equal).of_labels == of_labels


def test_tables_are_sorted_from_six_standard_deviations_on():
    assert _sorted_folds(Balance(excess=5.99)) is None
    assert _sorted_folds(Balance(excess=6.0)).name == "sorted_folds"


@pytest.mark.parametrize("seed", range(10))
def test_folds_of_whole_blocks_are_compared_with_other_orders_of_blocks(seed):
    """Scans one by one would be far more even."""
    y = np.random.default_rng(seed).permutation(np.repeat([0, 1], 10)).repeat(10)
    labels = code_labels(y, None, None, np.arange(200) // 10)
    balance = fold_balance(labels, make_design(labels.codes, 2, cv=KFold(5)))
    assert balance.excess < 6


def test_few_labelings_are_doubtful_where_none_can_be_significant():
    grades = [few_exchanges(FewLabelings(n, 1, "shifts")).grade for n in (18, 19)]
    assert grades == ["doubtful", "note"]
    assert few_exchanges(None) is None
    needed = fewest_permutations(0.95)
    found = [few_permutations(n, 0.95) for n in (0, 1, needed - 1, needed)]
    assert [len(each) for each in found] == [0, 1, 1, 0]
    assert [each.grade for each in found[2]] == ["note"]
    assert found[2][0].touches("true_discovery_bound")
    assert not found[2][0].touches("p_value")


def test_sorted_folds_are_told_without_permutations():
    labels = code_labels(np.repeat([0, 1, 2, 3], 12), None, None, None)
    design = make_design(labels.codes, 4, cv=KFold(8))
    codes, pairing, findings = permuted_codes(labels, design, 0, 0, cv=KFold(8))
    np.testing.assert_array_equal(codes, [labels.codes])
    assert not pairing
    (found,) = findings
    assert found.name == "sorted_folds"
    assert found.touches("accuracy")


def test_folds_are_compared_where_one_class_stays_in_its_run():
    """Counts of the others change; here they are as equal as can be."""
    y = np.array([0, 1, 0, 1, 0, 1, 0, 1, 2, 2, 2, 2])
    labels = code_labels(y, None, np.repeat([0, 1], [8, 4]), None)
    test = [np.array([i, i + 1, 8 + i // 2]) for i in (0, 2, 4, 6)]
    folds = [(np.setdiff1d(np.arange(12), each), each) for each in test]
    balance = fold_balance(labels, make_design(labels.codes, 3, cv=folds))
    assert balance.proportional
    assert 0 < balance.as_equal < 0.3
    assert balance.of_labels


@pytest.mark.parametrize("seed", range(6))
def test_balance_of_folds_by_its_definition(seed):
    """Sums of squares over all classes and folds, beside those of 199 labelings."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.repeat([0, 1, 2], [12, 9, 3]))
    folds = list(KFold(4, shuffle=True, random_state=seed).split(y))
    if seed > 2:  # made from the labels, but for the last class or the first
        order = np.lexsort(
            (rng.random(24), np.where(y == (2 if seed > 3 else 0), -1, y))
        )
        folds = [
            (np.setdiff1d(np.arange(24), order[fold::4]), order[fold::4])
            for fold in range(4)
        ]
    labels = code_labels(y, None, None, None)
    others = permute_labels(y, n_permutations=199, random_state=0)

    def deviations(given):
        for _, test in folds:
            for label in range(3):
                expected = len(test) * np.mean(y == label)
                yield np.count_nonzero(given[test] == label) - expected

    observed = np.array(list(deviations(y)))
    sums = np.array([np.sum(np.square(list(deviations(row)))) for row in others])
    found = fold_balance(labels, make_design(labels.codes, 3, cv=folds))
    assert found.proportional == (np.abs(observed) < 1 - 1e-9).all()
    total = np.sum(observed**2)
    assert found.as_equal == np.mean(sums <= total + 1e-6)
    assert found.excess == pytest.approx((total - sums.mean()) / sums.std())
    assert found == fold_balance(labels, make_design(labels.codes, 3, cv=folds))
