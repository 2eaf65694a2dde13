"""Planted samples: where the signal is, how strong, and what is refused."""

import numpy as np
import pytest

from neuroextrap.datasets import gaussian_code_accuracy, plant_codes


def test_every_run_shows_every_class_once():
    samples = plant_codes(4, [[0]], [1.0], n_classes=5, n_runs=3)
    for run in range(3):
        assert sorted(samples.y[samples.runs == run]) == [0, 1, 2, 3, 4]


def test_signal_has_the_planted_variance_and_only_where_planted():
    planted = [np.arange(100, 300), np.arange(500, 600)]
    samples = plant_codes(800, planted, [60.0, 90.0], n_classes=60, n_runs=8)
    means = np.stack([samples.X[samples.y == c].mean(axis=0) for c in range(60)])
    noise = samples.X - means[samples.y]
    np.testing.assert_allclose(noise.var() * 8 / 7, 1.0, rtol=0.02)
    signal = means.var(axis=0, ddof=1) - 1 / 8
    for region, snr in zip(planted, samples.snr, strict=True):
        np.testing.assert_allclose(signal[region].mean(), snr, rtol=0.08)
    elsewhere = np.setdiff1d(np.arange(800), np.concatenate(planted))
    assert abs(signal[elsewhere].mean()) < 0.01


def test_nearest_centroid_reaches_the_known_accuracy():
    """One held-out run of many classes: the observed share within five errors."""
    samples = plant_codes(90, [np.arange(10, 91 - 1)], [20.0], n_classes=400, n_runs=4)
    x = samples.X[:, samples.planted[0]]
    train, test = samples.runs < 3, samples.runs == 3
    centroids = np.stack([x[train & (samples.y == c)].mean(axis=0) for c in range(400)])
    distances = ((x[test][:, None] - centroids) ** 2).sum(axis=-1)
    observed = np.mean(distances.argmin(axis=1) == samples.y[test])
    truth = gaussian_code_accuracy(80, float(samples.snr[0]), [400], n_train=3)[0]
    assert abs(observed - truth) < 5 * 0.5 / np.sqrt(400)
    assert abs(observed - 1 / 400) > 0.3


def test_seed_decides_everything():
    first = plant_codes(30, [[1, 2]], [2.0], random_state=5)
    again = plant_codes(30, [[1, 2]], [2.0], random_state=5)
    other = plant_codes(30, [[1, 2]], [2.0], random_state=6)
    np.testing.assert_array_equal(first.X, again.X)
    np.testing.assert_array_equal(first.y, again.y)
    assert not np.array_equal(first.X, other.X)


@pytest.mark.parametrize(
    ("planted", "information", "message"),
    [
        ([[0, 1], [1, 2]], [1.0, 1.0], "planted regions overlap"),
        ([[]], [1.0], "must be a non-empty list"),
        ([[0, 10]], [1.0], "must lie in 0..9"),
        ([[0]], [1.0, 2.0], "one number for each of the 1 planted"),
        ([[0]], [-1.0], r"information=\[-1\.\] must be finite"),
        ([[0]], [np.inf], r"information=\[inf\] must be finite"),
    ],
)
def test_bad_regions_are_named(planted, information, message):
    with pytest.raises(ValueError, match=message):
        plant_codes(10, planted, information)


@pytest.mark.parametrize(("n_classes", "n_runs"), [(1, 2), (3, 0)])
def test_too_few_classes_or_runs(n_classes, n_runs):
    with pytest.raises(ValueError, match=r"n_classes=.* must be >= 2"):
        plant_codes(10, [[0]], [1.0], n_classes=n_classes, n_runs=n_runs)
