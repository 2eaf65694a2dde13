"""Probit-normal win probabilities: tables, single fits, batched fits."""

import itertools

import numpy as np
import pytest
from scipy import integrate, optimize, special, stats

from neuroextrap.stats import (
    average_accuracy,
    gaussian_identification_accuracy,
    win_distribution,
)
from tests.stats.seam import (
    AccuracyExtrapolator,
    GaussianMixture,
    LeftOut,
    WinSample,
    _gaussian,
    binomial_table,
    extrapolate_wins,
    invert_gaussian_accuracy,
    log_spaced_set_sizes,
    minimize_pairs,
    power_table,
    table_derivatives,
    table_means,
)


def random_wins(n_regions, n_classes, n_test, seed):
    rng = np.random.default_rng(seed)
    mean = rng.normal(0.8, 0.8, n_regions)
    spread = np.exp(rng.normal(0, 0.3, n_regions))
    w = mean[:, None] + spread[:, None] * rng.normal(size=(n_regions, n_test))
    beaten = rng.binomial(n_classes - 1, special.ndtr(w))
    wins = np.zeros((n_regions, n_classes))
    np.add.at(wins, (np.arange(n_regions)[:, None], beaten), 1 / n_test)
    return wins


@pytest.mark.parametrize(
    ("mean", "sd", "k"),
    [(2, 1, 20), (0, 1, 1000), (1, 0.3, 50), (3, 2.5, 1e6), (-2, 1, 2), (7, 1, 1e12)],
)
def test_powers_equal_adaptive_quadrature(mean, sd, k):
    def integrand(w):
        return np.exp((k - 1) * special.log_ndtr(w)) * stats.norm.pdf(w, mean, sd)

    edge = -special.ndtri(1 / k)
    cuts = np.unique(np.clip(np.linspace(edge - 4, edge + 4, 17), mean - 12 * sd, None))
    cuts = np.r_[mean - 12 * sd, cuts, max(cuts[-1] + 1, mean + 12 * sd)]
    exact = sum(
        integrate.quad(integrand, a, b, epsabs=1e-15, epsrel=1e-12)[0]
        for a, b in itertools.pairwise(cuts)
        if b > a
    )
    found = table_means(power_table([k]), mean, np.log(sd))[0, 0]
    np.testing.assert_allclose(found, exact, atol=1e-13)


@pytest.mark.parametrize(("c", "k"), [(4, 1e12), (7, 1e12), (2, 20)])
def test_powers_equal_the_high_dimensional_limit(c, k):
    information = c**2 / 2 / np.log(2)
    expected = gaussian_identification_accuracy(information, k)
    found = table_means(power_table([k]), c, 0.0)[0, 0]
    np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_binomial_probabilities_sum_to_one_and_equal_quadrature():
    mean, sd, n_classes = 0.5, 0.8, 7
    found = table_means(binomial_table(n_classes), mean, np.log(sd))[0]
    exact = [
        integrate.quad(
            lambda w, v=v: (
                stats.binom.pmf(v, n_classes - 1, special.ndtr(w))
                * stats.norm.pdf(w, mean, sd)
            ),
            mean - 10 * sd,
            mean + 10 * sd,
        )[0]
        for v in range(n_classes)
    ]
    np.testing.assert_allclose(found, exact, atol=1e-9)
    np.testing.assert_allclose(found.sum(), 1, atol=1e-12)


@pytest.mark.parametrize("table", [power_table([2, 7, 100]), binomial_table(9)])
@pytest.mark.parametrize(("m", "s"), [(0.7, 0.2), (-0.5, -0.6)])
def test_derivatives_equal_finite_differences(table, m, s):
    m, s, e = np.array([m]), np.array([s]), 1e-4
    found = table_derivatives(table, m, s)

    def at(a, b):
        return table_means(table, m + a * e, s + b * e)

    np.testing.assert_allclose(found[0], at(0, 0), atol=1e-15)
    np.testing.assert_allclose(found[1], (at(1, 0) - at(-1, 0)) / 2 / e, atol=1e-7)
    np.testing.assert_allclose(found[2], (at(0, 1) - at(0, -1)) / 2 / e, atol=1e-7)
    second = (at(1, 0) + at(-1, 0) - 2 * at(0, 0)) / e**2
    np.testing.assert_allclose(found[3], second, atol=1e-6)
    mixed = (at(1, 1) - at(1, -1) - at(-1, 1) + at(-1, -1)) / 4 / e**2
    np.testing.assert_allclose(found[4], mixed, atol=1e-6)
    second = (at(0, 1) + at(0, -1) - 2 * at(0, 0)) / e**2
    np.testing.assert_allclose(found[5], second, atol=1e-6)


def test_newton_finds_minima_inside_and_on_the_bounds():
    rng = np.random.default_rng(0)
    targets = rng.normal(scale=2, size=(40, 2))

    def rosenbrock(points, rows):
        x, y = (points - targets[rows]).T
        gap = y - x * x
        value = x**2 + 10 * gap**2
        gradient = np.stack([2 * x - 40 * x * gap, 20 * gap], 1)
        corner = np.full_like(x, 20.0)
        hessian = np.stack([2 - 40 * gap + 80 * x * x, -40 * x, -40 * x, corner], 1)
        return value, gradient, hessian.reshape(-1, 2, 2)

    wide, done = minimize_pairs(rosenbrock, np.zeros((40, 2)), [-20, -20], [20, 20])
    assert done.all()
    np.testing.assert_allclose(wide, targets, atol=1e-7)
    _, unfinished = minimize_pairs(
        rosenbrock, np.zeros((40, 2)), [-20, -20], [20, 20], max_iter=1
    )
    assert not unfinished.any()
    narrow, done = minimize_pairs(rosenbrock, np.zeros((40, 2)), [-1, -1], [1, 1])
    assert done.all()
    for i in range(0, 40, 8):
        row = np.array([i])
        twin = optimize.minimize(
            lambda p, row=row: rosenbrock(p[None], row)[0][0],
            narrow[i] * 0.9,
            bounds=[(-1, 1)] * 2,
            options={"ftol": 1e-14, "gtol": 1e-10},
        )
        value = rosenbrock(narrow[i : i + 1], row)[0][0]
        assert value <= twin.fun + 1e-8


def test_inverse_of_the_limit_is_exact_and_zero_at_chance():
    shift = np.linspace(-1.5, 6, 30)
    accuracy = table_means(power_table([50]), shift, 0 * shift)[:, 0]
    np.testing.assert_allclose(
        invert_gaussian_accuracy(accuracy, 50), shift, atol=1e-10
    )
    np.testing.assert_allclose(invert_gaussian_accuracy([1 / 50], 50), 0, atol=1e-12)
    reference = invert_gaussian_accuracy([0.5], 1000)
    np.testing.assert_allclose(reference, 3.236254783, atol=1e-9)


@pytest.mark.parametrize("n_classes", [2, 20, 500])
def test_gaussian_at_all_classes_is_the_identity(n_classes):
    wins = random_wins(5, n_classes, 100, 1)
    for row in wins:
        if 0.005 <= row[-1] <= 0.995:
            model = AccuracyExtrapolator("gaussian").fit_wins(row, 100)
            np.testing.assert_allclose(model.predict(n_classes), row[-1], atol=1e-12)


@pytest.mark.filterwarnings("ignore:the true class beats:UserWarning")
def test_gaussian_clips_zero_and_one_to_half_a_test_point():
    for place, expected in ((-1, 1 - 1 / 80), (0, 1 / 80)):
        wins = np.eye(10)[place]
        model = AccuracyExtrapolator("gaussian").fit_wins(wins, 40)
        np.testing.assert_allclose(model.predict(10), expected, atol=1e-12)


def curve_twin(wins):
    """Least squares over (mu, log nu) by scipy, integrals by Gauss-Hermite."""
    sizes = log_spaced_set_sizes(len(wins), 100)
    curve = average_accuracy(wins, sizes)
    z, weight = np.polynomial.hermite_e.hermegauss(180)
    weight = weight / weight.sum()

    def model(point, k):
        log_win = special.log_ndtr(point[0] + np.exp(point[1]) * z)
        return np.exp(np.multiply.outer(np.asarray(k) - 1.0, log_win)) @ weight

    starts = ([0.5, 0.0], [1.5, -0.3], [0.5, 0.5])
    fits = [
        optimize.least_squares(
            lambda p: model(p, sizes) - curve, s, xtol=1e-15, ftol=1e-15, gtol=1e-15
        )
        for s in starts
    ]
    return model, min(fits, key=lambda f: f.cost).x


@pytest.mark.parametrize("seed", range(4))
def test_curve_fit_equals_scipy(seed):
    wins = random_wins(1, 60, 80, seed)[0]
    model, best = curve_twin(wins)
    found = AccuracyExtrapolator("gaussian_mixture").fit_wins(wins, 80)
    assert found.certificate_["converged"]
    sizes = [10, 60, 600]
    np.testing.assert_allclose(found.predict(sizes), model(best, sizes), atol=1e-5)


@pytest.mark.parametrize("seed", range(4))
def test_ridge_likelihood_fit_equals_scipy(seed):
    n_classes, n_test, scale = 20, 60, 0.3
    wins = random_wins(1, n_classes, n_test, 10 + seed)[0]
    w = np.linspace(-8, 8, 2001)
    outcomes = stats.binom.pmf(
        np.arange(n_classes), n_classes - 1, special.ndtr(w)[:, None]
    )

    def loss(point):
        density = stats.norm.pdf(w, point[0], np.exp(point[1])) * (w[1] - w[0])
        return (
            -n_test * wins @ np.log(density @ outcomes) + point[1] ** 2 / 2 / scale**2
        )

    best = optimize.minimize(loss, [0.5, 0.0], options={"gtol": 1e-9}).x
    found, converged = GaussianMixture(ridge_scale=scale).fit_many(
        wins[None], np.array([n_test])
    )
    assert converged.all()
    np.testing.assert_allclose(found[0], best, atol=1e-5)


@pytest.mark.filterwarnings("ignore:the true class beats:UserWarning")
@pytest.mark.parametrize("n_classes", [2, 3, 20, 120])
@pytest.mark.parametrize("method", ["auto", "gaussian", "gaussian_mixture"])
def test_batched_extrapolation_equals_single_fits(method, n_classes):
    wins = random_wins(9, n_classes, 50, 3)
    wins[0] = np.eye(n_classes)[-1]
    wins[1] = np.eye(n_classes)[0]
    wins[2] = 1 / n_classes
    sizes = [n_classes, 1.5 * n_classes, 1000, 10_000]
    together = extrapolate_wins(wins, 50, sizes, method=method)
    single = [
        AccuracyExtrapolator(method).fit_wins(row, 50).predict(sizes) for row in wins
    ]
    np.testing.assert_allclose(together, single, atol=1e-6)


def test_batched_extrapolation_keeps_missing_regions_and_scalar_sizes():
    wins = random_wins(3, 12, 30, 4)
    wins[1] = np.nan
    found = extrapolate_wins(wins, [30, 30, 60], 100.0)
    assert found.shape == (3,)
    np.testing.assert_array_equal(np.isnan(found), [False, True, False])


def test_batched_extrapolation_of_nothing_is_missing():
    assert np.isnan(extrapolate_wins(np.full((2, 12), np.nan), 30, [20, 50])).all()


def test_batched_extrapolation_does_not_depend_on_its_batches(monkeypatch):
    wins = random_wins(40, 30, 50, 5)
    whole = extrapolate_wins(wins, 50, [30, 500])
    monkeypatch.setattr(_gaussian, "_BATCH", 7)
    np.testing.assert_allclose(extrapolate_wins(wins, 50, [30, 500]), whole, atol=1e-9)


def test_two_parameters_recover_their_own_curve():
    """Exact wins of a probit-normal law with nu = 0.6, extrapolated 1000 times."""
    mean, sd, n_classes = 1.8, 0.6, 100
    wins = table_means(binomial_table(n_classes), mean, np.log(sd))[0]
    truth = table_means(power_table([1e5]), mean, np.log(sd))[0]
    for loss, atol in (("curve", 1e-6), ("likelihood", 2e-4)):
        model = AccuracyExtrapolator("gaussian_mixture", loss=loss)
        model.fit_wins(wins / wins.sum(), 10**6)
        np.testing.assert_allclose(model.predict([1e5]), truth, atol=atol)


def test_wins_of_one_region_and_the_default_loss():
    margins = np.random.default_rng(0).normal(size=(51, 51))
    np.fill_diagonal(margins, 1.5)
    wins = win_distribution(margins, np.arange(51))
    many = AccuracyExtrapolator("gaussian_mixture").fit_wins(wins, 51)
    curve = AccuracyExtrapolator("gaussian_mixture", loss="curve").fit_wins(wins, 51)
    assert many.predict(500) == curve.predict(500)
    few = WinSample.from_margins(margins[:50, :50], np.arange(50))
    assert not GaussianMixture().fit(few).of_curve_
    # parts of 50 classes are fitted as the whole of 51 is
    sample = WinSample.from_margins(margins, np.arange(51))
    refits = GaussianMixture().fit(sample).refits(LeftOut(sample, 100))
    assert all(part.of_curve_ for part in refits)


def test_options_and_arguments_out_of_range():
    with pytest.raises(ValueError, match="loss='mean' must be one of"):
        AccuracyExtrapolator("gaussian_mixture", loss="mean")
    with pytest.raises(ValueError, match="ridge_scale must be positive"):
        AccuracyExtrapolator("gaussian_mixture", ridge_scale=0)
    wins = np.full((2, 4), 0.25)
    with pytest.raises(ValueError, match="must be one of"):
        extrapolate_wins(wins, 10, [5], method="spline")
    with pytest.raises(ValueError, match=r"wins must have shape \(n_regions"):
        extrapolate_wins(wins[0], 10, [5])
    with pytest.raises(ValueError, match=r"n_test be one number"):
        extrapolate_wins(wins, [10, 10, 10], [5])
    with pytest.raises(ValueError, match="n_test must be at least 1"):
        extrapolate_wins(wins, 0, [5])
    with pytest.raises(ValueError, match="set_sizes must be at least 2"):
        extrapolate_wins(wins, 10, [1])
    with pytest.raises(ValueError, match="sum to one"):
        extrapolate_wins(wins * 2, 10, [5])
