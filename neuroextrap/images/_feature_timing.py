"""Features with times of their own, averaged over the volumes of a run."""

import os
from pathlib import Path

import numpy as np

from neuroextrap.images._events import event_labels, read_events
from neuroextrap.images._feature_files import read_features
from neuroextrap.images._tables import numbers, read_text_table
from neuroextrap.stats._warn import warn

ONSET, DURATION, CONDITION = "onset", "duration", "trial_type"
_COMMON = 0.5  # share of time, of rows or run, that is in both; less may be other units


def feature_tables(runs, name, known=()):
    """Return features of runs, read if files; events as ones by condition (`known`)."""
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
    shown = set().union(*(table[CONDITION] for table in events)) - {""}
    return [_ones(table, sorted(shown.union(known))) for table in events]


def _ones(events, conditions):
    """Return events with a column of ones for each condition instead of its name."""
    import pandas as pd

    ones = pd.DataFrame({name: events[CONDITION] == name for name in conditions})
    return pd.concat([events[[ONSET, DURATION]], ones], axis=1).astype(float)


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
        onset, end = _spans(part, str(path))
        start, lasts = (float(table[key].iloc[row]) for key in (ONSET, DURATION))
        end = np.minimum(end, lasts if lasts > 0 else np.inf)
        parts.append(
            part.assign(onset=onset + start, duration=end - onset)[end > onset]
        )
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
    if DURATION not in features:
        return onset, _until_next(onset, name)
    return onset, onset + numbers(features[[DURATION]], name)[:, 0]


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


def _until_next(onset, name):
    """Return when rows end that last until the next one starts."""
    steps = np.diff(onset)
    if not len(steps) or not (steps > 0).all():
        row = int(np.argmin(steps > 0)) + 2 if len(steps) else 1
        raise ValueError(
            f"{name}: column onset must increase from row to row where rows have no "
            f"duration (row {row}); sort the table, or add a column duration"
        )
    return np.append(onset[1:], onset[-1] + steps[-1])
