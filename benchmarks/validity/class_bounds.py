"""Bounds for the classes at hand: one split, folds, blocks, from above."""

import warnings

import numpy as np

from benchmarks.validity.registry import Row, check
from neuroextrap import stats
from neuroextrap.decoding import IdentificationSearchLight

FAMILY = "Bounds for the classes at hand"
METHODS = ("hoeffding", "kl", "clopper_pearson")
N_REGIONS = 50
TIGHT = "8 classes x 12, all equally hard"


def counts(rng, repeats, chances, shape):
    """Return class-averaged accuracies of test points, right with `chances` (K,)."""
    right = rng.binomial(repeats, chances, size=(*shape, len(repeats)))
    return (right / repeats).mean(axis=-1)


@check(FAMILY, n_sets=200_000, quick=2000)
def single_split(rng, n_sets, *, mistake=False):
    """Bayes accuracy, one split; mistake: one region's bound for fifty at once."""
    designs = {
        TIGHT: (np.full(8, 12), np.full(8, 0.5)),
        "2 classes x 10 at chance": (np.full(2, 10), np.full(2, 0.5)),
        "8 classes x 12, four easy and four hard": (
            np.full(8, 12),
            np.repeat([0.95, 0.15], 4),
        ),
        "8 classes with 1..12 test points": (
            np.array([1, 2, 3, 4, 6, 8, 10, 12]),
            np.full(8, 0.6),
        ),
    }
    for design, (repeats, chances) in designs.items():
        truth, equal = chances.mean(), len(set(repeats)) == 1
        for method in METHODS if equal else METHODS[:2]:
            options = {
                "n_classes": len(repeats),
                "n_repeats": repeats,
                "method": method,
            }
            one = counts(rng, repeats, chances, (n_sets,))
            bound = stats.bayes_accuracy_lower_bound(one, **options)
            name = f"Bayes accuracy, {method.replace('_', '-')}"
            if not mistake:
                yield Row(f"{name}, one region", design, bound > truth)
            elif design != TIGHT:
                continue  # too conservative elsewhere for the mistake to show
            if method != ("clopper_pearson" if equal else "kl"):
                continue
            many = counts(rng, repeats, chances, (n_sets // 10, N_REGIONS))
            together = 1 if mistake else N_REGIONS
            bound = stats.bayes_accuracy_lower_bound(
                many, **options, n_regions=together
            )
            missed = (bound > truth).any(axis=1)
            yield Row(f"{name}, {N_REGIONS} regions at once", design, missed)


@check(FAMILY, n_sets=200_000, quick=2000)
def accuracy_from_above(rng, n_sets, *, mistake=False):
    """Accuracy of this classifier; mistake: one region's bound for fifty at once."""
    equal, unequal = np.full(8, 12), np.array([1, 2, 3, 4, 6, 8, 10, 12])
    designs = {
        "8 classes x 12 at chance": (equal, np.full(8, 1 / 8), "clopper_pearson"),
        "8 classes x 12, accuracy .97": (equal, np.full(8, 0.97), "clopper_pearson"),
        "2 classes x 1, one always right": (
            np.array([1, 1]),
            np.array([1.0, 0.2]),
            "clopper_pearson",
        ),
        "8 classes with 1..12 test points": (unequal, np.full(8, 0.3), "kl"),
    }
    for design, (repeats, chances, method) in designs.items():
        options = {"n_classes": len(repeats), "n_repeats": repeats, "method": method}
        n_regions = N_REGIONS if mistake else 1
        shape = (n_sets // n_regions, n_regions)
        accuracy = counts(rng, repeats, chances, shape)
        bound = stats.accuracy_upper_bound(accuracy, **options)
        missed = (bound < chances.mean()).any(axis=1)
        if not mistake or "at chance" in design:
            name = f"Accuracy from above, {method.replace('_', '-')}"
            yield Row(name, design, missed)


def fold_accuracies(rng, n_sets, n_folds, n_classes, noise):
    """Return accuracies (n_sets,) of nearest centroids, and of the true centers.

    Every fold of `n_folds` tests each class once; five dimensions.
    """
    centers = 0.8 * rng.normal(size=(n_classes, 5))

    def rate(points, means):
        """Share of points (..., n_classes, 5) nearest to their own mean."""
        scores = 2 * points @ np.swapaxes(means, -1, -2)
        scores = scores - (means**2).sum(axis=-1)[..., np.newaxis, :]
        right = scores.argmax(axis=-1) == np.arange(n_classes)
        return right.mean(axis=-1)

    x = centers + noise * rng.normal(size=(n_sets, n_folds, n_classes, 5))
    means = (x.sum(axis=1, keepdims=True) - x) / (n_folds - 1)
    many = centers + noise * rng.normal(size=(100_000, n_classes, 5))
    return rate(x, means).mean(axis=1), rate(many, centers).mean()


@check(FAMILY, n_sets=4000, quick=400)
def folds(rng, n_sets, *, mistake=False):
    """Bayes accuracy over folds; mistake: the folds counted as independent."""
    name = "Bayes accuracy, hoeffding, folds"
    for n_folds, n_classes, noise in ((12, 8, 0.7), (4, 2, 1.5)):
        repeats = np.ones((n_folds, n_classes))
        if not mistake:
            observed, bayes = fold_accuracies(rng, n_sets, n_folds, n_classes, noise)
            bound = stats.bayes_accuracy_lower_bound(
                observed, n_classes=n_classes, n_repeats=repeats
            )
            design = f"{n_classes} classes, {n_folds} folds, nearest centroid"
            yield Row(name, design, bound > bayes)
        if mistake and n_classes == 2:
            continue  # too few outcomes to see it
        # the worst that folds can do: all are right and wrong together
        alike = rng.binomial(n_classes, 0.7, size=n_sets) / n_classes
        bound = stats.bayes_accuracy_lower_bound(
            alike, n_classes=n_classes, n_repeats=n_folds if mistake else repeats
        )
        design = f"{n_classes} classes, {n_folds} folds that err alike"
        yield Row(name, design, bound > 0.7)


def _searchlight_bounds(rng, n_sets, declared):
    """Return the share of 40 null regions whose bound exceeds chance, set by set."""
    n_regions, missed = 40, []
    runs = np.repeat(np.arange(2), 80)
    split = [(np.flatnonzero(runs == 0), np.flatnonzero(runs == 1))]
    blocks = np.repeat(np.arange(8), 20)
    y = np.tile([0, 1, 2, 3], 2)[blocks]
    regions = np.kron(np.eye(n_regions), np.ones((1, 3)))
    for _ in range(n_sets):
        x = rng.normal(size=(8, 120))[blocks] + 0.3 * rng.normal(size=(160, 120))
        light = IdentificationSearchLight(
            regions=regions, cv=split, blocks=blocks if declared else None
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what is not declared is warned about
            light.fit(x, y, groups=runs)
        bound = light.region_scores_["bayes_accuracy_bound"]
        missed.append((bound > 0.25 + 1e-9).mean())
    return np.array(missed)


@check(FAMILY, n_sets=300, quick=6, mistakes=8)
def blocks(rng, n_sets, *, mistake=False):
    """Scans that share the noise of their block; mistake: blocks not declared."""
    name = "Bayes accuracy, searchlight, one test run"
    design = "4 blocks of 20 alike scans"
    undeclared = _searchlight_bounds(rng, n_sets, declared=False)
    if not mistake:
        declared = _searchlight_bounds(rng, n_sets, declared=True)
        yield Row(name, f"{design}, declared", declared)
    where = f"{design}, not declared (warned about)"
    yield Row(name, where, undeclared, in_scope=mistake)


@check(FAMILY, n_sets=100_000, quick=2000)
def class_information(rng, n_sets, *, mistake=False):
    """Fano's bits; mistake: the population's bound read as one on these classes."""
    for n_classes, n_repeats, accuracy in ((8, 12, 0.5), (2, 50, 0.8), (50, 10, 1.0)):
        design = stats.TestDesign(n_classes, n_repeats)
        n_test = n_classes * n_repeats
        observed = rng.binomial(n_test, accuracy, size=n_sets) / n_test
        # errors spread evenly: Fano's inequality is an equality
        truth = stats.fano_information(accuracy, n_classes)
        bound = design.bayes_accuracy_bound(observed, method="clopper_pearson")
        bits = design.class_information_bound(bound)
        if mistake and accuracy < 1:
            continue
        if mistake:
            few = observed[:200]
            bits = design.information_bound(few[:, None], [n_classes])[:, 0]
        where = f"{n_classes} classes x {n_repeats}, accuracy {accuracy:g}"
        yield Row("Information about the classes at hand", where, bits > truth + 1e-9)
