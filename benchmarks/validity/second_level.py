"""Tests of linear models over subjects, of clusters, and of permuted maps."""

import warnings
from functools import lru_cache

import numpy as np
import pandas as pd
from scipy import sparse
from scipy.ndimage import gaussian_filter

from benchmarks.validity.registry import Row, check
from neuroextrap.group import group_permutation_test, second_level_test

FAMILY = "Second level: models over subjects, clusters, permuted maps"
B = 99
LEVEL = 0.05 + 1e-12
_FOREIGN = ("one variance", "exchanged")  # what the documentation advises against
SIDE = 10  # of the plane of voxels
CORRECTED = {
    "p_value_fwe": "largest statistic",
    "p_value_fwe_step_down": "step-down",
    "p_value_fwe_cluster_extent": "cluster extent",
    "p_value_fwe_cluster_mass": "cluster mass",
    "p_value_fwe_tfce": "TFCE",
}


@lru_cache
def plane():
    """Return which voxels of the plane share an edge."""
    ones = [1.0, 1.0]
    line = sparse.diags_array(ones, offsets=[-1, 1], shape=(SIDE, SIDE), dtype=float)
    one = sparse.eye_array(SIDE)
    return (sparse.kron(line, one) + sparse.kron(one, line)).tocsr()


def smooth_noise(rng, shape):
    """Return smooth noise of SD 1 on the plane, (*shape, SIDE ** 2)."""
    around = rng.normal(size=(*shape, SIDE + 8, SIDE + 8))
    sigma = (0,) * len(shape) + (1.0, 1.0)
    middle = gaussian_filter(around, sigma)[..., 4:-4, 4:-4]
    return (middle / middle.std()).reshape(*shape, -1)


def test_contrast(rng, maps, **options):
    """Return the p-values of a second-level test of maps on the plane."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return second_level_test(
            maps,
            n_permutations=B,
            random_state=rng.integers(2**31),
            adjacency=plane(),
            **options,
        )


def laws(rng):
    """Return maps, options and promises of designs without effect, by name.

    Group difference: 6 patients, 10 controls. Age: with a nuisance covariate that goes
    with it, and large effects of both nuisance covariates on the maps.
    """
    patients = np.repeat([1.0, 0.0], [6, 10])
    groups = pd.DataFrame({"patients": patients, "controls": 1 - patients})
    age = rng.normal(size=16)
    covariates = pd.DataFrame(
        {"age": age, "motion": age + rng.normal(size=16), "intercept": 1.0}
    )
    noise = smooth_noise(rng, (16,))
    difference = {"design_matrix": groups, "contrast": "patients - controls"}
    unequal = np.where(patients, 3.0, 1.0)[:, np.newaxis] * noise
    scanner = np.tile([0, 1], 8)
    return {
        "mean of 12 subjects": (noise[:12], {}),
        "mean of 12 subjects of unequal noise": (
            noise[:12] * np.geomspace(0.3, 3, 12)[:, np.newaxis],
            {},
        ),
        "6 patients, 10 controls": (noise, difference),
        "slope on age, motion as nuisance": (
            noise + 3 * covariates["motion"].to_numpy()[:, np.newaxis],
            {"design_matrix": covariates, "contrast": "age"},
        ),
        "6 patients, 10 controls, two scanners as blocks": (
            noise + 4 * scanner[:, np.newaxis],
            {**difference, "blocks": scanner},
        ),
        "6 patients of 3 times the noise, variance groups": (
            unequal,
            {**difference, "variance_groups": patients},
        ),
        "6 patients of 3 times the noise, variance groups, exchanged": (
            unequal,
            {**difference, "variance_groups": patients, "errors": "exchangeable"},
        ),
        "6 patients of 3 times the noise, one variance": (unequal, difference),
    }


@check(FAMILY, n_sets=300, quick=6, mistakes=20)
def second_level(rng, n_sets, *, mistake=False):
    """Contrasts without effect; mistake: three runs of a subject as three subjects."""
    broken = {}
    for _ in range(n_sets):
        for where, (maps, options) in laws(rng).items():
            if mistake and where != "mean of 12 subjects":
                continue
            if mistake:
                runs = np.repeat(maps, 3, axis=0)
                maps = runs + 0.3 * smooth_noise(rng, (36,))
            found = test_contrast(
                rng, maps, step_down=True, cluster_threshold=0.01, tfce=True, **options
            )
            p = {"one voxel": (found["p_value"] <= LEVEL).mean()}
            for key, name in CORRECTED.items():
                p[name] = float(np.min(found[key]) <= LEVEL)
            for name, wrong in p.items():
                broken.setdefault((name, where), []).append(wrong)
    for (name, where), wrong in broken.items():
        promise = f"Second level, {name}"
        promise += "" if name == "one voxel" else f", {SIDE**2} voxels at once"
        yield Row(promise, where, wrong, in_scope=not where.endswith(_FOREIGN))


@check(FAMILY, n_sets=1000, quick=12)
def beside_an_effect(rng, n_sets, *, mistake=False):
    """Voxels without effect beside others with one; mistake: uncorrected p-values."""
    corner = np.add.outer(np.arange(SIDE), np.arange(SIDE)).ravel()
    effect = np.where(corner < 4, 2.5, 0.0)
    keys = ["p_value"] if mistake else ["p_value_fwe", "p_value_fwe_step_down"]
    wrong = {key: [] for key in keys}
    for _ in range(n_sets):
        found = test_contrast(rng, smooth_noise(rng, (12,)) + effect, step_down=True)
        for key, hits in wrong.items():
            hits.append(np.min(found[key][effect == 0]) <= LEVEL)
    where = f"mean of 12 subjects, an effect in {np.sum(effect > 0)} of {SIDE**2}"
    for key, hits in wrong.items():
        name = CORRECTED.get(key, "uncorrected")
        yield Row(f"Second level, {name}, voxels without effect", where, hits)


@check(FAMILY, n_sets=300, quick=6, mistakes=24)
def permuted_maps(rng, n_sets, *, mistake=False):
    """Nobody carries information; mistake: every voxel permuted by itself."""
    designs = {
        "8 subjects, normal": lambda noise: noise,
        "8 subjects, accuracies of 24 points": lambda noise: (
            np.clip(np.round(12 + 2.4 * noise), 0, 24) / 24
        ),
    }
    for where, scored in designs.items():
        if mistake and "accuracies" in where:
            continue
        local, family, extent = [], [], []
        for _ in range(n_sets):
            every = scored(smooth_noise(rng, (8, 1 + 25)))
            null = every[:, 1:]
            if mistake:
                null = rng.permuted(null, axis=1)
            maps = group_permutation_test(
                every[:, 0],
                null,
                cluster_threshold=0.05,
                adjacency=plane(),
                n_permutations=200,
                random_state=rng.integers(2**31),
            )
            local.append((maps["p_value"] <= LEVEL).mean())
            family.append(maps["p_value_fwe"].min() <= LEVEL)
            extent.append(maps["p_value_fwe_cluster_extent"].min() <= LEVEL)
        name = "Permuted maps of subjects"
        if not mistake:
            yield Row(f"{name}, one voxel", where, local)
            yield Row(f"{name}, {SIDE**2} voxels at once", where, family)
        yield Row(f"{name}, cluster extent", where, extent)
