"""Tests over subjects: prevalence and sign flips."""

import warnings

import numpy as np

from benchmarks.validity.registry import Row, check
from neuroextrap.group import prevalence_test, sign_flip_test

FAMILY = "Tests over subjects"
N_SUBJECTS, N_PERMUTED, N_FEATURES = 8, 30, 40


def prevalence_maps(
    rng, prevalence, effect, gamma, n_carried=N_FEATURES, n_permutations=5000
):
    """Return the maps of one group of subjects.

    Every subject carries the effect with chance `prevalence`, in the first `n_carried`
    features alike.
    """
    scores = rng.normal(size=(N_SUBJECTS, N_FEATURES))
    scores[:, :n_carried] += effect * (rng.random((N_SUBJECTS, 1)) < prevalence)
    return tested_prevalence(rng, scores, gamma, n_permutations)


def tested_prevalence(rng, scores, gamma, n_permutations):
    """Return the maps of subjects' scores and permuted scores of noise."""
    null = rng.normal(size=(N_SUBJECTS, N_PERMUTED, scores.shape[1]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return prevalence_test(
            scores,
            null,
            gamma=gamma,
            n_permutations=n_permutations,
            random_state=rng.integers(2**31),
        )


@check(FAMILY, n_sets=1600, quick=15)
def global_null(rng, n_sets, *, mistake=False):
    """Nobody carries information; mistake: the smallest uncorrected p-value."""
    maps = [prevalence_maps(rng, 0.0, 0.0, 0.5) for _ in range(n_sets)]
    where = f"{N_SUBJECTS} subjects, nobody carries information"
    if not mistake:
        one = [m["p_value"][0] <= 0.05 for m in maps]
        yield Row("Prevalence, global null, one voxel", where, one)
    key = "p_value" if mistake else "p_value_fwe"
    family = [m[key].min() <= 0.05 for m in maps]
    yield Row("Prevalence, global null, 40 voxels at once", where, family)


@check(FAMILY, n_sets=1600, quick=40, mistakes=120)
def majority_null(rng, n_sets, *, mistake=False):
    """As many carry as the null says; mistake: the global p-value in its place."""
    for gamma, effect in ((0.5, 9.0), (0.5, 2.0), (0.3, 9.0)):
        if mistake and (gamma, effect) != (0.5, 9.0):
            continue
        where = f"{N_SUBJECTS} subjects, prevalence {gamma}, {effect:g} SD"
        for n_carried in (1, N_FEATURES):
            maps = [
                prevalence_maps(rng, gamma, effect, gamma, n_carried, 200)
                for _ in range(n_sets)
            ]
            if n_carried == 1:
                key = "p_value" if mistake else "p_value_prevalence"
                wrong = [m[key][0] <= 0.05 for m in maps]
                yield Row("Prevalence, majority null, one voxel", where, wrong)
                over = [m["prevalence_bound"][0] > gamma for m in maps]
                if not mistake:
                    yield Row("Prevalence bound, one voxel", where, over)
            if mistake:
                continue
            design = f"{where}, in {n_carried} of {N_FEATURES} voxels"
            wrong = [m["p_value_prevalence_fwe"].min() <= 0.05 for m in maps]
            name = "Prevalence, majority null, 40 voxels at once"
            yield Row(name, design, wrong)
            over = [m["prevalence_bound_fwe"].max() > gamma for m in maps]
            name = "Prevalence bound, 40 voxels at once"
            yield Row(name, design, over)


@check(FAMILY, n_sets=1600, quick=15)
def minority_in_many_voxels(rng, n_sets, *, mistake=False):
    """Other carriers in every voxel; mistake: bounds that hold for one voxel."""
    key = "prevalence_bound" if mistake else "prevalence_bound_fwe"
    for prevalence, n_features in ((0.4, N_FEATURES), (0.4, 200), (0.1, 200)):
        over = []
        for _ in range(n_sets):
            carries = rng.random((N_SUBJECTS, n_features)) < prevalence
            scores = rng.normal(size=carries.shape) + 6 * carries
            maps = tested_prevalence(rng, scores, prevalence, 2)
            over.append(maps[key].max() > prevalence)
        name = f"Prevalence bound, {n_features} voxels at once"
        where = f"{N_SUBJECTS} subjects, prevalence {prevalence}, 6 SD, other carriers"
        yield Row(name, f"{where} in every voxel", over)


@check(FAMILY, n_sets=4000, quick=20)
def sign_flips_of_subjects(rng, n_sets, *, mistake=False):
    """Mean over subjects; mistake: the smallest uncorrected p-value of the family."""
    designs = {
        "normal": lambda shape: rng.normal(size=shape),
        "subjects of unequal noise": lambda shape: (
            rng.normal(size=shape) * np.geomspace(0.2, 5, shape[0])[:, None]
        ),
        "t, 2 degrees of freedom": lambda shape: rng.standard_t(2, size=shape),
        "voxels alike": lambda shape: (
            rng.normal(size=shape) + 2 * rng.normal(size=(shape[0], 1))
        ),
        "skewed to the left (not symmetric)": lambda shape: (
            1 - rng.exponential(size=shape)
        ),
    }
    for law, draw in designs.items():
        if mistake and law != "normal":
            continue
        local, family = [], []
        for _ in range(n_sets):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                maps = sign_flip_test(
                    draw((12, 30)),
                    n_permutations=199,
                    random_state=rng.integers(2**31),
                )
            local.append(maps["p_value"][0] <= 0.05)
            family.append(maps["p_value" if mistake else "p_value_fwe"].min() <= 0.05)
        in_scope = "not symmetric" not in law
        design = f"12 subjects, {law}"
        if not mistake:
            yield Row("Sign flips, one voxel", design, local, in_scope=in_scope)
        name = "Sign flips, 30 voxels at once"
        yield Row(name, design, family, in_scope=in_scope)
