"""The intervals of the extrapolator: accuracy, set size, information."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from neuroextrap.stats._extrapolation._auto import LogitMean
from neuroextrap.stats._extrapolation._method import ExtrapolationMethod, first_crossing
from neuroextrap.stats._extrapolation._prediction_error import (
    CALIBRATED_FACTOR,
    DEGREES_OF_FREEDOM,
    FEWEST_CALIBRATED,
    PredictionError,
)
from neuroextrap.stats._extrapolation._sample import WinSample
from neuroextrap.stats._implied import implied_information
from neuroextrap.stats._validation import check_level, check_real_set_sizes
from neuroextrap.stats._warn import warn


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
        """
        sizes = check_real_set_sizes(set_sizes)
        level = check_level(confidence_level, "confidence_level")
        error = self._prediction_error()
        self._warn_uncalibrated(sizes.max())
        lower, upper = error.interval(np.atleast_1d(sizes), level)
        return lower.reshape(sizes.shape), upper.reshape(sizes.shape)

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

        Examples
        --------
        >>> import numpy as np
        >>> from neuroextrap.stats import AccuracyExtrapolator
        >>> margins = np.random.default_rng(0).normal(size=(50, 50)) + 2 * np.eye(50)
        >>> model = AccuracyExtrapolator().fit(margins, np.arange(50))
        >>> [round(size) for size in model.set_size_interval(accuracy=0.4)]
        [26, 146]
        """
        goal = check_level(accuracy, "accuracy")
        level = check_level(confidence_level, "confidence_level")
        error = self._prediction_error()
        quantile = special.stdtrit(DEGREES_OF_FREEDOM, (1 + level) / 2)
        lower, upper = (
            first_crossing(error.end(sign * quantile), goal) for sign in (-1, 1)
        )
        self._warn_uncalibrated(upper)
        return lower, upper

    def information_interval(
        self,
        set_sizes: ArrayLike,
        confidence_level: float = 0.9,
        *,
        base: float = 2,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return an interval of the information that the accuracy among k implies.

        Its ends are the implied information of those of :meth:`predict_interval`, at
        each set size by itself; see :func:`implied_information`.

        Parameters
        ----------
        set_sizes : float or array-like of shape (n_sizes,)
            Numbers of classes k >= 2.
        confidence_level : float, default=0.9
            Confidence level of the interval at each set size.
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

        Examples
        --------
        >>> import numpy as np
        >>> from neuroextrap.stats import AccuracyExtrapolator
        >>> margins = np.random.default_rng(0).normal(size=(50, 50)) + 2 * np.eye(50)
        >>> model = AccuracyExtrapolator().fit(margins, np.arange(50))
        >>> lower, upper = model.information_interval([50, 500])
        >>> lower.round(1), upper.round(1)
        (array([2. , 1.9]), array([4.1, 4.1]))
        """
        sizes = check_real_set_sizes(set_sizes)
        ends = self.predict_interval(sizes, confidence_level)
        flat = np.atleast_1d(sizes)
        lower, upper = (
            np.array(
                [
                    implied_information(accuracy, size, base=base)
                    for accuracy, size in zip(np.atleast_1d(end), flat, strict=True)
                ]
            ).reshape(sizes.shape)
            for end in ends
        )
        return lower, upper

    def _prediction_error(self) -> PredictionError:
        """Check that an interval can be had, and return what makes it."""
        self._check_fitted()
        if not isinstance(self.method_, LogitMean):
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
                f"classes ({CALIBRATED_FACTOR} times K), asked for {largest:g}; take "
                "those further out as a guess"
            )
