"""Standard errors and intervals that count the sampling of classes: leave one out."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logit, stdtrit

from neuroextrap.stats._accuracy import (
    average_accuracy,
    half_lost_point,
    subset_weights,
    tie_means,
    win_distribution,
)
from neuroextrap.stats._gaussian_limit import (
    gaussian_identification_accuracy,
    implied_information,
)
from neuroextrap.stats._shared_options import described_by
from neuroextrap.stats._validation import (
    FloatArray,
    check_level,
    check_margins,
    check_one_region,
    check_set_sizes,
    nats_per_unit,
    real_array,
)

_PERFECT = 1 - 1e-12
Ends = tuple[FloatArray, FloatArray]
Sizes = NDArray[np.int64]


def leave_one_class_out_accuracy(
    margins: ArrayLike, y_true: ArrayLike, set_sizes: ArrayLike
) -> FloatArray:
    """Return curves without each class, (n_classes, n_sizes), by three products."""
    scores, y = check_margins(margins, y_true)
    n_classes = scores.shape[-1]
    repeats = _check_repeats(scores, y)
    sizes = check_set_sizes(set_sizes, n_classes=n_classes - 1)
    true_scores = scores[np.arange(len(y)), y][:, np.newaxis]
    beaten, tied = np.less(scores, true_scores), np.equal(scores, true_scores)
    above = ~(beaten | tied)
    tied[np.arange(len(y)), y] = False
    n_beaten, n_tied = beaten.sum(axis=1), tied.sum(axis=1)
    weights = subset_weights(n_classes - 2, np.atleast_1d(sizes) - 1)
    share = 1 / repeats[y][:, np.newaxis]
    total = beaten.T @ (share * tie_means(weights, n_beaten - 1, n_tied))
    total += tied.T @ (share * tie_means(weights, n_beaten, n_tied - 1))
    total += above.T @ (share * tie_means(weights, n_beaten, n_tied))
    targets = np.count_nonzero(repeats) - (repeats > 0)
    curves = np.clip(total / targets[:, np.newaxis], 0, 1)
    return curves.reshape((n_classes, *sizes.shape))


def jackknife_error(values: ArrayLike) -> FloatArray:
    """Return the error of values (n_classes, ...) (Efron & Stein 1981, eq. 1.4)."""
    array = real_array(values, "values", "n_classes, ...", least=2)
    finite = np.where(np.isfinite(array), array, np.nan)
    deviation = finite - finite.mean(axis=0)
    scale = (len(array) - 1) / len(array)
    return np.asarray(np.sqrt(scale * (deviation**2).sum(axis=0)))


def lost_point_error(set_sizes: Sizes, n_classes: int, n_test: int) -> FloatArray:
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
    classes, sizes, accuracy, curves = _curves(margins, y_true, set_sizes)
    return accuracy, classes.error(curves, sizes)


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

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> margins = rng.normal(size=(30, 30)) + 2 * np.eye(30)
    >>> bits, error = implied_information_jackknife(margins, np.arange(30), [2, 10])
    >>> float(bits.round(2)), float(error.round(2))
    (3.89, 0.93)
    """
    sizes = np.atleast_1d(check_set_sizes(set_sizes))
    classes, sizes, curve, curves = _curves(margins, y_true, sizes)
    inner, first = np.unique(classes.inner(sizes), return_index=True)
    without = implied_information(curves[:, first], inner, base=base)
    return implied_information(curve, sizes, base=base), jackknife_error(without)


@described_by(average_accuracy_jackknife)
def average_accuracy_interval(
    margins: ArrayLike,
    y_true: ArrayLike,
    set_sizes: ArrayLike,
    *,
    confidence_level: float = 0.95,
) -> tuple[FloatArray, FloatArray]:
    """Return a confidence interval of the average accuracy curve, size by size.

    The interval is for the accuracy of this classifier among k classes drawn from the
    same population. It is symmetric on the logit scale, with the standard error of
    :func:`average_accuracy_jackknife` and the t quantile of one degree of freedom less
    than there are classes with test points; curves that are perfect or nothing are
    taken as half a test point from it. Simulated coverage at a nominal .95, for 6, 8,
    20 and 100 classes with 1 or 10 repeats and accuracies from near chance to near
    perfect, was .94 to 1.00.

    Parameters
    ----------
    confidence_level : float, default=0.95
        Confidence level of the interval at each set size.

    Returns
    -------
    lower : ndarray of shape (n_sizes,), or () for one size
        Lower end; 0 where the accuracy is 0.
    upper : ndarray of shape (n_sizes,), or () for one size
        Upper end; 1 where the accuracy is 1.

    Raises
    ------
    ValueError
        If the arguments are not those of :func:`average_accuracy_jackknife`, or the
        confidence level is outside (0, 1).

    See Also
    --------
    average_bayes_accuracy_lower_bound : A guarantee without approximation.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> margins = rng.normal(size=(30, 30)) + 2 * np.eye(30)
    >>> lower, upper = average_accuracy_interval(margins, np.arange(30), [2, 10])
    >>> lower.round(3), upper.round(3)
    (array([0.911, 0.588]), array([0.98 , 0.879]))
    """
    level = check_level(confidence_level, "confidence_level")
    classes, sizes, accuracy, curves = _curves(margins, y_true, set_sizes)
    return classes.accuracy_ends(accuracy, classes.error(curves, sizes), sizes, level)


@described_by(average_accuracy_interval, implied_information_jackknife)
def implied_information_interval(
    margins: ArrayLike,
    y_true: ArrayLike,
    set_sizes: ArrayLike,
    *,
    confidence_level: float = 0.95,
    base: float = 2,
) -> tuple[FloatArray, FloatArray]:
    """Return a confidence interval of the implied information, in bits.

    The interval is for the implied information of the average accuracy curve of the
    classifier in the population of classes, not for the mutual information. It is
    symmetric in the logit of the accuracy that the information implies among all K
    classes, with the jackknife over classes and the t quantile of one degree of freedom
    less than there are classes with test points. Simulated coverage at a nominal .95,
    for 6, 8, 20 and 100 classes with 1 or 10 repeats, was .95 to 1.00; with few classes
    or one repeat the interval is wide.

    Parameters
    ----------
    set_sizes : int or array-like of int of shape (n_sizes,)
        Set sizes k of 2..n_classes that the fit uses.
    confidence_level : float, default=0.95
        Confidence level of the interval.

    Returns
    -------
    lower : ndarray of shape ()
        Lower end; 0 where the interval reaches chance.
    upper : ndarray of shape ()
        Upper end; infinite where every test point beats every distractor.

    Raises
    ------
    ValueError
        If the arguments are not those of :func:`average_accuracy_jackknife`, the
        confidence level is outside (0, 1), or `base` is not above 1.

    See Also
    --------
    information_lower_bound : A guarantee about the mutual information.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> margins = rng.normal(size=(30, 30)) + 2 * np.eye(30)
    >>> lower, upper = implied_information_interval(margins, np.arange(30), [2, 10])
    >>> float(lower.round(2)), float(upper.round(2))
    (2.24, 5.94)
    """
    level = check_level(confidence_level, "confidence_level")
    sizes = np.atleast_1d(check_set_sizes(set_sizes))
    classes, sizes, accuracy, curves = _curves(margins, y_true, sizes)
    ends = classes.information_ends(accuracy, curves, sizes, level)
    lower, upper = np.stack(ends) * (math.log(2) / nats_per_unit(base))
    return np.asarray(lower), np.asarray(upper)


class SampledClasses(NamedTuple):
    """Numbers of test points, of classes, and of classes with test points."""

    n_test: int
    n_classes: int
    n_tested: int

    def inner(self, sizes: Sizes) -> Sizes:
        """Return sizes that curves without a class reach, at most n_classes - 1."""
        return np.minimum(sizes, self.n_classes - 1)

    def error(self, curves: FloatArray, sizes: Sizes) -> FloatArray:
        """Return the error of a curve, half a lost point's at least, (n_sizes,)."""
        least = lost_point_error(sizes, self.n_classes, self.n_test)
        return np.maximum(jackknife_error(curves), least)

    def accuracy_ends(
        self, accuracy: FloatArray, error: FloatArray, sizes: Sizes, level: float
    ) -> Ends:
        """Return the interval of a curve with its jackknife error, both (n_sizes,)."""
        half = half_lost_point(sizes, self.n_classes, self.n_test)
        inner = np.clip(accuracy, half, 1 - half)
        lower, upper = self._logit_ends(inner, error / (inner * (1 - inner)), level)
        lower = np.where(accuracy <= 1 - _PERFECT, 0.0, lower)
        return lower, np.where(accuracy >= _PERFECT, 1.0, upper)

    def information_ends(
        self, accuracy: FloatArray, curves: FloatArray, sizes: Sizes, level: float
    ) -> Ends:
        """Return the interval in bits of a curve (n_sizes,), by curves without one."""
        among_all = self._implied(accuracy, sizes)
        smaller, first = np.unique(self.inner(sizes), return_index=True)
        without = self._implied(curves[:, first], smaller)
        every = np.asarray(self.n_classes)
        least = lost_point_error(every, self.n_classes, self.n_test)
        least = least / (among_all * (1 - among_all))
        error = np.maximum(jackknife_error(logit(without)), least)
        ends = np.stack(self._logit_ends(among_all, error, level))
        lower, upper = implied_information(ends[:, np.newaxis], [self.n_classes])
        perfect = (accuracy >= _PERFECT).all()
        return np.asarray(lower), np.where(perfect, np.inf, upper)

    def _implied(self, curves: FloatArray, sizes: Sizes) -> FloatArray:
        """Return the accuracy among all classes that curves (..., n_sizes) imply."""
        best = 1 - half_lost_point(sizes, self.n_classes, self.n_test)
        information = implied_information(np.minimum(curves, best), sizes)
        return gaussian_identification_accuracy(information, self.n_classes)

    def _logit_ends(self, center: FloatArray, error: FloatArray, level: float) -> Ends:
        """Return both ends of an interval whose error is on the logit scale."""
        half_width = stdtrit(self.n_tested - 1, (1 + level) / 2) * error
        return expit(logit(center) - half_width), expit(logit(center) + half_width)


def _curves(
    margins: ArrayLike, y_true: ArrayLike, set_sizes: ArrayLike
) -> tuple[SampledClasses, Sizes, FloatArray, FloatArray]:
    """Return the classes, set sizes, the curve, and curves without each class."""
    scores, y = check_margins(margins, y_true)
    n_tested = int(np.count_nonzero(_check_repeats(scores, y)))
    classes = SampledClasses(len(scores), scores.shape[1], n_tested)
    sizes = check_set_sizes(set_sizes, n_classes=classes.n_classes)
    accuracy = average_accuracy(win_distribution(scores, y), sizes)
    curves = leave_one_class_out_accuracy(scores, y, classes.inner(sizes))
    return classes, sizes, accuracy, curves


def _check_repeats(scores: NDArray, y: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return test points per class, at least 2 of at least 3 classes tested."""
    check_one_region(scores, y)
    repeats = np.bincount(y, minlength=scores.shape[1])
    if len(repeats) < 3 or np.count_nonzero(repeats) < 2:
        raise ValueError(
            "margins must have at least 3 classes, 2 of them with test points, to "
            f"leave one out; got {len(repeats)} and {np.count_nonzero(repeats)}"
        )
    return repeats
