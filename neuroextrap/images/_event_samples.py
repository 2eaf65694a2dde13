"""Samples of images and events, of whatever kind, in one call."""

import numpy as np

from neuroextrap.images._betas import (
    MODELS,
    labels_of_trials,
    single_trial_betas,
    trials_of_runs,
)
from neuroextrap.images._cleaning import check_cleaning, check_high_pass
from neuroextrap.images._events import is_timed, late_onset, read_events
from neuroextrap.images._labeled_samples import (
    block_averages,
    cells_of,
    volume_samples,
)
from neuroextrap.images._labeled_volumes import labeled_volumes
from neuroextrap.images._maskers import is_surface_masker, resolve_masker
from neuroextrap.images._opening import list_images
from neuroextrap.images._repetition_time import repetition_times
from neuroextrap.images._smoothing import check_fwhm

SAMPLES = ("blocks", "volumes", *MODELS)
"""What a sample can be: a condition's mean in a run, a volume, or a trial's beta."""


def event_samples(  # noqa: PLR0913 - the options of samples, in one place
    imgs,
    events,
    mask=None,
    *,
    samples="blocks",
    t_r=None,
    check_t_r=True,
    exclude=(),
    confounds=None,
    sample_mask=None,
    smoothing_fwhm=None,
    high_pass=None,
    detrend=False,
    standardize=False,
    delay=0.0,
    label_column="trial_type",
    memory=None,
    memory_level=1,
):
    """Make LabeledSamples of series and events; the one home of these options.

    ``IdentificationSearchLight.fit_events`` describes the arguments. `high_pass` is
    the cutoff of the drifts in Hz; None is 0.01 Hz for betas and no filter otherwise,
    0 is no drift at all. `label_column` is for betas only.
    """
    check_event_options(samples, detrend, standardize, delay, high_pass)
    masker = resolve_masker(mask, imgs, memory=memory, memory_level=memory_level)
    _smooth(masker, smoothing_fwhm)
    shared = {"masker": masker, "exclude": exclude, "t_r": t_r, "check_t_r": check_t_r}
    shared |= {"confounds": confounds, "sample_mask": sample_mask}
    if samples in MODELS:
        design = _design_options(high_pass)
        return single_trial_betas(
            imgs,
            events,
            model=samples,
            design_options=design,
            label_column=label_column,
            **shared,
        )
    read = block_averages if samples == "blocks" else volume_samples
    cleaning = {"detrend": detrend, "standardize": standardize, "high_pass": high_pass}
    return read(imgs, events, delay=delay, **cleaning, **shared)


def labels_of_samples(
    imgs, events, *, samples="blocks", high_pass=None, delay=0.0, **options
):
    """Return ``y`` and ``runs`` of LabeledSamples, reading no data of the images.

    Options are those of ``event_samples`` but for the masker's; errors are the same.
    """
    detrend, standardize = (
        options.pop("detrend", False),
        options.pop("standardize", False),
    )
    check_event_options(samples, detrend, standardize, delay, high_pass)
    if samples in MODELS:
        design = _design_options(high_pass)
        return labels_of_trials(
            trials_of_runs(
                imgs, events, model=samples, design_options=design, **options
            )
        )
    volumes = labeled_volumes(imgs, events, delay=delay, high_pass=high_pass, **options)
    y, runs = volumes.labels[volumes.kept], volumes.runs[volumes.kept]
    if samples == "volumes":
        return y, runs
    cells = cells_of(y, runs)
    return np.array([name for _, name in cells]), np.array([run for run, _ in cells])


def late_events(imgs, events, *, samples, delay=0.0, t_r=None, check_t_r=True):
    """Say of every run which event starts after its last volume, "" for none.

    `events` has one table for each image. Of the images, headers are read only.
    """
    named = list_images(imgs)
    tables = [read_events(table) for table in events]
    timed = [img for img, (t, _) in zip(named, tables, strict=True) if is_timed(t)]
    times = iter(repetition_times(timed, t_r, check_t_r=check_t_r))
    told = []
    for img, (table, name) in zip(named, tables, strict=True):
        told.append("")
        if not is_timed(table):
            continue
        n_volumes, time = img.n_samples or 1, next(times)
        lag = None if samples in MODELS else delay
        onset = late_onset(table, n_volumes, time, lag)
        if onset is not None:
            told[-1] = (
                f"{name}: an event starts at {onset:g} s, after the "
                f"{n_volumes * time:g} s of {img.name}"
                f"{f' with a delay of {delay:g} s' if delay else ''}; correct t_r or "
                "the order of events"
            )
    return told


def _design_options(high_pass):
    """Return the options of the design by which drifts are modeled."""
    return {None: None, 0: {"drift_model": None}}.get(
        high_pass, {"high_pass": high_pass}
    )


def check_event_options(samples, detrend, standardize, delay, high_pass):
    """Raise before any work if options of samples do not go together."""
    if samples not in SAMPLES:
        raise ValueError(f"samples={samples!r} must be one of {SAMPLES}; choose one")
    check_high_pass(high_pass)
    check_cleaning(detrend, standardize)
    if samples not in MODELS:
        return
    if detrend or standardize:
        raise ValueError(
            "detrend and standardize are for blocks and volumes; the model of "
            f"samples={samples!r} models drifts itself, leave them out"
        )
    if delay:
        raise ValueError(
            f"delay={delay!r} is for blocks and volumes; the model of "
            f"samples={samples!r} knows the response's lag, leave it out"
        )


def _smooth(masker, fwhm):
    """Let a masker of ours smooth volumes, once."""
    check_fwhm(fwhm, "smoothing_fwhm")
    if fwhm is None:
        return
    if is_surface_masker(masker):
        raise ValueError(
            "smoothing_fwhm smooths volumes; smooth surfaces beforehand and leave it "
            "out"
        )
    if masker.smoothing_fwhm not in (None, fwhm):
        raise ValueError(
            f"smoothing_fwhm={fwhm!r} but the masker smooths by "
            f"{masker.smoothing_fwhm:g} mm; say it once"
        )
    masker.set_params(smoothing_fwhm=fwhm)
