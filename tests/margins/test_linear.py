"""Few features beside many samples: sums instead of inner products, equal margins."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse

from neuroextrap.stats import permute_labels
from tests.margins.cases import (
    K,
    correlated_regions,
    labels,
    take_path,
    unequal_design,
)
from tests.margins.seam import (
    AccuracyStatistic,
    Design,
    GaussianNBMargins,
    Labelings,
    LDAMargins,
    NearestCentroidMargins,
    Plan,
    QDAMargins,
    RidgeMargins,
    _grams,
    _linear,
    class_sums,
    make_design,
    path_of,
    penalized_grams,
    ridge_penalty,
    scatter_penalty,
    score_regions,
)
from tests.margins.twins import GaussianNBTwin, LDATwin, NearestCentroidTwin, RidgeTwin

KERNELS = {
    "nearest_centroid": (NearestCentroidMargins(), lambda x: NearestCentroidTwin()),
    "ridge": (RidgeMargins(shrinkage=0.3), lambda x: RidgeTwin(penalty(x))),
    "lda": (LDAMargins(shrinkage=0.3), lambda x: LDATwin(penalty(x))),
    "gaussian_nb": (GaussianNBMargins(), lambda x: GaussianNBTwin(x.var(axis=0))),
}
SIZES = (1, 3, 5, 11)  # fewer and more than twice the classes


def penalty(x):
    return ridge_penalty(x, shrinkage=0.3)


def growing_design(n=40):
    """Training sets that grow by what was tested, as in forward tests."""
    edges = [18, 26, 33, 40]
    folds = [(np.arange(a), np.arange(a, b)) for a, b in pairwise(edges)]
    return Design(tuple(folds), n, K)


def consecutive_design(n=40):
    """Every sample held out once, fold after fold."""
    parts = np.split(np.arange(n), [12, 25])
    folds = [(np.setdiff1d(np.arange(n), part), part) for part in parts]
    return Design(tuple(folds), n, K)


@pytest.fixture
def tall(monkeypatch):
    """Margins are linear in the test points, however few the samples.

    Margins are not rounded to float32, whatever the penalty.
    """
    take_path(monkeypatch, "linear")
    monkeypatch.setattr(_grams, "FLOAT32_PENALTY", np.inf)


def naive(make_twin, x, codes, design):
    """Margins of a twin refitted on every training set, up to a constant per row."""
    x = np.asarray(x, dtype=float) - x.mean(axis=0)
    rows = [
        make_twin(x).fit(x[train], codes[train]).margins(x[test])
        for train, test in design.folds
    ]
    return np.concatenate(rows)


def about_first(margins):
    """Differences to the first class, all that a decision depends on."""
    return margins - margins[:, :1]


@pytest.mark.usefixtures("tall")
@pytest.mark.parametrize(
    "make_design", [unequal_design, growing_design, consecutive_design]
)
@pytest.mark.parametrize("name", KERNELS)
def test_equals_refits(name, make_design):
    kernel, make_twin = KERNELS[name]
    design, codes, xs = make_design(), labels(3), correlated_regions(SIZES)
    margins = kernel.margins(kernel.prepare(xs, design), Labelings(codes, K))
    margins = margins.reshape(len(design.test), K, len(xs), len(codes))
    single = np.finfo(np.float32).eps
    for s, x in enumerate(xs):
        for b, one in enumerate(codes):
            expected = about_first(naive(make_twin, x, one, design))
            size = np.abs(expected).max()
            atol = (100 * single if name == "nearest_centroid" else 1e-10) * size
            found = about_first(margins[:, :, s, b].astype(float))
            np.testing.assert_allclose(found, expected, rtol=0, atol=atol)


@pytest.mark.usefixtures("tall")
@pytest.mark.parametrize("name", KERNELS)
def test_neither_company_nor_batch_changes_a_bit(name):
    kernel = KERNELS[name][0]
    design, codes, xs = unequal_design(), labels(4), correlated_regions(SIZES)
    together = kernel.margins(kernel.prepare(xs, design), Labelings(codes, K))
    for s, x in enumerate(xs):
        state = kernel.prepare([x], design)
        for b in range(len(codes)):
            alone = kernel.margins(state, Labelings(codes[b : b + 1], K))
            np.testing.assert_array_equal(alone[:, :, 0], together[:, :, 4 * s + b])


def test_sums_leave_the_held_out_samples_out():
    rng = np.random.default_rng(0)
    x, codes = rng.normal(size=(40, 2)), labels(1)[0]
    for repeated in (False, True):
        design = unequal_design(repeated=repeated)
        sums = class_sums(x, design, Labelings(codes[None], K))
        for fold, (train, _) in enumerate(design.folds):
            for label in range(K):
                expected = x[train][codes[train] == label].sum(axis=0)
                np.testing.assert_allclose(sums[fold, 0, label], expected, atol=1e-12)


@pytest.mark.parametrize("shrinkage", ["auto", 0.0, 0.5])
def test_the_penalty_is_that_of_inner_products(shrinkage):
    for x in correlated_regions((1, 5, 39)):
        centered = x - x.mean(axis=0)
        expected = ridge_penalty(x, shrinkage=shrinkage)
        found, _ = scatter_penalty(centered, shrinkage)
        assert found == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("shrinkage", ["auto", 0.3])
def test_the_penalty_of_some_samples_is_that_of_these_alone(shrinkage):
    """What a design leaves `unlabeled` decides, in both forms; naive Bayes floors."""
    rows = np.array([0, 2, 3, 7, 11, 12])
    for x in correlated_regions((5, 39)):
        expected = ridge_penalty(x[rows], shrinkage=shrinkage)
        found, _ = scatter_penalty(x - x.mean(axis=0), shrinkage, rows)
        assert found == pytest.approx(expected, rel=1e-10)
        design = replace(unequal_design(), unlabeled=rows)
        _, penalties = penalized_grams([x], design, shrinkage=shrinkage)
        assert penalties == pytest.approx([expected], rel=1e-10)
        _, floor = GaussianNBMargins(variance_floor=0.1)._features(x, design)
        np.testing.assert_allclose(floor, 0.1 * x[rows].var(axis=0), rtol=1e-10)
        (_, _, intensity, variance), *_ = QDAMargins(shrinkage=0.5).prepare(
            [x], design
        )[1]
        assert (intensity, variance) == pytest.approx(
            (1 / 3, x[rows].var(axis=0).mean())
        )


@pytest.mark.usefixtures("tall")
def test_collinear_features_need_a_penalty():
    (x,) = correlated_regions((4,))
    x = np.column_stack([x, x[:, 0]])
    for kernel in (RidgeMargins(shrinkage=0.0), LDAMargins(shrinkage=0.0)):
        with pytest.raises(ValueError, match="collinear features, which needs shrin"):
            kernel.prepare([x], unequal_design())


@pytest.mark.usefixtures("tall")
@pytest.mark.parametrize("n_features", [1, 11])
def test_classes_without_spread_need_a_penalty(n_features):
    codes = labels(1)[0]
    rng = np.random.default_rng(0)
    x = rng.normal(size=(K, n_features))[codes]
    x += 1e-9 * rng.normal(size=x.shape)
    kernel = LDAMargins(shrinkage=1e-30)
    with pytest.raises(ValueError, match=r"larger shrinkage|needs shrinkage > 0"):
        kernel.margins(kernel.prepare([x], unequal_design()), Labelings([codes], K))


def test_many_classes_are_solved_by_features(monkeypatch):
    """48 classes, 20 features, 144 samples: as refits."""
    monkeypatch.setattr(_grams, "FLOAT32_PENALTY", np.inf)
    n_classes, p, runs = 48, 20, np.repeat(np.arange(3), 48)
    rng = np.random.default_rng(0)
    codes = np.concatenate([rng.permutation(n_classes) for _ in range(3)])
    x = rng.normal(size=(n_classes, p))[codes] + rng.normal(size=(144, p))
    folds = [(np.flatnonzero(runs != r), np.flatnonzero(runs == r)) for r in range(3)]
    design = Design(tuple(folds), 144, n_classes)
    labelings = Labelings(np.stack([codes, np.roll(codes, 48)]), n_classes)
    kernel, make_twin = KERNELS["lda"]
    assert path_of("lda", p, design, 2) == "linear"
    margins = kernel.margins(kernel.prepare([x], design), labelings)
    for number, one in enumerate(labelings.codes):
        expected = about_first(naive(make_twin, x, one, design))
        np.testing.assert_allclose(
            about_first(margins[..., number]), expected, atol=1e-9
        )


def equal_plan(kernel, codes, runs):
    """Leave one run out, K classes with as many samples in every run."""
    design = make_design(codes[0], K, groups=runs)
    return Plan(kernel, design, codes, AccuracyStatistic(K, K))


@pytest.mark.usefixtures("tall")
@pytest.mark.parametrize("name", KERNELS)
def test_equal_classes_are_counted_as_their_margins_are(name, monkeypatch):
    """A block of test points at a time; features that are constant, and ties, too."""
    monkeypatch.setattr(_linear, "_BLOCK_SIZE", 2**6)
    monkeypatch.setattr(_linear, "_IN_CACHE", 2**6)
    kernel, runs = KERNELS[name][0], np.repeat(np.arange(4), 9)
    y = np.tile(np.repeat(np.arange(K), 3), 4)
    more = permute_labels(y, groups=runs, n_permutations=30, random_state=0)
    plan = equal_plan(kernel, np.stack([y, *more]), runs)
    (x,) = correlated_regions((12,), n=36)
    x[:, :2] = 1.0
    whole = scipy.sparse.csr_array(np.tri(11, 12, 1, dtype=bool)[2::4])
    whole.data[:] = True
    X = (x - x.mean(axis=0)).astype(np.float32)
    assert not kernel.keeps_margins(5, plan)
    found = score_regions(X, whole, plan)
    monkeypatch.setattr(type(kernel), "keeps_margins", lambda *_: True)
    kept = score_regions(X, whole, plan)
    for field in ("wins", "score", "n_reached", "maxima", "n_best"):
        np.testing.assert_array_equal(getattr(found, field), getattr(kept, field))


@pytest.mark.usefixtures("tall")
@pytest.mark.parametrize("name", KERNELS)
def test_margins_of_unequal_classes_are_kept_where_they_are_leveled(name):
    """Densities are leveled before they are added."""
    kernel, runs = KERNELS[name][0], np.repeat(np.arange(4), 9)
    y = np.tile([0, 0, 0, 0, 1, 1, 1, 2, 2], 4)
    kept = kernel.keeps_margins(5, equal_plan(kernel, y[np.newaxis], runs))
    assert kept == (name != "gaussian_nb")


def test_margins_that_are_not_numbers_are_not_counted():
    design, codes = consecutive_design(), labels(2)
    shape = len(design.folds), len(codes), K
    points = np.ones((40, 2))
    linear = _linear.Linear(points, lambda _: (np.ones((*shape, 2)), np.ones(shape)))
    labelings = Labelings(codes, K)
    counts = np.empty((2, len(codes), len(points)), np.int8)
    _linear.count_linear(linear, labelings, design, counts)
    assert (counts[1] == K - 1).all()
    points[7, 1] = np.nan
    with pytest.raises(ValueError, match="margins contain NaN"):
        _linear.count_linear(linear, labelings, design, counts)
