"""Further tests as folds: in time, across conditions, of fewer classes."""

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
import scipy.sparse

from neuroextrap.design._design import Design
from neuroextrap.design._folds import class_weights, in_order, row_codes
from neuroextrap.stats._forward import ForwardDesign, cyclic_orders, joined_runs
from neuroextrap.stats._label_checks import check_labels, checked_labels
from neuroextrap.stats._validation import brief

# orders, each a list of (train, test), the same number in all
Orders = list[list[tuple[np.ndarray, np.ndarray]]]


class ForwardFolds(NamedTuple):
    """The folds of all orders, and how their outcomes are counted.

    ``sums`` (n_sums, n_test) weighs those of every step, ``weighting`` (n_test,) those
    of all steps together.
    """

    design: Design
    sums: scipy.sparse.csr_array
    weighting: np.ndarray
    outcomes: ForwardDesign


def forward_parts(
    codes: np.ndarray, n_classes: int, design: Design, groups: np.ndarray | None
) -> np.ndarray | str:
    """Return the number of the part of every sample, or why there are no parts.

    One that lacks a class is joined with the next: accuracy among some classes says
    nothing of the Bayes accuracy among all.
    """
    part = None
    if len(design.folds) > 1 and design.leaves_nothing_out:
        if np.array_equal(np.sort(design.test), np.arange(design.n_samples)):
            part = design.fold_of_test[np.argsort(design.test)]
        elif groups is not None and not design.splits(groups):
            part = groups
    if part is None:
        return "the folds do not leave whole runs out, each once"
    part, n_parts = _joined(in_order(part), codes, n_classes)
    if n_parts < 2:
        return "there are no two sets of consecutive runs that hold every class"
    return joined_runs(n_parts)[np.minimum(part, n_parts - 1)]


def chronological_order(
    codes: np.ndarray, n_classes: int, groups: np.ndarray, first_tested_run: int = 2
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the folds of the runs in time, each tested after all earlier ones.

    No fold depends on later runs, so that e-values stay valid when runs are added.
    """
    run = in_order(groups)
    part, n_parts = _joined(run, codes, n_classes)
    tested = np.setdiff1d(np.arange(1, n_parts), part[run < first_tested_run - 1])
    return [(np.flatnonzero(part < p), np.flatnonzero(part == p)) for p in tested]


def cyclic_folds(part: np.ndarray) -> tuple[Orders, np.ndarray]:
    """Return the folds of the cyclic orders of parts (n_samples,), and first steps."""
    rows = [np.flatnonzero(part == p) for p in range(part.max() + 1)]
    orders, shortest, first_steps = cyclic_orders(len(rows))
    steps, folds = range(shortest, len(rows)), []
    for order in orders:
        parts = [rows[p] for p in order]
        folds.append([(np.sort(np.concatenate(parts[:s])), parts[s]) for s in steps])
    return folds, first_steps


def forward_design(
    orders: Orders,
    n_samples: int,
    n_classes: int,
    chronological: list[tuple[np.ndarray, np.ndarray]] | None = None,
) -> Design:
    """Turn orders into one design.

    The `chronological` order, for e-values only, comes last; with it, only the first
    training set decides what is chosen without labels.
    """
    folds = tuple(fold for order in (*orders, chronological or ()) for fold in order)
    first_runs = chronological[0][0] if chronological else None
    return Design(folds, n_samples, n_classes, first_runs)


def counted_folds(
    design: Design,
    weights: np.ndarray,
    units: np.ndarray | None,
    first_steps: np.ndarray,
    shape: tuple[int, int],
) -> ForwardFolds:
    """Count independent `units` in every test of a design of (n_orders, n_steps).

    `weights` (n_test,) are those of the test points within their fold.
    """
    unit = design.test if units is None else units[design.test]
    distinct, member = np.unique(
        design.fold_of_test * (unit.max() + 1) + unit, return_inverse=True
    )
    n_units = np.bincount(distinct // (unit.max() + 1))
    shares = np.split(np.bincount(member, weights), np.cumsum(n_units)[:-1])
    heaviest = np.array([share.max() for share in shares])
    squares = np.array([(share**2).sum() for share in shares])
    sizes = [len(test) for _, test in design.folds]
    scaled = (weights / np.repeat(heaviest, sizes)).astype(np.float32)
    entries = scaled, np.arange(len(scaled)), np.cumsum([0, *sizes])
    sums = scipy.sparse.csr_array(entries, shape=(len(design.folds), len(scaled)))
    # steps are weighted by the inverse of their noise, orders equally; in the worst
    # case the noises of orders add up, so that s is their mean
    n_units, in_time = np.split(n_units, [math.prod(shape)])
    heaviest, heaviest_in_time = np.split(heaviest, [math.prod(shape)])
    precision = 1 / (design.n_classes * squares[: n_units.size].reshape(shape))
    noise = np.mean(1 / np.sqrt(precision.sum(axis=1))) ** 2
    share = precision / precision.sum(axis=1, keepdims=True) / shape[0]
    shares = np.append(share, np.zeros(len(in_time)))
    # clipped against rounding
    of_time = np.stack([in_time, np.clip(heaviest_in_time, 1 / in_time, 1)])
    outcomes = ForwardDesign(
        n_units.reshape(shape),
        np.clip(heaviest, 1 / n_units, 1).reshape(shape),
        first_steps,
        float(noise),
        of_time if len(in_time) else False,
    )
    return ForwardFolds(design, sums, weights * np.repeat(shares, sizes), outcomes)


def _joined(
    part: np.ndarray, codes: np.ndarray, n_classes: int
) -> tuple[np.ndarray, int]:
    """Join consecutive parts until each has every class; return their number, too."""
    present = np.zeros((part.max() + 1, n_classes), dtype=bool)
    present[part, codes] = True
    number, new = 0, np.empty(len(present), dtype=int)
    seen = np.zeros(n_classes, dtype=bool)
    for p, classes in enumerate(present):
        new[p] = number
        seen |= classes
        if seen.all():
            number, seen = number + 1, np.zeros(n_classes, dtype=bool)
    return new[part], number


class CrossSamples(NamedTuple):
    """Samples of two conditions with the same classes, and the folds between them."""

    codes: np.ndarray  # class of every sample, -1 for other conditions; (n_samples,)
    classes: np.ndarray  # the class of every code, (K,)
    parts: np.ndarray  # a number for every condition of every run, (n_samples,)
    folds: list  # (train, test), indices of the samples that have a class
    weights: np.ndarray  # of the test points in each direction, (2, n_test)


def cross_samples(
    y: Any, groups: Any, conditions: Any, classes: Any, pair: dict[str, Any]
) -> CrossSamples:
    """Train on one of two conditions (a `pair`) and test on the other, and back.

    Samples of a run never train classifiers that are tested on the same run.
    """
    if groups is None:
        raise ValueError(
            "groups is None, but samples of a run must not train and test together; "
            "give the run of every sample"
        )
    y, given = checked_labels(y, groups=groups, conditions=conditions)
    groups, conditions = given.values()
    members = [_members(conditions, role, name) for role, name in pair.items()]
    if (members[0] & members[1]).any():
        raise ValueError(
            f"train and test are the same condition {pair['train']!r}; fit the "
            "searchlight to its samples instead"
        )
    names = _shared_classes(y, members, classes, pair)
    keep = (members[0] | members[1]) & np.isin(y, names)
    codes = np.full(len(y), -1)
    codes[keep] = np.searchsorted(names, y[keep])
    first, second = (np.flatnonzero(member[keep]) for member in members)
    there, back = (
        _folds(*samples, groups[keep]) for samples in ((first, second), (second, first))
    )
    of_samples = codes[keep], groups[keep], names
    _check_trained(there, *of_samples, *pair.values())
    _check_trained(back, *of_samples, *reversed(pair.values()))
    tested = codes[keep][np.concatenate([test for _, test in there + back])]
    ways = np.split(tested[:, np.newaxis], [len(second)])
    weights = [class_weights(of_points, len(names)).T for of_points in ways]
    parts = row_codes(groups, conditions)
    folds, weights = there + back, scipy.linalg.block_diag(*weights)
    return CrossSamples(codes, names, parts, folds, weights)


def _members(conditions, role, name):
    """Return whether each sample is of a condition; ValueError if none is."""
    levels = np.unique(conditions).tolist()
    if not np.isscalar(name) or name not in levels:
        shown = ", ".join(map(repr, levels[:5]))
        raise ValueError(f"{role}={brief(name)} is no condition; choose one of {shown}")
    return conditions == name


def _shared_classes(y, members, classes, pair):
    """Return the classes of both conditions; ValueError if they have others."""
    own = [np.unique(y[member]) for member in members]
    names = np.union1d(*own) if classes is None else check_labels(classes, "classes")
    for known, (role, name) in zip(own, pair.items(), strict=True):
        lacking = np.setdiff1d(names, known).tolist()
        if lacking:
            raise ValueError(
                f"condition {name!r} ({role}) lacks the classes {lacking[:5]}, it has "
                f"{known.tolist()[:5]}; classes correspond by name, so call a class "
                "the same in both conditions, or choose classes=... that both have"
            )
    if len(np.unique(names)) < 2:
        raise ValueError(f"the conditions have one class, {names[0]}; give two or more")
    return np.unique(names)


def _folds(train, test, runs):
    """Return folds (train, test) that leave out of training what is of the same run."""
    shared = np.isin(runs[test], runs[train])
    folds = [(train, test[~shared])] if not shared.all() else []
    return folds + [
        (train[runs[train] != run], test[runs[test] == run])
        for run in np.unique(runs[test[shared]])
    ]


def _check_trained(folds, codes, runs, names, trained, tested):
    """Raise where a class has no training sample of one condition (`trained`)."""
    for train, test in folds:
        lacking = names[np.setdiff1d(np.arange(len(names)), codes[train])].tolist()
        if lacking:
            raise ValueError(
                f"when run {runs[test[0]]} of condition {tested!r} is tested, no other "
                f"run of {trained!r} has the classes {lacking[:5]} to train on; leave "
                f"this run of {tested!r} out, or choose classes=... that {trained!r} "
                "has in two runs or more"
            )


class SubsetTests(NamedTuple):
    """Cross-validation of subsets of classes whose labels and folds are alike."""

    rows: np.ndarray  # samples of every subset, (n_subsets, n_rows)
    codes: np.ndarray  # class codes 0..k-1 of these rows, (n_rows,)
    design: Design  # folds of these rows

    @property
    def arrays(self) -> tuple[np.ndarray, ...]:
        """Arrays that identify the tests; part of a checkpoint's identity."""
        return self.rows, self.codes, *self.design.arrays


def class_subsets(
    codes: np.ndarray,
    design: Design,
    set_sizes: np.ndarray,
    n_partitions: int,
    rng: np.random.Generator,
) -> tuple[SubsetTests, ...]:
    """Draw disjoint subsets of classes of every set size, the same for all regions."""
    n_classes = design.n_classes
    if len(np.unique(codes[design.test])) < n_classes:
        raise ValueError(
            "curves='measured' must have test samples of every class; choose another "
            "cv, or curves='trained_on_all'"
        )
    orders = [rng.permutation(n_classes) for _ in range(n_partitions)]
    found: list[SubsetTests] = []
    for k in map(int, set_sizes):
        starts = range(0, n_classes - k + 1, k)
        subsets = [np.sort(order[a : a + k]) for order in orders for a in starts]
        found += _tests(codes, design, subsets)
    return tuple(found)


def _tests(
    codes: np.ndarray, design: Design, subsets: list[np.ndarray]
) -> Iterator[SubsetTests]:
    """Yield the tests of subsets of one size; those that are alike together."""
    tested_in = np.full(design.n_samples, len(design.folds))
    tested_in[design.test] = design.fold_of_test
    by_fold = np.lexsort((codes, tested_in))
    alike: dict[Any, list[np.ndarray]] = {}
    for classes in subsets:
        rows = by_fold[np.isin(codes[by_fold], classes)]
        own = np.searchsorted(classes, codes[rows])
        place = np.full(design.n_samples, -1)
        place[rows] = np.arange(len(rows))
        folds = [[np.sort(place[part]) for part in fold] for fold in design.folds]
        kept = [tuple(tuple(p[p >= 0]) for p in fold) for fold in folds]
        key = tuple(own), tuple(fold for fold in kept if fold[1])
        alike.setdefault(key, []).append(rows)
    for (own, kept), together in alike.items():
        pairs = tuple((np.array(train), np.array(test)) for train, test in kept)
        of_subsets = Design(pairs, len(own), len(subsets[0]))
        yield SubsetTests(np.stack(together), np.array(own), of_subsets)
