"""Two decoders, or regions, of one subject compared; regions taken away."""

import warnings

import numpy as np
import scipy.sparse

from benchmarks.validity.registry import Row, check, chosen
from neuroextrap.decoding import (
    IdentificationSearchLight,
    compare_decoders,
    lesion_identification,
    multiverse,
)

FAMILY = "Comparisons of decoders, and lesions"
LEVEL = 0.05 + 1e-12
SWAP = np.roll(np.arange(30), 15)
HALVES = np.tile(np.kron(np.eye(5), np.ones((1, 3))), 2)  # alike in both halves

ROTATED = (
    (2, 2, 100, 1.0, "nearest_centroid"),
    (2, 2, 400, 0.0, "nearest_centroid"),
    (2, 2, 400, 1.0, "nearest_centroid"),
    (2, 4, 20, 1.0, "lda"),
    (2, 5, 80, 0.0, "nearest_centroid"),
    (2, 6, 80, 0.0, "nearest_centroid"),
    (2, 6, 80, 0.7, "nearest_centroid"),
    (8, 5, 40, 1.0, "nearest_centroid"),
)
"""Classes, runs, samples a run, distance of classes in SD, and classifier."""


def quietly(function, *arguments, **options):
    """Call a function; warnings about few arrangements are not heard."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*arguments, **options)


def both_levels(maps):
    """Return the share of pairs that reach .05, and whether any does family-wise."""
    return (maps["p_value"] <= LEVEL).mean(), maps["p_value_fwe"].min() <= LEVEL


def one_split(rng, unit, n_alike, signal):
    """Compare two decoders whose outcomes a coin per unit exchanges.

    The second decoder is trained on samples whose halves of voxels are swapped. Every
    unit of the test set is as it is, or swapped, by the toss of a coin. Six runs train,
    six test; each has 8 blocks of `n_alike` scans of 4 classes.
    """
    y = np.tile(np.repeat(np.arange(4), 2), 12).repeat(n_alike)
    runs, blocks = np.arange(12).repeat(8 * n_alike), np.arange(96).repeat(n_alike)
    x = rng.normal(size=(96, 30))[blocks] + signal * rng.normal(size=(4, 30))[y]
    x += 0.2 * (n_alike > 1) * rng.normal(size=x.shape)
    tossed = rng.random(96) < 0.5
    tossed = tossed[runs if unit == "run" else blocks]
    x = np.where(tossed[:, np.newaxis], x[:, SWAP], x)
    train, test = (np.flatnonzero(half) for half in (runs < 6, runs >= 6))
    other = x.copy()
    other[train] = other[train][:, SWAP]
    pair = [
        quietly(
            IdentificationSearchLight(
                regions=HALVES, cv=[(train, test)], blocks=blocks, bounds=None
            ).fit,
            samples,
            y,
            groups=runs,
        )
        for samples in (x, other)
    ]
    return pair


@check(FAMILY, n_sets=300, quick=5, mistakes=14)
def decoders_of_one_split(rng, n_sets, *, mistake=False):
    """Exchangeable decoders; mistake: alike scans of a block counted as samples."""
    designs = [
        ("sample", 1, 0.0),
        ("sample", 1, 0.5),
        ("run", 1, 0.5),
        ("block", 5, 0.5),
    ]
    for unit, n_alike, signal in designs[-1:] if mistake else designs:
        local, family = [], []
        for _ in range(n_sets):
            comparison = quietly(
                compare_decoders,
                *one_split(rng, unit, n_alike, signal),
                unit="sample" if mistake else unit,
                n_permutations=99,
                random_state=rng.integers(2**31),
            )
            one, any_of_them = both_levels(comparison)
            local.append(one)
            family.append(any_of_them)
        where = f"6 test runs x 8 blocks of {n_alike}, {unit}s exchanged"
        where += "" if signal else ", no signal"
        if not mistake:
            yield Row("Two decoders, one split, one region", where, local)
        yield Row("Two decoders, one split, 5 regions at once", where, family)


@check(FAMILY, n_sets=300, quick=6, mistakes=12)
def regions_across_folds(rng, n_sets, *, mistake=False):
    """Regions equally good, over folds; mistake: scans of a block as samples.

    A difference somewhere is promised in at most .07 of the data sets.
    """
    pairs = np.arange(10).reshape(5, 2)
    y, runs = np.tile(np.repeat(np.arange(4), 2), 8), np.arange(8).repeat(8)
    regions = np.kron(np.eye(10), np.ones((1, 3)))
    copies = 15 if mistake else 1
    y, runs, blocks = (
        y.repeat(copies),
        runs.repeat(copies),
        np.arange(64).repeat(copies),
    )
    for signal, unit in ((0.0, "run"), (1.0, "run"), (0.0, "sample"), (1.0, "sample")):
        if mistake and (unit == "run" or not signal):
            continue
        local, family = [], []
        for _ in range(n_sets):
            alike = np.tile(rng.normal(size=(4, 5, 1, 3)), (1, 1, 2, 1)).reshape(4, -1)
            x = signal * alike[y] + rng.normal(size=(64, 30))[blocks]
            x = x + 0.2 * (copies > 1) * rng.normal(size=x.shape)
            light = IdentificationSearchLight(regions=regions, bounds=None)
            quietly(light.fit, x, y, groups=runs)
            comparison = quietly(
                compare_decoders,
                light,
                light,
                regions=pairs,
                unit=unit,
                n_permutations=99,
                random_state=rng.integers(2**31),
            )
            one, any_of_them = both_levels(comparison)
            local.append(one)
            family.append(any_of_them)
        where = f"8 runs x 4 classes x 2, {unit}s exchanged"
        where += "" if signal else ", no signal"
        name = "Two regions, leave one run out (approximate)"
        if not mistake:
            yield Row(f"{name}, one pair", where, local)
        yield Row(f"{name}, 5 pairs at once", where, family, nominal=0.07)
    if mistake:
        return
    for design in chosen(ROTATED, n_sets):
        local, family = [], []
        while len(family) < n_sets:
            light = rotated_regions(rng, min(10, n_sets - len(family)), *design)
            for some in np.arange(len(light.wins_)).reshape(-1, 20, 2):
                comparison = quietly(
                    compare_decoders,
                    light,
                    light,
                    regions=some,
                    n_permutations=199,
                    random_state=rng.integers(2**31),
                )
                one, any_of_them = both_levels(comparison)
                local.append(one)
                family.append(any_of_them)
        n_classes, n_runs, n_samples, distance, estimator = design
        where = f"{n_runs} runs x {n_samples}, {n_classes} classes at {distance:g} SD, "
        where += f"{estimator}, {comparison.parameters['unit']}s exchanged"
        yield Row(f"{name}, one pair", where, local)
        yield Row(f"{name}, 20 pairs at once", where, family, nominal=0.07)


def rotated_regions(rng, n_sets, n_classes, n_runs, n_samples, distance, estimator):
    """Fit pairs of regions of equal information, 20 pairs a set, rotated at random."""
    y = np.tile(np.arange(n_classes), n_runs * n_samples // n_classes)
    x = rng.normal(size=(len(y), 40 * n_sets, 10))
    for pair in range(20 * n_sets):
        means = rng.normal(size=(n_classes, 10))
        apart = np.linalg.norm(means[:, np.newaxis] - means, axis=2)
        means *= distance / (apart.sum() / (n_classes * (n_classes - 1)))
        for region in (2 * pair, 2 * pair + 1):
            rotation = np.linalg.qr(rng.normal(size=(10, 10)))[0]
            x[:, region] += (means @ rotation)[y]
    regions = scipy.sparse.csr_array(np.kron(np.eye(40 * n_sets), np.ones((1, 10))))
    light = IdentificationSearchLight(regions=regions, estimator=estimator, bounds=None)
    x = x.reshape(len(y), -1)
    return quietly(light.fit, x, y, groups=np.arange(n_runs).repeat(n_samples))


STATISTICS = "accuracy", 2, "implied_information"
PIPELINES = {
    "classifiers": [
        (name, "accuracy") for name in ("nearest_centroid", "ridge", "lda")
    ],
    "statistics": [("ridge", statistic) for statistic in STATISTICS],
    "pipelines": [(name, k) for name in ("ridge", "lda") for k in STATISTICS],
    "images": [("nearest_centroid", "accuracy")] * 9,
}


@check(FAMILY, n_sets=300, quick=5, mistakes=20)
def several_pipelines(rng, n_sets, *, mistake=False):
    """The best of several pipelines; mistake: as if it were the only one."""
    designs = [
        (n_classes, n_runs, which, 0.0)
        for n_classes in (2, 4, 8)
        for n_runs in (4, 8)
        for which in PIPELINES
    ]
    designs += [(4, 8, "pipelines", 0.6), (8, 4, "pipelines", 0.6)]
    if n_sets < 100:
        designs = [(4, 4, "images", 0.0), (4, 4, "classifiers", 0.6)]
    if mistake:
        designs = [(4, 8, "images", 0.0)]
    for n_classes, n_runs, which, signal in designs:
        found = [
            _best_pipeline(rng, n_classes, n_runs, which, signal, alone=mistake)
            for _ in range(3 * n_sets // 5 if mistake else n_sets)
        ]
        where = f"{n_runs} runs x {n_classes} classes, {len(PIPELINES[which])} {which}"
        where += ", another region tells" if signal else ", no signal"
        yield Row("Best of several pipelines, any of 8 regions", where, found)


@check(FAMILY, n_sets=1500, quick=5, mistakes=10)
def six_pipelines(rng, n_sets, *, mistake=False):
    """The best of six, more often; mistake: as if it were the only one, of nine."""
    which, n_classes = ("images", 4) if mistake else ("pipelines", 8)
    for n_runs in (8,) if mistake else chosen((4, 8), n_sets):
        found = [
            _best_pipeline(rng, n_classes, n_runs, which, 0.0, alone=mistake)
            for _ in range(2 * n_sets if mistake else n_sets)
        ]
        where = f"{n_runs} runs x {n_classes} classes, {len(PIPELINES[which])} {which}"
        yield Row(
            "Best of several pipelines, any of 8 regions", f"{where}, no signal", found
        )


def _best_pipeline(rng, n_classes, n_runs, which, signal, *, alone):
    """Return whether a region without signal has a p-value of at most .05."""
    y = rng.permuted(np.tile(np.arange(n_classes), (n_runs, 1)), axis=1).ravel()
    patterns, seed = rng.normal(size=(n_classes, 10)), int(rng.integers(2**31))
    pipelines = {}
    for i, (name, statistic) in enumerate(PIPELINES[which] * (1 + alone)):
        if which == "images" or not i:
            x = rng.normal(size=(len(y), 9, 10))
            x += np.linspace(0, 2, 9)[:, np.newaxis] * rng.normal(size=(len(y), 9, 1))
            x[:, 0] += signal * patterns[y]
        light = IdentificationSearchLight(
            regions=np.kron(np.eye(9), np.ones(10)),
            estimator=name,
            statistic=statistic,
            n_permutations=99,
            bounds=None,
            random_state=seed,
        )
        pipelines[str(i)] = light, x.reshape(len(y), -1)
    runs = np.arange(n_runs).repeat(n_classes)
    maps = quietly(multiverse, pipelines, None, y, runs)
    if alone:
        return maps.table_["p_value_fwe_alone"].min() <= LEVEL
    return maps["p_value_fwe_any"][1:].min() <= LEVEL


@check(FAMILY, n_sets=400, quick=6, mistakes=8)
def lesions(rng, n_sets, *, mistake=False):
    """Regions of noise; mistake: what the rest tells, read as the region's loss."""
    y, runs = np.tile([0, 0, 1, 1], 6), np.arange(6).repeat(4)
    regions = np.kron(np.eye(5), np.ones((1, 4)))
    for signal in (1.5,) if mistake else (0.0, 1.5):
        values = {"loss": [], "losses": [], "rest": [], "rests": []}
        for _ in range(n_sets):
            x = rng.normal(size=(24, 20))
            x[:, :4] += signal * rng.normal(size=(2, 4))[y]
            table = quietly(
                lesion_identification,
                IdentificationSearchLight(
                    regions=regions,
                    n_permutations=39,
                    bounds=None,
                    random_state=int(rng.integers(2**31)),
                ),
                x,
                y,
                runs,
            ).table_[1 if signal else 0 :]
            key = "p_value" if mistake else "loss_p_value"
            values["loss"].append((table[key] <= LEVEL).mean())
            values["losses"].append(table[f"{key}_fwe"].min() <= LEVEL)
            values["rest"].append((table["p_value"] <= LEVEL).mean())
            values["rests"].append(table["p_value_fwe"].min() <= LEVEL)
        where = "6 runs x 2 classes x 2, "
        where += "1 of 5 regions tells" if signal else "no region tells"
        yield Row("Lesion, loss of one region", where, values["loss"])
        yield Row("Lesion, loss of any region", where, values["losses"])
        if not signal:
            yield Row("Lesion, rest without one region", where, values["rest"])
            yield Row("Lesion, rest without any one region", where, values["rests"])
