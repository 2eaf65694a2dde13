"""Methods that see the scores: kernel densities, tails; and the exact-match model."""

import numpy as np
import pytest
from scipy import optimize, special, stats

from neuroextrap.stats import average_accuracy, win_distribution
from tests.stats.seam import (
    AccuracyExtrapolator,
    LeftOut,
    PointWins,
    RadialBasis,
    Tail,
    WinSample,
    _method,
    calibrate_log_lose,
    compress,
    cross_validated_bandwidth,
    fit_generalized_pareto,
    half_of_classes,
    pair_lag_counts,
    pitman_yor_accuracy,
    split_ties,
    tail_log_lose,
)


def nearest_center(n_classes, noise, seed, n_repeats=1, n_dims=6):
    rng = np.random.default_rng(seed)
    centers = rng.normal(size=(n_classes, n_dims))
    y = np.repeat(np.arange(n_classes), n_repeats)
    tests = centers[y] + noise * rng.normal(size=(len(y), n_dims))
    return -np.linalg.norm(tests[:, None] - centers, axis=2), y


def exact_criterion(scores, h, criterion):
    """Cross-validation score from all pairs, no bins."""
    n = len(scores)
    i, j = np.triu_indices(n, 1)
    d = ((scores[i] - scores[j]) / h) ** 2
    if criterion == "ucv":
        total = np.sum(np.exp(-d / 4) - np.sqrt(8) * np.exp(-d / 2))
        return (0.5 + total / n) / (n * h * np.sqrt(np.pi))
    total = np.sum(np.exp(-d / 4) * (d * d - 12 * d + 12))
    return (1 + total / (32 * n)) / (2 * n * h * np.sqrt(np.pi))


@pytest.mark.parametrize("criterion", ["ucv", "bcv"])
def test_bandwidths_minimize_the_exact_criterion(criterion):
    rng = np.random.default_rng(0)
    scores = np.vstack([rng.normal(size=(4, 80)), rng.gamma(2, size=(4, 80))])
    found = cross_validated_bandwidth(scores, criterion)
    for row, h in zip(scores, found, strict=True):
        longest = 1.144 * row.std(ddof=1) * 80**-0.2
        grid = np.linspace(0.1 * longest, longest, 400)
        exact = np.array([exact_criterion(row, g, criterion) for g in grid])
        near = exact_criterion(row, h, criterion)
        assert 0.1 * longest <= h <= longest
        assert near <= exact.min() + 0.02 * np.ptp(exact)


def test_unbiased_criterion_is_the_integral_of_the_squared_density_error():
    """UCV = int f^2 - 2 mean leave-one-out density, by quadrature."""
    scores, h = np.random.default_rng(1).normal(size=30), 0.4
    x = np.linspace(-8, 8, 8001)
    density = stats.norm.pdf(x[:, None], scores, h).mean(1)
    squared = np.sum(density**2) * (x[1] - x[0])
    kernel = stats.norm.pdf(scores[:, None], scores, h)
    left_out = (kernel.sum(1) - np.diag(kernel)) / 29
    direct = squared - 2 * left_out.mean() * 29 / 30
    np.testing.assert_allclose(exact_criterion(scores, h, "ucv"), direct, atol=1e-9)


def test_pair_lags_count_every_pair_once():
    scores = np.random.default_rng(2).normal(size=(3, 25))
    width = 1.01 * np.ptp(scores, axis=1) / 1000
    found = pair_lag_counts(scores, width)
    for row, w, counts in zip(scores, width, found, strict=True):
        bins = ((row - row.min()) / w).astype(int)
        i, j = np.triu_indices(25, 1)
        naive = np.bincount(np.abs(bins[i] - bins[j]), minlength=1000)
        np.testing.assert_array_equal(counts, naive)


@pytest.mark.parametrize("name", ["kde_ucv", "kde_bcv"])
def test_kernel_density_equals_its_formula(name):
    """a = mean Phi((own - others) / h) for each point, A_k = mean a^(k - 1)."""
    margins, y = nearest_center(30, 0.5, 3, n_repeats=2)
    win = []
    for row, label in zip(margins, y, strict=True):
        others = np.delete(row, label)
        h = cross_validated_bandwidth(others[None], name[-3:])[0]
        win.append(special.ndtr((row[label] - others) / h).mean())
    sizes = np.array([2, 30, 1000])
    expected = [np.mean(np.array(win) ** (k - 1)) for k in sizes]
    found = AccuracyExtrapolator(name).fit(margins, y).predict(sizes)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_rows_of_equal_scores_are_compared_as_they_stand():
    margins = np.zeros((3, 5))
    margins[0, 0], margins[1, 1] = 1.0, -1.0
    with pytest.warns(UserWarning, match="takes scores to be continuous"):
        model = AccuracyExtrapolator("kde_ucv").fit(margins, [0, 1, 2])
    # certain win, certain loss, and a tie with all, which is at chance
    sizes = np.array([2, 5, 100])
    np.testing.assert_allclose(model.predict(sizes), (1 + 0 + 1 / sizes) / 3, rtol=1e-3)


def test_ties_are_split_uniformly():
    rows, share, weight = split_ties(np.array([False, True, False]))
    np.testing.assert_allclose(np.bincount(rows, weight), 1)
    assert share[rows != 1].max() == 0
    for power in (1, 5, 1000):
        found = np.sum((weight * (1 - share) ** power)[rows == 1])
        np.testing.assert_allclose(found, 1 / (power + 1), rtol=1e-3)


def test_point_wins_are_weighted_means_in_blocks():
    rng = np.random.default_rng(4)
    u, weights = rng.random(2000), rng.dirichlet(np.ones(2000))
    sizes = np.arange(2, 4102)
    found = PointWins(np.log(u), weights).accuracy(sizes)
    np.testing.assert_allclose(found, [np.sum(weights * u ** (k - 1)) for k in sizes])


@pytest.mark.parametrize("shape", [-0.3, 0.0, 0.25])
def test_generalized_pareto_fit_equals_scipy_and_the_truth(shape):
    x = stats.genpareto.rvs(shape, scale=1.0, size=20_000, random_state=0)
    found, scale = fit_generalized_pareto(x)
    assert abs(found - shape) < 0.03
    assert abs(scale - 1) < 0.04
    best = stats.genpareto.logpdf(x, *stats.genpareto.fit(x, found, floc=0)).sum()
    reached = stats.genpareto.logpdf(x, found, 0, scale).sum()
    assert reached > best - 0.5


def test_generalized_pareto_of_nothing_is_exponential():
    assert fit_generalized_pareto(np.array([])) == (0.0, 1.0)


@pytest.mark.parametrize("shape", [-0.3, 0.1, 0.4])
def test_generalized_pareto_of_bins_is_that_of_all(shape):
    x = stats.genpareto.rvs(shape, size=50_000, random_state=1)
    whole = fit_generalized_pareto(x, max_points=len(x))
    part = fit_generalized_pareto(x, max_points=5000)
    np.testing.assert_allclose(part, whole, atol=3e-5)


def test_tail_probabilities_equal_their_formula_point_by_point():
    margins, y = nearest_center(40, 0.6, 5)
    sample, n_tail = WinSample.from_margins(margins, y), 8
    others = margins[y[:, None] != np.arange(40)].reshape(40, 39)
    best = np.sort(others, axis=1)[:, ::-1][:, : n_tail + 1]
    found, rows, part, shape, scale = tail_log_lose(sample, best)
    fitted = Tail(fraction=0.2, calibrate=False).fit(sample).mixture_
    np.testing.assert_allclose(np.exp(fitted.atoms), 1 - np.exp(found), rtol=1e-14)
    np.testing.assert_array_equal(rows, range(40))
    np.testing.assert_array_equal(part, 1)
    for row, label, log_q in zip(margins, y, found, strict=True):
        others = np.sort(np.delete(row, label))[::-1]
        threshold, mean = others[n_tail], np.mean(others[:n_tail] - others[n_tail])
        if row[label] > threshold:
            z = (row[label] - threshold) / mean
            q = n_tail / 39 * stats.genpareto.sf(z, shape, 0, scale)
        else:
            q = np.mean(others > row[label])
        with np.errstate(divide="ignore"):
            np.testing.assert_allclose(log_q, max(np.log(q), -80), rtol=1e-6)


def test_tail_recovers_scores_with_a_pareto_tail():
    """Exponential scores shifted by a constant: q = exp(-own), known exactly."""
    rng = np.random.default_rng(6)
    own = rng.gamma(4, 1.2, 400)
    margins = rng.exponential(size=(400, 400))
    margins[np.arange(400), np.arange(400)] = own
    sizes = np.array([400, 4000, 40_000])
    truth = [np.mean(np.exp((k - 1) * np.log1p(-np.exp(-own)))) for k in sizes]
    for calibrate in (True, False):
        model = AccuracyExtrapolator("tail", calibrate=calibrate)
        found = model.fit(margins, np.arange(400)).predict(sizes)
        np.testing.assert_allclose(found, truth, atol=0.05)


def test_calibration_recovers_a_known_distortion():
    rng = np.random.default_rng(7)
    log_q, sizes = np.log(rng.beta(0.3, 2, 1500)), np.arange(2, 200, 5)
    true = np.minimum(0.4 + 0.8 * log_q, 0)
    weights = np.full(1500, 1 / 1500)
    with np.errstate(divide="ignore"):
        curve = PointWins(np.log1p(-np.exp(true)), weights).accuracy(sizes)
    found = calibrate_log_lose(log_q, weights, sizes, curve)
    np.testing.assert_allclose(found, [0.4, 0.8], atol=1e-3)


def test_compression_keeps_mass_and_mean():
    rng = np.random.default_rng(8)
    values, weights = rng.normal(size=5000), rng.dirichlet(np.ones(5000))
    few, mass = compress(values, weights, max_points=100)
    assert len(few) == 100
    np.testing.assert_allclose(mass.sum(), 1)
    np.testing.assert_allclose(few @ mass, values @ weights)
    same = compress(values[:50], weights[:50])
    np.testing.assert_array_equal(same[0], values[:50])


@pytest.mark.parametrize(("alpha", "d"), [(12.0, 0.26), (0.5, 0.9), (1e5, 0.01)])
def test_pitman_yor_equals_the_expected_number_of_tables(alpha, d):
    """E D_(n+1) = E D_n (1 + d / (alpha + n)) + alpha / (alpha + n)."""
    tables, found = 0.0, []
    for n in range(300):
        tables += (alpha + d * tables) / (alpha + n) if n else 1.0
        found.append(tables / (n + 1))
    sizes = np.arange(1, 301)
    np.testing.assert_allclose(pitman_yor_accuracy(alpha, d, sizes), found, rtol=1e-8)


def test_pitman_yor_fit_equals_a_fine_search():
    margins, y = nearest_center(40, 0.7, 9)
    model = AccuracyExtrapolator("pitman_yor").fit(margins, y)
    sizes = np.unique(np.r_[2, np.rint(np.geomspace(2, 40, 39)).astype(int), 40])
    curve = average_accuracy(win_distribution(margins, y), sizes)

    def loss(p):
        gap = pitman_yor_accuracy(np.exp(p[0]), special.expit(p[1]), sizes) - curve
        return np.sum(np.log(sizes) * gap**2)

    twins = [
        optimize.minimize(loss, [a, b], method="Nelder-Mead", options={"xatol": 1e-9})
        for a in (0.0, 3.0)
        for b in (-2.0, 2.0)
    ]
    fitted = model.method_
    point = [np.log(fitted.concentration_), special.logit(fitted.discount_)]
    assert loss(point) <= min(t.fun for t in twins) + 1e-7


def test_pitman_yor_has_no_distribution_of_win_probabilities():
    model = AccuracyExtrapolator("pitman_yor").fit(*nearest_center(20, 0.5, 10))
    with pytest.raises(ValueError, match="has no distribution of U"):
        model.conditional_accuracy_cdf(0.5)


def test_options_out_of_range():
    with pytest.raises(ValueError, match="fraction must lie strictly between 0 and 1"):
        AccuracyExtrapolator("tail", fraction=1.0)
    with pytest.raises(ValueError, match="n_fit_sizes must be an integer >= 1"):
        AccuracyExtrapolator("pitman_yor", n_fit_sizes=0)


@pytest.mark.parametrize("largest", [10**6, 7])
def test_wins_of_many_subsets_are_those_of_each(monkeypatch, largest):
    """Counted at once or one by one; ties, repeats and a class without test points."""
    monkeypatch.setattr(_method, "_MAX_COMPARISONS", largest)
    rng = np.random.default_rng(3)
    y = np.r_[rng.integers(0, 8, size=30), np.arange(8)]
    margins = rng.integers(0, 4, size=(len(y), 9)) + 2 * (y[:, None] == np.arange(9))
    sample = WinSample.from_margins(margins.astype(float), y)
    subsets = [np.sort(rng.permutation(9)[:5]) for _ in range(6)]
    members = np.array([np.isin(np.arange(9), subset) for subset in subsets])
    for part, subset in zip(sample.subsets(members), subsets, strict=True):
        rows = np.isin(y, subset)
        some = margins[np.ix_(rows, subset)], np.searchsorted(subset, y[rows])
        np.testing.assert_array_equal(part.wins, win_distribution(*some))
    method = RadialBasis(n_half_samples=4, random_state=0)
    curves = method._half_curves(sample, 5, np.array([2, 5]))
    assert curves.shape == (4, 2)
    assert len(np.unique(curves[:, 1])) > 1


def test_groups_that_hold_all_tested_classes_stay():
    """Every third of ten candidates is tested; they are one group of three."""
    margins, _ = nearest_center(10, 0.5, 1)
    y = np.arange(0, 10, 3)
    sample = WinSample.from_margins(margins[y], y)
    parts = [(part.n_classes, part.n_test) for part in LeftOut(sample, 3).samples()]
    assert parts == [(7, 4), (7, 4)]


def test_one_part_alone_has_no_scatter():
    """Only the even ones of ten candidates are tested; they are one group of two."""
    margins, _ = nearest_center(10, 0.5, 1)
    y = np.arange(0, 10, 2)
    model = AccuracyExtrapolator("gaussian").fit(margins[y], y)
    with pytest.raises(ValueError, match="max_refits=2 puts all classes with test"):
        model.standard_error(20, max_refits=2)
    assert model.standard_error(20, max_refits=5) > 0


def test_half_of_the_classes_holds_a_tested_one():
    rng, tested = np.random.default_rng(0), np.array([3])
    for _ in range(20):
        assert half_of_classes(rng, 10, tested, 5)[3]


def test_an_exponential_tail_has_shape_zero(monkeypatch):
    def at_zero(function, **_):
        assert function(0.0) == pytest.approx(function(1e-7), abs=1e-6)
        return optimize.OptimizeResult(x=0.0)

    monkeypatch.setattr(optimize, "minimize_scalar", at_zero)
    excess = np.random.default_rng(0).exponential(2, size=50)
    assert fit_generalized_pareto(excess) == (0.0, excess.mean())
