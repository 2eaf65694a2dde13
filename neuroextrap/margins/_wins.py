"""From margins to wins and correct outcomes: the one counting.

The same counting as :func:`neuroextrap.stats.win_distribution`, laid out for margins of
shape (n_test, K, M), where M runs over regions and labelings, region by region.
"""

from typing import Any

import numpy as np

from neuroextrap.stats._accuracy import accuracy_weights

NAN_MARGINS = (
    "margins contain NaN; drop NaN and constant features, or raise the shrinkage"
)


def beaten_and_tied(
    margins: np.ndarray, y: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Count distractors beaten and tied by the true class, each (n_test, M).

    ``margins`` has shape (n_test, K, M), and may lie in memory labeling by labeling,
    that is as (M, K, n_test); ``y`` (n_test, L) are the true classes, over again for
    every L of the M columns. Raises where a margin is NaN.

    >>> margins = np.array([[[0.9], [0.2], [0.2]], [[0.1], [0.1], [0.5]]])
    >>> beaten, tied = beaten_and_tied(margins, np.array([[0], [1]]))
    >>> beaten.ravel().tolist(), tied.ravel().tolist()
    ([2, 0], [0, 1])
    """
    from neuroextrap.margins.compiled._counting import count_beaten

    count = np.int8 if margins.shape[1] < 128 else np.int32
    by_labeling = margins.transpose(2, 1, 0)
    turned = by_labeling.flags.c_contiguous  # points and columns change places
    if turned:
        margins, y = by_labeling, y.T
    else:
        y = np.tile(y, margins.shape[2] // y.shape[1])
    margins, y = np.ascontiguousarray(margins), np.ascontiguousarray(y)
    beaten, tied = np.empty((2, len(margins), margins.shape[2]), dtype=count)
    if count_beaten(margins, y, beaten, tied):
        raise ValueError(NAN_MARGINS)
    return (beaten.T, tied.T) if turned else (beaten, tied)


def rank_tables(margins: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Beaten and tied counts of one region, had each class in turn been the true one.

    Both are int32 and have the shape of ``margins``, (n_test, K).
    """
    if np.isnan(margins).any():
        raise ValueError(NAN_MARGINS)
    n_test, n_classes = margins.shape
    order = np.argsort(margins, axis=1, kind="stable")
    ordered = np.take_along_axis(margins, order, axis=1)
    rank = np.broadcast_to(np.arange(n_classes), margins.shape)
    # in ascending order, the first and the last rank among equal margins
    starts = np.ones(margins.shape, dtype=bool)
    starts[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    first = np.maximum.accumulate(np.where(starts, rank, 0), axis=1)
    ends = np.ones(margins.shape, dtype=bool)
    ends[:, :-1] = starts[:, 1:]
    last = np.where(ends, rank, n_classes)[:, ::-1]
    last = np.minimum.accumulate(last, axis=1)[:, ::-1]
    tables = np.empty((2, n_test, n_classes), dtype=np.int32)
    np.put_along_axis(tables[0], order, first.astype(np.int32), axis=1)
    np.put_along_axis(tables[1], order, (last - first).astype(np.int32), axis=1)
    return tables[0], tables[1]


def win_histogram(
    beaten: np.ndarray, tied: np.ndarray, weights: Any, n_classes: int
) -> np.ndarray:
    """Win distribution (M, K) of every labeling from beaten and tied counts.

    Counts have shape (n_test, M); ``weights`` of test points are (n_test, M) or
    (n_test, 1), or a float when all weigh the same. A point with T ties spreads its
    weight evenly over the T + 1 numbers of wins that breaking the ties at random can
    give.

    >>> win_histogram(np.array([[2], [0]]), np.array([[0], [1]]), 0.5, 3)
    array([[0.25, 0.25, 0.5 ]])
    """
    from neuroextrap.margins.compiled._counting import add_wins

    counting = np.ndim(weights) == 0
    wins = np.zeros((n_classes, beaten.shape[1]))
    each = np.atleast_2d(1.0 if counting else np.asarray(weights, dtype=float))
    add_wins(beaten, tied, each, wins)
    return (wins * weights if counting else wins).T


def correct_outcomes(
    beaten: np.ndarray, tied: np.ndarray, n_classes: int
) -> np.ndarray:
    """Return how correct each test point is: 1, or 1 / m where m classes are best.

    Counts of distractors beaten and tied have shape (n_test, M), as the result, which
    is float32.

    >>> correct_outcomes(np.array([[2], [1], [0]]), np.array([[0], [1], [0]]), 3).T
    array([[1. , 0.5, 0. ]], dtype=float32)
    """
    best = beaten + tied == n_classes - 1
    return np.asarray(best / (tied + np.float32(1)), dtype=np.float32)


def win_chances(margins: np.ndarray, codes: np.ndarray, set_size: int) -> np.ndarray:
    """Return the chance (n_test,) of every test point to win among random distractors.

    ``margins`` (n_test, K) are scores, ``codes`` (n_test,) the true classes. The
    ``set_size`` - 1 distractors are drawn at random; K is plain accuracy. A tie for the
    first place is broken at random.

    >>> margins = np.array([[3.0, 1.0, 2.0], [0.0, 1.0, 1.0]])
    >>> win_chances(margins, np.array([0, 1]), 3)
    array([1. , 0.5])
    >>> win_chances(margins, np.array([0, 1]), 2)
    array([1. , 0.75])
    """
    weights = accuracy_weights(margins.shape[1], [set_size])[:, 0]
    credit = np.concatenate([[0.0], np.cumsum(weights)])
    beaten, tied = beaten_and_tied(margins[:, :, None], codes[:, None])
    low = beaten[:, 0].astype(int)
    high = low + tied[:, 0].astype(int)
    return (credit[high + 1] - credit[low]) / (high - low + 1)
