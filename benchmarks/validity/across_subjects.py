"""Decoding across subjects: train on all but one, names exchanged within each."""

import warnings

import numpy as np

from benchmarks.validity.registry import Row, check
from neuroextrap.decoding import IdentificationSearchLight

FAMILY = "Decoding across subjects"
N_SUBJECTS, N_CLASSES, N_FEATURES = 8, 4, 12


def own_codes(rng, strength, n_trials):
    """Return samples, classes and subjects; codes of two subjects share nothing."""
    shape = N_SUBJECTS, N_CLASSES, n_trials
    codes = strength * rng.normal(size=(N_SUBJECTS, N_CLASSES, 1, N_FEATURES))
    level = 3 * rng.normal(size=(N_SUBJECTS, 1, 1, N_FEATURES))
    X = level + codes + rng.normal(size=(*shape, N_FEATURES))
    subject, y, _ = np.indices(shape)
    return X.reshape(-1, N_FEATURES), y.ravel(), subject.ravel()


@check(FAMILY, n_sets=800, quick=8, mistakes=34)
def leave_one_subject_out(rng, n_sets, *, mistake=False):
    """Means of a subject's conditions are exchanged; mistake: its single trials."""
    n_trials = 12 if mistake else 1
    for strength in (6.0,) if mistake else (0.0, 3.0):
        small = []
        for _ in range(3 * n_sets if mistake else n_sets):
            X, y, subjects = own_codes(rng, strength, n_trials)
            light = IdentificationSearchLight(
                within_runs="center",
                n_permutations=39,
                bounds=None,
                random_state=rng.integers(2**31),
            )
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                light.fit(X, y, groups=subjects)
            small.append(light.region_scores_["p_value"][0] <= 0.05)
        codes = "codes of their own" if strength else "no code"
        where = f"{N_SUBJECTS} subjects, {codes}, {n_trials} sample(s) of a condition"
        yield Row("Permutation p, leave one subject out", where, small)
