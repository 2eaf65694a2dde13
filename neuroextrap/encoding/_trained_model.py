"""Train an analysis, and what its attributes and its folder keep of the encoders."""

import json

import numpy as np
from sklearn import linear_model

from neuroextrap.analysis._analysis_files import source_files
from neuroextrap.analysis._region_run import RunParameters
from neuroextrap.analysis._samples import Samples
from neuroextrap.encoding._encoding_run import EncodingRun
from neuroextrap.encoding._experiment import Experiment, observed_plan
from neuroextrap.encoding._stimuli import (
    FeatureScaling,
    feature_names,
    features_of_responses,
)
from neuroextrap.encoding._stimulus_features import (
    names_of_stimuli,
    stimulus_numbers,
    training_groups,
)
from neuroextrap.encoding._training import read_responses, voxel_penalties
from neuroextrap.encoding._training_folds import (
    Learned,
    Shown,
    Training,
    training_rule,
)
from neuroextrap.models._ridge import RidgeEncoder
from neuroextrap.models.elastic_net._estimator import ElasticNetEncoder


def trained_attributes(model, features, imgs, groups, stimuli):
    """Train an analysis on what came to ``fit``; return its attributes by name."""
    X, names = features_of_responses(features, stimuli)
    scaling = FeatureScaling.of(X, model.standardize)
    numbers = stimulus_numbers(scaling.varying(X))
    names = names_of_stimuli(numbers, names)
    groups, group_notes = training_groups(numbers, groups)
    samples = read_responses(model, imgs, X, stimuli)
    shown = Shown.of(X, samples, numbers, groups)
    learned = Learned.of(model, X, shown, scaling, len(shown.X))
    rule, rule_notes = training_rule(model, learned)
    noise = None if model.noise_covariance is None else learned.noise
    notes = (*samples.notes, *scaling.notes, *group_notes, *learned.notes, *rule_notes)
    given = model, model.encoder, scaling, shown, noise
    usable = samples.usable
    columns = feature_names(features)
    return ({} if columns is None else {"feature_names_in_": columns}) | {
        "encoder_": learned.encoder,
        "masker_": samples.masker,
        "penalties_": voxel_penalties(learned.encoder, usable),
        "usable_": usable,
        "n_elements_": len(usable),
        "residuals_": learned.noise,
        "_training_files": source_files(imgs),
        "_training": Training.of(*given, names=names, notes=notes, rule=rule),
    }


_TRAINED, _PENALTY = "trained ", "penalty of "  # before names of arrays of the run
_ENCODERS = {name: getattr(linear_model, name) for name in linear_model.__all__}
_ENCODERS |= {kind.__name__: kind for kind in (RidgeEncoder, ElasticNetEncoder)}


def model_arrays(model):
    """Return the arrays, without Python objects, of which a model is made again."""
    run = model.run_
    arrays = {name: getattr(run.test, name) for name in Experiment._fields}
    arrays |= {"location": run.location, "test_stimuli": run.test_stimuli}
    arrays |= {_PENALTY + name: each for name, each in model.penalties_.items()}
    if run.test.folds is None and "encoder_" in vars(model):
        trained = _trained_arrays(model)
        arrays |= {_TRAINED + name: each for name, each in trained.items()}
    return {n: np.asarray(each) for n, each in arrays.items() if each is not None}


def _trained_arrays(model):
    """Return coefficients, if linear, and training data, if they can be read again."""
    training, usable = model._training, model.usable_
    names = getattr(model, "feature_names_in_", None)
    columns = None if names is None else names.astype(str)
    arrays = {"usable": usable, "columns": columns, **training.scaling._asdict()}
    arrays |= _coefficients(model.encoder_, training, usable.sum())
    if (words := _encoder_words(training.model)) is not None:
        shown = training.shown
        arrays |= {
            "encoder": words,
            "features": shown.X,
            "codes": shown.codes,
            "responses": shown.samples.X,
            "groups": shown.groups,
            "noise": training.noise,
            "candidates": model.run_.candidates,
        }
    return arrays


def restore_model(model, results, arrays):
    """Make run, penalties and a linear encoder again of what was stored."""
    given, model.penalties_ = (
        {n.removeprefix(start): arrays[n] for n in arrays if n.startswith(start)}
        for start in (_TRAINED, _PENALTY)
    )
    training = _read_training(model, given, arrays["location"]) if given else None
    shown = {"training": training, "candidates": given.get("candidates")}
    model._run = _read_run(model, results, arrays, **shown)
    model.test_codes_ = model._run.test_codes
    if "coef" in given:
        model.encoder_ = encoder = linear_model.LinearRegression()
        encoder.coef_, encoder.intercept_ = given["coef"], given["intercept"]
        model.usable_ = given["usable"]
        if "columns" in given:
            model.feature_names_in_ = given["columns"].astype(object)
        model._training = training


def _read_run(model, results, arrays, **others):
    """Make the EncodingRun of stored arrays and results again."""
    parts = {name: arrays.get(name) for name in Experiment._fields}
    parts |= {"n_candidates": int(arrays["n_candidates"]), "rule": str(arrays["rule"])}
    test = Experiment(**parts)
    return EncodingRun.of(
        RunParameters.of(model),
        test,
        results.choice,
        n_repeats=results.n_repeats,
        masker=model.masker_,
        plan=observed_plan(model, test, results.set_sizes),
        classes=model.classes_,
        set_sizes=results.set_sizes,
        notes=results.notes,
        bg_img=model.bg_img_,
        location=arrays["location"],
        test_stimuli=arrays["test_stimuli"],
        **others,
    )


def _coefficients(encoder, training, n_targets):
    """Return the arrays that a linear encoder predicts by; {} of any other encoder."""
    coef = np.asarray(getattr(encoder, "coef_", ()))
    if coef.ndim == 1:
        coef = coef[np.newaxis]
    if coef.shape != (n_targets, training.scaling.kept.sum()):
        return {}
    intercept = np.broadcast_to(encoder.intercept_, n_targets)
    if training.shown is not None:  # else a linear encoder was read
        X = training.scaling(training.shown.X[:8])
        predicted = np.asarray(encoder.predict(X)).reshape(len(X), -1)
        # an encoder may do other things with its coefficients
        if not np.allclose(predicted, X @ coef.T + intercept, rtol=1e-3, atol=1e-6):
            return {}
    return {"coef": coef, "intercept": intercept}


def _encoder_words(model):
    """Return the encoder of a model as JSON; None if it cannot be read from that."""
    if model is None or not isinstance(model.cv, (int, np.integer)):
        return None
    encoder = model.encoder
    if not (encoder is None or type(encoder) in _ENCODERS.values()):
        return None
    given = {} if encoder is None else encoder.get_params(deep=False)
    kind = None if encoder is None else type(encoder).__name__
    try:
        return json.dumps([kind, given], default=lambda value: value.tolist())
    except (AttributeError, TypeError):  # a splitter, a generator of random numbers
        return None


def _read_training(model, given, location):
    """Make the Training of a model that was read, as far as it was stored."""
    scaling = FeatureScaling(*(given[name] for name in FeatureScaling._fields))
    if "encoder" not in given:
        return Training(scaling, location)
    kind, parameters = json.loads(str(given["encoder"]))
    encoder = None if kind is None else _ENCODERS[kind](**parameters)
    usable = given["usable"]
    samples = Samples(given["responses"], location, usable, usable, None, ())
    shown = Shown(given["features"], samples, given["codes"], given.get("groups"))
    return Training.of(model, encoder, scaling, shown, given.get("noise"))
