"""The average accuracy curve: identification among k random classes."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuroextrap.stats._validation import (
    FloatArray,
    check_integer,
    check_set_sizes,
    check_wins,
)

_MAX_WEIGHTS = 20_000_000  # weights held at once by average_accuracy


def default_set_sizes(n_classes: int) -> NDArray[np.int64]:
    """Return the set sizes at which curves are computed unless others are given.

    These are all of 2..n_classes up to 32 classes; beyond, at most 32 distinct values
    spaced evenly on a log scale, 2 and n_classes among them. With every size of
    a large problem nearly all weight of a fit would sit near n_classes.

    >>> default_set_sizes(6)
    array([2, 3, 4, 5, 6])
    >>> default_set_sizes(1000)[[0, 1, -1]]
    array([   2,    3, 1000])
    """
    n_classes = check_integer(n_classes, "n_classes", minimum=2)
    if n_classes <= 32:
        return np.arange(2, n_classes + 1)
    return np.unique(np.rint(np.geomspace(2, n_classes, 32)).astype(np.int64))


def accuracy_weights(n_classes: int, set_sizes: ArrayLike) -> FloatArray:
    """Return the matrix (n_classes, n_sizes) that turns win distributions into curves.

    Entry [v, s] is the chance that a test point with v wins among n_classes is
    identified in a random set of set_sizes[s] classes that holds its own:
    C(v, k - 1) / C(n_classes - 1, k - 1), so ``wins @ accuracy_weights`` gives
    the curves of a whole brain in one product. One size gives shape (n_classes,).

    >>> accuracy_weights(4, [2, 4])
    array([[0.        , 0.        ],
           [0.33333333, 0.        ],
           [0.66666667, 0.        ],
           [1.        , 1.        ]])
    """
    n_classes = check_integer(n_classes, "n_classes", minimum=2)
    sizes = check_set_sizes(set_sizes, n_classes=n_classes)
    return subset_weights(n_classes - 1, sizes - 1)


def subset_weights(n_others: int, n_drawn: NDArray[np.int64]) -> FloatArray:
    """Return C(v, m) / C(n_others, m), v = 0..n_others, for each m of `n_drawn`.

    The ratio of neighbors, (v - m) / v, is multiplied down from v = n_others:
    no cancellation however large the numbers are.
    """
    v = np.arange(n_others, 0, -1, dtype=np.float64)
    v = v.reshape(-1, *(1,) * n_drawn.ndim)
    weights = np.ones((n_others + 1, *n_drawn.shape))
    np.cumprod(np.maximum(v - n_drawn, 0) / v, axis=0, out=weights[1:])
    return weights[::-1]


def average_accuracy(wins: ArrayLike, set_sizes: ArrayLike) -> FloatArray:
    """Return the accuracy averaged over all subsets of k classes.

    This is exactly the mean test accuracy over every set of k of the K classes,
    without drawing any. It estimates without bias the average k-class accuracy of
    a marginal classifier (the margin of a class depends on that class's training
    data only), and is the k-stimulus identification accuracy of an encoding
    model. At k = K it is the class-averaged accuracy, at k = 2 the mean pairwise
    identification accuracy.

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
        If `wins` do not sum to one, or a size is not a whole number of
        2..n_classes.

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
    width = max(1, _MAX_WEIGHTS // n_classes)
    parts = [
        row_product(masses, subset_weights(n_classes - 1, flat[i : i + width] - 1))
        for i in range(0, len(flat), width)
    ]
    curve = np.clip(np.concatenate(parts, axis=-1), 0.0, 1.0)
    return curve.reshape((*masses.shape[:-1], *sizes.shape))


def half_lost_point(
    set_sizes: NDArray[np.int64], n_classes: int, n_test: int
) -> FloatArray:
    """Return what an accuracy curve loses if half a point loses to one distractor."""
    return np.asarray((set_sizes - 1) / (2 * n_test * (n_classes - 1)))


def row_product(rows: FloatArray, columns: FloatArray) -> FloatArray:
    """Return rows @ columns with every row summed in one fixed order.

    A BLAS product may round a row differently with its neighbors; comparisons
    of observed and permuted statistics must not.
    """
    return np.einsum("...k,ks->...s", np.ascontiguousarray(rows), columns)
