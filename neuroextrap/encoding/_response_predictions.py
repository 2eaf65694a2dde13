"""What an identified test set tells besides identification: voxel by voxel."""

import numpy as np
from scipy.special import softmax

from neuroextrap.analysis._fitted import check_has_results
from neuroextrap.analysis._presentation import feature_images
from neuroextrap.encoding._experiment import refuse_folds
from neuroextrap.encoding._stored_run import read_run, run_arrays
from neuroextrap.encoding._voxel_scores import prediction_scores
from neuroextrap.maps._registry import voxel_record
from neuroextrap.stats._null_counts import spread_known


class ResponsePredictions:
    """Posteriors, predictions and their quality, of an analysis that has identified."""

    @property
    def predictions_(self):
        """Predicted responses to the candidates, in units of the responses.

        Returns
        -------
        predictions : ndarray of shape (K, n_elements_)
            In the order of ``classes_``; NaN where a voxel was not usable. After
            :meth:`identify_folds` the prediction for each test point instead, of shape
            (n_test, n_elements_), about the training means of its fold and around the
            mean of all responses.
        """
        run = self.run_
        test = run.test
        values = test.predictions if test.folds is None else test.true_predictions
        predicted = (values + run.location).astype(float)
        predicted[:, ~run.test.usable] = np.nan
        return predicted

    @property
    def test_stimuli_(self):
        """Stimulus of each test point: its name, or its row in the features.

        Returns
        -------
        stimuli : ndarray of shape (n_test,)
            In the order of the rows of :meth:`region_margins`.
        """
        return self.run_.test_stimuli

    @property
    def rule_(self):
        """Rule of the margins, "mahalanobis" or "correlation", chosen where "auto".

        Returns
        -------
        rule : str
        """
        return self.run_.test.rule

    def posterior(self, region, prior=None):
        """Return the posterior probabilities of the candidates.

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
            When the prior has another length, is negative, or sums to zero, or margins
            are correlations, which are no likelihoods.
        """
        margins = self.region_margins(region).astype(float)
        if self.rule_ == "correlation":
            raise ValueError(
                "rule='correlation' has no posterior: correlations are no likelihoods; "
                "use rule='mahalanobis'"
            )
        if prior is not None:
            weights = np.asarray(prior, dtype=float)
            good = weights.shape == (margins.shape[1],) and (weights >= 0).all()
            if not (good and np.isfinite(weights).all() and weights.sum() > 0):
                raise ValueError(
                    f"prior must be {margins.shape[1]} non-negative finite weights, "
                    "one for each candidate, that do not all vanish; got shape "
                    f"{weights.shape}"
                )
            with np.errstate(divide="ignore"):
                margins = margins + np.log(weights)
        return softmax(margins, axis=1)

    def prediction_maps(self, n_permutations=0):
        """Map how well each voxel's test responses are predicted.

        Parameters
        ----------
        n_permutations : int, default=0
            Number of permuted pairings of responses and stimuli, within the groups of
            the test set, for p-values; 0 makes no test.

        Returns
        -------
        images : dict of images (dict of ndarray for array input)
            Maps named r2 and correlation. Where test stimuli were repeated also
            noise_ceiling (the share of variance that a perfect model explains),
            r2_normalized and correlation_normalized, see :func:`prediction_scores`.
            With permutations p_value and p_value_fwe of the correlation.
        """
        test = self.run_.test
        if n_permutations:
            refuse_folds(test)
        usable, noise = test.usable, test.noise_variance
        scores = prediction_scores(
            test.responses[:, usable],
            test.true_predictions[:, usable],
            groups=test.groups,
            noise_variance=None if noise is None else noise[usable],
            n_permutations=n_permutations,
            random_state=self.random_state,
        )
        return feature_images(spread_known(usable, scores), self.masker_)

    def penalty_maps(self):
        """Map the penalties that cross-validation chose for each voxel.

        Returns
        -------
        images : dict of images (dict of ndarray for array input)
            ``alpha``; ``l1_ratio`` of an elastic net; ``weight_of_BAND`` of every band
            of a ridge encoder. Empty for encoders that say nothing of the kind.
        """
        check_has_results(self)
        return feature_images(dict(self.penalties_), self.masker_)

    def further_maps(self):
        """Return the maps of voxels that go to a folder beside those of regions.

        Returns
        -------
        maps : dict of images (dict of ndarray for array input)
            Those of :meth:`prediction_maps` and :meth:`penalty_maps`, as ``voxel_...``.
        records : dict of MapRecord
            What each map is.
        """
        maps = {**self.prediction_maps(), **self.penalty_maps()}
        records = {name: voxel_record(name) for name in maps}
        images = {records[name].name: image for name, image in maps.items()}
        return images, {record.name: record for record in records.values()}

    def run_arrays(self):
        """Return the arrays of which the run is made again after reading.

        Returns
        -------
        arrays : dict of str to ndarray
            Test responses, predictions, residuals, penalties, stimuli; no objects.
        """
        return run_arrays(self.run_, self.penalties_)

    def _restore_run(self, results, arrays):
        """Make the run again from what :meth:`run_arrays` returned."""
        self._run, self.penalties_ = read_run(self, results, arrays)
        self.test_codes_ = self._run.test_codes
