"""Samples of images and events, of whatever kind, in one call."""

import numpy as np

from neuroextrap.images._betas import labels_of_trials, read_betas, trials_of_runs
from neuroextrap.images._events import is_timed, late_event, read_events
from neuroextrap.images._labeled_samples import (
    cells_of,
    labeled_volumes,
    read_blocks,
    read_volumes,
)
from neuroextrap.images._maskers import resolve_masker, smooth_by
from neuroextrap.images._opening import list_images
from neuroextrap.images._repetition_time import repetition_times

_READERS = {"blocks": read_blocks, "volumes": read_volumes}


def event_samples(imgs, events, mask, options, *, memory=None):
    """Make LabeledSamples of series and events, by SampleOptions."""
    masker = resolve_masker(mask, imgs, memory=memory)
    smooth_by(masker, options.smoothing_fwhm)
    read = _READERS.get(options.samples, read_betas)
    return read(imgs, events, masker, options)


def labels_of_samples(imgs, events, options):
    """Return ``y`` and ``runs`` of LabeledSamples, reading no data of the images.

    Options and errors are those of ``event_samples``.
    """
    if options.of_trials:
        return labels_of_trials(trials_of_runs(imgs, events, options))
    volumes = labeled_volumes(imgs, events, options)
    y, runs = volumes.labels[volumes.kept], volumes.runs[volumes.kept]
    if options.samples == "volumes":
        return y, runs
    cells = cells_of(y, runs)
    return np.array([name for _, name in cells]), np.array([run for run, _ in cells])


def late_events(imgs, events, options):
    """Say of every run which event starts after its last volume, "" for none.

    `events` has one table for each image, `options` are SampleOptions. Of the images,
    headers are read only.
    """
    named = list_images(imgs)
    tables = [read_events(table) for table in events]
    timed = [img for img, (t, _) in zip(named, tables, strict=True) if is_timed(t)]
    times = iter(repetition_times(timed, options.t_r, check_t_r=options.check_t_r))
    delay = None if options.of_trials else options.delay
    return [
        late_event(table, name, img, next(times), delay) if is_timed(table) else ""
        for img, (table, name) in zip(named, tables, strict=True)
    ]
