"""Codes of two conditions, or of many moments, that have nothing in common."""

import itertools
import warnings

import numpy as np
import scipy.sparse

from benchmarks.validity.registry import FEW, Row, check, chosen
from neuroextrap.decoding import (
    IdentificationSearchLight,
    cross_identification,
    temporal_generalization,
)
from neuroextrap.group import sign_flip_test

FAMILY = "From one condition to another"
LEVEL = 0.05 + 1e-12
N_REGIONS, WIDTH, N_RUNS = 30, 20, 6
REGIONS = scipy.sparse.csr_array(np.kron(np.eye(N_REGIONS), np.ones((1, WIDTH))))


def two_tasks(rng, n_classes, signal, codes=None):
    """Return responses, classes, runs and tasks; every task has codes of its own."""
    y = np.tile(np.arange(n_classes), 2 * N_RUNS)
    runs = np.repeat(np.arange(N_RUNS), 2 * n_classes)
    task = np.tile(np.repeat([0, 1], n_classes), N_RUNS)
    if codes is None:
        codes = signal * rng.normal(size=(2, n_classes, N_REGIONS * WIDTH))
    x = codes[task, y] + rng.normal(size=(len(y), N_REGIONS * WIDTH))
    return x, y, runs, task


def crossed(rng, data, **options):
    """Return the maps from the first task to the second, and back."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        light = IdentificationSearchLight(
            regions=REGIONS, random_state=int(rng.integers(2**31)), **options
        )
        return cross_identification(light, *data, train=0, test=1)


def labels_permuted(rng, data, **options):
    """Return p-values, and family-wise ones, of the usual test: labels permuted."""
    x, y, runs, task = data
    folds = [
        (
            np.flatnonzero((runs != run) & (task == a)),
            np.flatnonzero((runs == run) & (task != a)),
        )
        for a in (0, 1)
        for run in range(N_RUNS)
    ]
    light = IdentificationSearchLight(
        regions=REGIONS,
        cv=folds,
        n_permutations=99,
        bounds=None,
        random_state=int(rng.integers(2**31)),
        **options,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return light.fit(x, y, groups=2 * runs + task).region_scores_


@check(FAMILY, n_sets=600, quick=5, mistakes=10)
def unrelated_conditions(rng, n_sets, *, mistake=False):
    """Strong codes that conditions do not share; mistake: labels are permuted."""
    designs = chosen(itertools.product((4, 8, 16), (0.5, 1.0, 2.0)), n_sets)
    for n_classes, signal in [(4, 2.0)] if mistake else designs:
        local, family = [], []
        for _ in range(n_sets):
            data = two_tasks(rng, n_classes, signal)
            if mistake:
                maps = labels_permuted(rng, data)
            else:
                maps = crossed(rng, data, n_permutations=199)
            local.append((maps["p_value"] <= LEVEL).mean())
            family.append(maps["p_value_fwe"].min() <= LEVEL)
        where = f"{n_classes} classes, {N_RUNS} runs of both conditions, "
        where += f"unrelated codes of {signal:g} SD"
        if not mistake:
            yield Row("Exchanged names, one region", where, local)
        yield Row(f"Exchanged names, {N_REGIONS} regions at once", where, family)


@check(FAMILY, n_sets=300, quick=5)
def shared_conditions(rng, n_sets, *, mistake=False):
    """One code in some regions; mistake: p-values times the number of regions."""
    n_shared, signal = 5, 0.3
    found = found_of_shared(rng, n_sets, n_shared, signal, mistake=mistake)
    where = f"8 classes, one code of {signal:g} SD in {n_shared} of {N_REGIONS} "
    where += "regions, noise in the others; labels test "
    what = "Power of permuted labels, times .95, less that of exchanged names"
    names = found.pop("names")
    for statistic, labels in found.items():
        missed, scope = 0.95 * labels - names, statistic == "accuracy"
        words = where + statistic.replace("_", " ")
        yield Row(what, words, missed, nominal=0, in_scope=scope)


def found_of_shared(rng, n_sets, n_shared, signal, *, mistake=False):
    """Return the shares of regions with one code (SD `signal`) that tests find.

    By test, (n_sets,) each, family-wise: names exchanged, or labels permuted, with
    accuracy and, in the table, pairwise accuracy as the statistic.
    """
    width = n_shared * WIDTH
    statistics = ("accuracy", "pairwise_accuracy")[: 1 if n_sets < FEW else 2]
    found = {test: np.empty(n_sets) for test in ("names", *statistics)}
    for i in range(n_sets):
        codes = np.zeros((2, 8, N_REGIONS * WIDTH))
        codes[:, :, :width] = signal * rng.normal(size=(8, width))
        data = two_tasks(rng, 8, 1, codes)
        names = crossed(rng, data, n_permutations=99)
        p = {"names": names["p_value"] * N_REGIONS if mistake else names["p_value_fwe"]}
        for statistic in statistics:
            labels = labels_permuted(rng, data, statistic=statistic)
            p[statistic] = labels["p_value_fwe"]
        for test, p_values in p.items():
            found[test][i] = (p_values[:n_shared] <= LEVEL).mean()
    return found


OWN, LASTING = (0, 1, 2, 3, 4), (0, 0, 1, 1, 2, 2)  # the code of every moment


@check(FAMILY, n_sets=1500, quick=10, mistakes=20)
def unrelated_moments(rng, n_sets, *, mistake=False):
    """A code of its own at every moment; mistake: no correction for pairs of them."""
    designs = chosen(itertools.product((4, 5, 8), (1.0, 2.0)), n_sets)
    for n_classes, signal in [(8, 2.0)] if mistake else designs:
        yield from _moments(rng, n_sets, n_classes, signal, OWN, mistake)


@check(FAMILY, n_sets=2000, quick=10, mistakes=30)
def unrelated_moments_of_many_classes(rng, n_sets, *, mistake=False):
    """The same of 16 classes; mistake: no correction for pairs of moments."""
    for signal in [2.0] if mistake else (1.0, 2.0):
        yield from _moments(rng, n_sets, 16, signal, OWN, mistake)


@check(FAMILY, n_sets=2000, quick=5, mistakes=14)
def unrelated_moments_of_lasting_codes(rng, n_sets, *, mistake=False):
    """Three codes of two moments each; mistake: no correction for pairs of moments."""
    for n_classes in (8,) if mistake else (5, 8):
        yield from _moments(rng, n_sets, n_classes, 2.0, LASTING, mistake)


def _moments(rng, n_sets, n_classes, signal, code, mistake):
    """Yield rows of moments of unrelated codes, one pair and all pairs at once."""
    code, local, family = np.array(code), [], []
    unrelated = code[:, np.newaxis] != code
    y, runs = np.tile(np.arange(n_classes), 4), np.repeat(range(4), n_classes)
    for _ in range(n_sets):
        codes = signal * rng.normal(size=(n_classes, 15, code.max() + 1))
        trials = codes[y][..., code] + rng.normal(size=(len(y), 15, len(code)))
        light = IdentificationSearchLight(
            n_permutations=199, random_state=int(rng.integers(2**31))
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = temporal_generalization(light, trials, y, runs).scores
        p = found["p_value" if mistake else "p_value_fwe"][unrelated]
        local.append((found["p_value"][unrelated] <= LEVEL).mean())
        family.append(p.min() <= LEVEL)
    where = f"{n_classes} classes, {len(code)} moments, codes of {signal:g} SD"
    if len(code) > code.max() + 1:
        where += " that last two moments"
    if not mistake:
        yield Row("Off the diagonal, one pair of moments", where, local)
    yield Row("Off the diagonal, all pairs at once", where, family)


@check(FAMILY, n_sets=300, quick=5, mistakes=6)
def unrelated_conditions_of_subjects(rng, n_sets, *, mistake=False):
    """Accuracy above names over subjects; mistake: codes that all of them have."""
    for n_classes in (2,) if mistake else chosen((2, 3, 4, 8), n_sets):
        local, family = [], []
        for _ in range(n_sets):
            codes = None
            if mistake:
                codes = 2 * rng.normal(size=(2, n_classes, N_REGIONS * WIDTH))
            above = [
                crossed(rng, two_tasks(rng, n_classes, 2.0, codes))[
                    "accuracy_above_names"
                ]
                for _ in range(10)
            ]
            varies = np.ptp(above, axis=0) > 0
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tested = sign_flip_test(np.array(above)[:, varies], n_permutations=499)
            local.append((tested["p_value"] <= LEVEL).mean())
            family.append(np.nanmin(tested["p_value_fwe"]) <= LEVEL)
        where = f"10 subjects, {n_classes} classes, unrelated codes of 2 SD"
        name = "Sign flips of accuracy above names"
        if not mistake:
            yield Row(f"{name}, one region", where, local)
        yield Row(f"{name}, {N_REGIONS} regions at once", where, family)
