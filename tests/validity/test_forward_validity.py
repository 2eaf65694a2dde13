"""Forward bounds and e-values of the searchlight keep their level, and they bite."""

import numpy as np
import pytest
import scipy.sparse
from scipy.stats import norm

from neuroextrap.analysis import Regions
from neuroextrap.decoding import IdentificationSearchLight

N_DRAWS = [
    pytest.param(60, id="quick"),
    pytest.param(3000, id="full", marks=pytest.mark.slow),
]


def too_often(n_missed, n_draws, level=0.05):
    """Whether so many misses are more than chance makes of the level."""
    return n_missed > n_draws * level + 4 * np.sqrt(n_draws * level * (1 - level))


def batches(n_draws):
    """Draws as independent regions, a hundred in one fit: the number in each fit."""
    return [min(100, n_draws)] * max(1, n_draws // 100)


def side_by_side(x, width):
    """Regions of so many neighboring features."""
    members = np.kron(np.eye(x.shape[1] // width), np.ones((1, width)))
    return Regions(scipy.sparse.csr_array(members), min_voxels=1)


def null_design(name):
    """Labels, runs and blocks of designs that people have."""
    rng = np.random.default_rng(len(name))
    if name == "eight classes, twelve runs":
        return np.tile(np.arange(8), 12), np.repeat(np.arange(12), 8), None
    if name == "two classes, three runs":
        return np.tile([0, 0, 1, 1], 3), np.repeat(np.arange(3), 4), None
    if name == "forty classes, two runs":
        return np.tile(np.arange(40), 2), np.repeat(np.arange(2), 40), None
    if name == "blocks of five scans":
        y = np.tile(np.repeat([0, 1, 2], 5), 6)
        return y, np.repeat(np.arange(6), 15), np.repeat(np.arange(18), 5)
    counts = rng.integers(0, 4, size=(8, 3))
    counts[0] = counts[-1] = 2  # runs between lack classes
    y = np.concatenate([np.repeat(np.arange(3), row) for row in counts])
    return y, np.repeat(np.arange(8), counts.sum(axis=1)), None


@pytest.mark.filterwarnings("ignore:accuracy differs between runs")
@pytest.mark.filterwarnings("ignore:the true class beats")
@pytest.mark.parametrize(
    ("name", "n_draws"),
    [
        pytest.param("unbalanced runs that lack classes", 60, id="quick"),
        *(
            pytest.param(name, 3000, marks=pytest.mark.slow)
            for name in (
                "eight classes, twelve runs",
                "two classes, three runs",
                "forty classes, two runs",
                "blocks of five scans",
                "unbalanced runs that lack classes",
            )
        ),
    ],
)
def test_nothing_is_shown_where_nothing_is(name, n_draws):
    y, runs, blocks = null_design(name)
    chance, rng = 1 / (y.max() + 1), np.random.default_rng([1, len(name)])
    missed, e_values = 0, []
    for n_regions in batches(n_draws):
        size = runs.max() + 1, 6 * n_regions
        x = rng.normal(size=(len(y), size[1])) + rng.normal(size=size)[runs]
        if blocks is not None:  # scans of one block are nearly the same
            x = 0.2 * x + rng.normal(size=(blocks.max() + 1, size[1]))[blocks]
        light = IdentificationSearchLight(regions=side_by_side(x, 6), blocks=blocks)
        found = light.fit(x, y, groups=runs).region_scores_
        assert light.results_.forward is not None
        missed += np.sum(found["bayes_accuracy_bound"] > chance + 1e-9)
        e_values.extend(found["e_value"])
    assert len(e_values) == n_draws
    assert not too_often(missed, n_draws), missed / n_draws
    # a mean of at most 1: few e-values are large (Markov), none is everything
    assert not too_often(np.sum(np.array(e_values) >= 20), n_draws)
    assert np.mean(np.minimum(e_values, 20)) < 1.3


# of independent outcomes, one experiment in two hundred says so by chance
@pytest.mark.filterwarnings("ignore:accuracy differs between runs")
@pytest.mark.parametrize("n_draws", N_DRAWS)
@pytest.mark.parametrize(("distance", "n_runs"), [(1.0, 8), (0.6, 24)])
def test_a_known_bayes_accuracy_is_not_exceeded(distance, n_runs, n_draws):
    """Two Gaussian classes: the best accuracy is that of the midpoint."""
    bayes, rng = norm.cdf(distance), np.random.default_rng([3, n_runs])
    y = np.tile([0, 0, 0, 0, 1, 1, 1, 1], n_runs)
    runs = np.repeat(np.arange(n_runs), 8)
    bounds = []
    for n_regions in batches(n_draws):
        x = rng.normal(size=(len(y), n_regions)) + distance * (2 * y[:, None] - 1)
        light = IdentificationSearchLight(regions=side_by_side(x, 1))
        light.fit(x, y, groups=runs)
        bounds.extend(light.region_scores_["bayes_accuracy_bound"])
    assert len(bounds) == n_draws
    assert not too_often(np.sum(np.array(bounds) > bayes), n_draws)
    assert np.mean(bounds) > bayes - 0.2  # and it says something


def test_bounds_over_many_regions_hold_at_once_and_bite():
    rng = np.random.default_rng(4)
    y, runs = np.tile(np.arange(8), 12), np.repeat(np.arange(12), 8)
    x = rng.normal(size=(96, 2000))
    strong = 3.0 * rng.normal(size=(8, 10))[y]
    x[:, :10] += strong
    regions = scipy.sparse.csr_array(np.repeat(np.eye(200), 10, axis=1).astype(bool))
    light = IdentificationSearchLight(regions=regions).fit(x, y, groups=runs)
    found = light.region_scores_
    assert (found["bayes_accuracy_bound_fwe"][1:] == 1 / 8).all()
    assert found["bayes_accuracy_bound_fwe"][0] > 0.7
    assert (np.flatnonzero(found["e_value_fdr"] <= 0.05) == [0]).all()
