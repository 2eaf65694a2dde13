"""Lower bounds on one success rate from a single train/test split."""

from __future__ import annotations

import numpy as np
from scipy.special import betaincinv, xlogy

from neuroextrap.stats._validation import FloatArray

_BISECTIONS = 50


def clopper_pearson_lower(
    n_correct: FloatArray, n_test: float, alpha: float
) -> FloatArray:
    """Return the rate at which so many correct outcomes have probability alpha.

    `n_correct` of shape (...) holds whole numbers of `n_test` independent outcomes.
    Their chances may differ as long as their mean is the rate: for alpha up to .25 and
    at least one outcome expected right, the binomial law is the worst case (Hoeffding
    1956, "On the distribution of the number of successes in independent trials",
    theorem 5).
    """
    successes = np.maximum(n_correct, 1)
    rate = betaincinv(successes, n_test - successes + 1, alpha)
    return np.where(np.isnan(n_correct) | (n_correct >= 1), rate, 0.0)


def kl_lower(share: FloatArray, n_test: float, log_goal: float) -> FloatArray:
    """Return the rate L < share with ``n_test * KL(share, L) = log_goal``.

    The Chernoff bound of the mean of `n_test` independent outcomes in [0, 1], so that
    ties and averages over a block are allowed; `share` of shape (...).
    """
    goal = log_goal / n_test
    low, high = np.zeros_like(share), np.asarray(share, dtype=np.float64).copy()
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        far = _binary_divergence(share, middle) > goal
        low, high = np.where(far, middle, low), np.where(far, high, middle)
    return np.where(np.isnan(share), np.nan, low)


def _binary_divergence(p: FloatArray, q: FloatArray) -> FloatArray:
    """Return KL(p, q) of two coins, nats; infinite where q excludes what p allows."""
    with np.errstate(divide="ignore", invalid="ignore"):
        gain = xlogy(p, p) - xlogy(p, q)
        loss = xlogy(1 - p, 1 - p) - xlogy(1 - p, 1 - q)
    return np.asarray(gain + loss)
