"""Fit an encoder to responses, with residuals that say how noisy they are."""

from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from neuroextrap.analysis._samples import read_residuals
from neuroextrap.encoding._encoder_groups import (
    fit_encoder,
    out_of_fold_predictions,
)
from neuroextrap.encoding._margins import RULES
from neuroextrap.encoding._response_noise import COVARIANCES
from neuroextrap.encoding._stimuli import FeatureScaling, check_groups
from neuroextrap.models._ridge import RidgeEncoder
from neuroextrap.models.elastic_net._active_set import elastic_net_degrees_of_freedom
from neuroextrap.models.elastic_net._estimator import ElasticNetEncoder
from neuroextrap.stats._null_counts import spread_known

_SOME_VOXELS = 64


class TrainedModel(NamedTuple):
    """A fitted encoder, its residuals, and what a reader should know of them."""

    encoder: Any  # fitted on the usable voxels
    residuals: np.ndarray  # float32 (n_samples, n_targets), mean zero up to rounding
    notes: tuple


class Training(NamedTuple):
    """What identification needs of the training data besides the encoder."""

    scaling: FeatureScaling  # of the stimulus features
    location: np.ndarray  # mean response of every voxel of shape (n_features,)
    keys: frozenset  # keys of the stimuli that were trained on
    notes: tuple
    rule: str  # of the margins
    stimuli: np.ndarray | None  # of the residuals, (n_observations,), where known
    responses: np.ndarray  # of some voxels, as `some_responses` gives them


def some_responses(samples, usable):
    """Return responses of the first usable voxels, by which they are known again."""
    columns = np.flatnonzero(usable)[:_SOME_VOXELS]
    return samples.X[:, columns] + samples.location[columns]


def check_choices(model):
    """Raise ValueError where a parameter of a model is none of the names allowed."""
    allowed = {
        "covariance": tuple(COVARIANCES),
        "rule": (*RULES, "auto"),
        "residuals": ("cross_validated", "training"),
        "repeats": ("average", "keep"),
    }
    for name, names in allowed.items():
        value = getattr(model, name)
        if value not in names:
            raise ValueError(f"{name}={value!r} is unknown; choose one of {names}")


def check_encoder(encoder):
    """Raise TypeError unless an encoder is None or a scikit-learn regressor."""
    usable = all(hasattr(encoder, name) for name in ("get_params", "fit", "predict"))
    if encoder is not None and (isinstance(encoder, type) or not usable):
        raise TypeError(
            f"encoder={encoder!r} must be a scikit-learn regressor that is not fitted; "
            "give an instance such as ElasticNetEncoder()"
        )


def encoder_of_columns(encoder, columns):
    """Return an encoder for some of the columns that it was described for.

    `columns` index features, or mark them by a boolean mask; bands of a `RidgeEncoder`
    are those of these columns. Other encoders are returned as they are.
    """
    if not isinstance(encoder, RidgeEncoder) or encoder.bands is None:
        return encoder
    bands, columns = np.asarray(encoder.bands), np.asarray(columns)
    marked = columns.dtype == bool
    fits = len(bands) == len(columns) if marked else len(bands) > columns.max()
    if not fits:  # the encoder says what is wrong
        return encoder
    return clone(encoder).set_params(bands=bands[columns])


def train_encoder(
    encoder,
    X,
    Y,
    *,
    residuals="cross_validated",
    cv=5,
    groups=None,
    random_state=0,
):
    """Fit an encoder (None: `ElasticNetEncoder`) and compute its residuals.

    `X` are scaled features (n_samples, n_columns), `Y` responses (n_samples,
    n_targets). Folds, the encoder's own and those of the residuals, keep `groups`
    together. Residuals are out of fold
    ("cross_validated"; `cv`, an int with the seed `random_state`, makes the folds where
    the encoder brings none of its own),
    or those of the fit itself, inflated by the degrees of freedom it spent ("training";
    elastic nets only, ValueError for others). Returns TrainedModel.
    """
    check_encoder(encoder)
    groups = check_groups(groups, len(X))
    if encoder is None:
        encoder = ElasticNetEncoder(cv=cv, random_state=random_state)
    elastic = isinstance(encoder, ElasticNetEncoder)
    if residuals == "training" and not elastic:
        raise ValueError(
            "residuals='training' needs the degrees of freedom of an "
            f"ElasticNetEncoder, got {type(encoder).__name__}; use 'cross_validated'"
        )
    folds = {"groups": groups, "cv": cv, "random_state": random_state}
    fitted, notes = fit_encoder(encoder, X, Y, **folds), ()
    if residuals == "training":
        E, notes = _training_residuals(fitted, X, Y)
    elif isinstance(fitted, (ElasticNetEncoder, RidgeEncoder)):
        E = Y - fitted.cv_predictions_
    else:
        E = Y - out_of_fold_predictions(encoder, X, Y, **folds)
    return TrainedModel(fitted, E.astype(np.float32), notes)


def voxel_penalties(fitted, usable):
    """Return the penalties chosen for each voxel, a dict of (n_features,).

    ``alpha`` and ``l1_ratio`` as far as a fitted encoder has one for each target, and
    ``weight_of_BAND`` of every band of a `RidgeEncoder`; NaN where not `usable`.
    """
    found = {
        name: np.asarray(getattr(fitted, f"{name}_", ()), dtype=float)
        for name in ("alpha", "l1_ratio")
    }
    if getattr(fitted, "bands_", None) is not None:
        columns = zip(fitted.bands_, fitted.band_weights_.T, strict=True)
        found |= {f"weight_of_{band}": weights for band, weights in columns}
    each = {n: v for n, v in found.items() if v.shape == (usable.sum(),)}
    return spread_known(usable, each)


def noise_rows(noise_covariance, residuals, usable, masker):
    """Return centered residuals of all voxels, from the user or from the model.

    `noise_covariance` is the user's parameter; where it is None the model's
    `residuals` of shape (n_samples, n_usable) are taken. Returns float32 of shape
    (n_observations, n_features), 0 where a voxel is not `usable`.
    """
    if noise_covariance is None:
        rows = np.zeros((len(residuals), len(usable)), dtype=np.float32)
        rows[:, usable] = residuals
        return rows
    given = read_residuals(noise_covariance, masker, usable)
    rows = np.where(usable, given, 0)
    return (rows - rows.mean(axis=0)).astype(np.float32)


def _training_residuals(fitted, X, Y):
    """Residuals of the fit, so scaled that E'E / N has the right expectation."""
    spent = elastic_net_degrees_of_freedom(
        X, fitted.coef_, fitted.alpha_, fitted.l1_ratio_
    )
    left = len(X) - spent
    if left.min() < 1:
        raise ValueError(
            f"residuals='training': {np.sum(left < 1)} models interpolate their "
            "training data; use 'cross_validated'"
        )
    note = (
        "the noise covariance comes from residuals of the training fit, inflated by "
        "degrees of freedom"
    )
    return (Y - fitted.predict(X)) * np.sqrt(len(X) / left), (note,)
