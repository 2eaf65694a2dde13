"""Ridge margins against refits on every training fold."""

import numpy as np
import pytest

from neuroextrap.margins._design import Design, Labelings
from neuroextrap.margins.algebra import _operators
from neuroextrap.margins.algebra._operators import ledoit_wolf_intensity, ridge_penalty
from neuroextrap.margins.classifiers._ridge import RidgeMargins
from tests.margins.cases import K, correlated_regions, labels, unequal_design

N = 30


def refit(x, codes, design, penalty):
    """Fit ridge on one-hot labels of the training samples, fold by fold."""
    rows = []
    for train, test in design.folds:
        y = np.eye(K)[codes[train]]
        center = x[train].mean(axis=0)
        a = x[train] - center
        weights = np.linalg.solve(
            a.T @ a + penalty * np.eye(x.shape[1]), a.T @ (y - y.mean(axis=0))
        )
        rows.append((x[test] - center) @ weights + y.mean(axis=0))
    return np.concatenate(rows)


@pytest.mark.parametrize("shrinkage", ["auto", 1e-4, 3.0])
@pytest.mark.parametrize("sizes", [(5,), (40,), (5, 40, 25, 1, 60)])
def test_equals_refits(sizes, shrinkage):
    design, codes, xs = unequal_design(N), labels(4, N), correlated_regions(sizes, N)
    tolerance = 1e-9 if shrinkage == 1e-4 else 2e-5  # float64, float32
    kernel = RidgeMargins(shrinkage=shrinkage)
    margins = kernel.margins(kernel.prepare(xs, design), Labelings(codes, K))
    assert margins.shape == (len(design.test), K, len(xs) * len(codes))
    column = 0
    for x in xs:
        penalty = ridge_penalty(x, shrinkage=shrinkage)
        for one in codes:
            expected = refit(x, one, design, penalty)
            np.testing.assert_allclose(
                margins[:, :, column], expected, rtol=0, atol=tolerance
            )
            column += 1


def test_float32_only_where_the_penalty_is_large():
    design, codes, xs = unequal_design(N), labels(2, N), correlated_regions((40,), N)
    for shrinkage, dtype in ((1.0, np.float32), (1e-3, np.float64)):
        kernel = RidgeMargins(shrinkage=shrinkage)
        margins = kernel.margins(kernel.prepare(xs, design), Labelings(codes, K))
        assert margins.dtype == dtype


@pytest.mark.parametrize("shrinkage", [0.015, "auto"])
def test_float32_predicts_as_float64(monkeypatch, shrinkage):
    """Just above the penalty at which float32 is allowed, and at the default."""
    design, codes = unequal_design(N), labels(200, N)
    rng = np.random.default_rng(6)
    # features as correlated as neighboring voxels
    x = np.cumsum(rng.standard_normal((30, 40)), axis=1)
    kernel = RidgeMargins(shrinkage=shrinkage)
    single = kernel.margins(kernel.prepare([x], design), Labelings(codes, K))
    monkeypatch.setattr(_operators, "FLOAT32_PENALTY", np.inf)
    double = kernel.margins(kernel.prepare([x], design), Labelings(codes, K))
    assert single.dtype == np.float32
    assert double.dtype == np.float64
    np.testing.assert_array_equal(single.argmax(axis=1), double.argmax(axis=1))


def test_no_penalty_with_few_features_is_least_squares():
    design, codes, xs = unequal_design(N), labels(2, N), correlated_regions((4, 17), N)
    kernel = RidgeMargins(shrinkage=0.0)
    margins = kernel.margins(kernel.prepare(xs, design), Labelings(codes, K))
    for s, x in enumerate(xs):
        for b, one in enumerate(codes):
            expected = refit(x, one, design, 0.0)
            np.testing.assert_allclose(margins[:, :, 2 * s + b], expected, atol=1e-8)


def test_held_out_labels_never_enter():
    design = Design(((np.arange(20), np.arange(20, 30)),), 30, K)
    codes = labels(1, N)
    changed = codes.copy()
    changed[0, 20:] = changed[0, 20:][::-1]
    kernel = RidgeMargins()
    for size in (40, 5):
        state = kernel.prepare(correlated_regions((size,), N), design)
        first = kernel.margins(state, Labelings(codes, K))
        second = kernel.margins(state, Labelings(changed, K))
        if size == 40:  # the dense form has exact zeros there
            np.testing.assert_array_equal(first, second)
        np.testing.assert_allclose(first, second, atol=1e-6)


def test_batches_of_regions_and_of_labelings_are_bit_identical():
    design, codes = unequal_design(N), labels(8, N)
    xs = correlated_regions((40, 5, 33, 12, 61), N)
    kernel = RidgeMargins()
    whole = kernel.prepare(xs, design)
    batches = [Labelings(codes[i : i + 4], K) for i in (0, 4)]
    for batch in batches:
        together = kernel.margins(whole, batch)
        for s, x in enumerate(xs):
            alone = kernel.margins(kernel.prepare([x], design), batch)
            np.testing.assert_array_equal(together[:, :, 4 * s : 4 * s + 4], alone)


def test_equals_scikit_learn_ridge():
    from sklearn.linear_model import Ridge

    design, codes, (x,) = unequal_design(N), labels(1, N), correlated_regions((40,), N)
    kernel = RidgeMargins(shrinkage=1e-3)
    margins = kernel.margins(kernel.prepare([x], design), Labelings(codes, K))
    penalty = ridge_penalty(x, shrinkage=1e-3)
    for (train, test), rows in zip(design.folds, design.fold_slices, strict=True):
        fit = Ridge(alpha=penalty).fit(x[train], np.eye(K)[codes[0, train]])
        np.testing.assert_allclose(margins[rows, :, 0], fit.predict(x[test]), atol=1e-8)


@pytest.mark.parametrize("shape", [(20, 50), (60, 7), (12, 2), (9, 1)])
def test_intensity_equals_scikit_learn(shape):
    from sklearn.covariance import ledoit_wolf_shrinkage

    rng = np.random.default_rng(3)
    x = rng.standard_normal(shape) * rng.uniform(0.1, 3, shape[1]) + 5
    centered = x - x.mean(axis=0)
    ours = ledoit_wolf_intensity(centered @ centered.T, shape[1])
    np.testing.assert_allclose(ours, ledoit_wolf_shrinkage(x), atol=1e-10)


def test_automatic_penalty_is_the_ledoit_wolf_estimate_up_to_scale():
    from sklearn.covariance import ledoit_wolf

    (x,) = correlated_regions((12,), N)
    covariance, intensity = ledoit_wolf(x)
    centered = x - x.mean(axis=0)
    ours = centered.T @ centered + ridge_penalty(x) * np.eye(12)
    np.testing.assert_allclose(ours * (1 - intensity) / len(x), covariance, atol=1e-9)


def test_duplicated_and_constant_features_do_no_harm():
    design, codes, (x,) = unequal_design(N), labels(1, N), correlated_regions((10,), N)
    x = np.column_stack([x, x[:, :4], np.ones(len(x))])
    kernel = RidgeMargins(shrinkage=0.1)
    margins = kernel.margins(kernel.prepare([x], design), Labelings(codes, K))
    penalty = ridge_penalty(x, shrinkage=0.1)
    np.testing.assert_allclose(
        margins[:, :, 0], refit(x, codes[0], design, penalty), atol=2e-6
    )


@pytest.mark.parametrize(
    ("shrinkage", "error", "match"),
    [
        ("lw", ValueError, r"shrinkage=.* must be"),
        (-1.0, ValueError, r"shrinkage=.* must be"),
        (np.inf, ValueError, r"shrinkage=.* must be"),
        (True, TypeError, r"shrinkage=.* must be"),
        (None, TypeError, r"shrinkage=.* must be"),
        (0.0, ValueError, r"shrinkage=.* must be > 0 when"),
    ],
)
def test_bad_shrinkage(shrinkage, error, match):
    with pytest.raises(error, match=match):
        RidgeMargins(shrinkage=shrinkage).prepare(
            correlated_regions((40,), N), unequal_design(N)
        )
    with pytest.raises(error, match=match):
        ridge_penalty(correlated_regions((40,), N)[0], shrinkage=shrinkage)


def test_bad_regions():
    design = unequal_design(N)
    with pytest.raises(ValueError, match="each region must have shape"):
        RidgeMargins().prepare([np.ones((29, 3))], design)
    with pytest.raises(ValueError, match="each region must have shape"):
        RidgeMargins().prepare([np.ones((30, 0))], design)
    with pytest.raises(ValueError, match="must vary"):
        RidgeMargins().prepare([np.ones((30, 3))], design)
    with pytest.raises(ValueError, match="must vary"):
        ridge_penalty(np.full((30, 3), np.nan))
    (x,) = correlated_regions((5,), N)
    with pytest.raises(ValueError, match="collinear"):
        RidgeMargins(shrinkage=0.0).prepare([np.column_stack([x, x])], design)


def test_class_missing_from_training():
    design, codes = unequal_design(N), labels(1, N)
    train, test = design.folds[0]
    codes[0, train] = np.where(codes[0, train] == 2, 1, codes[0, train])
    codes[0, test] = 2
    kernel = RidgeMargins()
    state = kernel.prepare(correlated_regions((5,), N), design)
    with pytest.raises(ValueError, match="missing in fold 1"):
        kernel.margins(state, Labelings(codes, K))


def test_repr_names_the_options():
    assert repr(RidgeMargins(shrinkage=0.5)) == "RidgeMargins(shrinkage=0.5)"
