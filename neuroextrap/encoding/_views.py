"""What can be read, written and reported after identification."""

import numpy as np
from scipy.special import softmax
from sklearn.utils.validation import check_is_fitted

from neuroextrap.analysis._region_analysis import RegionAnalysis
from neuroextrap.encoding._voxel_scores import prediction_scores
from neuroextrap.images import to_img
from neuroextrap.margins._engine import observed_margins


class EncodingViews(RegionAnalysis):
    """Margins, posteriors and prediction maps besides the curves of regions.

    The readable side of `EncodingIdentification`; holds no parameters and no state.
    """

    def region_margins(self, region):
        """Return the margins of one region.

        Parameters
        ----------
        region : int or tuple of float
            Index, or (x, y, z) in mm of the nearest center.

        Returns
        -------
        margins : ndarray, shape (n_test, K)
            Log likelihoods up to a constant a row.

        Raises
        ------
        ValueError
            If the region was not analyzed, or the data are not there (results read
            from a folder).
        """
        return observed_margins(
            self._data().rows,
            self._usable.regions,
            self._plan,
            self.find_region(region),
        )

    def posterior(self, region, prior=None):
        """Return the posterior probabilities of the candidates.

        Parameters
        ----------
        region : int or tuple of float
            Index, or (x, y, z) in mm of the nearest center.
        prior : array-like, shape (K,), or None
            Prior weights of the candidates; None is uniform.

        Returns
        -------
        posterior : ndarray, shape (n_test, K)
            Probability of each candidate given the response; rows sum to one.

        Raises
        ------
        ValueError
            If the prior has another length, is negative, or sums to zero.
        """
        scores = self.region_margins(region).astype(float)
        if prior is not None:
            weights = np.asarray(prior, dtype=float)
            good = weights.shape == (scores.shape[1],) and (weights >= 0).all()
            if not (good and np.isfinite(weights).all() and weights.sum() > 0):
                raise ValueError(
                    f"prior must be {scores.shape[1]} non-negative finite weights, one "
                    f"a candidate, that do not all vanish; got shape {weights.shape}"
                )
            with np.errstate(divide="ignore"):
                scores = scores + np.log(weights)
        return softmax(scores, axis=1)

    def prediction_maps(self, n_permutations=0):
        """Map how well each voxel's test responses are predicted.

        Parameters
        ----------
        n_permutations : int
            Permuted pairings of responses and stimuli, within the groups of the test
            set, for p-values.

        Returns
        -------
        images : dict of images (of ndarray for array input)
            Named r2, correlation, and p_value and p_value_fwe of the correlation.
        """
        test = self._data()
        values = prediction_scores(
            test.responses[:, test.usable],
            test.predictions[test.codes][:, test.usable],
            groups=test.groups,
            n_permutations=n_permutations,
            random_state=self.random_state,
        )
        full = {}
        for name, value in values.items():
            full[name] = np.full(self.n_elements_, np.nan)
            full[name][test.usable] = value
        if self.masker_ is None:
            return full
        return {name: to_img(v, self.masker_) for name, v in full.items()}

    def _data(self):
        """Return the test responses, predictions and residuals."""
        check_is_fitted(self, "region_scores_")
        if self._experiment is None:
            raise ValueError(
                "responses and predictions are not stored with results; fit and "
                "identify again"
            )
        return self._experiment

    def _inputs(self):
        """Return the data that maps were computed from."""
        return {} if self._experiment is None else {"data": self._experiment.rows}

    def _forget_data(self):
        """Say that there are results, but no data."""
        self._experiment = self.test_codes_ = None
