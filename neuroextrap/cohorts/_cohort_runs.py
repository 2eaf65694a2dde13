"""The runs of a participant that can be analyzed, and numbers of their quality."""

from pathlib import Path

import numpy as np
import pandas as pd

from neuroextrap.images._bids_runs import find_betas, find_runs
from neuroextrap.images._event_samples import late_events
from neuroextrap.images._opening import flat_values, open_file
from neuroextrap.images._tables import MISSING, read_text_table

MEASURES = {
    "motion": "mean framewise displacement in mm",
    "voxels_lost": "proportion of the voxels of most that the participant lacks",
    "n_runs": "number of runs",
}
"""What can be a covariate without a table, by name."""
_RADIUS = 50.0  # mm, of the head on which rotations (radians) are arcs


def mean_motion(tables):
    """Return the mean framewise displacement (mm) over runs, None if it is not known.

    Without such a column it is the sum of the six changes of position from volume to
    volume (Power et al. 2012, rotations on a sphere of 50 mm).
    """
    found = [_displacement(path) for path in tables if path is not None]
    known = [values for values in found if values is not None]
    if not known or len(known) < len(tables):
        return None
    return round(float(np.concatenate(known).mean()), 4)


def _displacement(path):
    """Return the displacements of one run (mm), None if the table does not tell."""
    table = read_text_table(path, "confounds")
    table = table.apply(lambda column: pd.to_numeric(column, errors="coerce"))
    if "framewise_displacement" in table:
        values = table["framewise_displacement"].to_numpy()
        return values[np.isfinite(values)]
    names = [f"{kind}_{axis}" for kind in ("trans", "rot") for axis in "xyz"]
    if not set(names) <= set(table):
        return None
    steps = table[names].diff().iloc[1:].abs().to_numpy()
    return steps @ np.repeat([1.0, _RADIUS], 3)


def voxels_lost(imgs):
    """Return the proportion of the voxels of most participants that each one lacks."""
    opened = [open_file(img, "imgs") if isinstance(img, str) else img for img in imgs]
    known = np.stack([np.isfinite(flat_values(img)) for img in opened])
    usual = known.mean(axis=0) > 0.5
    return 1 - known[:, usual].mean(axis=1)


def found_runs(request, label):
    """Return runs, conditions of betas, and why further runs are left out."""
    asked, filters = request.asked, request.filters
    wanted = {"task": asked.task, "space": asked.space, "ses": asked.sessions}
    conditions, left_out = None, ()
    if request.of_betas:
        runs, conditions = find_betas(request.derivatives, label, wanted, filters)
    else:
        runs = find_runs(request.derivatives, request.raw, label, wanted, filters)
        if not request.of_films or request.stimuli.column is not None:
            runs, left_out = _with_events(request, runs)
    if request.of_films:
        request.stimuli.check(runs)
    _check_files(request, runs)
    return runs, conditions, left_out


def _check_files(request, runs):
    """Raise if a run lacks confounds, or betas a mask."""
    lacking = [run.bold for run in runs if run.confounds is None]
    if request.confounds and lacking:
        raise ValueError(
            f"{lacking[0]} has no table of confounds (desc-confounds_timeseries) "
            "beside it; use none (confounds=(), --confounds none)"
        )
    unmasked = request.of_betas and None in [run.mask for run in runs]
    if unmasked and request.analysis.mask is None:
        raise ValueError(
            f"{runs[0].bold} has no brain mask beside it, and none can be computed "
            "from betas; give one (the analysis's mask, --mask)"
        )


def _with_events(request, runs):
    """Return at least two runs whose events are known, and why others are left out."""
    lacking = {run.bold: _lack_of_events(request, run) for run in runs}
    reasons = {bold: reason for bold, reason in lacking.items() if reason}
    found = {run.bold: run for run in runs if run.bold not in reasons}
    if reasons and len(found) < 2:
        raise ValueError(next(iter(reasons.values())))
    tables = [run.events for run in found.values()]
    told = zip(found, late_events([*found], tables, request.options), strict=True)
    late = {bold: reason for bold, reason in told if reason}
    if len(found) - len(late) < 2:
        late = {}
    kept = [run for bold, run in found.items() if bold not in late]
    reasons |= late
    return kept, tuple(f"a run is left out: {reason}" for reason in reasons.values())


def _lack_of_events(request, run):
    """Say why a run has no event of a condition, "" if it has."""
    if run.events is None:
        folders = [folder for folder in (request.derivatives, request.raw) if folder]
        return (
            f"{Path(run.bold).name} has no events in {' or '.join(map(str, folders))}; "
            "name the data set that has them (raw, --raw)"
        )
    rows = []
    if Path(run.events).stat().st_size:
        table = read_text_table(run.events, "events")
        rows = table.get("trial_type", table.index)  # a missing column is told later
        if request.stimuli is None:
            rows = set(rows) - {*request.options.exclude, MISSING, ""}
    return "" if len(rows) else f"{Path(run.events).name} has no event of a condition"
