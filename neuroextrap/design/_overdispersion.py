"""Whether outcomes of a run depend on one another: run accuracies that differ."""

import numpy as np

from neuroextrap.design._design import Design
from neuroextrap.design._findings import BOUNDS, Finding
from neuroextrap.design._labels import means_of, members, row_codes

_SHUFFLES = 199  # none of which may give as much: a level of 0.005
_MOST_REGIONS = 64
_SMALLEST_DISPERSION = 1.5


def shared_classifiers(labels, design):
    """Return folds in which one classifier is tested on several runs, or None.

    These are the fold of a single split, or else every other run, tested by a
    classifier of the others. Independent outcomes then differ between the runs of a
    fold by chance only.
    """
    if labels.groups is None:
        return None
    if len(design.folds) > 1:
        _, first, run = np.unique(labels.groups, return_index=True, return_inverse=True)
        odd = np.argsort(np.argsort(first))[run] % 2
        halves = np.flatnonzero(odd), np.flatnonzero(odd == 0)
        design = Design((halves, halves[::-1]), design.n_samples, design.n_classes)
    n_classes = design.n_classes
    least = [
        np.bincount(labels.codes[train], minlength=n_classes).min()
        for train, _ in design.folds
    ]
    n_tested = [len(np.unique(labels.groups[test])) for _, test in design.folds]
    return design if min(least) > 1 and max(n_tested) > 1 else None


def overdispersed_runs(outcomes, labels, design):
    """Return Findings, 0 or 1, where outcomes of a run depend on one another.

    `outcomes` (n_regions, n_test) are chances to be right, of the test points of the
    `design` that :func:`shared_classifiers` returned.
    """
    dispersion = run_dispersion(outcomes, labels, design)
    if dispersion is None or dispersion < _SMALLEST_DISPERSION:
        return ()
    because = (
        "accuracy differs between runs by more than chance (its variance is "
        f"{dispersion:.1f} times that of independent outcomes)"
    )
    effect = (
        "lower bounds and e-values, which count the outcomes of a run as independent, "
        "may be too large"
    )
    seen = ("overdispersed_runs", "doubtful", dispersion, BOUNDS)
    return (Finding(*seen, because, effect, "give bounds=Bounds(test_units='runs')"),)


def run_dispersion(outcomes, labels, design):
    """Return the variance of run accuracies over that of independent outcomes.

    The mean outcome of a class in a fold is first subtracted; a block counts as one
    outcome. The variance is averaged over at most 64 regions that are at least half as
    much above chance as the best one. The reference exchanges outcomes of a class
    between the runs of a fold, in the same way in all regions: exact if outcomes are
    independent. None if one of 199 exchanges gives as much.
    """
    test, fold = design.test, design.fold_of_test
    cell = row_codes(fold, labels.codes[test])
    point = row_codes(cell, test if labels.units is None else labels.units[test])
    above = outcomes.mean(axis=1) - 1 / design.n_classes
    best = np.argsort(-above, kind="stable")[:_MOST_REGIONS]
    rest = means_of(outcomes[best[above[best] >= above.max() / 2]].T, point)
    first = np.unique(point, return_index=True)[1]
    cell, run = cell[first], row_codes(fold, labels.groups[test])[first]
    rest -= means_of(rest, cell)[cell]
    total = np.square(rest).sum(axis=0)
    rest = rest[:, total > 1e-9] / np.sqrt(total[total > 1e-9])
    if not rest.size:
        return None
    rng, place, size = np.random.default_rng(0), np.argsort(cell), np.bincount(run)
    in_run = members(run)

    def variance(order):
        return (
            (np.square(in_run @ rest[order]) / size[:, np.newaxis]).sum(axis=0).mean()
        )

    order, chance = np.arange(len(cell)), []
    observed = variance(order)
    for _ in range(_SHUFFLES):
        order[place] = np.lexsort((rng.random(len(cell)), cell))
        chance.append(variance(order))
        if chance[-1] >= observed * (1 - 1e-10):
            return None
    return float(observed / np.mean(chance))
