"""The intervals of the extrapolator: accuracy, set size, information."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from neuroextrap.stats._accuracy import accuracy_weights, half_lost_point
from neuroextrap.stats._extrapolation._auto import Auto
from neuroextrap.stats._extrapolation._method import (
    ExtrapolationMethod,
    WinSample,
    falling,
    first_crossing,
)
from neuroextrap.stats._gaussian_limit import implied_information
from neuroextrap.stats._jackknife import average_accuracy_jackknife
from neuroextrap.stats._shared_options import described_by
from neuroextrap.stats._validation import check_level, check_real_set_sizes, warn

CALIBRATED_FACTOR = 10  # up to how many times K the width of intervals was calibrated
FEWEST_CALIBRATED = 8  # smallest number of classes for which it was
DEGREES_OF_FREEDOM = 5  # of the quantile
_SAMPLING = 0.55
_DISAGREEMENT = 0.3
_DISTANCE = 0.004


class PredictionIntervals:
    """The part of an extrapolator that says how far off its predictions may be."""

    method: str
    method_: ExtrapolationMethod
    sample_: WinSample
    n_classes_: int

    def predict_interval(
        self, set_sizes: ArrayLike, confidence_level: float = 0.9
    ) -> tuple[np.ndarray, np.ndarray]:
        """Predict an interval of average accuracy, size by size.

        It counts both the sampling of the classes (their jackknife at K; after
        ``fit_wins`` one vote per class) and the error of the model, which is read from
        how far the members of ``method="auto"`` part. It is symmetric on the logit
        scale. How the three make a width was calibrated on ten simulated populations
        of classes, from 8 to 500 classes to ten times as many; the guide has the
        coverage on others.

        Parameters
        ----------
        set_sizes : float or array-like of shape (n_sizes,)
            Numbers of classes k >= 2; they need not be integers.
        confidence_level : float, default=0.9
            Confidence level of the interval at each set size.

        Returns
        -------
        lower : ndarray of shape (n_sizes,), or () for one size
            Lower end, never increasing beyond K.
        upper : ndarray of shape (n_sizes,), or () for one size
            Upper end, never increasing beyond K.

        Raises
        ------
        ValueError
            If the method is not "auto", a set size is below 2, the confidence level is
            not strictly between 0 and 1, or nothing was fitted.

        Warns
        -----
        UserWarning
            If a set size lies beyond ten times K, or there are fewer than eight
            classes: the width was not calibrated there.

        Examples
        --------
        >>> import numpy as np
        >>> from neuroextrap.stats import AccuracyExtrapolator
        >>> margins = np.random.default_rng(0).normal(size=(50, 50)) + 2 * np.eye(50)
        >>> model = AccuracyExtrapolator().fit(margins, np.arange(50))
        >>> lower, upper = model.predict_interval([100, 500])
        >>> lower.round(2), model.predict([100, 500]).round(2), upper.round(2)
        (array([0.22, 0.09]), array([0.32, 0.17]), array([0.45, 0.27]))
        >>> [round(size) for size in model.set_size_interval(accuracy=0.4)]
        [26, 146]
        >>> model.information_interval([50, 500])[0].round(1)
        array([2. , 1.9])
        """
        sizes = check_real_set_sizes(set_sizes)
        level = check_level(confidence_level, "confidence_level")
        error = self._prediction_error()
        self._warn_uncalibrated(sizes.max())
        lower, upper = (
            falling(end, np.atleast_1d(sizes), self.n_classes_).reshape(sizes.shape)
            for end in error.ends(level)
        )
        return lower, upper

    def set_size_interval(
        self, accuracy: float = 0.10, confidence_level: float = 0.9
    ) -> tuple[float, float]:
        """Find an interval of the set size at which accuracy falls to a level.

        Its ends are where those of :meth:`predict_interval` cross the level.

        Parameters
        ----------
        accuracy : float, default=0.10
            Level between 0 and 1.
        confidence_level : float, default=0.9
            Confidence level of the interval.

        Returns
        -------
        lower : float
            Smaller set size, at least 2.
        upper : float
            Larger set size, infinity beyond 1e15.

        Raises
        ------
        ValueError
            If `accuracy` or `confidence_level` is not strictly between 0 and 1, the
            method is not "auto", or nothing was fitted.

        Warns
        -----
        UserWarning
            If the larger end lies beyond ten times K, or there are fewer than eight
            classes.
        """
        goal = check_level(accuracy, "accuracy")
        level = check_level(confidence_level, "confidence_level")
        error = self._prediction_error()
        lower, upper = (first_crossing(end, goal) for end in error.ends(level))
        self._warn_uncalibrated(upper)
        return lower, upper

    @described_by(predict_interval)
    def information_interval(
        self, set_sizes: ArrayLike, confidence_level: float = 0.9, *, base: float = 2
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return an interval of the information that the accuracy among k implies.

        Its ends are the implied information of those of :meth:`predict_interval`, at
        each set size by itself; see :func:`implied_information`.

        Parameters
        ----------
        base : float, default=2
            Unit of the result: 2 for bits, ``math.e`` for nats.

        Returns
        -------
        lower : ndarray of shape (n_sizes,), or () for one size
            Lower end; 0 where the accuracy may be at chance.
        upper : ndarray of shape (n_sizes,), or () for one size
            Upper end.

        Raises
        ------
        ValueError
            If the arguments are not those of :meth:`predict_interval`, or `base` is not
            above 1.

        Warns
        -----
        UserWarning
            As :meth:`predict_interval` does.
        """
        sizes = check_real_set_sizes(set_sizes)
        ends = self.predict_interval(sizes, confidence_level)
        implied = np.vectorize(partial(implied_information, base=base), otypes=[float])
        lower, upper = (implied(end, sizes) for end in ends)
        return lower, upper

    def _prediction_error(self) -> PredictionError:
        """Check that an interval can be had, and return what makes it."""
        self._check_fitted()
        if not isinstance(self.method_, Auto):
            raise ValueError(
                f"method={self.method!r} has no calibrated interval; use method='auto'"
            )
        return PredictionError(self.method_, self.sample_)

    def _check_fitted(self) -> None:
        """Check that something was fitted."""
        if not hasattr(self, "method_"):
            raise ValueError(
                "nothing was fitted yet; call fit(margins, y_true) or "
                "fit_wins(wins, n_test) first"
            )

    def _warn_uncalibrated(self, largest: float) -> None:
        """Warn where the width of intervals was not calibrated."""
        n_classes = self.n_classes_
        if n_classes < FEWEST_CALIBRATED:
            warn(
                f"intervals were calibrated for {FEWEST_CALIBRATED} classes or more, "
                f"got {n_classes}; take theirs as a guess"
            )
        elif largest > CALIBRATED_FACTOR * n_classes:
            warn(
                f"intervals were calibrated up to {CALIBRATED_FACTOR * n_classes} "
                f"classes ({CALIBRATED_FACTOR} times K), got {largest:g}; take those "
                "further out as a guess"
            )


class PredictionError:
    """Interval of a prediction around its center on the logit scale.

    Factors of the variances of the measured accuracy, between predictions of the change
    from K to k, and of log(k / K)^2, and the degrees of freedom of Student's t, were
    fitted to the populations of ``benchmarks/populations.py`` that are for tuning.
    """

    def __init__(self, method: Auto, sample: WinSample):
        self.method = method
        self.sample = sample
        n_classes = np.array([sample.n_classes])
        self.at_all = method.logits(n_classes)
        self.sampling_at_all = measured_logit_error(sample, n_classes)[0]

    def standard_deviation(self, set_sizes: np.ndarray) -> np.ndarray:
        """Return the scale of the error on the logit scale, shape (n_sizes,)."""
        n_classes = self.sample.n_classes
        beyond = np.maximum(set_sizes, n_classes)
        sampling = np.full(len(set_sizes), self.sampling_at_all)
        inside = set_sizes < n_classes
        if inside.any():
            whole = np.floor(set_sizes[inside]).astype(int)
            sampling[inside] = measured_logit_error(self.sample, whole)
        growth = self.method.logits(beyond) - self.at_all
        variance = _SAMPLING * sampling**2
        variance += _DISAGREEMENT * growth.var(axis=0, ddof=1)
        variance += _DISTANCE * np.log(beyond / n_classes) ** 2
        return np.sqrt(variance)

    def ends(self, level: float) -> list[Callable[[np.ndarray], np.ndarray]]:
        """Return both ends as functions of set sizes, not yet made non-increasing."""
        quantile = special.stdtrit(DEGREES_OF_FREEDOM, (1 + level) / 2)
        return [partial(self._end, -quantile), partial(self._end, quantile)]

    def _end(self, quantile: float, set_sizes: np.ndarray) -> np.ndarray:
        """Return one end (n_sizes,), at a quantile of the error."""
        accuracy = np.clip(self.method.accuracy(set_sizes), 0.0, 1.0)
        n_classes, n_test = self.sample.n_classes, self.sample.n_test
        half = half_lost_point(np.minimum(set_sizes, n_classes), n_classes, n_test)
        inner = np.clip(accuracy, np.minimum(half, 0.5 / set_sizes), 1 - half)
        width = quantile * self.standard_deviation(set_sizes)
        reached = special.expit(special.logit(inner) + width)
        outermost = np.where(quantile > 0, accuracy >= 1, accuracy <= 0)
        return np.where(outermost, accuracy, reached)


def measured_logit_error(sample: WinSample, set_sizes: np.ndarray) -> np.ndarray:
    """Return the standard error of the logit of measured accuracies, (n_sizes,)."""
    n_classes, n_test = sample.n_classes, sample.n_test
    half = half_lost_point(set_sizes, n_classes, n_test)
    curve = sample.curve(set_sizes)
    inner = np.clip(curve, half, 1 - half)
    # a class can be left out of scores of three classes, two of them tested
    if sample.margins is not None and n_classes > 2 and np.ptp(sample.y_true) > 0:
        error = average_accuracy_jackknife(sample.margins, sample.y_true, set_sizes)[1]
    else:
        second = sample.wins @ accuracy_weights(n_classes, set_sizes) ** 2
        variance = np.maximum(second - curve**2, half * (1 - half))
        error = np.sqrt(variance / min(n_test, n_classes))
    return error / (inner * (1 - inner))
