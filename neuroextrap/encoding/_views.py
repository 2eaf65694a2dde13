"""What can be read, written and reported after identification."""

import importlib

import numpy as np
from scipy.special import softmax
from sklearn.utils.validation import check_is_fitted

from neuroextrap import images, maps, margins, stats
from neuroextrap.encoding._storage import write_identification
from neuroextrap.encoding._voxel_scores import prediction_scores


class RegionViews:
    """Margins, posteriors and curves of regions; results as folders and reports.

    The readable side of `EncodingIdentification`; holds no parameters and no state.
    """

    def region_margins(self, region):
        """Return the margins of one region.

        Parameters
        ----------
        region : int or tuple of float
            Index, or (x, y, z) in mm of the nearest centre.

        Returns
        -------
        margins : ndarray, shape (n_test, K)
            Log likelihoods up to a constant a row.

        Raises
        ------
        ValueError
            If the region was not analysed.
        """
        check_is_fitted(self, "region_scores_")
        return margins.observed_margins(
            self._experiment.rows, self._usable.regions, self._plan, self._find(region)
        )

    def posterior(self, region, prior=None):
        """Return the posterior probabilities of the candidates.

        Parameters
        ----------
        region : int or tuple of float
            Index, or (x, y, z) in mm of the nearest centre.
        prior : array-like, shape (K,), or None
            Prior weights of the candidates; None is uniform.

        Returns
        -------
        posterior : ndarray, shape (n_test, K)
            p(candidate | response); rows sum to one.

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

    def accuracy_curve(self, region, set_sizes=None):
        """Return a region's identification accuracy curve.

        Parameters
        ----------
        region : int or tuple of float
            Index, or (x, y, z) in mm of the nearest centre.
        set_sizes : sequence of int or None
            From 2 to K; None is ``set_sizes_``.

        Returns
        -------
        set_sizes : ndarray of int
            Set sizes.
        accuracy : ndarray
            Accuracy at each.
        """
        check_is_fitted(self, "region_scores_")
        return self._results.curve(self._find(region), set_sizes)

    def extrapolate(self, set_sizes, *, method="gaussian_mixture"):
        """Predict every region's accuracy among more candidates than were tested.

        Parameters
        ----------
        set_sizes : sequence of int
            Numbers of candidates.
        method : {"gaussian_mixture", "gaussian"}
            How the curve is continued.

        Returns
        -------
        images : dict of image (ndarray for array input)
            One map for every set size.
        """
        check_is_fitted(self, "region_scores_")
        sizes = np.atleast_1d(set_sizes)
        known = ~np.isnan(self.wins_[:, 0])
        predicted = np.full((len(sizes), len(self.wins_)), np.nan)
        predicted[:, known] = stats.extrapolate_wins(
            self.wins_[known], self._results.n_test, sizes, method=method
        ).T
        values = dict(zip(sizes.tolist(), predicted, strict=True))
        return maps.region_images(values, self._results.choice, self.masker_)

    def extrapolator(self, region, method="auto"):
        """Return a fitted extrapolator of one region's accuracy curve.

        Parameters
        ----------
        region : int or tuple of float
            Index, or (x, y, z) in mm of the nearest centre.
        method : str
            One of ``neuroextrap.stats.EXTRAPOLATION_METHODS``.

        Returns
        -------
        extrapolator : AccuracyExtrapolator
            Its ``set_size_at(accuracy=0.10)`` is the number of candidates at which
            accuracy falls to 0.10.
        """
        model = stats.AccuracyExtrapolator(method)
        return model.fit(self.region_margins(region), self._experiment.codes)

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
            r2, correlation, and p_value and p_value_fwe of the correlation.
        """
        check_is_fitted(self, "region_scores_")
        test = self._experiment
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
        return {name: images.to_img(v, self.masker_) for name, v in full.items()}

    def _find(self, region):
        """Return the index of a region given by index or by coordinates."""
        if np.ndim(region) == 0:
            return int(region)
        if self.masker_ is None or self._choice.centers is None:
            raise ValueError(
                f"region={region!r}: coordinates need spheres in an image; give the "
                "region's index"
            )
        centers = images.feature_coordinates(self.masker_)[self._choice.centers]
        return int(np.argmin(((centers - np.asarray(region)) ** 2).sum(axis=1)))

    def to_directory(self, path, *, overwrite=False):
        """Write maps with sidecars, table and results; no pickle.

        Parameters
        ----------
        path : path-like
            A folder that is not there or empty.
        overwrite : bool
            Replace what is there.
        """
        check_is_fitted(self, "region_scores_")
        write_identification(self, path, overwrite=overwrite)

    def generate_report(self, title=None):
        """Make a self-contained HTML page of the results.

        Parameters
        ----------
        title : str or None
            Title of the page.

        Returns
        -------
        report : nilearn.reporting.HTMLReport
            The page.
        """
        check_is_fitted(self, "region_scores_")
        # reporting lies above encoding, so it is looked up when asked for
        reporting = importlib.import_module("neuroextrap.reporting")
        return reporting.identification_report(self, title=title)
