"""Labeled samples from BOLD series: volumes and block averages."""

import json
import logging
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from neuroextrap.design._copies import SERIES_COLUMNS, check_series_apart
from neuroextrap.design._folds import some_columns
from neuroextrap.images._bids_names import file_entities, pair_by_name, refuse_same
from neuroextrap.images._bids_runs import find_raw, fitting_files
from neuroextrap.images._events import (
    check_excluded,
    has_onsets,
    labels_of_volumes,
    read_events,
    read_runs,
    tell_missing,
)
from neuroextrap.images._loading import cleans_over_time, load_opened, mean_gray_levels
from neuroextrap.images._opening import expanded, list_images
from neuroextrap.images._sample_options import LONGEST, Cleaning, clean_runs
from neuroextrap.images._surface_files import SURFACES

_logger = logging.getLogger(__name__)

_TOLERANCE = 1e-3
"""Seconds by which two statements of a repetition time may differ."""

_SECONDS = {"sec": 1.0, "msec": 1e-3, "usec": 1e-6}
_EXTENSIONS = (*SURFACES, ".nii.gz", ".nii", ".img.gz", ".img", ".hdr")


def repetition_times(named, options):
    """Return the time between volumes of every series in seconds.

    ``t_r`` of SampleOptions, header and sidecar must agree within a millisecond, or
    (without ``check_t_r``) the first of ``t_r``, sidecar and header counts.
    """
    found = [_of_series(img, options) for img in named]
    for said in dict.fromkeys(found if options.t_r is None else ()):
        series = [img for img, own in zip(named, found, strict=True) if own == said]
        more = f" and {len(series) - 1} more" if len(series) > 1 else ""
        _logger.info("%s%s: repetition time %g s (%s)", series[0].name, more, *said)
    return [time for time, _ in found]


def _of_series(img, options):
    """Return the time between volumes of one series, and what tells it."""
    found = {"t_r": options.t_r, "its sidecar": _of_sidecar(img)}
    found["its header"] = _of_header(img)
    stated = {source: float(t) for source, t in found.items() if t is not None}
    if not stated:
        raise ValueError(
            f"t_r is needed with BIDS events, got None, and neither the header nor a "
            f"sidecar of {img.name} tells it; give t_r (--t-r), the time between "
            "volumes in seconds"
        )
    times = list(stated.values())
    if options.check_t_r and max(times) - min(times) > _TOLERANCE + 1e-6:
        said = ", ".join(f"{source} says {t:g} s" for source, t in stated.items())
        raise ValueError(
            f"{img.name}: repetition times disagree: {said}; correct the wrong one, or "
            "give the right one as t_r with check_t_r=False (--t-r with --no-check-t-r)"
        )
    return times[0], next(iter(stated))


def _of_header(img):
    """Return pixdim[4] in seconds, None where it is not set or has no unit."""
    header = getattr(img.img, "header", None)
    if header is None or img.n_samples is None or not hasattr(header, "get_xyzt_units"):
        return None
    zoom, unit = float(header.get_zooms()[3]), header.get_xyzt_units()[1]
    value = zoom * _SECONDS.get(unit, np.nan)
    return value if np.isfinite(value) and value > 0 else None


def _of_sidecar(img):
    """Return RepetitionTime of the JSON beside an image, or of its data sets."""
    if img.file is None:
        return None
    path = Path(img.file)
    stems = [path.name.removesuffix(e) for e in _EXTENSIONS if path.name.endswith(e)]
    sidecars = [path.with_name(f"{stem}.json") for stem in stems[:1]]
    entities, root = file_entities(path), find_raw(path)
    while entities is not None and root is not None:
        fitting = fitting_files(entities, root, "bold.json")
        sidecars += [sidecar for *_, sidecar in reversed(fitting)]
        root = find_raw(root)
    times = map(_time_in, filter(Path.is_file, sidecars))
    return next((time for time in times if time is not None), None)


def _time_in(sidecar):
    """Return RepetitionTime of a JSON file, or None."""
    try:
        value = json.loads(sidecar.read_text(encoding="utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise ValueError(
            f"{sidecar} is not a readable sidecar ({error}); correct or remove it"
        ) from error
    value = value.get("RepetitionTime") if isinstance(value, dict) else None
    if value is None:
        return None
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not (number and 0 < value < LONGEST):
        raise ValueError(
            f"{sidecar}: RepetitionTime={value!r} must be a positive number of "
            "seconds; correct the sidecar"
        )
    return float(value)


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
    told = [named[cleaning.series[rows[0]]].name for rows in own.values()]
    if len(set(told)) < len(told):
        told = [f"run {run}" for run in own]
    some = some_columns(data, SERIES_COLUMNS).astype(float)
    check_series_apart([some[rows] for rows in own.values()], told)
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


def cells_of(y, runs):
    """Return condition and run of every block average, in their order."""
    cells = [(c, r) for r in np.unique(runs) for c in np.unique(y[runs == r])]
    return tuple(map(np.array, zip(*cells, strict=True)))


def labeled_volumes(imgs, events, options):
    """Return images, label and run of each volume, which are kept, and the Cleaning."""
    named, tables = read_tables(imgs, events)
    runs, labels = _runs_and_labels(named, tables, options)
    kept = (labels != "") & ~np.isin(labels, options.excluded)
    check_excluded(options.excluded, labels, kept.any(), "sample")
    times = repetition_times(named, options) if options.high_pass else None
    cleaning = Cleaning.of(options, named, times)
    kept &= cleaning.kept
    if not kept.any():
        raise ValueError("sample_mask leaves no labeled volume; censor fewer")
    return named, labels, runs, kept, cleaning


def read_tables(imgs, events):
    """Open the series (NamedImage) and read (DataFrame, name) of each, or of all."""
    named = list_images(imgs)
    given = expanded(events, "events")
    if len(given) not in (1, len(named)):
        raise ValueError(
            f"events must hold one table for each of the {len(named)} images (or one "
            f"for all volumes), got {len(given)}; give them in the order of imgs"
        )
    files, names = [img.file for img in named], [img.name for img in named]
    refuse_same(files, names, "give every run once")
    paired = pair_by_name(named, [entry for _, entry in given], "events")
    pairs = zip(paired, given, strict=True)
    tables = [read_events(entry, name) for entry, (name, _) in pairs]
    if len(tables) < len(named) and has_onsets(tables[0][0]):
        raise ValueError(
            f"{tables[0][1]} holds BIDS events for {len(named)} images; give one "
            "table for each image, onsets counting from its first volume"
        )
    tell_missing(tables)
    return named, tables


def _runs_and_labels(named, tables, options):
    """Return the run and the condition of every volume, series after series."""
    n_volumes = [img.n_samples or 1 for img in named]
    if len(tables) < len(named):
        n_volumes = [sum(n_volumes)]
    timed = [i for i, (table, _) in enumerate(tables) if has_onsets(table)]
    times = repetition_times([named[i] for i in timed], options)
    times = dict(zip(timed, times, strict=True))
    labels, runs = [], []
    for i, ((table, name), n) in enumerate(zip(tables, n_volumes, strict=True)):
        labels.append(_labels_of(table, name, n, times.get(i), options.delay))
        has_runs = len(tables) == 1 and i not in times and "run" in table.columns
        runs.append(read_runs(table, name) if has_runs else np.full(n, i))
    # one table keeps the type of its run column
    return runs[0] if len(runs) == 1 else np.concatenate(runs), np.concatenate(labels)


def _labels_of(table, name, n_volumes, t_r, delay):
    """Return the condition of every volume of a table; without `t_r` by its rows."""
    if t_r is not None:
        return labels_of_volumes(table, name, n_volumes, t_r, delay)
    if len(table) != n_volumes:
        raise ValueError(
            f"{name} has {len(table)} rows for {n_volumes} volumes; without an onset "
            "column it must have one row per volume"
        )
    return table["trial_type"].to_numpy(dtype=str)
