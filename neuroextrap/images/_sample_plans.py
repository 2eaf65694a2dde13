"""Which samples series and their events give, by tables and headers alone."""

import json
import logging
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from neuroextrap.images._bids_names import file_entities, pair_by_name, refuse_same
from neuroextrap.images._bids_runs import find_raw, fitting_files
from neuroextrap.images._events import event_labels, has_onsets, read_events, read_runs
from neuroextrap.images._opening import expanded, list_images
from neuroextrap.images._sample_options import LONGEST, Cleaning
from neuroextrap.images._surface_files import SURFACES

_logger = logging.getLogger(__name__)

_TOLERANCE = 1e-3
"""Seconds by which two statements of a repetition time may differ."""
_SECONDS = {"sec": 1.0, "msec": 1e-3, "usec": 1e-6}
_EXTENSIONS = (*SURFACES, ".nii.gz", ".nii", ".img.gz", ".img", ".hdr")
_ROUNDING = 1e-3
"""Seconds by which a volume may precede an event and still belong to it."""
_TIMED = ["onset", "duration", "trial_type"]
"""Columns of events of which designs are made."""
_LEAST_SEEN = 0.5
"""Share of a trial's expected response that volumes in the fit must hold."""


def repetition_times(named, options):
    """Return the time between volumes of every series in seconds.

    ``t_r`` of SampleOptions, header and sidecar must agree within a millisecond, or
    (without ``check_t_r``) the first of ``t_r``, sidecar and header counts.
    """
    times = [_of_series(img, options) for img in named]
    for said in dict.fromkeys(times if options.t_r is None else ()):
        series = [img for img, own in zip(named, times, strict=True) if own == said]
        more = f" and {len(series) - 1} more" if len(series) > 1 else ""
        _logger.info("%s%s: repetition time %g s (%s)", series[0].name, more, *said)
    return [time for time, _ in times]


def _of_series(img, options):
    """Return the time between volumes of one series, and what tells it."""
    sources = {"t_r": options.t_r, "its sidecar": _of_sidecar(img)}
    sources["its header"] = _of_header(img)
    stated = {source: float(t) for source, t in sources.items() if t is not None}
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


def tell_missing(tables):
    """Log how many rows of tables have no condition."""
    missing = [(table["trial_type"] == "").sum() for table, _ in tables]
    if any(missing):
        first = next(name for (_, name), n in zip(tables, missing, strict=True) if n)
        _logger.warning(
            "%d of %d rows of the events have no condition (n/a or empty) and give no "
            "sample; %s has the first",
            sum(missing),
            sum(len(table) for table, _ in tables),
            first,
        )


def labels_of_volumes(table, name, n_volumes, t_r, delay=0.0):
    """Return the condition of every volume from BIDS events, "" where there is none.

    A volume acquired at t belongs to the event with onset + delay <= t < onset + delay
    + duration (seconds), give or take a millisecond.
    """
    times = np.arange(n_volumes) * t_r
    labels = np.full(n_volumes, "", dtype=object)
    labeled = table[table["trial_type"] != ""]
    columns = (labeled[key] for key in ("onset", "duration", "trial_type"))
    for onset, duration, trial_type in zip(*columns, strict=True):
        since = times - (onset + delay) + _ROUNDING
        during = (since >= 0) & (since < duration)
        event = f"{name}: the event {trial_type!r} at {onset:g} s"
        if not during.any():
            raise ValueError(
                f"{event} covers none of the {n_volumes} volumes of {t_r:g} s; use "
                "single-trial betas for brief events, or correct t_r"
            )
        if (labels[during] != "").any():
            raise ValueError(f"{event} overlaps an earlier one; use single-trial betas")
        labels[during] = trial_type
    return labels.astype(str)


def late_event(table, name, img, t_r, delay=None):
    """Say which event starts after an image's last volume (trials: its end), or ""."""
    n_volumes = img.n_samples or 1
    if delay is None:
        is_late = table["onset"] >= n_volumes * t_r
    else:
        begins = table["onset"] + delay - _ROUNDING
        is_late = (begins > (n_volumes - 1) * t_r) & (table["trial_type"] != "")
    if not is_late.any():
        return ""
    return (
        f"{name}: an event starts at {table['onset'][is_late].max():g} s, after the "
        f"{n_volumes * t_r:g} s of {img.name}"
        f"{f' with a delay of {delay:g} s' if delay else ''}; correct t_r or the order "
        "of events"
    )


def check_excluded(excluded, present, left, what):
    """Warn of conditions to exclude that do not occur; raise if nothing is `left`."""
    names = sorted({str(name) for name in present} - {""})
    for condition in sorted(set(excluded) - set(present)):
        _logger.warning(
            "condition %r is to be excluded but does not occur; there are %s",
            condition,
            names,
        )
    if not left:
        raise ValueError(
            f"exclude={excluded!r} leaves no {what}; conditions are {names}; exclude "
            "fewer"
        )


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
    nuisance = {"high_pass": high_pass}
    if not high_pass:  # None: nilearn's own drifts, 0: none
        nuisance = {} if high_pass is None else {"drift_model": None}
    if confounds is not None:
        scale = confounds.std(axis=0)
        regressed = (confounds - confounds.mean(axis=0)) / np.where(scale > 0, scale, 1)
        names = [f"neuroextrap_confound_{i}" for i in range(regressed.shape[1])]
        nuisance |= {"add_regs": regressed, "add_reg_names": names}
    return nuisance


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
