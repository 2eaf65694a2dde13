"""Identify stimuli from responses through an encoding model, in every region."""

from dataclasses import replace

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from neuroextrap import stats
from neuroextrap.analysis._results import RegionResults
from neuroextrap.analysis._run_parameters import score_analysis
from neuroextrap.encoding._checks import check_parameters
from neuroextrap.encoding._experiment import Experiment, make_plan
from neuroextrap.encoding._responses import noise_rows, read_responses
from neuroextrap.encoding._stimuli import (
    FeatureScaling,
    check_candidates,
    check_features,
    pair_responses,
    row_keys,
)
from neuroextrap.encoding._training import train_encoder
from neuroextrap.encoding._views import EncodingViews
from neuroextrap.images._region_choice import choose_regions
from neuroextrap.margins._resources import affordable_workers
from neuroextrap.regions._usable import usable_regions


class EncodingIdentification(EncodingViews, BaseEstimator):
    """How well an encoding model picks the stimulus that evoked a response.

    An encoder learns to predict responses from stimulus features. For new stimuli,
    the margin of candidate j for response i is the Mahalanobis distance ::

        M[i, j] = -1/2 (y_i - f_j)' Sigma^-1 (y_i - f_j)

    between the response and the prediction, with the region's noise covariance Sigma
    estimated from training residuals. Margins give wins, and wins the identification
    accuracy for any number of candidates, implied information, bounds and tests, as
    in a decoding searchlight.

    Parameters
    ----------
    mask : None, path, image, NiftiMasker or SurfaceMasker
        Where to look; arrays (neurons) need none.
    encoder : scikit-learn multi-output regressor or None
        None is :class:`ElasticNetEncoder`.
    noise_covariance : None, array or images
        Residuals, shape (n_observations, n_features), to estimate the noise
        covariance from. None takes the residuals of the training data. Residuals of
        the test responses must never be used.
    radius : float
        Radius of spheres (or of discs on a surface) in mm.
    n_nearest : int or None
        Instead of a radius, the number of nearest voxels.
    labels_img : image, path or None
        Atlas regions instead of spheres; label 0 is background.
    regions : sparse matrix, shape (n_regions, n_features), or None
        Regions of your own.
    process_mask_img : image, path or None
        Where centers of regions may lie.
    stride : int
        Every stride-th voxel along each axis is a center.
    min_voxels : int
        Regions with fewer usable voxels are NaN.
    covariance : {"shrunk", "ledoit_wolf", "oas", "diagonal", "identity"}
        Estimator of the noise covariance.
    residuals : {"cross_validated", "training"}
        Which residuals of the training data.
    standardize : bool
        Scale features by the means and standard deviations of the training stimuli.
    cv : int or scikit-learn splitter
        Folds of the default encoder and of the residuals.
    repeats : {"average", "keep"}
        What to do with several test responses to a stimulus.
    set_sizes : sequence of int or None
        Set sizes of curves and of the implied information; None is all of 2..K up to
        K = 32, else at most 32 of them, log-spaced.
    statistic : {"accuracy", "pairwise_accuracy", "implied_information"} or int
        What the permutation test compares.
    n_permutations : int
        Number of permuted pairings of responses and stimuli; 0 for no test.
    confidence_level : float
        Of the lower bounds.
    save_null : path or None
        A .npy file for every region's permuted statistics.
    max_memory : str or int
        Memory budget of samples, regions and results in :meth:`identify`, such as "2G"
        or a number of bytes; fewer workers start if need be, and less than one needs is
        refused. Images as they are read come on top. Does not affect results.
    checkpoint : path or None
        Folder for finished work; the same call resumes from it.
    shard : tuple of (int, int), str "i/N", or None
        Identify in the i-th of N parts of the regions only, counting from 1; parts are
        joined by :meth:`merge`. Every part fits the whole encoder.
    memory : None, path or joblib.Memory
        Folder where what is read from image files (through the masker, and a computed
        mask) is remembered, so that fitting again does not read them again; a changed
        file is read anew. Keeps surface discs too, by mesh and radius. None remembers
        nothing. Does not affect results.
    memory_level : int
        0 remembers nothing, 1 and above do, as in nilearn.
    n_jobs : int
        Number of joblib workers over regions. Does not affect results.
    random_state : None, int or numpy.random.Generator
        Of the permutations.
    verbose : int
        Above 0, progress is logged at level INFO.

    Attributes
    ----------
    encoder_ : estimator
        Fitted on the usable voxels.
    usable_ : ndarray of bool, shape (n_elements_,)
        Voxels that are finite and vary in training.
    residuals_ : ndarray of float32, shape (n_samples, n_elements_)
        What noise covariances are estimated from.
    maps_ : dict of images (of ndarray for array input)
        After :meth:`identify`: accuracy, pairwise_accuracy, implied_information
        (bits), bounds where they hold, n_voxels, and after permutations p_value,
        p_value_fwe, neg_log10_p_fwe, z.
    region_scores_ : dict of ndarray, shape (n_regions,)
        The same numbers, one a region.
    wins_ : ndarray, shape (n_regions, K)
        Win distributions.
    null_maxima_ : ndarray, shape (n_permutations,)
        Largest permuted statistic over regions.
    table_ : pandas.DataFrame or None
        Tidy table of atlas regions, of a matrix of regions, or of an array.
    classes_ : ndarray of int, shape (K,)
        Candidates: rows of the test features, then distractors.
    set_sizes_ : ndarray of int
        Set sizes of the curves.
    masker_ : fitted masker, or None
        Of the training images.
    n_elements_ : int
        Number of voxels, vertices or columns.
    notes_ : tuple of str
        What a reader should know of the validity of the numbers.

    References
    ----------
    Kay, Naselaris, Prenger & Gallant 2008, "Identifying natural images from human
    brain activity", Nature 452. Zheng, Achanta & Benjamini 2018, "Extrapolating
    expected accuracies for large multi-class problems".

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import Ridge
    >>> from neuroextrap.encoding import EncodingIdentification
    >>> rng = np.random.default_rng(0)
    >>> features, weights = rng.normal(size=(120, 5)), rng.normal(size=(5, 20))
    >>> responses = features @ weights + rng.normal(size=(120, 20))
    >>> model = EncodingIdentification(encoder=Ridge())
    >>> model = model.fit(features[:90], responses[:90])
    >>> fitted = model.identify(features[90:], responses[90:])
    >>> round(float(fitted.region_scores_["accuracy"][0]), 1)
    1.0
    """

    _index_file = "encoding.json"

    def __init__(  # noqa: PLR0913
        self,
        mask=None,
        encoder=None,
        *,
        noise_covariance=None,
        radius=8.0,
        n_nearest=None,
        labels_img=None,
        regions=None,
        process_mask_img=None,
        stride=1,
        min_voxels=2,
        covariance="shrunk",
        residuals="cross_validated",
        standardize=True,
        cv=5,
        repeats="average",
        set_sizes=None,
        statistic="accuracy",
        n_permutations=0,
        confidence_level=0.95,
        save_null=None,
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
        self.encoder = encoder
        self.noise_covariance = noise_covariance
        self.radius = radius
        self.n_nearest = n_nearest
        self.labels_img = labels_img
        self.regions = regions
        self.process_mask_img = process_mask_img
        self.stride = stride
        self.min_voxels = min_voxels
        self.covariance = covariance
        self.residuals = residuals
        self.standardize = standardize
        self.cv = cv
        self.repeats = repeats
        self.set_sizes = set_sizes
        self.statistic = statistic
        self.n_permutations = n_permutations
        self.confidence_level = confidence_level
        self.save_null = save_null
        self.max_memory = max_memory
        self.checkpoint = checkpoint
        self.shard = shard
        self.memory = memory
        self.memory_level = memory_level
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, features, imgs, groups=None):
        """Train the encoder.

        Parameters
        ----------
        features : array-like, shape (n_samples, n_columns)
            Features of the training stimuli, one row a response.
        imgs : 4-D image, list of images, path(s), SurfaceImage, or array
            Training responses, one volume (row) a stimulus presentation.
        groups : array-like, shape (n_samples,), or None
            Runs or stimuli that cross-validation keeps together.

        Returns
        -------
        self : EncodingIdentification
            Ready to identify.

        Raises
        ------
        ValueError
            If rows do not match, a feature is constant or not finite, or there are
            fewer samples than folds.
        """
        check_parameters(self)
        X = check_features(features)
        scaling = FeatureScaling.of(X, self.standardize)
        read = read_responses(
            self.mask,
            imgs,
            n_rows=len(X),
            memory=self.memory,
            memory_level=self.memory_level,
        )
        trained = train_encoder(
            self.encoder,
            scaling(X),
            read.data[:, read.usable],
            residuals=self.residuals,
            cv=self.cv,
            groups=groups,
        )
        self.encoder_, self.masker_, self.usable_ = (
            trained.encoder,
            read.masker,
            read.usable,
        )
        self.n_elements_ = len(read.usable)
        self._scaling, self._location = scaling, read.location
        self._trained_keys = frozenset(row_keys(X))
        self._fit_notes = (*read.notes, *trained.notes)
        self.residuals_ = noise_rows(
            self.noise_covariance, trained.residuals, read.usable, read.masker
        )
        return self

    def predict(self, features):
        """Predict the responses to stimuli.

        Parameters
        ----------
        features : array-like, shape (n_stimuli, n_columns)
            Features.

        Returns
        -------
        responses : ndarray, shape (n_stimuli, n_elements_)
            NaN where a voxel was not usable.
        """
        check_is_fitted(self, "encoder_")
        X = check_features(features, n_columns=len(self._scaling.mean))
        predicted = np.full((len(X), self.n_elements_), np.nan)
        values = self.encoder_.predict(self._scaling(X)).reshape(len(X), -1)
        predicted[:, self.usable_] = values + self._location[self.usable_]
        return predicted

    def identify(self, features, imgs, groups=None, *, stimuli=None, distractors=None):
        """Identify which stimulus evoked each of new responses, in every region.

        Parameters
        ----------
        features : array-like, shape (n_stimuli, n_columns)
            Features of test stimuli, none of which was trained on.
        imgs : 4-D image, list of images, path(s), SurfaceImage, or array
            Test responses.
        groups : array-like, shape (n_responses,), or None
            Runs within which the pairing of responses and stimuli is permuted.
        stimuli : array-like of int, shape (n_responses,), or None
            Row of `features` that each response belongs to; None pairs row by row.
        distractors : array-like, shape (n_distractors, n_columns), or None
            Further candidates without responses.

        Returns
        -------
        self : EncodingIdentification
            With maps, table and wins.

        Raises
        ------
        ValueError
            If a test stimulus was trained on, candidates are identical, or rows do
            not match.
        """
        check_is_fitted(self, "encoder_")
        check_parameters(self)
        self._prepare(features, imgs, groups, stimuli, distractors)
        self._run()
        self._publish()
        return self

    def _prepare(self, features, imgs, groups, stimuli, distractors):
        """Check everything, read the data and plan the run."""
        n_columns = len(self._scaling.mean)
        tested = check_features(features, n_columns=n_columns)
        candidates = tested
        if distractors is not None:
            more = check_features(distractors, "distractors", n_columns)
            candidates = np.concatenate([tested, more])
        check_candidates(candidates, len(tested), self._trained_keys)
        read = read_responses(self.masker_, imgs, n_features=self.n_elements_)
        test = pair_responses(
            read.data + read.location,
            len(tested),
            stimuli=stimuli,
            groups=groups,
            repeats=self.repeats,
        )
        self._experiment = Experiment.of(
            test,
            self.predict(candidates),
            self.residuals_,
            usable=self.usable_ & read.finite,
            location=self._location,
        )
        sizes = self.set_sizes
        if sizes is None:
            sizes = stats.default_set_sizes(len(candidates))
        self.set_sizes_ = np.asarray(sizes)
        self._plan, self._plan_notes = make_plan(self, self._experiment)
        self._choice = choose_regions(
            self.masker_,
            self.n_elements_,
            radius=self.radius,
            n_nearest=self.n_nearest,
            labels_img=self.labels_img,
            regions=self.regions,
            process_mask_img=self.process_mask_img,
            stride=self.stride,
        )
        self._usable = usable_regions(
            self._choice.regions, self._experiment.usable, self.min_voxels
        )

    def _run(self):
        """Compute every region's wins, observed and permuted."""
        plan, data = self._plan, (self._experiment.rows, self._usable.regions)
        n_workers = affordable_workers(
            *data, plan, max_memory=self.max_memory, n_jobs=self.n_jobs
        )
        scores, tail = score_analysis(self, *data, plan, n_workers=n_workers)
        self._results = RegionResults(
            scores=replace(scores, null=None),
            choice=self._choice,
            n_voxels=self._usable.n_features,
            n_test=len(plan.design.test),
            set_sizes=self.set_sizes_,
            n_repeats=self._experiment.bound_repeats(),
            confidence_level=self.confidence_level,
            notes=(*self._fit_notes, *self._plan_notes),
            p_value_tail=tail,
        )
        self.classes_ = np.arange(plan.design.n_classes)
        self.test_codes_ = self._experiment.codes
