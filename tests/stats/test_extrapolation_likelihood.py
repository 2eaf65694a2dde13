"""Pseudolikelihood mixtures: dense solves, duality gaps, constraints."""

import numpy as np
import pytest
from scipy import integrate, optimize, stats

from tests.stats.seam import (
    AccuracyExtrapolator,
    UniformWins,
    _angle_grid,
    _mple,
    average_accuracy,
    binomial_columns,
    knot_distances,
    maximize_likelihood,
    pair_proposer,
    peaks_over_columns,
    uniform_columns,
)


def mixed_wins(n_classes, n_test, seed):
    rng = np.random.default_rng(seed)
    u = np.where(rng.random(n_test) < 0.4, 1.0, rng.beta(3, 1, n_test))
    beaten = rng.binomial(n_classes - 1, u)
    return np.bincount(beaten, minlength=n_classes) / n_test


def em(wins, dictionary, n_iter=20_000):
    """Maximize the likelihood the slow, certain way."""
    weights = np.full(dictionary.shape[1], 1 / dictionary.shape[1])
    for _ in range(n_iter):
        mixture = dictionary @ weights
        ratio = np.divide(wins, mixture, out=np.zeros_like(wins), where=wins > 0)
        weights = weights * (ratio @ dictionary)
    return weights


def log_likelihood(wins, mixture):
    seen = wins > 0
    return wins[seen] @ np.log(mixture[seen])


def test_binomial_columns():
    angles = np.array([0.0, 0.3, 1.0, np.pi / 2])
    expected = stats.binom.pmf(np.arange(8)[:, None], 7, np.cos(angles) ** 2)
    np.testing.assert_allclose(
        binomial_columns(8, angles, range(8)), expected, atol=1e-12
    )


@pytest.mark.parametrize("a", [0.0, 0.6, 0.999])
def test_uniform_columns_are_integrals_of_binomials_and_sum_to_one(a):
    n_classes = 9
    found = uniform_columns(n_classes, np.array([1 - a]), range(n_classes))[:, 0]
    exact = [
        integrate.quad(lambda u, v=v: stats.binom.pmf(v, n_classes - 1, u), a, 1)[0]
        / (1 - a)
        for v in range(n_classes)
    ]
    np.testing.assert_allclose(found, exact, rtol=1e-7, atol=1e-12)
    np.testing.assert_allclose(found.sum(), 1, atol=1e-12)


def test_the_atom_at_one_always_wins():
    found = uniform_columns(5, np.array([0.0]), range(5))[:, 0]
    np.testing.assert_array_equal(found, [0, 0, 0, 0, 1])


@pytest.mark.parametrize("seed", range(3))
def test_mple_is_no_worse_than_em_and_its_gap_tells_the_truth(seed):
    wins = mixed_wins(12, 150, seed)
    angles = _angle_grid(12)
    dictionary = binomial_columns(12, angles, range(12))
    seen = wins > 0
    fit = maximize_likelihood(
        wins[seen],
        dictionary[seen],
        np.eye(len(angles))[::4],
        peaks_over_columns,
        tol=1e-9,
    )
    slow = log_likelihood(wins, dictionary @ em(wins, dictionary))
    assert fit.log_likelihood >= slow - 1e-9
    assert fit.log_likelihood - slow < 1e-4
    mixture = dictionary @ fit.weights
    gradient = (wins[seen] / mixture[seen]) @ dictionary[seen]
    np.testing.assert_allclose(gradient.max() - 1, fit.duality_gap, atol=1e-9)
    assert fit.duality_gap <= 1e-9 * abs(fit.log_likelihood)


def test_an_early_stop_reports_a_gap_that_bounds_the_loss():
    wins = mixed_wins(30, 300, 5)
    dictionary = binomial_columns(30, _angle_grid(30), range(30))
    start, seen = np.eye(dictionary.shape[1])[::4], wins > 0
    wins, dictionary = wins[seen], dictionary[seen]
    best = maximize_likelihood(wins, dictionary, start, peaks_over_columns, tol=1e-10)
    for n_iter in (1, 2, 3):
        early = maximize_likelihood(
            wins, dictionary, start, peaks_over_columns, tol=1e-10, max_iter=n_iter
        )
        lost = best.log_likelihood - early.log_likelihood
        assert 0 <= lost <= early.duality_gap + 1e-12


def rare_and_common_wins(n_classes, n_test, seed):
    """Win probabilities of which few are anywhere and most are near one."""
    rng = np.random.default_rng(seed)
    anywhere = rng.random(n_test) < 0.1
    u = np.where(anywhere, rng.random(n_test), 1 - 10 ** rng.uniform(-6, -1, n_test))
    return np.bincount(rng.binomial(n_classes - 1, u), minlength=n_classes) / n_test


@pytest.mark.parametrize(("n_classes", "n_test"), [(300, 30_000), (1000, 100_000)])
def test_mple_reaches_the_optimum_where_outcomes_are_rare(n_classes, n_test):
    # where some outcomes have one point of many, the start used to be returned
    wins = rare_and_common_wins(n_classes, n_test, 1)
    model = AccuracyExtrapolator("mple").fit_wins(wins, n_test)
    assert model.certificate_["converged"]
    assert model.certificate_["n_iter"] < 50
    observed = average_accuracy(wins, [2, n_classes])
    np.testing.assert_allclose(model.predict([2, n_classes]), observed, atol=0.005)


@pytest.mark.parametrize("max_iter", [1, 2, 4])
def test_the_iterate_of_the_largest_likelihood_is_returned(max_iter):
    wins = rare_and_common_wins(200, 20_000, 2)
    angles, seen = _angle_grid(200), np.flatnonzero(wins)
    dictionary = binomial_columns(200, angles, seen)
    fits = [
        maximize_likelihood(
            wins[seen],
            dictionary,
            np.eye(len(angles))[::4],
            peaks_over_columns,
            tol=1e-9,
            max_iter=n_iter,
        )
        for n_iter in range(1, max_iter + 1)
    ]
    values = [fit.log_likelihood for fit in fits]
    assert values == sorted(values)
    mixture = dictionary @ fits[-1].weights
    np.testing.assert_allclose(wins[seen] @ np.log(mixture), values[-1], rtol=1e-12)


def test_a_certificate_says_in_words_what_it_says_in_numbers():
    wins = mixed_wins(30, 300, 5)
    for method in ("mple", "monotone_mple", "spline", "exponential"):
        found = AccuracyExtrapolator(method).fit_wins(wins, 300).certificate_
        assert f"{found['duality_gap']:.2g}" in found["message"]


def test_an_unfinished_fit_says_so():
    model = AccuracyExtrapolator("mple", max_iter=1)
    with pytest.warns(UserWarning, match="did not converge: after 1 steps the mean"):
        model.fit_wins(mixed_wins(30, 300, 6), 300)
    assert not model.certificate_["converged"]
    assert model.certificate_["relative_gap"] > 1e-6


@pytest.mark.parametrize("n_classes", [5, 40, 1000])
def test_mple_certificate(n_classes):
    model = AccuracyExtrapolator("mple").fit_wins(mixed_wins(n_classes, 400, 7), 400)
    assert model.certificate_["converged"]
    assert model.certificate_["relative_gap"] <= 1e-6


def test_mple_certificate_holds_between_the_points_of_its_grid():
    """The gain of any atom whatever stays at one, not only of those tried."""
    wins = mixed_wins(25, 400, 8)
    model = AccuracyExtrapolator("mple").fit_wins(wins, 400)
    fitted = model.method_.mixture_
    win = np.exp(fitted.atoms)
    mixture = stats.binom.pmf(np.arange(25)[:, None], 24, win) @ fitted.weights
    everywhere = binomial_columns(25, np.linspace(0, np.pi / 2, 20_001), range(25))
    seen = wins > 0
    gains = (wins[seen] / mixture[seen]) @ everywhere[seen]
    assert gains.max() - 1 < 1e-4


@pytest.mark.parametrize("seed", range(3))
def test_monotone_mple_equals_a_dense_constrained_solve(seed):
    """Few knots, all pairs of columns by a general-purpose solver."""
    n_classes = 10
    wins = mixed_wins(n_classes, 200, 20 + seed)
    distances = knot_distances(n_classes, 6)
    dictionary = uniform_columns(n_classes, distances, range(n_classes))
    moments = UniformWins.curves(distances, [n_classes])[0]
    model = AccuracyExtrapolator("monotone_mple", n_knots=6).fit_wins(wins, 200)
    fitted = model.method_.mixture_
    columns = uniform_columns(n_classes, fitted.atoms, range(n_classes))
    mixture = columns @ fitted.weights
    reached = log_likelihood(wins, mixture)
    start = np.full(len(distances), 1 / len(distances))
    twin = optimize.minimize(
        lambda w: -log_likelihood(wins, np.maximum(dictionary @ w, 1e-12)),
        start,
        bounds=[(0, 1)] * len(distances),
        constraints=[
            {"type": "eq", "fun": lambda w: w.sum() - 1},
            {"type": "eq", "fun": lambda w: w @ moments - wins[-1]},
        ],
        options={"maxiter": 2000, "ftol": 1e-13},
    )
    assert abs(twin.x @ moments - wins[-1]) < 1e-7
    assert reached >= -twin.fun - 1e-6
    assert reached <= -twin.fun + 1e-4
    assert model.certificate_["relative_gap"] <= 1e-4


@pytest.mark.parametrize("n_classes", [5, 40, 500])
def test_monotone_mple_reproduces_the_observed_accuracy(n_classes):
    wins = mixed_wins(n_classes, 300, 9)
    model = AccuracyExtrapolator("monotone_mple").fit_wins(wins, 300)
    np.testing.assert_allclose(model.predict(n_classes), wins[-1], atol=1e-9)
    assert model.certificate_["converged"]
    assert model.certificate_["relative_gap"] <= 1e-4
    np.testing.assert_allclose(model.method_.mixture_.weights.sum(), 1, atol=1e-9)


def test_monotone_mple_below_chance_is_uniform():
    wins = np.full(10, 0.95 / 9)
    wins[-1] = 0.05
    model = AccuracyExtrapolator("monotone_mple").fit_wins(wins / wins.sum(), 100)
    np.testing.assert_allclose(model.predict([2, 10, 1000]), [1 / 2, 1 / 10, 1 / 1000])
    np.testing.assert_allclose(model.conditional_accuracy_cdf([0.2, 0.7]), [0.2, 0.7])


def test_pair_proposer_finds_the_best_pair_of_all():
    rng = np.random.default_rng(0)
    moments, target = np.sort(rng.random(30)), 0.5
    propose = pair_proposer(moments, target)
    for _ in range(20):
        gradient = 1 + 0.3 * rng.normal(size=30)
        gap, vertices = propose(gradient)
        program = optimize.linprog(
            -gradient,
            A_eq=np.stack([np.ones(30), moments]),
            b_eq=[1, target],
            bounds=[(0, 1)] * 30,
        )
        np.testing.assert_allclose(gap, -program.fun - 1, atol=1e-9)
        np.testing.assert_allclose((vertices @ gradient).max() - 1, gap, atol=1e-12)
        np.testing.assert_allclose(vertices.sum(1), 1)
        np.testing.assert_allclose(vertices @ moments, target)


def test_options_out_of_range():
    for name, options, message in [
        ("mple", {"max_iter": 0}, "max_iter must be an integer >= 1"),
        ("monotone_mple", {"max_iter": 0}, "max_iter must be an integer >= 1"),
        ("monotone_mple", {"n_knots": 1}, "n_knots must be an integer >= 2"),
    ]:
        with pytest.raises(ValueError, match=message):
            AccuracyExtrapolator(name, **options)


@pytest.mark.parametrize("name", ["mple", "monotone_mple", "gaussian_mixture"])
def test_a_hundred_thousand_classes(name):
    """U ~ Beta(a, 1) seen through 300 test points among 100,000 classes."""
    rng = np.random.default_rng(0)
    beaten = rng.binomial(99_999, rng.beta(2000, 1, 300))
    wins = np.bincount(beaten, minlength=100_000) / 300
    model = AccuracyExtrapolator(name).fit_wins(wins, 300)
    found = model.predict([1000, 100_000])
    np.testing.assert_allclose(found, [2000 / 2999, 2000 / 101_999], atol=0.05)


def test_a_step_that_gains_nothing_is_not_taken(monkeypatch):
    """Where the quadratic optimum points away from the likelihood's."""
    columns, counts = np.array([[0.9, 0.1], [0.1, 0.9]]), np.array([2.0, 8.0])
    shares = np.array([0.5, 0.5])
    monkeypatch.setattr(
        _mple, "simplex_least_squares", lambda *_: (np.array([1.0, 0.0]), 0.0)
    )
    improved = _mple._improve(counts, columns, shares)
    np.testing.assert_array_equal(improved, shares)


def test_an_ascent_that_finds_nothing_new_ends_with_what_it_has():
    """Rounding may promise a gain that no vertex gives; the best iterate returns."""
    wins = mixed_wins(6, 400, 3)
    seen = wins > 0
    dictionary = binomial_columns(6, np.array([0.2, 0.9]), range(6))[seen]
    start = np.array([[0.5, 0.5]])
    for vertices in (start, np.empty((0, 2))):
        fit = maximize_likelihood(
            wins[seen],
            dictionary,
            start,
            lambda gradient, found=vertices: (1.0, found),
            tol=1e-12,
        )
        np.testing.assert_allclose(fit.weights, [0.5, 0.5])
        expected = log_likelihood(wins[seen], dictionary @ fit.weights)
        assert fit.log_likelihood == pytest.approx(expected)
        assert fit.duality_gap == pytest.approx(1.0)
        assert fit.n_iter == 2
