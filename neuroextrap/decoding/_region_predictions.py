"""What the decoder of a region says of new samples, and the patterns it reads."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from neuroextrap.analysis._presentation import feature_images
from neuroextrap.analysis._region_analysis import RegionAnalysis
from neuroextrap.analysis._samples import check_within_runs, read_samples, within_runs
from neuroextrap.margins._engine import region_data
from neuroextrap.stats._label_checks import check_labels
from neuroextrap.stats._shared_options import described_by
from neuroextrap.stats._validation import check_choice


class RegionPredictions(RegionAnalysis):
    """Decoders of regions, trained on all samples that :meth:`fit` got.

    They have the penalties of the cross-validation. New samples go through the masker,
    and are centered as those of the training.
    """

    @abstractmethod
    def _decide(self, region, new):
        """Return what is predicted of centered samples (n, n_features of a region)."""

    @abstractmethod
    def _margins_of(self, region, new):
        """Return their margins (n, K)."""

    @abstractmethod
    def _rule(self, region):
        """Return the LinearRule of a region, and names of its outputs."""

    @described_by(RegionAnalysis.find_region)
    def predict(
        self, region: Any, imgs: Any, groups: ArrayLike | None = None
    ) -> np.ndarray:
        """Predict new samples from one region, by its decoder of all fitted samples.

        Parameters
        ----------
        imgs : 4-D image, list of images, path(s), SurfaceImage, or array
            New samples of the same voxels (features), one volume (row) for each.
        groups : array-like of shape (n_samples,) or None, default=None
            Run of every new sample; needed with ``within_runs``, by which they are
            centered within their own runs.

        Returns
        -------
        predicted : ndarray of shape (n_samples,) or (n_samples, n_columns)
            Class of the largest margin; or decoded targets, in the units in which they
            came, a column each.

        Raises
        ------
        ValueError
            When the samples have other voxels (or columns of a data frame), or NaN in
            those of the region, the region was not analyzed, or the results were read
            from a folder, which holds no data.

        Examples
        --------
        >>> import numpy as np
        >>> from neuroextrap.decoding import IdentificationSearchLight
        >>> y, runs = np.tile(["a", "b", "c"], 4), np.repeat(np.arange(4), 3)
        >>> noise = np.random.default_rng(0).normal(size=(12, 3))
        >>> X = np.tile(5 * np.eye(3), (4, 1)) + noise
        >>> fitted = IdentificationSearchLight().fit(X, y, groups=runs)
        >>> fitted.predict(0, 5 * np.eye(3)).tolist()
        ['a', 'b', 'c']
        """
        region = self.find_region(region)
        return self._decide(region, self._new_samples(region, imgs, groups))

    @described_by(RegionAnalysis.find_region, predict)
    def margins(
        self, region: Any, imgs: Any, groups: ArrayLike | None = None
    ) -> np.ndarray:
        """Return the margins of new samples in one region.

        Those of the cross-validation are :meth:`region_margins`.

        Returns
        -------
        margins : ndarray of shape (n_samples, K)
            Score of every class (candidate) for every new sample, up to a number that
            all classes share; the larger, the likelier.
        """
        region = self.find_region(region)
        return self._margins_of(region, self._new_samples(region, imgs, groups))

    @described_by(RegionAnalysis.find_region)
    def patterns(self, region: Any, *, of: str = "activation") -> dict:
        """Return what a region's linear decoder reads from every voxel.

        Parameters
        ----------
        of : {"activation", "weights"}, default="activation"
            "weights" multiply voxels; they also cancel noise, so that large ones may
            lie where nothing is told. "activation" patterns say how voxels change with
            the decoder's outputs: with X the fitted samples and outputs S = X W, they
            are cov(X) W times the (pseudo)inverse of cov(S).

        Returns
        -------
        patterns : dict of images (dict of ndarray of shape (n_features,) for arrays)
            One for every class, or target column; NaN outside the region. Weights of
            classes sum to zero.

        Raises
        ------
        ValueError
            When the classifier is not linear ("nearest_centroid", "ridge" and "lda"
            are), or `of` is unknown; else as :meth:`predict`.

        References
        ----------
        Haufe et al. 2014, "On the interpretation of weight vectors of linear models in
        multivariate neuroimaging", NeuroImage 87, eq. 6.
        """
        check_choice(of, "of", ("activation", "weights"))
        region = self.find_region(region)
        run, (features, x) = self.run_, self._fitted_samples(region)
        rule, names = self._rule(region)
        values = rule.weights
        if of == "activation":
            raw = run.rows[:, features].astype(float) / run.scale
            values = _activation(raw, x @ values)
        else:
            if run.plan.whitener is not None:
                values = run.plan.whitener(features, np.eye(len(features))) @ values
            values = values * run.scale
        full = np.full((values.shape[1], self.n_elements_), np.nan)
        full[:, features] = values.T
        return feature_images(dict(zip(names, full, strict=True)), self.masker_)

    def _complete(self, run, made_by=None, **sources):
        self._columns = {"imgs": list(getattr(sources.get("imgs"), "columns", ()))}
        return super()._complete(run, made_by, **sources)

    def _check_columns(self, name, values):
        """Raise unless a data frame has the columns that were fitted."""
        fitted = self._columns[name]
        columns = list(getattr(values, "columns", fitted))
        if fitted and columns != fitted:
            raise ValueError(
                f"{name} has the columns {columns[:5]}..., fitted were "
                f"{fitted[:5]}...; give the same columns in the same order"
            )

    def _fitted_samples(self, region):
        """Return features of a region, and its samples as decoders get them."""
        rows, regions, plan = self.run_.data
        data = region_data(rows, regions, region)
        x = data.samples_of(range(1), plan.whitener)[0]
        return data.columns[data.members(0)], x

    def _new_samples(self, region, imgs, groups):
        """Return new samples (n, n_features of the region), centered and whitened."""
        run, (features, fitted) = self.run_, self._fitted_samples(region)
        if groups is not None:
            groups = check_labels(groups, "groups")
        check_within_runs(self.within_runs, groups)
        read = self._read_new(region, features, imgs, groups)
        X = self._centered_new(region, features, read, groups)[:, features]
        new = (X * run.scale).astype(run.rows.dtype)
        whitener = run.plan.whitener
        new = new if whitener is None else whitener(features, new)
        return new.astype(fitted.dtype)

    def _centered_new(self, region, features, read, groups):
        """Return the X of new Samples without the means of runs, or of the fitted."""
        location, how = self.run_.location, self.within_runs
        if how is None:
            return read.X if location is None else read.X - location
        read = within_runs(read, groups, how)
        if how == "zscore" and not read.usable[features].all():
            raise ValueError(
                f"imgs has voxels of region {region} that are constant within a run, "
                "and have no z-score; give whole runs"
            )
        return read.X

    def _read_new(self, region, features, imgs, groups):
        """Return new Samples with their means; ValueError if they do not fit."""
        if self.masker_ is None and not hasattr(imgs, "__array__"):
            raise ValueError("imgs must be an array, as those that were fitted")
        self._check_columns("imgs", imgs)
        read = read_samples(self.masker_, imgs, counted="groups", dtype=None)
        if groups is not None and len(groups) != len(read.X):
            raise ValueError(
                f"imgs has {len(read.X)} samples, groups has {len(groups)}"
            )
        if read.X.shape[1] != self.n_elements_:
            raise ValueError(
                f"imgs has {read.X.shape[1]} voxels, {self.n_elements_} were fitted; "
                "give samples of the same voxels"
            )
        if not read.finite[features].all():
            raise ValueError(
                f"imgs has NaN or infinity in voxels of region {region}; predict "
                "from a region without such voxels, or leave these samples out"
            )
        return read._replace(X=read.X.astype(float) + read.location)

    def _only_region(self, region):
        """Return the index of a region, which need not be given if it is the only."""
        if region is not None:
            return self.find_region(region)
        if len(self.wins_) > 1:
            raise ValueError(
                f"there are {len(self.wins_)} regions; say which by region=..."
            )
        return 0


def _activation(samples, outputs):
    """Return cov(samples, outputs) times the pseudoinverse of cov(outputs)."""
    outputs, n = outputs - outputs.mean(axis=0), len(outputs) - 1
    inverse = np.linalg.pinv(outputs.T @ outputs / n, rcond=1e-10, hermitian=True)
    return (samples - samples.mean(axis=0)).T @ outputs / n @ inverse
