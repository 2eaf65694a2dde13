"""Standard errors that count the sampling of classes: leave one class out."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuroextrap.stats._accuracy import (
    average_accuracy,
    half_lost_point,
    subset_weights,
    win_distribution,
)
from neuroextrap.stats._implied import implied_information
from neuroextrap.stats._shared_options import described_by
from neuroextrap.stats._validation import FloatArray, check_margins, check_set_sizes


def leave_one_class_out_accuracy(
    margins: ArrayLike, y_true: ArrayLike, set_sizes: ArrayLike
) -> FloatArray:
    """Return curves without each class in turn, (n_classes, n_sizes), sizes below K.

    A class leaves as a target and as a distractor. All curves come from three matrix
    products (beaten, tied, not beaten), not from refits.
    """
    scores, y = check_margins(margins, y_true)
    n_classes = scores.shape[-1]
    repeats = _check_repeats(scores, y)
    sizes = check_set_sizes(set_sizes, n_classes=n_classes - 1)
    true_scores = scores[np.arange(len(y)), y][:, np.newaxis]
    beaten, tied = np.less(scores, true_scores), np.equal(scores, true_scores)
    tied[np.arange(len(y)), y] = False
    above = ~(beaten | tied)
    above[np.arange(len(y)), y] = False
    n_beaten, n_tied = beaten.sum(axis=1), tied.sum(axis=1)
    mean = TieMeans(subset_weights(n_classes - 2, np.atleast_1d(sizes) - 1))
    weight = 1 / repeats[y][:, np.newaxis]
    total = beaten.T @ (weight * mean(n_beaten - 1, n_tied))
    total += tied.T @ (weight * mean(n_beaten, n_tied - 1))
    total += above.T @ (weight * mean(n_beaten, n_tied))
    targets = np.count_nonzero(repeats) - (repeats > 0)
    curves = np.clip(total / targets[:, np.newaxis], 0, 1)
    return curves.reshape((n_classes, *sizes.shape))


def jackknife_error(values: ArrayLike) -> FloatArray:
    """Return the error of values (n_classes, ...) (Efron & Stein 1981, eq. 1.4)."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim == 0 or len(array) < 2:
        raise ValueError(
            "values must have shape (n_classes, ...) with at least 2 classes; "
            f"got {array.shape}"
        )
    finite = np.where(np.isfinite(array), array, np.nan)
    deviation = finite - finite.mean(axis=0)
    scale = (len(array) - 1) / len(array)
    return np.asarray(np.sqrt(scale * (deviation**2).sum(axis=0)))


def lost_point_error(
    set_sizes: NDArray[np.int64], n_classes: int, n_test: int
) -> FloatArray:
    """Return the jackknife error of a curve that lacks half a point of perfection.

    One class loses half a point to one distractor; without either of the two the curve
    is perfect: the loss times sqrt(2 (K - 1) / (K - 2)), at every set size.
    """
    loss = half_lost_point(set_sizes, n_classes, n_test)
    return np.asarray(loss * np.sqrt(2 * (n_classes - 1) / (n_classes - 2)))


def average_accuracy_jackknife(
    margins: ArrayLike, y_true: ArrayLike, set_sizes: ArrayLike
) -> tuple[FloatArray, FloatArray]:
    """Return the average accuracy curve and its jackknife standard error.

    The error counts test points and the sampling of the classes, as targets and
    as distractors. (The binomial error ignores the latter: about right with one
    or two repeats, half the truth or less from ten on.) It is conservative near k = K.
    It is never below the error that half a test point lost by one class to one
    distractor gives, so that a perfect curve has an error too: with 6 classes the 95% t
    interval of nearly perfect curves then covers the truth always, instead of in .07
    (one repeat) or .45 (ten repeats) of simulated experiments. With one repeat and a
    pairwise accuracy of 0.9 it covers in .85, :func:`average_accuracy_interval` in .99.

    Parameters
    ----------
    margins : array-like of shape (n_test, n_classes)
        Score of each test point for each class; at least 3 classes.
    y_true : array-like of int of shape (n_test,)
        Column of `margins` that is the true class; at least 2 distinct.
    set_sizes : int or array-like of int of shape (n_sizes,)
        Set sizes k of 2..n_classes.

    Returns
    -------
    accuracy : ndarray of shape (n_sizes,), or () for one size
        Average accuracy curve, see :func:`average_accuracy`.
    standard_error : ndarray of shape (n_sizes,), or () for one size
        Standard error of the curve. At k = n_classes, which no curve without a class
        reaches, it is the value of n_classes - 1, or the error of half a lost point.

    Raises
    ------
    ValueError
        If `margins` or `y_true` are not as in :func:`win_distribution`, have leading
        axes, fewer than 3 classes or fewer than 2 tested, or a size is out of range.

    References
    ----------
    Efron & Stein 1981, "The jackknife estimate of variance".

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> margins = rng.normal(size=(30, 30)) + 2 * np.eye(30)
    >>> accuracy, error = average_accuracy_jackknife(margins, np.arange(30), [2, 10])
    >>> accuracy.round(3), error.round(3)
    (array([0.957, 0.763]), array([0.016, 0.072]))
    """
    scores, y = check_margins(margins, y_true)
    n_classes = scores.shape[-1]
    _check_repeats(scores, y)
    sizes = check_set_sizes(set_sizes, n_classes=n_classes)
    accuracy = average_accuracy(win_distribution(scores, y), sizes)
    inner = np.minimum(sizes, n_classes - 1)
    error = jackknife_error(leave_one_class_out_accuracy(scores, y, inner))
    return accuracy, np.maximum(error, lost_point_error(sizes, n_classes, len(y)))


@described_by(average_accuracy_jackknife)
def implied_information_jackknife(
    margins: ArrayLike, y_true: ArrayLike, set_sizes: ArrayLike, *, base: float = 2
) -> tuple[FloatArray, FloatArray]:
    """Return implied information and its jackknife standard error.

    The information of every leave-one-class-out curve is fitted again.

    Parameters
    ----------
    set_sizes : array-like of int of shape (n_sizes,)
        Set sizes k of 2..n_classes; n_classes is replaced by n_classes - 1 in the
        error.
    base : float, default=2
        Unit of the result: 2 for bits, ``math.e`` for nats.

    Returns
    -------
    information : ndarray of shape ()
        See :func:`implied_information`; infinite for a perfect curve.
    standard_error : ndarray of shape ()
        NaN where a leave-one-class-out curve is perfect.

    Raises
    ------
    ValueError
        If the arguments are not those of :func:`average_accuracy_jackknife`, or if
        `base` is not above 1.

    References
    ----------
    Efron & Stein 1981, "The jackknife estimate of variance".

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> margins = rng.normal(size=(30, 30)) + 2 * np.eye(30)
    >>> bits, error = implied_information_jackknife(margins, np.arange(30), [2, 10])
    >>> float(bits.round(2)), float(error.round(2))
    (3.89, 0.93)
    """
    scores, y = check_margins(margins, y_true)
    n_classes = scores.shape[-1]
    _check_repeats(scores, y)
    sizes = np.atleast_1d(check_set_sizes(set_sizes, n_classes=n_classes))
    curve = average_accuracy(win_distribution(scores, y), sizes)
    inner = np.unique(np.minimum(sizes, n_classes - 1))
    curves = leave_one_class_out_accuracy(scores, y, inner)
    without = implied_information(curves, inner, base=base)
    return implied_information(curve, sizes, base=base), jackknife_error(without)


class TieMeans:
    """Mean of weights over the bins L..L+T that a tied point may fall in."""

    def __init__(self, weights: FloatArray):
        """Store weights (n_bins, n_sizes) and their running sums."""
        self.weights = weights
        self.sums = np.concatenate([np.zeros((1, weights.shape[1])), weights.cumsum(0)])

    def __call__(
        self, n_beaten: NDArray[np.intp], n_tied: NDArray[np.intp]
    ) -> FloatArray:
        """Return (n, n_sizes); counts out of range belong to no point."""
        last = len(self.weights) - 1
        low = np.clip(n_beaten, 0, last)
        high = np.clip(n_beaten + n_tied, low, last)
        several = (self.sums[high + 1] - self.sums[low]) / (high - low + 1)[
            :, np.newaxis
        ]
        return np.where((high == low)[:, np.newaxis], self.weights[low], several)


def _check_repeats(scores: NDArray, y: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return test points per class, at least 2 of at least 3 classes tested."""
    if scores.ndim != 2 or y.ndim != 1:
        raise ValueError(
            f"margins must have shape (n_test, n_classes) here; got {scores.shape} "
            f"with labels {y.shape}: call once per region"
        )
    repeats = np.bincount(y, minlength=scores.shape[1])
    if len(repeats) < 3 or np.count_nonzero(repeats) < 2:
        raise ValueError(
            "margins must have at least 3 classes, 2 of them with test points, to "
            f"leave one out; got {len(repeats)} and {np.count_nonzero(repeats)}"
        )
    return repeats
