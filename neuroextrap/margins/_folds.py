"""From a cross-validation splitter to a checked design."""

import numpy as np

from neuroextrap.margins._design import Design


def make_design(codes, n_classes, *, cv=None, groups=None):
    """Split samples into folds and check that every fold can be trained.

    Parameters
    ----------
    codes : ndarray of int, shape (n_samples,)
        Class codes 0..K-1.
    n_classes : int
        Number of classes K.
    cv : None, int, scikit-learn splitter, or iterable of (train, test)
        None is leave-one-group-out; an integer is that many folds of whole groups, or
        stratified folds without groups.
    groups : array-like, shape (n_samples,), or None
        Run (or session) of every sample.

    Returns
    -------
    Design
        Checked folds.

    Raises
    ------
    ValueError
        When neither cv nor groups is given, when there is one group only, when training
        and test samples overlap or a fold is empty, and when a class has no training
        sample in a fold.

    Examples
    --------
    >>> import numpy as np
    >>> from neuroextrap.margins._folds import make_design
    >>> design = make_design(np.array([0, 1, 0, 1]), 2, groups=[1, 1, 2, 2])
    >>> [test.tolist() for _, test in design.folds]
    [[0, 1], [2, 3]]
    """
    groups = None if groups is None else np.asarray(groups)
    if groups is not None and groups.shape != codes.shape:
        raise ValueError(
            f"groups has shape {groups.shape}, the labels {codes.shape}; give one "
            "group (run) for every sample"
        )
    splitter = _resolve_cv(cv, groups)
    samples = np.zeros((len(codes), 1))
    folds = tuple(
        (np.asarray(train, dtype=int), np.asarray(test, dtype=int))
        for train, test in splitter.split(samples, codes, groups)
    )
    _check_folds(folds, codes, n_classes)
    return Design(folds, len(codes), n_classes)


def _resolve_cv(cv, groups):
    """Return a splitter object for what the user gave."""
    from sklearn.model_selection import (
        GroupKFold,
        LeaveOneGroupOut,
        StratifiedKFold,
        check_cv,
    )

    if cv is None:
        if groups is None:
            raise ValueError(
                "cv=None leaves one group out at a time, but groups is None; give "
                "fit(..., groups=runs), or a splitter as cv"
            )
        if len(np.unique(groups)) < 2:
            raise ValueError(
                "leave-one-group-out needs at least two groups (runs), got one; give "
                "cv, for example sklearn.model_selection.StratifiedKFold()"
            )
        return LeaveOneGroupOut()
    if isinstance(cv, (int, np.integer)):
        return StratifiedKFold(cv) if groups is None else GroupKFold(cv)
    return check_cv(cv)


def _check_folds(folds, codes, n_classes):
    """Raise when a fold cannot be trained or tested."""
    if not folds:
        raise ValueError("cv made no folds; give a splitter that yields (train, test)")
    for number, (train, test) in enumerate(folds, start=1):
        if len(test) == 0 or len(train) == 0:
            raise ValueError(f"fold {number} of cv has no training or no test samples")
        if len(np.intersect1d(train, test)):
            raise ValueError(
                f"fold {number} of cv has samples in both training and test set"
            )
        lacking = np.setdiff1d(np.arange(n_classes), codes[train])
        if len(lacking):
            raise ValueError(
                f"classes {_few(lacking)} (by sorted order) have no training sample in "
                f"fold {number}; every class needs samples in at least two groups, or "
                "choose classes=... or another cv"
            )


def _few(values):
    """Show up to five values."""
    shown = ", ".join(str(int(value)) for value in values[:5])
    return shown + (", ..." if len(values) > 5 else "")


def check_labelings(codes, design):
    """Raise when a labeling leaves a class without training samples in a fold.

    Parameters
    ----------
    codes : ndarray of int, shape (n_labelings, n_samples)
        Class codes 0..K-1.
    design : Design
        Folds of the cross-validation.

    Raises
    ------
    ValueError
        When a permuted labeling cannot be trained on.

    Examples
    --------
    >>> import numpy as np
    >>> from neuroextrap.margins._folds import check_labelings, make_design
    >>> design = make_design(np.array([0, 1, 0, 1]), 2, groups=[1, 1, 2, 2])
    >>> check_labelings(np.array([[1, 0, 0, 1]]), design)
    """
    classes = np.arange(design.n_classes)
    for train, _ in design.folds:
        for block in np.array_split(codes[:, train], max(1, codes.size // 2**22)):
            present = (block[:, :, None] == classes).any(axis=1).all(axis=1)
            if not present.all():
                raise ValueError(
                    "a permuted labeling leaves a class without training samples in a "
                    "fold; give groups so that labels are permuted within runs, or use "
                    "stratified folds with more samples"
                )


def fold_weightings(codes, design):
    """Weight the test points of each fold by themselves, classes equal within the fold.

    Parameters
    ----------
    codes : ndarray of int, shape (n_samples,)
        Class codes 0..K-1.
    design : Design
        Folds of the cross-validation.

    Returns
    -------
    weightings : ndarray, shape (n_folds, n_test)
        Row f weighs the points of fold f, and sums to one.
    repeats : ndarray of int, shape (n_folds, K)
        Test points of every class in every fold.

    Examples
    --------
    >>> import numpy as np
    >>> from neuroextrap.margins._folds import fold_weightings, make_design
    >>> codes = np.array([0, 1, 0, 1])
    >>> design = make_design(codes, 2, groups=[1, 1, 2, 2])
    >>> fold_weightings(codes, design)[0]
    array([[0.5, 0.5, 0. , 0. ],
           [0. , 0. , 0.5, 0.5]])
    """
    y = codes[design.test]
    weightings = np.zeros((len(design.folds), len(y)))
    repeats = np.zeros((len(design.folds), design.n_classes), dtype=int)
    for f, rows in enumerate(design.fold_slices):
        repeats[f] = np.bincount(y[rows], minlength=design.n_classes)
        n_present = np.count_nonzero(repeats[f])
        weightings[f, rows] = 1.0 / (n_present * repeats[f][y[rows]])
    return weightings, repeats
