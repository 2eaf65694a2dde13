"""Labels and runs of volumes, and what is removed from them; no data are read."""

from typing import NamedTuple

import numpy as np

from neuroextrap.images._cleaning import (
    Cleaning,
    check_high_pass,
    read_confounds,
    read_sample_mask,
)
from neuroextrap.images._events import (
    check_exclude,
    is_timed,
    labels_of_volumes,
    read_events,
    read_runs,
    tell_missing,
    warn_unknown,
)
from neuroextrap.images._opening import list_images
from neuroextrap.images._pairing import pair_tables
from neuroextrap.images._repetition_time import repetition_times


class LabeledVolumes(NamedTuple):
    """Label and run of every volume, which give a sample, and how they are cleaned."""

    labels: np.ndarray
    runs: np.ndarray
    kept: np.ndarray
    cleaning: Cleaning


def labeled_volumes(  # noqa: PLR0913 - the options of volume_samples
    imgs,
    events,
    *,
    t_r=None,
    check_t_r=True,
    exclude=(),
    delay=0.0,
    confounds=None,
    sample_mask=None,
    high_pass=None,
    over_time=False,
):
    """Return LabeledVolumes; of the images, headers are read only.

    `over_time` says whether the masker cleans over time itself. Other arguments are
    those of ``volume_samples``, and so are the errors.
    """
    exclude = check_exclude(exclude)
    runs, labels = _runs_and_labels(imgs, events, (t_r, check_t_r), delay)
    kept = _kept(labels, exclude)
    named = list_images(imgs)
    cleaning = _cleaning(
        named, (t_r, check_t_r), confounds, sample_mask, high_pass, over_time=over_time
    )
    kept &= cleaning.kept
    if not kept.any():
        raise ValueError("sample_mask leaves no labeled volume; censor fewer")
    return LabeledVolumes(labels, runs, kept, cleaning)


def read_tables(imgs, events):
    """Open the series and read the tables that belong to them.

    Returns a list of `NamedImage` and a list of (DataFrame, name), as long as the
    series or of one table for all of them. Files whose names tell that they belong
    together may come in any order.
    """
    named = list_images(imgs)
    several = isinstance(events, (list, tuple))
    given = list(events) if several else [events]
    if len(given) not in (1, len(named)):
        raise ValueError(
            f"events must hold one table for each of the {len(named)} images (or one "
            f"for all volumes), got {len(given)}; give them in the order of imgs"
        )
    given = pair_tables(named, given)
    names = [f"events[{i}]" if several else "events" for i in range(len(given))]
    tables = [read_events(*pair) for pair in zip(given, names, strict=True)]
    tell_missing(tables)
    return named, tables


def _runs_and_labels(imgs, events, time, delay):
    """Return the run and the condition of every volume, series after series.

    `time` is the repetition time (or None) and whether to check it.
    """
    named, tables = read_tables(imgs, events)
    n_volumes = [img.n_samples or 1 for img in named]
    if len(tables) < len(named):
        _refuse_timed(tables[0], len(named))
        n_volumes = [sum(n_volumes)]
    timed = [
        img for img, (table, _) in zip(named, tables, strict=False) if is_timed(table)
    ]
    times = iter(repetition_times(timed, time[0], check_t_r=time[1]))
    labels, runs = [], []
    for i, ((table, name), n) in enumerate(zip(tables, n_volumes, strict=True)):
        if is_timed(table):
            labels.append(labels_of_volumes(table, name, n, next(times), delay))
            runs.append(np.full(n, i))
        else:
            labels.append(_labels_by_row(table, name, n))
            runs.append(_runs_of_table(table, name, i, alone=len(tables) == 1))
    # one table keeps the type of its run column
    runs = runs[0] if len(runs) == 1 else np.concatenate(runs)
    return runs, np.concatenate(labels)


def _refuse_timed(table_and_name, n_images):
    """Raise if one table of BIDS events is given for several series."""
    table, name = table_and_name
    if is_timed(table):
        raise ValueError(
            f"{name} holds BIDS events for {n_images} images; give one events table "
            "for each image, onsets counting from its first volume"
        )


def _labels_by_row(table, name, n_volumes):
    """Return the conditions of a table with one row per volume."""
    if len(table) != n_volumes:
        raise ValueError(
            f"{name} has {len(table)} rows for {n_volumes} volumes; without an onset "
            "column it must have one row per volume"
        )
    return table["trial_type"].to_numpy(dtype=str)


def _runs_of_table(table, name, number, *, alone):
    """Return the runs of a table's volumes: its run column, or the table's number."""
    if "run" not in table.columns or not alone:
        return np.full(len(table), number)
    return read_runs(table, name)


def _kept(labels, exclude):
    """Return which volumes are samples; at least one must be."""
    warn_unknown(exclude, labels)
    kept = (labels != "") & ~np.isin(labels, exclude)
    if not kept.any():
        raise ValueError(
            f"exclude={exclude!r} leaves no sample; conditions are "
            f"{sorted(set(labels.tolist()) - {''})}; exclude fewer"
        )
    return kept


def _cleaning(named, time, confounds, sample_mask, high_pass, *, over_time):
    """Return what is removed from the series of images, the run's own trend apart.

    `time` is the repetition time (or None) and whether to check it; `over_time` says
    whether the masker cleans over time.
    """
    check_high_pass(high_pass)
    if over_time:
        if sample_mask is not None or high_pass:
            raise ValueError(
                "sample_mask and high_pass need a masker that does not detrend, "
                "standardize or filter itself; give one without"
            )
        confounds = None
    kept = read_sample_mask(sample_mask, named)
    times = [None] * len(kept)
    if high_pass:
        times = repetition_times(named, time[0], check_t_r=time[1])
    return Cleaning(
        detrend=False,
        standardize=False,
        high_pass=high_pass,
        times=times,
        confounds=read_confounds(confounds, named),
        kept=np.concatenate(kept),
        series=np.repeat(np.arange(len(kept)), [len(k) for k in kept]),
    )
