"""Statistics in units of their largest permuted ones."""

import numpy as np
import pytest

from tests.stats.seam import standardized_by_maxima, standardized_by_region

INF = np.inf


@pytest.mark.parametrize("unlimited", [False, True])
def test_no_labeling_is_preferred_to_be_the_observed_one(unlimited):
    """Exact by enumeration: of n labelings, k as observed give a p of at most k / n."""
    rng = np.random.default_rng(1)
    largest = rng.integers(0, 9, size=(4, 40)) / rng.integers(5, 9, size=(4, 1))
    if unlimited:  # bits
        largest[0, :2] = INF
    p = []
    for observed in range(40):
        others = np.delete(largest, observed, axis=1)
        pairs = [
            standardized_by_maxima(each[[observed]], rest)
            for each, rest in zip(largest, others, strict=True)
        ]
        best = max(score[0] for score, _ in pairs)
        maxima = np.max([rest for _, rest in pairs], axis=0)
        p.append((1 + (maxima >= best).sum()) / 40)
    assert (np.sort(p) >= np.arange(1, 41) / 40 - 1e-12).all()


def test_order_and_ties_stay():
    rng = np.random.default_rng(0)
    score, maxima = rng.integers(0, 6, 50) / 7, rng.integers(3, 9, 30) / 7
    u, v = standardized_by_maxima(score, maxima)
    for values in (score, maxima):
        standard = u if values is score else v
        np.testing.assert_array_equal(
            np.less_equal.outer(standard, v), np.less_equal.outer(values, maxima)
        )
    largest = np.append(u.max(), v)
    np.testing.assert_allclose([largest.mean(), largest.std()], [0, 1], atol=1e-12)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_the_unit_does_not_matter(scale):
    rng = np.random.default_rng(1)
    score, maxima = rng.normal(size=5), rng.normal(size=9)
    expected = standardized_by_maxima(score, maxima)
    found = standardized_by_maxima(3 + scale * score, 3 + scale * maxima)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-6)


def test_unknown_scores_stay_unknown():
    u, _ = standardized_by_maxima(np.array([np.nan, 1.0]), np.array([0.0, 2.0]))
    assert np.isnan(u).tolist() == [True, False]


@pytest.mark.parametrize(
    ("score", "maxima", "expected"),
    [
        ([1.0, 0.5], [1.0, 1.0], ([-INF, -INF], [-INF, -INF])),  # nothing is unusual
        ([INF, 0.0], [INF, INF], ([-INF, -INF], [-INF, -INF])),
        ([INF, 1.0], [1.0, 1.0], ([INF, 0.0], [0.0, 0.0])),
        ([INF, 1.0], [0.0, 2.0], ([INF, 0.0], [-1.0, 1.0])),
    ],
)
def test_infinite_bits_are_the_largest(score, maxima, expected):
    found = standardized_by_maxima(np.array(score), np.array(maxima))
    assert tuple(values.tolist() for values in found) == expected


def test_regions_are_standardized_over_all_labelings():
    score, null = np.array([3.0, 1.0]), np.array([[1.0, 1.0], [2.0, 1.0]])
    found, maxima = standardized_by_region(score, null)
    np.testing.assert_allclose(found, [1.5**0.5, -INF])
    np.testing.assert_allclose(maxima, [-(1.5**0.5), 0.0], atol=1e-12)
