"""What a trained and an identified model know besides identification."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import softmax

from neuroextrap.analysis._presentation import feature_images
from neuroextrap.analysis._region_analysis import RegionAnalysis
from neuroextrap.analysis._region_files import check_has_results, check_trained
from neuroextrap.design._course_of_runs import findings_of_series
from neuroextrap.design._findings import tell
from neuroextrap.design._folds import of_unit_length
from neuroextrap.design._permutations import exchanged
from neuroextrap.encoding._stimuli import check_feature_names, check_features
from neuroextrap.encoding._trained_model import model_arrays, restore_model
from neuroextrap.maps._named_records import voxel_record
from neuroextrap.stats._null_counts import NullCounts, spread_known, tie_floor
from neuroextrap.stats._validation import check_integer


def prediction_scores(
    responses,
    predictions,
    *,
    groups=None,
    noise_variance=None,
    n_permutations=0,
    exchange="rows",
    random_state=0,
):
    """Compute explained variance and correlation of held-out responses by voxel.

    Of `responses` y and `predictions` f, both (n_test, n_features), and the
    `noise_variance` (n_features,) of the responses as they are, if it is known ::

        r2 = 1 - sum(y - f) ^ 2 / sum(y - mean(y)) ^ 2
        noise_ceiling = max(0, 1 - noise_variance / Var(y))
        r2_normalized = r2 / noise_ceiling
        correlation_normalized = correlation / sqrt(noise_ceiling)

    They are NaN where something is constant, or the ceiling is zero. p-values are those
    of the correlation (one-sided), by predictions that are permuted over responses
    within `groups` as `exchange` says, in the same way in every voxel; circular shifts
    hold for stationary series that are long compared with the time over which they
    correlate. (Nichols & Holmes 2002; Schoppe et al. 2016, normalized correlation;
    Harris 2020, "A shift test for independence in generic time series".)
    """
    Y, F = (np.asarray(each, dtype=float) for each in (responses, predictions))
    if not (np.isfinite(Y).all() and np.isfinite(F).all()):
        raise ValueError("responses and predictions must be finite; drop these voxels")
    total = ((Y - Y.mean(axis=0)) ** 2).sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        r2 = np.where(total > 0, 1 - ((Y - F) ** 2).sum(axis=0) / total, np.nan)
    y, f = standardized(Y), standardized(F)
    scores = {"r2": r2, "correlation": np.einsum("tv,tv->v", y, f)}
    if noise_variance is not None:
        scores |= _normalized(scores, Y, noise_variance)
    if n_permutations:
        orders = exchanged(
            np.arange(len(Y)),
            exchange=exchange,
            groups=groups,
            n_permutations=n_permutations,
            random_state=random_state,
        )
        tell(findings_of_series(Y, F, groups, exchange=exchange))
        scores |= p_values_of_correlation(y, f, scores["correlation"], orders)
    return scores


def _normalized(scores, Y, noise_variance):
    """Noise ceiling of responses, and scores divided by what it allows."""
    noise = np.asarray(noise_variance)
    total = Y.var(axis=0, ddof=1) if len(Y) > 1 else np.zeros(Y.shape[1])
    with np.errstate(divide="ignore", invalid="ignore"):
        ceiling = np.where(total > 0, np.maximum(1 - noise / total, 0), np.nan)
        attainable = np.where(ceiling > 0, ceiling, np.nan)
        return {
            "noise_ceiling": ceiling,
            "r2_normalized": scores["r2"] / attainable,
            "correlation_normalized": scores["correlation"] / np.sqrt(attainable),
        }


def standardized(values):
    """Columns of mean zero and length one; NaN where constant."""
    varies = np.ptp(values, axis=0) > 0
    centered = np.where(varies, values - values.mean(axis=0), 0)
    return of_unit_length(centered, 0, of_zero=np.nan)


def p_values_of_correlation(y, f, observed, orders):
    """Count permuted correlations that reach the observed ones."""
    known = ~np.isnan(observed)
    y, f = y[:, known], f[:, known]
    counts = NullCounts.start(tie_floor(observed[known], 1.0), len(orders))
    for index, order in enumerate(orders):
        permuted = np.einsum("tv,tv->v", y, f[order])
        counts.add(permuted[:, np.newaxis], index)
    p_values = {"p_value": counts.p_value(), "p_value_fwe": counts.p_value_fwe()}
    return spread_known(known, p_values)


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
        return model_arrays(self)

    def _restore_run(self, results, arrays):
        """Make the run again from what :meth:`run_arrays` returned."""
        restore_model(self, results, arrays)
