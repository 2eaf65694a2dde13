"""Numbers of a participant that tell how good its data are: motion, voxels lost."""

import numpy as np

from neuroextrap.images._opening import flat_values, open_file
from neuroextrap.images._tables import read_text_table

MEASURES = {
    "motion": "mean framewise displacement in mm",
    "voxels_lost": "proportion of the voxels of most that the participant lacks",
    "n_runs": "number of runs",
}
"""What can be a covariate without a table, by name."""
_RADIUS = 50.0  # mm, of the head on which rotations (radians) are arcs


def mean_motion(tables):
    """Return the mean framewise displacement (mm) over runs, None if it is not known.

    `tables` are paths of fMRIPrep's confounds, None for runs without. Where there is no
    column ``framewise_displacement``, it is the sum of the six changes of position
    from volume to volume (Power et al. 2012, rotations on a sphere of 50 mm).
    """
    found = [_displacement(path) for path in tables if path is not None]
    known = [values for values in found if values is not None]
    if not known or len(known) < len(tables):
        return None
    return round(float(np.concatenate(known).mean()), 4)


def _displacement(path):
    """Return the displacements of one run (mm), None if the table does not tell."""
    import pandas as pd

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
    """Return the proportion of the voxels of most participants that each one lacks.

    `imgs` are paths of maps on one grid, or SurfaceImages, NaN where there is no value.
    """
    opened = [open_file(img, "imgs") if isinstance(img, str) else img for img in imgs]
    known = np.stack([np.isfinite(flat_values(img)) for img in opened])
    usual = known.mean(axis=0) > 0.5
    return 1 - known[:, usual].mean(axis=1)
