"""What users may give as ``cv``, and the folds by which encoders choose penalties."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from neuroextrap.stats._validation import brief, is_integer, random_generator, warn


def check_cv_argument(cv: Any) -> None:
    """Raise unless ``cv`` is a number of folds, a splitter or a list of folds."""
    if is_integer(cv):
        if cv < 2:
            raise ValueError(f"cv={cv!r} must be at least 2 folds; use 5, for example")
        return
    several = isinstance(cv, Iterable) and getattr(cv, "ndim", 1) > 0
    splits = hasattr(cv, "split") or several
    if isinstance(cv, (bool, str, bytes)) or not splits:
        raise TypeError(
            f"cv={brief(cv)} must be a number of folds, a scikit-learn splitter or a "
            "list of (train, test); use 5, for example"
        )


def deal_folds(n_units: int, n_folds: int, random_state: Any = 0) -> list[np.ndarray]:
    """Deal stimuli, or other units, out to folds at random, as equally as can be.

    Never in their order, in which every fold could be a level of a factor. Fewer than
    twice as many units as folds are left out one by one. Units of a fold are sorted.
    """
    n_folds = n_units if n_units < 2 * n_folds else n_folds
    order = random_generator(random_state).permutation(n_units)
    return [np.sort(fold) for fold in np.array_split(order, n_folds)]


def encoder_splits(cv, X, groups=None, random_state=0):
    """List the folds of an encoder's cross-validation as (train, test) row indices.

    An int `cv` means that many folds of samples, or of whole `groups` (n_samples,),
    drawn by `deal_folds`. Other folds may train on groups that they test, or leave out
    whole levels of a feature of `X` (n_samples, n_features): warnings say so.
    """
    from sklearn.model_selection import check_cv

    check_cv_argument(cv)
    if is_integer(cv):
        units, unit_of_row = np.unique(
            np.arange(len(X)) if groups is None else groups, return_inverse=True
        )
        n_units = len(units)
        if n_units < cv:
            unit = "samples" if groups is None else "groups"
            raise ValueError(
                f"cv={cv} folds need at least {cv} {unit}, got n_samples={len(X)} "
                f"and {n_units} {unit}; lower cv"
            )
        folds = deal_folds(n_units, int(cv), random_state)
        tested = [np.isin(unit_of_row, fold) for fold in folds]
        return [(np.flatnonzero(~test), np.flatnonzero(test)) for test in tested]
    if not hasattr(cv, "split"):
        cv = list(cv)
        if not cv or not all(map(_is_fold, cv)):
            raise ValueError(f"cv={brief(cv)} must hold folds: pairs (train, test)")
    splits = list(check_cv(cv).split(X, None, groups))
    if groups is not None:
        _warn_of_leaks(cv, splits, np.asarray(groups))
    _warn_of_levels(cv, splits, np.asarray(X))
    return splits


def _is_fold(fold):
    """Return whether something is two arrays, or lists, of numbers of rows."""
    is_pair = isinstance(fold, (tuple, list)) and len(fold) == 2
    return is_pair and all(np.ndim(rows) == 1 for rows in fold)


def partition_order(splits, n_samples):
    """Return rows in the order of the folds that test them, and where folds start.

    ValueError if the test rows of `splits` are not a partition of all rows, or a fold
    trains on fewer than two rows.
    """
    order = np.concatenate([np.asarray(test, dtype=int) for _, test in splits])
    if not np.array_equal(np.sort(order), np.arange(n_samples)):
        raise ValueError(
            f"cv must test each of the {n_samples} samples exactly once, got "
            f"{order.size} test rows; use KFold, GroupKFold or LeaveOneGroupOut"
        )
    for fold, (train, test) in enumerate(splits):
        if len(train) < 2 or np.intersect1d(train, test).size:
            raise ValueError(
                f"cv fold {fold} has {len(train)} training samples, or trains on "
                "samples that it tests; at least two and disjoint ones are needed"
            )
    start = np.cumsum([0, *(len(test) for _, test in splits)])
    return order, start


def _warn_of_leaks(cv, splits, groups):
    """Warn where folds test groups that they trained on."""
    leaks = sum(np.isin(groups[test], groups[train]).any() for train, test in splits)
    if leaks:
        warn(
            f"cv={cv!r} trains on groups that it tests in {leaks} of {len(splits)} "
            "folds: penalties and residuals come out too small; give an int, or a "
            "splitter of groups such as GroupKFold"
        )


def _warn_of_levels(cv, splits, X):
    """Warn where every fold tests a level of a feature that it did not train on."""
    for train, test in splits:
        first = X[train[:1]]
        constant = (X[train] == first).all(axis=0)
        new = X[np.ix_(test, np.flatnonzero(constant))] != first[:, constant]
        if not (new.mean(axis=0) >= 0.5).any():
            return
    warn(
        f"cv={cv!r} leaves out a whole level of a feature in each of {len(splits)} "
        "folds: residuals contain its effect, and a noise covariance of them hides it; "
        "give an int, which draws folds at random, or sort the samples otherwise"
    )
