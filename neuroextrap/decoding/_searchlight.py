"""Identification in every region of a brain."""

from dataclasses import replace

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from neuroextrap.analysis._region_analysis import RegionAnalysis
from neuroextrap.analysis._results import RegionResults
from neuroextrap.analysis._run_parameters import score_analysis
from neuroextrap.decoding._experiment import plan_experiment
from neuroextrap.margins._engine import observed_margins


class IdentificationSearchLight(RegionAnalysis, BaseEstimator):
    """How much every region tells about which class was shown.

    Every region's classifier is cross-validated; its margins give, for every test
    point, the number of distractor classes that the true class beats, and these wins
    give the identification accuracy for any number of classes up to K, the information
    implied by that curve, lower confidence bounds, and permutation p-values with
    family-wise error control by the maximum over regions.

    Parameters
    ----------
    mask : None, path, image, NiftiMasker or SurfaceMasker
        Where to look. None computes a mask from the images; a masker's own smoothing,
        detrending and standardizing are honored. Plain arrays need none.
    radius : float
        Radius of spheres (or of discs on a surface) in mm; a voxel whose center is at
        exactly the radius belongs.
    n_nearest : int or None
        Instead of a radius, the number of nearest voxels of every region.
    labels_img : image, path or None
        Atlas regions instead of spheres; label 0 is background. An atlas as nilearn
        fetches it brings its names.
    regions : sparse matrix, shape (n_regions, n_features), or None
        Regions of your own.
    process_mask_img : image, path or None
        Where centers of regions may lie; their voxels may reach beyond.
    stride : int
        Every stride-th voxel along each axis is a center.
    min_voxels : int
        Regions with fewer usable voxels are NaN.
    estimator : str or scikit-learn classifier
        "nearest_centroid", "gaussian_nb", "lda", "ridge", "qda", "nearest_neighbor", or
        any classifier with ``decision_function`` or ``predict_proba`` (slow).
    shrinkage : "auto" or float
        Of lda, ridge and qda. "auto" is the Ledoit-Wolf intensity on the region's total
        scatter, which no label enters; a float is the penalty as a multiple of
        trace(total scatter) / number of voxels.
    noise_covariance : None, array or images
        Noise to whiten by (Mahalanobis distances): residuals of shape (n_observations,
        n_features) or images of them; every region's covariance is shrunk towards its
        diagonal.
    cv : None, int, scikit-learn splitter, or iterable of (train, test)
        None leaves one group out at a time. Indices count the samples of the classes
        that are analyzed.
    classes : sequence or None
        Classes to analyze; samples of other classes are left out.
    set_sizes : sequence of int or None
        Set sizes of curves and implied information; None is all of 2..K up to K = 32,
        else at most 32 of them, log-spaced.
    statistic : {"accuracy", "pairwise_accuracy", "implied_information"} or int
        What the permutation test compares; an integer k is accuracy among k classes.
    n_permutations : int
        Number of permuted labelings; 0 for no test. With a single train/test split the
        labels of the test samples are permuted and the classifier stays as it is.
    blocks : array-like, shape (n_samples,), or None
        Samples whose labels move together (scans of one block or trial).
    confidence_level : float
        Of the lower bounds.
    save_null : path or None
        A .npy file for every region's permuted statistics, float32 of shape
        (n_permutations, n_regions), for group inference.
    per_fold : bool
        Keep every fold's wins in ``fold_wins_``.
    max_memory : str or int
        Memory budget of samples, regions and results, such as "2G" or a number of
        bytes; fewer workers start if need be, and less than one needs is refused.
        Images as they are read come on top. Does not affect results.
    checkpoint : path or None
        Folder for finished work; the same call resumes from it.
    shard : tuple of (int, int), str "i/N", or None
        Compute the i-th of N parts only, counting from 1; parts are joined by
        :meth:`merge`.
    memory : None, path or joblib.Memory
        Folder where what is read from image files (through the masker, and a computed
        mask) is remembered, so that fitting again does not read them again; a changed
        file is read anew. Keeps surface discs too, by mesh and radius. None remembers
        nothing. Does not affect results.
    memory_level : int
        0 remembers nothing, 1 and above do, as in nilearn.
    n_jobs : int
        Number of joblib workers. Does not affect results.
    random_state : None, int or numpy.random.Generator
        Of the permutations.
    verbose : int
        Above 0, progress is logged at level INFO.

    Attributes
    ----------
    maps_ : dict of images (of ndarray for array input)
        accuracy, pairwise_accuracy, implied_information (bits), bounds where they hold,
        n_voxels, and after permutations p_value, p_value_fwe, p_value_fwe_tail,
        p_value_fdr, neg_log10_p_fwe, z (and p_value_tail with ``save_null``).
    region_scores_ : dict of ndarray, shape (n_regions,)
        The same numbers, one a region.
    wins_ : ndarray, shape (n_regions, K)
        Win distributions.
    fold_wins_ : ndarray, shape (n_folds, n_regions, K)
        Win distributions of every fold, if ``per_fold``.
    null_maxima_ : ndarray, shape (n_permutations,)
        Largest permuted statistic over regions.
    table_ : pandas.DataFrame
        Tidy table of atlas regions, of a matrix of regions, or of an array; None for
        searchlights.
    classes_ : ndarray
        Classes analyzed.
    set_sizes_ : ndarray of int
        Set sizes of the curves.
    test_codes_ : ndarray of int, shape (n_test,)
        Class (index into ``classes_``) of every row of :meth:`region_margins`.
    masker_ : fitted masker, or None
    n_elements_ : int
        Number of voxels, vertices or columns.
    n_permutations_ : int
        Number of permutations done (all distinct ones when there are fewer than asked).
    tail_fit_accepted_ : bool or None
        Whether a generalized Pareto tail fits the permuted maxima; where it does not,
        ``p_value_fwe_tail`` is ``p_value_fwe``.
    notes_ : tuple of str
        What a reader should know of the validity of the numbers.

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

    _index_file = "searchlight.json"

    def __init__(  # noqa: PLR0913
        self,
        mask=None,
        *,
        radius=8.0,
        n_nearest=None,
        labels_img=None,
        regions=None,
        process_mask_img=None,
        stride=1,
        min_voxels=2,
        estimator="nearest_centroid",
        shrinkage="auto",
        noise_covariance=None,
        cv=None,
        classes=None,
        set_sizes=None,
        statistic="accuracy",
        n_permutations=0,
        blocks=None,
        confidence_level=0.95,
        save_null=None,
        per_fold=False,
        max_memory="2G",
        checkpoint=None,
        shard=None,
        memory=None,
        memory_level=1,
        n_jobs=1,
        random_state=0,
        verbose=0,
    ):
        self.mask = mask
        self.radius = radius
        self.n_nearest = n_nearest
        self.labels_img = labels_img
        self.regions = regions
        self.process_mask_img = process_mask_img
        self.stride = stride
        self.min_voxels = min_voxels
        self.estimator = estimator
        self.shrinkage = shrinkage
        self.noise_covariance = noise_covariance
        self.cv = cv
        self.classes = classes
        self.set_sizes = set_sizes
        self.statistic = statistic
        self.n_permutations = n_permutations
        self.blocks = blocks
        self.confidence_level = confidence_level
        self.save_null = save_null
        self.per_fold = per_fold
        self.max_memory = max_memory
        self.checkpoint = checkpoint
        self.shard = shard
        self.memory = memory
        self.memory_level = memory_level
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, imgs, y, groups=None):
        """Analyze every region.

        Parameters
        ----------
        imgs : 4-D image, list of images, path(s), SurfaceImage, or array
            One volume (row) a sample.
        y : array-like, shape (n_samples,)
            Class of every sample.
        groups : array-like, shape (n_samples,), or None
            Run of every sample: left out together, and labels are permuted within.

        Returns
        -------
        self : IdentificationSearchLight

        Raises
        ------
        ValueError
            When parameters, images, labels and groups do not fit one another.
        """
        self._experiment = plan_experiment(self, imgs, y, groups)
        self._run()
        self._publish()
        return self

    def estimate_cost(self, imgs, y, groups=None):
        """Say what :meth:`fit` would take, by timing a few regions.

        Parameters
        ----------
        imgs, y, groups
            As for :meth:`fit`.

        Returns
        -------
        cost : dict
            Numbers by name: n_regions, n_features, n_permutations, seconds (on n_jobs
            workers) and memory (bytes).
        """
        return plan_experiment(self, imgs, y, groups).cost()

    def _run(self):
        """Compute every region's wins, observed and permuted."""
        run = self._experiment
        plan = run.plan
        scores, tail = score_analysis(
            self, run.samples.X, run.usable.regions, plan, n_workers=run.n_workers
        )
        n_bound = len(run.bounds.weighting)
        self.fold_wins_ = scores.weighted_wins[n_bound:] if self.per_fold else None
        scores = replace(
            scores, weighted_wins=scores.weighted_wins[:n_bound], null=None
        )
        self._results = RegionResults(
            scores=scores,
            choice=run.choice,
            n_voxels=run.usable.n_features,
            n_test=len(plan.design.test),
            set_sizes=run.set_sizes,
            n_repeats=run.bounds.n_repeats,
            confidence_level=self.confidence_level,
            notes=(*run.samples.notes, *run.bounds.notes),
            p_value_tail=tail,
        )
        self.classes_ = run.labels.classes
        self.test_codes_ = run.labels.codes[plan.design.test]
        self.masker_ = run.samples.masker
        self.n_elements_ = run.samples.X.shape[1]

    def region_margins(self, region):
        """Return the observed margins of one region.

        Parameters
        ----------
        region : int or tuple of float
            Index, or (x, y, z) in mm of the nearest center.

        Returns
        -------
        margins : ndarray, shape (n_test, K)
            Rows in the order of the folds' test samples.

        Raises
        ------
        ValueError
            When the data are not there (results read from a folder).
        """
        check_is_fitted(self, "region_scores_")
        if self._experiment is None:
            raise ValueError(
                "the samples are not stored with results; fit again to get margins"
            )
        run = self._experiment
        return observed_margins(
            run.samples.X, run.usable.regions, run.plan, self.find_region(region)
        )

    def confusion_matrix(self, region):
        """Return how often each class was taken for each other.

        Parameters
        ----------
        region : int or tuple of float
            Index, or (x, y, z) in mm of the nearest center.

        Returns
        -------
        confusion : ndarray, shape (K, K)
            Row: true class; column: class with the largest margin, ties shared equally.
            Counts of test points.
        """
        found = self.region_margins(region)
        best = found == found.max(axis=1, keepdims=True)
        share = best / best.sum(axis=1, keepdims=True)
        confusion = np.zeros((len(self.classes_),) * 2)
        np.add.at(confusion, self.test_codes_, share)
        return confusion

    def _inputs(self):
        """Return the data that maps were computed from."""
        if self._experiment is None:
            return {}
        run = self._experiment
        return {"samples": run.samples.X, "labels": run.plan.codes[0]}

    def _forget_data(self):
        """Say that there are results, but no data."""
        self._experiment = self.test_codes_ = self.fold_wins_ = None
