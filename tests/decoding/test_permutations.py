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
from neuroextrap.decoding._labels import code_labels
from neuroextrap.decoding._permutations import permuted_codes
from neuroextrap.margins._folds import folds_follow_labels, make_design

pytestmark = pytest.mark.filterwarnings("ignore:The groups parameter is ignored")
N_SETS = 120

# labels in no order that a splitter would leave as it is
CODES = np.random.default_rng(1).permutation(np.repeat([0, 1, 2], 8))
RUNS = np.repeat(np.arange(4), 6)


@pytest.mark.parametrize(
    ("cv", "follows"),
    [
        (None, False),
        (LeaveOneGroupOut(), False),
        (GroupKFold(2), False),
        (KFold(4), False),
        (KFold(4, shuffle=True, random_state=0), False),
        (ShuffleSplit(3, random_state=0), False),
        (PredefinedSplit(RUNS), False),
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
    ],
)
@pytest.mark.filterwarnings("ignore:groups=None:UserWarning")
def test_folds_keep_their_class_counts(cv, groups):
    labels = code_labels(CODES, None, groups, None)
    design = make_design(labels.codes, 3, cv=cv, groups=groups)
    codes, pairing = permuted_codes(labels, design, 50, 0, cv=cv)
    assert not pairing
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


def test_given_folds_whose_counts_change_are_warned_about():
    labels = code_labels(CODES, None, None, None)
    folds = list(StratifiedKFold(4).split(CODES, CODES))
    design = make_design(labels.codes, 3, cv=folds)
    with (
        pytest.warns(UserWarning, match="groups=None"),
        pytest.warns(UserWarning, match="cv is a list of folds"),
    ):
        permuted_codes(labels, design, 20, 0, cv=folds)


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
    with (
        pytest.warns(UserWarning, match="groups=None"),
        pytest.raises(ValueError, match="blocks are split over test folds"),
    ):
        permuted_codes(labels, design, 20, 0, cv=cv)


@pytest.mark.filterwarnings("ignore:groups=None:UserWarning")
@pytest.mark.parametrize(
    "estimator", ["ridge", "nearest_centroid", "lda", "gaussian_nb", "qda"]
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
