"""Win distributions: how many distractors each test point's true class beats.

A wrong sign of the margins shows in wins far below chance, which is warned about.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from neuroextrap.stats._validation import FloatArray, check_margins
from neuroextrap.stats._warn import warn

_FAR_BELOW = 0.25  # pairwise accuracy: half of what guessing gives
_FALSE_ALARM = 1e-4
_FEW = 0.01  # share of regions: a wrong sign turns all that carry information


def win_distribution(margins: ArrayLike, y_true: ArrayLike) -> FloatArray:
    """Return the distribution of the number of distractors beaten.

    The wins of a test point are the classes whose margin is smaller than that
    of its true class. A point whose true class is tied with T others spreads its
    mass evenly over its T + 1 possible numbers of wins, the expectation of
    breaking ties at random. Points are averaged within each class first, then
    over the classes that have test points; a class without test points is a
    distractor only. Everything else in this package starts from this
    distribution.

    Parameters
    ----------
    margins : array-like of shape (..., n_test, n_classes)
        Score of each test point for each class; larger means more like it.
    y_true : array-like of int of shape (n_test,) or (..., n_test)
        Column of `margins` that is the true class; leading axes broadcast.

    Returns
    -------
    wins : ndarray of shape (..., n_classes)
        Mass at 0, 1, ..., n_classes - 1 wins; sums to one. Counts are gathered
        as whole numbers, so the order of the test points never changes a digit.

    Raises
    ------
    ValueError
        If `margins` hold NaN or infinity, have fewer than two classes or no test
        point, or if `y_true` is not made of column numbers of that length.

    Warns
    -----
    UserWarning
        If the true class loses to most others, far more often than guessing would: then
        `margins` are probably distances or divergences, which want a minus.

    References
    ----------
    Zheng, Achanta & Benjamini 2018, "Extrapolating expected accuracies for large
    multi-class problems", section 3 (their rank counts the true class itself:
    rank = wins + 1).

    Examples
    --------
    >>> import numpy as np
    >>> margins = np.array([[3.0, 1.0, 2.0], [0.0, 1.0, 1.0]])
    >>> win_distribution(margins, [0, 1])
    array([0.  , 0.25, 0.75])
    """
    wins = count_wins(margins, y_true)
    warn_if_reversed(wins, np.shape(y_true)[-1])
    return wins


def count_wins(margins: ArrayLike, y_true: ArrayLike) -> FloatArray:
    """Return what `win_distribution` does, without a word on scores of wrong sign."""
    scores, y = check_margins(margins, y_true)
    lead = np.broadcast_shapes(scores.shape[:-2], y.shape[:-1])
    n_test, n_classes = scores.shape[-2:]
    y = np.broadcast_to(y, (*lead, n_test))
    true_scores = np.take_along_axis(
        np.broadcast_to(scores, (*lead, *scores.shape[-2:])),
        y[..., np.newaxis],
        axis=-1,
    )
    beaten = np.count_nonzero(np.less(scores, true_scores), axis=-1)
    tied = np.count_nonzero(np.equal(scores, true_scores), axis=-1) - 1
    wins = spread_ties(
        beaten.reshape(-1, n_test),
        tied.reshape(-1, n_test),
        y.reshape(-1, n_test),
        n_classes,
    )
    return wins.reshape(*lead, n_classes)


def spread_ties(
    beaten: NDArray[np.intp],
    tied: NDArray[np.intp],
    y: NDArray[np.intp],
    n_classes: int,
) -> FloatArray:
    """Turn counts (n_sets, n_test) of wins and ties into wins (n_sets, n_classes)."""
    n_sets = len(y)
    rows = np.broadcast_to(np.arange(n_sets)[:, np.newaxis], y.shape)
    per_class = _counts(rows, y, (n_sets, n_classes))
    shares = np.take_along_axis(per_class, y, axis=-1) * (tied + 1)
    wins = np.zeros((n_sets, n_classes))
    for share in np.unique(shares):
        of_share = shares == share
        row, low = rows[of_share], beaten[of_share]
        high = low + tied[of_share] + 1
        shape = (n_sets, n_classes + 1)
        change = _counts(row, low, shape) - _counts(row, high, shape)
        wins += change.cumsum(axis=-1)[:, :-1] / share
    return wins / np.count_nonzero(per_class, axis=-1)[:, np.newaxis]


def _counts(
    rows: NDArray[np.intp], columns: NDArray[np.intp], shape: tuple[int, int]
) -> NDArray[np.intp]:
    """Count how often each (row, column) occurs, as an array of `shape`."""
    bins = (rows * shape[1] + columns).ravel()
    return np.bincount(bins, minlength=shape[0] * shape[1]).reshape(shape)


def warn_if_reversed(wins: NDArray[np.float64], n_test: int) -> None:
    """Warn where pairwise accuracy lies far below chance and nowhere far above.

    `wins` (..., n_classes) rest on `n_test` independent test points each. Far is 0.25
    from one half, and farther than independent guesses get in one of 10,000 analyses:
    the number of wins of a guess is uniform over 0..K-1. Guesses of cross-validation
    depend on one another and get farther, so that among many regions one in a hundred
    must lie there.
    """
    n_classes = wins.shape[-1]
    pairwise = (wins @ np.arange(n_classes) / (n_classes - 1)).ravel()
    pairwise = pairwise[~np.isnan(pairwise)]
    if not pairwise.size:
        return
    spread = np.sqrt((n_classes + 1) / (12 * (n_classes - 1)) / n_test)
    quantile = -special.ndtri(_FALSE_ALARM / pairwise.size)
    distance = max(_FAR_BELOW, quantile * spread)
    below = np.count_nonzero(pairwise < 0.5 - distance)
    few = below < max(1, _FEW * pairwise.size)
    if few or (pairwise > 0.5 + distance).any():
        return
    where = f" in {below} of {pairwise.size} regions" if pairwise.size > 1 else ""
    warn(
        f"the true class beats another one in only {pairwise.min():.3f} of the pairs"
        f"{where}, far below chance (0.5): margins must be larger for likelier "
        "classes; put a minus before distances, divergences and costs. Where the sign "
        "is right, see whether the folds leave fewer training samples to the classes "
        "they test"
    )
