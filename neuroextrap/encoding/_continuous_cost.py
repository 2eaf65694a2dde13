"""What encoding models of films and stories would take, by fitting noise."""

import time
import warnings

import numpy as np
from scipy.sparse import csr_array
from sklearn.base import clone

from neuroextrap.encoding._continuous_runs import plan_runs
from neuroextrap.encoding._table_of_runs import read_table_of_runs
from neuroextrap.images import resolve_masker
from neuroextrap.margins._resources import continue_line

_FEW_VOXELS, _MORE_VOXELS = 4, 20
"""Numbers of voxels in which a model is timed."""


def check_runs(model, runs):
    """Read all of a table of runs but the images' data; returns PlannedRuns."""
    table = read_table_of_runs(runs)
    options = model._sample_options(table.confounds, table.sample_mask)
    return plan_runs(table.features, table.imgs, options)


def estimate_cost_of_runs(model, runs, seconds=None):
    """Fit and score noise in a few and in more voxels; extrapolate to all.

    Arguments are those of ``ContinuousEncoding.fit_runs``, and so are errors. The dict
    returned has n_features (voxels), n_regions, n_permutations, seconds, memory
    (bytes).
    """
    planned, table = check_runs(model, runs), read_table_of_runs(runs)
    series = planned.cleaning.series
    if isinstance(planned.series[0], np.ndarray):
        n_voxels = planned.series[0].shape[1]
    else:
        n_voxels = resolve_masker(model.mask, planned.series).n_elements_
    rng, points = np.random.default_rng(0), {}
    for n in (_FEW_VOXELS, _FEW_VOXELS, _MORE_VOXELS):  # the first one compiles
        noise = [rng.normal(size=(size, n)) for size in np.bincount(series)]
        small = clone(model).set_params(
            mask=None,
            labels_img=None,
            process_mask_img=None,
            smoothing_fwhm=None,
            t_r=planned.cleaning.times[0],
            regions=csr_array(np.ones((n, n))),
        )
        start = time.process_time()
        with warnings.catch_warnings():  # of noise
            warnings.simplefilter("ignore")
            small.fit_runs(table._replace(imgs=noise), seconds=seconds)
        points[n] = time.process_time() - start
    fewer, more = points.items()
    return {
        "n_features": n_voxels,
        "n_regions": n_voxels,
        "n_permutations": model.n_permutations,
        "seconds": continue_line(fewer, more, n_voxels),
        "memory": 8 * len(series) * (4 * n_voxels + 3 * planned.features.shape[1]),
    }
