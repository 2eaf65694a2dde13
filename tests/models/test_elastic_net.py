"""The elastic net against scikit-learn, one target at a time."""

import contextlib
import itertools
import logging

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import ElasticNet, ElasticNetCV
from sklearn.model_selection import GroupKFold, KFold, LeaveOneGroupOut, ShuffleSplit
from sklearn.utils.estimator_checks import parametrize_with_checks

from tests.models.seam import (
    SOLVERS,
    Columns,
    ElasticNetEncoder,
    Solver,
    all_samples,
    anderson_weights,
    choose_solver,
    cross_validated_elastic_net,
    encoder_splits,
    fold_grams,
    grid_walk,
    newton_target,
    polish,
    prepare_targets,
    relative_gap,
    solve_columns,
)

# small grids end early on purpose; one test asserts the warning itself
pytestmark = pytest.mark.filterwarnings("ignore:the best alpha is the smallest")


@pytest.fixture(params=SOLVERS)
def solver(request):
    """Each solver by its name, that of many features even for a few."""
    return request.param


def _data(n_samples=80, n_features=30, n_targets=6, seed=0, dtype=np.float64):
    """Correlated features, sparse truths, noise of several strengths."""
    rng = np.random.default_rng(seed)
    factors = rng.normal(size=(n_samples, 8)) @ rng.normal(size=(8, n_features)) / 3
    X = factors + rng.normal(size=(n_samples, n_features))
    sparse = rng.random((n_features, n_targets)) < 0.2
    signal = X @ (rng.normal(size=sparse.shape) * sparse)
    noise = rng.normal(size=signal.shape) * np.linspace(2, 8, n_targets)
    return (X + 3.0).astype(dtype), (signal + noise - 1.0).astype(dtype)


def _naive(X, y, splits, options):
    """Scikit-learn's own cross-validated elastic net of one target."""
    return ElasticNetCV(
        l1_ratio=list(options.l1_ratios),
        alphas=options.n_alphas,
        eps=options.eps,
        cv=splits,
        tol=1e-8,
        max_iter=100_000,
    ).fit(X, y)


FULL = ElasticNetEncoder(n_alphas=12, eps=1e-2, early_stopping=False, tol=1e-8)


@pytest.fixture(scope="module")
def full_grid():
    """Samples, targets, folds, and scikit-learn's fit of each target."""
    X, Y = _data()
    splits = list(KFold(4).split(X))
    return X, Y, splits, [_naive(X, y, splits, FULL) for y in Y.T]


def test_full_grid_equals_scikit_learn(solver, full_grid):
    X, Y, splits, fitted = full_grid
    options = clone(FULL).set_params(solver=solver)
    fit = cross_validated_elastic_net(X, Y, splits, options)
    for v, naive in enumerate(fitted):
        errors = naive.mse_path_.mean(axis=-1)
        np.testing.assert_allclose(fit.alphas[v], naive.alphas_, rtol=1e-10)
        np.testing.assert_allclose(fit.cv_error[v], errors, rtol=1e-5)
        assert fit.alpha[v] == pytest.approx(naive.alpha_, rel=1e-10)
        assert fit.l1_ratio[v] == naive.l1_ratio_


def test_refit_and_out_of_fold_predictions_equal_scikit_learn(solver):
    X, Y = _data(seed=1)
    splits = list(KFold(5).split(X))
    fit = cross_validated_elastic_net(
        X, Y, splits, ElasticNetEncoder(tol=1e-9, eps=1e-2, solver=solver)
    )
    assert fit.dual_gap.max() < 1e-12
    for v in range(Y.shape[1]):
        naive = ElasticNet(
            alpha=fit.alpha[v], l1_ratio=fit.l1_ratio[v], tol=1e-14, max_iter=10**6
        )
        expected = np.concatenate(
            [naive.fit(X[a], Y[a, v]).predict(X[b]) for a, b in splits]
        )
        np.testing.assert_allclose(fit.cv_predictions[:, v], expected, atol=2e-3)
        naive.fit(X, Y[:, v])
        np.testing.assert_allclose(fit.coef[v], naive.coef_, atol=1e-8)
        assert fit.intercept[v] == pytest.approx(naive.intercept_, abs=1e-7)


def test_solvers_agree_on_choice_and_coefficients(solver):
    X, Y = _data(seed=2)
    splits = list(KFold(5).split(X))
    fits = [
        cross_validated_elastic_net(X, Y, splits, ElasticNetEncoder(solver=name))
        for name in (solver, "scikit-learn")
    ]
    np.testing.assert_array_equal(fits[0].alpha, fits[1].alpha)
    np.testing.assert_array_equal(fits[0].l1_ratio, fits[1].l1_ratio)
    np.testing.assert_allclose(fits[0].coef, fits[1].coef, atol=1e-10)


def test_many_collinear_features_equal_the_reference():
    X, Y = _data(n_samples=60, n_features=20, n_targets=3, seed=14)
    rng = np.random.default_rng(0)
    X = np.repeat(X, 8, axis=1) + 0.05 * rng.normal(size=(60, 160))
    splits = list(KFold(3).split(X))
    options = ElasticNetEncoder(n_alphas=12, eps=1e-2, tol=1e-7, early_stopping=False)
    # plain coordinate descent is slow here
    patient = clone(options).set_params(solver="scikit-learn", max_sweeps=10**5)
    reference = cross_validated_elastic_net(X, Y, splits, patient)
    for solver in set(SOLVERS) - {"scikit-learn"}:
        options.set_params(solver=solver)
        ours = cross_validated_elastic_net(X, Y, splits, options)
        np.testing.assert_allclose(ours.cv_error, reference.cv_error, rtol=1e-4)
        np.testing.assert_allclose(ours.coef, reference.coef, atol=1e-8)


def test_a_feature_constant_in_a_fold_stays_out(solver):
    X, Y = _data(n_samples=40, n_targets=2, seed=15)
    X[10:, 3] = 0.0
    splits = [(np.arange(10, 40), np.arange(10)), (np.arange(30), np.arange(30, 40))]
    splits.append((np.r_[:10, 30:40], np.arange(10, 30)))
    fit = cross_validated_elastic_net(
        X, Y, splits, ElasticNetEncoder(n_alphas=6, eps=0.05, solver=solver)
    )
    assert np.isfinite(fit.cv_predictions).all()
    assert fit.dual_gap.max() < 1e-10


@pytest.mark.parametrize("l2_share", [0.0, 0.1])
def test_columns_solved_together_equal_exact_solutions(l2_share):
    X, Y = _data(n_samples=80, n_features=40, n_targets=35, seed=16)
    gram, products = X.T @ X, Y.T @ X
    norm, l1 = (Y**2).sum(axis=0), 0.1 * np.abs(products).max(axis=1)
    start = np.random.default_rng(0).normal(size=products.shape)
    columns = Columns(start, np.empty_like(start), products, norm, l1, l2_share * l1)
    weights, closed = solve_columns(gram, columns, 1e-13, 2000)
    assert closed.all()
    exact, gaps = polish(X, Y.T, weights, l1, l2_share * l1)
    assert gaps.max() < 1e-12
    np.testing.assert_allclose(weights, exact, atol=1e-5)


def test_the_solver_follows_features_and_stopping():
    early, full = ElasticNetEncoder(), ElasticNetEncoder(early_stopping=False)
    assert choose_solver(early, 256) == "numba-batch"
    assert choose_solver(early, 257) == "numba-working-sets"
    assert choose_solver(full, 1024) == "numba-batch"
    assert choose_solver(full, 1025) == "numba-working-sets"
    for name, kind in SOLVERS.items():
        assert issubclass(kind, Solver)
        assert choose_solver(ElasticNetEncoder(solver=name), 10) == name


def test_a_walk_without_limits_visits_every_point():
    walk, seen = grid_walk([2, 0, 1], 6, 6, np.inf), []
    errors = np.random.default_rng(0).random((3, 6))
    ratio, alpha, _ = next(walk)
    with contextlib.suppress(StopIteration):
        while True:
            seen.append((ratio, alpha))
            ratio, alpha, _ = walk.send(errors[ratio, alpha])
    assert sorted(seen) == sorted(itertools.product(range(3), range(6)))


@pytest.mark.parametrize("lowest", [(0, 0), (4, 4), (2, 7), (7, 2), (8, 8), (0, 8)])
def test_a_walk_finds_the_minimum_of_convex_errors(lowest):
    errors = [1 + 0.004 * (np.arange(9) - place) ** 2 for place in lowest]
    walk, seen = grid_walk([0, 1], 9, 3, 1.01), {}
    point = next(walk)
    with contextlib.suppress(StopIteration):
        while True:
            ratio, alpha, _ = point
            seen[ratio, alpha] = errors[ratio][alpha]
            point = walk.send(seen[ratio, alpha])
    assert min(seen.values()) == 1.0
    assert {place for place, error in seen.items() if error == 1.0} == {
        (0, lowest[0]),
        (1, lowest[1]),
    }


def test_early_stopping_costs_little_error():
    X, Y = _data(n_targets=20, seed=3)
    splits = list(KFold(5).split(X))
    early = cross_validated_elastic_net(X, Y, splits, ElasticNetEncoder())
    full = cross_validated_elastic_net(
        X, Y, splits, ElasticNetEncoder(early_stopping=False)
    )
    regret = np.nanmin(early.cv_error, (1, 2)) / full.cv_error.min((1, 2)) - 1
    assert regret.max() < 5e-3
    assert np.isnan(early.cv_error).any()
    assert not np.isnan(full.cv_error).any()


def test_float32_stays_close_to_float64():
    X, Y = _data(seed=4)
    single = ElasticNetEncoder().fit(X.astype(np.float32), Y.astype(np.float32))
    double = ElasticNetEncoder().fit(X, Y)
    assert single.coef_.dtype == np.float32
    np.testing.assert_allclose(single.coef_, double.coef_, atol=1e-4)


def test_threads_do_not_change_results(solver):
    X, Y = _data(n_targets=70, seed=5)
    one, two = (
        ElasticNetEncoder(n_jobs=n, n_alphas=3, eps=0.1, solver=solver).fit(X, Y)
        for n in (1, 2)
    )
    np.testing.assert_array_equal(one.coef_, two.coef_)
    np.testing.assert_array_equal(one.cv_predictions_, two.cv_predictions_)


def test_targets_do_not_depend_on_their_company():
    X, Y = _data(n_targets=5, seed=6)
    together = ElasticNetEncoder().fit(X, Y)
    for v in range(5):
        alone = ElasticNetEncoder().fit(X, Y[:, v])
        np.testing.assert_allclose(alone.coef_[0], together.coef_[v], atol=1e-10)
        assert alone.predict(X).shape == (len(X),)


def test_fold_grams_equal_direct_products():
    X, Y = _data(seed=7)
    Xc, Yc = X - X.mean(0), Y - Y.mean(0)
    splits = list(KFold(3, shuffle=True, random_state=0).split(X))
    folds = fold_grams(Xc, splits)
    targets = prepare_targets(folds, Yc)
    _check_sets(folds, targets, Xc, Yc, [train for train, _ in splits])
    np.testing.assert_array_equal(targets.values, Yc[folds.order].T)
    # the total takes the place of the first fold, and is what it would be by itself
    everything = all_samples(folds)
    targets = prepare_targets(everything, Yc)
    _check_sets(everything, targets, Xc, Yc, [np.arange(len(X))])
    np.testing.assert_array_equal(targets.products[:, 0], targets.total)


def _check_sets(sets, targets, Xc, Yc, trained):
    """Compare training sets with products of their centered rows."""
    assert len(sets.gram) == len(trained)
    for f, train in enumerate(trained):
        x = Xc[train] - Xc[train].mean(0)
        y = Yc[train] - Yc[train].mean(0)
        np.testing.assert_allclose(sets.gram[f], x.T @ x, atol=1e-10)
        np.testing.assert_allclose(sets.x_mean[f], Xc[train].mean(0), atol=1e-12)
        assert sets.n_rows[f] == len(train)
        np.testing.assert_allclose(targets.products[:, f], y.T @ x, atol=1e-10)
        np.testing.assert_allclose(targets.y_mean[:, f], Yc[train].mean(0), atol=1e-12)
        np.testing.assert_allclose(targets.norm[:, f], (y**2).sum(0), rtol=1e-12)


def test_folds_may_leave_training_samples_out():
    X, Y = _data(seed=8)
    splits = [(train[3:], test) for train, test in KFold(4).split(X)]
    options = ElasticNetEncoder(n_alphas=8, eps=0.01, early_stopping=False, tol=1e-9)
    fit = cross_validated_elastic_net(X, Y[:, :2], splits, options)
    for v in range(2):
        naive = _naive(X, Y[:, v], splits, options)
        np.testing.assert_allclose(fit.cv_error[v], naive.mse_path_.mean(-1), rtol=1e-5)


def test_conjugate_gradients_solve_the_system_of_a_support():
    from tests.models.seam import conjugate_gradients

    X = np.random.default_rng(5).normal(size=(60, 9))
    gram, support, l2 = X.T @ X, np.array([1, 2, 4, 5, 8]), 3.0
    right = np.arange(1.0, 6.0)
    step, change = conjugate_gradients(gram, support, right.copy(), l2, 9)
    system = gram[np.ix_(support, support)] + l2 * np.eye(5)
    left = right - system @ step
    assert 0 < np.linalg.norm(left) <= 0.1 * np.linalg.norm(right)
    np.testing.assert_allclose(change, gram[:, support] @ step, rtol=1e-10, atol=1e-10)


def test_mixed_iterates_have_the_smallest_step():
    iterates = np.random.default_rng(0).normal(size=(6, 40)).cumsum(axis=0)
    weights, steps = anderson_weights(iterates), np.diff(iterates, axis=0)
    assert weights.sum() == pytest.approx(1)
    # by elimination of the last weight: least squares without a constraint
    free = np.linalg.lstsq((steps[:-1] - steps[-1]).T, -steps[-1], rcond=None)[0]
    np.testing.assert_allclose(weights, np.r_[free, 1 - free.sum()], rtol=1e-8)


def test_a_newton_step_solves_the_system_of_the_signs():
    rng = np.random.default_rng(0)
    x, l1, l2 = rng.normal(size=(30, 5)), 0.5, 0.3
    y = x @ np.array([2.0, -3.0, 4.0, -2.0, 0.0])
    start = np.array([1.0, -1.0, 1.0, -1.0, 1.0])
    gram, products = x.T @ x, x.T @ y
    exact = np.linalg.solve(gram + l2 * np.eye(5), products - l1 * np.sign(start))
    solved = newton_target(gram.copy(), products, start, l1, l2)
    assert exact[4] < 0 == solved[4]  # it would flip its sign
    np.testing.assert_allclose(solved[:4], exact[:4], rtol=1e-12)


def test_polish_finds_the_minimum_from_a_poor_start():
    X, Y = _data(n_targets=1, seed=9)
    X, y = X - X.mean(0), Y[:, 0] - Y.mean()
    l1, l2 = 20.0, 5.0
    penalties = np.array([l1]), np.array([l2])
    naive = ElasticNet(
        alpha=(l1 + l2) / len(X),
        l1_ratio=l1 / (l1 + l2),
        fit_intercept=False,
        tol=1e-14,
        max_iter=10**6,
    ).fit(X, y)
    weights, gap = polish(X, y[None], np.zeros((1, X.shape[1])), *penalties)
    np.testing.assert_allclose(weights[0], naive.coef_, atol=1e-9)
    assert gap[0] < 1e-13


def test_polishing_together_is_polishing_alone():
    X, Y = _data(n_targets=6, seed=31)
    # of a feature of zeros the linear system of a pure lasso is singular
    X, Y = X - X.mean(0), (Y - Y.mean(0)).T
    X = np.concatenate([X, np.zeros((len(X), 1))], axis=1)
    l1 = np.array([1.0, 5.0, 20.0, 50.0, 1e5, 5.0])
    l2 = np.array([1.0, 5.0, 0.1, 5.0, 5.0, 0.0])
    starts = np.zeros((6, X.shape[1]))
    starts[5, [0, -1]] = 0.5, 0.3
    weights, gaps = polish(X, Y, starts, l1, l2)
    assert gaps[:5].max() < 1e-12
    np.testing.assert_array_equal(weights[4], 0.0)
    np.testing.assert_array_equal(weights[5], starts[5])
    assert np.isfinite(gaps[5])
    for v in range(6):
        some = slice(v, v + 1)
        alone, gap = polish(X, Y[some], starts[some], l1[some], l2[some])
        np.testing.assert_allclose(weights[v], alone[0], atol=1e-9)
        np.testing.assert_allclose(gaps[v], gap[0], atol=1e-12)


def test_gap_bounds_the_excess_of_the_objective():
    X, Y = _data(n_targets=1, seed=10)
    X, y = X - X.mean(0), Y[:, 0] - Y.mean()
    rng = np.random.default_rng(0)

    def objective(w, l1, l2):
        return 0.5 * ((y - X @ w) ** 2).sum() + l1 * abs(w).sum() + 0.5 * l2 * w @ w

    for l1, l2 in itertools.product((1.0, 30.0), (0.0, 10.0)):
        penalties = np.array([[l1], [l2]])
        best = polish(X, y[None], np.zeros((1, X.shape[1])), *penalties)[0]
        for scale in (0.01, 0.3):
            w = best + scale * rng.normal(size=best.shape)
            excess = objective(w[0], l1, l2) - objective(best[0], l1, l2)
            gap = relative_gap(X, y[None], w, *penalties)[0][0]
            assert gap * (y @ y) >= excess


def test_duplicated_features_with_a_pure_lasso_still_certify():
    X, Y = _data(n_targets=3, seed=11)
    X = np.concatenate([X, X[:, :5]], axis=1)
    encoder = ElasticNetEncoder(l1_ratios=(1.0,), tol=1e-7).fit(X, Y)
    assert encoder.dual_gap_.max() <= 1e-7


def test_nonsense_of_a_nearly_singular_system_is_not_taken(monkeypatch):
    # what a solver returns for copies of features depends on the processor
    X, Y = _data(n_targets=3, seed=11)
    X = np.concatenate([X, X[:, :5]], axis=1)
    X, Y = X - X.mean(axis=0), (Y - Y.mean(axis=0)).T
    l1 = np.full(3, 0.1 * len(X))
    start = ElasticNet(0.1, l1_ratio=1.0, fit_intercept=False, tol=1e-9)
    start = start.fit(X, Y.T).coef_
    monkeypatch.setattr(np.linalg, "solve", lambda a, b: np.full(len(b), 1e12))
    weights, gaps = polish(X, Y, start, l1, np.zeros(3))
    np.testing.assert_array_equal(weights, start)
    assert gaps.max() < 1e-6


def test_a_stalled_solver_stops_and_says_so(solver):
    X, Y = _data(n_targets=3, seed=12)
    encoder = ElasticNetEncoder(max_sweeps=1, early_stopping=False, solver=solver)
    with pytest.warns(ConvergenceWarning, match="reached max_sweeps=1 in"):
        encoder.fit(X, Y)
    assert encoder.n_stalled_.min() > 0


def test_best_penalty_at_the_edge_is_reported_with_its_share():
    X, Y = _data(n_targets=4, seed=13)
    pure = X[:, :4] + 1e-3 * Y
    Y = np.random.default_rng(0).normal(size=Y.shape)
    with pytest.warns(UserWarning, match=r"smallest of the grid for 50\.0%"):
        ElasticNetEncoder(eps=0.05, n_alphas=4).fit(
            X, np.concatenate([Y, pure], axis=1)
        )


def test_progress_is_logged(caplog):
    X, Y = _data(n_targets=3)
    with caplog.at_level(logging.INFO, logger="neuroextrap"):
        ElasticNetEncoder(n_alphas=4, eps=0.1).fit(X, Y)
    assert "3 of 3 targets" in caplog.text


def test_groups_stay_together():
    X = np.zeros((12, 1))
    groups = np.repeat(np.arange(4), 3)
    for train, test in encoder_splits(2, X, groups):
        assert not set(groups[train]) & set(groups[test])
    splits = encoder_splits(LeaveOneGroupOut(), X, groups)
    assert len(splits) == 4
    expected = list(GroupKFold(2).split(X, None, groups))
    ours = encoder_splits(GroupKFold(2), X, groups)
    for (_, test), (_, theirs) in zip(ours, expected, strict=True):
        np.testing.assert_array_equal(test, theirs)


@pytest.mark.parametrize("repeats", [1, 3])
def test_folds_are_dealt_out_at_random(repeats):
    """Every sample once, equally many groups in each fold, none in its order."""
    names = np.array([f"stimulus {i:02}" for i in range(22)])
    groups = np.repeat(names, repeats)
    X, given = np.zeros((len(groups), 1)), None if repeats == 1 else groups
    splits = encoder_splits(5, X, given, 3)
    tested = np.concatenate([test for _, test in splits])
    assert sorted(tested) == list(range(len(groups)))
    members = [set(groups[test]) for _, test in splits]
    assert sorted(map(len, members)) == [4, 4, 4, 5, 5]
    for (train, test), fold in zip(splits, members, strict=True):
        assert sorted([*train, *test]) == list(range(len(groups)))
        places = np.flatnonzero(np.isin(names, sorted(fold)))
        assert len(set(np.diff(places))) > 1  # neither neighbors nor every fifth
    few = encoder_splits(5, X[groups < names[9]], groups[groups < names[9]], 3)
    assert [len(test) for _, test in few] == 9 * [repeats]  # one by one
    again, other = (encoder_splits(5, X, given, seed) for seed in (3, 4))
    assert [test.tolist() for _, test in splits] == [t.tolist() for _, t in again]
    assert [test.tolist() for _, test in splits] != [t.tolist() for _, t in other]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"cv": ShuffleSplit(2, random_state=0)}, "exactly once"),
        ({"cv": [([0], [0]), ([1], list(range(1, 80)))]}, "cv fold 0 has 1 training"),
    ],
)
def test_bad_options(change, message):
    X, Y = _data()
    with pytest.raises(ValueError, match=message):
        ElasticNetEncoder(**change).fit(X, Y)


def test_bad_data():
    X, Y = _data()
    flat = X.copy()
    flat[:, 4] = 1.0
    with pytest.raises(ValueError, match=r"1 of 30 features are constant .*column 4"):
        ElasticNetEncoder().fit(flat, Y)
    flat = Y.copy()
    flat[:, 2] = 0.0
    with pytest.raises(ValueError, match=r"1 of 6 targets are constant .*column 2"):
        ElasticNetEncoder().fit(X, flat)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        ElasticNetEncoder().fit(X[:-1], Y)
    with pytest.raises(ValueError, match="Complex data not supported"):
        ElasticNetEncoder().fit(X * 1j, Y)
    with pytest.raises(ValueError, match="NaN"):
        ElasticNetEncoder().fit(np.where(X > 5, np.nan, X), Y)
    with pytest.raises(ValueError, match="at least 4 groups"):
        ElasticNetEncoder(cv=4).fit(X, Y, groups=np.arange(80) % 3)


@parametrize_with_checks([ElasticNetEncoder(n_alphas=5, eps=0.1, cv=2)])
@pytest.mark.filterwarnings("ignore:the elastic net reached")
def test_scikit_learn_conventions(estimator, check):
    check(estimator)
