"""Encoding models of stimuli that go on in time: films and stories."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, Self

from sklearn.base import BaseEstimator

from neuroextrap._parameter_table import shared_parameters
from neuroextrap.analysis._region_files import check_trained
from neuroextrap.analysis._region_maps import RegionMaps
from neuroextrap.analysis._region_run import checked_parameters
from neuroextrap.encoding._continuous_maps import (
    partition_scores,
    segment_maps,
    voxel_maps,
    voxel_scores,
)
from neuroextrap.encoding._continuous_runs import (
    GivenRuns,
    read_runs,
    read_table_of_runs,
)
from neuroextrap.encoding._identification import EncodingIdentification
from neuroextrap.encoding._training import (
    TrainedRuns,
    check_encoder,
    voxel_penalties,
    with_bands,
)
from neuroextrap.images._sample_options import SampleOptions
from neuroextrap.models._delayer import check_delays
from neuroextrap.models._splitters import check_cv_argument
from neuroextrap.stats._shared_options import (
    as_options,
    described_by,
    takes_fields,
    takes_options,
)


@described_by(EncodingIdentification, SampleOptions)
@takes_fields
class ContinuousEncoding(BaseEstimator):
    """Predict responses to films and stories, voxel by voxel, and score new runs.

    Features are scaled by their training means and standard deviations and delayed
    within runs (see :class:`Delayer`). A ridge regression, whose penalties are chosen
    by leaving out whole runs, predicts responses. Held-out runs are scored voxel by
    voxel, and by how well segments of some seconds are told from others of the run.

    Features come as an array or a DataFrame with one row for every volume; or, at any
    other rate, as a DataFrame with a column ``onset``, in seconds from the start of the
    run, and perhaps ``duration``. The feature of a volume is then the integral over the
    volume, from v to v + 1 repetition times, divided by the repetition time; without
    durations a row lasts until the next onset. BIDS events (with ``trial_type``) are a
    feature for each condition. A dict of tables by name has several bands of features,
    each at a rate of its own; :meth:`partition` tells what each of them explains.

    Parameters
    ----------
    encoder : scikit-learn multi-output regressor or None, default=None
        Model of the delayed features. If None, :class:`RidgeEncoder`. The ``bands`` of
        a :class:`RidgeEncoder` are those of the features before they are delayed, and
        those of features in a dict if it has none: each band has its own penalty.
    delays : sequence of int, default=(1, 2, 3, 4)
        Delays of the features, in volumes; choose those from about 2 to 8 seconds.
    within_runs : {None, "center", "zscore"}, default="zscore"
        Whether the mean of each run and voxel is subtracted from responses (and from
        delayed features and predictions), and responses are divided by the standard
        deviation of the run. Baselines of runs differ for reasons other than stimuli.
    standardize : bool, default=True
        Whether features are scaled by training means and standard deviations. Without
        it, what precedes a run still counts as 0.
    cv : int or scikit-learn splitter, default=5
        Number of folds of whole runs, drawn at random; fewer than twice as many runs
        are left out one by one. A single run is cut into as many contiguous blocks.
    t_r : float or None, default=None
        Seconds between volumes. If None, images say it.
    high_pass : float or None, default=None
        Frequency in Hz below which drifts are removed from responses, by cosines. If
        None, none is removed.
    regions : sparse matrix of shape (n_regions, n_features) or None, default=None
        Members of the regions, if they are neither spheres nor those of an atlas.
    n_permutations : int, default=0
        Number of circular shifts of the predictions of each run against its responses,
        for p-values; 0 makes no test.
    random_state : None, int or numpy.random.Generator, default=0
        Seed of folds and shifts.

    Attributes
    ----------
    delayer_ : Delayer
        Names the columns of the encoder's coefficients (``get_feature_names_out``).
    usable_ : ndarray of bool of shape (n_elements_,)
        Voxels that are finite and vary in every training run.
    penalties_ : dict of ndarray of shape (n_elements_,)
        Penalties chosen for each voxel.
    residual_variance_ : ndarray of shape (n_elements_,)
        Mean square of the cross-validated residuals; NaN where not usable.
    encoder_, feature_names_in_, masker_, n_elements_, notes_
        As those of :class:`EncodingIdentification`.

    See Also
    --------
    EncodingIdentification : Stimuli that are shown one by one.
    Delayer : The delays alone, for pipelines of your own.

    Notes
    -----
    p-values compare the correlation with those at circular shifts of whole runs, of any
    size: leaving out those within the correlation length makes p-values too small.

    References
    ----------
    Nishimoto et al. 2011, "Reconstructing visual experiences from brain activity evoked
    by natural movies". Huth, de Heer, Griffiths, Theunissen & Gallant 2016, "Natural
    speech reveals the semantic maps that tile human cerebral cortex". Harris 2020, "A
    shift test for independence in generic time series" (circular shifts).

    Examples
    --------
    Five runs of a film with four features, which responses follow two volumes later:

    >>> import numpy as np
    >>> from neuroextrap.encoding import ContinuousEncoding
    >>> rng = np.random.default_rng(0)
    >>> weights = rng.normal(size=(4, 6))
    >>> features = [rng.normal(size=(80, 4)) for _ in range(5)]
    >>> imgs = [np.roll(f, 2, axis=0) @ weights for f in features]
    >>> imgs = [img + rng.normal(size=img.shape) for img in imgs]
    >>> model = ContinuousEncoding(t_r=2.0, n_permutations=99)
    >>> model = model.fit(features[:3], imgs[:3])
    >>> maps = model.score(features[3:], imgs[3:])
    >>> bool((maps["correlation"] > 0.5).all()), float(maps["p_value_fwe"].max())
    (True, 0.01)

    Segments of eight seconds among others of the run that are far enough away:

    >>> found = model.identify_segments(features[3:], imgs[3:], seconds=8)
    >>> found.n_candidates_, float(found["pairwise_accuracy"][0])
    (18, 1.0)
    """

    kind = "continuous"

    mask: Any = None
    encoder: Any = None
    delays: Any = (1, 2, 3, 4)
    _: KW_ONLY
    within_runs: str | None = "zscore"
    standardize: bool = True
    cv: Any = 5
    t_r: float | None = None
    smoothing_fwhm: float | None = None
    high_pass: float | None = None
    radius: float = 8.0
    labels_img: Any = None
    regions: Any = None
    process_mask_img: Any = None
    n_permutations: int = 0
    memory: Any = None
    random_state: Any = 0

    @takes_options(GivenRuns)
    def fit(self, features: Any, imgs: Any, **cleaning: Any) -> Self:
        """Train the encoder on runs.

        Returns
        -------
        self : ContinuousEncoding

        Raises
        ------
        ValueError
            When runs or columns do not match, a feature is not finite, a run is too
            short for folds of blocks, or no voxel varies.
        """
        given = as_options(GivenRuns, self.fit, cleaning)
        self._check()
        self.__dict__.pop("feature_names_in_", None)  # of an earlier fit
        read = read_runs(self, self.mask, features, imgs, given)
        runs = with_bands(read, self.encoder)
        if not runs.usable.any():
            raise ValueError(
                "imgs has no usable voxel: each has NaN or is constant in a run; check "
                "the images and the mask"
            )
        if runs.names is not None:
            self.feature_names_in_ = runs.names
        self._trained = trained = TrainedRuns.of(self, runs)
        self.encoder_, self.delayer_ = trained.encoder, trained.delayer
        self.usable_, self.n_elements_ = runs.usable, len(runs.usable)
        self.penalties_ = voxel_penalties(trained.encoder, runs.usable)
        self.residual_variance_ = trained.residual_variance
        self.masker_, self.notes_ = runs.masker, trained.notes
        return self

    def fit_runs(self, runs: Any, *, seconds: float | None = None) -> RegionMaps:
        """Train on some runs of a table, and make all maps of the others.

        Parameters
        ----------
        runs : pandas.DataFrame or path of a table
            A row for every run. The column ``set`` is train or test, ``imgs`` names the
            images (or a ``.npy`` of volumes x neurons), ``confounds`` and
            ``sample_mask``, if there are such columns, what :meth:`fit` takes (tables
            of numbers; a ``.npy``; n/a for none), and every other column is a band of
            features, called by its name: files of features (``.tsv``, ``.csv``,
            ``.npy``, ...; tables with ``onset``, or BIDS events, at any rate), beside
            the table. A DataFrame may have arrays, tables and images as entries.
        seconds : float or None, default=None
            Length of the segments that are identified; None identifies none.

        Returns
        -------
        maps : RegionMaps
            The maps of :meth:`score` or, of several bands, of :meth:`partition`, with
            those of :meth:`identify_segments` in ``segments_`` (or None), which
            go to the same folder. ``generate_report`` makes a page.

        Raises
        ------
        ValueError
            When the table lacks a column or an entry, or as the methods named.
        """
        table = read_table_of_runs(runs)
        model = self.fit(**table.of("train"))
        read, tested = model._test(self.fit, **table.of("test"))
        segments = None if seconds is None else segment_maps(self, tested, seconds)
        scores = voxel_scores(self, tested)
        if read.bands is not None:
            scores |= partition_scores(self, self._trained, read, tested)
        return voxel_maps(self, tested, scores, segments)

    @takes_options(GivenRuns)
    def score(self, features: Any, imgs: Any, **cleaning: Any) -> RegionMaps:
        """Score how well the responses of every voxel in new runs are predicted.

        Runs with equal features show the same stimulus: their responses are averaged,
        and their spread gives the noise ceiling.

        Returns
        -------
        maps : RegionMaps
            A dict of images (of ndarray of shape (n_elements_,) for arrays) named
            ``correlation`` and ``r2``; where runs were repeated ``noise_ceiling``,
            ``correlation_normalized`` and ``r2_normalized``, see
            :func:`prediction_scores`; with permutations ``p_value`` and ``p_value_fwe``
            (over all voxels) of the correlation. It has ``findings_``, ``notes_``,
            ``table_``, ``to_directory`` and ``generate_report``.

        Raises
        ------
        ValueError
            When features, voxels or lengths differ from training or each other, or a
            run was trained on.
        """
        _, tested = self._test(self.score, features, imgs, **cleaning)
        return voxel_maps(self, tested, voxel_scores(self, tested))

    @takes_options(GivenRuns)
    def partition(self, features: Any, imgs: Any, **cleaning: Any) -> RegionMaps:
        """Split what is explained of new runs among the bands of features.

        Bands are those of a dict in :meth:`fit`, or of ``RidgeEncoder(bands=...)``. The
        prediction f is the sum of the parts f_b of bands, and so is r2, of responses y
        centered like them (product measure) ::

            r2 = sum_b <f_b, 2 y - f> / <y, y>

        What is unique to a band is the r2 that is lost by a model that was trained,
        penalties and all, without it.

        Returns
        -------
        maps : RegionMaps
            A dict of images (of ndarray of shape (n_elements_,) for arrays): those of
            :meth:`score`, ``r2_shared`` (r2 less all that is unique), and of every band
            B ``r2_product_of_B``, ``r2_unique_of_B`` and, with permutations,
            ``p_value_unique_of_B`` and ``p_value_fwe_unique_of_B`` (over all voxels and
            bands): 1 where nothing is unique to the band, else of the partial
            correlation of responses and the band's part, given the prediction without
            the band, by circular shifts. It is approximate where bands go together.

        Raises
        ------
        ValueError
            When there are not two bands at least, and as in :meth:`score`.

        References
        ----------
        Dupré la Tour, Eickenberg, Nunez-Elizalde & Gallant 2022, "Feature-space
        selection with banded ridge regression" (product measure). Lescroart, Stansbury
        & Gallant 2015, "Fourier power, subjective distance, and object categories all
        provide plausible models of BOLD responses in scene-selective visual areas"
        (variance partitioning).

        Examples
        --------
        Of two bands only one has to do with the responses:

        >>> import numpy as np
        >>> from neuroextrap.encoding import ContinuousEncoding
        >>> rng = np.random.default_rng(0)
        >>> runs = [rng.normal(size=(90, 4)) for _ in range(4)]
        >>> features = [{"motion": X[:, :2], "words": X[:, 2:]} for X in runs]
        >>> imgs = [
        ...     X[:, :2] @ [[1, 2], [3, 4]] + rng.normal(size=(90, 2)) for X in runs
        ... ]
        >>> model = ContinuousEncoding(delays=(0, 1)).fit(features[:2], imgs[:2])
        >>> maps = model.partition(features[2:], imgs[2:])
        >>> maps["r2_unique_of_motion"].round(1)
        array([0.9, 1. ])
        >>> abs(maps["r2_unique_of_words"]).round(1)
        array([0., 0.])
        """
        read, tested = self._test(self.partition, features, imgs, **cleaning)
        if read.bands is None:
            raise ValueError(
                "features have no bands to be told apart; give a dict of tables by "
                "band for every run, or RidgeEncoder(bands=...)"
            )
        scores = voxel_scores(self, tested)
        scores |= partition_scores(self, self._trained, read, tested)
        return voxel_maps(self, tested, scores)

    @takes_options(GivenRuns)
    def identify_segments(
        self, features: Any, imgs: Any, *, seconds: float = 20.0, **cleaning: Any
    ) -> RegionMaps:
        """Identify which segment of a run evoked the responses of some seconds.

        Runs are cut into windows. The margin of a candidate is the log likelihood of
        the responses in the window, given those predicted for the candidate and
        Gaussian noise of each voxel's ``residual_variance_``, independent over voxels
        and time. Candidates are the other windows of the run that are at least one
        correlation length away (the lag at which the autocorrelation of responses and
        predictions has fallen to 1/e). Windows have different numbers of them; the
        accuracy is that among as many, drawn at random, as every window has.

        Parameters
        ----------
        seconds : float, default=20.0
            Length of the windows; it is rounded to volumes.

        Returns
        -------
        maps : RegionMaps
            A dict of images (of ndarray of shape (n_regions,) for arrays) named
            ``accuracy`` (among ``n_candidates_`` segments), ``pairwise_accuracy`` and
            ``implied_information`` (bits); with permutations ``p_value`` and
            ``p_value_fwe`` of the pairwise accuracy, by circular shifts of the windows
            of every run. Further attributes are ``wins_`` of shape (n_regions,
            n_candidates_), ``set_sizes_``, ``curves_`` of shape (n_regions,
            n_set_sizes), ``n_segments_``, and ``correlation_length_`` in volumes. Files
            are called ``segment_accuracy``, ...

        Raises
        ------
        ValueError
            When the time between volumes is not known, or runs are too short.
        """
        _, tested = self._test(self.identify_segments, features, imgs, **cleaning)
        return segment_maps(self, tested, seconds)

    def _test(self, method, features, imgs, **cleaning):
        """Predict new runs, and average repeats; returns Runs and HeldOut."""
        given = as_options(GivenRuns, method, cleaning)
        check_trained(self)
        runs = read_runs(self, self.masker_, features, imgs, given)
        runs = runs._replace(bands=self._trained.runs.bands)
        return runs, self._trained.test(runs)

    def _check(self):
        """Raise before data are read if a parameter is none that is allowed."""
        checked_parameters(self)
        self._sample_options()
        check_cv_argument(self.cv)
        check_encoder(self.encoder)
        check_delays(self.delays)

    def _sample_options(self, given=None):
        """Return the SampleOptions by which responses are read."""
        names = shared_parameters("samples", "continuous")
        own = {name: getattr(self, name) for name in names}
        return SampleOptions(samples="volumes", **own, **vars(given or GivenRuns()))
