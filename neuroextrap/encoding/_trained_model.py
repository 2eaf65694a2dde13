"""Train an analysis, and what its attributes and its folder keep of the encoders."""

import json
from typing import Any, NamedTuple

import numpy as np
from sklearn import linear_model

from neuroextrap.analysis._analysis_files import source_files
from neuroextrap.analysis._samples import Samples, read_samples
from neuroextrap.encoding._stimuli import (
    FeatureScaling,
    feature_names,
    features_of_responses,
)
from neuroextrap.encoding._stimulus_features import Trained, training_groups
from neuroextrap.encoding._training import voxel_penalties
from neuroextrap.encoding._training_folds import (
    Learned,
    Shown,
    TrainingData,
    training_rule,
)
from neuroextrap.models._ridge import RidgeEncoder
from neuroextrap.models.elastic_net._estimator import ElasticNetEncoder


class Training(NamedTuple):
    """What identification needs of the training data besides the encoder."""

    scaling: FeatureScaling  # of the stimulus features
    location: np.ndarray  # mean response of every voxel of shape (n_features,)
    shown: Any = None  # Trained: stimuli that were trained on
    notes: tuple = ()
    rule: str = ""  # of the margins
    data: Any = None  # TrainingData

    @property
    def stimuli(self):
        """Stimuli of the residuals, (n_observations,); None of the user's own."""
        return self.shown.numbers if self.data.noise is None else None


def read_responses(model, imgs, rows, stimuli):
    """Read training responses, one for each of the rows that `stimuli` were told by."""
    counted = "features" if stimuli is None else "stimuli"
    given = {"n_samples": len(rows), "counted": counted, "memory": model.memory}
    return read_samples(model.mask, imgs, dtype=None, **given)


def trained_attributes(model, features, imgs, groups, stimuli):
    """Train an analysis on what came to ``fit``; return its attributes by name."""
    X, names = features_of_responses(features, stimuli)
    scaling = FeatureScaling.of(X, model.standardize)
    shown = Trained.of(scaling.varying(X), names)
    groups, group_notes = training_groups(shown.numbers, groups)
    samples = read_responses(model, imgs, X, stimuli)
    learned = Learned.of(model, X, samples, groups, scaling, len(shown.features))
    rule, rule_notes = training_rule(model, learned)
    noise = None if model.noise_covariance is None else learned.noise
    data = TrainingData.of(model, model.encoder, Shown.of(X, samples, groups), noise)
    notes = (*samples.notes, *scaling.notes, *group_notes, *learned.notes, *rule_notes)
    usable = samples.usable
    columns = feature_names(features)
    return ({} if columns is None else {"feature_names_in_": columns}) | {
        "encoder_": learned.trained.encoder,
        "masker_": samples.masker,
        "penalties_": voxel_penalties(learned.trained.encoder, usable),
        "usable_": usable,
        "n_elements_": len(usable),
        "residuals_": learned.noise,
        "_training_files": source_files(imgs),
        "_training": Training(scaling, samples.location, shown, notes, rule, data),
    }


_PREFIX = "trained "  # before the names among the arrays of the run
_ENCODERS = {name: getattr(linear_model, name) for name in linear_model.__all__}
_ENCODERS |= {kind.__name__: kind for kind in (RidgeEncoder, ElasticNetEncoder)}
"""Encoders that are made again from the names and parameters in a folder."""


def model_arrays(model):
    """Return coefficients, if linear, and training data, if they can be read again."""
    training, usable = model._training, model.usable_
    names = getattr(model, "feature_names_in_", None)
    columns = None if names is None else names.astype(str)
    arrays = {"usable": usable, "columns": columns, **training.scaling._asdict()}
    arrays |= _coefficients(model.encoder_, training, usable.sum())
    if (words := _encoder_words(training.data.model)) is not None:
        shown = training.data.shown
        arrays |= {
            "encoder": words,
            "features": shown.X,
            "codes": shown.codes,
            "responses": shown.samples.X,
            "groups": shown.groups,
            "noise": training.data.noise,
            "candidates": model.run_.training.candidates,
        }
    return with_prefix(_PREFIX, arrays)


def with_prefix(prefix, arrays):
    """Return the arrays of a dict that are there, under longer names."""
    known = {name: value for name, value in arrays.items() if value is not None}
    return {prefix + name: np.asarray(value) for name, value in known.items()}


def of_prefix(prefix, arrays):
    """Return what :func:`with_prefix` was given."""
    own = [name for name in arrays if name.startswith(prefix)]
    return {name.removeprefix(prefix): arrays[name] for name in own}


def restore_model(model, arrays, location):
    """Give a model that was read what :func:`model_arrays` returned; TrainingData."""
    given = of_prefix(_PREFIX, arrays)
    data = _training_data(model, given, location) if "encoder" in given else None
    if "coef" in given:
        model.encoder_ = encoder = linear_model.LinearRegression()
        encoder.coef_, encoder.intercept_ = given["coef"], given["intercept"]
        model.usable_ = given["usable"]
        if "columns" in given:
            model.feature_names_in_ = given["columns"].astype(object)
        scaling = FeatureScaling(*(given[name] for name in FeatureScaling._fields))
        model._training = Training(scaling, location, data=data)
    return data


def _coefficients(encoder, training, n_targets):
    """Return the arrays that a linear encoder predicts by; {} of any other encoder."""
    coef = np.asarray(getattr(encoder, "coef_", ()))
    if coef.ndim == 1:
        coef = coef[np.newaxis]
    if coef.shape != (n_targets, training.scaling.kept.sum()):
        return {}
    intercept = np.broadcast_to(encoder.intercept_, n_targets)
    X = training.scaling(training.data.shown.X[:8])
    predicted = np.asarray(encoder.predict(X)).reshape(len(X), -1)
    # an encoder may do other things with its coefficients
    linear = np.allclose(predicted, X @ coef.T + intercept, rtol=1e-3, atol=1e-6)
    return {"coef": coef, "intercept": intercept} if linear else {}


def _encoder_words(model):
    """Return the encoder of a model as JSON; None if it cannot be read from that."""
    encoder = model.encoder
    known = encoder is None or type(encoder) in _ENCODERS.values()
    if not (known and isinstance(model.cv, (int, np.integer))):
        return None
    given = {} if encoder is None else encoder.get_params(deep=False)
    kind = None if encoder is None else type(encoder).__name__
    try:
        return json.dumps([kind, given], default=lambda value: value.tolist())
    except (AttributeError, TypeError):  # a splitter, a generator of random numbers
        return None


def _training_data(model, given, location):
    """Make the TrainingData of a model that was read."""
    kind, parameters = json.loads(str(given["encoder"]))
    encoder = None if kind is None else _ENCODERS[kind](**parameters)
    usable = given["usable"]
    samples = Samples(given["responses"], location, usable, usable, None, ())
    shown = Shown(given["features"], samples, given["codes"], given.get("groups"))
    more = given.get("noise"), given["candidates"]
    return TrainingData.of(model, encoder, shown, *more)
