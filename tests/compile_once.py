"""Compile all loops into the cache that test workers share.

``python -m tests.compile_once``; workers that start without it would each compile
what they need, side by side.
"""

import warnings

import numpy as np
from joblib import Parallel, delayed

from neuroextrap.decoding import IdentificationSearchLight
from neuroextrap.encoding import ElasticNetEncoder


def compile_classifier(name):
    """Fit noise, with permutations and bounds, of many features and of few."""
    for n_features in (30, 3):
        _fit_classifier(name, n_features)


def _fit_classifier(name, n_features):
    rng = np.random.default_rng(0)
    n_runs = 4 if n_features > 10 else 400
    y, runs = np.tile(np.repeat([0, 1, 2], 2), n_runs), np.repeat(range(n_runs), 6)
    x = rng.normal(size=(len(y), n_features))
    light = IdentificationSearchLight(estimator=name, n_permutations=20)
    with warnings.catch_warnings():  # noise in one order
        warnings.simplefilter("ignore")
        light.fit(x, y, groups=np.minimum(runs, 11))


def compile_elastic_nets(dtypes, n_columns):
    """Fit few features (in batches) or many (by working sets)."""
    rng = np.random.default_rng(0)
    features = rng.normal(size=(60, n_columns))
    weights = rng.normal(size=(n_columns, 3)) / n_columns
    responses = features @ weights + rng.normal(size=(60, 3))
    for dtype in dtypes:
        x, y = features.astype(dtype), responses.astype(dtype)
        ElasticNetEncoder(n_alphas=3).fit(x, y)


if __name__ == "__main__":
    # one task for what is compiled together, the longest first
    tasks = [
        delayed(compile_elastic_nets)([np.float64], 400),
        delayed(compile_classifier)("lda"),
        delayed(compile_elastic_nets)([np.float32], 400),
        delayed(compile_elastic_nets)([np.float64, np.float32], 20),
    ]
    tasks += [
        delayed(compile_classifier)(name)
        for name in ("nearest_centroid", "ridge", "gaussian_nb")
    ]
    Parallel(n_jobs=-1, batch_size=1)(tasks)
