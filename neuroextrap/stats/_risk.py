"""Average risk of random sub-tasks under a general cost."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuroextrap.stats._accuracy import row_product, subset_weights
from neuroextrap.stats._validation import (
    FloatArray,
    check_margins,
    check_set_sizes,
    real_array,
)
from neuroextrap.stats._wins import count_wins, warn_if_reversed


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
    Zheng, Achanta & Benjamini 2018, section 3.1, with the inclusive rank and with
    ties.

    Examples
    --------
    >>> import numpy as np
    >>> margins = np.array([[2.0, 1.0, 0.0], [3.0, 2.0, 1.0], [0.0, 1.0, 2.0]])
    >>> cost = np.array([[0, 1, 1], [5, 0, 1], [1, 1, 0]])
    >>> average_risk(margins, [0, 1, 2], cost, [2, 3])
    array([0.83333333, 1.66666667])
    """
    scores, y = check_margins(margins, y_true)
    if scores.ndim != 2 or y.ndim != 1:
        raise ValueError(
            f"margins must have shape (n_test, n_classes) here; got {scores.shape} "
            f"with labels {y.shape}: call once per region"
        )
    n_classes = scores.shape[1]
    costs = _check_cost(cost, n_classes)
    warn_if_reversed(count_wins(scores, y), len(y))
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

    Zero where the true class would not be below. Classes of equal margin share
    their ranks evenly; in the true class's own group rank j of g is below it with
    chance (j - 1) / (g - 1).
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
    return np.where(
        ordered > true_scores,
        even,
        np.where(ordered == true_scores, even * inside / others, 0),
    )
