"""Samples of images and events in one call: volumes, blocks and trials' betas."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from neuroextrap.design._copies import SERIES_COLUMNS, check_series_apart
from neuroextrap.design._folds import some_columns
from neuroextrap.images._loading import (
    check_masker,
    cleans_over_time,
    load_opened,
    mean_volume,
    new_volume,
)
from neuroextrap.images._maskers import resolve_masker, smooth_by
from neuroextrap.images._opening import MNI, NamedImage
from neuroextrap.images._sample_options import BETAS, SampleOptions, clean_runs
from neuroextrap.images._sample_plans import (
    cells_of,
    labeled_volumes,
    labels_of_trials,
    trials_of_runs,
)
from neuroextrap.stats._shared_options import as_options, takes_options

_MOST_SINGLE = 20  # single volumes that are averaged
_LEAST_POSITIVE = 0.95
_BRIGHTEST = 98
_LEVELS = 255


@dataclass(frozen=True)
class LabeledSamples:
    """Samples x features with the condition and the run of every sample."""

    data: np.ndarray  # (n_samples, n_features), NaN where images were not finite
    y: np.ndarray  # conditions, (n_samples,)
    runs: np.ndarray  # the table's run, or the image's number from 0, (n_samples,)
    masker: object
    bg_img: object = None  # gray levels to be drawn under maps, not in MNI space
    order: object = None  # mean number of each sample's volumes, if not ascending


def read_volumes(imgs, events, masker, options):
    """Return a sample of every labeled volume (LabeledSamples), by SampleOptions."""
    over_time = cleans_over_time(masker)
    if over_time and (options.sample_mask is not None or options.high_pass):
        raise ValueError(
            "sample_mask and high_pass need a masker that does not detrend, "
            "standardize or filter itself; give one without"
        )
    named, labels, runs, kept, cleaning = labeled_volumes(imgs, events, options)
    confounds = None
    if over_time:  # confounds go with what the masker removes
        confounds = cleaning.confounds
        cleaning = replace(cleaning, confounds=[None] * len(confounds))
    data = load_opened(named, masker, confounds)
    own = {run: np.flatnonzero(runs == run) for run in np.unique(runs)}
    names_of_runs = [named[cleaning.series[rows[0]]].name for rows in own.values()]
    if len(set(names_of_runs)) < len(names_of_runs):
        names_of_runs = [f"run {run}" for run in own]
    some = some_columns(data, SERIES_COLUMNS).astype(float)
    check_series_apart([some[rows] for rows in own.values()], names_of_runs)
    data = clean_runs(data, runs, cleaning)
    bg_img = mean_gray_levels(named, masker.mask_img_)
    return LabeledSamples(data[kept], labels[kept], runs[kept], masker, bg_img)


def read_blocks(imgs, events, masker, options):
    """Return the mean of every condition in every run (LabeledSamples)."""
    volumes = read_volumes(imgs, events, masker, options)
    y, runs = cells_of(volumes.y, volumes.runs)
    cells = zip(y, runs, strict=True)
    rows = [np.flatnonzero((volumes.y == c) & (volumes.runs == r)) for c, r in cells]
    data = np.array([volumes.data[own].mean(axis=0) for own in rows])
    order = np.array([own.mean() for own in rows])
    return replace(volumes, data=data, y=y, runs=runs, order=order)


def read_betas(imgs, events, masker, options):
    """Return a sample of every trial (LabeledSamples), by SampleOptions."""
    if cleans_over_time(masker):
        raise ValueError(
            "masker must not detrend, standardize or filter before the model, which "
            "does so itself; give one without"
        )
    run_trials = trials_of_runs(imgs, events, options)
    betas, compared = [], []
    for run in run_trials:
        data = load_opened([run.img], masker).astype(np.float64)
        compared.append(some_columns(data, SERIES_COLUMNS).copy())
        betas.append(_betas_of_run(run, data[run.volumes], options.samples))
    check_series_apart(compared, [run.img.name for run in run_trials])
    y, runs = labels_of_trials(run_trials)
    bg_img = mean_gray_levels([run.img for run in run_trials], masker.mask_img_)
    return LabeledSamples(np.concatenate(betas), y, runs, masker, bg_img)


def mean_gray_levels(named, mask_img):
    """Return the first series' mean, 0 to 255; None in MNI space or without anatomy."""
    mask = NamedImage("the mask", mask_img)
    if mask.is_surface or mask.code == MNI:
        return None
    series = [img for img in named if (img.n_samples or 1) > 1]
    chosen = series[:1] or named[:_MOST_SINGLE]
    mean = np.nan_to_num(mean_volume(chosen), posinf=0, neginf=0)
    brain = mean != 0
    if chosen[0].shares_grid(mask):
        brain = np.asanyarray(mask_img.dataobj).astype(bool)
    inside = mean[brain]
    if not len(inside) or (inside > 0).mean() < _LEAST_POSITIVE:
        return None
    brightest = np.percentile(inside, _BRIGHTEST)
    if not brightest > inside.min():
        return None
    levels = np.rint(_LEVELS * np.clip(mean / brightest, 0, 1)).astype(np.float32)
    return new_volume(levels, chosen[0].img)


def _betas_of_run(run, data, model):
    """Return betas (n_kept, n_features) of a run, in percent of the voxel's mean."""
    from nilearn.glm.first_level import mean_scaling

    finite = np.isfinite(data).all(axis=0)
    varying = finite & (np.ptp(data, axis=0) > 0)
    betas = np.full((int(run.keep.sum()), data.shape[1]), np.nan)
    betas[:, finite] = 0.0
    if varying.any() and len(betas):
        series, rows = mean_scaling(data[:, varying])[0], np.flatnonzero(run.keep)
        # one design for all trials, or one for each, the others in their condition
        together = [rows] if model == "lsa" else rows[:, None]
        betas[:, varying] = np.concatenate([_fit(series, run, own) for own in together])
    return betas


def _fit(series, run, rows):
    """Fit nilearn's model and return the betas of some trials."""
    from nilearn.glm.first_level import run_glm

    design, names = run.design_of(rows)
    fitted = design[run.volumes].to_numpy()
    labels, results = run_glm(series, fitted, noise_model="ar1")
    columns = design.columns.get_indexer(names)
    betas = np.empty((len(columns), series.shape[1]))
    for label, result in results.items():
        betas[:, labels == label] = result.theta[columns]
    return betas


_READERS = {"blocks": read_blocks, "volumes": read_volumes}
_READERS |= dict.fromkeys(BETAS, read_betas)


@takes_options(SampleOptions, without="smoothing_fwhm")
def labeled_samples(
    imgs: Any, events: Any, *, masker: Any, **options: Any
) -> LabeledSamples:
    """Make samples with conditions and runs of BOLD series and their events.

    Parameters
    ----------
    imgs : Niimg, SurfaceImage, path, glob pattern, or list of these
        One series per run; blocks and volumes may have all runs in one.
    events : path-like, glob pattern, DataFrame, or list of these
        One table per series, or one table for all volumes: BIDS events (``onset``,
        ``duration``, ``trial_type``) or one row per volume (``trial_type``, ``run``).
        Betas need BIDS events.
    masker : nilearn.maskers.NiftiMasker or nilearn.maskers.SurfaceMasker
        Fitted masker. For betas it must not clean over time: their model does that.

    Returns
    -------
    LabeledSamples
        ``data`` (n_samples, n_features), ``y``, ``runs`` and ``masker``; means run by
        run (ascending), conditions in alphabetical order (one that a run lacks gives no
        sample), volumes and trials in their order. Betas are in percent of a voxel's
        mean over the run; constant voxels are 0, voxels that are not finite throughout
        a run are NaN in that run.

    Raises
    ------
    TypeError
        If an image or a table is neither that nor a path.
    ValueError
        If tables and images do not match in number, length, or in the BIDS entities of
        their names (subject, session, task, run), a column is missing or there twice,
        the repetition time is unknown or stated differently, an event covers no volume,
        overlaps another or starts after the last volume, or nothing is left after
        ``exclude``.

    Notes
    -----
    ``"lsa"`` (least squares, all) fits one design with a regressor for every trial;
    ``"lss"`` (least squares, separate) fits one design per trial, in which the other
    trials share a regressor with their condition. Designs (Glover's response, cosine
    drifts) and fits (first-order autoregressive noise) are nilearn's, as in its
    FirstLevelModel; betas of other models come as images.

    References
    ----------
    Mumford, Turner, Ashby & Poldrack 2012, "Deconvolving BOLD activation in
    event-related designs for multivoxel pattern classification analyses", NeuroImage
    59, 2636-2643 (LSA and LSS).

    Examples
    --------
    >>> import numpy as np, nibabel, pandas
    >>> from neuroextrap.images import labeled_samples, resolve_masker
    >>> masker = resolve_masker(nibabel.Nifti1Image(np.ones((1, 1, 2)), np.eye(4)))
    >>> bold = nibabel.Nifti1Image(np.arange(6.0).reshape(1, 1, 2, 3), np.eye(4))
    >>> labels = pandas.DataFrame({"trial_type": ["face", "cat", "face"], "run": 1})
    >>> samples = labeled_samples(bold, labels, masker=masker)
    >>> samples.y, samples.data
    (array(['cat', 'face'], dtype='<U4'), array([[1., 4.],
           [1., 4.]]))
    """
    made = as_options(SampleOptions, labeled_samples, options)
    check_masker(masker)
    return _READERS[made.samples](imgs, events, masker, made)


def event_samples(imgs, events, mask, options, *, memory=None):
    """Make LabeledSamples of series and events, by SampleOptions."""
    masker = resolve_masker(mask, imgs, memory=memory)
    smooth_by(masker, options.smoothing_fwhm)
    return _READERS[options.samples](imgs, events, masker, options)
