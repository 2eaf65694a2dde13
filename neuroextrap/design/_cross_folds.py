"""Folds that train on one condition of an experiment and test on another."""

from typing import Any, NamedTuple

import numpy as np

from neuroextrap.design._folds import class_weights
from neuroextrap.design._labels import checked_entries, row_codes
from neuroextrap.stats._validation import brief, check_labels


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
    """Train on one of two conditions and test on the other, then vice versa.

    `y`, `groups` (runs) and `conditions` have shape (n_samples,), `classes` may be
    None, and `pair` are the conditions by role, "train" and "test". Samples of a run
    never train classifiers that are tested on the same run; conditions that share no
    run train as a whole. ValueError if lengths differ, the conditions are no two, or
    they do not have the same classes.
    """
    y = check_labels(y, "y")
    if groups is None:
        raise ValueError(
            "groups is None, but samples of a run must not train and test together; "
            "give the run of every sample"
        )
    groups = checked_entries(groups, "groups", y)
    conditions = checked_entries(conditions, "conditions", y)
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
    tested = np.concatenate([test for _, test in there + back])
    weights = np.zeros((2, len(tested)))
    for row, points in zip(
        weights, np.split(np.arange(len(tested)), [len(second)]), strict=True
    ):
        of_points = codes[keep][tested[points], np.newaxis]
        row[points] = class_weights(of_points, len(names))[:, 0]
    parts = row_codes(groups, conditions)
    return CrossSamples(codes, names, parts, there + back, weights)


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
                f"condition {name!r} ({role}) lacks the classes {lacking[:5]}; classes "
                "correspond by name, so call a class the same in both conditions, or "
                "choose classes=... that both have"
            )
    if len(np.unique(names)) < 2:
        raise ValueError(f"the conditions have one class, {names[0]}; give two or more")
    return np.unique(names)


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
