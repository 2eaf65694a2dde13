"""Tables of what was shown when: BIDS events, labels of volumes, timed features."""

import os
import re
from pathlib import Path

import numpy as np
import pandas as pd

from neuroextrap.images._feature_files import read_features
from neuroextrap.images._tables import (
    check_columns,
    numbers,
    read_text_table,
    text_column,
)
from neuroextrap.stats._validation import warn

ONSET, DURATION, CONDITION = "onset", "duration", "trial_type"
_INTEGER = re.compile("0|-?[1-9][0-9]{0,16}")  # as Python writes it


def read_events(events, name="events"):
    """Return a copy of a table of events (in seconds) or of volumes, and its name."""
    table, name = _as_frame(events, name)
    times = ["onset", "duration"] if {"onset", "duration"} & set(table.columns) else []
    missing = [key for key in [*times, "trial_type"] if key not in table.columns]
    if missing:
        raise ValueError(
            f"{name} lacks column(s) {missing}, it has {list(table.columns)}; events "
            "need onset, duration, trial_type, labels of volumes trial_type (and run)"
        )
    if not len(table):
        raise ValueError(f"{name} has no row; give one row per event or volume")
    for key, values in zip(times, numbers(table[times], name).T, strict=True):
        table[key] = values
    table["trial_type"] = text_column(table, "trial_type", name).astype(object)
    if times and (table["duration"] < 0).any():
        row = int(np.flatnonzero(table["duration"] < 0)[0])
        raise ValueError(
            f"{name}: column duration is {table['duration'].iloc[row]:g} s in row "
            f"{row + 1}; durations are not negative, correct the table"
        )
    return table, name


def read_runs(table, name):
    """Return the runs of a table's rows, integers if all are written so (not "01")."""
    runs = table["run"]
    if runs.dtype.kind in "iuf" and not runs.isna().any():
        return runs.to_numpy()
    text = text_column(table, "run", name)
    if (text == "").any():
        row = int(np.flatnonzero(text == "")[0]) + 1
        raise ValueError(
            f"{name}: column run has no entry in row {row}; fill in every run"
        )
    return text.astype(np.int64) if all(map(_INTEGER.fullmatch, text)) else text


def event_labels(table, name, column="trial_type"):
    """Return the labels (n_rows,) of a table of `read_events`, "" where none is."""
    if column not in table.columns:
        raise ValueError(
            f"{name} has no column {column!r}, it has {list(table.columns)}; name the "
            "column that says what was shown"
        )
    return text_column(table, column, name).astype(object)


def has_onsets(table):
    """Return whether events or features are a table with times of its rows."""
    return ONSET in getattr(table, "columns", ())


def _as_frame(events, name):
    """Return a copy of the table as a DataFrame, and its name."""
    if isinstance(events, pd.DataFrame):
        check_columns(events.columns, name)
        return events.reset_index(drop=True).copy(), name
    if not isinstance(events, (str, os.PathLike)):
        raise TypeError(
            f"{name} must be a path or a DataFrame, got {type(events).__name__}; give "
            "a TSV file"
        )
    return read_text_table(events, name), os.fspath(events)


_COMMON = 0.5  # share of time, of rows or run, that is in both; less may be other units


def feature_tables(runs, name, columns=()):
    """Return features of runs, read if files; events by condition (`columns`)."""
    tables = [_opened(run, name) for run in runs]
    are_events = [CONDITION in getattr(table, "columns", ()) for table in tables]
    if not any(are_events):
        return tables
    if not all(are_events):
        raise ValueError(
            f"{name}: run {are_events.index(False)} has no column trial_type, others "
            "are events; give tables of one kind"
        )
    events = [read_events(table, name)[0] for table in tables]
    conditions = set().union(*(table[CONDITION] for table in events)) - {""}
    names = sorted(conditions.union(columns))
    ones = [pd.get_dummies(table[CONDITION]) for table in events]
    ones = [each.reindex(columns=names, fill_value=False) for each in ones]
    timed = [table[[ONSET, DURATION]] for table in events]
    return [pd.concat(p, axis=1).astype(float) for p in zip(timed, ones, strict=True)]


def _opened(table, name):
    """Return features, read if they are a file."""
    if not isinstance(table, (str, os.PathLike)):
        return table
    path = os.fspath(table)
    if path.lower().removesuffix(".gz").endswith((".tsv", ".csv")):
        read = read_text_table(path, name)
        if CONDITION in read:
            return read
    return read_features(path)


def stimuli_of(events, column):
    """Return the names, without suffix, of the stimuli in a column of events."""
    table, name = read_events(events)
    labels = event_labels(table, name, column)
    stimuli = dict.fromkeys(str(label) for label in labels if label != "")
    stems = dict.fromkeys(Path(label).stem for label in stimuli)
    if not stimuli or len(stems) < len(stimuli):
        what = "has two stimuli of one name" if stimuli else "names no stimulus"
        raise ValueError(
            f"{name}: column {column} {what}; name every stimulus that files of "
            "features are called by"
        )
    return list(stems)


def features_of_events(events, column, files, band):
    """Return the features of a run as a table, from `files` by stimulus and band."""
    table, name = read_events(events)
    labels, parts = event_labels(table, name, column), []
    for row in np.flatnonzero(labels != ""):
        path = files[Path(str(labels[row])).stem, band]
        part = _opened(path, str(path))
        if not has_onsets(part):
            raise ValueError(
                f"{path} has no column onset: features of stimuli that events name "
                "have times, in seconds from the beginning of the stimulus"
            )
        onset, end = _spans(part, str(path))
        start, lasts = (float(table[key].iloc[row]) for key in (ONSET, DURATION))
        end = np.minimum(end, lasts if lasts > 0 else np.inf)
        timed = part.assign(onset=onset + start, duration=end - onset)
        parts.append(timed[end > onset])
    return pd.concat(parts, ignore_index=True)


def features_of_volumes(features, n_volumes, t_r, name="features"):
    """Return a DataFrame of features averaged over volumes of `t_r` seconds.

    A volume has the integral of the rows during it divided by `t_r`: short rows, such
    as words, add up by how long they last. Rows last until the next onset if no column
    says.
    """
    table = features.drop(columns=[c for c in (ONSET, DURATION) if c in features])
    if not table.shape[1]:
        raise ValueError(f"{name} has times, but no features; add their columns")
    onset, end = _spans(features, name)
    values = numbers(table, name)
    if not (end > onset).all():
        row = int(np.argmin(end > onset))
        raise ValueError(
            f"{name}: column duration is not positive in row {row + 1}; say how long "
            "each row lasts, or leave the column out where rows last until the next"
        )
    _check_span(onset, end, n_volumes * t_r, name)
    means = np.zeros((n_volumes, table.shape[1]))
    for volume in range(n_volumes):
        start, stop = volume * t_r, (volume + 1) * t_r
        rows = np.flatnonzero((onset < stop) & (end > start))
        seconds = np.minimum(end[rows], stop) - np.maximum(onset[rows], start)
        means[volume] = seconds / t_r @ values[rows]
    return pd.DataFrame(means, columns=list(table.columns))


def _spans(features, name):
    """Return when rows begin and end, in seconds, by their columns."""
    onset = numbers(features[[ONSET]], name)[:, 0]
    if DURATION in features:
        return onset, onset + numbers(features[[DURATION]], name)[:, 0]
    steps = np.diff(onset)  # rows last until the next one starts
    if not len(steps) or not (steps > 0).all():
        row = int(np.argmin(steps > 0)) + 2 if len(steps) else 1
        raise ValueError(
            f"{name}: column onset must increase from row to row where rows have no "
            f"duration (row {row}); sort the table, or add a column duration"
        )
    return onset, np.append(onset[1:], onset[-1] + steps[-1])


def _check_span(onset, end, length, name):
    """Raise if no row falls into a run; warn if both have little time in common."""
    if not ((onset < length) & (end > 0)).any():
        raise ValueError(
            f"{name}: no row falls into the run of {length:g} s, the first starts at "
            f"{onset[0]:g} s; give onsets in seconds from the run's first volume"
        )
    first, last = onset.min(), end.max()
    common = min(last, length) - max(first, 0)
    if common < _COMMON * max(last - first, length):
        warn(
            f"{name}: rows last from {first:g} to {last:g} s, the run from 0 to "
            f"{length:g} s; check that onset, duration and t_r are in seconds"
        )
