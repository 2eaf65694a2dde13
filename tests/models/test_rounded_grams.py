"""Gram matrices rounded to 16 bits: what they hold, and that no solution shows it."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import KFold

from tests.models.seam import (
    ElasticNetEncoder,
    all_samples,
    cross_validated_elastic_net,
    fold_grams,
    objective,
    polish,
    prepare_targets,
)


def _centered(values):
    return values - values.mean(axis=0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("purged", [False, True])
def test_entries_are_within_half_a_unit(dtype, purged):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 40)) * np.geomspace(1e-3, 1e3, 40)
    X[:, 7] = X[:, 8]
    X[20:, 3] = 0.5  # constant where the first fold trains
    X = _centered(X).astype(dtype)
    # without the neighbors of tested samples, places left out are no slice
    splits = [(train[purged:], test) for train, test in KFold(3).split(X)]
    exact, folds = fold_grams(X.astype(float), splits), fold_grams(X, splits, True)
    assert folds.gram.dtype == np.int16
    assert folds.scale[0, 3] == 0
    assert not folds.gram[0, 3].any()
    assert (folds.scale[1:] > 0).all()
    pairs = (folds, exact), (all_samples(folds), all_samples(exact))
    for rounded, full in pairs:
        unit = rounded.scale[:, :, None] * rounded.scale[:, None].astype(float)
        error = np.abs(rounded.gram * unit - full.gram)
        constant = unit == 0
        slack = 1e-3 if dtype == np.float32 else 1e-9
        assert (error <= (0.5 + slack) * unit)[~constant].all()
        np.testing.assert_allclose(full.gram[constant], 0, atol=1e-3)
        for name in ("x_mean", "n_rows"):
            np.testing.assert_allclose(
                getattr(rounded, name), getattr(full, name), rtol=1e-5, atol=1e-4
            )


def _designs():
    """Designs whose small eigenvalues or copies bring rounding to the fore."""
    rng = np.random.default_rng(1)
    plain = rng.normal(size=(60, 200))
    few = np.repeat(rng.normal(size=(60, 15)), 12, axis=1)
    return {
        "independent": plain,
        "nearly collinear": few + 0.05 * rng.normal(size=few.shape),
        "copies": few,
        "unequal scales": plain * np.geomspace(1e-2, 1e2, 200),
    }


@pytest.mark.parametrize("design", _designs())
@pytest.mark.parametrize("tol", [1e-4, 1e-7, 1e-10])
@pytest.mark.parametrize("l1_ratio", [0.1, 0.9])
def test_solutions_are_within_the_tolerance_of_the_exact_minimum(design, tol, l1_ratio):
    from tests.models.seam import WorkingSetSolver

    X = _centered(_designs()[design])
    rng = np.random.default_rng(2)
    Y = _centered(X[:, ::25] @ rng.normal(size=(X[:, ::25].shape[1], 3)))
    Y = _centered(Y / Y.std(axis=0) + rng.normal(size=Y.shape))
    everything = all_samples(fold_grams(X, list(KFold(3).split(X)), True))
    targets = prepare_targets(everything, Y)
    solver = WorkingSetSolver(everything, targets, ElasticNetEncoder(tol=tol))
    largest = np.abs(Y.T @ X).max(axis=1) / len(X) / l1_ratio
    start = np.zeros((3, X.shape[1]))
    for share in (0.3, 0.03):
        alpha = share * largest
        l1, l2 = alpha * l1_ratio, alpha * (1 - l1_ratio)
        found = solver.refit(start, l1, l2)
        best, _ = polish(X, Y.T.copy(), found, l1 * len(X), l2 * len(X))
        for v in range(3):
            values = []
            for w in (found[v], best[v]):
                left = Y[:, v] - X @ w
                sums = w @ X.T @ Y[:, v], w @ X.T @ left, np.abs(w).sum(), w @ w
                values.append(objective(sums, l1[v] * len(X), l2[v] * len(X)))
            excess = (values[0] - values[1]) / (Y[:, v] ** 2).sum()
            assert -1e-12 < excess <= tol


def test_memory_of_the_search_is_that_of_16_bits():
    X = np.random.default_rng(3).normal(size=(30, 300)).astype(np.float32)
    folds = fold_grams(_centered(X), list(KFold(3).split(X)), rounded=True)
    assert folds.gram.nbytes == 2 * 3 * 300**2


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_penalties_are_those_of_exact_grams(dtype):
    rng = np.random.default_rng(4)
    factors = rng.normal(size=(90, 12)) @ rng.normal(size=(12, 300))
    X = (factors + 0.3 * rng.normal(size=factors.shape)).astype(dtype)
    Y = (X[:, :6] + 3 * rng.normal(size=(90, 6))).astype(dtype)
    splits = list(KFold(4).split(X))
    options = ElasticNetEncoder(n_alphas=15, eps=1e-2, tol=1e-5)
    fits = [
        cross_validated_elastic_net(
            X, Y, splits, clone(options).set_params(solver=solver)
        )
        for solver in ("numba-working-sets", "scikit-learn")
    ]
    np.testing.assert_allclose(fits[0].alpha, fits[1].alpha, rtol=1e-5)
    np.testing.assert_array_equal(fits[0].l1_ratio, fits[1].l1_ratio)
    np.testing.assert_allclose(fits[0].coef, fits[1].coef, atol=1e-6)
    np.testing.assert_allclose(fits[0].cv_error, fits[1].cv_error, rtol=2e-4)
