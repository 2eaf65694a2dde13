"""Samples of images and events, of whatever kind, in one call."""

from typing import Any

import numpy as np

from neuroextrap.images._betas import labels_of_trials, read_betas, trials_of_runs
from neuroextrap.images._events import is_timed, late_event, read_events
from neuroextrap.images._labeled_samples import (
    LabeledSamples,
    cells_of,
    labeled_volumes,
    read_blocks,
    read_volumes,
)
from neuroextrap.images._loading import check_masker
from neuroextrap.images._maskers import resolve_masker, smooth_by
from neuroextrap.images._opening import list_images
from neuroextrap.images._repetition_time import repetition_times
from neuroextrap.images._sample_options import SampleOptions
from neuroextrap.stats._shared_options import as_options, takes_options

_READERS = {
    "blocks": read_blocks,
    "volumes": read_volumes,
    "lsa": read_betas,
    "lss": read_betas,
}


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
    volumes = labeled_volumes(imgs, events, options)
    y, runs = volumes.labels[volumes.kept], volumes.runs[volumes.kept]
    if options.samples == "volumes":
        return y, runs
    cells = cells_of(y, runs)
    return np.array([name for _, name in cells]), np.array([run for run, _ in cells])


def late_events(imgs, events, options):
    """Say of every run which event starts after its last volume, "" for none."""
    named = list_images(imgs)
    tables = [read_events(table) for table in events]
    timed = [img for img, (t, _) in zip(named, tables, strict=True) if is_timed(t)]
    times = iter(repetition_times(timed, options.t_r, check_t_r=options.check_t_r))
    delay = None if options.of_trials else options.delay
    return [
        late_event(table, name, img, next(times), delay) if is_timed(table) else ""
        for img, (table, name) in zip(named, tables, strict=True)
    ]
