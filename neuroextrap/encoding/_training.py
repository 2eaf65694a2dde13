"""Fit an encoder that keeps groups or runs together, with its residuals."""

from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from neuroextrap.analysis._region_run import RunParameters
from neuroextrap.analysis._samples import read_residuals, read_samples
from neuroextrap.design._permutations import check_exchange
from neuroextrap.encoding._continuous_runs import Runs, rescaled
from neuroextrap.encoding._stimuli import (
    FeatureScaling,
    check_as_trained,
    pair_responses,
)
from neuroextrap.encoding._stimulus_features import check_new_runs, same_features
from neuroextrap.models._delayer import Delayer, check_delays
from neuroextrap.models._ridge import RidgeEncoder
from neuroextrap.models._splitters import encoder_splits
from neuroextrap.models.elastic_net._estimator import ElasticNetEncoder
from neuroextrap.stats._null_counts import spread_known
from neuroextrap.stats._validation import brief

# encoders that pass all their rows, in order, to the encoders within them
_SAME_ROWS = (Pipeline, TransformedTargetRegressor, MultiOutputRegressor)
_FEW_STIMULI = 100


def fit_encoder(encoder, X, Y, *, groups=None, cv=5, random_state=0):
    """Fit a clone of an encoder whose own cross-validation keeps groups together.

    An encoder whose ``fit`` takes groups gets them. In any other, every parameter named
    ``cv`` is replaced by folds of groups; if it is None (as in RidgeCV, which would
    leave single rows out), by `cv` of them, drawn by `random_state`.
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
    """Predict every sample by an encoder that was trained on other groups."""
    predictions = np.empty(np.shape(Y), dtype=np.result_type(Y, np.float32))
    for train, test in encoder_splits(cv, X, groups, random_state):
        inner, trained, folds = None, encoder, cv
        if groups is not None:
            inner = groups[train]
            n_groups = len(np.unique(inner))
            trained = with_fewer_folds(encoder, n_groups)
            folds = min(cv, n_groups) if isinstance(cv, (int, np.integer)) else cv
        options = {"groups": inner, "cv": folds, "random_state": random_state}
        fitted = fit_encoder(trained, X[train], Y[train], **options)
        predictions[test] = fitted.predict(X[test]).reshape(predictions[test].shape)
    return predictions


def with_fewer_folds(encoder, n_groups):
    """Return an encoder whose numbers of folds are at most `n_groups`."""
    fewer = {
        name: n_groups
        for name, value in _named(encoder, "cv").items()
        if isinstance(value, (int, np.integer)) and value > n_groups
    }
    return clone(encoder).set_params(**fewer) if fewer else encoder


def _named(encoder, last):
    """Return the parameters of an encoder, and of those within it, of one name."""
    parameters = encoder.get_params(deep=True)
    return {n: value for n, value in parameters.items() if n.split("__")[-1] == last}


def _cv_parameters(encoder):
    """Return the folds of an encoder by name; ValueError if they cannot be set."""
    parameters, named = encoder.get_params(deep=True), _named(encoder, "cv")
    for name in named:
        _check_owners(name, encoder, parameters)
        if parameters.get(f"{name[:-2]}alpha_per_target"):
            raise ValueError(
                f"encoder={type(encoder).__name__} with alpha_per_target=True leaves "
                "single samples out and cannot keep groups together; use RidgeEncoder, "
                "which chooses a penalty per voxel by folds of groups"
            )
    early = [name for name, value in _named(encoder, "early_stopping").items() if value]
    if early:
        raise ValueError(
            f"encoder has {early[0]}={parameters[early[0]]!r}, which holds out single "
            "samples and cannot keep groups together; switch it off, or use "
            "RidgeEncoder or ElasticNetEncoder"
        )
    return named


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


def check_choices(model):
    """Raise ValueError if a parameter of a model is none that a run could use."""
    RunParameters.of(model)
    check_exchange(model.exchange)


def check_encoder(encoder):
    """Raise TypeError unless an encoder is None or a scikit-learn regressor."""
    usable = all(hasattr(encoder, name) for name in ("get_params", "fit", "predict"))
    if encoder is not None and (isinstance(encoder, type) or not usable):
        raise TypeError(
            f"encoder={brief(encoder)} must be a scikit-learn regressor that is not "
            "fitted; give an instance such as ElasticNetEncoder()"
        )


def chosen_encoder(encoder, n_stimuli, *, cv=5, random_state=0, n_jobs=1):
    """Return an encoder, or the default for so many training stimuli; and notes."""
    check_encoder(encoder)
    if encoder is not None:
        return encoder, ()
    if n_stimuli >= _FEW_STIMULI:
        return ElasticNetEncoder(cv=cv, n_jobs=n_jobs, random_state=random_state), ()
    note = (
        f"the encoder is a RidgeEncoder, the default where fewer than {_FEW_STIMULI} "
        f"stimuli are trained on ({n_stimuli})"
    )
    return RidgeEncoder(cv=cv, random_state=random_state), (note,)


def encoder_of_columns(encoder, columns):
    """Return an encoder with the bands of `columns` (indices, or a mask) only."""
    if not isinstance(encoder, RidgeEncoder) or encoder.bands is None:
        return encoder
    bands, columns = np.asarray(encoder.bands), np.asarray(columns)
    marked = columns.dtype == bool
    fits = len(bands) == len(columns) if marked else len(bands) > columns.max()
    return clone(encoder).set_params(bands=bands[columns]) if fits else encoder


def train_encoder(encoder, X, Y, **folds):
    """Fit an encoder; return it and its out-of-fold residuals, shaped as `Y`."""
    fitted = fit_encoder(encoder, X, Y, **folds)
    if isinstance(fitted, (ElasticNetEncoder, RidgeEncoder)):
        E = Y - fitted.cv_predictions_
    else:
        E = Y - out_of_fold_predictions(encoder, X, Y, **folds)
    return fitted, E.astype(np.float32)


def voxel_penalties(fitted, usable):
    """Return the penalties of each voxel by name, (n_features,); NaN if not usable."""
    penalties = {
        name: np.asarray(getattr(fitted, f"{name}_", ()), dtype=float)
        for name in ("alpha", "l1_ratio")
    }
    if getattr(fitted, "bands_", None) is not None:
        columns = zip(fitted.bands_, fitted.band_weights_.T, strict=True)
        penalties |= {f"weight_of_{band}": weights for band, weights in columns}
    each = {n: v for n, v in penalties.items() if v.shape == (usable.sum(),)}
    return spread_known(usable, each)


def read_responses(model, imgs, rows, stimuli):
    """Read training responses, one for each of the rows that `stimuli` were told by."""
    counted = "features" if stimuli is None else "stimuli"
    given = {"n_samples": len(rows), "counted": counted, "memory": model.memory}
    return read_samples(model.mask, imgs, dtype=None, **given)


def noise_rows(noise_covariance, residuals, usable, masker):
    """Return centered residuals of all voxels, 0 where one is not usable."""
    if noise_covariance is None:
        rows = np.zeros((len(residuals), len(usable)), dtype=np.float32)
        rows[:, usable] = residuals
        return rows
    given = read_residuals(noise_covariance, masker, usable)
    rows = np.where(usable, given, 0)
    return (rows - rows.mean(axis=0)).astype(np.float32)


class HeldOut(NamedTuple):
    """Held-out responses of every stimulus, repeats averaged, and their predictions."""

    responses: np.ndarray  # (n_rows, n_usable)
    predictions: np.ndarray  # (n_rows, n_usable)
    run: np.ndarray  # number of the stimulus of each row, (n_rows,)
    noise_variance: np.ndarray | None  # (n_usable,), None without repeats
    usable: np.ndarray  # (n_voxels,)
    t_r: float | None
    rows: np.ndarray  # of the predictions of all volumes, (n_rows,)


_N_BLOCKS = 5  # of a single run, where cv is a splitter


class TrainedRuns(NamedTuple):
    """What training on runs has found, and these runs."""

    scaling: FeatureScaling
    delayer: Delayer
    encoder: Any  # fitted on the usable voxels
    residual_variance: np.ndarray  # (n_voxels,), NaN where not usable
    runs: Runs
    within_runs: str | None

    @classmethod
    def of(cls, model, runs) -> Self:
        """Train the encoder of a ContinuousEncoding on Runs."""
        scaling = FeatureScaling.of(runs.features[runs.kept], model.standardize)
        delayer = Delayer(model.delays).fit(runs.features[:, scaling.kept])
        whole = isinstance(model.cv, (int, np.integer))
        n_folds = model.cv if whole else _N_BLOCKS
        units = cross_validation_units(runs.run, n_folds, model.delays)[runs.kept]
        n_units = len(np.unique(units))
        encoder, residuals = train_encoder(
            with_fewer_folds(_encoder_of_delays(model, runs, scaling.kept), n_units),
            _delayed(runs, scaling, delayer, model.within_runs)[runs.kept],
            runs.responses[runs.kept][:, runs.usable],
            cv=min(n_folds, n_units) if whole else model.cv,
            groups=units,
            random_state=model.random_state,
        )
        squares = np.square(residuals, dtype=float).mean(axis=0)
        variance = spread_known(runs.usable, {"": squares})[""]
        return cls(scaling, delayer, encoder, variance, runs, model.within_runs)

    @property
    def notes(self):
        """What a reader should know about the training data, a tuple of str."""
        n_left_out, n_voxels = int((~self.runs.usable).sum()), len(self.runs.usable)
        left_out = f"{n_left_out} of {n_voxels} voxels were left out"
        notes = (f"{left_out} (NaN, or constant in a run)",) if n_left_out else ()
        return (*notes, *self.scaling.notes)

    def test(self, runs):
        """Predict new Runs, and average repeats; returns HeldOut."""
        n_voxels, n_columns = len(self.runs.usable), len(self.scaling.kept)
        check_as_trained("imgs has", "voxels", len(runs.usable), n_voxels)
        check_as_trained("features has", "columns", runs.features.shape[1], n_columns)
        check_new_runs(self.runs, runs)
        usable = self.runs.usable & runs.usable
        if not usable.any():
            raise ValueError(
                "imgs has no voxel that varies in training and in these runs; check "
                "the images"
            )
        predictions = self.predict(runs)[:, runs.usable[self.runs.usable]]
        return average_repeats(runs._replace(usable=usable), predictions)

    def predict(self, runs, band=None):
        """Predict all volumes of Runs, (n_volumes, n_usable), or the part of a band.

        All bands' parts add up to the prediction but for a constant.
        """
        X = _delayed(runs, self.scaling, self.delayer, self.within_runs)
        if band is not None:
            own = np.asarray(self.runs.bands)[self.scaling.kept] == band
            X = X * np.tile(own, X.shape[1] // len(own))
        return self.encoder.predict(X).reshape(len(X), -1)


def cross_validation_units(run, n_folds, delays):
    """Return runs, or blocks of a single run longer than twice the largest delay."""
    if run.max() > 0:
        return run
    length, n_delayed = len(run) // n_folds, np.abs(check_delays(delays)).max()
    if length <= 2 * n_delayed:
        raise ValueError(
            f"a single run of {len(run)} volumes gives {n_folds} blocks of {length}, "
            f"which are not longer than twice the largest delay ({n_delayed}); give "
            "more runs, or fewer folds (cv)"
        )
    return np.arange(len(run)) * n_folds // len(run)


def average_repeats(runs, predictions):
    """Average runs with equal features, which show one stimulus; returns HeldOut."""
    parts, start = runs.by_run, np.flatnonzero(np.diff(runs.run, prepend=-1))
    first = [next(i for i, e in enumerate(parts) if same_features(e, s)) for s in parts]
    place = np.arange(len(runs.run)) + (start[first] - start)[runs.run]
    rows, place = np.unique(place[runs.kept], return_inverse=True)
    responses = runs.responses[runs.kept][:, runs.usable]
    paired = pair_responses(responses, len(rows), stimuli=place, repeats="average")
    order = np.argsort(paired.codes)  # a volume may be kept in a later repeat only
    return HeldOut(
        paired.responses[order],
        predictions[rows],
        np.unique(runs.run[rows], return_inverse=True)[1],
        paired.noise_variance,
        runs.usable,
        runs.t_r,
        rows,
    )


def _delayed(runs, scaling, delayer, within_runs):
    """Return features scaled, delayed, and centered as responses are."""
    reach = np.abs(check_delays(delayer.delays)).max()
    lengths = np.bincount(runs.run)
    if reach >= lengths.min():
        raise ValueError(
            f"a delay of {reach} volumes is as long as run {lengths.argmin()} "
            f"({lengths.min()} volumes); give delays in volumes, those from about 2 to "
            "8 seconds"
        )
    delayed = delayer.transform(scaling(runs.features), runs.run)
    how = None if within_runs is None else "center"
    return rescaled(delayed, runs.run, how, runs.kept)


def with_bands(runs, encoder):
    """Return Runs with the bands of features or of the encoder; one band is none."""
    bands, own = runs.bands, getattr(encoder, "bands", None)
    if own is not None:
        if bands is not None:
            raise ValueError(
                "bands were given by the features and by the encoder; leave bands=None"
            )
        bands, n_columns = np.asarray(own), runs.features.shape[1]
        if bands.shape != (n_columns,):
            raise ValueError(
                f"bands of the encoder has {len(bands)} entries, features has "
                f"{n_columns} columns; name the band of every column, not of its delays"
            )
    one = bands is None or len(np.unique(bands)) < 2
    return runs._replace(bands=None if one else bands)


def _encoder_of_delays(model, runs, kept):
    """Return the encoder, with bands of the `kept` columns at all delays if any."""
    encoder = model.encoder
    if encoder is None:
        encoder = RidgeEncoder(cv=model.cv, random_state=model.random_state)
    if not isinstance(encoder, RidgeEncoder):
        return encoder
    bands: Any = None if runs.bands is None else runs.bands[kept]
    several = bands is not None and len(np.unique(bands)) > 1
    bands = np.tile(bands, len(check_delays(model.delays))) if several else None
    return clone(encoder).set_params(bands=bands)
