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
from neuroextrap.encoding._continuous_runs import plan_runs
from neuroextrap.encoding._table_of_runs import read_table_of_runs
from neuroextrap.images import resolve_masker
from neuroextrap.margins._resources import continue_line, parse_shard

_FEW_REGIONS, _MORE_REGIONS = 2, 8
"""Numbers of regions in which a model is timed."""


def estimate_cost(analysis, data):
    """Train and identify in a few and in more regions; extrapolate to all.

    Training time grows with the voxels, identification time with the regions, both from
    what they take in any case. `analysis` is an EncodingIdentification, `data` an
    EncodingData. The dict returned has n_regions, n_features, n_permutations, seconds
    (on n_jobs workers, of the part of the run that is asked for) and memory (bytes), as
    that of ``IdentificationSearchLight.estimate_cost``.
    """
    asked, model = RunParameters.of(analysis), of_arrays(analysis)
    if "n_jobs" in getattr(model.encoder, "get_params", dict)():
        model.encoder.set_params(n_jobs=1)
    train, test, masker = _as_arrays(data)
    if data.n_folds is not None:
        data = data.first_fold(test)
        train, test = data.train, data.test
    usable = np.isfinite(train).all(axis=0) & (train != train[:1]).any(axis=0)
    usable &= np.isfinite(test).all(axis=0)
    choice = asked.choose_regions(masker, len(usable))
    members = asked.usable_regions(choice, usable).regions
    members = members[np.flatnonzero(np.diff(members.indptr))]
    timed = np.unique(np.linspace(0, members.shape[0] - 1, _MORE_REGIONS).astype(int))
    _time_model(model, data, train, test, members[timed[:1]])  # compilation
    fewer, more = (
        _time_model(model, data, train, test, members[timed[:n]])
        for n in (_FEW_REGIONS, _MORE_REGIONS)
    )
    n_parts = (parse_shard(asked.shard) or (0, 1))[1]
    n_workers = effective_n_jobs(asked.n_jobs)
    totals = usable.sum(), members.shape[0]
    fitting, identifying = map(continue_line, fewer, more, totals)
    return {
        "n_regions": members.shape[0],
        "n_features": train.shape[1],
        "n_permutations": asked.n_permutations,
        "seconds": (data.n_folds or 1) * (fitting + identifying / n_parts) / n_workers,
        "memory": _memory(train, test, len(data.tested), members),
    }


def _as_arrays(data):
    """Responses as arrays, and the masker that made them."""
    parts = data.train, data.test
    if data.mask is None:
        return *parts, None
    from neuroextrap.images import resolve_masker
    from neuroextrap.images._loading import load_samples

    masker = resolve_masker(data.mask)
    arrays = (None if img is None else load_samples(img, masker) for img in parts)
    return *arrays, masker


def _time_model(model, data, train, test, members):
    """Run regions; return (voxels, seconds of fitting), (regions, of identifying)."""
    voxels = np.unique(members.indices)
    model = with_parameters(model, regions=members[:, voxels])
    start = time.perf_counter()
    model.fit(data.features, train[:, voxels], data.groups, stimuli=data.shown)
    middle = time.perf_counter()
    model.identify(data.tested, test[:, voxels], data.runs, stimuli=data.stimuli)
    end = time.perf_counter()
    return (len(voxels), middle - start), (members.shape[0], end - middle)


def _memory(train, test, n_candidates, members):
    """Bytes at the peak: images and arrays as read, and the table of the run."""
    n_features = train.shape[1]
    read = 4 * (train.nbytes + test.nbytes)
    table = 4 * n_features * (len(train) + len(test) + n_candidates)
    results = 8 * members.shape[0] * (n_candidates + 40)
    return read + 2 * table + 3 * members.indices.nbytes + results


@dataclass(frozen=True, kw_only=True)
class EncodingData:
    """What was read, split into training and test, or to be tested fold by fold.

    `train` are responses of the training volumes, `features` those of their stimuli,
    `shown` the row (or the name) that each belongs to, or None: row by row. `tested`
    holds features of every test stimulus once, with names in its index where stimuli
    have names, `test` the responses of the test volumes, `stimuli` the row of `tested`
    that each belongs to (or None) and `runs` their runs (or None). `mask` is the mask
    image used; None for arrays. `groups` are what cross-validation keeps together of
    the training volumes, and `bands` those of the features (or None). With `n_folds`
    everything is tested, and nothing else is there to train on.
    """

    tested: Any
    test: Any
    stimuli: Any
    runs: Any
    mask: Any
    features: Any = None
    train: Any = None
    shown: Any = None
    n_folds: Any = None
    groups: Any = None
    bands: Any = None

    def identify(self, model):
        """Train a model, and identify the test stimuli."""
        if self.n_folds is not None:
            given = {"stimuli": self.stimuli, "groups": self.runs}
            return model.identify_folds(
                self.tested, self.test, n_folds=self.n_folds, **given
            )
        model.fit(self.features, self.train, self.groups, stimuli=self.shown)
        return model.identify(self.tested, self.test, self.runs, stimuli=self.stimuli)

    def first_fold(self, test):
        """Return training and test data of a fold, arrays; `test` are all responses."""
        n_stimuli, n_tested = len(self.tested), len(self.tested) // self.n_folds
        stimuli = np.arange(n_stimuli) if self.stimuli is None else self.stimuli
        is_test, features = stimuli < n_tested, np.asarray(self.tested)
        return replace(
            self,
            features=features,
            train=test[~is_test],
            shown=stimuli[~is_test],
            tested=features[:n_tested],
            test=test[is_test],
            stimuli=stimuli[is_test],
            runs=None if self.runs is None else self.runs[is_test],
        )


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
