"""Simulations: what the extrapolations claim, in laws whose curves are known."""

import numpy as np
import pytest
from scipy import special, stats

from neuroextrap.datasets import BivariateNormalProblem
from neuroextrap.stats import AccuracyExtrapolator, average_accuracy, win_distribution
from tests.seam import power_table, table_means


def law_margins(win, rng):
    """Scores whose win probabilities are `win`, distractors uniform."""
    margins = rng.random((len(win), len(win)))
    np.fill_diagonal(margins, win)
    return margins, np.arange(len(win))


def gaussian_code(n_classes, variance, rng, n_dims=10):
    """Nearest noisy training vector among Gaussian classes, one test vector each."""
    centers = rng.normal(size=(n_classes, n_dims))
    train = centers + np.sqrt(variance) * rng.normal(size=centers.shape)
    test = centers + np.sqrt(variance) * rng.normal(size=centers.shape)
    squares = (test**2).sum(1)[:, None] + (train**2).sum(1) - 2 * test @ train.T
    return -np.sqrt(np.maximum(squares, 0)), np.arange(n_classes)


def gaussian_code_truth(set_sizes, variance, rng, n_draws, n_dims=10):
    """Average accuracy by the noncentral chi-square law of a distractor."""
    centers = rng.normal(size=(n_draws, n_dims))
    train = centers + np.sqrt(variance) * rng.normal(size=centers.shape)
    test = centers + np.sqrt(variance) * rng.normal(size=centers.shape)
    lose = stats.ncx2.cdf(
        ((test - train) ** 2).sum(1) / (1 + variance),
        n_dims,
        (test**2).sum(1) / (1 + variance),
    )
    return np.array([np.exp((k - 1) * np.log1p(-lose)).mean() for k in set_sizes])


def coverage(n_repeats, n_classes, mean, sd, sizes):
    """Coverage of +-1.96 jackknife errors, and the mean error in its own units."""
    truth = table_means(power_table(sizes), mean, np.log(sd))[0]
    covered, errors = [], []
    for seed in range(n_repeats):
        rng = np.random.default_rng([1, seed])
        win = special.ndtr(mean + sd * rng.normal(size=n_classes))
        model = AccuracyExtrapolator("gaussian_mixture", loss="likelihood")
        model.fit(*law_margins(win, rng))
        errors.append(model.predict(sizes) - truth)
        width = 1.96 * model.standard_error(sizes, max_refits=25)
        covered.append(np.abs(errors[-1]) <= width)
    bias = np.mean(errors, axis=0) / np.std(errors, axis=0)
    return np.mean(covered, axis=0), bias


def test_jackknife_intervals_cover_where_the_law_is_the_models():
    covered, bias = coverage(40, 80, 2.0, 0.9, [80, 160, 800])
    assert (covered > 0.95 - 4 * np.sqrt(0.95 * 0.05 / 40)).all(), covered
    assert (np.abs(bias) < 0.7).all(), bias


@pytest.mark.slow
@pytest.mark.parametrize(("mean", "sd"), [(2.0, 0.9), (2.5, 0.7), (1.5, 1.2)])
def test_jackknife_coverage_in_full(mean, sd):
    covered, bias = coverage(300, 100, mean, sd, [100, 200, 1000])
    assert (covered >= 0.90).all(), covered
    assert (np.abs(bias) < 0.7).all(), bias


@pytest.mark.parametrize("name", ["spline", "monotone_mple", "mple", "exponential"])
def test_nonparametric_methods_reach_twice_the_classes_of_the_bayes_rule(name):
    problem, sizes = BivariateNormalProblem(0.97), np.array([40, 80])
    truth = problem.average_accuracy(sizes)
    errors = []
    for seed in range(15):
        margins, y = problem.sample(40, n_repeats=3, random_state=seed)
        errors.append(AccuracyExtrapolator(name).fit(margins, y).predict(sizes) - truth)
    error = np.std(errors, axis=0, ddof=1) / np.sqrt(len(errors))
    assert (np.abs(np.mean(errors, axis=0)) < 4 * error + 0.03).all()


def largest_rmse(n_classes, sizes, variances, n_repeats, n_draws):
    """Largest root mean squared error of the default over noise levels."""
    worst = []
    for level, variance in enumerate(variances):
        truth = gaussian_code_truth(
            sizes, variance, np.random.default_rng([2, level]), n_draws
        )
        errors = []
        for repeat in range(n_repeats):
            rng = np.random.default_rng([3, level, repeat])
            model = AccuracyExtrapolator().fit(*gaussian_code(n_classes, variance, rng))
            errors.append(model.predict(sizes) - truth)
        worst.append(np.sqrt(np.mean(np.square(errors), axis=0)))
    return np.max(worst, axis=0)


def test_the_default_extrapolates_gaussian_classes_twenty_times():
    found = largest_rmse(200, [400, 800, 4000], [0.05, 0.2, 0.5], 4, 30_000)
    assert (found < [0.08, 0.09, 0.11]).all(), found


@pytest.mark.slow
def test_the_default_beats_the_published_errors_from_500_classes():
    """Zheng, Achanta & Benjamini 2018, table 1, best of each column.

    The largest of nine errors, each from thirty data sets, has a Monte-Carlo error
    of about .003; two thirds of it are allowed where the margin is small.
    """
    sizes = [1000, 2000, 5000, 10_000]
    found = largest_rmse(500, sizes, np.linspace(0.02, 0.5, 9), 30, 200_000)
    assert (found < [0.034, 0.044, 0.051, 0.046]).all(), found


def cube(n_classes, rng):
    """Noisy points of a cube with edges."""
    centers = rng.uniform(-1, 1, size=(n_classes, 3))
    noise = 0.12 * rng.normal(size=(2, n_classes, 3))
    return centers + noise[0], centers + noise[1]


def clusters(n_classes, rng):
    """Noisy points of thirty clusters."""
    middle = 2 * np.random.default_rng(0).normal(size=(30, 8))
    centers = middle[rng.integers(30, size=n_classes)]
    centers = centers + 0.5 * rng.normal(size=centers.shape)
    noise = 0.4 * rng.normal(size=(2, n_classes, 8))
    return centers + noise[0], centers + noise[1]


def unequal(n_classes, rng):
    """Noisy points of six dimensions, every class with a noise level of its own."""
    centers = rng.normal(size=(n_classes, 6))
    noise = rng.normal(size=(2, n_classes, 6))
    noise *= 0.3 * np.exp(0.8 * rng.normal(size=(n_classes, 1)))
    return centers + noise[0], centers + noise[1]


def interval_coverage(population, n_classes, n_sets, factors, n_pool=3000):
    """Coverage of 90% intervals, with scores and without, shape (2, n_factors)."""
    sizes, covered = n_classes * np.array(factors), []
    everyone = population(n_pool, np.random.default_rng([4, 0]))
    scores = negative_distances(*everyone)
    truth = average_accuracy(win_distribution(scores, np.arange(n_pool)), sizes)
    for seed in range(n_sets):
        sample = population(n_classes, np.random.default_rng([4, 1, seed]))
        margins, y = negative_distances(*sample), np.arange(n_classes)
        wins = win_distribution(margins, y)
        for model in (
            AccuracyExtrapolator().fit(margins, y),
            AccuracyExtrapolator().fit_wins(wins, n_classes),
        ):
            lower, upper = model.predict_interval(sizes)
            covered.append((lower <= truth) & (truth <= upper))
    return np.mean(np.reshape(covered, (n_sets, 2, -1)), axis=0)


def negative_distances(templates, tests):
    squares = (tests**2).sum(1)[:, None] + (templates**2).sum(1)
    return -np.sqrt(np.maximum(squares - 2 * tests @ templates.T, 0))


def test_intervals_cover_populations_that_nothing_was_tuned_on():
    found = [interval_coverage(p, 30, 8, [2, 4, 10]) for p in (cube, clusters, unequal)]
    assert (np.mean(found, axis=0) > 0.9 - 4 * np.sqrt(0.09 / 24)).all(), found


@pytest.mark.slow
@pytest.mark.parametrize("n_classes", [20, 100])
def test_interval_coverage_in_full(n_classes):
    found = [
        interval_coverage(p, n_classes, 100, [2, 4, 10])
        for p in (cube, clusters, unequal)
    ]
    average = np.mean(found, axis=0)
    assert (average > 0.85 - 3 * np.sqrt(0.09 / 300)).all(), found
    assert (np.array(found) > 0.7).all(), found
