"""Bounds of a single train/test split: exact counts, ties, blocks, and coverage."""

import numpy as np
import pytest
from scipy import optimize
from scipy import stats as scipy_stats
from sklearn.model_selection import PredefinedSplit
from sklearn.neighbors import KNeighborsClassifier

from neuroextrap.analysis import Bounds, Regions
from neuroextrap.decoding import IdentificationSearchLight
from neuroextrap.stats import forward_bayes_accuracy_lower_bound

K, R = 4, 6
Y = np.tile(np.arange(K), 2 * R)
SPLIT = PredefinedSplit(np.repeat([-1, 0], K * R))  # trained on the first half


def fitted(x, **options):
    return IdentificationSearchLight(cv=SPLIT, **options).fit(x, Y)


def test_the_bound_is_that_of_clopper_and_pearson():
    x = np.random.default_rng(0).normal(size=(len(Y), 12)) + np.eye(K, 12)[Y]
    scores = fitted(x).region_scores_
    n_correct = round(float(scores["accuracy"][0]) * K * R)
    expected = scipy_stats.binomtest(n_correct, K * R, alternative="greater")
    low = expected.proportion_ci(0.95, method="exact").low
    assert scores["bayes_accuracy_bound"][0] == pytest.approx(low)


@pytest.mark.filterwarnings("ignore:24 of 48 samples are equal to:UserWarning")
def test_a_tie_counts_as_wrong():
    rng = np.random.default_rng(1)
    x = np.repeat(rng.normal(size=(len(Y) // 2, 3)), 2, axis=0)  # many equal votes
    light = fitted(x, estimator=KNeighborsClassifier(4))
    margins, codes = light.region_margins(0), light.test_codes_
    others = np.where(np.eye(K, dtype=bool)[codes], -np.inf, margins).max(axis=1)
    own = margins[np.arange(len(codes)), codes]
    assert (own == others).any()
    assert light.results_.scores.n_best[0] == (own > others).sum()
    shared = light.region_scores_["accuracy"][0] * K * R
    assert light.results_.scores.n_best[0] < shared


def chernoff(share, n_units, log_goal):
    """Solve n KL(share, low) = goal."""

    def excess(low):
        coins = (share, 1 - share), (low, 1 - low)
        return n_units * scipy_stats.entropy(*coins) - log_goal

    return optimize.brentq(excess, 1e-6, share)


def test_blocks_are_counted_as_one():
    """Of two regions, whose bounds hold at once or each by itself."""
    x = np.random.default_rng(2).normal(size=(len(Y), 12))
    x += 2 * np.tile(np.eye(K, 6), 2)[Y]
    blocks = np.arange(len(Y)) // (2 * K) * K + Y  # two points of a class in each
    regions = np.kron(np.eye(2, dtype=bool), np.ones((1, 6), dtype=bool))
    scores = fitted(x, blocks=blocks, regions=regions).region_scores_
    for n_regions, ending in ((1, ""), (2, "_fwe")):
        goal, bounds = np.log(n_regions / 0.05), scores[f"bayes_accuracy_bound{ending}"]
        assert bounds.max() > 1 / K
        for accuracy, bound in zip(scores["accuracy"], bounds, strict=True):
            expected = max(chernoff(accuracy, K * R // 2, goal), 1 / K)
            assert bound == pytest.approx(expected, abs=1e-9)


@pytest.mark.filterwarnings("ignore:The groups parameter is ignored:UserWarning")
@pytest.mark.parametrize(
    ("bounds", "n_units"), [("forward", K * R), (Bounds(test_units="runs"), R)]
)
def test_one_split_is_one_step_of_one_order(bounds, n_units):
    """All its points or runs are right, and are counted once."""
    x, runs = 9 * np.eye(K, 12)[Y], np.arange(len(Y)) // K
    x += np.random.default_rng(3).normal(size=x.shape)
    light = IdentificationSearchLight(cv=SPLIT, bounds=bounds).fit(x, Y, groups=runs)
    expected = forward_bayes_accuracy_lower_bound([[n_units]], n_units)
    found = light.region_scores_["bayes_accuracy_bound"]
    np.testing.assert_allclose(found, max(expected, 1 / K), rtol=1e-6)
    assert found > 1 / K


@pytest.mark.parametrize("bounds", ["forward", Bounds(test_units="runs")])
def test_a_test_set_that_lacks_a_class_bounds_nothing(bounds):
    """Accuracy among the other classes says nothing of that among all."""
    x = np.random.default_rng(3).normal(size=(len(Y), 12)) + np.eye(K, 12)[Y]
    tested = np.flatnonzero((np.arange(len(Y)) >= K * R) & (Y > 0))
    split = [(np.arange(K * R), tested)]
    light = IdentificationSearchLight(cv=split, bounds=bounds)
    runs = np.arange(len(Y)) // K
    if bounds == "forward":
        with pytest.raises(ValueError, match="the test set lacks a class"):
            light.fit(x, Y, groups=runs)
        return
    light.fit(x, Y, groups=runs)
    assert not any("bound" in name for name in light.region_scores_)
    assert any("the test set lacks a class" in note for note in light.notes_)


def test_folders_keep_the_counts(tmp_path):
    x = np.random.default_rng(3).normal(size=(len(Y), 12)) + np.eye(K, 12)[Y]
    light = fitted(x)
    light.to_directory(tmp_path / "out")
    again = IdentificationSearchLight.from_directory(tmp_path / "out")
    for name, values in light.region_scores_.items():
        np.testing.assert_array_equal(again.region_scores_[name], values)


@pytest.mark.parametrize("n_sets", [150, pytest.param(3000, marks=pytest.mark.slow)])
def test_the_bound_covers_where_nothing_can_be_told(n_sets):
    rng = np.random.default_rng(4)
    x = rng.normal(size=(len(Y), n_sets))
    light = fitted(x, estimator="gaussian_nb").fit(x, Y)
    assert light.region_scores_["bayes_accuracy_bound"].shape == (1,)
    # one region for each null data set
    many = IdentificationSearchLight(
        cv=SPLIT,
        regions=Regions(np.eye(n_sets, dtype=bool), min_voxels=1),
    )
    scores = many.fit(x, Y).region_scores_
    misses = int((scores["bayes_accuracy_bound"] > 1 / K).sum())
    p = scipy_stats.binomtest(misses, n_sets, 0.05, alternative="greater").pvalue
    assert p > 1e-4, misses / n_sets
