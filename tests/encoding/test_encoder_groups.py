"""Repeats of a stimulus stay together, whatever the encoder."""

import warnings

import numpy as np
import pytest
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import BaggingRegressor
from sklearn.linear_model import Ridge, RidgeCV
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, LeaveOneGroupOut
from sklearn.multioutput import MultiOutputRegressor
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from neuroextrap.encoding import (
    ElasticNetEncoder,
    EncodingIdentification,
    RidgeEncoder,
    ensemble_size_curve,
)
from tests.encoding.seam import (
    fit_encoder,
    out_of_fold_predictions,
    stimulus_numbers,
    training_groups,
)

ALPHAS = np.logspace(-3, 5, 3)


@pytest.fixture(scope="module")
def repeated():
    """Twenty-four stimuli of many features, shown five times; stimulus noise."""
    rng = np.random.default_rng(0)
    stimuli = rng.permutation(np.repeat(np.arange(24), 5))
    X = rng.normal(size=(24, 60))
    Y = (X[:, :2] @ rng.normal(size=(2, 3)) + 3 * rng.normal(size=(24, 3)))[stimuli]
    return X[stimuli], Y + 0.1 * rng.normal(size=Y.shape), stimuli


GRID = GridSearchCV(
    Ridge(), {"alpha": ALPHAS}, scoring="neg_mean_squared_error", cv=None
)
ENCODERS = {
    "ridge": (RidgeEncoder(ALPHAS), lambda e: e.alpha_),
    "elastic net": (
        ElasticNetEncoder(n_alphas=5, eps=0.01),
        lambda e: e.alpha_,
    ),
    "RidgeCV": (RidgeCV(ALPHAS), lambda e: e.alpha_),
    "grid search": (GRID, lambda e: e.best_params_["alpha"]),
    "pipeline": (
        make_pipeline(StandardScaler(), RidgeCV(ALPHAS)),
        lambda e: e[-1].alpha_,
    ),
    "target": (
        TransformedTargetRegressor(make_pipeline(StandardScaler(), RidgeCV(ALPHAS))),
        lambda e: e.regressor_[-1].alpha_,
    ),
    "one by one": (
        MultiOutputRegressor(RidgeCV(ALPHAS)),
        lambda e: [one.alpha_ for one in e.estimators_],
    ),
}


@pytest.mark.filterwarnings("ignore:the best alpha is the smallest")
@pytest.mark.parametrize("name", ENCODERS)
def test_penalties_are_not_chosen_on_repeats(repeated, name):
    X, Y, stimuli = repeated
    encoder, alpha = ENCODERS[name]
    leaky = fit_encoder(encoder, X, Y)
    groups = training_groups(stimulus_numbers(X))[0]
    assert len({*zip(groups, stimuli, strict=True)}) == len(set(groups)) == 24
    grouped = fit_encoder(encoder, X, Y, groups=groups)
    assert np.median(alpha(grouped)) > 30 * np.median(alpha(leaky))
    model = EncodingIdentification(encoder=encoder, standardize=False, cv=2).fit(X, Y)
    np.testing.assert_allclose(alpha(model.encoder_), alpha(grouped), rtol=1e-6)
    assert any("keeps the repeats" in note for note in model._training.notes)


def test_a_search_in_folds_of_groups_is_what_scikit_learn_gives(repeated):
    X, Y, stimuli = repeated
    found = fit_encoder(GRID, X, Y, groups=stimuli, cv=GroupKFold(5))
    search = GridSearchCV(
        Ridge(), {"alpha": ALPHAS}, scoring="neg_mean_squared_error", cv=GroupKFold(5)
    ).fit(X, Y, groups=stimuli)
    np.testing.assert_array_equal(
        found.cv_results_["mean_test_score"], search.cv_results_["mean_test_score"]
    )


@pytest.mark.parametrize("name", ["RidgeCV", "pipeline"])
def test_residuals_come_from_other_stimuli(repeated, name):
    X, Y, stimuli = repeated
    encoder = ENCODERS[name][0]
    cv = GroupKFold(3)
    found = out_of_fold_predictions(encoder, X, Y, groups=stimuli, cv=cv)
    for train, test in cv.split(X, Y, stimuli):
        groups = stimuli[train]
        inner = fit_encoder(encoder, X[train], Y[train], groups=groups, cv=cv)
        np.testing.assert_allclose(found[test], inner.predict(X[test]))


@pytest.mark.parametrize("cv", [5, LeaveOneGroupOut()])
@pytest.mark.parametrize("name", ["ridge", "RidgeCV", "pipeline"])
def test_as_few_groups_as_folds(repeated, name, cv):
    X, Y, stimuli = repeated
    encoder = ENCODERS[name][0]
    found = out_of_fold_predictions(encoder, X, Y, groups=stimuli % 5, cv=cv)
    assert np.isfinite(found).all()


def test_without_repeats_encoders_are_fitted_as_they_are(repeated):
    X, Y, stimuli = repeated
    _, first = np.unique(stimuli, return_index=True)
    X, Y = X[first], Y[first]
    assert training_groups(stimulus_numbers(X)) == (None, ())
    model = EncodingIdentification(encoder=RidgeCV(ALPHAS)).fit(X, Y)
    assert model.encoder_.alpha_ == RidgeCV(ALPHAS).fit(X / X.std(axis=0), Y).alpha_


def test_groups_that_part_repeats_are_refused(repeated):
    X, Y, _ = repeated
    model = EncodingIdentification(encoder=RidgeEncoder())
    with pytest.raises(ValueError, match="groups split the repeats of 24 training"):
        model.fit(X, Y, groups=np.arange(120) // 24)
    with pytest.raises(ValueError, match=r"responses has \(120,\)"):
        model.fit(X, Y, groups=np.arange(24))


@pytest.mark.parametrize(
    ("encoder", "message"),
    [
        (RidgeCV(ALPHAS, alpha_per_target=True), "cannot keep groups together; use R"),
        (GridSearchCV(RidgeCV(), {}), "estimator__cv within GridSearchCV"),
        (BaggingRegressor(RidgeCV()), "estimator__cv within BaggingRegressor"),
        (MLPRegressor(early_stopping=True), "early_stopping=True, which holds out"),
    ],
)
def test_encoders_that_cannot_keep_groups_are_refused(repeated, encoder, message):
    X, Y, _ = repeated
    with pytest.raises(ValueError, match=message):
        EncodingIdentification(encoder=encoder).fit(X, Y)


# scikit-learn says it less plainly
@pytest.mark.filterwarnings("ignore:The groups parameter is ignored by KFold")
def test_folds_of_the_user_that_part_repeats_are_warned_about(repeated):
    X, Y, stimuli = repeated
    with pytest.warns(UserWarning, match="trains on groups that it tests in 4 of 4"):
        fit_encoder(RidgeCV(ALPHAS, cv=KFold(4)), X, Y, groups=stimuli)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit_encoder(RidgeCV(ALPHAS, cv=GroupKFold(4)), X, Y, groups=stimuli)


def test_ensembles_of_features_keep_stimuli_apart(repeated):
    """Stimuli that few features do not tell apart stay different groups."""
    X, Y, stimuli = repeated
    X = np.column_stack([X[:, :8], stimuli % 2])
    curve = ensemble_size_curve(
        (X, Y), (X[:6] + 1, Y[:6]), sizes=[1, 9], vary="features", encoder=Ridge()
    )
    assert np.isfinite(curve.accuracy).all()


@pytest.mark.parametrize("encoder", [Ridge(), RidgeEncoder()])
def test_constant_columns_are_dropped_and_told(experiment, encoder):
    e = experiment
    plain, more = (
        EncodingIdentification(encoder=encoder).fit(pad(e.train), e.Y)
        for pad in (lambda X: X, lambda X: np.insert(X, [2, 5], 3.0, axis=1))
    )
    padded = np.insert(e.test, [2, 5], [[4.0, 3.0]], axis=1)
    np.testing.assert_allclose(more.predict(padded), plain.predict(e.test), rtol=1e-12)
    more.identify(padded, e.Y_test)
    plain.identify(e.test, e.Y_test)
    np.testing.assert_allclose(more.wins_, plain.wins_, atol=1e-12)
    assert "2 of 10 feature columns are constant" in " ".join(more.notes_)
    with pytest.raises(ValueError, match="model was trained on 10"):
        more.predict(e.test)
    twins = np.insert(e.test, [2, 5], [[4.0, 3.0]], axis=1)
    twins[1] = twins[0]
    twins[1, 2] = 9.0  # differs where training stimuli do not
    with pytest.raises(ValueError, match="candidates 0 and 1 have identical"):
        more.identify(twins, e.Y_test)
