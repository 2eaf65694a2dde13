"""Samples of images and events in one call: volumes, blocks and trials' betas."""

import logging
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from neuroextrap.design._copies import SERIES_COLUMNS, check_series_apart
from neuroextrap.design._folds import some_columns
from neuroextrap.images._events import (
    check_excluded,
    event_labels,
    has_onsets,
    late_event,
    read_events,
)
from neuroextrap.images._labeled_samples import (
    LabeledSamples,
    cells_of,
    labeled_volumes,
    read_blocks,
    read_tables,
    read_volumes,
    repetition_times,
)
from neuroextrap.images._loading import (
    check_masker,
    cleans_over_time,
    load_opened,
    mean_gray_levels,
)
from neuroextrap.images._maskers import resolve_masker, smooth_by
from neuroextrap.images._opening import list_images
from neuroextrap.images._sample_options import BETAS, Cleaning, SampleOptions
from neuroextrap.stats._shared_options import as_options, takes_options

_TIMED = ["onset", "duration", "trial_type"]
"""Columns of events of which designs are made."""
_LEAST_SEEN = 0.5
"""Share of a trial's expected response that volumes in the fit must hold."""

_logger = logging.getLogger(__name__)


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


class RunTrials(NamedTuple):
    """The trials of one run, in order of onset, and how their betas are estimated."""

    img: Any  # NamedImage
    trials: Any  # DataFrame of onset, duration, trial_type, label
    keep: np.ndarray  # trials that give a sample, (n_trials,)
    volumes: np.ndarray  # those that are fitted, (n_volumes,)
    design: Any  # makes nilearn's design of all volumes from events

    def design_of(self, rows):
        """Return a design where some trials are conditions, and their names."""
        names = [f"neuroextrap_trial_{row:05d}" for row in rows]
        named = self.trials[_TIMED].copy()
        named.loc[rows, "trial_type"] = names
        return self.design(named), names


def trials_of_runs(imgs, events, options):
    """Return the RunTrials of every run; of the images, only headers are read."""
    named, tables = read_tables(imgs, events)
    _check_tables(tables)
    times = repetition_times(named, options)
    for (table, name), img, time in zip(tables, named, times, strict=True):
        if late := late_event(table, name, img, time):
            raise ValueError(late)
    cleaning = Cleaning.of(options, named, times)
    runs = [
        _trials_of_run(img, table, name, cleaning, i)
        for i, (img, (table, name)) in enumerate(zip(named, tables, strict=True))
    ]
    present = np.concatenate([table["trial_type"] for table, _ in tables])
    left = any(run.keep.any() for run in runs)
    check_excluded(options.excluded, present, left, "trial")
    return [run._replace(keep=_seen_trials(run)) for run in runs]


def _trials_of_run(img, table, name, cleaning, i):
    """Return the RunTrials of the i-th series before censoring."""
    from nilearn.glm.first_level import make_first_level_design_matrix

    options = cleaning.options
    labels = event_labels(table, name, options.label_column)
    trials = table[_TIMED].assign(label=labels)[table["trial_type"] != ""]
    trials = trials.sort_values("onset", kind="stable").reset_index(drop=True)
    left_out = trials["trial_type"].isin(options.excluded) | (trials["label"] == "")
    volumes = cleaning.kept[cleaning.series == i]
    times = np.arange(len(volumes)) * cleaning.times[i]
    nuisance = _nuisance(options.high_pass, cleaning.confounds[i])
    design = partial(make_first_level_design_matrix, times, **nuisance)
    return RunTrials(img, trials, ~left_out.to_numpy(), volumes, design)


def _nuisance(high_pass, confounds):
    """Return the drifts and confounds of a design, options of nilearn's."""
    found = {"high_pass": high_pass}
    if not high_pass:  # None: nilearn's own drifts, 0: none
        found = {} if high_pass is None else {"drift_model": None}
    if confounds is not None:
        scale = confounds.std(axis=0)
        regressed = (confounds - confounds.mean(axis=0)) / np.where(scale > 0, scale, 1)
        names = [f"neuroextrap_confound_{i}" for i in range(regressed.shape[1])]
        found |= {"add_regs": regressed, "add_reg_names": names}
    return found


def labels_of_trials(run_trials):
    """Return label and number of the run of every trial that gives a sample."""
    y = [run.trials["label"].to_numpy(dtype=str)[run.keep] for run in run_trials]
    runs = np.repeat(np.arange(len(y)), [len(labels) for labels in y])
    return np.concatenate(y), runs


def _check_tables(tables):
    """Raise for tables without onsets."""
    for table, name in tables:
        if not has_onsets(table):
            raise ValueError(
                f"{name} lacks columns ['onset', 'duration'], it has "
                f"{list(table.columns)}; single-trial betas need BIDS events, give "
                "such a table"
            )


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


def _seen_trials(run):
    """Return which trials give a sample, without those that censoring hides."""
    volumes, rows = run.volumes, np.flatnonzero(run.keep)
    if volumes.all() or not len(rows):
        return run.keep
    design, names = run.design_of(rows)
    energy = design[names].to_numpy() ** 2
    seen = energy[volumes].sum(axis=0) >= _LEAST_SEEN * energy.sum(axis=0)
    if not seen.all():
        _logger.warning(
            "%s: %d of %d trials give no sample, most of their response lies in "
            "volumes that sample_mask leaves out",
            run.img.name,
            int((~seen).sum()),
            len(seen),
        )
    keep = run.keep.copy()
    keep[rows] = seen
    return keep


_READERS = {"blocks": read_blocks, "volumes": read_volumes}
_READERS |= dict.fromkeys(BETAS, read_betas)


@takes_options(SampleOptions, without="smoothing_fwhm")
def labeled_samples(
    imgs: Any, events: Any, *, masker: Any, **options: Any
) -> LabeledSamples:
    """Make samples with conditions and runs of BOLD series and their events.

    Samples are averages of the volumes of every condition in every run, the volumes
    themselves, or betas of single trials. Volumes of one block are not independent:
    permute them by blocks, or average them.

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


def labels_of_samples(imgs, events, options):
    """Return ``y`` and ``runs`` of LabeledSamples, reading only the images' headers."""
    if options.of_trials:
        return labels_of_trials(trials_of_runs(imgs, events, options))
    _, labels, runs, kept, _ = labeled_volumes(imgs, events, options)
    y, runs = labels[kept], runs[kept]
    return (y, runs) if options.samples == "volumes" else cells_of(y, runs)


def late_events(imgs, events, options):
    """Say of every run which event starts after its last volume, "" for none."""
    named = list_images(imgs)
    tables = [read_events(table) for table in events]
    timed = [img for img, (t, _) in zip(named, tables, strict=True) if has_onsets(t)]
    times = iter(repetition_times(timed, options))
    delay = None if options.of_trials else options.delay
    return [
        late_event(table, name, img, next(times), delay) if has_onsets(table) else ""
        for img, (table, name) in zip(named, tables, strict=True)
    ]
