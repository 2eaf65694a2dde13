"""Simulated scans: is the stated information the true one?"""

import numpy as np
import pytest

from neuroextrap.learning_curves import (
    compare_learning_curves,
    fine_probabilities,
    information_learning_curve,
    prediction_information,
    simulate_hierarchical_scans,
)
from tests.learning_curves.seam import binary_gaussian_information, center_groups


@pytest.mark.parametrize("separation", [0.5, 1.5, 4.0])
def test_binary_information_against_simulation(separation):
    rng = np.random.default_rng(0)
    x = separation / 2 + rng.standard_normal(400_000)  # samples of the right class
    each = 1 - np.log2(1 + np.exp(-separation * x))
    error = each.std() / np.sqrt(len(x))
    assert abs(binary_gaussian_information(separation) - each.mean()) < 4 * error


def test_stated_information_is_what_the_true_distribution_tells():
    """Score the posterior of the true means and variances on centered scans."""
    gap = (2.0, 1.0)
    data = simulate_hierarchical_scans(
        n_subjects=20_000,
        n_repeats=2,
        n_features=2,
        coarse_separation=gap[0],
        fine_separation=gap[1],
        random_state=3,
    )
    X = center_groups(data.X, data.groups)
    names, codes = np.unique(data.fine, return_inverse=True)
    means = np.array([X[codes == g].mean(axis=0) for g in range(4)])
    logs = -0.5 * np.sum((X[:, None] - means) ** 2, axis=2) / (1 - 1 / 8)
    logs -= np.logaddexp.reduce(logs, axis=1, keepdims=True)
    found = prediction_information(logs, codes, priors=[0.25] * 4, log=True)
    assert found == pytest.approx(data.fine_information, abs=0.01)
    assert names[0] == "A1"
    coarse = np.stack(
        [np.logaddexp(logs[:, 0], logs[:, 1]), np.logaddexp(logs[:, 2], logs[:, 3])],
        axis=1,
    )
    found = prediction_information(coarse, codes // 2, priors=[0.5, 0.5], log=True)
    assert found == pytest.approx(data.coarse_information, abs=0.01)
    # a coarse model translated to fine labels tells exactly the same
    fine = fine_probabilities(np.exp(coarse), range(4), [0, 0, 1, 1], [0.25] * 4)
    assert prediction_information(fine, codes, priors=[0.25] * 4) == pytest.approx(
        found
    )


@pytest.mark.parametrize(
    "seed", [0, 1, 2, *(pytest.param(s, marks=pytest.mark.slow) for s in (3, 4, 5))]
)
def test_curves_stay_below_the_known_information_and_cross(seed):
    """Two labels win with few subjects, four with many, in every data set."""
    data = simulate_hierarchical_scans(random_state=seed)
    options = {"n_splits": 20, "train_sizes": [4, 13, 16], "pattern": None}
    options["prior_weight"] = None
    curves = {
        name: information_learning_curve(data.X, labels, data.groups, **options)
        for name, labels in (("two", data.coarse), ("four", data.fine))
    }
    found = compare_learning_curves(curves)
    assert found.best[0] == "two"
    assert found.best[-1] == "four"
    assert len(found.crossings) == 1
    assert found.crossings[0]["before"] == "two"
    assert curves["two"].information[-1].mean() < data.coarse_information
    assert curves["four"].information[-1].mean() < data.fine_information


def test_same_seed_same_scans():
    first, again = (simulate_hierarchical_scans(n_subjects=2) for _ in range(2))
    np.testing.assert_array_equal(first.X, again.X)
    assert np.any(
        simulate_hierarchical_scans(n_subjects=2, random_state=1).X != first.X
    )
