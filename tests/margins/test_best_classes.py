"""Best classes found as margins are made: the same bits as ranks of stored margins."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse

from neuroextrap.design._design import Labelings
from neuroextrap.design._folds import class_weights, make_design
from neuroextrap.margins import _plan
from neuroextrap.margins._engine import score_regions
from neuroextrap.margins._plan import Plan
from neuroextrap.margins._statistic import AccuracyStatistic, resolve_statistic
from neuroextrap.margins._wins import best_share
from neuroextrap.margins.algebra import _class_sums, _linear, _tall
from neuroextrap.margins.algebra._class_sums import round_terms
from neuroextrap.margins.classifiers import _centroid_exact
from neuroextrap.margins.classifiers._registry import resolve_classifier
from neuroextrap.stats import win_distribution
from tests.margins.cases import unequal_design
from tests.margins.twins import TWINS

COUNTED = ("score", "n_reached", "maxima", "n_best", "null")
RESULTS = (*COUNTED, "wins", "weighted_wins")
DESIGNS = ["alike", "unequal runs", "ties", "runs of one", "runs in no order"]
CLASSIFIERS = ["nearest_centroid", "ridge", "lda", "gaussian_nb"]


def case(design, n_permutations=30, seed=0):
    """Samples, regions, labels and folds: runs alike, unequal, of one sample each."""
    rng = np.random.default_rng(seed)
    n_classes, n_runs = (4, 5) if design != "runs of one" else (3, 12)
    y = np.tile(np.arange(n_classes), 2 * n_runs)
    runs = np.repeat(np.arange(n_runs), 2 * n_classes)
    if design == "unequal runs":
        keep = rng.permutation(len(y))[:-7]
        y, runs = y[np.sort(keep)], runs[np.sort(keep)]
    if design == "runs of one":
        y, runs = y[:n_runs], np.arange(n_runs)
    if design == "runs in no order":
        order = rng.permutation(len(y))
        y, runs = y[order], runs[order]
    X = rng.standard_normal((len(y), 40)).astype(np.float32)
    X += 0.4 * rng.standard_normal((n_classes, 40), dtype=np.float32)[y]
    if design == "ties":
        X = np.round(X)
        X[1::2] = X[::2]
    codes = np.stack([y, *(rng.permutation(y) for _ in range(n_permutations))])
    member = rng.random((9, 40)) < np.linspace(0.1, 1.0, 9)[:, None]
    member[:, 0] |= ~member.any(axis=1)
    member[5] = False  # an empty region
    return X - X.mean(axis=0), scipy.sparse.csr_array(member), codes, runs


def plan_of(name, codes, runs, **options):
    n_classes = int(codes.max()) + 1
    statistic = options.pop("statistic", "accuracy")
    return Plan(
        kernel=resolve_classifier(name),
        design=make_design(codes[0], n_classes, groups=runs),
        codes=codes,
        statistic=resolve_statistic(statistic, n_classes, [2, n_classes]),
        by_sums=False,
        keep_null=True,
        **options,
    )


def run(X, regions, plan):
    null = np.zeros((plan.n_permutations, regions.shape[0]), dtype=np.float32)
    return score_regions(X, regions, plan, null=null)


def assert_same(one, other, names=RESULTS):
    for name in names:
        values = getattr(one, name), getattr(other, name)
        np.testing.assert_array_equal(*values, err_msg=name)


def refitted(name, X, regions, plan):
    """Win distributions (S, B, K) of a twin that is refitted on every training fold."""
    wins = []
    for region in np.flatnonzero(np.diff(regions.indptr)):
        x = X[:, regions[[region]].indices].astype(float)
        twin = TWINS[name](x, plan.design.n_classes)
        for codes in plan.codes:
            parts = [
                twin.fit(x[train], codes[train]).margins(x[test])
                for train, test in plan.design.folds
            ]
            wins.append(
                win_distribution(np.concatenate(parts), codes[plan.design.test])
            )
    return np.reshape(wins, (-1, len(plan.codes), plan.design.n_classes))


def assert_refitted(name, X, regions, plan):
    """Compare the observed wins, and permuted shares of best classes, with refits."""
    found, expected = run(X, regions, plan), refitted(name, X, regions, plan)
    used = np.diff(regions.indptr) > 0
    np.testing.assert_allclose(found.wins[used], expected[:, 0], rtol=0, atol=1e-12)
    null = expected[:, 1:, -1].T
    np.testing.assert_allclose(found.null[:, used], null, rtol=0, atol=1e-6)


@pytest.mark.parametrize("design", [name for name in DESIGNS if name != "ties"])
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_best_classes_equal_refits(name, design):
    if (name, design) == ("gaussian_nb", "runs of one"):
        pytest.skip("no variance within three samples is worth a test")
    X, regions, codes, runs = case(design, n_permutations=8)
    assert_refitted(name, X, regions, plan_of(name, codes, runs))


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_best_classes_equal_the_ranks(name, design, monkeypatch):
    if (name, design) == ("gaussian_nb", "runs of one"):
        pytest.skip("no variance within three samples is worth a test")
    X, regions, codes, runs = case(design)
    best = run(X, regions, plan_of(name, codes, runs))
    monkeypatch.setattr(AccuracyStatistic, "needs_best_only", False)
    assert_same(best, run(X, regions, plan_of(name, codes, runs)))


def tall_case(ties, seed=0):
    """Four regions of few features, classes of unequal sizes, and folds in no order."""
    rng = np.random.default_rng(seed)
    y, runs = np.arange(110) % 5, rng.permutation(np.arange(110) // 22)
    X = rng.standard_normal((110, 6)).astype(np.float32)
    if ties:
        X[:, 1:] = 0.0
        X[:, 0] = np.round(X[:, 0])  # many classes with the same mean
    codes = np.stack([y, *(rng.permutation(y) for _ in range(40))])
    codes[:, codes[0] == 4] = np.maximum(codes[:, codes[0] == 4], 1)
    member = np.array([[1, 0, 0, 0, 0, 0], [1, 1, 1, 1, 1, 1], [1, 0, 1, 0, 1, 0]])
    return X - X.mean(axis=0), scipy.sparse.csr_array(member.astype(bool)), codes, runs


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_few_features_give_the_ranks_whatever_the_batches(name, ties, monkeypatch):
    monkeypatch.setattr(_tall, "MIN_SAMPLES", 0)
    X, regions, codes, runs = tall_case(ties)
    best = run(X, regions, plan_of(name, codes, runs))
    for size in (2**7, 2**11):  # of a block, several in a fold
        monkeypatch.setattr(_linear, "_BLOCK_SIZE", size)
        with monkeypatch.context() as patch:
            patch.setattr(_plan, "PASS_SIZE", 110)
            patch.setattr(_plan, "_WIDEST", 5 if size == 2**7 else 16)
            batches = run(X, regions, plan_of(name, codes, runs))
            some = run(X, regions, plan_of(name, codes[:7], runs))
        np.testing.assert_array_equal(batches.null[:6], some.null)
        with monkeypatch.context() as patch:
            patch.setattr(AccuracyStatistic, "needs_best_only", False)
            ranks = run(X, regions, plan_of(name, codes, runs))
        assert_same(batches, ranks, COUNTED)
        np.testing.assert_allclose(batches.wins, ranks.wins, rtol=1e-13)
    # blocks of another size are other products of matrices: rounding may differ
    np.testing.assert_allclose(best.null, batches.null, atol=0.02)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_few_features_equal_refits(name, monkeypatch):
    monkeypatch.setattr(_tall, "MIN_SAMPLES", 0)
    X, regions, codes, runs = tall_case(ties=False)
    assert_refitted(name, X, regions, plan_of(name, codes[:9], runs))


@pytest.mark.parametrize("n_classes", [3, 40])
def test_margins_that_are_no_numbers_are_an_error(n_classes):
    codes = np.arange(80) % n_classes
    design = make_design(codes, n_classes, groups=np.arange(80) // 40)
    rng = np.random.default_rng(0)
    weights = rng.normal(size=(2, 1, n_classes, 4))
    weights[1, 0, 2, 3] = np.nan
    points = rng.normal(size=(80, 4))
    linear = _linear.Linear(points, weights, np.zeros((2, 1, n_classes)))
    labelings = Labelings(codes[None], n_classes)
    with pytest.raises(ValueError, match="margins contain NaN"):
        _linear.shares_of_linear([linear], design, labelings, 1 / 80)


@pytest.mark.parametrize("name", ["nearest_centroid", "ridge"])
def test_batches_change_no_bit(name, monkeypatch):
    X, regions, codes, runs = case("unequal runs")
    whole = run(X, regions, plan_of(name, codes, runs))
    for size in (2**9, 2**12):
        monkeypatch.setattr(_plan, "PASS_SIZE", size)
        assert_same(whole, run(X, regions, plan_of(name, codes, runs)), COUNTED)


@pytest.mark.parametrize("name", ["nearest_centroid", "ridge"])
def test_larger_designs_give_the_same_up_to_rounding(name, monkeypatch):
    """Above the size of a table, products in float32: the same shares of best."""
    X, regions, codes, runs = case("unequal runs")
    small = run(X, regions, plan_of(name, codes, runs))
    monkeypatch.setattr(_class_sums, "MAX_TABLE", 0)
    large = run(X, regions, plan_of(name, codes, runs))
    np.testing.assert_allclose(small.score, large.score, atol=1e-12)
    np.testing.assert_allclose(small.maxima, large.maxima, atol=1e-12)


@pytest.mark.parametrize("name", ["nearest_centroid", "ridge"])
def test_margins_equal_refits_beside_an_outlier(name):
    """One sample a thousand times as large costs the others no digits."""
    X, _, codes, runs = case("unequal runs")
    X = X.astype(float)
    X[7] *= 1000.0
    X -= X.mean(axis=0)
    plan = plan_of(name, codes[:3], runs)
    kernel = plan.kernel
    state = kernel.prepare([X], plan.design)
    margins = kernel.margins(state, Labelings(codes[:3], 4))
    twin = TWINS[name](X, 4)
    for labeling, one in enumerate(codes[:3]):
        folds = zip(plan.design.folds, plan.design.fold_slices, strict=True)
        for (train, test), rows in folds:
            expected = twin.fit(X[train], one[train]).margins(X[test])
            if name == "nearest_centroid":  # without what is the same for every class
                expected += np.square(X[test]).sum(axis=1, keepdims=True)
            found = margins[rows, :, labeling]
            if name == "ridge":  # unequal classes share a number
                found = found - found.mean(axis=1, keepdims=True)
            error = np.abs(found - expected).max(axis=1)
            assert (error <= 4e-7 * np.abs(expected).max(axis=1)).all()


def test_rounded_terms_add_up_exactly_in_any_order():
    rng = np.random.default_rng(2)
    terms = rng.standard_normal((3, 700)) * np.exp(3 * rng.standard_normal((3, 700)))
    before = terms.copy()
    terms[2] = before[2] = 0.0
    rounded = round_terms(terms, 700)
    largest = np.abs(before).max(axis=1, keepdims=True)
    assert (np.abs(rounded - before) <= 700 * 2.0**-51 * largest).all()
    for row in rounded:
        sums = {float(np.cumsum(rng.permutation(row))[-1]) for _ in range(50)}
        assert len(sums) == 1
        assert float(row.sum()) in sums


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("levels", [1, 3, 10**6])
@pytest.mark.parametrize("n_batch", [1, 7, 1100])
def test_shares_equal_those_of_plain_numpy(levels, n_batch, dtype):
    rng = np.random.default_rng(3)
    margins = rng.integers(levels, size=(15, 5, n_batch)).astype(dtype)
    y = rng.integers(5, size=(15, n_batch))
    best = margins == margins.max(axis=1, keepdims=True)
    hit = np.take_along_axis(best, y[:, np.newaxis], axis=1)[:, 0]
    of_points = hit / best.sum(axis=1)
    for weights in (class_weights(y, 5), np.full((15, 1), 1 / 15)):
        expected = np.cumsum(of_points * weights, axis=0)[-1]  # point by point
        np.testing.assert_array_equal(best_share(margins, y, weights), expected)
    expected = np.cumsum(of_points, axis=0)[-1] / 15
    np.testing.assert_allclose(best_share(margins, y, 1 / 15), expected, rtol=1e-15)


@pytest.mark.parametrize("place", [(4, 1, 1), (9, 0, 0), (0, 2, 1)])
def test_nan_is_found_wherever_it_is(place):
    margins = np.random.default_rng(4).random((10, 3, 2))
    margins[place] = np.nan
    with pytest.raises(ValueError, match="contain NaN"):
        best_share(margins, np.zeros((10, 2), dtype=int), 0.1)


@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value")
def test_a_class_missing_from_training_is_refused():
    X, regions, codes, runs = case("runs of one")
    codes[3] = np.where(np.arange(12) == 5, 2, codes[3] % 2)
    for name, match in (("nearest_centroid", "NaN"), ("ridge", "missing in fold")):
        with pytest.raises(ValueError, match=match):
            run(X, regions, plan_of(name, codes, runs))


def test_repeated_and_partial_tests_take_the_way_of_stored_margins():
    """Only ridge is linear in the labels wherever its test points lie."""
    X, regions, codes, _ = case("alike")
    plan = plan_of("nearest_centroid", codes, np.arange(40) % 5)
    design = unequal_design(40, 4)
    plan = replace(plan, design=design)
    assert not design.tests_each_once
    for name in ("nearest_centroid", "ridge"):
        plan = replace(plan, kernel=resolve_classifier(name))
        best = run(X, regions, plan)
        assert np.isfinite(best.score[[0, 8]]).all()
        kernel = plan.kernel
        state = kernel.prepare([X], design)
        labelings = Labelings(codes, 4)
        shares = kernel.best_shares(state, labelings, 1 / len(design.test))
        assert (shares is None) == (name == "nearest_centroid")


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("n_labelings", [1, 15, 16, 33])
@pytest.mark.parametrize("equal", [True, False], ids=["equal", "weights"])
def test_labelings_side_by_side_equal_one_by_one(design, n_labelings, equal):
    X, _, codes, runs = case(design, n_labelings)
    n_classes, codes = int(codes.max()) + 1, codes[1:]
    folds = make_design(np.sort(codes[0]), n_classes, groups=runs)
    grams = np.stack([X[:, :9] @ X[:, :9].T, X @ X.T]).astype(float)
    grams = grams[:, folds.order[:, np.newaxis], folds.order]
    round_terms(grams, 4 * len(X) ** 2)
    weights = np.random.default_rng(2).random((len(X), n_labelings))
    weights = 0.25 if equal else weights
    shares, expected = (
        count(grams, folds, Labelings(codes, n_classes), weights)
        for count in (
            _centroid_exact._count_side_by_side,
            _centroid_exact._count_one_by_one,
        )
    )
    np.testing.assert_array_equal(shares, expected)
    margins = _centroid_exact.exact_margins(grams, folds, Labelings(codes, n_classes))
    y = np.tile(codes[:, folds.test].T, 2)
    each = 1.0 if equal else np.tile(weights, 2)
    np.testing.assert_array_equal(shares.reshape(-1), best_share(margins, y, each))


def test_more_classes_than_are_taken_side_by_side(monkeypatch):
    X, regions, codes, runs = case("alike")
    plan = plan_of("nearest_centroid", codes, runs)
    few = run(X, regions, plan)
    monkeypatch.setattr(_centroid_exact, "_MAX_CLASSES", 3)
    assert_same(few, run(X, regions, plan_of("nearest_centroid", codes, runs)))
