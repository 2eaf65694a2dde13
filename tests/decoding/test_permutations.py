"""Labels are exchanged only where the folds allow it."""

import numpy as np
import pytest
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneGroupOut,
    PredefinedSplit,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedGroupKFold,
    StratifiedKFold,
    StratifiedShuffleSplit,
)

from neuroextrap.decoding import IdentificationSearchLight
from tests.decoding.seam import (
    code_labels,
    folds_follow_labels,
    make_design,
    permuted_codes,
)

pytestmark = pytest.mark.filterwarnings("ignore:The groups parameter is ignored")
N_SETS = 120

# labels in no order that a splitter would leave as it is
CODES = np.random.default_rng(1).permutation(np.repeat([0, 1, 2], 8))
RUNS = np.repeat(np.arange(4), 6)


def fold_of(splitter, codes=CODES):
    """Number of the test fold of every sample, as PredefinedSplit takes it."""
    fold = np.empty(len(codes), dtype=int)
    for number, (_, test) in enumerate(splitter.split(codes, codes)):
        fold[test] = number
    return fold


def shuffled_folds(seed):
    """Stratified folds that cut through runs."""
    return StratifiedKFold(2, shuffle=True, random_state=seed)


class _OwnFolds:
    """A splitter of somebody's own that keeps stratified folds."""

    def split(self, X, y=None, groups=None):
        return iter(list(StratifiedKFold(4).split(CODES, CODES)))

    def get_n_splits(self, X=None, y=None, groups=None):
        return 4


@pytest.mark.parametrize(
    ("cv", "follows"),
    [
        (None, False),
        (LeaveOneGroupOut(), False),
        (GroupKFold(2), False),
        (KFold(4), False),
        (KFold(4, shuffle=True, random_state=0), False),
        (ShuffleSplit(3, random_state=0), False),
        (PredefinedSplit(RUNS), None),
        (_OwnFolds(), None),
        (StratifiedKFold(4), True),
        (StratifiedKFold(4, shuffle=True, random_state=0), True),
        (StratifiedGroupKFold(2), True),
        (StratifiedShuffleSplit(3, random_state=0), True),
        (RepeatedStratifiedKFold(n_splits=4, n_repeats=2, random_state=0), True),
        (KFold(4, shuffle=True), True),  # by chance: nobody can tell
        ([(np.arange(12), np.arange(12, 24))], None),
    ],
)
def test_splitters_that_look_at_labels_are_found_out(cv, follows):
    assert folds_follow_labels(CODES, cv=cv, groups=RUNS) is follows


def test_asking_leaves_the_splitter_as_it_is():
    cv = StratifiedKFold(4, shuffle=True, random_state=np.random.RandomState(3))
    folds_follow_labels(CODES, cv=cv)
    fresh = StratifiedKFold(4, shuffle=True, random_state=np.random.RandomState(3))
    pairs = zip(cv.split(CODES, CODES), fresh.split(CODES, CODES), strict=True)
    assert all(np.array_equal(one[1], other[1]) for one, other in pairs)


@pytest.mark.parametrize(
    ("cv", "groups"),
    [
        (4, None),
        (StratifiedKFold(4), None),
        (StratifiedKFold(4), RUNS),
        (RepeatedStratifiedKFold(n_splits=4, n_repeats=2, random_state=0), None),
        (StratifiedKFold(2, shuffle=True, random_state=0), RUNS),
        (list(StratifiedKFold(4).split(CODES, CODES)), None),
        *((list(shuffled_folds(seed).split(CODES, CODES)), RUNS) for seed in range(20)),
        (_OwnFolds(), None),
        (PredefinedSplit(fold_of(StratifiedKFold(4))), None),
    ],
)
def test_folds_keep_their_class_counts(cv, groups):
    labels = code_labels(CODES, None, groups, None)
    design = make_design(labels.codes, 3, cv=cv, groups=groups)
    found = permuted_codes(labels, design, 50, 0, cv=cv)
    codes = found.codes
    assert not found.pairing
    names = {finding.name for finding in found.findings}
    assert ("no_groups" in names) == (groups is None)
    assert len(codes) == 51
    for _, test in design.folds:
        counts = [np.bincount(row[test], minlength=3) for row in codes]
        assert (np.array(counts) == counts[0]).all()
    assert (codes[1:] != codes[0]).any()
    if groups is not None:
        for run in range(4):
            assert (
                np.sort(codes[:, run == groups]) == np.sort(codes[0, run == groups])
            )[1:].all()


@pytest.mark.parametrize("as_given", [list, PredefinedSplit])
def test_folds_made_without_labels_leave_labels_free(as_given, recwarn):
    labels = code_labels(CODES, None, None, None)
    cv = KFold(4)
    given = list(cv.split(CODES)) if as_given is list else as_given(fold_of(cv))
    design = make_design(labels.codes, 3, cv=given)
    free = permuted_codes(labels, design, 20, 0, cv=cv)
    found = permuted_codes(labels, design, 20, 0, cv=given)
    np.testing.assert_array_equal(found.codes, free.codes)
    assert [finding.name for finding in found.findings] == ["no_groups"]
    assert not list(recwarn)


def test_confined_labels_are_noted():
    labels = code_labels(CODES, None, RUNS, None)
    folds = list(StratifiedKFold(2, shuffle=True, random_state=1).split(CODES, CODES))
    design = make_design(labels.codes, 3, cv=folds)
    (note,) = permuted_codes(labels, design, 20, 0, cv=folds).findings
    assert "labels were exchanged within test folds" in note.note


def test_given_folds_of_whole_runs_are_not(recwarn):
    labels = code_labels(CODES, None, RUNS, None)
    folds = list(LeaveOneGroupOut().split(CODES, CODES, RUNS))
    design = make_design(labels.codes, 3, cv=folds)
    permuted_codes(labels, design, 20, 0, cv=folds)
    assert not list(recwarn)


def test_blocks_split_over_stratified_folds_are_refused():
    codes = np.tile(np.repeat([0, 1], 4), 4)
    labels = code_labels(codes, None, None, np.repeat(np.arange(8), 4))
    cv = StratifiedKFold(4, shuffle=True, random_state=0)
    design = make_design(labels.codes, 2, cv=cv)
    with pytest.raises(ValueError, match="blocks are split over test folds"):
        permuted_codes(labels, design, 20, 0, cv=cv)


def test_whole_blocks_in_stratified_folds_move_within_them():
    """And a single block that is split is refused."""
    codes, blocks = np.tile(np.repeat([0, 1], 4), 4), np.repeat(np.arange(8), 4)
    labels = code_labels(codes, None, None, blocks)
    cv = list(StratifiedGroupKFold(4).split(codes, codes, blocks))
    design = make_design(labels.codes, 2, cv=cv)
    found = permuted_codes(labels, design, 12, 0, cv=cv).codes
    np.testing.assert_array_equal(found[:, ::4], found[:, 3::4])
    for _, test in cv:  # one block of each class
        np.testing.assert_array_equal(found[:, test].mean(axis=1), 0.5)
    tested = np.empty(32, dtype=int)
    for fold, (_, test) in enumerate(cv):
        tested[test] = fold
    tested[0] = (tested[0] + 1) % 4  # one sample of one block in another fold
    split = PredefinedSplit(tested)
    design = make_design(labels.codes, 2, cv=split)
    with pytest.raises(ValueError, match="blocks are split over test folds"):
        permuted_codes(labels, design, 12, 0, cv=split)


@pytest.mark.filterwarnings("ignore:no runs were given:UserWarning")
@pytest.mark.slow
@pytest.mark.parametrize(
    "estimator", ["nearest_centroid", "ridge", "lda", "gaussian_nb", "qda"]
)
def test_stratified_folds_have_the_nominal_level(estimator):
    """Free exchange had p <= .05 in 62% of such sets: 40 samples, 4 classes."""
    rng = np.random.default_rng(0)
    rejected = 0
    for seed in range(N_SETS):
        y = rng.permutation(np.repeat(np.arange(4), 10))
        light = IdentificationSearchLight(
            estimator=estimator, cv=5, n_permutations=19, random_state=seed
        )
        light.fit(rng.normal(size=(40, 8)), y)
        rejected += light.region_scores_["p_value"][0] <= 0.05
    # four standard errors above .05
    assert rejected / N_SETS <= 0.05 + 4 * np.sqrt(0.05 * 0.95 / N_SETS)


def test_cells_without_two_classes_are_refused_with_a_remedy():
    codes, runs = np.array([0, 1, 0, 1, 0, 1, 0, 1]), np.array([0, 1, 1, 0, 0, 1, 1, 0])
    labels = code_labels(codes, None, runs, None)
    cv = StratifiedKFold(4)  # folds are pairs of neighbors, of two runs each
    design = make_design(labels.codes, 2, cv=cv, groups=runs)
    with pytest.raises(ValueError, match="no labels can be exchanged"):
        permuted_codes(labels, design, 20, 0, cv=cv)


def test_looking_at_ready_folds_of_a_small_design_says_nothing(recwarn):
    """Few labelings exist beside the observed one, and no more are asked for."""
    codes, runs = np.tile([0, 1, 2], 2), np.repeat([0, 1], 3)
    labels = code_labels(codes, None, runs, None)
    folds = list(LeaveOneGroupOut().split(codes, codes, runs))
    design = make_design(labels.codes, 3, cv=folds)
    assert len(permuted_codes(labels, design, 10, 0, cv=folds).codes) == 11
    assert not list(recwarn)
