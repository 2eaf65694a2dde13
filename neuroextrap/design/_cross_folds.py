"""Folds that train on one condition of an experiment and test on another."""

from typing import Any, NamedTuple

import numpy as np

from neuroextrap.design._folds import class_weights
from neuroextrap.design._labels import row_codes
from neuroextrap.stats._validation import check_labels

_SHOWN = 5


class CrossSamples(NamedTuple):
    """Samples of two conditions with the same classes, and the folds between them."""

    codes: np.ndarray  # class of every sample, -1 for other conditions; (n_samples,)
    classes: np.ndarray  # the class of every code, (K,)
    parts: np.ndarray  # a number for every condition of every run, (n_samples,)
    folds: list  # (train, test), indices of the samples that have a class
    weights: np.ndarray  # of the test points in each direction, (2, n_test)


def cross_samples(
    y: Any, groups: Any, conditions: Any, classes: Any, pair: tuple[Any, Any]
) -> CrossSamples:
    """Pair two conditions: train on the first and test on the second, then vice versa.

    `y`, `groups` (runs) and `conditions` have shape (n_samples,), `classes` may be
    None, and `pair` names the conditions. Samples of a run never train classifiers
    that are tested on the same run; where no run holds both conditions, each trains as
    a whole. ValueError if lengths differ, the conditions are no two, or do not have the
    same classes, or a class is left without training samples.
    """
    y, groups, conditions = _checked(y, groups, conditions)
    members = [_members(conditions, name, which) for name, which in _named(pair)]
    if pair[0] == pair[1]:
        raise ValueError(
            f"train={pair[0]!r} and test={pair[1]!r} are the same condition; fit the "
            "searchlight to its samples instead"
        )
    names = _shared_classes(y, members, classes, pair)
    chosen = np.isin(y, names)
    members = [member & chosen for member in members]
    keep = members[0] | members[1]
    codes = np.where(keep, np.searchsorted(names, y).clip(max=len(names) - 1), -1)
    kept, runs = codes[keep], groups[keep]
    first, second = (np.flatnonzero(member[keep]) for member in members)
    folds, weights = [], np.zeros((2, keep.sum()))
    for i, (train, test) in enumerate(((first, second), (second, first))):
        some = _folds(train, test, runs)
        _check_trained(some, kept, runs, names, pair[i])
        points = np.concatenate([rows for _, rows in some])
        start = 0 if i == 0 else len(second)
        own = class_weights(kept[points][:, np.newaxis], len(names))[:, 0]
        weights[i, start : start + len(points)] = own
        folds += some
    return CrossSamples(codes, names, row_codes(groups, conditions), folds, weights)


def _named(pair):
    """Return the names of both arguments with what they are."""
    return list(zip(pair, ("train", "test"), strict=True))


def _checked(y, groups, conditions):
    """Return labels, runs and conditions as arrays of one length."""
    if groups is None:
        raise ValueError(
            "groups is None, but samples of a run must not train and test together; "
            "give the run of every sample"
        )
    y = check_labels(y, "y")
    others = check_labels(groups, "groups"), check_labels(conditions, "conditions")
    for name, values in zip(("groups", "conditions"), others, strict=True):
        if values.shape != y.shape:
            raise ValueError(
                f"{name} has shape {values.shape}, y has {y.shape}; give one entry for "
                "every sample"
            )
    return y, *others


def _members(conditions, name, which):
    """Return whether each sample is of a condition; ValueError if none is."""
    levels = np.unique(conditions)
    found = [level for level in levels.tolist() if np.isscalar(name) and level == name]
    if not found:
        raise ValueError(
            f"{which}={name!r} is no condition; choose one of {_few(levels)}"
        )
    return conditions == found[0]


def _shared_classes(y, members, classes, pair):
    """Return the classes of both conditions; ValueError if they have others."""
    own = [np.unique(y[member]) for member in members]
    if classes is not None:
        asked = np.unique(check_labels(classes, "classes"))
        own = [np.intersect1d(asked, each) for each in own]
        lacking = [np.setdiff1d(asked, each) for each in own]
    else:
        lacking = [np.setdiff1d(own[1 - i], own[i]) for i in (0, 1)]
    for absent, (name, which) in zip(lacking, _named(pair), strict=True):
        if len(absent):
            raise ValueError(
                f"condition {name!r} ({which}) has no class {_few(absent)}; classes "
                "correspond by name, so call a class the same in both conditions, or "
                "choose classes that both have"
            )
    if len(own[0]) < 2:
        raise ValueError(
            f"the conditions share {len(own[0])} class; give at least two classes"
        )
    return own[0]


def _folds(train, test, runs):
    """Return folds (train, test) that leave out of training what is of the same run.

    Runs without training samples are tested together.
    """
    shared = np.isin(runs[test], runs[train])
    folds = [(train, test[~shared])] if not shared.all() else []
    return folds + [
        (train[runs[train] != run], test[runs[test] == run])
        for run in np.unique(runs[test[shared]])
    ]


def _check_trained(folds, codes, runs, names, condition):
    """Raise where a class has no training sample left."""
    for train, test in folds:
        lacking = np.setdiff1d(np.arange(len(names)), codes[train])
        if len(lacking):
            raise ValueError(
                f"condition {condition!r} has class {_few(names[lacking])} in run "
                f"{runs[test[0]]} only, which is left out when that run is tested; a "
                "class needs samples in two runs, or leave it out by classes=..."
            )


def _few(values):
    """Show some values."""
    shown = ", ".join(repr(value) for value in values[:_SHOWN].tolist())
    return shown + (", ..." if len(values) > _SHOWN else "")
