"""Features with times of their own, averaged over the volumes of a run."""

import os
from pathlib import Path

import numpy as np

from neuroextrap.images._events import event_labels, read_events
from neuroextrap.images._feature_files import read_features
from neuroextrap.images._tables import numbers, read_text_table
from neuroextrap.stats._validation import check_numbers
from neuroextrap.stats._warn import warn

ONSET, DURATION, CONDITION = "onset", "duration", "trial_type"
_COMMON = 0.5  # share of time, of rows or run, that is in both; less may be other units


def feature_tables(runs, name, known=()):
    """Return features of some runs as tables or arrays; files are read.

    BIDS events become a column of ones for each condition shown in any run, or `known`.
    """
    tables = [_opened(run, name) for run in runs]
    are_events = [CONDITION in getattr(table, "columns", ()) for table in tables]
    if not any(are_events):
        return tables
    if not all(are_events):
        raise ValueError(
            f"{name}: run {are_events.index(False)} has no column trial_type, others "
            "are events; give tables of one kind"
        )
    import pandas as pd

    events = [read_events(table, name)[0] for table in tables]
    shown = set().union(*(table[CONDITION] for table in events)) - {""}
    columns = sorted(shown.union(known))
    return [
        pd.concat(
            [
                table[[ONSET, DURATION]],
                *((table[CONDITION] == c).rename(c) for c in columns),
            ],
            axis=1,
        ).astype(float)
        for table in events
    ]


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
    shown = dict.fromkeys(str(label) for label in labels if label != "")
    stems = dict.fromkeys(Path(label).stem for label in shown)
    if not shown or len(stems) < len(shown):
        what = "has two stimuli of one name" if shown else "names no stimulus"
        raise ValueError(
            f"{name}: column {column} {what}; name every stimulus that files of "
            "features are called by"
        )
    return list(stems)


def features_of_events(events, column, files, band):
    """Return the features of a run as a table, from `files` by stimulus and band."""
    import pandas as pd

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
        onset = _times(part, ONSET, str(path))
        end = onset + _times(part, DURATION, str(path)) if DURATION in part else None
        end = _until_next(onset, str(path)) if end is None else end
        start, lasts = (float(table[key].iloc[row]) for key in (ONSET, DURATION))
        end = np.minimum(end, lasts if lasts > 0 else np.inf)
        part = part.assign(**{ONSET: onset + start, DURATION: end - onset})
        parts.append(part[(end > onset)])
    return pd.concat(parts, ignore_index=True)


def has_onsets(features):
    """Say whether features are a table with times of its rows."""
    return ONSET in getattr(features, "columns", ())


def features_of_volumes(features, n_volumes, t_r, name="features"):
    """Return a DataFrame of features averaged over volumes of `t_r` seconds.

    A volume has the integral of the rows during it divided by `t_r`: short rows, such
    as words, add up by how long they last. Rows last until the next onset if no column
    says.
    """
    import pandas as pd

    onset = _times(features, ONSET, name)
    values = features.drop(columns=[c for c in (ONSET, DURATION) if c in features])
    if not values.shape[1]:
        raise ValueError(f"{name} has times, but no features; add their columns")
    columns, values = list(values.columns), numbers(values, name)
    if DURATION in features:
        end = onset + _times(features, DURATION, name)
        if not (end > onset).all():
            row = int(np.flatnonzero(end <= onset)[0])
            raise ValueError(
                f"{name}: column duration is not positive in row {row + 1}; say how "
                "long each row lasts, or leave the column out where rows last until "
                "the next"
            )
    else:
        end = _until_next(onset, name)
    if not ((onset < n_volumes * t_r) & (end > 0)).any():
        raise ValueError(
            f"{name}: no row falls into the run of {n_volumes * t_r:g} s, the first "
            f"starts at {onset[0]:g} s; give onsets in seconds from the run's first "
            "volume"
        )
    _warn_of_units(onset.min(), end.max(), n_volumes * t_r, name)
    means = np.zeros((n_volumes, len(columns)))
    for volume in range(n_volumes):
        start, stop = volume * t_r, (volume + 1) * t_r
        rows = np.flatnonzero((onset < stop) & (end > start))
        seconds = np.minimum(end[rows], stop) - np.maximum(onset[rows], start)
        means[volume] = seconds / t_r @ values[rows]
    return pd.DataFrame(means, columns=columns)


def _warn_of_units(first, last, length, name):
    """Warn if rows, from `first` to `last`, and a run have little time in common."""
    common = min(last, length) - max(first, 0)
    if common < _COMMON * max(last - first, length):
        warn(
            f"{name}: rows last from {first:g} to {last:g} s, the run from 0 to "
            f"{length:g} s; check that onset, duration and t_r are in seconds"
        )


def _times(features, column, name):
    """Return a column of seconds as finite numbers."""
    times = check_numbers(features[column].to_numpy(), f"{name}: column {column}")
    times = times.astype(float)
    if not np.isfinite(times).all():
        row = int(np.flatnonzero(~np.isfinite(times))[0])
        raise ValueError(
            f"{name}: column {column} has no time in row {row + 1}; give seconds from "
            "the start of the first volume"
        )
    return times


def _until_next(onset, name):
    """Return when rows end that last until the next one starts."""
    steps = np.diff(onset)
    if not len(steps) or not (steps > 0).all():
        row = int(np.flatnonzero(steps <= 0)[0]) + 2 if len(steps) else 1
        raise ValueError(
            f"{name}: column onset must increase from row to row where rows have no "
            f"duration (row {row}); sort the table, or add a column duration"
        )
    return np.append(onset[1:], onset[-1] + steps[-1])
