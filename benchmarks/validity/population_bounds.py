"""Bounds for a population of classes: average accuracy and information."""

import math

import numpy as np
from scipy import optimize

from benchmarks.validity.registry import Row, check
from neuroextrap import stats

FAMILY = "Bounds for the population of the classes"
METHODS = ("subgaussian", "hybrid", "chebyshev")


def good_bad_curves(rng, n_sets, n_classes, sizes, share):
    """Return accuracy curves (n_sets, n_sizes) and the truth (n_sizes,).

    A good class is always identified; the bad ones all evoke the same response. No
    other population has a larger variance over classes.
    """
    wins = np.zeros((n_classes + 1, n_classes))
    for good in range(n_classes + 1):
        bad = n_classes - good
        wins[good, -1] = good / n_classes
        wins[good, n_classes - bad :] += 1 / n_classes
    curves = stats.average_accuracy(wins, sizes)
    drawn = rng.binomial(n_classes, share, size=n_sets)
    return curves[drawn], share + (1 - share**sizes) / sizes


@check(FAMILY, n_sets=200_000, quick=4000)
def good_and_bad_classes(rng, n_sets, *, mistake=False):
    """Two kinds of classes; mistake: the bound that counts test noise alone."""
    for n_classes, n_repeats, share in ((100, 1, 0.5), (100, 10, 0.5), (20, 10, 0.9)):
        sizes = np.array([2, n_classes // 2, n_classes])
        curves, truth = good_bad_curves(rng, n_sets, n_classes, sizes, share)
        design = stats.TestDesign(n_classes, n_repeats)
        where = f"{n_classes} classes x {n_repeats}, {share:.0%} of them easy"
        if mistake:
            if n_repeats == 10 and n_classes == 100:
                bound = design.bayes_accuracy_bound(curves[:, -1])
                yield Row("Average Bayes accuracy", where, bound > truth[-1])
            continue
        for method in METHODS:
            at = slice(-1, None) if method == "chebyshev" else slice(None)
            bound = design.average_bayes_accuracy_bound(
                curves[:, at], sizes[at], method=method
            )
            missed = (bound > truth[at] + 1e-12).mean(axis=1)
            name = f"Average Bayes accuracy, {method}, each set size"
            yield Row(name, where, missed)


def collision_curves(rng, n_sets, sizes, n_bins, erased, repeats):
    """Return curves (n_sets, n_sizes), the true curve, and the information in bits.

    Classes fall in bins; a response is the bin, or any bin when it is erased.
    """
    n_classes = len(repeats)
    y = np.repeat(np.arange(n_classes), repeats)
    bins = rng.integers(n_bins, size=(n_sets, n_classes))
    shape = (n_sets, len(y))
    anywhere = rng.integers(n_bins, size=shape)
    seen = np.where(rng.random(shape) < erased, anywhere, bins[:, y])
    margins = (seen[..., np.newaxis] == bins[:, np.newaxis]).astype(float)
    curves = stats.average_accuracy(stats.win_distribution(margins, y), sizes)
    occupied = n_bins * (1 - (1 - 1 / n_bins) ** sizes)
    truth = ((1 - erased) * occupied + erased) / sizes
    hit, miss = (1 - erased) + erased / n_bins, erased / n_bins
    nats = math.log(n_bins) + hit * math.log(hit)
    nats += (n_bins - 1) * miss * math.log(miss) if miss else 0
    return curves, truth, nats / math.log(2)


@check(FAMILY, n_sets=4000, quick=150)
def collisions(rng, n_sets, *, mistake=False):
    """Classes that evoke the same; mistake: the curve itself, no bound."""
    sizes = np.array([2, 10, 40])
    equal, unequal = np.full(40, 1), np.tile([1, 1, 2, 6], 10)
    designs = {
        "40 classes x 1 in 40 bins, ties": (40, 0.3, equal),
        "40 classes x 1 in 5 bins": (5, 0.0, equal),
        "40 classes x 1..6 in 39 bins, ties": (39, 0.3, unequal),
    }
    for where, (n_bins, erased, repeats) in designs.items():
        curves, truth, bits = collision_curves(
            rng, n_sets, sizes, n_bins, erased, repeats
        )
        design = stats.TestDesign(40, repeats, n_set_sizes=3)
        if mistake:
            missed = (curves > truth + 1e-12).any(axis=1)
            yield Row("Average Bayes accuracy", where, missed)
            continue
        for method in METHODS[:2]:
            bound = design.average_bayes_accuracy_bound(curves, sizes, method=method)
            name = f"Average Bayes accuracy, {method}, three set sizes at once"
            yield Row(name, where, (bound > truth + 1e-12).any(axis=1))
            best = design.best_information_bound(curves, sizes, method=method)
            name = f"Information, {method}, best of three set sizes"
            yield Row(name, where, best > bits)


def centroid_curves(rng, n_sets, sizes, n_classes, n_folds, n_repeats):
    """Return curves (n_sets, n_sizes) of nearest centroids, averaged over folds."""
    y = np.repeat(np.arange(n_classes), n_repeats)
    points = rng.normal(size=(n_sets, n_classes, 1, 1, 10))
    x = points + rng.normal(size=(n_sets, n_classes, n_folds, n_repeats, 10))
    total, curves = x.sum(axis=(2, 3)), 0
    for fold in range(n_folds):
        test = x[:, :, fold]
        center = (total - test.sum(axis=2)) / ((n_folds - 1) * n_repeats)
        seen = test.reshape(n_sets, -1, 10)
        margins = 2 * seen @ np.swapaxes(center, 1, 2)
        margins -= (center**2).sum(axis=-1)[:, np.newaxis]
        wins = stats.win_distribution(margins, y)
        curves = curves + stats.average_accuracy(wins, sizes) / n_folds
    return curves


@check(FAMILY, n_sets=3000, quick=150)
def averaged_folds(rng, n_sets, *, mistake=False):
    """A learned classifier, folds that test every class; mistake: no bound."""
    sizes = np.array([2, 10, 30])
    for n_folds, n_repeats in ((4, 2), (2, 1)):
        curves = centroid_curves(rng, n_sets, sizes, 30, n_folds, n_repeats)
        truth = curves.mean(axis=0)  # of this classifier: stricter than Bayes
        repeats = np.full((n_folds, 30), n_repeats)
        where = f"30 classes, {n_folds} folds x {n_repeats}, nearest centroid"
        for method in METHODS[:2]:
            bound = stats.TestDesign(30, repeats).average_bayes_accuracy_bound(
                curves, sizes, method=method
            )
            missed = ((curves if mistake else bound) > truth).mean(axis=1)
            name = f"Average Bayes accuracy, {method}, folds, each set size"
            yield Row(name, where, missed)


def extremal_curves(rng, n_sets, n_classes, n_repeats, bits):
    """Return accuracies among all classes where none are higher at `bits`.

    The score of a class is uniform for wrong ones and has density proportional to
    exp(c t^(K-1)) for the right one, the law that reaches the information bound.
    """
    t = np.linspace(0, 1, 20_001)

    def density(log_c):
        power = math.exp(log_c) * (t ** (n_classes - 1) - 1)
        weight = np.exp(power)
        return weight / np.trapezoid(weight, t)

    def excess(log_c):
        q = density(log_c)
        return np.trapezoid(q * np.log2(np.maximum(q, 1e-300)), t) - bits

    q = density(optimize.brentq(excess, -6, 12))
    cumulative = np.concatenate([[0], np.cumsum((q[1:] + q[:-1]) / 2)])
    # the stimulus is a place on a ring, and so is the response, away from it by 1 - t
    place = rng.random((n_sets, n_classes, 1))
    u = rng.random((n_sets, n_classes, n_repeats)) * cumulative[-1]
    response = (place - np.interp(u, cumulative, t)) % 1
    y = np.repeat(np.arange(n_classes), n_repeats)
    margins = (place.reshape(n_sets, 1, -1) - response.reshape(n_sets, -1, 1)) % 1
    # the true class's own score may lose its last digits, but is its own
    wins = stats.win_distribution(margins, y)
    return stats.average_accuracy(wins, [n_classes])


@check(FAMILY, n_sets=3000, quick=200)
def extremal_channel(rng, n_sets, *, mistake=False):
    """The population that reaches the bound; mistake: the accuracy itself."""
    for n_classes, n_repeats, bits in ((20, 1, 2.0), (60, 2, 4.0)):
        accuracy = extremal_curves(rng, n_sets, n_classes, n_repeats, bits)
        design = stats.TestDesign(n_classes, n_repeats)
        where = f"{n_classes} classes x {n_repeats}, {bits:g} bits, extremal"
        for method in METHODS:
            found = design.information_bound(accuracy, [n_classes], method=method)
            if mistake:
                found = stats.min_information(accuracy, [n_classes])
            name = f"Information, {method}, one set size"
            yield Row(name, where, found[:, 0] > bits)


def far_apart(pool, n_chosen):
    """Return points of a pool (n, n_dims), each the farthest from those before it."""
    chosen, nearest = [0], np.full(len(pool), np.inf)
    for _ in range(n_chosen - 1):
        away = ((pool - pool[chosen[-1]]) ** 2).sum(axis=1)
        nearest = np.minimum(nearest, away)
        chosen.append(int(nearest.argmax()))
    return pool[chosen]


@check(FAMILY, n_sets=40, quick=12)
def chosen_stimuli(rng, n_sets, *, mistake=False):
    """Stimuli drawn, or chosen far apart (the mistake)."""
    n_classes, n_repeats, noise = 100, 4, 1.0
    bits = 5 / 2 * math.log2(1 + noise**-2)
    far, drawn = [], []
    for _ in range(n_sets):
        pool = rng.normal(size=(5000, 5))
        sets = (far, far_apart(pool, n_classes)), (drawn, pool[:n_classes])
        for list_, points in sets:
            y = np.repeat(np.arange(n_classes), n_repeats)
            seen = points[y] + noise * rng.normal(size=(len(y), 5))
            margins = 2 * seen @ points.T - (points**2).sum(axis=1)
            sizes = np.array([2, 5, 10, 20, 50, 100])
            wins = stats.win_distribution(margins, y)
            curve = stats.average_accuracy(wins, sizes)
            design = stats.TestDesign(n_classes, n_repeats)
            list_.append(design.best_information_bound(curve, sizes) > bits)
    name = "Information, subgaussian, best of six set sizes"
    if not mistake:
        yield Row(name, "100 stimuli drawn at random", drawn)
    where = "100 stimuli chosen far apart, of 5,000"
    yield Row(name, where, far, in_scope=mistake)
