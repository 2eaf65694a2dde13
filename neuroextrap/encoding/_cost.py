"""What a run of an encoding analysis would take, by timing a small part of it."""

import time
import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from scipy.sparse import csr_array
from sklearn.base import clone

from neuroextrap.analysis._parameters import of_arrays, with_parameters
from neuroextrap.analysis._region_run import RunParameters
from neuroextrap.analysis._samples import can_be_used
from neuroextrap.encoding._continuous_runs import (
    GivenRuns,
    plan_runs,
    read_table_of_runs,
)
from neuroextrap.images import resolve_masker
from neuroextrap.images._loading import load_samples
from neuroextrap.margins._resources import continue_line, parse_shard

_REGIONS, _VOXELS = (2, 8), (4, 20)  # few and more, in which a model is timed


def _continued(run, sizes, totals):
    """Time pairs of a number and seconds, after a first run compiles; go on to all."""
    run(sizes[0])
    points = zip(run(sizes[0]), run(sizes[1]), totals, strict=True)
    return [continue_line(fewer, more, n) for fewer, more, n in points]


def estimate_cost(analysis, data):
    """Train and identify EncodingData in few and more regions; a dict of the cost."""
    parameters, model = RunParameters.of(analysis), of_arrays(analysis)
    if "n_jobs" in getattr(model.encoder, "get_params", dict)():
        model.encoder.set_params(n_jobs=1)
    masker = None if data.mask is None else resolve_masker(data.mask)
    data = data.loaded(masker).first_fold()
    voxels = data.train.shape[1]
    usable = can_be_used(data.train) & np.isfinite(data.test).all(axis=0)
    regions = parameters.choose_regions(masker, voxels)
    members = parameters.usable_regions(regions, usable).regions
    members = members[np.flatnonzero(np.diff(members.indptr))]
    n_regions = members.shape[0]
    places = np.unique(np.linspace(0, n_regions - 1, _REGIONS[1]).astype(int))

    def run(n):
        return _time_model(model, data, members[places[:n]])

    fitting, identifying = _continued(run, _REGIONS, (usable.sum(), n_regions))
    n_parts = (parse_shard(parameters.shard) or (0, 1))[1]
    n_rows = len(data.train) + len(data.test)
    read, table = data.train.nbytes + data.test.nbytes, n_rows + len(data.tested)
    results = 3 * members.indices.nbytes + 8 * n_regions * (len(data.tested) + 40)
    return {
        "n_regions": n_regions,
        "n_features": voxels,
        "n_permutations": parameters.n_permutations,
        "seconds": (data.n_folds or 1)
        * (fitting + identifying / n_parts)
        / effective_n_jobs(parameters.n_jobs),
        "memory": 4 * read + 8 * voxels * table + results,
    }


def _time_model(model, data, members):
    """Run regions; return (voxels, seconds of fitting), (regions, of identifying)."""
    voxels = np.unique(members.indices)
    model = with_parameters(model, regions=members[:, voxels])
    part = replace(data, train=data.train[:, voxels], test=data.test[:, voxels])
    start = time.perf_counter()
    model.fit(part.features, part.train, part.groups, stimuli=part.train_stimuli)
    middle = time.perf_counter()
    model.identify(part.tested, part.test, part.runs, stimuli=part.stimuli)
    end = time.perf_counter()
    return (len(voxels), middle - start), (members.shape[0], end - middle)


@dataclass(frozen=True, kw_only=True)
class EncodingData:
    """What was read, split into training and test, or to be tested fold by fold."""

    tested: Any  # features of every test stimulus once; their names are its index
    test: Any  # responses of the test volumes
    stimuli: Any  # row of `tested` that each belongs to; None: row by row
    runs: Any  # their runs, or None
    mask: Any  # image; None for arrays
    features: Any = None  # of the training stimuli
    train: Any = None  # responses of the training volumes
    train_stimuli: Any = None  # row or name of the stimulus of each; None: row by row
    n_folds: Any = None  # everything is tested, and nothing else is trained on
    groups: Any = None  # training volumes that cross-validation keeps together
    bands: Any = None  # of the features

    def identify(self, model):
        """Train a model, and identify the test stimuli."""
        given = {"stimuli": self.stimuli, "groups": self.runs}
        if self.n_folds is not None:
            how = given | {"n_folds": self.n_folds}
            return model.identify_folds(self.tested, self.test, **how)
        model.fit(self.features, self.train, self.groups, stimuli=self.train_stimuli)
        return model.identify(self.tested, self.test, **given)

    def loaded(self, masker):
        """Return the same with responses as arrays."""
        if masker is None:
            return self
        given = {"train": self.train, "test": self.test}
        read = {n: load_samples(v, masker) for n, v in given.items() if v is not None}
        return replace(self, **read)

    def first_fold(self):
        """Return the same, of folds the training and test set of the first one."""
        if self.n_folds is None:
            return self
        n_stimuli, n_tested = len(self.tested), len(self.tested) // self.n_folds
        stimuli = np.arange(n_stimuli) if self.stimuli is None else self.stimuli
        is_test, features = stimuli < n_tested, np.asarray(self.tested)
        return replace(
            self,
            features=features,
            train=self.test[~is_test],
            train_stimuli=stimuli[~is_test],
            tested=features[:n_tested],
            test=self.test[is_test],
            stimuli=stimuli[is_test],
            runs=None if self.runs is None else self.runs[is_test],
        )


def check_runs(model, runs):
    """Read all of a table of runs but the images' data, as `plan_runs`."""
    table = read_table_of_runs(runs)
    given = GivenRuns(confounds=table.confounds, sample_mask=table.sample_mask)
    return plan_runs(table.features, table.imgs, model._sample_options(given))


def estimate_cost_of_runs(model, runs, seconds=None):
    """Fit and score noise in a few and in more voxels; a dict of the cost."""
    table = read_table_of_runs(runs)
    planned, series, _ = check_runs(model, table)
    if isinstance(series[0], np.ndarray):
        n_voxels = series[0].shape[1]
    else:
        n_voxels = resolve_masker(model.mask, series).n_elements_
    rng = np.random.default_rng(0)

    def run(n):
        noise = [rng.normal(size=(size, n)) for size in np.bincount(planned.run)]
        small = clone(model).set_params(
            mask=None,
            labels_img=None,
            process_mask_img=None,
            smoothing_fwhm=None,
            t_r=planned.t_r,
            regions=csr_array(np.ones((n, n))),
        )
        start = time.process_time()
        with warnings.catch_warnings():  # of noise
            warnings.simplefilter("ignore")
            small.fit_runs(table._replace(imgs=noise), seconds=seconds)
        return ((n, time.process_time() - start),)

    return {
        "n_features": n_voxels,
        "n_regions": n_voxels,
        "n_permutations": model.n_permutations,
        "seconds": _continued(run, _VOXELS, (n_voxels,))[0],
        "memory": 8 * len(planned.run) * (4 * n_voxels + 3 * planned.features.shape[1]),
    }
