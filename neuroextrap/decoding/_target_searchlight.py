"""Decode numbers and vectors in every region of a brain."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from neuroextrap.analysis._parameters import Bounds, Keep, Regions
from neuroextrap.decoding._region_predictions import RegionPredictions
from neuroextrap.decoding._searchlight import IdentificationSearchLight
from neuroextrap.decoding._target_run import (
    check_targets,
    location_and_spread,
    plan_targets,
)
from neuroextrap.margins.classifiers._classifier_names import regression_rule
from neuroextrap.stats._shared_options import described_by, takes_fields


@described_by(IdentificationSearchLight)
@takes_fields
class TargetSearchLight(RegionPredictions):
    """Measure how well every region predicts a number or a vector for each sample.

    For what has no classes: ratings, positions, or the feature vectors (embeddings) of
    images, words and sounds. Ridge regression from voxels to targets is cross-validated
    by runs. The correlation of decoded and true targets says how well a region predicts
    them; and each sample's own target is identified among the distinct targets of all
    samples, the candidates, which gives accuracy curves and implied information as in
    :class:`IdentificationSearchLight`.

    Parameters
    ----------
    metric : {"auto", "cosine", "correlation", "euclidean"}, default="auto"
        How a decoded target is compared with candidates, both about the mean target of
        the training samples: cosine, correlation over target columns, or minus the
        squared Euclidean distance. "auto" is "cosine", and "euclidean" for one number.
    standardize_targets : bool, default=True
        Whether target columns are divided by their standard deviations over all
        samples, so that columns of large numbers do not decide the identification. It
        does not affect correlations.
    shrinkage : "auto", float, "inner_folds" or sequence of float, default="auto"
        Ridge penalty of a region, the same for all columns. "auto" is the Ledoit-Wolf
        intensity on the region's total scatter, which no target enters; a float is the
        penalty as a multiple of trace(total scatter) / number of voxels. From several
        such multiples ("inner_folds": 0.01, 0.1, ..., 1000) every fold chooses the one
        with the least squared error when runs of its training samples are left out in
        turn, in permutations too, which takes five to twenty times as long.
    cv : None, int, scikit-learn splitter, or iterable of (train, test), default=None
        Cross-validation. None leaves one group out at a time; an integer is that many
        folds of whole groups. Without groups folds are drawn at random by the seed,
        blocks whole (of a table that is sorted by targets others would be tested than
        trained), and with ``exchange="shifts"`` consecutive. Samples that depend on
        their neighbors in time need groups.
    set_sizes : sequence of int or None, default=None
        Numbers of candidates to choose from, of curves and implied information. If
        None, all of 2..K up to K = 32, else at most 32 of them, log-spaced.
    statistic : {"correlation", "accuracy", "pairwise_accuracy", \
            "implied_information"} or int, default="correlation"
        Statistic of the permutation test; an integer k is accuracy among k candidates.
    n_permutations : int, default=0
        Number of permutations of the targets within runs; 0 makes no test.
    exchange : {"rows", "shifts"}, default="rows"
        How they are permuted: sample by sample, or, for films, stories and other
        recordings in time, by circular shifts of the whole series of each run, which
        must be in the order of acquisition.
    bounds : {"auto", "forward", "folds", None} or Bounds, default="auto"
        Where the lower confidence bounds come from, as in
        :class:`IdentificationSearchLight`. They need every candidate in every tested
        run, and are left out, with a note, where targets differ from run to run.

    Attributes
    ----------
    maps_ : dict of images (dict of ndarray for array input)
        correlation, accuracy, pairwise_accuracy, implied_information (bits), bounds
        where they hold, n_voxels, and after permutations p_value, p_value_fwe,
        p_value_fwe_tail, p_value_fdr, neg_log10_p_fwe, z. Attributes that are not
        described here are those of :class:`IdentificationSearchLight`.
    candidates_ : ndarray of shape (K, n_columns), or None
        Distinct targets as they were given; None for results read from a folder.
    classes_ : ndarray of shape (K,)
        The candidates where a target is one number, else their row numbers.

    See Also
    --------
    IdentificationSearchLight : Targets that are classes without an order.
    neuroextrap.encoding.EncodingIdentification : From features to responses.

    Notes
    -----
    The correlation of a target column is that of all test samples, decoded and true
    value each minus the mean of the fold's training samples; columns are averaged. With
    K_c the centered Gram matrix of a region and H = K_c (K_c + lambda I)^-1 + 11'/n,
    decoded targets are C Y with one matrix C for all targets Y and permutations, equal
    to refitting scikit-learn's ``Ridge`` in every fold.

    References
    ----------
    Hastie, Tibshirani & Friedman 2009, "The Elements of Statistical Learning", eq. 7.64
    (predictions left out by the smoother).

    Examples
    --------
    >>> import numpy as np
    >>> from neuroextrap.decoding import TargetSearchLight
    >>> rng = np.random.default_rng(0)
    >>> runs, rating = np.repeat(np.arange(6), 10), rng.uniform(1, 7, size=60)
    >>> X = np.outer(rating, rng.normal(size=20)) + 3 * rng.normal(size=(60, 20))
    >>> fitted = TargetSearchLight().fit(X, rating, groups=runs)
    >>> round(float(fitted.region_scores_["correlation"][0]), 1)
    0.9
    """

    kind = "targets"
    VALUES: ClassVar = {"regions": Regions, "bounds": Bounds, "keep": Keep}

    mask: Any = None
    _: KW_ONLY
    metric: str = "auto"
    standardize_targets: bool = True
    shrinkage: Any = "auto"
    noise_covariance: Any = None
    cv: Any = None
    within_runs: str | None = None
    set_sizes: ArrayLike | None = None
    statistic: str | int = "correlation"
    n_permutations: int = 0
    exchange: str = "rows"
    blocks: ArrayLike | None = None
    bounds: Any = "auto"

    @described_by(IdentificationSearchLight.fit)
    def fit(
        self,
        imgs: Any,
        targets: ArrayLike,
        groups: ArrayLike | None = None,
        *,
        order: ArrayLike | None = None,
    ) -> Self:
        """Analyze every region.

        Parameters
        ----------
        targets : array-like of shape (n_samples,) or (n_samples, n_columns)
            One number, or one vector, for every sample.
        order : array-like of shape (n_samples,) or None, default=None
            When every sample was acquired in its run, as time or rank, to check whether
            samples and targets depend on their neighbors in time, which makes p-values
            doubtful. If None, samples are listed in the order of acquisition.

        Returns
        -------
        self : TargetSearchLight
        """
        run = plan_targets(self, imgs, targets, groups, order)
        self._complete(run, imgs=imgs)
        self._columns["targets"] = list(getattr(targets, "columns", ()))
        return self

    @described_by(fit)
    def estimate_cost(
        self,
        imgs: Any,
        targets: ArrayLike,
        groups: ArrayLike | None = None,
        *,
        order: ArrayLike | None = None,
    ) -> dict:
        """Estimate the time and memory of :meth:`fit`, by timing a few regions.

        Returns
        -------
        cost : dict
            By name: n_regions, n_features, n_permutations, seconds (on n_jobs workers),
            memory (bytes) and paths, the ways in which margins are made.
        """
        return plan_targets(self, imgs, targets, groups, order).cost()

    @described_by(IdentificationSearchLight.score)
    def score(
        self,
        imgs: Any,
        targets: ArrayLike,
        groups: ArrayLike | None = None,
        *,
        region: Any = None,
    ) -> float:
        """Return the correlation of new targets with what is decoded.

        Parameters
        ----------
        targets : array-like of shape (n_samples,) or (n_samples, n_columns)
            True targets, in the columns that were fitted.

        Returns
        -------
        score : float
            Correlation over samples, the mean over columns; zero where what is decoded
            does not vary.

        Raises
        ------
        ValueError
            When there are several regions and none is named, targets have other columns
            or do not vary, or as :meth:`predict`.
        """
        true, region = check_targets(targets), self._only_region(region)
        decoded = self.predict(region, imgs, groups)
        self._check_columns("targets", targets)
        if decoded.shape != true.shape:
            raise ValueError(
                f"targets are {true.shape} samples and columns, the samples and fitted "
                f"columns {decoded.shape}"
            )
        true, decoded = (a - a.mean(axis=0) for a in (true, decoded))
        spread = np.sqrt(np.square(true).sum(axis=0) * np.square(decoded).sum(axis=0))
        products = (true * decoded).sum(axis=0)
        return float(np.mean(products / np.where(spread > 0, spread, np.inf)))

    def _publish(self, results):
        """Publish the candidates beside the rest."""
        super()._publish(results)
        self.candidates_: Any = getattr(self._run, "candidates", None)

    def _scale(self):
        """Return mean and scale of the target columns that were fitted."""
        codes = self.run_.plan.codes[0]
        return location_and_spread(self.candidates_, codes, self.standardize_targets)

    def _decide(self, region, new):
        location, spread = self._scale()
        return self._fit_rule(region).scores(new) * spread + location

    def _margins_of(self, region, new):
        plan, rule = self.run_.plan, self._fit_rule(region)
        return plan.kernel.margins_of_decoded(rule.scores(new), plan.codes[0])

    def _rule(self, region):
        rule, (_, spread) = self._fit_rule(region), self._scale()
        names = list(range(rule.weights.shape[1]))
        return rule._replace(weights=rule.weights * spread), names

    def _fit_rule(self, region):
        """Return the ridge regression of scaled targets on a region (LinearRule)."""
        plan, (_, x) = self.run_.plan, self._fitted_samples(region)
        targets = plan.kernel.targets[plan.codes[0]]
        return regression_rule(x, targets, plan.kernel.shrinkage_of_all(x, plan))

    @described_by(RegionPredictions.find_region)
    def decoded_targets(self, region: Any) -> np.ndarray:
        """Return what was decoded from one region, in the units of the targets.

        Returns
        -------
        decoded : ndarray of shape (n_test, n_columns)
            Target of every test sample, decoded by the fold that tests it; the true
            ones are ``candidates_[test_codes_]``.
        """
        plan, (location, spread) = self.run_.plan, self._scale()
        _, x = self._fitted_samples(self.find_region(region))
        return plan.kernel.decoded(x, plan) * spread + location

    @described_by(RegionPredictions.find_region, decoded_targets)
    def chosen_shrinkage(self, region: Any) -> np.ndarray:
        """Return the penalties that inner folds chose for one region.

        Returns
        -------
        shrinkage : ndarray of shape (n_folds,)
            Multiple of trace(total scatter) / number of voxels, for every fold.

        Raises
        ------
        ValueError
            When ``shrinkage`` is one number or "auto".
        """
        plan = self.run_.plan
        if not plan.kernel.candidate_penalties:
            raise ValueError(
                f"shrinkage={self.shrinkage!r} leaves nothing to choose; use "
                "'inner_folds', or several numbers"
            )
        _, x = self._fitted_samples(self.find_region(region))
        return plan.kernel.chosen_shrinkage(x, plan)
