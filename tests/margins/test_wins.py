"""Counting over a table of designs: equal to refits, and to the ranks of margins."""

import numpy as np
import pytest
import scipy.sparse

from neuroextrap.stats import win_distribution
from tests.margins.cases import take_path, unequal_design
from tests.margins.seam import (
    Labelings,
    Plan,
    _linear,
    _plan,
    beaten_and_tied,
    class_weights,
    make_design,
    rank_tables,
    resolve_classifier,
    resolve_statistic,
    round_terms,
    score_regions,
    win_histogram,
)
from tests.margins.twins import TWINS

COUNTED = ("score", "n_reached", "maxima", "n_best", "null")
RESULTS = (*COUNTED, "wins", "weighted_wins")
DESIGNS = ["alike", "unequal runs", "ties", "runs of one", "runs in no order"]
WAYS = {
    "nearest_centroid": ("class sums", "linear"),
    "ridge": ("class sums", "products", "linear"),
    "lda": ("class sums", "products", "linear"),
    "gaussian_nb": ("linear",),
}
TABLE = [(name, path) for name, paths in WAYS.items() for path in paths]


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
    """Compare the observed wins, and permuted accuracies, with refits."""
    found, expected = run(X, regions, plan), refitted(name, X, regions, plan)
    used = np.diff(regions.indptr) > 0
    np.testing.assert_allclose(found.wins[used], expected[:, 0], rtol=0, atol=1e-12)
    null = expected[:, 1:, -1].T
    np.testing.assert_allclose(found.null[:, used], null, rtol=0, atol=1e-6)


@pytest.mark.parametrize("design", [name for name in DESIGNS if name != "ties"])
@pytest.mark.parametrize(("name", "path"), TABLE)
def test_permuted_accuracies_equal_refits(name, path, design, monkeypatch):
    if design == "runs of one":  # no variance within so few samples
        name = "nearest_centroid" if name == "gaussian_nb" else name
    take_path(monkeypatch, path)
    X, regions, codes, runs = case(design, n_permutations=3)
    assert_refitted(name, X, regions, plan_of(name, codes, runs))


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize(("name", "path"), TABLE)
def test_no_batch_changes_a_permuted_accuracy(name, path, design, monkeypatch):
    if design == "runs of one":
        name = "nearest_centroid" if name == "gaussian_nb" else name
    take_path(monkeypatch, path)
    X, regions, codes, runs = case(design)
    wide = run(X, regions, plan_of(name, codes, runs))
    monkeypatch.setattr(_plan, "PASS_SIZE", 2**11)
    narrow = run(X, regions, plan_of(name, codes, runs))
    assert_same(narrow, wide, COUNTED)


def test_blocks_of_test_points_change_nothing_but_rounding(monkeypatch):
    take_path(monkeypatch, "linear")
    X, regions, codes, runs = case("unequal runs")
    plans = [plan_of("ridge", codes, runs) for _ in range(2)]
    whole = run(X, regions, plans[0])
    monkeypatch.setattr(_linear, "_BLOCK_SIZE", 2**4)
    np.testing.assert_allclose(run(X, regions, plans[1]).null, whole.null, atol=0.02)


def test_repeated_and_partial_tests_are_counted():
    X, regions, codes, _ = case("alike", n_permutations=5)
    for name in ("nearest_centroid", "ridge", "lda"):
        plan = plan_of(name, codes, np.arange(40) % 5)
        object.__setattr__(plan, "design", unequal_design(40, 4))
        assert_refitted(name, X, regions, plan)


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
                expected = expected - expected.mean(axis=1, keepdims=True)
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


def test_margins_may_lie_labeling_by_labeling():
    rng = np.random.default_rng(3)
    margins = rng.integers(3, size=(14, 5, 15)).astype(np.float32)  # of two regions
    y = rng.integers(5, size=(15, 14))
    by_labeling = margins.transpose(2, 1, 0)
    one, other = (beaten_and_tied(m, y) for m in (by_labeling, by_labeling.copy()))
    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("place", [(4, 1, 1), (9, 0, 0), (0, 2, 1)])
def test_nan_is_found_wherever_it_is(place):
    margins = np.random.default_rng(4).random((10, 3, 2))
    margins[place] = np.nan
    with pytest.raises(ValueError, match="contain NaN"):
        beaten_and_tied(margins, np.zeros((10, 2), dtype=int))


@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value")
def test_a_class_missing_from_training_is_refused():
    X, regions, codes, runs = case("runs of one")
    codes[3] = np.where(np.arange(12) == 5, 2, codes[3] % 2)
    for name, match in (("nearest_centroid", "NaN"), ("ridge", "missing in fold")):
        with pytest.raises(ValueError, match=match):
            run(X, regions, plan_of(name, codes, runs))


def _random_case(n_test, n_classes, n_batch, *, levels, seed=0):
    """Margins with ties (few levels) and unbalanced labels."""
    rng = np.random.default_rng(seed)
    margins = rng.integers(levels, size=(n_test, n_classes, n_batch)).astype(float)
    y = rng.integers(n_classes, size=(n_test, n_batch))
    y[:n_classes] = np.arange(n_classes)[:, None]
    return margins, y


@pytest.mark.parametrize("levels", [1, 3, 10**6])
@pytest.mark.parametrize("n_classes", [2, 5, 20, 130])  # counts of 8 bits, and more
def test_batched_wins_equal_the_reference(n_classes, levels):
    margins, y = _random_case(n_classes + 20, n_classes, 7, levels=levels)
    weights = class_weights(y, n_classes)
    wins = win_histogram(*beaten_and_tied(margins, y), weights, n_classes)
    for b in range(7):
        expected = win_distribution(margins[:, :, b], y[:, b])
        np.testing.assert_allclose(wins[b], expected, rtol=0, atol=1e-14)


@pytest.mark.parametrize("shared", ["nothing", "row", "column", "number"])
@pytest.mark.parametrize("turned", [False, True])
def test_wins_of_many_columns_are_those_of_each_by_itself(shared, turned):
    margins, y = _random_case(9, 4, 1100, levels=3, seed=5)
    counts = [
        np.asfortranarray(c) if turned else c for c in beaten_and_tied(margins, y)
    ]
    weights = {
        "nothing": class_weights(y, 4),
        "row": class_weights(y, 4)[:1],
        "column": class_weights(y, 4)[:, :1],
        "number": 1 / 9,
    }[shared]
    wins = win_histogram(*counts, weights, 4)
    for b in (0, 511, 512, 1023, 1024, 1099):
        own = weights if np.ndim(weights) == 0 else np.broadcast_to(weights, y.shape)
        own = own if np.ndim(own) == 0 else own[:, [b]]
        expected = win_histogram(*(c[:, [b]] for c in counts), own, 4)
        np.testing.assert_array_equal(wins[[b]], expected)


@pytest.mark.parametrize("n_classes", [3, 17])
def test_one_weight_for_all_equals_weights_of_a_balanced_design(n_classes):
    rng = np.random.default_rng(1)
    y = np.tile(np.arange(n_classes), 4)[:, None].repeat(6, axis=1)
    margins = rng.integers(4, size=(len(y), n_classes, 6)).astype(float)
    counts = beaten_and_tied(margins, y)
    weighted = win_histogram(*counts, class_weights(y, n_classes), n_classes)
    counted = win_histogram(*counts, 1 / len(y), n_classes)
    np.testing.assert_allclose(counted, weighted, rtol=0, atol=1e-14)


def test_classes_without_test_points_are_distractors_only():
    margins = np.array([[[2.0], [1.0], [3.0]], [[0.0], [1.0], [-1.0]]])
    y = np.array([[0], [1]])
    wins = win_histogram(*beaten_and_tied(margins, y), class_weights(y, 3), 3)
    np.testing.assert_allclose(wins, [[0, 0.5, 0.5]])


def test_nan_margins_are_refused():
    margins = np.zeros((2, 3, 1))
    margins[0, 0] = np.nan
    with pytest.raises(ValueError, match="margins contain NaN"):
        beaten_and_tied(margins, np.zeros((2, 1), dtype=int))
    with pytest.raises(ValueError, match="margins contain NaN"):
        rank_tables(margins[:, :, 0])


@pytest.mark.parametrize("levels", [1, 3, 10**6])
def test_rank_tables_hold_the_counts_of_every_possible_truth(levels):
    margins, _ = _random_case(15, 6, 1, levels=levels, seed=2)
    beaten, tied = rank_tables(margins[:, :, 0])
    for label in range(6):
        y = np.full((15, 1), label)
        expected_beaten, expected_tied = beaten_and_tied(margins, y)
        np.testing.assert_array_equal(beaten[:, label], expected_beaten[:, 0])
        np.testing.assert_array_equal(tied[:, label], expected_tied[:, 0])


def test_weights_count_classes_equally():
    y = np.array([[0], [0], [0], [1]])
    np.testing.assert_allclose(class_weights(y, 2)[:, 0], [1 / 6, 1 / 6, 1 / 6, 1 / 2])
