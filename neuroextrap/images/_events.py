"""Tables of what was shown when: BIDS events and labels of volumes."""

import logging
import os
import re

import numpy as np

from neuroextrap.images._tables import (
    check_columns,
    numbers,
    read_text_table,
    text_column,
)

_logger = logging.getLogger(__name__)

_INTEGER = re.compile("0|-?[1-9][0-9]{0,16}")  # as Python writes it
_ROUNDING = 1e-3
"""Seconds by which a volume may precede an event and still belong to it."""


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
    if column == "trial_type":
        return table["trial_type"].to_numpy()
    if column not in table.columns:
        raise ValueError(
            f"{name} has no column {column!r}, it has {list(table.columns)}; name the "
            "column that says what was shown"
        )
    return text_column(table, column, name).astype(object)


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


def is_timed(table):
    """Return whether a table of `read_events` holds BIDS events."""
    return "onset" in table.columns


def labels_of_volumes(table, name, n_volumes, t_r, delay=0.0):
    """Return the condition of every volume from BIDS events, "" where there is none.

    A volume acquired at t belongs to the event with onset + delay <= t < onset + delay
    + duration (seconds), give or take a millisecond.
    """
    times = np.arange(n_volumes) * t_r
    labels = np.full(n_volumes, "", dtype=object)
    shown = table[table["trial_type"] != ""]
    columns = (shown[key] for key in ("onset", "duration", "trial_type"))
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


def warn_unknown(exclude, present):
    """Log a warning for each condition to exclude that does not occur."""
    for condition in sorted(set(exclude) - set(present)):
        _logger.warning(
            "condition %r is to be excluded but does not occur; there are %s",
            condition,
            sorted({str(name) for name in present} - {""}),
        )


def _as_frame(events, name):
    """Return a copy of the table as a DataFrame, and its name."""
    import pandas as pd

    if isinstance(events, pd.DataFrame):
        check_columns(events.columns, name)
        return events.reset_index(drop=True).copy(), name
    if not isinstance(events, (str, os.PathLike)):
        raise TypeError(
            f"{name} must be a path or a DataFrame, got {type(events).__name__}; give "
            "a TSV file"
        )
    return read_text_table(events, name), os.fspath(events)
