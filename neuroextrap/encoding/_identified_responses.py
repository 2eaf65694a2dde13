"""What a trained model knows besides identification, and what its folder keeps."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import softmax
from sklearn import linear_model

from neuroextrap.analysis._presentation import feature_images
from neuroextrap.analysis._region_analysis import RegionAnalysis
from neuroextrap.analysis._region_files import check_has_results, check_trained
from neuroextrap.analysis._region_run import RunParameters
from neuroextrap.analysis._samples import Samples
from neuroextrap.encoding._encoding_run import EncodingRun
from neuroextrap.encoding._experiment import (
    Experiment,
    observed_plan,
    prediction_scores,
)
from neuroextrap.encoding._stimuli import (
    FeatureScaling,
    check_feature_names,
    check_features,
)
from neuroextrap.encoding._training_folds import Training, Trials
from neuroextrap.maps._named_records import voxel_record
from neuroextrap.models._ridge import RidgeEncoder
from neuroextrap.models.elastic_net._estimator import ElasticNetEncoder
from neuroextrap.stats._null_counts import spread_known
from neuroextrap.stats._validation import check_integer

_TRAINED, _PENALTY = "trained ", "penalty of "  # before names of arrays of the run
_ENCODERS = {name: getattr(linear_model, name) for name in linear_model.__all__}
_ENCODERS |= {kind.__name__: kind for kind in (RidgeEncoder, ElasticNetEncoder)}


class ResponsePredictions(RegionAnalysis):
    """Predictions, posteriors and their quality, of an analysis that was trained."""

    def predict(self, features: ArrayLike) -> np.ndarray:
        """Predict the responses to stimuli.

        Parameters
        ----------
        features : array-like of shape (n_stimuli, n_columns)
            Features of the stimuli.

        Returns
        -------
        responses : ndarray of shape (n_stimuli, n_elements_)
            Predicted responses; NaN where a voxel was not usable.
        """
        check_trained(self)
        check_feature_names(features, getattr(self, "feature_names_in_", None))
        X = check_features(features, n_columns=len(self._training.scaling.kept))
        return self._predict(X)

    def _predict(self, X):
        """Predict the responses to features that were checked."""
        scaling, location = self._training.scaling, self._training.location
        predicted = np.full((len(X), self.n_elements_), np.nan)
        values = self.encoder_.predict(scaling(X)).reshape(len(X), -1)
        predicted[:, self.usable_] = values + location[self.usable_]
        return predicted

    @property
    def predictions_(self) -> np.ndarray:
        """Predicted responses to the candidates, (K, n_elements_), in their units.

        NaN where a voxel was not usable. After :meth:`identify_folds` the prediction
        for each test point, (n_test, n_elements_), about the training means of its fold
        and around the mean of all responses.
        """
        run = self.run_
        test = run.test
        values = test.predictions if test.folds is None else test.true_predictions
        predicted = (values + run.location).astype(float)
        predicted[:, ~run.test.usable] = np.nan
        return predicted

    @property
    def test_stimuli_(self) -> np.ndarray:
        """Stimulus of each test point (n_test,): its name, or row in the features."""
        return self.run_.test_stimuli

    @property
    def rule_(self) -> str:
        """Rule of the margins, or where folds chose differently those of all."""
        return self.run_.test.rule

    def coefficients(self, feature: int) -> np.ndarray:
        """Return the weights of one voxel (or column) in a linear encoder.

        Parameters
        ----------
        feature : int
            Index of the voxel among the ``n_elements_``.

        Returns
        -------
        weights : ndarray of shape (n_columns,)
            Of features in units of their training standard deviations (of their own
            units with ``standardize=False``); 0 where a column was constant.

        Raises
        ------
        ValueError
            When the voxel was not usable, or the encoder is not linear.
        """
        check_trained(self)
        coef = getattr(self.encoder_, "coef_", None)
        check_integer(feature, "feature", minimum=0)
        if feature >= self.n_elements_ or not self.usable_[feature] or coef is None:
            raise ValueError(
                f"feature={feature} has no coefficients: it is none of the usable "
                f"voxels ({self.usable_.sum()} of {self.n_elements_}), or the encoder "
                f"({type(self.encoder_).__name__}) has no coef_"
            )
        kept = self._training.scaling.kept
        weights = np.zeros(len(kept))
        place = self.usable_[:feature].sum()
        weights[kept] = np.reshape(coef, (self.usable_.sum(), -1))[place]
        return weights

    def posterior(self, region: Any, prior: ArrayLike | None = None) -> np.ndarray:
        """Return the posterior probabilities of the candidates.

        With T learned from the training data, so that their responses, identified
        among the candidates of the test by encoders and covariances of other folds (of
        ten), are named with the right certainty (temperature scaling) ::

            p(j | y_i) = prior_j exp(M[i, j] / T) / sum_k prior_k exp(M[i, k] / T)

        T is near 1 where predictions and covariance are known well, and larger the
        fewer training data there are for the voxels. It takes ten fits of the encoder
        to the voxels of the region. After :meth:`identify_folds` T is learned from the
        test points of the other folds.

        Parameters
        ----------
        region : int, str or tuple of float
            Index or name of the region, or (x, y, z) in mm of a place in it.
        prior : array-like of shape (K,) or None, default=None
            Prior weights of the candidates. If None, they are equal.

        Returns
        -------
        posterior : ndarray of shape (n_test, K)
            Probability of each candidate given the response; rows sum to one.

        Raises
        ------
        ValueError
            When the prior has another length, is negative, or sums to zero, margins
            are correlations, which are no likelihoods, or the model was read from a
            folder that does not have its encoder.

        References
        ----------
        Guo, Pleiss, Sun & Weinberger 2017, "On calibration of modern neural networks",
        section 4.2 (temperature scaling).
        """
        if "correlation" in self.rule_:
            raise ValueError(
                "rule='correlation' has no posterior: correlations are no likelihoods; "
                "use rule='mahalanobis'"
            )
        logs = self.run_.log_likelihoods(self.find_region(region))
        if prior is None:
            return softmax(logs, axis=1)
        weights = np.asarray(prior, dtype=float)
        good = weights.shape == (logs.shape[1],) and (weights >= 0).all()
        if not (good and np.isfinite(weights).all() and weights.sum() > 0):
            raise ValueError(
                f"prior must be {logs.shape[1]} non-negative finite weights, one for "
                f"each candidate, that do not all vanish; got shape {weights.shape}"
            )
        with np.errstate(divide="ignore"):
            return softmax(logs + np.log(weights), axis=1)

    def prediction_maps(self, n_permutations: int = 0) -> dict:
        """Map how well each voxel's test responses are predicted.

        Parameters
        ----------
        n_permutations : int, default=0
            Number of permuted pairings of responses and stimuli, within the groups of
            the test set and by its `exchange`, for p-values; 0 makes no test.

        Returns
        -------
        images : dict of images (dict of ndarray for array input)
            Maps named r2 and correlation. Where test stimuli were repeated also
            noise_ceiling (the proportion of variance that a perfect model explains),
            r2_normalized and correlation_normalized, see `prediction_scores`.
            With permutations p_value and p_value_fwe of the correlation.
        """
        test = self.run_.test
        if n_permutations and test.folds is not None:
            raise ValueError(
                "stimuli were tested in folds (identify_folds), whose outcomes depend "
                "on each other through the training data, so that p-values would come "
                "out too small; use fit and identify with a test set of its own"
            )
        usable, noise = test.usable, test.noise_variance
        scores = prediction_scores(
            test.responses[:, usable],
            test.true_predictions[:, usable],
            groups=test.groups,
            noise_variance=None if noise is None else noise[usable],
            n_permutations=n_permutations,
            exchange=self.exchange,
            random_state=self.random_state,
        )
        return feature_images(spread_known(usable, scores), self.masker_)

    def penalty_maps(self) -> dict:
        """Map the penalties that cross-validation chose for each voxel.

        Returns
        -------
        images : dict of images (dict of ndarray for array input)
            ``alpha``; ``l1_ratio`` of an elastic net; ``weight_of_BAND`` of every band
            of a ridge encoder. Empty for encoders that say nothing of the kind.
        """
        check_has_results(self)
        return feature_images(dict(self.penalties_), self.masker_)

    def further_maps(self) -> tuple:
        """Return the maps of voxels that go to a folder beside those of regions.

        Returns
        -------
        maps : dict of images (dict of ndarray for array input)
            Those of :meth:`prediction_maps` and :meth:`penalty_maps`, as ``voxel_...``.
        records : dict of MapRecord
            What each map is.
        """
        maps = {**self.prediction_maps(), **self.penalty_maps()}
        records = {voxel_record(name).name: voxel_record(name) for name in maps}
        return dict(zip(records, maps.values(), strict=True)), records

    def run_arrays(self) -> dict[str, np.ndarray]:
        """Return the arrays of which the run is made again after reading.

        Returns
        -------
        arrays : dict of str to ndarray
            Test responses, predictions, residuals, penalties, stimuli, coefficients,
            training data; no objects.
        """
        run = self.run_
        arrays = {name: getattr(run.test, name) for name in Experiment._fields}
        arrays |= {"location": run.location, "test_stimuli": run.test_stimuli}
        arrays |= {_PENALTY + name: each for name, each in self.penalties_.items()}
        if run.test.folds is None and "encoder_" in vars(self):
            trained = _trained_arrays(self)
            arrays |= {_TRAINED + name: each for name, each in trained.items()}
        return {n: np.asarray(each) for n, each in arrays.items() if each is not None}

    def _restore_run(self, results, arrays):
        """Make the run again from what :meth:`run_arrays` returned."""
        given, self.penalties_ = (
            {n.removeprefix(start): arrays[n] for n in arrays if n.startswith(start)}
            for start in (_TRAINED, _PENALTY)
        )
        location = arrays["location"]
        training: Any = _read_training(self, given, location) if given else None
        for_margins = {"training": training, "candidates": given.get("candidates")}
        self._run = _read_run(self, results, arrays, **for_margins)
        self.test_codes_ = self._run.test_codes
        if "coef" in given:
            self.encoder_ = encoder = linear_model.LinearRegression()
            encoder.coef_, encoder.intercept_ = given["coef"], given["intercept"]
            self.usable_ = given["usable"]
            if "columns" in given:
                self.feature_names_in_ = given["columns"].astype(object)
            self._training = training


def _trained_arrays(model):
    """Return coefficients, if linear, and training data, if they can be read again."""
    training, usable = model._training, model.usable_
    names = getattr(model, "feature_names_in_", None)
    columns = None if names is None else names.astype(str)
    arrays = {"usable": usable, "columns": columns, **training.scaling._asdict()}
    arrays |= _coefficients(model.encoder_, training, usable.sum())
    if (words := _encoder_words(training.model)) is not None:
        trials = training.trials
        arrays |= {
            "encoder": words,
            "features": trials.X,
            "codes": trials.codes,
            "responses": trials.samples.X,
            "groups": trials.groups,
            "noise": training.noise,
            "candidates": model.run_.candidates,
        }
    return arrays


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
    if training.trials is not None:  # else a linear encoder was read
        X = training.scaling(training.trials.X[:8])
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
    trials = Trials(given["features"], samples, given["codes"], given.get("groups"))
    return Training.of(model, encoder, scaling, trials, given.get("noise"))
