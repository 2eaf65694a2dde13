"""Methods that regress the curve on a dictionary, against plain least squares."""

import itertools

import numpy as np
import pytest
from scipy import integrate, optimize, special, stats

from neuroextrap.stats import (
    average_accuracy,
    average_risk,
    extrapolate_risk,
    win_distribution,
)
from tests.stats.seam import (
    AccuracyExtrapolator,
    Moment,
    ProbitBasis,
    RadialBasis,
    SplineBasis,
    UniformWins,
    WinSample,
    basis_moments,
    binomial_table,
    equispaced_set_sizes,
    log_spaced_set_sizes,
    radial_columns,
    radial_knots,
    simplex_least_squares,
    table_means,
)


def noisy_margins(n_classes, strength, seed, n_repeats=1):
    y = np.repeat(np.arange(n_classes), n_repeats)
    margins = np.random.default_rng(seed).normal(size=(len(y), n_classes))
    margins[np.arange(len(y)), y] += strength
    return margins, y


@pytest.mark.parametrize("seed", range(10))
def test_simplex_least_squares_beats_every_support(seed):
    """Brute force: solve the equality-constrained problem on every support."""
    rng = np.random.default_rng(seed)
    columns, target = rng.normal(size=(4, 6)), rng.normal(size=4)
    best = np.inf
    for size in range(1, 6):
        for support in itertools.combinations(range(6), size):
            part = columns[:, support]
            system = np.block(
                [[part.T @ part, np.ones((size, 1))], [np.ones((1, size)), 0]]
            )
            answer = np.linalg.lstsq(system, np.r_[part.T @ target, 1], rcond=None)[0]
            w = answer[:-1]
            if (w >= -1e-9).all() and abs(w.sum() - 1) < 1e-9:
                best = min(best, np.sum((part @ w - target) ** 2) / 2)
    weights, gap = simplex_least_squares(columns, target)
    assert (weights >= 0).all()
    np.testing.assert_allclose(weights.sum(), 1, atol=1e-12)
    reached = np.sum((columns @ weights - target) ** 2) / 2
    np.testing.assert_allclose(reached, best, atol=1e-9)
    assert reached - best <= gap + 1e-12
    assert gap < 1e-9


def test_the_gap_bounds_what_any_other_point_gains():
    rng = np.random.default_rng(1)
    columns, target = rng.random((30, 50)), rng.random(30)
    weights, _ = simplex_least_squares(columns, target)
    reached = np.sum((columns @ weights - target) ** 2)
    for _ in range(300):
        other = rng.dirichlet(np.full(50, 0.1))
        assert np.sum((columns @ other - target) ** 2) >= reached - 1e-12


@pytest.mark.parametrize("distance", [1.0, 0.3, 1e-3, 1e-9, 0.0])
@pytest.mark.parametrize("k", [2, 50, 1e9])
def test_uniform_columns_equal_their_integral(distance, k):
    found = UniformWins.curves(np.array([distance]), [k])[0, 0]
    if distance == 0:
        assert found == 1
        return
    x = np.linspace(0, distance, 400_001)[1:] - distance / 800_000
    np.testing.assert_allclose(
        found, np.mean(np.exp((k - 1) * np.log1p(-x))), rtol=2e-4, atol=1e-12
    ) if k * distance < 1e3 else np.testing.assert_allclose(found * k * distance, 1)


def test_spline_equals_bounded_least_squares_on_few_knots():
    """The textbook form: beta >= 0 on max(u - a, 0), sum beta (1 - a) <= 1."""
    margins, y = noisy_margins(30, 1.5, 0)
    model = AccuracyExtrapolator("spline", n_knots=12).fit(margins, y)
    sizes = log_spaced_set_sizes(30, 200)
    curve = average_accuracy(win_distribution(margins, y), sizes)
    knots = 1 - np.geomspace(1, 1e-5 / 30, 12)
    columns = (
        (sizes[:, None] - 1) / sizes[:, None]
        - knots
        + (knots ** sizes[:, None]) / sizes[:, None]
    )
    loss = lambda b: np.sum((columns @ b - (1 - curve)) ** 2)  # noqa: E731
    slack = {"type": "ineq", "fun": lambda b: 1 - b @ (1 - knots)}
    twin = optimize.minimize(
        loss,
        np.full(12, 0.05),
        jac=lambda b: 2 * columns.T @ (columns @ b - (1 - curve)),
        bounds=[(0, None)] * 12,
        constraints=[slack],
        options={"ftol": 1e-15, "maxiter": 2000},
    )
    reached = np.sum((model.predict(sizes) - curve) ** 2)
    assert reached <= twin.fun + 1e-9
    assert model.conditional_accuracy_cdf(1.0) <= 1 + 1e-12


@pytest.mark.parametrize("name", ["spline", "exponential"])
def test_mixtures_stay_below_one_and_above_zero_far_out(name):
    """Without sum beta (1 - a) <= 1 half of these would turn negative."""
    for seed in range(15):
        margins, y = noisy_margins(40, 1.0, seed)
        model = AccuracyExtrapolator(name).fit(margins, y)
        raw = model.method_.accuracy(np.array([40, 400, 4e4, 1e9]))
        assert ((raw >= 0) & (raw <= 1)).all()
        assert model.method_.cdf(np.array([1.0]))[0] <= 1 + 1e-9
        assert model.certificate_["converged"]


def test_exponential_recovers_three_rates():
    weights, rates = np.array([0.5, 0.3, 0.2]), np.array([0.0, 0.02, 0.5])
    v = np.arange(400)[:, None]
    wins = stats.binom.pmf(v, 399, np.exp(-rates)) @ weights
    model = AccuracyExtrapolator("exponential").fit_wins(wins / wins.sum(), 400)
    sizes = np.array([2, 100, 800])
    truth = np.exp(-np.multiply.outer(sizes - 1, rates)) @ weights
    np.testing.assert_allclose(model.predict(sizes), truth, atol=1e-3)


def test_basis_moments_by_quadrature_equal_the_closed_form():
    basis = SplineBasis(4, 50)
    sizes = np.array([2, 10, 1e4, 1e12])
    numeric = basis_moments(lambda u: basis(u), sizes)
    np.testing.assert_allclose(numeric, basis.moments(sizes), atol=1e-6)
    squared = basis_moments(lambda u: u[:, None] ** 2, [2, 7])
    np.testing.assert_allclose(squared[:, 0], [1 / 3, 6 / 8], atol=1e-12)


@pytest.mark.parametrize("k", [2, 5, 40])
def test_spline_moments_equal_adaptive_quadrature(k):
    basis = SplineBasis(3, 50)

    def integral(knot):
        return integrate.quad(lambda u: (u - knot) * u ** (k - 2), knot, 1)[0]

    exact = [(k - 1) * integral(knot) for knot in basis.knots]
    np.testing.assert_allclose(basis.moments([k])[0], exact, rtol=1e-9)


def test_moment_with_a_general_cost_equals_direct_least_squares():
    rng = np.random.default_rng(2)
    margins, y = np.round(rng.normal(size=(36, 12)), 1), np.repeat(np.arange(12), 3)
    margins[np.arange(36), y] += 1
    cost = rng.random((12, 12))
    np.fill_diagonal(cost, 0)
    sizes = np.arange(2, 13)
    risk = average_risk(margins, y, cost, sizes)
    weights = 1.0 / sizes

    def bumps(u):
        return np.stack([u, u**3, np.sqrt(u)], 1)

    closed = np.stack([(sizes - 1) / (sizes - 1 + p) for p in (1, 3, 0.5)], 1)
    root = np.sqrt(weights)
    beta = np.linalg.lstsq(root[:, None] * closed, root * risk, rcond=None)[0]
    far = np.array([20, 100])
    expected = np.stack([(far - 1) / (far - 1 + p) for p in (1, 3, 0.5)], 1) @ beta
    found = extrapolate_risk(risk, sizes, far, basis=bumps, weights=weights)
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_moment_method_keeps_its_raw_unconstrained_fit():
    margins, y = noisy_margins(40, 1.0, 3)
    sizes = log_spaced_set_sizes(40, 200)
    curve = average_accuracy(win_distribution(margins, y), sizes)
    model = AccuracyExtrapolator("moment", basis=4, weights=lambda k: 1 / k)
    model.fit(margins, y)
    raw = 1 - extrapolate_risk(
        1 - curve, sizes, [2, 60, 80], basis=4, weights=1 / sizes
    )
    np.testing.assert_allclose(model.method_.accuracy([2, 60, 80]), raw, atol=1e-9)


def test_moment_recovers_a_polynomial_exactly():
    """D(u) = u^3, A_k = 3 / (k + 2): any exact basis gives it back everywhere."""
    sizes = np.arange(2, 40)
    risk = 1 - 3 / (sizes + 2)
    found = extrapolate_risk(
        risk, sizes, [1e3, 1e9], basis=lambda u: np.stack([u, u**3], 1)
    )
    np.testing.assert_allclose(found, 1 - 3 / (np.array([1e3, 1e9]) + 2), atol=1e-8)


def test_moment_predictions_are_projected_even_if_the_fit_bends_up():
    model = AccuracyExtrapolator("moment", basis=8)
    for seed in range(8):
        model.fit(*noisy_margins(12, 0.8, seed))
        predicted = model.predict(np.arange(2, 25))
        assert (np.diff(predicted) <= 0).all()
        assert ((predicted >= 0) & (predicted <= 1)).all()


def test_moment_answers_do_not_depend_on_what_else_was_asked():
    model = AccuracyExtrapolator("moment", basis=8).fit(*noisy_margins(12, 0.8, 5))
    alone = [model.predict(k) for k in (5, 12, 24)]
    np.testing.assert_allclose(model.predict([5, 12, 24]), alone, atol=1e-3)


def test_basis_is_chosen_by_predicting_from_half_of_the_curve():
    margins, y = noisy_margins(24, 1.2, 6, n_repeats=2)
    sample, sizes = WinSample.from_margins(margins, y), log_spaced_set_sizes(12, 200)
    chosen, gaps = Moment(basis=(1, 3, 6)).fit(sample), {}
    for basis in (1, 3, 6):
        h = SplineBasis(basis, 12)
        curve = average_accuracy(sample.wins, sizes)
        beta = np.linalg.lstsq(h.moments(sizes), 1 - curve, rcond=None)[0]
        gaps[basis] = abs(1 - (h.moments([24]) @ beta)[0] - sample.wins[-1])
    assert len(chosen.basis_.knots) == min(gaps, key=gaps.get)


def test_probit_basis_has_the_observed_accuracy_and_its_moments():
    basis = ProbitBasis(0.6, 30, (0.7, 1.4))
    np.testing.assert_allclose(1 - basis.moments([30]), 0.6, atol=1e-3)
    numeric = basis_moments(lambda u: basis(u), [5, 30, 300])
    np.testing.assert_allclose(numeric, basis.moments([5, 30, 300]), atol=1e-6)


def test_moment_finds_the_mixture_of_its_basis():
    basis, sizes = ProbitBasis(0.25, 50, (0.7, 1.4)), np.array([2, 50, 100])
    table = binomial_table(50)
    parts = table_means(table, basis.means, np.log(basis.sds))
    wins = np.array([0.4, 0.6]) @ parts / parts.sum(axis=1).mean()
    found = AccuracyExtrapolator("moment", basis="probit").fit_wins(wins, 10**6)
    truth = 1 - basis.moments(sizes) @ [0.4, 0.6]
    np.testing.assert_allclose(found.predict(sizes), truth, atol=1e-3)


def test_radial_columns_equal_quadrature():
    knot, h, k = 0.8, 0.4, 30
    exact = integrate.quad(
        lambda w: special.ndtr(w) ** (k - 1) * stats.norm.pdf(w, knot, h), -4, 6
    )[0]
    found = radial_columns(np.array([knot]), h, [k])
    np.testing.assert_allclose(found, [[exact, 1.0]], atol=1e-9)


def test_radial_basis_equals_nonnegative_least_squares():
    margins, y = noisy_margins(60, 2.0, 7)
    sizes = equispaced_set_sizes(60, 100)
    curve = average_accuracy(win_distribution(margins, y), sizes)
    knots = radial_knots(60, 0.5)
    columns = radial_columns(knots, 0.5, sizes)
    twin = optimize.nnls(columns[:, columns.max(0) > 1e-6], curve)[1]
    model = RadialBasis(bandwidths=[0.5]).fit(WinSample.from_margins(margins, y))
    residual = model.accuracy(sizes) - curve
    np.testing.assert_allclose(np.linalg.norm(residual), twin, atol=1e-9)
    assert model.bandwidth_ == 0.5
    np.testing.assert_allclose(knots[-1], stats.norm.ppf(1 - 1 / 60**2), rtol=1e-9)
    assert np.diff(knots).max() <= 0.5 + 1e-12


def test_radial_basis_chooses_its_bandwidth_reproducibly():
    sample = WinSample.from_margins(*noisy_margins(40, 1.5, 8))
    first = RadialBasis(random_state=1).fit(sample).bandwidth_
    second = RadialBasis(random_state=np.random.default_rng(1)).fit(sample).bandwidth_
    assert first == second


def test_equispaced_sizes():
    np.testing.assert_array_equal(equispaced_set_sizes(500, 100), np.arange(5, 501, 5))
    np.testing.assert_array_equal(equispaced_set_sizes(4, 100), [2, 3, 4])
    np.testing.assert_array_equal(equispaced_set_sizes(2, 100), [2])


def test_options_out_of_range():
    for name, options, message in [
        ("spline", {"n_knots": 1}, "n_knots must be an integer >= 2"),
        ("spline", {"max_fit_sizes": 0}, "max_fit_sizes must be an integer >= 1"),
        ("exponential", {"n_rates": 1}, "n_rates must be an integer >= 2"),
        ("exponential", {"max_fit_sizes": 0}, "max_fit_sizes must be an integer >= 1"),
        ("radial_basis", {"bandwidths": [0.05]}, "bandwidths must be at least 0.1"),
        ("radial_basis", {"n_half_samples": 0}, "must be an integer >= 1"),
        ("moment", {"basis": 0}, "basis must be 'probit', a callable or a number"),
        ("moment", {"basis": "cubic"}, "basis must be 'probit', .* got 'cubic'"),
    ]:
        with pytest.raises(ValueError, match=message):
            AccuracyExtrapolator(name, **options)
    with pytest.raises(ValueError, match="equally long"):
        extrapolate_risk([0.1, 0.2], [2, 3, 4], [10])
    with pytest.raises(ValueError, match="risk must be finite"):
        extrapolate_risk([0.1, np.nan], [2, 3], [10])
    with pytest.raises(ValueError, match="weights must be non-negative"):
        extrapolate_risk([0.1, 0.2], [2, 3], [10], weights=[-1, 1])
