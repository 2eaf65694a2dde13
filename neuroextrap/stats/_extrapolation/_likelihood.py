"""Maximum-likelihood mixtures over a finite dictionary, with a duality gap."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from neuroextrap.stats._extrapolation._mixtures import simplex_least_squares

Propose = Callable[[np.ndarray], tuple[float, np.ndarray]]

MAX_ITER = 1000
_MIXTURE_FLOOR = 1e-300
_EM_STEPS = 3


@dataclass(frozen=True)
class MixtureFit:
    """A mixture and its certificate."""

    weights: np.ndarray  # (n_columns,) of the dictionary
    log_likelihood: float  # mean per test point
    duality_gap: float  # an upper bound on what could still be gained
    n_iter: int


def peaks_over_columns(gradient: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the gap, the largest gain less one, and one-hot vertices at the peaks.

    The gradient (n_columns,) is the gain of each column per unit of weight; the current
    mixture gains 1.
    """
    padded = np.r_[-np.inf, gradient, -np.inf]
    peak = (gradient >= padded[:-2]) & (gradient >= padded[2:])
    places = np.flatnonzero(peak & (gradient > 1))
    vertices = np.zeros((len(places), len(gradient)))
    vertices[np.arange(len(places)), places] = 1
    return gradient.max() - 1, vertices


def maximize_likelihood(
    counts: np.ndarray,
    dictionary: np.ndarray,
    start: np.ndarray,
    propose: Propose,
    *,
    tol: float,
    max_iter: int = MAX_ITER,
) -> MixtureFit:
    """Maximize sum_v counts_v log (dictionary @ weights)_v over a hull of vertices.

    Each step gives the vertices that `propose` finds (gradient -> gap, vertices) what
    raises the likelihood, takes a few EM steps, maximizes the quadratic approximation
    over the simplex, halves that step until the likelihood grows, and drops vertices
    without weight (Wang 2007, "On fast computation of the non-parametric maximum
    likelihood estimate of a mixing distribution", algorithm CNM). It stops at a gap of
    `tol` times the size of the log-likelihood, or where rounding stops the ascent.

    EM steps rescue an outcome to which the mixture gives next to nothing: a quadratic
    step can only double a share, where one EM step multiplies it by its gain.
    """
    vertices, shares = start, np.full(len(start), 1 / len(start))
    best, ceiling = MixtureFit(shares @ vertices, -np.inf, np.inf, 0), np.inf
    for n_iter in range(1, max_iter + 1):
        weights = shares @ vertices
        mixture = np.maximum(dictionary @ weights, _MIXTURE_FLOOR)
        value = float(counts @ np.log(mixture))
        gap, new = propose((counts / mixture) @ dictionary)
        ceiling = min(ceiling, value + max(float(gap), 0.0))
        stuck = value <= best.log_likelihood
        if stuck:
            weights, value = best.weights, best.log_likelihood
        best = MixtureFit(weights, value, ceiling - value, n_iter)
        if stuck or best.duality_gap <= tol * _size(value):
            break
        vertices = np.vstack([vertices, new])
        columns = dictionary @ vertices.T
        shares = _admit(counts, columns, shares)
        shares = _expectation_maximization(counts, columns, shares)
        shares = _improve(counts, columns, shares)
        kept = shares > 0
        vertices, shares = vertices[kept], shares[kept]
    return best


def _size(log_likelihood: float) -> float:
    """Return the size of a log-likelihood that gaps are measured by."""
    return max(abs(log_likelihood), 1e-3)


def _value(counts: np.ndarray, columns: np.ndarray, shares: np.ndarray) -> float:
    """Return the mean log-likelihood of a mixture of columns."""
    return float(counts @ np.log(np.maximum(columns @ shares, _MIXTURE_FLOOR)))


def _admit(counts: np.ndarray, columns: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Give the new vertices, the last, the part that raises the likelihood most."""
    n_new = columns.shape[1] - len(shares)
    shares = np.r_[shares, np.zeros(n_new)]
    if not n_new:
        return shares
    newcomers = np.r_[np.zeros(len(shares) - n_new), np.full(n_new, 1 / n_new)]
    best, highest = shares, _value(counts, columns, shares)
    for part in 0.25 ** np.arange(1, 20):
        trial = (1 - part) * shares + part * newcomers
        value = _value(counts, columns, trial)
        if value > highest:
            best, highest = trial, value
    return best


def _expectation_maximization(
    counts: np.ndarray, columns: np.ndarray, shares: np.ndarray
) -> np.ndarray:
    """Multiply every share by its gain, a few times; the likelihood never falls."""
    for _ in range(_EM_STEPS):
        mixture = np.maximum(columns @ shares, _MIXTURE_FLOOR)
        shares = shares * ((counts / mixture) @ columns)
        shares /= shares.sum()  # 1 but for rounding
    return shares


def _improve(counts: np.ndarray, columns: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Go towards the quadratic optimum until the likelihood has grown."""
    mixture = np.maximum(columns @ shares, _MIXTURE_FLOOR)
    root = np.sqrt(counts)
    target, _ = simplex_least_squares((root / mixture)[:, None] * columns, 2 * root)
    value = counts @ np.log(mixture)
    slope = (counts / mixture) @ (columns @ (target - shares))
    step = 1.0
    while step > 1e-10:
        trial = (1 - step) * shares + step * target
        if _value(counts, columns, trial) >= value + 1e-4 * step * slope:
            return trial
        step /= 2
    return shares


def certificate(fit: MixtureFit, tol: float) -> dict[str, Any]:
    """Describe a fit's certificate as a dict, in words too."""
    relative = fit.duality_gap / _size(fit.log_likelihood)
    return {
        "converged": relative <= tol,
        "message": (
            f"after {fit.n_iter} steps the mean log-likelihood per test point, "
            f"{fit.log_likelihood:.6g}, is at most {fit.duality_gap:.2g} below its "
            f"maximum ({relative:.2g} of its size, {tol:g} asked for)"
        ),
        "duality_gap": fit.duality_gap,
        "relative_gap": relative,
        "n_iter": fit.n_iter,
    }
