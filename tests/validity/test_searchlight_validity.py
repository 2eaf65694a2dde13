"""The searchlight's permutation p-values under the null, classifier by classifier.

One classifier with few draws runs with every test; others, and many draws, are slow.
"""

import numpy as np
import pytest
import scipy.sparse

from neuroextrap.decoding import IdentificationSearchLight

SLOW = pytest.mark.slow
_N_PERMUTATIONS = 39
_LEVELS = (0.05, 0.25, 0.5, 0.75)


def overlapping_regions(n_features=30, width=8, step=4):
    """Windows of neighboring features, each sharing half with the next."""
    starts = range(0, n_features - width + 1, step)
    members = np.zeros((len(starts), n_features), dtype=bool)
    for row, start in enumerate(starts):
        members[row, start : start + width] = True
    return scipy.sparse.csr_array(members)


def noise(rng, runs, n_features=30):
    """Correlated noise without a trace of labels; runs have means of their own."""
    x = rng.normal(size=(len(runs), n_features))
    x[:, 1:] += 0.7 * x[:, :-1]
    return x + rng.normal(size=(runs.max() + 1, n_features))[runs]


def untied(rng, score, null):
    """p-value with ties broken at random: exactly uniform under the null."""
    above = np.count_nonzero(null > score, axis=0)
    equal = np.count_nonzero(null == score, axis=0)
    return (above + rng.random(np.shape(above)) * (equal + 1)) / (len(null) + 1)


def check(p, level, n_draws, *, exact):
    """Compare how often p is at most a level with the level."""
    rate = np.mean(np.asarray(p) <= level + 1e-12)
    error = 4 * np.sqrt(level * (1 - level) / n_draws)
    assert rate < level + error, (level, rate)
    if exact:
        assert rate > level - error, (level, rate)


# of independent outcomes, one experiment in some hundreds says so by chance; of
# independent samples, one in some ten thousand
@pytest.mark.filterwarnings("ignore:accuracy differs between runs")
@pytest.mark.filterwarnings("ignore:the samples of runs .* correlate")
@pytest.mark.parametrize(
    ("classifier", "n_draws"),
    [
        pytest.param("nearest_centroid", 60, id="quick"),
        pytest.param("nearest_centroid", 3000, marks=SLOW),
        pytest.param("lda", 3000, marks=SLOW),
        pytest.param("ridge", 3000, marks=SLOW),
    ],
)
def test_p_values_are_uniform_and_family_wise_error_is_kept(
    classifier, n_draws, tmp_path
):
    rng = np.random.default_rng([2026, len(classifier)])
    regions = overlapping_regions()
    y, runs = np.tile(np.repeat([0, 1, 2], 2), 4), np.repeat(np.arange(4), 6)
    found = {name: [] for name in ("local", "local untied", "fwe", "fwe untied")}
    smallest_local = []
    for draw in range(n_draws):
        fitted = IdentificationSearchLight(
            regions=regions,
            estimator=classifier,
            n_permutations=_N_PERMUTATIONS,
            keep=tmp_path / "null.npy",
            random_state=draw,
        ).fit(noise(rng, runs), y, groups=runs)
        score = fitted.region_scores_["accuracy"].astype(np.float32)
        null = np.load(tmp_path / "null.npy")
        (tmp_path / "null.npy").unlink()
        maxima = fitted.null_maxima_.astype(np.float32)
        # one region a draw, so that draws are independent
        found["local"].append(fitted.region_scores_["p_value"][0])
        found["local untied"].append(untied(rng, score[0], null[:, 0]))
        found["fwe"].append(fitted.region_scores_["p_value_fwe"].min())
        found["fwe untied"].append(untied(rng, score.max(), maxima))
        smallest_local.append(fitted.region_scores_["p_value"].min())
    for name, p in found.items():
        for level in _LEVELS:
            check(p, level, n_draws, exact=name.endswith("untied"))
    # the uncorrected p-values of several regions do not control the family
    rate = np.mean(np.array(smallest_local) <= 0.05)
    assert rate > 0.05 + 2 * np.sqrt(0.05 * 0.95 / n_draws)


@pytest.mark.parametrize(
    "classifier", ["nearest_centroid", pytest.param("ridge", marks=SLOW)]
)
def test_a_single_split_is_exact_too(classifier):
    rng = np.random.default_rng(5)
    y, runs = np.tile(np.arange(4), 6), np.repeat(np.arange(6), 4)
    split = [(np.flatnonzero(runs < 3), np.flatnonzero(runs >= 3))]
    p, n_draws = [], 60
    for draw in range(n_draws):
        fitted = IdentificationSearchLight(
            estimator=classifier,
            cv=split,
            n_permutations=_N_PERMUTATIONS,
            random_state=draw,
        ).fit(noise(rng, runs, 10), y, groups=runs)
        score = fitted.region_scores_["accuracy"].max()
        p.append(untied(rng, np.float32(score), np.float32(fitted.null_maxima_)))
    for level in _LEVELS:
        check(p, level, n_draws, exact=True)


def test_a_signal_is_found_where_it_is():
    rng = np.random.default_rng(6)
    regions = overlapping_regions()
    y, runs = np.tile(np.repeat([0, 1, 2], 2), 4), np.repeat(np.arange(4), 6)
    hits = np.zeros(regions.shape[0])
    for draw in range(40):
        x = noise(rng, runs)
        x[:, :4] += 3.0 * rng.normal(size=(3, 4))[y]
        fitted = IdentificationSearchLight(
            regions=regions, n_permutations=_N_PERMUTATIONS, random_state=draw
        ).fit(x, y, groups=runs)
        hits += fitted.region_scores_["p_value_fwe"] <= 0.05
    assert hits[0] > 30
    # regions without signal: at most .05 of 40, and Monte-Carlo error
    assert hits[1:].max() <= 2 + 4 * np.sqrt(40 * 0.05 * 0.95)
