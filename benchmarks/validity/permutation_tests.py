"""p-values of the searchlight: local, family-wise, step-down, tail, binomial."""

import tempfile
import warnings
from functools import lru_cache
from pathlib import Path

import numpy as np
import scipy.sparse
from scipy import stats as laws
from sklearn.model_selection import StratifiedKFold

from benchmarks.validity.registry import Row, check
from neuroextrap import stats
from neuroextrap.decoding import IdentificationSearchLight

FAMILY = "Permutation tests of the searchlight"
B = 19  # permutations: the smallest p-value is .05
LEVEL = 0.05 + 1e-12
LOCAL, FWE = "p-value, one region", "p-value, family-wise (maximum)"


def overlapping_regions(n_features=64, width=8, step=4):
    """Return windows of neighboring features, each sharing half with the next."""
    starts = range(0, n_features - width + 1, step)
    members = np.zeros((len(starts), n_features), dtype=bool)
    for row, start in enumerate(starts):
        members[row, start : start + width] = True
    return scipy.sparse.csr_array(members)


def noise(rng, runs, n_features=64):
    """Return correlated noise without labels; runs have means of their own."""
    x = rng.normal(size=(len(runs), n_features))
    x[:, 1:] += 0.7 * x[:, :-1]
    return x + rng.normal(size=(runs.max() + 1, n_features))[runs]


def fit(x, y, runs=None, **options):
    """Fit a searchlight, warnings about designs and the number of labelings unheard."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        light = IdentificationSearchLight(n_permutations=B, **options)
        return light.fit(x, y, groups=runs)


def levels(fitted, n_sets):
    """Return the share of regions and of families that reach .05, set by set."""
    local, family = [], []
    for _ in range(n_sets):
        scores = next(fitted).region_scores_
        local.append((scores["p_value"] <= LEVEL).mean())
        family.append(scores["p_value_fwe"].min() <= LEVEL)
    return np.array(local), np.array(family)


def select(x, y):
    """Return the 64 of many columns whose class means differ most: the mistake."""
    means = np.array([x[y == label].mean(axis=0) for label in np.unique(y)])
    best = np.argsort(-means.var(axis=0))[:64]
    return x[:, np.sort(best)]


@check(FAMILY, n_sets=400, quick=5, mistakes=6)
def leave_one_run_out(rng, n_sets, *, mistake=False):
    """Every classifier; mistake: voxels chosen with the labels before the test."""
    balanced = np.tile(np.repeat([0, 1, 2], 2), 4), np.repeat(np.arange(4), 6)
    unequal = [0, 0, 0, 0, 1, 2], [0, 1, 1, 1, 2, 2, 2], [0, 0, 1, 2], [0, 1, 2, 2, 2]
    runs = np.repeat(np.arange(4), [len(run) for run in unequal])
    designs = {
        "4 runs x 3 classes x 2": balanced,
        "4 unbalanced runs": (np.concatenate(unequal), runs),
    }
    every = ("nearest_centroid", "gaussian_nb", "ridge", "lda", "nearest_neighbor")
    for where, (y, runs) in designs.items():
        if mistake and "unbalanced" in where:
            continue
        for estimator in every[:1] if mistake else every:

            def sets(y=y, runs=runs, estimator=estimator):
                while True:
                    x = noise(rng, runs, 2560 if mistake else 64)
                    yield fit(
                        select(x, y) if mistake else x,
                        y,
                        runs,
                        estimator=estimator,
                        regions=overlapping_regions(),
                        random_state=rng.integers(2**31),
                    )

            local, family = levels(sets(), n_sets)
            design = f"{where}, {estimator.replace('_', ' ')}"
            yield Row(LOCAL, design, local)
            yield Row(FWE, f"{design}, 15 regions", family)


def exchanged_freely(rng, x, y, folds):
    """Return the p-value of labels exchanged freely over folds that stay, by ridge."""
    labelings = np.array([y, *(rng.permutation(y) for _ in range(B))])
    targets = 2.0 * (labelings[..., np.newaxis] == np.unique(y)) - 1
    right = np.zeros(labelings.shape, dtype=bool)
    for train, test in folds:
        mean, known = x[train].mean(axis=0), targets[:, train]
        z, level = x[train] - mean, known.mean(axis=1, keepdims=True)
        weights = np.linalg.solve(z.T @ z + 1e4 * np.eye(z.shape[1]), z.T)
        said = level + (x[test] - mean) @ weights @ (known - level)
        right[:, test] = said.argmax(axis=2) == labelings[:, test]
    accuracy = right.mean(axis=1)
    return stats.permutation_p_value(accuracy[0], accuracy[1:])


@check(FAMILY, n_sets=800, quick=6, mistakes=16)
def folds_from_labels(rng, n_sets, *, mistake=False):
    """Stratified folds, also as a list; mistake: labels exchanged freely over them.

    Shown for a ridge of strong penalty that does not weigh classes equally.
    """
    designs = [
        (40, 4, 5, "ridge"),
        (20, 2, 5, "ridge"),
        (60, 2, 10, "ridge"),
        (40, 4, 5, "gaussian_nb"),
        (40, 4, 5, "nearest_centroid"),
        (40, 4, 5, "lda"),
    ]
    for n, n_classes, n_folds, estimator in designs[:1] if mistake else designs:
        local = {False: [], True: []}
        also_listed = (n, n_classes, estimator) == (40, 4, "ridge")
        for _ in range(n_sets):
            y = rng.permutation(np.repeat(np.arange(n_classes), n // n_classes))
            x = rng.normal(size=(n, 8))
            folds = list(StratifiedKFold(n_folds).split(y, y))
            if mistake:
                p = exchanged_freely(rng, x, y, folds)
                local[True].append(float(p <= LEVEL))
            for listed in () if mistake else (False, True)[: 1 + also_listed]:
                light = fit(
                    x,
                    y,
                    estimator=estimator,
                    cv=folds if listed else n_folds,
                    random_state=rng.integers(2**31),
                )
                local[listed].append((light.region_scores_["p_value"] <= LEVEL).mean())
        design = f"{n} samples, {n_classes} classes, cv={n_folds}, "
        design += estimator.replace("_", " ")
        if local[False]:
            yield Row(LOCAL, design, local[False])
        if local[True]:
            design += ", folds given as a list"
            yield Row(LOCAL, design, local[True])


@check(FAMILY, n_sets=600, quick=8, mistakes=24)
def scans_of_blocks(rng, n_sets, *, mistake=False):
    """Scans that share the noise of their block; mistake: blocks not declared."""
    runs, blocks = np.repeat(np.arange(3), 24), np.repeat(np.arange(18), 4)
    for declared in (False,) if mistake else (True, False):
        hits = []
        for _ in range(n_sets):
            order = [rng.permutation([0, 0, 0, 1, 1, 1]) for _ in range(3)]
            y = np.concatenate(order)[blocks]
            x = rng.normal(size=(18, 80))[blocks] + 0.2 * rng.normal(size=(72, 80))
            light = fit(
                x,
                y,
                runs,
                regions=np.kron(np.eye(10), np.ones((1, 8))),
                blocks=blocks if declared else None,
                random_state=rng.integers(2**31),
            )
            hits.append((light.region_scores_["p_value"] <= LEVEL).mean())
        design = "3 runs x 6 blocks of 4 alike scans, "
        design += "declared" if declared else "not declared (warned about)"
        yield Row(LOCAL, design, hits, in_scope=declared or mistake)


@check(FAMILY, n_sets=600, quick=5, mistakes=6)
def one_split(rng, n_sets, *, mistake=False):
    """Labels of the test set alone move; mistake: voxels chosen with all labels."""
    y, runs = np.tile(np.arange(4), 6), np.repeat(np.arange(6), 4)
    split = [(np.flatnonzero(runs < 3), np.flatnonzero(runs >= 3))]
    for estimator in ("nearest_centroid", "ridge"):

        def sets(estimator=estimator):
            while True:
                x = noise(rng, runs, 2560 if mistake else 64)
                yield fit(
                    select(x, y) if mistake else x,
                    y,
                    runs,
                    estimator=estimator,
                    cv=split,
                    regions=overlapping_regions(),
                    random_state=rng.integers(2**31),
                )

        local, family = levels(sets(), n_sets)
        design = f"3 training, 3 test runs, {estimator.replace('_', ' ')}"
        yield Row(LOCAL, design, local)
        yield Row(FWE, f"{design}, 15 regions", family)


@check(FAMILY, n_sets=1000, quick=6, mistakes=16)
def step_down(rng, n_sets, *, mistake=False):
    """Some regions active, the others not; mistake: uncorrected p-values."""
    y, runs = np.tile(np.repeat([0, 1, 2], 2), 4), np.repeat(np.arange(4), 6)
    for n_active in (0,) if mistake else (0, 4):
        wrong = []
        for _ in range(n_sets):
            x = noise(rng, runs)
            active = 4 * (n_active + 1) if n_active else 0
            x[:, :active] += 3 * rng.normal(size=(3, active))[y]
            with tempfile.TemporaryDirectory() as folder:
                light = fit(
                    x,
                    y,
                    runs,
                    regions=overlapping_regions(),
                    keep=Path(folder) / "null.npy",
                    random_state=rng.integers(2**31),
                )
            p = light.region_scores_["p_value" if mistake else "p_value_fwe_step_down"]
            # the region after the last active one shares half of its features
            nulls = slice(n_active + 1 if n_active else 0, None)
            wrong.append(p[nulls].min() <= LEVEL)
        design = f"4 runs x 3 classes x 2, 15 regions, {n_active} active"
        yield Row("p-value map, family-wise, step-down", design, wrong)


@check(FAMILY, n_sets=200, quick=10)
def p_value_false_discoveries(rng, n_sets, *, mistake=False):
    """Benjamini-Hochberg over regions; mistake: uncorrected p-values."""
    y, runs = np.tile(np.repeat([0, 1, 2], 2), 4), np.repeat(np.arange(4), 6)
    for n_active in (0,) if mistake else (0, 5):
        active = 4 * (n_active + 1) if n_active else 0
        share = []
        for _ in range(4 * n_sets if mistake else n_sets):
            x = noise(rng, runs)
            x[:, :active] += 3 * rng.normal(size=(3, active))[y]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                scores = (
                    IdentificationSearchLight(
                        regions=overlapping_regions(),
                        n_permutations=99 if mistake else 399,
                        bounds=None,
                        random_state=rng.integers(2**31),
                    )
                    .fit(x, y, groups=runs)
                    .region_scores_
                )
            found = scores["p_value" if mistake else "p_value_fdr"] <= LEVEL
            false = found[n_active + 1 if n_active else 0 :].sum()
            share.append(false / max(found.sum(), 1))
        design = f"4 runs x 3 classes x 2, 15 overlapping regions, {n_active} active"
        yield Row("p-value, false discovery rate", design, share)


@lru_cache
def _tail_laws():
    """Return the laws of null statistics, and scores at which p-values are read."""
    chances = np.geomspace(0.05, 1e-6, 400)
    maximum = laws.norm.isf(-np.expm1(np.log1p(-chances) / 300))
    found = {
        "maximum of 300 normals": (
            lambda rng, n: laws.norm.ppf(rng.random(n) ** (1 / 300)),
            maximum,
            chances,
        )
    }
    for name, law in (
        ("normal", laws.norm()),
        ("t, 5 degrees of freedom", laws.t(5)),
        ("chi-square, 3 degrees of freedom", laws.chi2(3)),
    ):
        draw = _drawer(law)
        found[name] = draw, law.isf(chances), chances
    accuracy = laws.binom(96, 1 / 8)
    correct = np.arange(10, 60)
    found["accuracy of 96 points in 8 classes"] = (
        lambda rng, n: rng.binomial(96, 1 / 8, size=n) / 96,
        correct / 96,
        accuracy.sf(correct - 1),
    )
    return found


def _drawer(law):
    return lambda rng, n: law.rvs(n, random_state=rng)


def plug_in_tail(scores, null):
    """Return p-values of a generalized Pareto tail fitted by its first two moments."""
    threshold = np.quantile(null, 0.75)
    excess = null[null > threshold] - threshold
    mean, variance = excess.mean(), excess.var()
    shape = 0.5 * (1 - mean**2 / variance)
    law = laws.genpareto(shape, scale=0.5 * mean * (mean**2 / variance + 1))
    return 0.25 * law.sf(scores - threshold)


@check(FAMILY, n_sets=800, quick=30, mistakes=60)
def pareto_tail(rng, n_sets, *, mistake=False):
    """Exact level at which a tail p-value reaches alpha; mistake: a plug-in fit."""
    for name, (draw, scores, chances) in _tail_laws().items():
        if mistake and name != "maximum of 300 normals":
            continue
        for n_permutations in (200,) if mistake else (500, 1000):
            for alpha in (0.001,) if mistake else (0.01, 0.001):
                level = []
                for _ in range(4 * n_sets if mistake else n_sets):
                    null = draw(rng, n_permutations)
                    p = stats.tail_p_value(scores, null)[0]
                    if mistake:
                        p = plug_in_tail(scores, null)
                    reached = np.flatnonzero(p <= alpha)
                    level.append(chances[reached[0]] if len(reached) else 0.0)
                design = f"{name}, {n_permutations} permutations"
                yield Row(f"p-value, tail, at {alpha:g}", design, level, nominal=alpha)


@check(FAMILY, n_sets=200_000, quick=2000)
def binomial(rng, n_sets, *, mistake=False):
    """One split, equal classes; mistake: four alike scans counted as four points."""
    for n_test, n_classes in ((20, 2), (96, 8), (100, 100)):
        n_units = n_test // (4 if mistake else 1)
        correct = rng.binomial(n_units, 1 / n_classes, size=n_sets)
        p = stats.binomial_p_value(correct * (n_test // n_units), n_test, n_classes)
        if not mistake or n_classes == 8:
            design = f"{n_test} points, {n_classes} classes"
            yield Row("p-value, binomial", design, p <= LEVEL)
