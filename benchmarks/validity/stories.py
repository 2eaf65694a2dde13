"""Films and stories: scores of voxels and segments, and comparisons of models."""

import warnings

import numpy as np
import scipy.sparse
from sklearn.linear_model import Ridge

from benchmarks.validity.permutation_tests import FWE, LEVEL, LOCAL
from benchmarks.validity.registry import Row, check
from benchmarks.validity.series import series
from benchmarks.validity.visible_designs import FAMILY
from neuroextrap.encoding import (
    ContinuousEncoding,
    EncodingIdentification,
    RidgeEncoder,
    compare_encoding_models,
)

SLOW, N_RUNS, LENGTH = 0.9, 6, 60


@check(FAMILY, n_sets=200, quick=5, mistakes=6)
def continuous_encoding(rng, n_sets, *, mistake=False):
    """Slow features and responses without relation; mistake: moments exchanged."""
    if mistake:
        yield _compared(rng, n_sets, by_run=False)
        return
    local, family, segments = [], [], []
    for _ in range(n_sets):
        features, responses = _unrelated(rng)
        model = ContinuousEncoding(
            encoder=Ridge(), t_r=2.0, n_permutations=99, random_state=rng
        ).fit(features[:2], responses[:2])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            scores = model.score(features[2:], responses[2:])
            found = model.identify_segments(features[2:], responses[2:], seconds=12)
        local.append((scores["p_value"] <= LEVEL).mean())
        family.append(float(scores["p_value_fwe"].min() <= LEVEL))
        segments.append(float(found["p_value"][0] <= LEVEL))
    design = f"AR({SLOW}) film, 2 x 150 volumes, delays 1 to 4"
    yield Row(LOCAL, f"{design}, correlation of a voxel", local)
    yield Row(FWE, f"{design}, correlation of 24 voxels", family)
    yield Row(LOCAL, f"{design}, segments of 12 s", segments)
    yield _compared(rng, n_sets, by_run=True)
    yield from _censored(rng, n_sets, design)


def _unrelated(rng):
    """Draw five features in four runs, and responses of 24 voxels."""
    return ([series(rng, n, SLOW, k) for n in (100, 100, 150, 150)] for k in (5, 24))


def _censored(rng, n_sets, design):
    """Leave out volumes of every run, a tenth of them in bursts of three."""
    local, family = [], []
    for _ in range(n_sets):
        features, responses = _unrelated(rng)
        kept = [np.ones(len(run), dtype=bool) for run in features]
        for run in kept:
            for start in rng.choice(len(run) - 2, len(run) // 30, replace=False):
                run[start : start + 3] = False
        model = ContinuousEncoding(
            encoder=Ridge(), t_r=2.0, n_permutations=99, random_state=rng
        ).fit(features[:2], responses[:2], sample_mask=kept[:2])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            maps = model.score(features[2:], responses[2:], sample_mask=kept[2:])
        local.append((maps["p_value"] <= LEVEL).mean())
        family.append(float(maps["p_value_fwe"].min() <= LEVEL))
    yield Row(LOCAL, f"{design}, a tenth left out, a voxel", local)
    yield Row(FWE, f"{design}, a tenth left out, 24 voxels", family)


@check(FAMILY, n_sets=400, quick=5, mistakes=7)
def bands_of_films(rng, n_sets, *, mistake=False):
    """A slow band that adds nothing; mistake: tested as if it were the only one."""
    for mix in (0.7,) if mistake else (0.0, 0.7):
        local, family = [], []
        for _ in range(n_sets):
            features, responses = _two_bands(rng, mix)
            model = ContinuousEncoding(
                encoder=RidgeEncoder(band_weights=8, cv=4),
                n_permutations=99,
                random_state=rng,
            )
            if mistake:
                features = [run["words"] for run in features]
            model.fit(features[:2], responses[:2])
            score = model.score if mistake else model.partition
            end = "" if mistake else "_unique_of_words"
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                maps = score(features[2:], responses[2:])
            local.append((maps[f"p_value{end}"] <= LEVEL).mean())
            family.append(float(maps[f"p_value_fwe{end}"].min() <= LEVEL))
        design = f"AR({SLOW}) band that adds nothing, r {mix} with another"
        yield Row(LOCAL, f"{design}, unique to it, one of 12 voxels", local)
        yield Row(FWE, f"{design}, unique to it, any of 12 voxels", family)


def _two_bands(rng, mix):
    """Draw two bands in four runs, and responses that follow the first of them."""
    weights, turn = rng.normal(size=(3, 12)), rng.normal(size=(3, 3)) / np.sqrt(3)
    features, responses = [], []
    for n in (100, 100, 150, 150):
        rows = series(rng, n, SLOW, 18) * np.sqrt(1 - SLOW**2)
        motion, own, noise = rows[:, :3], rows[:, 3:6], rows[:, 6:]
        words = np.sqrt(1 - mix**2) * own + mix * motion @ turn
        noise[1:] += motion[:-1] @ weights
        features.append({"motion": motion, "words": words})
        responses.append(noise)
    return features, responses


def _compared(rng, n_sets, *, by_run):
    """Compare two models that have to do with none of 12 regions."""
    runs, family = np.repeat(np.arange(N_RUNS), LENGTH), []
    pairs = scipy.sparse.csr_array(np.kron(np.eye(12), np.ones((1, 2))))
    for _ in range(n_sets):
        rows = [series(rng, n, SLOW, 34) for n in (100, *[LENGTH] * N_RUNS)]
        train, test = rows[0], np.concatenate(rows[1:])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            pair = [
                EncodingIdentification(
                    encoder=Ridge(), rule="diagonal", regions=pairs, set_sizes=[2]
                )
                .fit(train[:, columns], train[:, 10:])
                .identify(test[:, columns], test[:, 10:], groups=runs)
                for columns in (slice(0, 5), slice(5, 10))
            ]
            maps = compare_encoding_models(
                *pair,
                statistic="pairwise_accuracy",
                n_permutations=199,
                blocks=runs if by_run else None,
                random_state=rng,
            )
        family.append(float(maps["p_value_fwe"].min() <= LEVEL))
    units = "whole runs" if by_run else "moments"
    return Row(
        FWE, f"two models, AR({SLOW}) film, {N_RUNS} x {LENGTH}, {units}", family
    )
