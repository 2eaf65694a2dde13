"""Numbers and vectors decoded from noise, and models of distances without relation."""

import warnings

import numpy as np
from scipy.signal import lfilter

from benchmarks.validity.permutation_tests import FWE, LEVEL, LOCAL, levels
from benchmarks.validity.registry import Row, check, chosen
from neuroextrap.decoding import DissimilaritySearchLight, TargetSearchLight

FAMILY = "Decoded targets and distances between classes"
B = 19
REGIONS = np.kron(np.eye(12), np.ones((1, 5)))
RUNS = np.repeat(np.arange(6), 12)
MARKED = "correlated_neighbors"


def noise(rng, correlation=0.0, runs=RUNS, n_columns=60):
    """Draw autoregressive columns about means of their runs."""
    each = [rng.normal(size=(size + 60, n_columns)) for size in np.bincount(runs)]
    parts = [lfilter([1], [1, -correlation], part, axis=0)[60:] for part in each]
    return np.concatenate([part + rng.normal(size=n_columns) for part in parts])


def trials(n_columns, statistic, repeated=False, shrinkage="auto"):
    """Targets in random order, of which each run has its own or the same ones."""

    def draw(rng):
        targets = rng.standard_t(3, size=(12 if repeated else 72, n_columns))
        if repeated:
            order = rng.permuted(np.tile(np.arange(12), (6, 1)), axis=1).ravel()
            targets = targets[order]
        options = {"statistic": statistic, "shrinkage": shrinkage}
        return noise(rng), targets, RUNS, options

    return draw


def sorted_trials(rng):
    """Trials without runs, in a table that is sorted by a number."""
    x, targets = rng.normal(size=(72, 60)), np.sort(rng.normal(size=72))
    return x, targets, None, {"cv": 5, "bounds": None}


def film(exchange, correlation):
    """Samples and a number that both depend on their neighbors in time."""

    def draw(rng):
        runs = np.repeat(np.arange(4), 150)
        x = noise(rng, correlation, runs)
        targets = noise(rng, correlation, runs, 1)
        return x, targets, runs, {"exchange": exchange, "bounds": None}

    return draw


DESIGNS = {
    "one number, correlation": trials(1, "correlation"),
    "4 columns, correlation": trials(4, "correlation"),
    "4 columns, accuracy among 2": trials(4, "pairwise_accuracy"),
    "4 columns, 12 targets that runs share, accuracy": trials(4, "accuracy", True),
    "one number, AR(.95) film, 4 x 150 samples, rows": film("rows", 0.95),
    "one number, AR(.7) film, 4 x 150 samples, shifts": film("shifts", 0.7),
    "one number, correlation, penalties by inner folds": trials(
        1, "correlation", shrinkage="inner_folds"
    ),
    "4 columns, accuracy among 2, penalties by inner folds": trials(
        4, "pairwise_accuracy", shrinkage="inner_folds"
    ),
    "one number, table sorted by it, no runs, cv=5": sorted_trials,
}


@check(FAMILY, n_sets=100, quick=8, mistakes=12)
def decoded_targets(rng, n_sets, *, mistake=False):
    """Targets without relation to samples; mistake: rows of a film exchanged freely."""
    films = [item for item in DESIGNS.items() if item[0].endswith("rows")]
    for design, draw in films if mistake else chosen(DESIGNS.items(), n_sets):
        fitted = [_decoded(draw(rng), rng) for _ in range(n_sets)]
        local, family = levels(iter(fitted), n_sets)
        marked = all(MARKED in {f.name for f in one.findings_} for one in fitted)
        told = f", marked: {MARKED}" if marked else ""
        in_scope = mistake or not marked
        yield Row(LOCAL, design + told, local, in_scope=in_scope)
        yield Row(FWE, design + told, family, in_scope=in_scope)


def _decoded(drawn, rng):
    """Fit a searchlight of targets, warnings unheard."""
    x, targets, runs, options = drawn
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        light = TargetSearchLight(
            regions=REGIONS, n_permutations=B, random_state=rng, **options
        )
        return light.fit(x, targets, groups=runs)


@check(FAMILY, n_sets=100, quick=6, mistakes=8)
def model_distances(rng, n_sets, *, mistake=False):
    """Models without relation to patterns; mistake: a model made of the distances."""
    y = np.tile(np.arange(7), 6)
    runs = np.repeat(np.arange(6), 7)
    for design, strength in (("no patterns", 0.0), ("patterns of 7 classes", 1.0)):
        local, family = [], []
        for _ in range(n_sets):
            shown = rng.permuted(y.reshape(6, 7), axis=1).ravel()
            x = strength * rng.normal(size=(7, 60))[shown] + noise(rng, 0, runs)
            model = np.abs(np.subtract.outer(*2 * [rng.normal(size=7)]))
            options = {"regions": REGIONS, "n_permutations": B, "random_state": rng}
            if mistake:
                plain = DissimilaritySearchLight(regions=REGIONS).fit(x, shown, runs)
                model = np.zeros((7, 7))
                model[np.triu_indices(7, 1)] = plain.dissimilarities_[0]
                model = model + model.T
            light = DissimilaritySearchLight(models={"m": model}, **options)
            scores = light.fit(x, shown, groups=runs).region_scores_
            first = slice(0, 1 if mistake else None)
            local.append((scores["m_p_value"][first] <= LEVEL).mean())
            family.append(scores["m_p_value_fwe"].min() <= LEVEL)
        what = "p-value of a model of distances"
        yield Row(f"{what}, one region", design, local)
        yield Row(f"{what}, family-wise (maximum)", design, family)
