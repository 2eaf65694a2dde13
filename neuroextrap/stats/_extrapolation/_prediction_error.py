"""How far a prediction may be off: sampling of the classes, and choice of a model."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import special

from neuroextrap.stats._accuracy import accuracy_weights, half_lost_point
from neuroextrap.stats._extrapolation._auto import LogitMean
from neuroextrap.stats._extrapolation._method import log_anchors
from neuroextrap.stats._extrapolation._sample import WinSample
from neuroextrap.stats._jackknife import average_accuracy_jackknife

CALIBRATED_FACTOR = 10
"""Up to how many times K the width of intervals was calibrated."""

FEWEST_CALIBRATED = 8
"""Smallest number of classes for which it was."""

DEGREES_OF_FREEDOM = 5
"""Degrees of freedom of the quantile."""

_SAMPLING = 0.55
_DISAGREEMENT = 0.3
_DISTANCE = 0.004


class PredictionError:
    """Interval of a prediction around its center on the logit scale.

    Its variance is 0.55 times that of the measured accuracy (jackknife over classes at
    K, or at smaller set sizes themselves; without scores the variance over wins, one
    vote per class), plus 0.3 times the variance between opinions about the change from
    K to k, plus 0.004 log(k / K)^2; the quantile is Student's t with five degrees of
    freedom. The three factors were fitted to the populations of
    ``benchmarks/populations.py`` that are for tuning.
    """

    def __init__(self, method: LogitMean, sample: WinSample):
        self.method = method
        self.sample = sample
        self.at_all = method.logits(np.array([sample.n_classes]))
        self.sampling_at_all = measured_logit_error(
            sample, np.array([sample.n_classes])
        )[0]

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

    def interval(
        self, set_sizes: np.ndarray, confidence_level: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return both ends (n_sizes,), which never rise beyond K classes."""
        quantile = special.stdtrit(DEGREES_OF_FREEDOM, (1 + confidence_level) / 2)
        return self._end(set_sizes, -quantile), self._end(set_sizes, quantile)

    def end(self, quantile: float) -> Callable[[np.ndarray], np.ndarray]:
        """Return one end as a function of set sizes, not yet made non-increasing."""

        def curve(set_sizes: np.ndarray) -> np.ndarray:
            accuracy = np.clip(self.method.accuracy(set_sizes), 0.0, 1.0)
            share = np.minimum((set_sizes - 1) / (self.sample.n_classes - 1), 1)
            half = 0.5 / self.sample.n_test * share
            inner = np.clip(accuracy, np.minimum(half, 0.5 / set_sizes), 1 - half)
            width = quantile * self.standard_deviation(set_sizes)
            reached = special.expit(special.logit(inner) + width)
            outermost = np.where(quantile > 0, accuracy >= 1, accuracy <= 0)
            return np.where(outermost, accuracy, reached)

        return curve

    def _end(self, set_sizes: np.ndarray, quantile: float) -> np.ndarray:
        """Return one end, the running minimum over set sizes from K on."""
        n_classes, curve = self.sample.n_classes, self.end(quantile)
        anchors = log_anchors(set_sizes.max())
        anchors = anchors[(anchors > n_classes) & (anchors < set_sizes.max())]
        every = np.unique(np.r_[anchors, n_classes, set_sizes])
        ends = curve(every)
        beyond = every >= n_classes
        ends[beyond] = np.minimum.accumulate(ends[beyond])
        return ends[np.searchsorted(every, set_sizes)]


def measured_logit_error(sample: WinSample, set_sizes: np.ndarray) -> np.ndarray:
    """Return the standard error of the logit of measured accuracies, (n_sizes,).

    Curves that are perfect or nothing are taken as half a test point from it.
    """
    n_classes, n_test = sample.n_classes, sample.n_test
    half = half_lost_point(set_sizes, n_classes, n_test)
    curve = sample.curve(set_sizes)
    inner = np.clip(curve, half, 1 - half)
    if _has_jackknife(sample):
        error = average_accuracy_jackknife(sample.margins, sample.y_true, set_sizes)[1]
    else:
        second = sample.wins @ accuracy_weights(n_classes, set_sizes) ** 2
        variance = np.maximum(second - curve**2, half * (1 - half))
        error = np.sqrt(variance / min(n_test, n_classes))
    return error / (inner * (1 - inner))


def _has_jackknife(sample: WinSample) -> bool:
    """Check that a class can be left out: scores, three classes, two of them tested."""
    if sample.margins is None or sample.n_classes < 3:
        return False
    return len(np.unique(sample.y_true)) > 1
