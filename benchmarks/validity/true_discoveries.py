"""How many regions of any set are informative: bounds for all sets at once."""

import warnings

import numpy as np
import pandas as pd

from benchmarks.validity.permutation_tests import noise, overlapping_regions
from benchmarks.validity.registry import FEW, Row, check
from benchmarks.validity.second_level import smooth_noise
from neuroextrap.decoding import IdentificationSearchLight
from neuroextrap.group import group_permutation_test, second_level_test

FAMILY = "True discoveries in any set of regions, chosen after looking"
GUARANTEE = "bounds of all sets at once"
B = 39  # permutations: 20 calibrate, so that the level is 1 / 21
N_FEATURES = 128
_REGIONS = overlapping_regions(N_FEATURES)
_BALANCED = np.tile(np.repeat([0, 1, 2], 2), 4), np.repeat(np.arange(4), 6)
_UNEQUAL = (
    np.array([0, 0, 0, 0, 1, 2, 0, 1, 1, 1, 2, 2, 2, 0, 0, 1, 2, 0, 1, 2, 2, 2]),
    np.repeat(np.arange(4), [6, 7, 4, 5]),
)


def broken(bounds, is_null):
    """Whether the bound of some set exceeds the truth: that of the null ones does."""
    return float(bounds.count(is_null) > 0)


def searchlight(rng, y, runs, share, strength, **options):
    """Fit one experiment; return the light and which of its regions tell nothing."""
    x = noise(rng, runs, N_FEATURES)
    n_signal = round(share * N_FEATURES)
    x[:, :n_signal] += strength * rng.normal(size=(y.max() + 1, n_signal))[y]
    informative = _REGIONS[:, :n_signal].sum(axis=1) > 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        light = IdentificationSearchLight(
            regions=_REGIONS,
            n_permutations=B,
            bounds=None,
            random_state=rng.integers(2**31),
            **options,
        ).fit(x, y, groups=runs)
    return light, ~np.asarray(informative).ravel()


@check(FAMILY, n_sets=300, quick=9)
def informative_regions(rng, n_sets, *, mistake=False):
    """No signal to signal nearly everywhere; mistake: counting p of at most .05."""
    if mistake:
        fits = (searchlight(rng, *_BALANCED, 0, 0)[0] for _ in range(n_sets))
        found = [(f.region_scores_["p_value"] <= 0.05 + 1e-12).any() for f in fits]
        yield Row(GUARANTEE, "no signal, regions with p <= .05 counted", found)
        return
    designs = [
        (_BALANCED, share, strength, {"estimator": estimator})
        for estimator in ("nearest_centroid", "gaussian_nb", "ridge", "lda")
        for share, strength in ((0, 0), (0.1, 2), (0.5, 0.5), (0.9, 1))
    ]
    for signal in ((0, 0), (0.5, 1)):
        designs += [
            (_UNEQUAL, *signal, {}),
            (_BALANCED, *signal, {"statistic": "implied_information"}),
            (_BALANCED, *signal, {"statistic": "pairwise_accuracy"}),
        ]
    for design in designs if n_sets >= FEW else designs[::5]:  # every classifier
        yield _searchlight_row(rng, n_sets, *design)


def _searchlight_row(rng, n_sets, design, share, strength, options):
    """Simulate one design of a searchlight."""
    fits = (
        searchlight(rng, *design, share, strength, **options) for _ in range(n_sets)
    )
    values = [broken(light.results_.discoveries, null) for light, null in fits]
    words = [str(value).replace("_", " ") for value in options.values()]
    words += ["unbalanced runs"] * (design is _UNEQUAL)
    words += [f"signal in {share:.0%} of features"]
    return Row(GUARANTEE, ", ".join(words), values)


@check(FAMILY, n_sets=400, quick=12)
def voxels_with_an_effect(rng, n_sets, *, mistake=False):
    """Sign flips, two samples, a slope; mistake: counting p of at most .05."""
    groups = pd.DataFrame({"a": np.repeat([1.0, 0], 8), "b": np.repeat([0.0, 1], 8)})
    age = pd.DataFrame({"age": np.linspace(-1, 1, 16), "intercept": np.ones(16)})
    designs = {
        "sign flips": (None, None, np.ones(16)),
        "two samples": (groups, "a - b", groups["a"].to_numpy()),
        "slope": (age, "age", age["age"].to_numpy()),
    }
    for name, (design, contrast, effect) in designs.items():
        for share in (0,) if mistake else (0, 0.4):
            for two_sided in (False, True):
                values = []
                for _ in range(n_sets):
                    maps = smooth_noise(rng, (16,))
                    is_null = np.arange(maps.shape[1]) >= share * maps.shape[1]
                    maps += 2 * effect[:, np.newaxis] * ~is_null
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        found = second_level_test(
                            maps,
                            design,
                            contrast=contrast,
                            two_sided=two_sided,
                            n_permutations=B,
                            random_state=rng.integers(2**31),
                        )
                    significant = (found["p_value"] <= 0.05 + 1e-12).any()
                    kept = broken(found.discoveries, is_null)
                    values.append(float(significant) if mistake else kept)
                sides = "two-sided" if two_sided else "one-sided"
                where = f"{name}, {sides}, effect in {share:.0%} of voxels"
                yield Row(GUARANTEE, where, values)


@check(FAMILY, n_sets=400, quick=12)
def permuted_first_levels(rng, n_sets, *, mistake=False):
    """Permuted maps of six subjects; mistake: counting p of at most .05."""
    for share in (0,) if mistake else (0, 0.4):
        values = []
        for _ in range(n_sets):
            null, scores = smooth_noise(rng, (6, 30)), smooth_noise(rng, (6,))
            is_null = np.arange(scores.shape[1]) >= share * scores.shape[1]
            scores += 2.0 * ~is_null
            found = group_permutation_test(
                scores, null, n_permutations=B + 1, random_state=rng.integers(2**31)
            )
            significant = (found["p_value"] <= 0.05 + 1e-12).any()
            kept = broken(found.discoveries, is_null)
            values.append(float(significant) if mistake else kept)
        yield Row(GUARANTEE, f"6 subjects, effect in {share:.0%} of voxels", values)
