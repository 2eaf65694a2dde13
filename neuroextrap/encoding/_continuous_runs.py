"""Runs of a film or a story: features and responses, volume by volume."""

from typing import Any, NamedTuple

import numpy as np

from neuroextrap.analysis._samples import read_samples
from neuroextrap.design._copies import check_new_rows
from neuroextrap.design._labels import means_of
from neuroextrap.encoding._stimuli import (
    check_feature_names,
    check_features,
    feature_names,
    pair_responses,
)
from neuroextrap.images import resolve_masker
from neuroextrap.images._feature_timing import features_of_volumes, has_onsets
from neuroextrap.images._opening import list_images
from neuroextrap.images._repetition_time import repetition_times

WITHIN_RUNS = (None, "center", "zscore")
_SOME_VOXELS = 64
_EQUAL = 1e-5  # of a standard deviation: features of the same stimulus


class Runs(NamedTuple):
    """Runs one after the other, a row for every volume."""

    features: np.ndarray  # (n_volumes, n_columns), neither scaled nor delayed
    responses: np.ndarray  # (n_volumes, n_voxels), rescaled within runs
    run: np.ndarray  # number of the run of each volume, (n_volumes,)
    usable: np.ndarray  # voxels that are finite and vary in every run, (n_voxels,)
    names: np.ndarray | None  # of the columns
    t_r: float | None  # seconds between volumes, where known
    masker: Any


class HeldOut(NamedTuple):
    """Held-out responses of every stimulus, repeats averaged, and their predictions."""

    responses: np.ndarray  # (n_rows, n_usable)
    predictions: np.ndarray  # (n_rows, n_usable)
    run: np.ndarray  # number of the stimulus of each row, (n_rows,)
    repeats: np.ndarray  # runs averaged into each row, (n_rows,)
    noise_variance: np.ndarray | None  # (n_usable,), None without repeats
    usable: np.ndarray  # (n_voxels,)
    t_r: float | None


def read_runs(mask, features, imgs, *, within_runs, t_r, memory=None, known=None):
    """Read features and responses of some runs; returns Runs.

    `features` and `imgs` are lists with an entry for each run, or those of a single
    run. Features with onsets are averaged over volumes. `known` are names of columns in
    an earlier fit. ValueError where lengths or columns do not match.
    """
    tables, series = as_runs(features, "features"), as_runs(imgs, "imgs")
    if len(tables) != len(series):
        raise ValueError(
            f"features has {len(tables)} runs, imgs {len(series)}; give one table of "
            "features for every run"
        )
    times = _times_of(series, t_r, needed=any(map(has_onsets, tables)))
    arrays = isinstance(series[0], np.ndarray)
    if not arrays:
        mask = resolve_masker(mask, series, memory=memory)
    # nothing is subtracted over runs: it is done in each of them
    read = [read_samples(mask, img, center=False, dtype=None) for img in series]
    volumes = [
        _of_volumes(table, len(samples.X), time, f"features[{i}]", known)
        for i, (table, samples, time) in enumerate(
            zip(tables, read, times, strict=True)
        )
    ]
    names = _one_set_of_columns(volumes)
    if len({samples.X.shape[1] for samples in read}) > 1:
        raise ValueError("imgs have other numbers of voxels; give runs of one mask")
    usable = np.all([samples.usable for samples in read], axis=0)
    run = np.repeat(np.arange(len(read)), [len(samples.X) for samples in read])
    responses = np.concatenate([samples.X for samples in read])
    return Runs(
        np.concatenate([values for values, _ in volumes]),
        rescaled(responses, run, within_runs),
        run,
        usable,
        names,
        times[0],
        None if arrays else mask,
    )


def as_runs(given, name):
    """Return runs as a list; a single one may come without."""
    runs = list(given) if isinstance(given, (list, tuple)) else [given]
    if not runs:
        raise ValueError(f"{name} is empty; give an entry for every run")
    kinds = {isinstance(run, np.ndarray) for run in runs}
    if name == "imgs" and len(kinds) > 1:
        raise TypeError("imgs mixes arrays and images; give runs of one kind")
    return runs


def _times_of(series, t_r, *, needed):
    """Return the seconds between volumes of every run; None where nothing says them."""
    if isinstance(series[0], np.ndarray):
        repetition_times([], t_r)  # checks what was given
        if needed and t_r is None:
            raise ValueError(
                "features have onsets, and arrays do not tell the time between their "
                "rows; give t_r, in seconds"
            )
        return [t_r] * len(series)
    named = [list_images(run) for run in series]
    if any(len(run) > 1 and run[0].n_samples is not None for run in named):
        raise ValueError(
            "imgs has an entry that stands for several series (a pattern, or a list); "
            "give a list with one series for every run"
        )
    named = [run[0] for run in named]
    if t_r is None and not needed:
        try:
            return repetition_times(named, None)
        except ValueError:  # nothing, or not the same, is stated
            return [None] * len(series)
    return repetition_times(named, t_r)


def _of_volumes(table, n_volumes, t_r, name, known):
    """Return features of volumes, (n_volumes, n_columns), and names of columns."""
    if has_onsets(table):
        table = features_of_volumes(table, n_volumes, t_r, name)
    check_feature_names(table, known, name)
    values = check_features(table, name)
    if len(values) != n_volumes:
        raise ValueError(
            f"{name} has {len(values)} rows, its run {n_volumes} volumes; give one row "
            "for every volume, or a table with a column onset (seconds), which is "
            "averaged over volumes"
        )
    return values, feature_names(table)


def _one_set_of_columns(volumes):
    """Return names of the columns, None without any; ValueError if runs differ."""
    (first, names), *others = volumes
    for number, (values, other) in enumerate(others, start=1):
        same = (names is None) == (other is None) and np.array_equal(names, other)
        if values.shape[1] != first.shape[1] or not same:
            raise ValueError(
                f"features[{number}] has other columns than features[0]; give the same "
                "features, in the same order, for every run"
            )
    return names


def rescaled(values, run, how):
    """Subtract the mean of every run, and divide by its standard deviation.

    `how` is None, "center" or "zscore"; what is constant in a run becomes 0.
    """
    if how is None:
        return values
    centered = values - means_of(values, run)[run]
    if how == "center":
        return centered
    scale = np.sqrt(means_of(np.square(centered), run))
    return centered / np.where(scale > 0, scale, 1)[run]


def cross_validation_units(run, n_folds, n_delayed):
    """Return what cross-validation keeps together: runs, or blocks of a single run.

    A single run is cut into `n_folds` contiguous blocks; ValueError if they are not
    longer than twice the `n_delayed` rows over which a response extends.

    >>> cross_validation_units(np.zeros(9), 3, 1).tolist()
    [0, 0, 0, 1, 1, 1, 2, 2, 2]
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


def some_voxels(runs):
    """Return runs with responses of the first usable voxels only."""
    return runs._replace(responses=runs.responses[:, _first(runs.usable)])


def _first(usable):
    """Return the places of the first usable voxels."""
    return np.flatnonzero(usable)[:_SOME_VOXELS]


def check_new_runs(trained, tested):
    """Raise where a tested run shows a trained stimulus, or is a trained run itself.

    `trained` are :func:`some_voxels` of the training runs.
    """
    columns = _first(trained.usable)
    kept = tested.usable[columns]
    check_new_rows(trained.responses[:, kept], tested.responses[:, columns[kept]])
    for number in range(tested.run.max() + 1):
        values = tested.features[tested.run == number]
        for other in range(trained.run.max() + 1):
            if _same(values, trained.features[trained.run == other]):
                raise ValueError(
                    f"test run {number} has the features of training run {other}, so "
                    "that the stimulus is not new to the model; test on runs of other "
                    "stimuli"
                )


def average_repeats(runs, predictions):
    """Average runs with equal features, which show one stimulus; returns HeldOut.

    `predictions` (n_volumes, n_usable) are those of all rows of `runs`.
    """
    place = np.empty(len(runs.run), dtype=int)
    first: list[np.ndarray] = []  # rows of the first run of each stimulus
    for number in range(runs.run.max() + 1):
        rows = np.flatnonzero(runs.run == number)
        same = [f for f in first if _same(runs.features[f], runs.features[rows])]
        if not same:
            first.append(rows)
        place[rows] = same[0] if same else rows
    kept, place = np.unique(place, return_inverse=True)
    paired = pair_responses(
        runs.responses[:, runs.usable], len(kept), stimuli=place, repeats="average"
    )
    return HeldOut(
        paired.responses,
        predictions[kept],
        np.unique(runs.run[kept], return_inverse=True)[1],
        paired.repeats,
        paired.noise_variance,
        runs.usable,
        runs.t_r,
    )


def _same(first, second):
    """Say whether features of two runs are equal, up to rounding."""
    if first.shape != second.shape:
        return False
    near = _EQUAL * first.std(axis=0)
    return bool((np.abs(first - second) <= near).all())
