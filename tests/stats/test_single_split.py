"""Bounds on a success rate against scipy, their definition and enumeration."""

import numpy as np
import pytest
from scipy.stats import binom, binomtest

from neuroextrap.stats._single_split import clopper_pearson_lower, kl_lower


@pytest.mark.parametrize("n_test", [1, 7, 96])
@pytest.mark.parametrize("alpha", [0.05, 0.001])
def test_clopper_pearson_equals_scipy(n_test, alpha):
    counts = np.arange(n_test + 1)
    expected = [
        binomtest(int(count), n_test, alternative="greater")
        .proportion_ci(confidence_level=1 - alpha, method="exact")
        .low
        for count in counts
    ]
    lower = clopper_pearson_lower(counts.astype(float), n_test, alpha)
    np.testing.assert_allclose(lower, expected, atol=1e-12)


def test_kl_bound_solves_its_equation():
    share = np.array([0.1, 0.5, 0.9, 1.0])
    lower = kl_lower(share, 50, np.log(20))
    with np.errstate(divide="ignore", invalid="ignore"):
        gain = share * np.log(share / lower)
        loss = np.where(share < 1, (1 - share) * np.log((1 - share) / (1 - lower)), 0)
    np.testing.assert_allclose(50 * (gain + loss), np.log(20), rtol=1e-9)


def test_published_values():
    """Eight classes, twelve repeats, 91 of 96 right: .894 and .874 at 95%."""
    assert clopper_pearson_lower(np.array(91.0), 96, 0.05).round(3) == 0.894
    assert kl_lower(np.array(91 / 96), 96, np.log(20)).round(3) == 0.874


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.93])
def test_each_misses_at_most_as_often_as_said(rate):
    """By enumeration of the binomial law, no simulation."""
    counts = np.arange(61.0)
    chance = binom.pmf(counts, 60, rate)
    assert chance[clopper_pearson_lower(counts, 60, 0.05) > rate].sum() <= 0.05
    assert chance[kl_lower(counts / 60, 60, np.log(20)) > rate].sum() <= 0.05


def test_nothing_and_unknown():
    assert clopper_pearson_lower(np.array(0.0), 5, 0.05) == 0
    assert np.isnan(clopper_pearson_lower(np.array(np.nan), 5, 0.05))
    assert kl_lower(np.array(0.0), 5, 3.0) == 0
    assert np.isnan(kl_lower(np.array(np.nan), 5, 3.0))
