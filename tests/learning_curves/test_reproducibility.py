"""Pattern reproducibility and its Z map."""

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

from neuroextrap.learning_curves import (
    CanonicalVariates,
    information_learning_curve,
    pattern_reproducibility,
    simulate_hierarchical_scans,
)
from tests.learning_curves.seam import _signal_to_noise, draw_split


@pytest.fixture(scope="module")
def scans():
    return simulate_hierarchical_scans(n_subjects=8, n_features=200, random_state=1)


@pytest.mark.parametrize("pattern", ["sensitivity", "canonical"])
def test_same_numbers_as_the_learning_curve(scans, pattern):
    data = (scans.X, scans.coarse, scans.groups)
    options = {"train_sizes": [2, 4], "n_splits": 12, "pattern": pattern}
    curve = information_learning_curve(*data, **options)
    found = pattern_reproducibility(*data, **options)
    np.testing.assert_array_equal(found.reproducibility, curve.reproducibility)
    np.testing.assert_allclose(found.mean, curve.reproducibility.mean(axis=1))
    np.testing.assert_allclose(found.spread, curve.reproducibility.std(axis=1, ddof=1))
    assert found.masker is None


def test_z_map_against_its_definition(scans):
    X, groups = scans.X, scans.groups
    X = X - np.array([X[groups == g].mean(axis=0) for g in groups])
    options = {"n_splits": 6, "pattern": "canonical"}
    found = pattern_reproducibility(scans.X, scans.coarse, groups, **options)
    root = int(np.random.default_rng(0).integers(2**63))
    z_maps = []
    for i in range(6):
        order = draw_split(root, 4, i, np.ones((8, 2), dtype=bool), twin=True)
        maps = []
        for members in (order[:4], order[4:]):
            rows = np.isin(groups, members)
            model = CanonicalVariates(n_components=4).fit(X[rows], scans.coarse[rows])
            side = np.sign(np.diff(model.class_means_[:, 0])[0])
            m = side * model.canonical_maps_[0]
            maps.append((m - m.mean()) / m.std())
        noise = np.std((maps[0] - maps[1]) / np.sqrt(2))
        z_maps.append((maps[0] + maps[1]) / np.sqrt(2) / noise)
    # the sign of the pair is arbitrary only as a whole: last class positive
    np.testing.assert_allclose(found.z_map[0], np.mean(z_maps, axis=0), atol=1e-8)


def test_noise_does_not_reproduce():
    rng = np.random.default_rng(0)
    y, groups = np.tile([0, 1], 20), np.repeat(np.arange(10), 4)
    means = [
        pattern_reproducibility(
            rng.standard_normal((40, 100)), y, groups, n_splits=10, pattern="canonical"
        ).mean[0]
        for _ in range(15)
    ]
    assert abs(np.mean(means)) < 3 * np.std(means) / np.sqrt(15) + 1e-3


def test_reproducibility_stands_for_a_ratio_of_signal_to_noise():
    """Two maps of one signal with independent noise, whose mean has half of it."""
    rng = np.random.default_rng(0)
    signal = rng.normal(size=200_000)
    for ratio in (0.5, 1.0, 4.0):
        noise = rng.normal(size=(2, len(signal))) / ratio
        maps = signal + noise
        mean_noise = noise.mean(axis=0)
        found = _signal_to_noise(np.corrcoef(maps)[0, 1])
        np.testing.assert_allclose(found, signal.std() / mean_noise.std(), rtol=0.02)
    np.testing.assert_array_equal(_signal_to_noise(np.array([-0.2, 1.0])), [0, np.inf])


def test_signal_reproduces_where_it_is():
    rng = np.random.default_rng(0)
    y, groups = np.tile([0, 1], 24), np.repeat(np.arange(12), 4)
    X = rng.standard_normal((48, 300))
    X[:, :10] += 3 * y[:, None]
    found = pattern_reproducibility(
        X, y, groups, n_splits=20, classifier=CanonicalVariates(n_components=1)
    )
    assert found.mean[0] > 0.5
    assert found.z_map[0, :10].min() > 2
    assert np.abs(found.z_map[0, 10:]).max() < 2


def test_one_split_has_no_spread(scans):
    found = pattern_reproducibility(scans.X, scans.coarse, scans.groups, n_splits=1)
    assert np.all(np.isnan(found.spread))


def test_identical_for_any_n_jobs(scans):
    data = (scans.X, scans.coarse, scans.groups)
    one = pattern_reproducibility(*data, n_splits=12)
    two = pattern_reproducibility(*data, n_splits=12, n_jobs=2)
    np.testing.assert_array_equal(one.z_map, two.z_map)


def test_input_is_checked(scans):
    data = (scans.X, scans.coarse, scans.groups)
    with pytest.raises(ValueError, match="pattern=None leaves no map"):
        pattern_reproducibility(*data, pattern=None)
    with pytest.raises(ValueError, match="use at most 4"):
        pattern_reproducibility(*data, train_sizes=[5])
    with pytest.raises(
        ValueError, match="at least 2 subjects for disjoint halves, got 1"
    ):
        pattern_reproducibility(scans.X, scans.coarse, np.zeros(32))
    with pytest.raises(TypeError, match="'canonical' needs CanonicalVariates"):
        pattern_reproducibility(*data, classifier=GaussianNB(), pattern="canonical")
