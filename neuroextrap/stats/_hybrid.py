"""The hybrid lower bound: exponential moments of classes and test points."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from neuroextrap.stats._validation import FloatArray

_LARGEST_TILT = 500.0
_N_RATES = 96


def hybrid_lower_bound(
    accuracy: FloatArray, n_classes: int, n_repeats: float, log_term: float
) -> FloatArray:
    """Return the smallest average Bayes accuracy that the data do not exclude.

    An accuracy A is excluded at a level exp(-log_term) if some rate x >= 0 has
    ``n log(1 + A (e^x - 1)) + psi(theta; A) - x n a < -log_term``, where n is the
    number of test points, a the observed accuracy, theta the slope of the first
    term in the number of classes identified, and psi bounds the log-moment
    generating function of that number:
    ``min(theta^2 K / 8, K A (e^theta - 1 - theta), K (1 - A) theta^2)``.
    """
    candidates, critical = _critical_accuracies(n_classes, n_repeats, log_term)
    bound = np.interp(accuracy, critical, candidates)
    return np.asarray(np.where(np.isnan(accuracy), np.nan, bound))


@lru_cache(maxsize=32)
def _critical_accuracies(
    n_classes: int, n_repeats: float, log_term: float
) -> tuple[FloatArray, FloatArray]:
    """Tabulate candidates A and the observed accuracy above which A is excluded."""
    half = np.geomspace(1e-7, 0.5, 5000)
    candidates = np.concatenate([half, 1 - half[-2::-1]])
    critical = np.concatenate(
        [
            critical_accuracy(part, n_classes, n_repeats, log_term)
            for part in np.array_split(candidates, 40)
        ]
    )
    # the bound is the smallest A that is not excluded
    return candidates, np.maximum.accumulate(critical)


def critical_accuracy(
    candidates: FloatArray, n_classes: int, n_repeats: float, log_term: float
) -> FloatArray:
    """Return inf over rates of (moments + log_term) / (rate n) for A (m,).

    Every rate gives a valid bound, so a search that misses the best one is only
    ever conservative.
    """
    low = np.full(len(candidates), np.log(1e-6))
    high = np.full(len(candidates), np.log(60.0))
    for _ in range(3):
        steps = np.linspace(0, 1, _N_RATES)
        log_rate = low[:, np.newaxis] + (high - low)[:, np.newaxis] * steps
        value = _exclusion(
            np.exp(log_rate), candidates[:, np.newaxis], n_classes, n_repeats, log_term
        )
        best = value.argmin(axis=1)
        width = (high - low) / (_N_RATES - 1)
        low, high = (
            low + width * np.maximum(best - 1, 0),
            low + width * np.minimum(best + 1, _N_RATES - 1),
        )
    return value.min(axis=1)


def _exclusion(
    rate: FloatArray,
    accuracy: FloatArray,
    n_classes: int,
    n_repeats: float,
    log_term: float,
) -> FloatArray:
    """Return (n log(1 + A (e^x - 1)) + psi + log_term) / (x n)."""
    gain = np.expm1(rate)
    theta = n_repeats * gain / (1 + accuracy * gain)
    allowed = theta <= _LARGEST_TILT
    theta = np.minimum(theta, _LARGEST_TILT)
    psi = n_classes * np.minimum(
        np.minimum(theta**2 / 8, accuracy * (np.expm1(theta) - theta)),
        (1 - accuracy) * theta**2,
    )
    n_test = n_classes * n_repeats
    total = n_test * np.log1p(accuracy * gain) + psi + log_term
    return np.where(allowed, total / (rate * n_test), np.inf)
