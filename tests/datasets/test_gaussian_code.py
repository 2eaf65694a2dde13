"""The Gaussian code: its information and its accuracy, against naive twins."""

import numpy as np
import pytest

from neuroextrap.datasets import (
    gaussian_code_accuracy,
    gaussian_code_information,
    plant_codes,
)


def _information_of_correlated_pair(covariance):
    """Mutual information in bits of two jointly Gaussian numbers."""
    determinant = np.linalg.det(covariance)
    return -0.5 * np.log2(determinant / (covariance[0, 0] * covariance[1, 1]))


@pytest.mark.parametrize("snr", [0.05, 0.7, 3.0])
def test_information_is_that_of_independent_correlated_pairs(snr):
    pattern_and_response = np.array([[snr, snr], [snr, snr + 1]])
    expected = 7 * _information_of_correlated_pair(pattern_and_response)
    np.testing.assert_allclose(gaussian_code_information(7, snr), expected)
    mean_and_response = np.array([[snr + 1 / 3, snr], [snr, snr + 1]])
    expected = 7 * _information_of_correlated_pair(mean_and_response)
    np.testing.assert_allclose(gaussian_code_information(7, snr, n_train=3), expected)


def test_training_responses_never_add_information_and_reach_it_in_the_limit():
    full = gaussian_code_information(40, 0.2)
    trained = [gaussian_code_information(40, 0.2, n_train=n) for n in (1, 3, 20, 10**6)]
    assert np.all(np.diff(trained) > 0)
    assert trained[-1] < full
    np.testing.assert_allclose(trained[-1], full, rtol=1e-4)


def test_planted_samples_have_the_information_asked_for():
    information = np.array([0.0, 0.5, 12.0])
    regions = np.arange(243).reshape(3, 81)
    samples = plant_codes(243, list(regions), information, n_runs=1)
    found = gaussian_code_information(81, samples.snr)
    np.testing.assert_allclose(found, information, atol=1e-13)
    in_nats = gaussian_code_information(81, samples.snr, base=np.e)
    np.testing.assert_allclose(in_nats, information * np.log(2), atol=1e-13)


def _accuracy_by_drawing_all_classes(d, snr, k, n_train, rng, n_tasks):
    """Share of responses whose nearest centroid among k is their own."""
    correct = 0
    for _ in range(n_tasks):
        means = np.sqrt(snr) * rng.standard_normal((k, d))
        centroids = means
        if n_train is not None:
            centroids = means + rng.standard_normal((k, d)) / np.sqrt(n_train)
        responses = means + rng.standard_normal((k, d))
        distances = ((responses[:, None] - centroids) ** 2).sum(axis=-1)
        correct += np.sum(distances.argmin(axis=1) == np.arange(k))
    return correct / (n_tasks * k)


@pytest.mark.parametrize("n_train", [None, 2])
@pytest.mark.parametrize("k", [2, 9])
def test_accuracy_equals_drawing_whole_tasks(n_train, k):
    rng = np.random.default_rng(3)
    n_tasks = 6000 // k
    naive = _accuracy_by_drawing_all_classes(12, 0.4, k, n_train, rng, n_tasks)
    exact = gaussian_code_accuracy(12, 0.4, [k], n_train=n_train)[0]
    assert abs(naive - exact) < 5 * 0.5 / np.sqrt(6000) + 0.01


def test_accuracy_at_no_signal_is_chance():
    np.testing.assert_array_equal(gaussian_code_accuracy(5, 0.0, [2, 10]), [0.5, 0.1])
    trained = gaussian_code_accuracy(5, 0.0, [2, 10], n_train=3)
    np.testing.assert_allclose(trained, [0.5, 0.1], atol=0.01)


def test_accuracy_is_repeatable_and_block_free():
    first = gaussian_code_accuracy(300, 0.05, [2, 50], n_draws=9000)
    again = gaussian_code_accuracy(300, 0.05, [2, 50], n_draws=9000)
    np.testing.assert_array_equal(first, again)
    generator = gaussian_code_accuracy(
        300, 0.05, [2, 50], n_draws=9000, random_state=np.random.default_rng(0)
    )
    np.testing.assert_array_equal(first, generator)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: gaussian_code_information(0, 1.0),
            "n_features must be an integer",
        ),
        (lambda: gaussian_code_information(2, -1.0), r"snr=.* must be finite"),
        (lambda: gaussian_code_information(2, 1.0, n_train=0), "n_train must be"),
        (lambda: gaussian_code_accuracy(3, 1.0, [1]), r"set_sizes=.* must be"),
        (lambda: gaussian_code_accuracy(3, np.nan, [2]), r"snr=.* must be finite"),
        (lambda: gaussian_code_accuracy(3, 1.0, [2], n_draws=0), "n_draws must be"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises((TypeError, ValueError), match=message):
        call()
