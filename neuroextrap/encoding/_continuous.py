"""Encoding models of stimuli that go on in time: films and stories."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, Self

from neuroextrap.analysis._region_maps import RegionMaps
from neuroextrap.encoding._continuous_maps import (
    segment_maps,
    voxel_maps,
    voxel_scores,
)
from neuroextrap.encoding._continuous_runs import (
    WITHIN_RUNS,
    read_runs,
    read_table_of_runs,
)
from neuroextrap.encoding._continuous_scores import (
    GivenRuns,
    ScoresOfRuns,
    partition_scores,
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
from neuroextrap.stats._validation import (
    check_choice,
    check_flags,
    check_integer,
    random_generator,
)


@described_by(EncodingIdentification, SampleOptions)
@takes_fields
class ContinuousEncoding(ScoresOfRuns):
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
    mask : None, path, image, NiftiMasker or SurfaceMasker, default=None
        Voxels to analyze. None computes a mask from the images; arrays need no mask.
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
    encoder_ : estimator
        Encoder fitted on the usable voxels.
    delayer_ : Delayer
        Names the columns of its coefficients (``get_feature_names_out``).
    feature_names_in_ : ndarray of object of shape (n_columns,)
        Names of the feature columns, if the tables had them.
    usable_ : ndarray of bool of shape (n_elements_,)
        Voxels that are finite and vary in every training run.
    penalties_ : dict of ndarray of shape (n_elements_,)
        Penalties chosen for each voxel.
    residual_variance_ : ndarray of shape (n_elements_,)
        Mean square of the cross-validated residuals; NaN where not usable.
    masker_ : NiftiMasker, SurfaceMasker or None
        Fitted masker; None for arrays.
    n_elements_ : int
        Number of voxels, vertices or columns.
    notes_ : tuple of str
        What a reader should know about the training data.

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
        self.masker_ = runs.masker
        n_left_out = int((~runs.usable).sum())
        left_out = f"{n_left_out} of {len(runs.usable)} voxels were left out"
        notes = (f"{left_out} (NaN, or constant in a run)",) if n_left_out else ()
        self.notes_ = (*notes, *trained.scaling.notes)
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

    def _check(self):
        """Raise before data are read if a parameter is none that is allowed."""
        check_choice(self.within_runs, "within_runs", WITHIN_RUNS)
        self._sample_options()
        check_flags(standardize=self.standardize)
        check_integer(self.n_permutations, "n_permutations", minimum=0)
        check_cv_argument(self.cv)
        check_encoder(self.encoder)
        check_delays(self.delays)
        random_generator(self.random_state)

    def _sample_options(self, confounds=None, sample_mask=None):
        """Return the SampleOptions by which responses are read."""
        return SampleOptions(
            samples="volumes",
            t_r=self.t_r,
            smoothing_fwhm=self.smoothing_fwhm,
            high_pass=self.high_pass,
            confounds=confounds,
            sample_mask=sample_mask,
        )
