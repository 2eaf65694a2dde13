"""The bivariate normal problem against simulation and closed forms."""

import numpy as np
import pytest

from neuroextrap.datasets import BivariateNormalProblem
from neuroextrap.stats import average_accuracy, win_distribution


@pytest.mark.parametrize("rho", [0.3, 0.7, 0.95])
def test_pairwise_accuracy_is_an_orthant_probability(rho):
    exact = 0.5 + np.arcsin(rho / np.sqrt(2 - rho**2)) / np.pi
    found = BivariateNormalProblem(rho).average_accuracy(2)
    assert found.shape == ()
    np.testing.assert_allclose(found, exact, rtol=1e-9)


@pytest.mark.parametrize("rho", [0.3, 0.7, 0.95])
def test_win_probability_is_the_share_of_other_classes_that_are_further(rho):
    rng = np.random.default_rng(0)
    others = rho * rng.normal(size=200_000)
    for x, y in [(0.4, 1.0), (-1.5, 0.2), (2.0, 2.0)]:
        share = np.mean(np.abs(others - x) > abs(rho * y - x))
        found = BivariateNormalProblem(rho).win_probability(x, y)
        assert abs(found - share) < 4 * 0.5 / np.sqrt(len(others))


@pytest.mark.parametrize("rho", [0.3, 0.7, 0.95])
def test_accuracy_is_the_integral_of_the_distribution(rho):
    problem = BivariateNormalProblem(rho)
    node, weight = np.polynomial.legendre.leggauss(200)
    u, w = (node + 1) / 2, weight / 2
    cdf = problem.conditional_accuracy_cdf(u)
    for k in (2, 5, 30):
        integral = (k - 1) * np.sum(w * cdf * u ** (k - 2))
        np.testing.assert_allclose(problem.average_accuracy(k), 1 - integral, atol=1e-8)


def test_distribution_is_convex_and_runs_from_zero_to_one():
    u = np.linspace(0, 1, 101)
    cdf = BivariateNormalProblem(0.7).conditional_accuracy_cdf(u)
    assert cdf[0] == 0
    np.testing.assert_allclose(cdf[-1], 1, atol=1e-12)
    assert (np.diff(cdf, 2) > -1e-10).all()


def test_sampled_curve_agrees_with_the_exact_one():
    problem, sizes = BivariateNormalProblem(0.8), np.array([2, 5, 20, 60])
    curves = []
    for seed in range(60):
        margins, y = problem.sample(60, n_repeats=2, random_state=seed)
        curves.append(average_accuracy(win_distribution(margins, y), sizes))
    error = np.std(curves, axis=0, ddof=1) / np.sqrt(len(curves))
    gap = np.mean(curves, axis=0) - problem.average_accuracy(sizes)
    assert (np.abs(gap) < 4 * error).all()


def test_far_out_the_curve_falls_like_one_over_k():
    accuracy = BivariateNormalProblem(0.7).average_accuracy([1e4, 1e5, 1e6])
    np.testing.assert_allclose(accuracy[:-1] / accuracy[1:], 10, rtol=0.4)
    assert (np.diff(accuracy) < 0).all()


@pytest.mark.parametrize("rho", [0, 1, -0.5, np.nan])
def test_correlation_out_of_range(rho):
    with pytest.raises(ValueError, match=r"correlation=.* must lie strictly between"):
        BivariateNormalProblem(rho)


def test_other_arguments_out_of_range():
    problem = BivariateNormalProblem(0.5)
    with pytest.raises(ValueError, match=r"n_classes=.* must be at least 2"):
        problem.sample(1)
    with pytest.raises(ValueError, match="n_repeats=0 at least 1"):
        problem.sample(3, n_repeats=0)
    with pytest.raises(ValueError, match=r"u=.* must lie in \[0, 1\]"):
        problem.conditional_accuracy_cdf([0.5, 1.1])
    with pytest.raises(ValueError, match=r"set_sizes=.* must be at least 2"):
        problem.average_accuracy([1])


def test_repr_is_the_call():
    assert repr(BivariateNormalProblem(0.5)) == "BivariateNormalProblem(0.5)"
