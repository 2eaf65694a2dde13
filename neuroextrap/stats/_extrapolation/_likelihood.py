"""Maximum-likelihood mixtures over a finite dictionary, with a duality gap."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from neuroextrap.stats._extrapolation._simplex import simplex_least_squares

Propose = Callable[[np.ndarray], tuple[float, np.ndarray]]

_MIXTURE_FLOOR = 1e-300


@dataclass(frozen=True)
class MixtureFit:
    """A mixture and its certificate.

    `weights` (n_columns,) are those of the dictionary's columns; `log_likelihood` is
    the mean per test point, and `duality_gap` an upper bound on what could still be
    gained.
    """

    weights: np.ndarray
    log_likelihood: float
    duality_gap: float
    n_iter: int


def peaks_over_columns(gradient: np.ndarray) -> tuple[float, np.ndarray]:
    """Propose every local maximum of the gradient (n_columns,) along the dictionary.

    The gradient is the gain of each column per unit of weight; the current mixture
    gains 1. Returns the gap, the largest gain less one, and one-hot vertices
    (n_vertices, n_columns).
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
    max_iter: int = 300,
) -> MixtureFit:
    """Maximize sum_v counts_v log (dictionary @ weights)_v over a convex set.

    The set is the hull of vertices that `propose` finds (gradient -> gap, vertices, as
    `peaks_over_columns`). Each step adds them to the active ones, maximizes the
    quadratic approximation over their simplex (non-negative least squares), halves the
    step until the likelihood grows, and drops vertices without weight. `counts`
    (n_outcomes,) are positive and sum to one; `dictionary` (n_outcomes, n_columns)
    holds probabilities; `start` (n_vertices, n_columns) are equally weighted. Stops at
    a gap of `tol` times the size of the log-likelihood.

    References
    ----------
    Wang 2007, "On fast computation of the non-parametric maximum likelihood
    estimate of a mixing distribution", JRSS B 69, algorithm CNM.
    """
    vertices, shares = start, np.full(len(start), 1 / len(start))
    best = MixtureFit(shares @ vertices, -np.inf, np.inf, 0)
    for n_iter in range(1, max_iter + 1):
        mixture = np.maximum(dictionary @ (shares @ vertices), _MIXTURE_FLOOR)
        value = float(counts @ np.log(mixture))
        gap, new = propose((counts / mixture) @ dictionary)
        if n_iter == 1 or gap < best.duality_gap:
            best = MixtureFit(shares @ vertices, value, float(max(gap, 0.0)), n_iter)
        if gap <= tol * max(abs(value), 1e-3):
            break
        vertices = np.vstack([vertices, new])
        shares = np.r_[shares, np.zeros(len(new))]
        shares = _improve(counts, dictionary @ vertices.T, shares, mixture)
        kept = shares > 0
        vertices, shares = vertices[kept], shares[kept]
    return best


def _improve(
    counts: np.ndarray, columns: np.ndarray, shares: np.ndarray, mixture: np.ndarray
) -> np.ndarray:
    """Go towards the quadratic optimum until the likelihood has grown."""
    root = np.sqrt(counts)
    target, _ = simplex_least_squares((root / mixture)[:, None] * columns, 2 * root)
    value = counts @ np.log(mixture)
    slope = (counts / mixture) @ (columns @ (target - shares))
    step = 1.0
    while step > 1e-10:
        trial = (1 - step) * shares + step * target
        moved = counts @ np.log(np.maximum(columns @ trial, _MIXTURE_FLOOR))
        if moved >= value + 1e-4 * step * slope:
            return trial
        step /= 2
    return shares


def certificate(fit: MixtureFit, tol: float) -> dict[str, Any]:
    """Describe a fit's certificate as a dict."""
    relative = fit.duality_gap / max(abs(fit.log_likelihood), 1e-3)
    return {
        "converged": relative <= tol,
        "duality_gap": fit.duality_gap,
        "relative_gap": relative,
        "n_iter": fit.n_iter,
    }
