"""Runs of a film or a story: features and responses, volume by volume."""

from os import PathLike
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from neuroextrap.analysis._samples import read_samples
from neuroextrap.design._labels import means_of
from neuroextrap.encoding._stimuli import (
    check_feature_names,
    check_features,
    feature_names,
    pair_responses,
)
from neuroextrap.encoding._stimulus_features import same_features
from neuroextrap.encoding._table_of_runs import by_run
from neuroextrap.images import resolve_masker
from neuroextrap.images._bids_names import refuse_other_names
from neuroextrap.images._cleaning import (
    Cleaning,
    clean_runs,
    read_confounds,
    read_sample_mask,
)
from neuroextrap.images._feature_timing import (
    feature_tables,
    features_of_volumes,
    has_onsets,
)
from neuroextrap.images._loading import cleans_over_time
from neuroextrap.images._maskers import smooth_by
from neuroextrap.images._opening import list_images
from neuroextrap.images._repetition_time import repetition_times
from neuroextrap.images._tables import load_array

WITHIN_RUNS = (None, "center", "zscore")


class Runs(NamedTuple):
    """Runs one after the other, a row for every volume."""

    features: np.ndarray  # (n_volumes, n_columns), neither scaled nor delayed
    responses: np.ndarray  # (n_volumes, n_voxels), rescaled within runs
    run: np.ndarray  # number of the run of each volume, (n_volumes,)
    usable: np.ndarray  # voxels that are finite and vary in every run, (n_voxels,)
    names: np.ndarray | None  # of the columns
    bands: np.ndarray | None  # of the columns, (n_columns,)
    t_r: float | None  # seconds between volumes, where known
    masker: Any
    kept: np.ndarray  # volumes that are neither trained on nor tested are False


class HeldOut(NamedTuple):
    """Held-out responses of every stimulus, repeats averaged, and their predictions."""

    responses: np.ndarray  # (n_rows, n_usable)
    predictions: np.ndarray  # (n_rows, n_usable)
    run: np.ndarray  # number of the stimulus of each row, (n_rows,)
    repeats: np.ndarray  # runs averaged into each row, (n_rows,)
    noise_variance: np.ndarray | None  # (n_usable,), None without repeats
    usable: np.ndarray  # (n_voxels,)
    t_r: float | None
    rows: np.ndarray  # of the predictions of all volumes, (n_rows,)


def read_runs(mask, features, imgs, options, *, within_runs, memory=None, known=None):
    """Read features and responses of some runs, and clean these; returns Runs."""
    planned = plan_runs(features, imgs, options, known)
    arrays = isinstance(planned.series[0], np.ndarray)
    if not arrays:
        mask = resolve_masker(mask, planned.series, memory=memory)
        smooth_by(mask, options.smoothing_fwhm)
    _check_cleaning(mask, planned.cleaning, arrays=arrays)
    # nothing is subtracted over runs: it is done in each of them
    read = [read_samples(mask, i, center=False, dtype=None) for i in planned.series]
    if len({samples.X.shape[1] for samples in read}) > 1:
        raise ValueError("imgs have other numbers of voxels; give runs of one mask")
    run, kept = planned.cleaning.series, planned.cleaning.kept
    responses = np.concatenate([samples.X for samples in read])
    responses = clean_runs(responses, run, planned.cleaning)
    return Runs(
        planned.features,
        rescaled(responses, run, within_runs, kept),
        run,
        np.all([samples.usable for samples in read], axis=0),
        planned.names,
        planned.bands,
        planned.cleaning.times[0],
        None if arrays else mask,
        kept,
    )


class PlannedRuns(NamedTuple):
    """All of some runs but their responses, for all volumes one after the other."""

    features: np.ndarray
    names: np.ndarray | None
    bands: np.ndarray | None
    series: list  # images, or arrays
    cleaning: Cleaning


def plan_runs(features, imgs, options, known=None):
    """Read features, what cleans responses, and headers of images; PlannedRuns.

    `options` are SampleOptions, `known` names of columns in an earlier fit.
    """
    tables, series = as_runs(features, "features"), as_runs(imgs, "imgs")
    if len(tables) != len(series):
        raise ValueError(
            f"features has {len(tables)} runs, imgs {len(series)}; give one table of "
            "features for every run"
        )
    named = [_named(*pair) for pair in zip(as_list(imgs), series, strict=True)]
    _check_names(named, tables)
    tables = _by_band(tables, () if known is None else known)
    timed = any(has_onsets(table) for run in tables for table in run.values())
    times = _times_of(named, options.t_r, needed=timed or bool(options.high_pass))
    counted = [SimpleNamespace(file=i.file, n_samples=i.length) for i in named]
    kept = read_sample_mask(options.sample_mask, counted)
    for number, own in enumerate(kept):
        if not own.any():
            raise ValueError(
                f"sample_mask[{number}] keeps no volume; leave the run out"
            )
    volumes = [
        _of_volumes(run, img.length, time, f"features[{i}]", known)
        for i, (run, img, time) in enumerate(zip(tables, named, times, strict=True))
    ]
    names = _one_set_of_columns(volumes)
    cleaning = Cleaning(
        options=options,
        times=times,
        confounds=read_confounds(options.confounds, counted, options.sample_mask),
        kept=np.concatenate(kept),
        series=np.repeat(np.arange(len(named)), [img.length for img in named]),
    )
    values = np.concatenate([values for values, *_ in volumes])
    return PlannedRuns(values, names, volumes[0][2], series, cleaning)


def _check_cleaning(masker, cleaning, *, arrays):
    """Raise where what is cleaned here is cleaned by the masker, or cannot be."""
    if arrays and cleaning.options.smoothing_fwhm is not None:
        raise ValueError("smoothing_fwhm smooths volumes, and imgs are arrays")
    changes = cleaning.changes or not cleaning.kept.all()
    if not arrays and changes and cleans_over_time(masker):
        raise ValueError(
            "confounds, sample_mask and high_pass need a masker that does not detrend, "
            "standardize or filter itself; give one without"
        )


def _check_names(named, tables):
    """Raise where names of files say that features are of another run than images.

    Features that are given for several runs, which show one stimulus, are of none.
    """
    rows = [run if isinstance(run, dict) else {"": run} for run in tables]
    for band in rows[0]:
        files = [run.get(band) for run in rows]
        files = [str(f) if isinstance(f, (str, PathLike)) else None for f in files]
        alone = [None if files.count(file) > 1 else file for file in files]
        refuse_other_names(named, alone, "features")


def as_list(given):
    """Return entries of runs as a list; a single one may come without."""
    return list(given) if isinstance(given, (list, tuple)) else [given]


def as_runs(given, name):
    """Return runs as a list, arrays in files read."""
    runs = as_list(given)
    if not runs:
        raise ValueError(f"{name} is empty; give an entry for every run")
    if name == "imgs":
        runs = [load_array(run) if str(run)[-4:] == ".npy" else run for run in runs]
    kinds = {isinstance(run, np.ndarray) for run in runs}
    if name == "imgs" and len(kinds) > 1:
        raise TypeError("imgs mixes arrays and images; give runs of one kind")
    return runs


def _named(entry, series):
    """Return a series of volumes with name, file and length (volumes)."""
    if isinstance(series, np.ndarray):
        file = entry if isinstance(entry, (str, PathLike)) else None
        return SimpleNamespace(name="imgs", file=file, length=len(series), first=None)
    own = list_images(series)
    if len(own) > 1 and own[0].n_samples is not None:
        raise ValueError(
            "imgs has an entry that stands for several series (a pattern, or a list); "
            "give a list with one series for every run"
        )
    first, length = own[0], sum(img.n_samples or 1 for img in own)
    return SimpleNamespace(name=first.name, file=first.file, length=length, first=first)


def _times_of(named, t_r, *, needed):
    """Return the seconds between volumes of every run; None where nothing says them."""
    if named[0].first is None:
        repetition_times([], t_r)  # checks what was given
        if needed and t_r is None:
            raise ValueError(
                "features have onsets, or high_pass is given, and arrays do not tell "
                "the time between their rows; give t_r, in seconds"
            )
        return [t_r] * len(named)
    images = [img.first for img in named]
    if t_r is None and not needed:
        try:
            return repetition_times(images, None)
        except ValueError:  # nothing, or not the same, is stated
            return [None] * len(named)
    return repetition_times(images, t_r)


def _by_band(runs, known):
    """Return the features of every run as a dict of tables by band, files read.

    Features without bands are those of the band "". `known` are names of columns.
    """
    given = [run if isinstance(run, dict) else {"": run} for run in runs]
    bands = list(given[0])
    for number, run in enumerate(given):
        if list(run) != bands or not bands:
            raise ValueError(
                f"features[{number}] has bands {list(run)}, features[0] {bands}; give "
                "the same bands, in the same order, for every run"
            )
    of_bands = {}
    for band in bands:
        before = f"{band}." if band else ""
        columns = [n.removeprefix(before) for n in known if n.startswith(before)]
        name = f"features, band {band!r}" if band else "features"
        of_bands[band] = feature_tables([run[band] for run in given], name, columns)
    return by_run(of_bands)


def _of_volumes(run, n_volumes, t_r, name, known):
    """Return features of volumes (n_volumes, n_columns), names and bands of columns."""
    parts, names, bands = [], None, None
    for band, table in run.items():
        where = f"{name}[{band!r}]" if band else name
        if has_onsets(table):
            table = features_of_volumes(table, n_volumes, t_r, where)
        values, own = check_features(table, where), feature_names(table)
        if len(values) != n_volumes:
            raise ValueError(
                f"{where} has {len(values)} rows, its run {n_volumes} volumes; give "
                "one row for every volume, or a table with a column onset (seconds), "
                "which is averaged over volumes"
            )
        parts.append(values)
        if not band:
            check_feature_names(table, known, name)
            return values, own, None
        own = range(values.shape[1]) if own is None else own
        names = [*(names or ()), *(f"{band}.{column}" for column in own)]
        bands = [*(bands or ()), *[band] * values.shape[1]]
    check_feature_names(SimpleNamespace(columns=names), known, name)
    return np.hstack(parts), np.array(names, dtype=object), np.array(bands)


def _one_set_of_columns(volumes):
    """Return names of the columns, None without any; ValueError if runs differ."""
    (first, names, _), *others = volumes
    for number, (values, other, _) in enumerate(others, start=1):
        same = (names is None) == (other is None) and np.array_equal(names, other)
        if values.shape[1] != first.shape[1] or not same:
            raise ValueError(
                f"features[{number}] has other columns than features[0]; give the same "
                "features, in the same order, for every run"
            )
    return names


def rescaled(values, run, how, kept):
    """Subtract means of runs ("center"), and divide by their deviations ("zscore").

    Both are those of the volumes that are `kept`; what is constant in a run becomes 0.
    """
    if how is None:
        return values
    centered = values - means_of(values[kept], run[kept])[run]
    if how == "center":
        return centered
    scale = np.sqrt(means_of(np.square(centered[kept]), run[kept]))
    return centered / np.where(scale > 0, scale, 1)[run]


def cross_validation_units(run, n_folds, n_delayed):
    """Return what cross-validation keeps together: runs, or blocks of a single run.

    These are longer than twice the `n_delayed` rows over which a response extends.
    """
    if run.max() > 0:
        return run
    length = len(run) // n_folds
    if length <= 2 * n_delayed:
        raise ValueError(
            f"a single run of {len(run)} volumes gives {n_folds} blocks of {length}, "
            f"which are not longer than twice the largest delay ({n_delayed}); give "
            "more runs, or fewer folds (cv)"
        )
    return np.arange(len(run)) * n_folds // len(run)


def average_repeats(runs, predictions):
    """Average runs with equal features, which show one stimulus; returns HeldOut."""
    place = np.empty(len(runs.run), dtype=int)
    first: list[np.ndarray] = []  # rows of the first run of each stimulus
    for number in range(runs.run.max() + 1):
        rows = np.flatnonzero(runs.run == number)
        shown = runs.features[rows]
        same = [each for each in first if same_features(runs.features[each], shown)]
        if not same:
            first.append(rows)
        place[rows] = same[0] if same else rows
    rows, place = np.unique(place[runs.kept], return_inverse=True)
    paired = pair_responses(
        runs.responses[runs.kept][:, runs.usable],
        len(rows),
        stimuli=place,
        repeats="average",
    )
    order = np.argsort(paired.codes)  # a volume may be kept in a later repeat only
    return HeldOut(
        paired.responses[order],
        predictions[rows],
        np.unique(runs.run[rows], return_inverse=True)[1],
        paired.repeats[order],
        paired.noise_variance,
        runs.usable,
        runs.t_r,
        rows,
    )
