"""Identification in every region of a brain."""

from __future__ import annotations

from copy import copy
from dataclasses import KW_ONLY
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from neuroextrap import stats
from neuroextrap.analysis._analysis_files import recorded_options, source_files
from neuroextrap.analysis._parameters import Bounds, Curves, Keep, Regions
from neuroextrap.decoding._decoding_run import plan_decoding
from neuroextrap.decoding._region_predictions import RegionPredictions
from neuroextrap.design._folds import codes_of
from neuroextrap.images import to_img
from neuroextrap.images._event_samples import event_samples
from neuroextrap.images._fits import ready_betas
from neuroextrap.images._sample_options import SampleOptions
from neuroextrap.margins.classifiers._classifier_names import (
    linear_rule,
    margins_of_new,
)
from neuroextrap.stats._shared_options import (
    as_options,
    described_by,
    takes_fields,
    takes_options,
)


@takes_fields
class IdentificationSearchLight(RegionPredictions):
    """Measure how much every region tells about which class was shown.

    Every region's classifier is cross-validated. Its margins (scores of the classes)
    give, for every test point, the number of other classes that the true class beats,
    and these wins give the identification accuracy for any number of classes up to K,
    the information implied by that curve, lower confidence bounds, and permutation
    p-values with family-wise error control by the maximum over regions.

    Parameters
    ----------
    mask : None, path, image, NiftiMasker or SurfaceMasker, default=None
        Voxels to analyze. None computes a mask from the images; a masker's own
        smoothing, detrending and standardizing are honored. Arrays need no mask.
    estimator : str or scikit-learn classifier, default="nearest_centroid"
        "nearest_centroid", "gaussian_nb", "lda", "ridge", "qda", "nearest_neighbor", or
        any classifier with ``decision_function`` or ``predict_proba`` (slow).
    shrinkage : "auto" or float, default="auto"
        Shrinkage of "lda", "ridge" and "qda". "auto" is the Ledoit-Wolf intensity on
        the region's total scatter, which no label enters; a float is the penalty as a
        multiple of trace(total scatter) / number of voxels.
    noise_covariance : None, array or images, default=None
        Noise to whiten by (Mahalanobis distances): residuals of shape (n_observations,
        n_features) or images of them; every region's covariance is shrunk towards its
        diagonal. If None, samples are not whitened.
    cv : None, int, scikit-learn splitter, or iterable of (train, test), default=None
        Cross-validation. None leaves one group out at a time. Indices count the samples
        of the classes that are analyzed.
    classes : sequence or None, default=None
        Classes to analyze; samples of other classes are left out. If None, all.
    within_runs : {None, "center", "zscore"}, default=None
        Whether every feature is centered, or also divided by its standard deviation,
        within each run (``groups``) before anything else. This removes run-to-run
        offsets, such as the baseline of beta images, which can otherwise dominate the
        result. No label enters; in lower bounds a run is then one test unit.
    set_sizes : sequence of int, Curves or None, default=None
        Numbers of classes to choose from, of curves and implied information. If None,
        all of 2..K up to K = 32, else at most 32 of them, log-spaced. Accuracy among
        fewer than K classes is that of the classifier trained on all K, unless it is
        measured, see :class:`neuroextrap.analysis.Curves`.
    statistic : {"accuracy", "pairwise_accuracy", "implied_information"} or int, \
            default="accuracy"
        Statistic of the permutation test; an integer k is accuracy among k classes.
    n_permutations : int, default=0
        Number of permuted labelings; 0 makes no test. With a single train/test split
        the labels of the test samples are permuted and the classifier stays as it is.
    blocks : array-like of shape (n_samples,) or None, default=None
        Samples whose labels move together in permutations (scans of one block or
        trial). If None, every sample moves by itself.
    bounds : {"auto", "forward", "folds", None} or Bounds, default="auto"
        Where the lower confidence bounds come from: additional tests that train on the
        earlier runs and test on the next ("forward"), or the folds of ``cv``, which
        count as a single test ("folds"). "auto" chooses; None computes no bounds. Test
        units, confidence level and order of e-values: see
        :class:`neuroextrap.analysis.Bounds`.
    shard : tuple of (int, int), str "i/N", or None, default=None
        Compute the i-th of N parts only, counting from 1; parts are joined by
        :meth:`merge`.
    random_state : None, int or numpy.random.Generator, default=0
        Seed of the permutations.

    Attributes
    ----------
    maps_ : dict of images (dict of ndarray for array input)
        accuracy, pairwise_accuracy, implied_information (bits), bounds where they hold,
        e_value and e_value_fdr where these are by forward testing, n_voxels, and after
        permutations p_value, p_value_fwe, p_value_fwe_tail, p_value_fdr,
        neg_log10_p_fwe, z; with ``keep`` p_value_tail and p_value_fwe_step_down
        too, and, where ``statistic`` is "implied_information",
        implied_information_corrected.
    region_scores_ : dict of ndarray of shape (n_regions,)
        The same numbers, one for every region.
    wins_ : ndarray of shape (n_regions, K)
        Win distributions.
    fold_wins_ : ndarray of shape (n_folds, n_regions, K) or None
        Win distributions of every fold, if ``Keep(per_fold=True)``.
    null_maxima_ : ndarray of shape (n_permutations_,)
        Largest permuted statistic over regions.
    table_ : pandas.DataFrame or None
        Tidy table of atlas regions, of a matrix of regions, or of an array; None for
        searchlights.
    classes_ : ndarray of shape (K,)
        Classes analyzed.
    set_sizes_ : ndarray of int of shape (n_set_sizes,)
        Set sizes of the curves.
    test_codes_ : ndarray of int of shape (n_test,), or None
        Class (index into ``classes_``) of every row of :meth:`region_margins`; None
        for results read from a folder.
    masker_ : NiftiMasker, SurfaceMasker or None
        Fitted masker; None for array input.
    bg_img_ : image or None
        Mean of the images as gray levels, which reports draw under maps that do not lie
        in MNI space; None if there is none to be drawn.
    findings_ : list of Finding
        What is doubtful about the design, its samples or outcomes.
    n_elements_ : int
        Number of voxels, vertices or columns.
    n_permutations_ : int
        Number of permutations done (all distinct ones if these are fewer).
    tail_fit_accepted_ : bool or None
        Whether a generalized Pareto tail was fitted to the permuted maxima; if not,
        ``p_value_fwe_tail`` is ``p_value_fwe``. None without permutations.
    notes_ : tuple of str
        What a reader should know about the validity of the numbers.

    References
    ----------
    Zheng, Achanta & Benjamini 2018, "Extrapolating expected accuracies for large
    multi-class problems", Journal of Machine Learning Research 19.
    Kriegeskorte, Goebel & Bandettini 2006, "Information-based functional brain
    mapping", PNAS 103. Nichols & Holmes 2002, "Nonparametric permutation tests for
    functional neuroimaging", Human Brain Mapping 15.

    Examples
    --------
    >>> import numpy as np
    >>> from neuroextrap.decoding import IdentificationSearchLight
    >>> rng = np.random.default_rng(0)
    >>> y = np.tile([0, 1, 2, 3], 6)
    >>> runs = np.repeat(np.arange(6), 4)
    >>> X = rng.normal(size=(4, 20))[y] + rng.normal(size=(24, 20))
    >>> fitted = IdentificationSearchLight().fit(X, y, groups=runs)
    >>> round(float(fitted.region_scores_["accuracy"][0]), 2)
    1.0
    """

    kind = "searchlight"
    VALUES: ClassVar = {
        "regions": Regions,
        "set_sizes": Curves,
        "bounds": Bounds,
        "keep": Keep,
    }

    mask: Any = None
    _: KW_ONLY
    estimator: Any = "nearest_centroid"
    shrinkage: str | float = "auto"
    noise_covariance: Any = None
    cv: Any = None
    classes: ArrayLike | None = None
    within_runs: str | None = None
    set_sizes: Any = None
    statistic: str | int = "accuracy"
    n_permutations: int = 0
    blocks: ArrayLike | None = None
    bounds: Any = "auto"

    def fit(
        self,
        imgs: Any,
        y: ArrayLike,
        groups: ArrayLike | None = None,
        *,
        order: ArrayLike | None = None,
    ) -> Self:
        """Analyze every region.

        Parameters
        ----------
        imgs : 4-D image, list of images, path(s), SurfaceImage, or array
            Samples, one volume (row) for each.
        y : array-like of shape (n_samples,)
            Class of every sample.
        groups : array-like of shape (n_samples,) or None, default=None
            Run of every sample. The samples of a run are left out together, and labels
            are permuted within runs.
        order : array-like of shape (n_samples,) or None, default=None
            When every sample was acquired in its run, as time or rank, to check whether
            the classes came in the same order in all runs, which makes p-values and
            bounds doubtful. If None, samples are listed in the order of acquisition.

        Returns
        -------
        self : IdentificationSearchLight

        Raises
        ------
        ValueError
            When parameters, images, labels and groups do not match.
        """
        run = plan_decoding(self, imgs, y, groups, order)
        return self._complete(run, imgs=imgs)

    @takes_options(SampleOptions, without="label_column")
    def fit_events(self, imgs: Any, events: Any = None, **options: Any) -> Self:
        """Make samples of BOLD series and their events, and analyze every region.

        What ``neuroextrap searchlight`` does, in one call: one series and one table of
        events per run; the samples of a run are left out together.

        Parameters
        ----------
        imgs : Niimg, SurfaceImage, path, glob pattern, or list of these
            BOLD series, one per run, or all runs in one. Or a model of SPM, FEAT,
            GLMsingle or nilearn, as :func:`~neuroextrap.images.load_betas` reads it.
        events : path-like, glob pattern, DataFrame, list of these, or None
            One table per series: BIDS events (``onset``, ``duration`` in seconds,
            ``trial_type``). Or one row per volume (``trial_type`` and ``run``), in one
            table or one per series. Models say themselves what their betas are of, if
            None (the default).

        Returns
        -------
        self : IdentificationSearchLight
            Fitted; the folder of its results says which files and options were used.

        Raises
        ------
        ValueError
            When images, tables, confounds and options do not match.

        Examples
        --------
        >>> import numpy as np, nibabel, pandas
        >>> from neuroextrap.decoding import IdentificationSearchLight
        >>> rng = np.random.default_rng(0)
        >>> patterns = rng.normal(size=(2, 3, 3, 3)).repeat(4, axis=0)
        >>> series = [patterns + rng.normal(size=patterns.shape) for _ in range(3)]
        >>> imgs = [
        ...     nibabel.Nifti1Image(np.moveaxis(s, 0, 3), np.eye(4)) for s in series
        ... ]
        >>> events = pandas.DataFrame(
        ...     {"onset": [0, 8], "duration": 8, "trial_type": ["face", "cat"]}
        ... )
        >>> mask = nibabel.Nifti1Image(np.ones((3, 3, 3)), np.eye(4))
        >>> light = IdentificationSearchLight(mask, radius=2.0, bounds=None)
        >>> light.fit_events(imgs, [events] * 3, t_r=2.0).classes_
        array(['cat', 'face'], dtype='<U4')
        """
        options = as_options(
            SampleOptions, IdentificationSearchLight.fit_events, options
        )
        given = options.given(without="label_column")
        imgs, events, mask = ready_betas(imgs, events, self.mask)
        sources = {"imgs": source_files(imgs), "events": source_files(events)}
        read = event_samples(imgs, events, mask, options, memory=self.memory)
        light = copy(self).set_params(mask=read.masker.mask_img_)
        data = to_img(read.data, read.masker)
        run = plan_decoding(light, data, read.y, read.runs, read.order)
        self._complete(run, made_by=recorded_options(given), **sources)
        self.bg_img_ = read.bg_img  # of the series, before any cleaning
        return self

    @described_by(fit)
    def estimate_cost(
        self,
        imgs: Any,
        y: ArrayLike,
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
        return plan_decoding(self, imgs, y, groups, order).cost()

    def _publish(self, results):
        """Publish the wins of every fold beside the rest."""
        super()._publish(results)
        self.fold_wins_ = results.fold_wins

    @described_by(RegionPredictions.find_region)
    def confusion_matrix(self, region: Any) -> np.ndarray:
        """Count how often test points of each class were assigned to each class.

        Returns
        -------
        confusion : ndarray of shape (K, K)
            Counts of test points by true class (row) and class with the largest margin
            (column); ties are shared equally. Its plug-in information, in bits, is
            ``stats.confusion_information(confusion)``.
        """
        margins = self.region_margins(region)
        best = margins == margins.max(axis=1, keepdims=True)
        confusion = np.zeros((len(self.classes_),) * 2)
        np.add.at(confusion, self.test_codes_, best / best.sum(axis=1, keepdims=True))
        return confusion

    @described_by(RegionPredictions.predict)
    def score(
        self,
        imgs: Any,
        y: ArrayLike,
        groups: ArrayLike | None = None,
        *,
        region: Any = None,
    ) -> float:
        """Return the ``statistic`` of new samples, as scikit-learn's tools ask for it.

        Parameters
        ----------
        y : array-like of shape (n_samples,)
            Class of every new sample; classes weigh the same.
        region : int, str, tuple of float or None, default=None
            Region, as for :meth:`find_region`; None for the only one, such as that of
            an array.

        Returns
        -------
        score : float
            Accuracy as a proportion (or pairwise accuracy, or bits).

        Raises
        ------
        ValueError
            When there are several regions and none is named, a class was not fitted, or
            as :meth:`predict`.

        Examples
        --------
        >>> import numpy as np
        >>> from neuroextrap.decoding import IdentificationSearchLight
        >>> from sklearn.model_selection import LeaveOneGroupOut, cross_val_score
        >>> y, runs = np.tile([0, 1, 2], 6), np.repeat(np.arange(6), 3)
        >>> X = np.eye(3)[y] + 0.1 * np.random.default_rng(0).normal(size=(18, 3))
        >>> how = {"groups": runs, "cv": LeaveOneGroupOut()}
        >>> light = IdentificationSearchLight(estimator="lda", bounds=None)
        >>> cross_val_score(light, X, y, params={"groups": runs}, **how).mean()
        np.float64(1.0)
        """
        codes = codes_of(self.classes_, y)
        margins = self.margins(self._only_region(region), imgs, groups)
        if len(codes) != len(margins):
            raise ValueError(f"imgs has {len(margins)} samples, y has {len(codes)}")
        wins = stats.win_distribution(margins, codes)
        return float(self.run_.plan.statistic(wins[np.newaxis])[0])

    def _decide(self, region, new):
        return self.classes_[self._margins_of(region, new).argmax(axis=1)]

    def _margins_of(self, region, new):
        plan, (_, x) = self.run_.plan, self._fitted_samples(region)
        return margins_of_new(plan.kernel, x, plan.codes[0], new)

    def _rule(self, region):
        plan, (_, x) = self.run_.plan, self._fitted_samples(region)
        rule = linear_rule(plan.kernel, x, plan.codes[0])
        if rule is None:
            raise ValueError(
                f"estimator={self.estimator!r} has no weights of voxels here; use "
                "'nearest_centroid', 'ridge' or 'lda'"
            )
        shared = rule.weights.mean(axis=1, keepdims=True)
        return rule._replace(weights=rule.weights - shared), self.classes_.tolist()
