"""Trained encoders as arrays without Python objects: what a folder keeps of them."""

import json

import numpy as np
from sklearn import linear_model

from neuroextrap.analysis._samples import Samples
from neuroextrap.encoding._model_training import Training
from neuroextrap.encoding._stimuli import FeatureScaling
from neuroextrap.encoding._training_folds import Shown, TrainingData
from neuroextrap.models._ridge import RidgeEncoder
from neuroextrap.models.elastic_net._estimator import ElasticNetEncoder

_PREFIX = "trained "  # before the names among the arrays of the run
_ENCODERS = {name: getattr(linear_model, name) for name in linear_model.__all__}
_ENCODERS |= {kind.__name__: kind for kind in (RidgeEncoder, ElasticNetEncoder)}
"""Encoders that are made again from the names and parameters in a folder."""


def model_arrays(model):
    """Return the trained encoder of an EncodingIdentification, a dict of arrays.

    Coefficients of a linear encoder, by which it predicts; and training data, by which
    posteriors learn how certain to be, if the encoder can be made again from words.
    """
    training, usable = model._training, model.usable_
    arrays = {"usable": usable, **training.scaling._asdict()}
    if (names := getattr(model, "feature_names_in_", None)) is not None:
        arrays["columns"] = names.astype(str)
    arrays |= _coefficients(model.encoder_, training, usable.sum())
    words = _encoder_words(training.data.model)
    if words is not None:
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
    return {
        _PREFIX + name: np.asarray(value)
        for name, value in arrays.items()
        if value is not None
    }


def restore_model(model, arrays, location):
    """Give a model that was read what :func:`model_arrays` returned; TrainingData.

    `location` (n_features,) are the mean training responses. Returns None where no
    training data were kept.
    """
    given = {
        name.removeprefix(_PREFIX): values
        for name, values in arrays.items()
        if name.startswith(_PREFIX)
    }
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
