"""Fit an encoder to responses, with residuals that say how noisy they are."""

from typing import NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import cross_val_predict

from neuroextrap.models.elastic_net._active_set import elastic_net_degrees_of_freedom
from neuroextrap.models.elastic_net._estimator import ElasticNetEncoder, encoder_splits


class TrainedModel(NamedTuple):
    """A fitted encoder and its residuals.

    Attributes
    ----------
    encoder : estimator
        Fitted on the usable features of the responses.
    residuals : ndarray of float32, shape (n_samples, n_targets)
        Residuals of training data, mean zero up to rounding.
    notes : tuple of str
        What a reader should know of them.
    """

    encoder: object
    residuals: np.ndarray
    notes: tuple


def train_encoder(encoder, X, Y, *, residuals="cross_validated", cv=5, groups=None):
    """Fit an encoder and compute its residuals on the training data.

    Parameters
    ----------
    encoder : estimator or None
        Multi-output regressor; None is `ElasticNetEncoder`.
    X : ndarray, shape (n_samples, n_columns)
        Scaled features.
    Y : ndarray, shape (n_samples, n_targets)
        Responses.
    residuals : {"cross_validated", "training"}
        Out-of-fold residuals, or residuals of the fit itself, inflated by the degrees
        of freedom it spent (elastic nets only).
    cv : int or splitter
        Folds of the residuals where the encoder brings none of its own.
    groups : ndarray, shape (n_samples,), or None
        Groups that cross-validation keeps together.

    Returns
    -------
    trained : TrainedModel
        Encoder, residuals and notes.

    Raises
    ------
    ValueError
        If `residuals` is unknown or not available for the encoder.
    """
    if residuals not in ("cross_validated", "training"):
        raise ValueError(
            f"residuals={residuals!r} is unknown; choose 'cross_validated' or "
            "'training'"
        )
    encoder = ElasticNetEncoder(cv=cv) if encoder is None else clone(encoder)
    elastic = isinstance(encoder, ElasticNetEncoder)
    if residuals == "training" and not elastic:
        raise ValueError(
            "residuals='training' needs the degrees of freedom of an "
            f"ElasticNetEncoder, got {type(encoder).__name__}; use 'cross_validated'"
        )
    fitted = encoder.fit(X, Y, groups=groups) if elastic else encoder.fit(X, Y)
    if residuals == "training":
        E, notes = _training_residuals(fitted, X, Y)
    elif elastic:
        E, notes = Y - fitted.cv_predictions_, ()
    else:
        splits = encoder_splits(cv, X, groups)
        E, notes = Y - cross_val_predict(clone(encoder), X, Y, cv=splits), ()
    return TrainedModel(fitted, E.astype(np.float32), notes)


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
