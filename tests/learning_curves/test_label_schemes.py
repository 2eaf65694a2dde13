"""Label schemes and their translation."""

import numpy as np
import pytest

from neuroextrap.learning_curves import (
    fine_probabilities,
    prediction_information,
)
from tests.learning_curves.seam import agnostic_labels


def test_translation_leaves_information_unchanged():
    """With unequal fine priors too, where even spreading would change it."""
    rng = np.random.default_rng(0)
    mapping, fine_priors = (
        np.array([1, 0, 0, 1, 1]),
        np.array([0.1, 0.2, 0.3, 0.3, 0.1]),
    )
    coarse_priors = np.bincount(mapping, weights=fine_priors)
    fine = rng.choice(5, size=200, p=fine_priors)
    p = rng.dirichlet([1, 1], size=200)
    coarse = prediction_information(p, mapping[fine], priors=coarse_priors)
    translated = fine_probabilities(p, range(5), mapping, fine_priors)
    np.testing.assert_allclose(translated.sum(axis=1), 1)
    assert prediction_information(
        translated, fine, priors=fine_priors
    ) == pytest.approx(coarse, abs=1e-12)
    even = p[:, mapping] / np.bincount(mapping)[mapping]
    assert abs(prediction_information(even, fine, priors=fine_priors) - coarse) > 0.01


def test_mapping_is_read_from_the_labels():
    fine, priors = np.array(["B1", "A1", "A2", "B1", "B2"]), [0.25] * 4
    np.testing.assert_allclose(
        fine_probabilities([[0.8, 0.2]], fine, ["B", "A", "A", "B", "B"], priors),
        [[0.4, 0.4, 0.1, 0.1]],
    )
    with pytest.raises(ValueError, match=r"'B1' belongs to several coarse"):
        fine_probabilities([[0.8, 0.2]], fine, ["B", "A", "A", "A", "B"], priors)


def test_agnostic_labels_count_within_subjects():
    np.testing.assert_array_equal(agnostic_labels([3, 3, 1, 3, 1]), [0, 1, 0, 2, 1])


def test_labels_are_those_of_all_columns():
    with pytest.raises(ValueError, match=r"each of the 2 columns of .* got 1"):
        fine_probabilities([[0.5, 0.5]], ["a", "b"], [0, 0], [0.5, 0.5])
    with pytest.raises(ValueError, match=r"priors=.* must be positive"):
        fine_probabilities([[0.5, 0.5]], ["a", "b"], [0, 1], [0.5, 0.6])
