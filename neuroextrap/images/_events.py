"""Tables of what was shown when: BIDS events and labels of volumes."""

import logging
import os

import numpy as np

_logger = logging.getLogger(__name__)

_ROUNDING = 1e-3
"""Seconds by which a volume may precede an event and still belong to it."""


def read_events(events, name="events"):
    """Read a table of BIDS events or of labeled volumes; return a copy and its name.

    `events` is a DataFrame or a file (tab-separated, or with commas if it ends in
    ``.csv``). BIDS events have columns ``onset``, ``duration`` (seconds) and
    ``trial_type``; labels have one row per volume, ``trial_type`` and, with several
    runs, ``run``. Missing conditions become "". A file is named by its path in
    messages.
    """
    table, name = _as_frame(events, name)
    needed = ["trial_type"]
    if "onset" in table.columns or "duration" in table.columns:
        needed = ["onset", "duration", "trial_type"]
    missing = [column for column in needed if column not in table.columns]
    if missing:
        raise ValueError(
            f"{name} lacks column(s) {missing}, it has {list(table.columns)}; events "
            "need onset, duration, trial_type, labels of volumes trial_type (and run)"
        )
    if not len(table):
        raise ValueError(f"{name} has no row; give one row per event or volume")
    types = table["trial_type"]
    table["trial_type"] = np.where(types.isna(), "", types.astype(str))
    for column in needed[:-1]:
        table[column] = _seconds(table[column], f"{name}: column {column}")
    return table, name


def is_timed(table):
    """Return whether a table of `read_events` holds BIDS events."""
    return "onset" in table.columns


def labels_of_volumes(table, name, n_volumes, t_r, delay=0.0):
    """Return the condition of every volume from BIDS events, "" where there is none.

    A volume acquired at time t belongs to the event with onset + delay <= t < onset +
    delay + duration (seconds), give or take the millisecond to which onsets are
    rounded. Events that cover no volume or overlap are errors.
    """
    times = np.arange(n_volumes) * t_r
    labels = np.full(n_volumes, "", dtype=object)
    labeled = np.zeros(n_volumes, dtype=bool)
    shown = table[table["trial_type"] != ""]
    for onset, duration, trial_type in zip(
        shown["onset"], shown["duration"], shown["trial_type"], strict=True
    ):
        since = times - (onset + delay) + _ROUNDING
        during = (since >= 0) & (since < duration)
        if not during.any():
            raise ValueError(
                f"{name}: the event {trial_type!r} at {onset:g} s covers none of the "
                f"{n_volumes} volumes of {t_r:g} s; use single-trial betas for brief "
                "events, or correct t_r"
            )
        if labeled[during].any():
            raise ValueError(
                f"{name}: the event {trial_type!r} at {onset:g} s overlaps an earlier "
                "one; use single-trial betas"
            )
        labeled |= during
        labels[during] = trial_type
    return labels.astype(str)


def warn_unknown(exclude, present):
    """Log a warning for each condition to exclude that does not occur."""
    for condition in sorted(set(exclude) - set(present)):
        _logger.warning(
            "condition %r is to be excluded but does not occur; there are %s",
            condition,
            sorted({str(name) for name in present} - {""}),
        )


def check_exclude(exclude):
    """Return the conditions to exclude as a tuple; one name may come without a list."""
    return (exclude,) if isinstance(exclude, str) else tuple(exclude)


def check_t_r(t_r, name):
    """Return the repetition time in seconds; BIDS events cannot do without it."""
    if t_r is None:
        raise ValueError(
            f"t_r is needed with BIDS events ({name}), got None; give the time between "
            "volumes in seconds"
        )
    value = float(t_r)
    if not (np.isfinite(value) and value > 0):
        raise ValueError(
            f"t_r must be a positive number of seconds, got {t_r!r}; for example 2.0"
        )
    return value


def _as_frame(events, name):
    """Return a copy of the table as a DataFrame, and its name."""
    import pandas as pd

    if isinstance(events, pd.DataFrame):
        return events.reset_index(drop=True).copy(), name
    if not isinstance(events, (str, os.PathLike)):
        raise TypeError(
            f"{name} must be a path or a DataFrame, got {type(events).__name__}; give "
            "a TSV file"
        )
    path = os.fspath(events)
    if not os.path.isfile(path):
        raise ValueError(f"{name}: no file {path}; check the path")
    try:
        table = pd.read_csv(path, sep="," if path.endswith(".csv") else "\t")
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeError) as error:
        line = " ".join(str(error).split())
        raise ValueError(
            f"{path} is not a table ({line}); give tab-separated columns under a header"
        ) from error
    return table, path


def _seconds(column, name):
    """Return a column of times as float64."""
    import pandas as pd

    values = pd.to_numeric(column, errors="coerce").to_numpy(dtype=float)
    if not np.isfinite(values).all():
        row = int(np.flatnonzero(~np.isfinite(values))[0])
        raise ValueError(
            f"{name} must hold seconds, got {column.iloc[row]!r} in row {row + 1}; "
            "correct the table"
        )
    return values
