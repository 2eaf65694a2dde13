"""Identify stimuli from responses through an encoding model, in every region."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, ClassVar, Self

from numpy.typing import ArrayLike

from neuroextrap.analysis._parameters import Keep, Regions
from neuroextrap.analysis._region_files import check_trained
from neuroextrap.encoding._encoding_run import plan_folds, plan_identification
from neuroextrap.encoding._identified_responses import ResponsePredictions
from neuroextrap.encoding._training import check_choices
from neuroextrap.encoding._training_folds import trained_attributes
from neuroextrap.stats._shared_options import described_by, takes_fields


@takes_fields
class EncodingIdentification(ResponsePredictions):
    """Measure how well an encoding model picks the stimulus that evoked a response.

    An encoder learns to predict responses from stimulus features. For new stimuli,
    the margin of candidate j for response i is the Mahalanobis distance ::

        M[i, j] = -1/2 (y_i - f_j)' Sigma^-1 (y_i - f_j)

    between the response and the prediction, with the region's noise covariance Sigma
    estimated from training residuals: that of the encoder's misfit plus that of the
    noise, divided by the number of responses averaged, where training stimuli are
    repeated and separate the two. Margins give wins, and wins the identification
    accuracy for any number of candidates, implied information, bounds and tests, as
    in a decoding searchlight.

    Parameters
    ----------
    mask : None, path, image, NiftiMasker or SurfaceMasker, default=None
        Voxels to analyze. None computes a mask from the images; arrays need no mask.
    encoder : scikit-learn multi-output regressor or None, default=None
        Model that predicts responses. If None, :class:`ElasticNetEncoder`, and
        :class:`RidgeEncoder` where fewer than 100 stimuli are trained on, whose data
        leave its penalties less uncertain.
    noise_covariance : None, array or images, default=None
        Residuals (n_observations, n_features) to estimate the noise covariance from;
        never those of test responses. None takes those of the training data.
    rule : {"mahalanobis", "ledoit_wolf", "oas", "diagonal", "euclidean", \
            "correlation", "auto"}, default="mahalanobis"
        How a response is compared with predictions. "mahalanobis" is the distance
        above, its covariance shrunk to the diagonal; "ledoit_wolf" and "oas" shrink it
        as scikit-learn does. "diagonal" takes the noise of voxels to be independent,
        "euclidean" to be equal as well. "correlation" is the Pearson correlation of
        response and prediction over voxels, about their training means and in units of
        the standard deviation of their residuals, which is better where residuals are
        far fewer than voxels. "auto": "mahalanobis" or "correlation", whichever
        identifies more of the training stimuli, in five folds, each with a fit of the
        encoder.
    standardize : bool, default=True
        Whether features are scaled by training means and standard deviations.
    cv : int or scikit-learn splitter, default=5
        Folds of the default encoder and of the residuals. An int is their number:
        stimuli (or `groups` of ``fit``) are drawn for them at random or, if they are
        fewer than twice as many, left out one by one.
    repeats : {"average", "keep"}, default="average"
        Whether test responses to one stimulus are averaged or kept apart.
    set_sizes : sequence of int or None, default=None
        Numbers of candidates, of curves and implied information. If None, all of 2..K
        up to K = 32, else at most 32 of them, log-spaced.
    statistic : {"implied_information", "accuracy", "pairwise_accuracy"} or int, \
            default="implied_information"
        Statistic of the permutation test; an integer k is accuracy among k candidates.
        Information uses the whole curve, so that little escapes it; accuracy among
        many candidates misses weak signals.
    n_permutations : int, default=0
        Number of permuted pairings of responses and stimuli; 0 makes no test.
    exchange : {"rows", "shifts"} or int, default="rows"
        How they are permuted: stimulus by stimulus, or, for films, stories and other
        recordings whose responses depend on their neighbors in time, by circular shifts
        of the whole series of each run, or by blocks of so many responses, such as the
        clips of a film that came in random order. Responses are then in the order of
        acquisition.
    confidence_level : float, default=0.95
        Confidence level of the lower bounds.
    shard : tuple of (int, int), str "i/N", or None, default=None
        Identify in the i-th of N parts of the regions only, counting from 1; parts are
        joined by :meth:`merge`. Every part fits the whole encoder.
    random_state : None, int or numpy.random.Generator, default=0
        Seed of the permutations and of folds (:class:`RidgeEncoder` and
        :class:`ElasticNetEncoder` have their own for theirs).

    Attributes
    ----------
    encoder_ : estimator
        Encoder fitted on the usable voxels.
    feature_names_in_ : ndarray of object of shape (n_columns,)
        Names of the feature columns, if a DataFrame in :meth:`fit` had them.
    usable_ : ndarray of bool of shape (n_elements_,)
        Voxels that are finite and vary in training.
    residuals_ : ndarray of float32 of shape (n_observations, n_elements_)
        Residuals that noise covariances are estimated from.
    maps_ : dict of images (dict of ndarray for array input)
        After :meth:`identify`: accuracy, pairwise_accuracy, implied_information
        (bits), bounds where they hold, n_voxels, and after permutations p_value,
        p_value_fwe, p_value_fwe_tail, p_value_fdr, neg_log10_p_fwe, z (and p_value_tail
        and p_value_fwe_step_down with ``keep``). Attributes that are not described here
        are those of :class:`neuroextrap.decoding.IdentificationSearchLight`.
    classes_ : ndarray of shape (K,)
        Candidates: names, or rows of the test features, then distractors.
    penalties_ : dict of ndarray of shape (n_elements_,)
        Penalties chosen for each voxel, see :meth:`penalty_maps`.
    test_stimuli_ : ndarray of shape (n_test,)
        Stimulus (name, or row of the features) of each row of :meth:`region_margins`.
    test_codes_ : ndarray of int of shape (n_test,), or None
        True candidate (index into ``classes_``) of each row of :meth:`region_margins`.

    References
    ----------
    Kay, Naselaris, Prenger & Gallant 2008, "Identifying natural images from human
    brain activity". Zheng, Achanta & Benjamini 2018, "Extrapolating
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

    kind = "encoding"
    VALUES: ClassVar = {"regions": Regions, "keep": Keep}

    mask: Any = None
    encoder: Any = None
    _: KW_ONLY
    noise_covariance: Any = None
    rule: str = "mahalanobis"
    standardize: bool = True
    cv: Any = 5
    repeats: str = "average"
    set_sizes: Any = None
    statistic: Any = "implied_information"
    n_permutations: int = 0
    exchange: str = "rows"
    confidence_level: float = 0.95

    def fit(
        self,
        features: ArrayLike,
        imgs: Any,
        groups: ArrayLike | None = None,
        *,
        stimuli: ArrayLike | None = None,
    ) -> Self:
        """Train the encoder.

        Parameters
        ----------
        features : array-like or DataFrame of shape (n_samples, n_columns)
            Features of the training stimuli, one row for every response, or of the
            stimuli that `stimuli` refers to.
        imgs : 4-D image, list of images, path(s), SurfaceImage, or array
            Responses, one volume (row) for every presentation of a stimulus.
        groups : array-like of shape (n_samples,) or None, default=None
            Stimuli or runs that cross-validation, of any encoder, keeps together. If
            None, repeats of a stimulus (equal rows of `features`) are.
        stimuli : array-like of shape (n_samples,) or None, default=None
            Row of `features`, or name of the stimulus in the index of a DataFrame, that
            each response belongs to; None pairs row by row.

        Returns
        -------
        self : EncodingIdentification

        Raises
        ------
        ValueError
            When rows do not match, a feature is not finite, there are too few samples
            or groups, groups split repeats, or the encoder cannot keep groups together.
        """
        check_choices(self)
        attributes = trained_attributes(self, features, imgs, groups, stimuli)
        self.__dict__.pop("feature_names_in_", None)  # of an earlier fit
        self.__dict__.update(attributes)
        return self

    @described_by(fit)
    def identify(
        self,
        features: ArrayLike,
        imgs: Any,
        groups: ArrayLike | None = None,
        *,
        stimuli: ArrayLike | None = None,
        distractors: ArrayLike | None = None,
        averaged: int = 1,
    ) -> Self:
        """Identify which stimulus evoked each of new responses, in every region.

        Parameters
        ----------
        features : array-like or DataFrame of shape (n_stimuli, n_columns)
            Features of test stimuli, none of which was trained on. Text in the index of
            a DataFrame names the stimuli.
        groups : array-like of shape (n_responses,) or None, default=None
            Runs within which the pairing of responses and stimuli is permuted.
        distractors : array-like or DataFrame of shape (n_distractors, n_columns) or \
                None, default=None
            Features of further candidates without responses.
        averaged : int, default=1
            Number of presentations of which every response in `imgs` is the average, if
            they were averaged before. It is needed for margins and posteriors where
            repeats of training stimuli tell how noisy a single response is.

        Returns
        -------
        self : EncodingIdentification

        Raises
        ------
        ValueError
            When a test stimulus was trained on, candidates are identical, or rows do
            not match.
        """
        check_trained(self)
        check_choices(self)
        if "residuals_" not in vars(self):
            raise ValueError(
                "the model was read from a folder: it predicts, and its results can be "
                "asked, but its training residuals were not kept; call fit first"
            )
        run = plan_identification(
            self,
            self._training,
            (features, distractors),
            (imgs, stimuli, groups, averaged),
        )
        return self._complete(run, train=self._training_files, imgs=imgs)

    @described_by(fit)
    def identify_folds(
        self,
        features: ArrayLike,
        imgs: Any,
        *,
        stimuli: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        n_folds: int = 5,
    ) -> Self:
        """Train and identify fold by fold, so that every stimulus is tested once.

        The stimuli are divided at random, by the seed `random_state`, into folds of
        equal size. The responses to those of one fold are identified among themselves,
        by an encoder and a noise covariance of the responses to the others; ``"auto"``
        chooses a rule in each fold, by its training data. :meth:`fit` is not needed.

        What is tested in one fold trains the models of the others, so that lower bounds
        would not hold, nor would permutations of finished outcomes. With
        `n_permutations` stimuli are therefore exchanged before anything is fitted, and
        all folds are trained again for every permutation. Such p-values are exact if
        responses are exchangeable within `groups`; they take ``n_permutations + 1``
        times as long as the analysis without them.

        Parameters
        ----------
        features : array-like or DataFrame of shape (n_stimuli, n_columns)
            Features of the stimuli, each once. Text in the index of a DataFrame names
            them.
        groups : array-like of shape (n_responses,) or None, default=None
            Runs within which permutations exchange stimuli; all responses to a stimulus
            lie in one. Folds do not depend on them.
        n_folds : int, default=5
            Number of folds. Stimuli that are left over when they are divided, fewer
            than folds, are trained on only; a note says so.

        Returns
        -------
        self : EncodingIdentification
            ``classes_`` are places in a fold; ``test_stimuli_`` says which stimulus
            each row of :meth:`region_margins` is.

        Raises
        ------
        ValueError
            When there are fewer than two stimuli in a fold, stimuli are identical or
            have no response, rows do not match, or permutations are requested of
            ``exchange="shifts"`` or with ``save_null``.
        """
        check_choices(self)
        run = plan_folds(
            self, features, imgs, stimuli=stimuli, groups=groups, n_folds=n_folds
        )
        self.penalties_: dict = {}  # every fold has its own
        return self._complete(run, imgs=imgs)
