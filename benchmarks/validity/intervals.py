"""Intervals and standard errors that count the sampling of classes."""

import warnings
from functools import lru_cache

import numpy as np
from scipy import stats as laws
from scipy.special import expit, logit

from benchmarks.validity.registry import Row, check, chosen
from neuroextrap import stats
from neuroextrap.learning_curves import (
    compare_learning_curves,
    information_learning_curve,
)

FAMILY = "Intervals and standard errors (approximate)"
DESIGNS = [(6, 1, 1.0), (6, 10, 1.0), (20, 1, 0.7), (20, 4, 1.5), (80, 1, 1.0)]


def sample(rng, n_classes, n_repeats, noise):
    """Return margins and labels of the Gaussian Bayes classifier in ten dimensions."""
    points = rng.normal(size=(n_classes, 10))
    y = np.repeat(np.arange(n_classes), n_repeats)
    seen = points[y] + noise * rng.normal(size=(len(y), 10))
    return 2 * seen @ points.T - (points**2).sum(axis=1), y


@lru_cache
def truth(noise, sizes, n_draws=100_000, n_dims=10):
    """Return the population's average accuracy, from chances to beat one class."""
    rng = np.random.default_rng(99)
    points = rng.normal(size=(n_draws, n_dims))
    seen = points + noise * rng.normal(size=(n_draws, n_dims))
    own = ((seen - points) ** 2).sum(axis=1)
    beats = laws.ncx2.sf(own, n_dims, (seen**2).sum(axis=1))
    return np.array([(beats ** (k - 1)).mean() for k in sizes])


def forgetful(accuracy, n_test):
    """Return the interval of test noise alone, on a logit scale: the mistake."""
    inner = np.clip(accuracy, 0.5 / n_test, 1 - 0.5 / n_test)
    half = 1.96 / np.sqrt(n_test * inner * (1 - inner))
    return expit(logit(inner) - half), expit(logit(inner) + half)


@check(FAMILY, n_sets=1600, quick=50)
def accuracy_interval(rng, n_sets, *, mistake=False):
    """Curve, 95%; mistake: an interval that forgets that classes are sampled."""
    for n_classes, n_repeats, noise in [(50, 50, 1.0)] if mistake else DESIGNS:
        sizes = (2, n_classes // 2, n_classes)
        exact, missed, jackknife = truth(noise, sizes), [], []
        quantile = laws.t.ppf(0.975, n_classes - 1)
        for _ in range(n_sets):
            margins, y = sample(rng, n_classes, n_repeats, noise)
            lower, upper = stats.average_accuracy_interval(margins, y, sizes)
            accuracy, error = stats.average_accuracy_jackknife(margins, y, sizes)
            if mistake:
                lower, upper = forgetful(accuracy, len(y))
                error = np.sqrt(accuracy * (1 - accuracy) / len(y))
            missed.append(((exact < lower) | (exact > upper)).mean())
            jackknife.append((np.abs(accuracy - exact) > quantile * error).mean())
        where = f"{n_classes} classes x {n_repeats}, "
        where += f"pairwise accuracy {exact[0]:.2f}, three set sizes"
        name = "Average accuracy, 95% interval"
        yield Row(name, where, missed, nominal=0.06)
        name = "Average accuracy, twice the jackknife error (t quantile)"
        enough = n_classes >= 20 and exact[0] < 0.99
        yield Row(name, where, jackknife, nominal=0.1, in_scope=enough)


@check(FAMILY, n_sets=1000, quick=9, mistakes=18)
def information_interval(rng, n_sets, *, mistake=False):
    """Implied information, 95%; mistake: classes taken as fixed."""
    for n_classes, n_repeats, noise in [(50, 200, 1.0)] if mistake else DESIGNS:
        sizes = (2, n_classes // 2, n_classes)
        exact = stats.implied_information(truth(noise, sizes), sizes)
        quantile, missed, jackknife = laws.t.ppf(0.975, n_classes - 1), [], []
        for _ in range(n_sets):
            margins, y = sample(rng, n_classes, n_repeats, noise)
            lower, upper = stats.implied_information_interval(margins, y, sizes)
            if mistake:
                wins = stats.win_distribution(margins, y)
                ends = forgetful(stats.average_accuracy(wins, n_classes), len(y))
                lower, upper = stats.implied_information(
                    np.array(ends)[:, None], [n_classes]
                )
            missed.append((exact < lower) | (exact > upper))
            bits, error = stats.implied_information_jackknife(margins, y, sizes)
            if mistake:
                error = (upper - lower) / (2 * 1.96)
            # an error that is not known is no interval
            within = np.abs(bits - exact) <= quantile * error
            jackknife.append(not within)
        where = f"{n_classes} classes x {n_repeats}, {exact:.1f} bits, three set sizes"
        yield Row("Implied information, 95% interval", where, missed)
        name = "Implied information, twice the jackknife error (t quantile)"
        enough = n_classes >= 20 and truth(noise, sizes)[0] < 0.99
        yield Row(name, where, jackknife, nominal=0.1, in_scope=mistake or enough)


@check(FAMILY, n_sets=400, quick=7, mistakes=9)
def learning_curves(rng, n_sets, *, mistake=False):
    """Models equal in law; mistake: an error that ignores shared subjects."""
    sizes, decided = [4] if mistake else chosen([2, 4, 6], n_sets), []
    for _ in range(n_sets):
        y, groups = np.tile([0, 0, 1, 1], 8), np.repeat(np.arange(8), 4)
        means = 0.5 * rng.normal(size=(2, 20))
        x = (
            means[y]
            + rng.normal(size=(32, 20))
            + 0.5 * rng.normal(size=(8, 20))[groups]
        )
        with warnings.catch_warnings():  # of few residual degrees of freedom
            warnings.simplefilter("ignore")
            curves = {
                name: information_learning_curve(
                    x[:, half],
                    y,
                    groups,
                    train_sizes=sizes,
                    n_splits=20,
                    pattern=None,
                    random_state=0,
                )
                for name, half in (("one", slice(0, 10)), ("other", slice(10, 20)))
            }
        found = compare_learning_curves(curves)
        error = found.standard_error
        if mistake:
            error = error / np.sqrt(1 + 20 * (8 - np.array(sizes)) / sizes)
        decided.append(found.lead > 2 * error)
    for size, wrong in zip(sizes, np.transpose(decided), strict=True):
        where = f"8 subjects, {size} of them train, 20 splits"
        yield Row("Learning curves, lead of two errors", where, wrong, nominal=0.1)
