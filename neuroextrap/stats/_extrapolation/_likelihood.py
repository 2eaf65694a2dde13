"""Maximum-likelihood mixtures over a finite dictionary, with a duality gap."""

from dataclasses import dataclass

import numpy as np

from neuroextrap.stats._extrapolation._simplex import simplex_least_squares

_MIXTURE_FLOOR = 1e-300


@dataclass(frozen=True)
class MixtureFit:
    """A mixture and its certificate.

    Parameters
    ----------
    weights : ndarray of shape (n_columns,)
        Weight of each column of the dictionary.
    log_likelihood : float
        Mean log-likelihood per test point.
    duality_gap : float
        Upper bound on how much of it could still be gained over the dictionary.
    n_iter : int
        Steps taken.
    """

    weights: np.ndarray
    log_likelihood: float
    duality_gap: float
    n_iter: int


def peaks_over_columns(gradient):
    """Propose every local maximum of the gradient along the dictionary.

    Parameters
    ----------
    gradient : ndarray of shape (n_columns,)
        Gain of each column per unit of weight; the current mixture gains 1.

    Returns
    -------
    gap : float
        Largest gain less one.
    vertices : ndarray of shape (n_vertices, n_columns)
        One-hot rows.
    """
    padded = np.r_[-np.inf, gradient, -np.inf]
    peak = (gradient >= padded[:-2]) & (gradient >= padded[2:])
    places = np.flatnonzero(peak & (gradient > 1))
    vertices = np.zeros((len(places), len(gradient)))
    vertices[np.arange(len(places)), places] = 1
    return gradient.max() - 1, vertices


def maximize_likelihood(counts, dictionary, start, propose, *, tol, max_iter=300):
    """Maximize sum_v counts_v log (dictionary @ weights)_v over a convex set.

    The set is the hull of vertices that `propose` finds. Each step adds the
    proposed vertices to the active ones, maximizes the quadratic approximation
    over their simplex (non-negative least squares), halves the step until the
    likelihood grows, and drops vertices without weight.

    Parameters
    ----------
    counts : ndarray of shape (n_outcomes,)
        Positive weights of the outcomes, summing to one.
    dictionary : ndarray of shape (n_outcomes, n_columns)
        Probability of each outcome under each column.
    start : ndarray of shape (n_vertices, n_columns)
        Vertices to begin from, equally weighted.
    propose : callable
        Gradient over the columns -> (gap, vertices), as `peaks_over_columns`.
    tol : float
        Gap, relative to the size of the log-likelihood, at which to stop.
    max_iter : int
        Most steps.

    Returns
    -------
    MixtureFit
        Weights, likelihood and certificate.

    References
    ----------
    Wang 2007, "On fast computation of the non-parametric maximum likelihood
    estimate of a mixing distribution", JRSS B 69, algorithm CNM.
    """
    vertices, shares = start, np.full(len(start), 1 / len(start))
    best = None
    for n_iter in range(1, max_iter + 1):
        mixture = np.maximum(dictionary @ (shares @ vertices), _MIXTURE_FLOOR)
        value = float(counts @ np.log(mixture))
        gap, new = propose((counts / mixture) @ dictionary)
        if best is None or gap < best.duality_gap:
            best = MixtureFit(shares @ vertices, value, float(max(gap, 0.0)), n_iter)
        if gap <= tol * max(abs(value), 1e-3):
            break
        vertices = np.vstack([vertices, new])
        shares = np.r_[shares, np.zeros(len(new))]
        shares = _improve(counts, dictionary @ vertices.T, shares, mixture)
        kept = shares > 0
        vertices, shares = vertices[kept], shares[kept]
    return best


def _improve(counts, columns, shares, mixture):
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


def certificate(fit, tol):
    """Describe a fit's certificate as a dict."""
    relative = fit.duality_gap / max(abs(fit.log_likelihood), 1e-3)
    return {
        "converged": relative <= tol,
        "duality_gap": fit.duality_gap,
        "relative_gap": relative,
        "n_iter": fit.n_iter,
    }
