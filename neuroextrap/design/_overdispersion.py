"""Whether outcomes of a run depend on one another: run accuracies that differ."""

import numpy as np
import scipy.sparse

from neuroextrap.design._design import Design
from neuroextrap.design._doubts import Doubt
from neuroextrap.design._labels import row_codes

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
        odd = np.argsort(np.argsort(first))[run.ravel()] % 2
        halves = np.flatnonzero(odd), np.flatnonzero(odd == 0)
        design = Design((halves, halves[::-1]), design.n_samples, design.n_classes)
    for train, _ in design.folds:
        if len(np.unique(labels.codes[train])) < design.n_classes:
            return None
    tested = [np.unique(labels.groups[test]) for _, test in design.folds]
    return design if max(map(len, tested)) > 1 else None


def overdispersed_runs(outcomes, labels, design):
    """Return Doubts, 0 or 1, where outcomes of a run depend on one another.

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
    note = (
        f"{because}: lower bounds, which count outcomes of a run as independent, may be "
        "too large; give test_units='runs'"
    )
    return (Doubt(because, note),)


def run_dispersion(outcomes, labels, design):
    """Return the variance of run accuracies over that of independent outcomes.

    The mean outcome of a class in a fold is first subtracted; a block counts as one
    outcome. The reference exchanges outcomes of a class between the runs of a fold, in
    the same way in all regions: exact if they are independent. Averaged over the most
    accurate regions, which the exchange does not change. None if one of 199
    exchanges gives as much, or nothing can be exchanged.
    """
    e, run, cell = _units(outcomes, labels, design)
    size, order = np.bincount(run)[:, np.newaxis], np.argsort(cell, kind="stable")
    cells = np.split(order, np.flatnonzero(np.diff(cell[order])) + 1)
    for members in cells:
        e[members] -= e[members].mean(axis=0)
    total = np.square(e).sum(axis=0)
    e = e[:, total > 1e-9] / np.sqrt(total[total > 1e-9])
    if not e.size:
        return None

    def variance(rows):
        sums = scipy.sparse.csr_array((ones, (run, rows)), (len(size), len(e))) @ e
        return (sums**2 / size).sum(axis=0).mean()

    rng, ones = np.random.default_rng(0), np.ones(len(e))
    observed, chance = variance(np.arange(len(e))), np.empty(_SHUFFLES)
    for shuffle in range(_SHUFFLES):
        rows = np.empty(len(e), dtype=int)
        rows[order] = np.concatenate([rng.permutation(members) for members in cells])
        chance[shuffle] = variance(rows)
    reached = (chance >= observed * (1 - 1e-10)).any()
    return None if reached else float(observed / chance.mean())


def _units(outcomes, labels, design):
    """Return outcomes of test units (n_units, n_regions), with their runs and cells.

    Of at most 64 regions that are at least half as much above chance as the best one.
    Outcomes of a cell, a class in a fold, are exchangeable.
    """
    point = design.test if labels.units is None else labels.units[design.test]
    codes, fold = labels.codes[design.test], design.fold_of_test
    unit = row_codes(fold, codes, point)
    _, first, size = np.unique(unit, return_index=True, return_counts=True)
    above = outcomes.mean(axis=1) - 1 / design.n_classes
    best = np.argsort(-above, kind="stable")[:_MOST_REGIONS]
    best = best[above[best] >= above.max() / 2]
    sums = np.zeros((len(size), len(best)))
    np.add.at(sums, unit, outcomes[best].T)
    runs = row_codes(fold, labels.groups[design.test])
    return sums / size[:, np.newaxis], runs[first], row_codes(fold, codes)[first]
