"""Samples that are copies of one another, to the last bit."""

import numpy as np

_MOST_COLUMNS = 2000
_MOST_OTHERS = 200
_FEWEST_COLUMNS = 3
_DISCRETE_COLUMNS = 8
_CLOSE = 1e-4  # standard deviations within which rows that were centered are equal


def copies(X):
    """Give every row of `X` (n_samples, n_features) a number that copies share.

    None where no row is a copy. Rows that are equal are copies if that cannot be
    chance: if no other row shares most of their values (measurements are continuous),
    or, in data of few values, if all others differ from them in many columns. Ratings
    or counts of a few neurons may be equal by chance, and are left alone.

    >>> X = np.random.default_rng(0).normal(size=(4, 5))
    >>> copies(X) is None, copies(X[[0, 1, 2, 0]]).tolist()
    (True, [0, 1, 2, 0])
    """
    if X.shape[1] < _FEWEST_COLUMNS:
        return None
    some = np.ascontiguousarray(X[:, :: -(-X.shape[1] // _MOST_COLUMNS)])
    hashes = [hash(row.tobytes()) for row in some]
    _, first, member = np.unique(hashes, return_index=True, return_inverse=True)
    number = first[member]
    later = [
        i
        for i in np.flatnonzero(number != np.arange(len(X)))
        if np.array_equal(X[i], X[number[i]])
    ]
    distinct = np.sort(first)
    found = np.arange(len(X))
    for i in later:
        if _stands_apart(some, number[i], distinct, len(X)):
            found[i] = number[i]
    return found if (found != np.arange(len(X))).any() else None


def _stands_apart(rows, row, distinct, n_rows):
    """Return whether a row differs from all others too much to be met by chance."""
    others = rows[distinct[distinct != row][:_MOST_OTHERS]]
    if not len(others):
        return False
    differs = others != rows[row]
    continuous = 2 * differs.all(axis=0).sum() >= rows.shape[1]
    varied = 5 * len(distinct) >= n_rows
    return continuous or (varied and differs.sum(axis=1).min() >= _DISCRETE_COLUMNS)


def check_copies(number, folds, remedy):
    """Raise where a sample trains and a copy of it is tested.

    `number` is what :func:`copies` returned, `folds` pairs of arrays of samples, and
    `remedy` ends the message.
    """
    if number is None:
        return
    for fold, (train, test) in enumerate(folds, start=1):
        shared = np.intersect1d(number[train], number[test])
        if len(shared):
            one = train[number[train] == shared[0]][0]
            other = test[number[test] == shared[0]][0]
            raise ValueError(
                f"samples {min(one, other)} and {max(one, other)} are equal to the "
                f"last bit, but one trains and the other is tested (fold {fold} of "
                f"{len(folds)}), so that classes are told apart without any "
                f"information; {remedy}"
            )


def check_new_rows(trained, tested):
    """Raise where a row of `tested` is one of `trained`, both (n, n_features).

    Equal means to 1e-4 standard deviations in every feature, of eight at least, because
    both were centered and put back.
    """
    if trained.shape[1] < _DISCRETE_COLUMNS:
        return
    near = _CLOSE * trained.std(axis=0)
    order = np.argsort(trained[:, 0])
    ends = [tested[:, 0] - near[0], tested[:, 0] + near[0]]
    first, last = np.searchsorted(trained[order, 0], ends)
    for i in np.flatnonzero(first < last):
        rows = order[first[i] : last[i]]
        equal = (np.abs(trained[rows] - tested[i]) <= near).all(axis=1)
        if equal.any():
            raise ValueError(
                f"test response {i} is training response {rows[equal][0]}, so that it "
                "was not held out; give every response once, to train or to test"
            )


def check_copies_apart(X, units, what):
    """Raise where rows of `X` are copies but of different units, such as "stimuli"."""
    number = copies(X)
    if number is None:
        return
    for i in np.flatnonzero(units != units[number]):
        raise ValueError(
            f"samples {number[i]} and {i} are equal to the last bit, but of different "
            f"{what}, so that one trains and the other is tested; give each once"
        )
