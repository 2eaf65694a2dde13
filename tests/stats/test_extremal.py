"""The sharp bound: its channel, constants, inverse and limits."""

import math

import numpy as np
import pytest
from scipy import integrate, optimize

from neuroextrap.stats import fano_information, max_average_accuracy, min_information
from tests.stats.seam import extremal_channel


def naive_channel(tilt, k):
    """Adaptive quadrature in t, for small k: accuracy and nats."""

    def mean(function):
        return integrate.quad(function, 0, 1, epsabs=0, epsrel=1e-12, limit=300)[0]

    z = mean(lambda t: math.exp(tilt * (t ** (k - 1) - 1)))
    accuracy = mean(lambda t: math.exp(tilt * (t ** (k - 1) - 1)) * t ** (k - 1)) / z
    return accuracy, tilt * accuracy - tilt - math.log(z)


@pytest.mark.parametrize("k", [2, 3, 20])
@pytest.mark.parametrize("tilt", [1e-3, 0.5, 7.0, 39.9, 40.1, 300.0])
def test_channel_equals_adaptive_quadrature(k, tilt):
    excess, lost, _, nats = extremal_channel(np.array([tilt]), k)[:, 0]
    accuracy, naive_nats = naive_channel(tilt, k)
    np.testing.assert_allclose([excess + 1 / k, 1 - lost], accuracy, rtol=1e-11)
    np.testing.assert_allclose(nats, naive_nats, rtol=1e-8, atol=1e-13)


@pytest.mark.parametrize("k", [2, 20, 1e6, 1e12])
@pytest.mark.parametrize("edge", [1e-3, 40.0])
def test_regimes_meet(k, edge):
    below, above = extremal_channel(edge * np.array([1 - 1e-12, 1 + 1e-12]), k).T
    np.testing.assert_allclose(below, above, rtol=1e-9)


@pytest.mark.parametrize("k", [2, 20, 1e6])
@pytest.mark.parametrize("tilt", [1e-4, 0.3, 5.0, 100.0])
def test_slopes(k, tilt):
    # dC/dc is the variance and dI/dC is the tilt itself
    step = 1e-4 * tilt
    low, middle, high = extremal_channel(tilt + step * np.array([-1.0, 0.0, 1.0]), k).T
    change = high[0] - low[0]
    np.testing.assert_allclose(change / (2 * step), middle[2], rtol=1e-6)
    np.testing.assert_allclose((high[3] - low[3]) / change, tilt, rtol=1e-6)


def test_reference_constants():
    nats = min_information([0.1, 0.5, 0.9, 0.99], 20, base=math.e)
    np.testing.assert_allclose(
        nats, [0.039551, 1.415258, 4.137655, 6.540039], atol=1e-6
    )
    nats = min_information([0.1, 0.5, 0.9, 0.99], 1000, base=math.e)
    np.testing.assert_allclose(
        nats, [0.532459, 3.797374, 8.057941, 10.501833], atol=1e-6
    )
    nats = min_information(0.5, [1e6, 1e12], base=math.e)
    np.testing.assert_allclose(nats, [7.586746, 14.823494], atol=1e-6)


@pytest.mark.parametrize("k", [2, 8, 1000, 1e12])
def test_equals_root_finding(k):
    excess = np.geomspace(1e-6, 0.9, 12) * (1 - 1 / k)
    accuracy = np.concatenate([1 / k + excess, 1 - np.geomspace(1e-9, 0.05, 6)])
    naive = []
    for a in accuracy:
        target = math.log((a - 1 / k) / (1 - a))

        def miss(u, target=target):
            above, lost, _, _ = extremal_channel(np.array([math.exp(u)]), k)[:, 0]
            return math.log(above) - math.log(lost) - target

        tilt = math.exp(optimize.brentq(miss, -18, 38, xtol=1e-14))
        naive.append(extremal_channel(np.array([tilt]), k)[3, 0])
    np.testing.assert_allclose(
        min_information(accuracy, k, base=math.e), naive, rtol=1e-9
    )


@pytest.mark.parametrize("k", [2, 5, 300, 1e9])
def test_inverse_of_each_other(k):
    accuracy = np.concatenate(
        [
            1 / k + (1 - 1 / k) * np.geomspace(1e-6, 0.9, 30),
            1 - np.geomspace(1e-9, 0.1, 9),
        ]
    )
    back = max_average_accuracy(min_information(accuracy, k), k)
    np.testing.assert_allclose(back, accuracy, rtol=1e-12)
    bits = np.geomspace(1e-9, 25, 30)
    np.testing.assert_allclose(
        min_information(max_average_accuracy(bits, k), k), bits, rtol=1e-6, atol=1e-12
    )


def test_channel_attains_the_bound():
    # x uniform, y = x + wrapped noise of density Q; the best of k uniform classes
    k, tilt = 4, 6.0
    t = (np.arange(4000) + 0.5) / 4000
    density = np.exp(tilt * t ** (k - 1))
    density /= density.mean()
    nats = np.mean(density * np.log(density))
    # the likelihoods of k classes are Q at independent uniforms: the largest of
    # them is Q(max), max having density k t**(k-1)
    accuracy = np.mean(density * t ** (k - 1))
    np.testing.assert_allclose(
        max_average_accuracy(nats, k, base=math.e), accuracy, rtol=1e-6
    )
    rng = np.random.default_rng(0)
    best = np.interp(rng.random((200_000, k)).max(axis=1), t, density).mean() / k
    np.testing.assert_allclose(best, accuracy, rtol=0.01)


def test_exceeds_fano_and_has_the_known_asymptote():
    accuracy = np.linspace(0.06, 0.999, 50)
    assert (min_information(accuracy, 20) >= fano_information(accuracy, 20)).all()
    a = 1 - 1e-6
    np.testing.assert_allclose(
        min_information(a, 50, base=math.e), math.log(49 / (1 - a)) - 1, atol=1e-4
    )


def test_extremes_shapes_and_missing():
    values = min_information([0.0, 0.05, 1.0, np.nan], 20)
    np.testing.assert_array_equal(values, [0, 0, np.inf, np.nan])
    values = max_average_accuracy([0.0, np.inf, 1e4, np.nan], 20)
    np.testing.assert_array_equal(values, [0.05, 1, 1, np.nan])
    assert min_information(0.5, 20).shape == ()
    assert max_average_accuracy(np.ones((3, 1)), [2, 5]).shape == (3, 2)


@pytest.mark.parametrize(
    ("function", "value", "k", "message"),
    [
        (min_information, 1.5, 2, "accuracy must lie in"),
        (min_information, 0.5, 1, "n_classes must be"),
        (max_average_accuracy, -1, 2, "information must not be negative"),
        (max_average_accuracy, 1, np.nan, "n_classes must be"),
    ],
)
def test_refuses(function, value, k, message):
    with pytest.raises(ValueError, match=message):
        function(value, k)
    with pytest.raises(ValueError, match="base must be"):
        function(0.5, 2, base=1)


@pytest.mark.parametrize("k", [2, 8, 1000])
def test_tiny_information_raises_accuracy_by_its_root(k):
    """Accuracy is 1/k + c sqrt(information) near zero, however near."""
    bits = 4.0 ** -np.arange(20, 45)
    above = max_average_accuracy(bits, k) - 1 / k
    resolved = above > 1e6 * np.finfo(float).eps  # of 1 / k
    assert resolved.sum() >= 6
    ratios = (above[:-1] / above[1:])[resolved[1:]]
    np.testing.assert_allclose(ratios, 2, rtol=3e-5)
