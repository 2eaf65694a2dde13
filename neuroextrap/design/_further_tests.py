"""Further tests as folds: across conditions, of fewer classes."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg

from neuroextrap.design._design import Design
from neuroextrap.design._folds import class_weights, row_codes
from neuroextrap.stats._label_checks import check_labels, checked_labels
from neuroextrap.stats._validation import brief


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
        choices = ", ".join(map(repr, levels[:5]))
        raise ValueError(
            f"{role}={brief(name)} is no condition; choose one of {choices}"
        )
    return conditions == name


def _shared_classes(y, members, classes, pair):
    """Return the classes of both conditions; ValueError if they have others."""
    own = [np.unique(y[member]) for member in members]
    names = np.union1d(*own) if classes is None else check_labels(classes, "classes")
    for present, (role, name) in zip(own, pair.items(), strict=True):
        lacking = np.setdiff1d(names, present).tolist()
        if lacking:
            raise ValueError(
                f"condition {name!r} ({role}) lacks the classes {lacking[:5]}, it has "
                f"{present.tolist()[:5]}; classes correspond by name, so call a class "
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
    tests: list[SubsetTests] = []
    for k in map(int, set_sizes):
        starts = range(0, n_classes - k + 1, k)
        subsets = [np.sort(order[a : a + k]) for order in orders for a in starts]
        tests += _tests(codes, design, subsets)
    return tuple(tests)


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
