"""A design of forward tests says of outcomes in one row what the formulas say."""

import numpy as np
import pytest

from neuroextrap.stats import forward_bayes_accuracy_lower_bound, forward_e_value
from tests.stats.seam import ForwardDesign

N_UNITS = np.array([[6, 8, 7], [8, 7, 6]])
WEIGHTS = 1.1 / N_UNITS
FIRST = np.array([0, 1])


def design(**options):
    options = {"unit_weights": WEIGHTS, "first_steps": FIRST, "noise": 0.1} | options
    return ForwardDesign(n_units=N_UNITS, **options)


def outcomes(n_regions=4, accuracy=0.8):
    rng = np.random.default_rng(2)
    right = rng.binomial(N_UNITS - 1, accuracy, size=(n_regions, 2, 3)) / 1.1
    right[0, :, 1] = 0
    return right.astype(np.float32)


def test_bound():
    right = outcomes()
    found = design().bayes_accuracy_bound(
        right.reshape(4, 6), confidence_level=0.9, n_regions=50
    )
    expected = forward_bayes_accuracy_lower_bound(
        right.astype(float),
        N_UNITS,
        first_steps=FIRST,
        confidence_level=0.9,
        n_regions=50,
        unit_weights=WEIGHTS,
    )
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert design().n_sums == 6
    alone = design().bayes_accuracy_bound(right.reshape(4, 6), confidence_level=0.9)
    for n_regions, bound in ((1, alone), (50, found)):
        one = forward_bayes_accuracy_lower_bound(
            right.astype(float),
            N_UNITS,
            first_steps=FIRST,
            confidence_level=1 - 0.1 / n_regions,
            unit_weights=WEIGHTS,
        )
        np.testing.assert_allclose(bound, one, rtol=1e-12)
    assert (alone > found).any()


def test_e_value():
    right = outcomes()
    found = design().e_value(right.reshape(4, 6), 0.3)
    expected = forward_e_value(
        right.astype(float), N_UNITS, 0.3, first_steps=FIRST, unit_weights=WEIGHTS
    )
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_chronological_e_values_come_from_runs_of_their_own():
    right, in_time = outcomes(), outcomes(accuracy=0.6)[:, 0, [0, 1, 2, 1]]
    units = N_UNITS[0, [0, 1, 2, 1]]
    counted = design(chronological=np.stack([units, 1.1 / units]))
    row = np.concatenate([right.reshape(4, 6), in_time], axis=1)
    assert counted.n_sums == row.shape[1]
    expected = forward_e_value(
        in_time[:, None].astype(float), units, 0.3, unit_weights=1.1 / units
    )
    np.testing.assert_allclose(counted.e_value(row, 0.3), expected, rtol=1e-12)
    bound = counted.bayes_accuracy_bound(row, confidence_level=0.9)
    alone = design().bayes_accuracy_bound(right.reshape(4, 6), confidence_level=0.9)
    np.testing.assert_array_equal(bound, alone)


def test_chronological_e_values_of_a_start_that_moved_are_refused():
    with pytest.raises(ValueError, match="not valid when runs are added; fit again"):
        design(chronological=True).e_value(outcomes().reshape(4, 6), 0.3)


def test_an_e_value_fits_into_an_image():
    units = np.full((1, 2), 200)
    sure = ForwardDesign(units, 1 / units, np.array([0]), 0.1)
    assert sure.e_value([200.0, 200.0], 0.01).tolist() == [1e37]
    assert 1 < sure.e_value([9.0, 9.0], 0.01)[0] < 1e37


def test_rounding_cannot_exceed_what_can_be_right():
    perfect = np.float32(1 / WEIGHTS) * np.float32(1 + 1e-7)
    exact = design().bayes_accuracy_bound(1 / WEIGHTS, confidence_level=0.95)
    rounded = design().bayes_accuracy_bound(perfect, confidence_level=0.95)
    np.testing.assert_allclose(rounded, exact, rtol=1e-12)
    assert exact[0] > 0.5
