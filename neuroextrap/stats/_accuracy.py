"""Win distributions, the accuracy and the risk among k random classes."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from neuroextrap.stats._validation import (
    FloatArray,
    batches,
    check_integer,
    check_margins,
    check_one_region,
    check_set_sizes,
    check_wins,
    real_array,
    warn,
)

_FAR_BELOW = 0.25  # pairwise accuracy: half of what guessing gives
_FALSE_ALARM = 1e-4
_FEW = 0.01  # share of regions: a wrong sign turns all that carry information


def win_distribution(margins: ArrayLike, y_true: ArrayLike) -> FloatArray:
    """Return the distribution of the number of distractors beaten.

    The wins of a test point are the classes whose margin is smaller than that of its
    true class. A point whose true class is tied with T others spreads its mass evenly
    over its T + 1 possible numbers of wins, the expectation of breaking ties at random.
    Points are averaged within each class first, then over the classes that have test
    points; a class without test points is a distractor only. Everything else in this
    package starts from this distribution.

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
    scores, y = check_margins(margins, y_true)
    lead = np.broadcast_shapes(scores.shape[:-2], y.shape[:-1])
    n_test, n_classes = scores.shape[-2:]
    y = np.broadcast_to(y, (*lead, n_test))
    every = np.broadcast_to(scores, (*lead, n_test, n_classes))
    true_scores = np.take_along_axis(every, y[..., np.newaxis], axis=-1)
    beaten = np.count_nonzero(np.less(scores, true_scores), axis=-1)
    tied = np.count_nonzero(np.equal(scores, true_scores), axis=-1) - 1
    beaten, tied, y = (each.reshape(-1, n_test) for each in (beaten, tied, y))
    wins = spread_ties(beaten, tied, y, n_classes).reshape(*lead, n_classes)
    warn_if_reversed(wins, n_test)
    return wins


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


def tie_means(
    weights: FloatArray, n_beaten: NDArray[np.intp], n_tied: NDArray[np.intp]
) -> FloatArray:
    """Average weights (n_bins, n_sizes) over the bins that tied points may fall in.

    The shape is (n, n_sizes); counts out of range belong to no point.
    """
    sums = np.concatenate([np.zeros((1, weights.shape[1])), weights.cumsum(0)])
    last = len(weights) - 1
    low = np.clip(n_beaten, 0, last)
    high = np.clip(n_beaten + n_tied, low, last)
    n_bins = (high - low + 1)[:, np.newaxis]
    several = (sums[high + 1] - sums[low]) / n_bins
    return np.where(n_bins == 1, weights[low], several)


def _counts(
    rows: NDArray[np.intp], columns: NDArray[np.intp], shape: tuple[int, int]
) -> NDArray[np.intp]:
    """Count how often each (row, column) occurs, as an array of `shape`."""
    bins = (rows * shape[1] + columns).ravel()
    return np.bincount(bins, minlength=shape[0] * shape[1]).reshape(shape)


def warn_if_reversed(wins: NDArray[np.float64], n_test: int) -> None:
    """Warn where pairwise accuracy lies far below chance and nowhere far above.

    Far is 0.25 from one half, and farther than independent guesses get in one of 10,000
    analyses; those of cross-validation depend on one another and get farther, so that
    of many regions one in a hundred must.
    """
    n_classes = wins.shape[-1]
    pairwise = (wins @ np.arange(n_classes) / (n_classes - 1)).ravel()
    pairwise = pairwise[~np.isnan(pairwise)]
    spread = np.sqrt((n_classes + 1) / (12 * (n_classes - 1)) / n_test)
    quantile = -special.ndtri(_FALSE_ALARM / max(1, pairwise.size))
    distance = max(_FAR_BELOW, quantile * spread)
    below = np.count_nonzero(pairwise < 0.5 - distance)
    if below < max(1, _FEW * pairwise.size) or (pairwise > 0.5 + distance).any():
        return
    where = f" in {below} of {pairwise.size} regions" if pairwise.size > 1 else ""
    warn(
        f"the true class beats another one in only {pairwise.min():.3f} of the pairs"
        f"{where}, far below chance (0.5): margins must be larger for likelier "
        "classes; put a minus before distances, divergences and costs. Where the sign "
        "is right, see whether the folds leave fewer training samples to the classes "
        "they test"
    )


_MAX_WEIGHTS = 20_000_000  # weights held at once by average_accuracy


def default_set_sizes(n_classes: int) -> NDArray[np.int64]:
    """Return all of 2..n_classes; beyond 32, as many as 32, even on a log scale."""
    n_classes = check_integer(n_classes, "n_classes", minimum=2)
    if n_classes <= 32:
        return np.arange(2, n_classes + 1)
    return np.unique(np.rint(np.geomspace(2, n_classes, 32)).astype(np.int64))


def accuracy_weights(n_classes: int, set_sizes: ArrayLike) -> FloatArray:
    """Return C(v, k - 1) / C(K - 1, k - 1) of v wins and set sizes k, (K, n_sizes)."""
    n_classes = check_integer(n_classes, "n_classes", minimum=2)
    sizes = check_set_sizes(set_sizes, n_classes=n_classes)
    return subset_weights(n_classes - 1, sizes - 1)


def subset_weights(n_others: int, n_drawn: NDArray[np.int64]) -> FloatArray:
    """Return C(v, m) / C(n_others, m), v = 0..n_others, for each m of `n_drawn`."""
    v = np.arange(n_others, 0, -1, dtype=np.float64)
    v = v.reshape(-1, *(1,) * n_drawn.ndim)
    weights = np.ones((n_others + 1, *n_drawn.shape))
    np.cumprod(np.maximum(v - n_drawn, 0) / v, axis=0, out=weights[1:])
    return weights[::-1]


def average_accuracy(wins: ArrayLike, set_sizes: ArrayLike) -> FloatArray:
    """Return the accuracy averaged over all subsets of k classes.

    This is exactly the mean test accuracy over every set of k of the K classes, without
    drawing any. It estimates without bias the average k-class accuracy of a marginal
    classifier (the margin of a class depends on that class's training data only), and
    is the k-stimulus identification accuracy of an encoding model. At k = K it is the
    class-averaged accuracy, at k = 2 the mean pairwise identification accuracy.

    Parameters
    ----------
    wins : array-like of shape (..., n_classes)
        Win distributions, see :func:`win_distribution`; rows of NaN give NaN.
    set_sizes : int or array-like of int of shape (n_sizes,)
        Sizes k of 2..n_classes.

    Returns
    -------
    accuracy : ndarray of shape (..., n_sizes), or (...) for one size
        Never increasing with the size. A row does not depend on the rows beside
        it, to the last digit.

    Raises
    ------
    ValueError
        If `wins` do not sum to one, or a size is not a whole number of 2..n_classes.

    References
    ----------
    Zheng, Achanta & Benjamini 2018, eq. 3, with the inclusive rank.

    Examples
    --------
    An uninformative classifier:

    >>> import numpy as np
    >>> average_accuracy(np.full(8, 1 / 8), [2, 4, 8])
    array([0.5  , 0.25 , 0.125])
    """
    masses = check_wins(wins)
    n_classes = masses.shape[-1]
    sizes = check_set_sizes(set_sizes, n_classes=n_classes)
    flat = np.atleast_1d(sizes)
    parts = [
        row_product(masses, subset_weights(n_classes - 1, flat[part] - 1))
        for part in batches(len(flat), _MAX_WEIGHTS // n_classes)
    ]
    curve = np.clip(np.concatenate(parts, axis=-1), 0.0, 1.0)
    return curve.reshape((*masses.shape[:-1], *sizes.shape))


def half_lost_point(
    set_sizes: NDArray[np.int64], n_classes: int, n_test: int
) -> FloatArray:
    """Return what an accuracy curve loses if half a point loses to one distractor."""
    return np.asarray((set_sizes - 1) / (2 * n_test * (n_classes - 1)))


def row_product(rows: FloatArray, columns: FloatArray) -> FloatArray:
    """Return rows @ columns, every row summed in one fixed order (unlike BLAS)."""
    return np.einsum("...k,ks->...s", np.ascontiguousarray(rows), columns)


def average_risk(
    margins: ArrayLike, y_true: ArrayLike, cost: ArrayLike, set_sizes: ArrayLike
) -> FloatArray:
    """Return the mean cost over all subsets of k classes, without drawing any.

    In a subset, the class of largest margin is predicted, ties broken at random,
    and ``cost[true, predicted]`` is paid; points are averaged within classes,
    classes within the subset, and subsets of each size are averaged exactly. With
    a cost of one for every error this is ``1 - average_accuracy``.

    Parameters
    ----------
    margins : array-like of shape (n_test, n_classes)
        Score of each test point for each class.
    y_true : array-like of int of shape (n_test,)
        Column of `margins` that is the true class.
    cost : array-like of shape (n_classes, n_classes)
        Cost of each prediction (column) for each true class (row), not negative,
        zero on the diagonal.
    set_sizes : int or array-like of int of shape (n_sizes,)
        Sizes k of 2..n_classes.

    Returns
    -------
    risk : ndarray of shape (n_sizes,), or () for one size
        Mean cost; a class without test points is a distractor only.

    Raises
    ------
    ValueError
        If `margins` or `y_true` are not as in :func:`win_distribution` or have
        leading axes, `cost` is not such a matrix, or a size is out of range.

    References
    ----------
    Zheng, Achanta & Benjamini 2018, section 3.1, with the inclusive rank and with ties.

    Examples
    --------
    >>> import numpy as np
    >>> margins = np.array([[2.0, 1.0, 0.0], [3.0, 2.0, 1.0], [0.0, 1.0, 2.0]])
    >>> cost = np.array([[0, 1, 1], [5, 0, 1], [1, 1, 0]])
    >>> average_risk(margins, [0, 1, 2], cost, [2, 3])
    array([0.83333333, 1.66666667])
    """
    scores, y = check_margins(margins, y_true)
    check_one_region(scores, y)
    n_classes = scores.shape[1]
    costs = _check_cost(cost, n_classes)
    win_distribution(scores, y)  # warns of scores of wrong sign
    sizes = check_set_sizes(set_sizes, n_classes=n_classes)
    repeats = np.bincount(y, minlength=n_classes)
    paid = _cost_at_rank(scores, y, costs) / repeats[y][:, np.newaxis]
    per_rank = paid.sum(axis=0) / np.count_nonzero(repeats)
    weights = subset_weights(n_classes - 2, np.atleast_1d(sizes) - 2)
    risk = row_product(per_rank[1:], weights)
    risk *= (np.atleast_1d(sizes) - 1) / (n_classes - 1)
    return risk.reshape(sizes.shape)


def _check_cost(cost: ArrayLike, n_classes: int) -> FloatArray:
    """Return the cost matrix."""
    costs = real_array(cost, "cost")
    if costs.shape != (n_classes, n_classes):
        raise ValueError(
            f"cost must have shape ({n_classes}, {n_classes}); got {costs.shape}"
        )
    if not (
        np.isfinite(costs).all() and (costs >= 0).all() and not costs.diagonal().any()
    ):
        raise ValueError("cost must be finite, not negative, and zero on the diagonal")
    return costs


def _cost_at_rank(
    scores: NDArray, y: NDArray[np.intp], costs: FloatArray
) -> FloatArray:
    """Return (n_test, K): expected cost of the class with that many below it.

    Classes of equal margin share their ranks evenly; rank j of the g of the true class
    is below it with chance (j - 1) / (g - 1).
    """
    n_test = len(scores)
    order = np.argsort(scores, axis=1, kind="stable")
    ordered = np.take_along_axis(scores, order, axis=1)
    true_scores = scores[np.arange(n_test), y][:, np.newaxis]
    new = np.ones(scores.shape, dtype=bool)
    new[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    group = np.cumsum(new.ravel()) - 1
    size = np.bincount(group)
    paid = np.take_along_axis(costs[y], order, axis=1).ravel()
    total = np.bincount(group, weights=paid)
    even = (total / size)[group].reshape(scores.shape)
    # inside the true class's group: l has rank j (1/g), i one of the others below
    first = np.flatnonzero(new)
    inside = (np.arange(scores.size) - first[group]).reshape(scores.shape)
    others = np.maximum(size - 1, 1)[group].reshape(scores.shape)
    reached = np.where(ordered > true_scores, even, even * inside / others)
    return np.where(ordered >= true_scores, reached, 0)
