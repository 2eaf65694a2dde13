"""Responses that follow each other in time, and runs that are attentive or not."""

import warnings

import numpy as np
import scipy.sparse
from scipy.signal import lfilter
from scipy.stats import norm
from sklearn.linear_model import Ridge

from benchmarks.validity.permutation_tests import LEVEL, LOCAL
from benchmarks.validity.registry import Row, check
from benchmarks.validity.visible_designs import FAMILY
from neuroextrap.analysis import Bounds
from neuroextrap.decoding import IdentificationSearchLight
from neuroextrap.encoding._experiment import prediction_scores

MARKED = "correlated_neighbors"


def series(rng, n_rows, correlation, n_columns):
    """Draw autoregressive columns whose neighbors have a correlation."""
    noise = rng.normal(size=(n_rows + 100, n_columns))
    return lfilter([1], [1, -correlation], noise, axis=0)[100:]


FILMS = [  # correlation, responses of a run, runs, exchange, whether it is marked
    (0.9, 40, 1, "rows", True),
    (0.9, 40, 1, "shifts", True),
    (0.9, 150, 1, "shifts", False),
    (0.5, 150, 1, "rows", True),
    (0.5, 150, 1, "shifts", False),
    (0.5, 75, 4, "shifts", False),
    (0.9, 50, 6, 50, False),  # whole runs change places
    (0.0, 40, 1, "rows", False),
]


@check(FAMILY, n_sets=300, quick=5, mistakes=6)
def films(rng, n_sets, *, mistake=False):
    """Features and responses without relation; mistake: a film in free exchange."""
    for correlation, length, n_runs, exchange, is_marked in FILMS:
        if mistake and not (is_marked and correlation == 0.9 and exchange == "rows"):
            continue
        local, runs = [], np.repeat(np.arange(n_runs), length)
        for _ in range(n_sets):
            features, responses = (series(rng, 90, correlation, n) for n in (5, 24))
            model = Ridge().fit(features, responses)
            tested = [
                [series(rng, length, correlation, n) for n in (5, 24)]
                for _ in range(n_runs)
            ]
            features, responses = (np.concatenate(p) for p in zip(*tested, strict=True))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # what the rows say
                scores = prediction_scores(
                    responses,
                    model.predict(features),
                    groups=None if exchange == length else runs,
                    n_permutations=99,
                    exchange=exchange,
                    random_state=rng,
                )
            local.append((scores["p_value"] <= LEVEL).mean())
        how = "whole runs" if exchange == length else exchange
        design = f"AR({correlation}) film, {n_runs} x {length} responses, {how}"
        told = f", marked: {MARKED}" if is_marked else ""
        yield Row(LOCAL, design + told, local, in_scope=mistake or not is_marked)


@check(FAMILY, n_sets=150, quick=5, mistakes=6)
def attentive_runs(rng, n_sets, *, mistake=False):
    """Whole runs are attentive or not; mistake: bounds that count their samples."""
    regions = scipy.sparse.csr_array(np.kron(np.eye(20), np.ones((1, 2))))
    truth = (norm.cdf(0.9 * np.sqrt(2)) + 0.5) / 2
    for units in ("samples",) if mistake else ("samples", "runs"):
        missed, unmarked = [], []
        for _ in range(n_sets):
            y = np.concatenate([rng.permutation(20) % 2 for _ in range(6)])
            runs = np.repeat(np.arange(6), 20)
            gain = np.repeat(rng.integers(0, 2, size=(6, 20)), 2, axis=1)[runs]
            x = rng.normal(size=(120, 40)) + 0.9 * gain * (2 * y - 1)[:, None]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                light = IdentificationSearchLight(
                    regions=regions, bounds=Bounds(test_units=units)
                ).fit(x, y, runs)
            missed.append((light.region_scores_["bayes_accuracy_bound"] > truth).mean())
            names = {found.name for found in light.findings_}
            unmarked.append(float("overdispersed_runs" not in names))
        design = f"6 runs of 20, attentive or not, test units {units}"
        in_scope = mistake or units == "runs"
        yield Row("lower bound on Bayes accuracy", design, missed, in_scope=in_scope)
        if units == "samples" and not mistake:
            yield Row("dependence within runs is marked", design, unmarked)
