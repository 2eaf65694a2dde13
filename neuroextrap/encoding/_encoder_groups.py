"""Keep groups of samples together wherever an encoder cross-validates."""

import numpy as np
from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from neuroextrap.encoding._stimuli import row_keys
from neuroextrap.models._splitters import encoder_splits

_SAME_ROWS = (Pipeline, TransformedTargetRegressor, MultiOutputRegressor)
"""Encoders that pass all their rows, in order, to the encoders within them."""

REPEATS_NOTE = (
    "training stimuli are shown repeatedly; cross-validation keeps the repeats of a "
    "stimulus together"
)


def stimulus_numbers(X):
    """Tell stimuli by number: equal rows of features (n_samples, n_columns).

    >>> stimulus_numbers(np.array([[1.0], [2.0], [1.0]])).tolist()
    [0, 1, 0]
    """
    numbers = {}
    return np.array([numbers.setdefault(key, len(numbers)) for key in row_keys(X)])


def training_groups(X, groups=None):
    """Return groups that keep repeats of a stimulus together, and notes.

    Repeats are equal rows of the features `X` (n_samples, n_columns). Given `groups`
    (n_samples,) stay as they are, and a ValueError tells if they part repeats; without
    them repeated stimuli are groups (else None).

    >>> training_groups(np.array([[1.0], [2.0], [1.0]]))[0].tolist()
    [0, 1, 0]
    """
    stimuli = stimulus_numbers(X)
    n_stimuli = stimuli.max() + 1
    if groups is None:
        return (stimuli, (REPEATS_NOTE,)) if n_stimuli < len(X) else (None, ())
    groups = np.asarray(groups)
    if groups.shape != (len(X),):
        raise ValueError(
            f"groups must have one entry for every sample ({len(X)}), got shape "
            f"{groups.shape}"
        )
    _, codes = np.unique(groups, return_inverse=True)
    first = np.full(n_stimuli, -1)
    first[stimuli[::-1]] = codes[::-1]
    parted = np.unique(stimuli[codes != first[stimuli]]).size
    if parted:
        raise ValueError(
            f"groups part the repeats of {parted} training stimuli, so that penalties "
            "would be chosen on stimuli that were trained on; give the stimuli as "
            "groups, or groups=None"
        )
    return groups, ()


def fit_encoder(encoder, X, Y, *, groups=None, cv=5, random_state=0):
    """Fit a clone of an encoder whose own cross-validation keeps groups together.

    An encoder whose ``fit`` has a parameter ``groups`` gets them. In any other, every
    parameter named ``cv`` is replaced by folds that keep `groups` (n_samples,)
    together; where it is None (as in RidgeCV, which would leave single rows out), by
    `cv` of them, drawn by the seed `random_state`. ValueError for encoders in which
    that cannot be done. Without groups an encoder is fitted as it is.
    """
    encoder = clone(encoder)
    if groups is None:
        return encoder.fit(X, Y)
    if has_fit_parameter(encoder, "groups"):
        return encoder.fit(X, Y, groups=groups)
    own = _cv_parameters(encoder)
    splits = {
        name: encoder_splits(cv if given is None else given, X, groups, random_state)
        for name, given in own.items()
    }
    return encoder.set_params(**splits).fit(X, Y)


def out_of_fold_predictions(encoder, X, Y, *, groups=None, cv=5, random_state=0):
    """Predict every sample by an encoder that was trained on other groups.

    `random_state` is the seed of the folds where `cv` is their number. In the training
    rows of a fold the encoder's own folds are made anew, of at most as many groups as
    are left.
    """
    predictions = np.empty(np.shape(Y), dtype=np.result_type(Y, np.float32))
    for train, test in encoder_splits(cv, X, groups, random_state):
        inner, trained, folds = None, encoder, cv
        if groups is not None:
            inner = groups[train]
            n_groups = len(np.unique(inner))
            trained = _with_fewer_folds(encoder, n_groups)
            folds = min(cv, n_groups) if isinstance(cv, (int, np.integer)) else cv
        options = {"groups": inner, "cv": folds, "random_state": random_state}
        fitted = fit_encoder(trained, X[train], Y[train], **options)
        predictions[test] = fitted.predict(X[test]).reshape(predictions[test].shape)
    return predictions


def _with_fewer_folds(encoder, n_groups):
    """Return an encoder whose numbers of folds are at most `n_groups`."""
    parameters = encoder.get_params(deep=True)
    fewer = {
        name: n_groups
        for name, value in parameters.items()
        if _is_cv(name) and isinstance(value, (int, np.integer)) and value > n_groups
    }
    return clone(encoder).set_params(**fewer) if fewer else encoder


def _is_cv(name):
    """Say whether a parameter's (nested) name is that of folds."""
    return name == "cv" or name.endswith("__cv")


def _cv_parameters(encoder):
    """Return the folds of an encoder by name; ValueError where they cannot be set."""
    parameters = encoder.get_params(deep=True)
    found = {name: value for name, value in parameters.items() if _is_cv(name)}
    for name in found:
        _check_owners(name, encoder, parameters)
        if parameters.get(f"{name[:-2]}alpha_per_target"):
            raise ValueError(
                f"encoder={type(encoder).__name__} with alpha_per_target=True leaves "
                "single samples out and cannot keep groups together; use RidgeEncoder, "
                "which chooses a penalty per voxel by folds of groups"
            )
    early = [
        name
        for name, value in parameters.items()
        if name.rsplit("__", 1)[-1] == "early_stopping" and value
    ]
    if early:
        raise ValueError(
            f"encoder has {early[0]}={parameters[early[0]]!r}, which holds out single "
            "samples and cannot keep groups together; switch it off, or use "
            "RidgeEncoder or ElasticNetEncoder"
        )
    return found


def _check_owners(name, encoder, parameters):
    """Raise if folds lie within an encoder that passes on other rows than its own."""
    path = name.split("__")[:-1]
    owners = [parameters["__".join(path[:depth])] for depth in range(1, len(path))]
    owners = [encoder, *owners] if path else []
    for owner in owners:
        if not isinstance(owner, _SAME_ROWS):
            raise ValueError(
                f"encoder: groups cannot be kept together by {name} within "
                f"{type(owner).__name__}, which trains on parts of the samples; use "
                "RidgeEncoder, ElasticNetEncoder, or an encoder with one parameter cv"
            )
