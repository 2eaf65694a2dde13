"""Runs of a film or a story: their table, features and responses, volume by volume."""

from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from neuroextrap.analysis._samples import read_samples
from neuroextrap.design._folds import means_of
from neuroextrap.encoding._stimuli import (
    check_feature_names,
    check_features,
    feature_names,
)
from neuroextrap.images import resolve_masker
from neuroextrap.images._bids_names import refuse_other_names
from neuroextrap.images._bids_runs import fmriprep_confounds
from neuroextrap.images._events import (
    feature_tables,
    features_of_volumes,
    has_onsets,
)
from neuroextrap.images._loading import cleans_over_time
from neuroextrap.images._maskers import smooth_by
from neuroextrap.images._opening import list_images
from neuroextrap.images._sample_options import Cleaning, clean_runs
from neuroextrap.images._sample_plans import repetition_times
from neuroextrap.images._tables import MISSING, load_array, read_text_table, text_column

_SET, _IMGS, _CLEANING = "set", "imgs", ("confounds", "sample_mask")


class TableOfRuns(NamedTuple):
    """Sets of runs (train, test), and what each of them has, a list each."""

    sets: list
    features: list
    imgs: list
    confounds: list | None
    sample_mask: list | None

    def of(self, name):
        """Return what the runs of a set have, arguments of ``fit`` by name."""
        own = [number for number, each in enumerate(self.sets) if each == name]
        given = {n: v for n, v in self._asdict().items() if n != _SET + "s"}
        return {n: v and [v[i] for i in own] for n, v in given.items()}

    def cleaned_by(self, strategy):
        """Return the same with confounds of fMRIPrep, by ``load_confounds``."""
        for name in _CLEANING:
            if getattr(self, name) is not None:
                raise ValueError(
                    f"runs has a column {name}, and confounds of fMRIPrep were asked "
                    "for too; give one"
                )
        confounds, sample_mask = fmriprep_confounds(self.imgs, strategy)
        return self._replace(confounds=confounds, sample_mask=sample_mask)

    @property
    def files(self):
        """The files among features, images and confounds, lists by name."""
        listed: dict = {name: [] for name in ("features", "imgs", "confounds")}
        for name, files in listed.items():
            for run in getattr(self, name) or ():
                each = list(run.values()) if isinstance(run, dict) else [run]
                files += [file for file in each if isinstance(file, (str, PathLike))]
        return {name: list(dict.fromkeys(files)) for name, files in listed.items()}


def read_table_of_runs(runs):
    """Return the TableOfRuns of a DataFrame, or of a file with files beside it."""
    if isinstance(runs, TableOfRuns):
        return runs
    folder = None
    if isinstance(runs, (str, PathLike)):
        runs, folder = read_text_table(runs, "runs"), Path(runs).parent
    sets = _read_sets(runs)
    named = [name for name in runs if name != _SET]
    cells = {n: [_cell(each, folder, n) for each in runs[n]] for n in named}
    imgs, cleaning = cells.pop(_IMGS), [cells.pop(name, None) for name in _CLEANING]
    features = next(iter(cells.values())) if len(cells) == 1 else by_run(cells)
    return TableOfRuns(sets, features, imgs, *cleaning)


def _read_sets(runs):
    """Return the set of each run; raise ValueError if the table lacks a column."""
    bands = [name for name in runs if name not in (_SET, _IMGS, *_CLEANING)]
    if _SET not in runs or _IMGS not in runs or not bands:
        raise ValueError(
            f"runs has columns {', '.join(map(str, runs.columns))}; give set (train or "
            "test), imgs, and one for each band of features"
        )
    sets = text_column(runs, _SET, "runs").tolist()
    if {*sets} != {"train", "test"}:
        raise ValueError(
            "runs: column set must hold train and test, got "
            f"{', '.join(sorted({*sets}))}"
        )
    return sets


def _cell(entry, folder, column):
    """Return an entry of the table of runs, files as paths from `folder`."""
    if not isinstance(entry, str):
        return entry
    if entry in ("", MISSING):
        if column in _CLEANING:
            return None
        raise ValueError(
            f"runs: column {column} lacks an entry; name a file for every run"
        )
    path = entry if folder is None else str(folder / entry)
    return load_array(path) if column == "sample_mask" else path


def by_run(bands):
    """Return a dict of lists, an entry for every run, as a list of dicts."""
    rows = zip(*bands.values(), strict=True)
    return [dict(zip(bands, row, strict=True)) for row in rows]


@dataclass(frozen=True, kw_only=True)
class GivenRuns:
    """Runs that are trained on or tested, and how they are cleaned.

    Parameters
    ----------
    features : list of array-like of shape (n_volumes, n_columns), or of dict
        Features of every run, or of a single run without a list: a row for every
        volume, or tables with onsets, or paths of such; or a dict of these by band.
        What is tested has the columns of training, and other stimuli.
    imgs : list of images, paths or arrays of shape (n_volumes, n_features)
        Responses in every run: 4-D images or surfaces, in the order of `features`.
    confounds : ndarray, DataFrame, path, list of these, or None, default=None
        Confounds, a table of numbers for every run with a row for each volume, that are
        regressed out of the responses. Files whose names tell their run, as BIDS names
        do, may come in any order.
    sample_mask : array-like, list of these, or None, default=None
        Volumes that are kept in every run (indices, counting from 0, or booleans), as
        ``load_confounds`` of nilearn returns them. The others enter no regression and
        are neither trained on nor tested; what was shown then still delays into others.
    """

    confounds: Any = None
    sample_mask: Any = None


class Runs(NamedTuple):
    """Runs one after the other, a row for every volume."""

    features: np.ndarray  # (n_volumes, n_columns), neither scaled nor delayed
    names: np.ndarray | None  # of the columns
    bands: np.ndarray | None  # of the columns, (n_columns,)
    run: np.ndarray  # number of the run of each volume, (n_volumes,)
    kept: np.ndarray  # volumes that are neither trained on nor tested are False
    t_r: float | None  # seconds between volumes, where known
    responses: Any = None  # (n_volumes, n_voxels), rescaled within runs
    usable: Any = None  # voxels that are finite and vary in every run, (n_voxels,)
    masker: Any = None

    @property
    def by_run(self):
        """The features of every run, a list."""
        return np.split(self.features, np.flatnonzero(np.diff(self.run)) + 1)


def read_runs(model, mask, features, imgs, given):
    """Read features and responses of some runs, and clean these; returns Runs."""
    options = model._sample_options(given)
    feature_names = getattr(model, "feature_names_in_", None)
    runs, series, cleaning = plan_runs(features, imgs, options, feature_names)
    arrays = isinstance(series[0], np.ndarray)
    if not arrays:
        mask = resolve_masker(mask, series, memory=model.memory)
        smooth_by(mask, options.smoothing_fwhm)
    _check_cleaning(mask, cleaning, arrays=arrays)
    # nothing is subtracted over runs: it is done in each of them
    read = [read_samples(mask, each, center=False, dtype=None) for each in series]
    if len({samples.X.shape[1] for samples in read}) > 1:
        raise ValueError("imgs have other numbers of voxels; give runs of one mask")
    responses = np.concatenate([samples.X for samples in read])
    responses = clean_runs(responses, runs.run, cleaning)
    return runs._replace(
        responses=rescaled(responses, runs.run, model.within_runs, runs.kept),
        usable=np.all([samples.usable for samples in read], axis=0),
        masker=None if arrays else mask,
    )


def plan_runs(features, imgs, options, feature_names=None):
    """Read all but responses: Runs, their images or arrays, and what cleans these."""
    tables, entries = _entries(features, imgs)
    series = [load_array(run) if str(run)[-4:] == ".npy" else run for run in entries]
    if len({isinstance(run, np.ndarray) for run in series}) > 1:
        raise TypeError("imgs mixes arrays and images; give runs of one kind")
    named = [_named(*pair) for pair in zip(entries, series, strict=True)]
    _check_names(named, tables)
    tables = _by_band(tables, () if feature_names is None else feature_names)
    timed = any(has_onsets(table) for run in tables for table in run.values())
    times = _times_of(named, options, needed=timed or bool(options.high_pass))
    volumes = [
        _of_volumes(run, img.n_samples, time, f"features[{i}]", feature_names)
        for i, (run, img, time) in enumerate(zip(tables, named, times, strict=True))
    ]
    names = _one_set_of_columns(volumes)
    values = np.concatenate([values for values, *_ in volumes])
    cleaning = _read_cleaning(named, options, times)
    about = cleaning.series, cleaning.kept, times[0]
    return Runs(values, names, volumes[0][2], *about), series, cleaning


def _read_cleaning(named, options, times):
    """Return what cleans runs, a Cleaning."""
    cleaning = Cleaning.of(options, named, times)
    for number in range(len(named)):
        if not cleaning.kept[cleaning.series == number].any():
            raise ValueError(
                f"sample_mask[{number}] keeps no volume; leave the run out"
            )
    return cleaning


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
    """Raise where the name of a run's own file says that it is of another run."""
    for band in tables[0]:
        files = [run.get(band) for run in tables]
        files = [str(f) if isinstance(f, (str, PathLike)) else None for f in files]
        named_once = [None if files.count(file) > 1 else file for file in files]
        refuse_other_names(named, named_once, "features")


def _entries(features, imgs):
    """Return tables by band and images of every run; a single one needs no list."""
    both = [list(x) if isinstance(x, (list, tuple)) else [x] for x in (features, imgs)]
    for name, runs in zip(("features", "imgs"), both, strict=True):
        if not runs:
            raise ValueError(f"{name} is empty; give an entry for every run")
    tables, entries = both
    if len(tables) != len(entries):
        raise ValueError(
            f"features has {len(tables)} runs, imgs {len(entries)}; give one table of "
            "features for every run"
        )
    return [run if isinstance(run, dict) else {"": run} for run in tables], entries


def _named(entry, series):
    """Return a series of volumes with name, file and length (volumes)."""
    if isinstance(series, np.ndarray):
        file = entry if isinstance(entry, (str, PathLike)) else None
        n = len(series)
        return SimpleNamespace(name="imgs", file=file, n_samples=n, first=None)
    own = list_images(series)
    if len(own) > 1 and own[0].n_samples is not None:
        raise ValueError(
            "imgs has an entry that stands for several series (a pattern, or a list); "
            "give a list with one series for every run"
        )
    first, n = own[0], sum(img.n_samples or 1 for img in own)
    return SimpleNamespace(name=first.name, file=first.file, n_samples=n, first=first)


def _times_of(named, options, *, needed):
    """Return the seconds between volumes of every run; None where nothing says them."""
    if named[0].first is None:
        if needed and options.t_r is None:
            raise ValueError(
                "features have onsets, or high_pass is given, and arrays do not tell "
                "the time between their rows; give t_r, in seconds"
            )
        return [options.t_r] * len(named)
    try:
        return repetition_times([img.first for img in named], options)
    except ValueError:  # nothing, or not the same, is stated
        if needed or options.t_r is not None:
            raise
        return [None] * len(named)


def _by_band(runs, names):
    """Return the features of every run as tables by band; "" without bands."""
    bands = list(runs[0])
    for number, run in enumerate(runs):
        if list(run) != bands or not bands:
            raise ValueError(
                f"features[{number}] has bands {list(run)}, features[0] {bands}; give "
                "the same bands, in the same order, for every run"
            )
    of_bands = {}
    for band in bands:
        before = f"{band}." if band else ""
        columns = [n.removeprefix(before) for n in names if n.startswith(before)]
        name = f"features, band {band!r}" if band else "features"
        of_bands[band] = feature_tables([run[band] for run in runs], name, columns)
    return by_run(of_bands)


def _of_volumes(run, n_volumes, t_r, name, column_names):
    """Return features of volumes (n_volumes, n_columns), names and bands of columns."""
    parts, names, bands = [], None, None
    for band, table in run.items():
        where = f"{name}[{band!r}]" if band else name
        if has_onsets(table):
            table = features_of_volumes(table, n_volumes, t_r, where)
        values, own = _checked(table, n_volumes, where), feature_names(table)
        parts.append(values)
        if not band:
            check_feature_names(table, column_names, name)
            return values, own, None
        own = range(values.shape[1]) if own is None else own
        names = [*(names or ()), *(f"{band}.{column}" for column in own)]
        bands = [*(bands or ()), *[band] * values.shape[1]]
    check_feature_names(SimpleNamespace(columns=names), column_names, name)
    return np.hstack(parts), np.array(names, dtype=object), np.array(bands)


def _checked(table, n_volumes, where):
    """Return features, checked, that have a row for every volume."""
    values = check_features(table, where)
    if len(values) != n_volumes:
        raise ValueError(
            f"{where} has {len(values)} rows, its run {n_volumes} volumes; give "
            "one row for every volume, or a table with a column onset (seconds), "
            "which is averaged over volumes"
        )
    return values


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
    """Center runs, and divide by their deviations ("zscore"), of `kept` volumes."""
    if how is None:
        return values
    centered = values - means_of(values[kept], run[kept])[run]
    if how == "center":
        return centered
    scale = np.sqrt(means_of(np.square(centered[kept]), run[kept]))
    return centered / np.where(scale > 0, scale, 1)[run]
