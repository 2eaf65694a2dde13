"""Penalties chosen by inner folds: GridSearchCV of scikit-learn, nesting, misuse."""

import html
import json
import tracemalloc

import nibabel
import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, KFold, LeaveOneGroupOut

from neuroextrap import stats
from neuroextrap.analysis import Keep
from neuroextrap.decoding import IdentificationSearchLight, TargetSearchLight

RUNS = np.repeat(np.arange(5), [10, 12, 10, 8, 12])
GRID = np.array([0.01, 0.1, 1, 10, 100, 1000])
OWN = [0.3, 3.0, 30.0]


def simulate(n_columns=3, n_features=20, noise=6.0, seed=0):
    """Samples (52, n_features) that depend on targets (52, n_columns) of two scales."""
    rng = np.random.default_rng(seed)
    targets = rng.normal(size=(52, n_columns))
    X = targets @ rng.normal(size=(n_columns, n_features))
    X += noise * rng.normal(size=X.shape)
    return X, targets * 10.0 ** np.arange(n_columns) + 7


def mean_scatter(X):
    return np.square(X - X.mean(axis=0)).sum() / X.shape[1]


def searched(X, targets, units, grid):
    """GridSearchCV of scaled targets that leaves units out of samples, fitted."""
    search = GridSearchCV(
        Ridge(),
        {"alpha": grid},
        scoring="neg_mean_squared_error",
        cv=LeaveOneGroupOut(),
    )
    return search.fit(X, targets, groups=units)


def nested(X, targets, folds, units, shrinkage):
    """Chosen multiples and decoded targets of nested searches, one by one."""
    grid = mean_scatter(X) * np.asarray(shrinkage)
    scaled = (targets - targets.mean(axis=0)) / targets.std(axis=0)
    chosen, decoded = [], []
    for train, test in folds:
        found = searched(X[train], scaled[train], units[train], grid)
        chosen.append(found.best_params_["alpha"] / mean_scatter(X))
        predicted = found.predict(X[test]).reshape(len(test), -1)
        decoded.append(predicted * targets.std(axis=0) + targets.mean(axis=0))
    return np.array(chosen), np.concatenate(decoded)


@pytest.mark.parametrize(
    ("n_features", "n_columns", "shrinkage"),
    [
        (3, 1, "inner_folds"),
        (3, 3, OWN),
        (90, 1, OWN),
        (90, 3, "inner_folds"),
    ],
)
def test_choices_are_those_of_grid_search(n_features, n_columns, shrinkage):
    X, targets = simulate(n_columns, n_features)
    light = TargetSearchLight(shrinkage=shrinkage)
    fitted = light.fit(X, targets, groups=RUNS)
    folds = list(LeaveOneGroupOut().split(X, groups=RUNS))
    grid = GRID if shrinkage == "inner_folds" else OWN
    chosen, decoded = nested(X, targets, folds, RUNS, grid)
    np.testing.assert_allclose(fitted.chosen_shrinkage(0), chosen)
    mine = fitted.decoded_targets(0)
    np.testing.assert_allclose(mine, decoded, atol=1e-4 * targets.std())
    true = targets[fitted.run_.plan.design.test]
    about = [
        (
            a
            - np.concatenate(
                [np.tile(targets[f[0]].mean(0), (len(f[1]), 1)) for f in folds]
            )
        )
        for a in (decoded, true)
    ]
    r = [np.corrcoef(*(a[:, c] for a in about))[0, 1] for c in range(n_columns)]
    assert fitted.region_scores_["correlation"][0] == pytest.approx(
        np.mean(r), rel=1e-5
    )


def test_samples_without_runs_are_divided_by_the_folds():
    X, targets = simulate()
    cv = KFold(4, shuffle=True, random_state=0)
    folds, units = list(cv.split(X)), np.empty(52, dtype=int)
    for number, (_, test) in enumerate(folds):
        units[test] = number
    fitted = TargetSearchLight(shrinkage="inner_folds", cv=cv).fit(X, targets)
    chosen, decoded = nested(X, targets, folds, units, GRID)
    np.testing.assert_allclose(fitted.chosen_shrinkage(0), chosen)
    np.testing.assert_allclose(
        fitted.decoded_targets(0), decoded, atol=1e-4 * targets.std()
    )


def test_a_single_training_run_is_divided_by_samples():
    X, targets = (values[:32] for values in simulate())
    runs = np.repeat([0, 1], 16)
    fitted = TargetSearchLight(shrinkage="inner_folds").fit(X, targets, groups=runs)
    folds = list(LeaveOneGroupOut().split(X, groups=runs))
    chosen, _ = nested(X, targets, folds, np.arange(32), GRID)
    np.testing.assert_allclose(fitted.chosen_shrinkage(0), chosen)


def test_the_held_out_run_is_not_seen():
    X, targets = simulate(noise=9.0)
    light = TargetSearchLight(shrinkage="inner_folds", standardize_targets=False)
    before = light.fit(X, targets, groups=RUNS).chosen_shrinkage(0)
    after = []
    for run in range(5):
        other = targets.copy()
        other[run == RUNS] *= -30
        after.append(light.fit(X, other, groups=RUNS).chosen_shrinkage(0))
    assert len(set(before)) > 1
    np.testing.assert_array_equal(np.diag(after), before)
    assert (np.array(after) != before).any()  # of other folds


@pytest.mark.parametrize("statistic", ["correlation", "pairwise_accuracy", "accuracy"])
def test_permuted_targets_choose_again(statistic, tmp_path):
    X, targets = simulate(noise=9.0)
    options = {"statistic": statistic, "shrinkage": OWN}
    keep = Keep(save_null=tmp_path / "null.npy")
    light = TargetSearchLight(n_permutations=7, keep=keep, **options)
    fitted = light.fit(X, targets, groups=RUNS)
    null = np.load(tmp_path / "null.npy")[:, 0]
    codes = np.unique(targets, axis=0, return_inverse=True)[1].ravel()
    orders = stats.permute_labels(codes, groups=RUNS, n_permutations=7, random_state=0)
    choices = []
    for permuted, value in zip(orders, null, strict=True):
        again = TargetSearchLight(**options)
        again.fit(X, fitted.candidates_[permuted], groups=RUNS)
        expected = again.region_scores_[statistic][0]
        assert value == pytest.approx(expected, abs=1e-5)
        choices.append(tuple(again.chosen_shrinkage(0)))
    assert len(set(choices)) > 1


def test_regions_without_information_would_choose_badly_for_others():
    rng = np.random.default_rng(0)
    X, targets = simulate(n_columns=1, n_features=40, noise=1.0)
    X += 9 * rng.normal(size=(52, 3)) @ rng.normal(size=(3, 40))
    empty = rng.normal(size=(7, 52, 40))
    scaled = (targets - targets.mean()) / targets.std()
    errors = [
        -searched(x, scaled, RUNS, GRID * mean_scatter(x)).cv_results_[
            "mean_test_score"
        ]
        for x in (X, *empty)
    ]
    assert GRID[np.argmin(np.mean(errors, axis=0))] >= 10
    own = TargetSearchLight(shrinkage="inner_folds").fit(X, targets, groups=RUNS)
    assert own.chosen_shrinkage(0).max() <= 0.1
    common = TargetSearchLight(shrinkage=10.0).fit(X, targets, groups=RUNS)
    both = (fitted.region_scores_["correlation"][0] for fitted in (own, common))
    assert next(both) > 2 * next(both)


def test_new_samples_are_decoded_by_a_choice_of_all_runs():
    X, targets = simulate()
    fitted = TargetSearchLight(shrinkage="inner_folds").fit(X, targets, groups=RUNS)
    scaled = (targets - targets.mean(axis=0)) / targets.std(axis=0)
    model = searched(X, scaled, RUNS, mean_scatter(X) * GRID)
    new = np.random.default_rng(1).normal(size=(7, 20))
    expected = model.predict(new) * targets.std(axis=0) + targets.mean(axis=0)
    np.testing.assert_allclose(fitted.predict(0, new), expected, rtol=1e-4)


def test_forward_tests_choose_from_the_earlier_runs():
    rng = np.random.default_rng(2)
    candidates, runs = rng.normal(size=(5, 3)), np.repeat(np.arange(6), 10)
    codes = rng.permuted(np.tile(np.arange(5), (6, 2)), axis=1).ravel()
    targets = candidates[codes]
    X = targets @ rng.normal(size=(3, 20)) + 0.3 * rng.normal(size=(60, 20))
    light = TargetSearchLight(shrinkage="inner_folds")
    scores = light.fit(X, targets, groups=runs).region_scores_
    assert 0.2 < scores["bayes_accuracy_bound"][0] <= scores["accuracy"][0]
    assert [note for note in light.notes_ if "penalty chosen without the test" in note]


def test_what_was_chosen_is_said(tmp_path):
    X, targets = simulate()
    data = X.T.reshape(5, 2, 2, 52).astype(np.float32)
    mask = nibabel.Nifti1Image(np.ones((5, 2, 2), dtype=np.int8), np.eye(4))
    light = TargetSearchLight(mask, radius=1.5, shrinkage=OWN)
    light.fit(nibabel.Nifti1Image(data, np.eye(4)), targets, groups=RUNS)
    (note,) = [note for note in light.notes_ if "penalty of its own" in note]
    assert "the one of 0.3, 3, 30 times the mean scatter" in note
    light.to_directory(tmp_path)
    sidecar = json.loads((tmp_path / "correlation.json").read_text())
    assert note in str(sidecar)
    assert sidecar["parameters"]["shrinkage"] == OWN
    assert note in html.unescape(str(light.generate_report()))
    again = TargetSearchLight.from_directory(tmp_path)
    assert again.shrinkage == OWN
    with pytest.raises(ValueError, match="samples are not stored"):
        again.chosen_shrinkage(0)


@pytest.mark.parametrize(
    ("shrinkage", "error", "message"),
    [
        ("inner", ValueError, 'must be "inner_folds", "auto" or a finite number'),
        ([1.0], ValueError, "two or more different numbers above 0"),
        ([1.0, 1.0], ValueError, "two or more different numbers above 0"),
        ([0.0, 1.0], ValueError, "two or more different numbers above 0"),
        ([np.nan, 1.0], ValueError, "two or more different numbers above 0"),
        ([np.inf, 1.0], ValueError, "NaN or infinity"),
        ([], ValueError, "two or more different numbers above 0"),
        (["auto", "inner_folds"], TypeError, "must be"),
        ([[1.0, 2.0]], TypeError, "must be"),
        (None, TypeError, "must be"),
    ],
)
def test_what_cannot_be_chosen_from_is_refused(shrinkage, error, message):
    X, targets = simulate()
    with pytest.raises(error, match=message):
        TargetSearchLight(shrinkage=shrinkage).fit(X, targets, groups=RUNS)


def test_inner_folds_need_something_to_leave_out():
    X, targets = simulate()
    split = [(np.arange(30), np.arange(30, 52))]
    light = TargetSearchLight(shrinkage="inner_folds", cv=split)
    with pytest.raises(ValueError, match="give groups=runs"):
        light.fit(X, targets)
    fixed = TargetSearchLight(shrinkage=0.3).fit(X, targets, groups=RUNS)
    with pytest.raises(ValueError, match="leaves nothing to choose"):
        fixed.chosen_shrinkage(0)
    for shrinkage in ("inner_folds", OWN):
        classes = IdentificationSearchLight(estimator="ridge", shrinkage=shrinkage)
        with pytest.raises((TypeError, ValueError), match='must be "auto" or a finite'):
            classes.fit(X, np.tile([0, 1], 26), groups=RUNS)


def test_memory_is_estimated_with_the_folds():
    rng = np.random.default_rng(0)
    runs, targets = np.repeat(np.arange(8), 20), rng.normal(size=(160, 2))
    X = rng.normal(size=(160, 80)).astype(np.float32)
    light = TargetSearchLight(
        regions=np.kron(np.eye(4), np.ones(20)),
        shrinkage="inner_folds",
        n_permutations=9,
    )
    estimated = light.estimate_cost(X, targets, groups=runs)["memory"]
    tracemalloc.start()
    light.fit(X, targets, groups=runs)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert 0.2 * estimated < peak < estimated
