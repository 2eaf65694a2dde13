"""Which labelings are compared, and what is said of them."""

import numpy as np
import pytest
from sklearn.model_selection import KFold

from neuroextrap.design._folds import make_design
from neuroextrap.design._labels import code_labels, code_targets
from neuroextrap.design._permutations import (
    few_exchanges,
    few_permutations,
    permuted_codes,
)
from neuroextrap.stats._permutation import FewLabelings
from neuroextrap.stats._true_discoveries import fewest_permutations


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


def test_few_labelings_are_doubtful_where_none_can_be_significant():
    grades = [few_exchanges(FewLabelings(n, 1, "shifts")).grade for n in (18, 19)]
    assert grades == ["doubtful", "note"]
    assert few_exchanges(None) is None
    needed = fewest_permutations(0.95)
    found = [few_permutations(n, 0.95) for n in (0, needed - 1, needed)]
    assert [len(each) for each in found] == [0, 1, 0]
