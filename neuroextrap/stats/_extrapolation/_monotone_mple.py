"""Maximum pseudolikelihood with a non-decreasing density and A_K reproduced."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from neuroextrap.stats._extrapolation._likelihood import (
    MAX_ITER,
    MixtureFit,
    Propose,
    certificate,
    maximize_likelihood,
)
from neuroextrap.stats._extrapolation._method import ExtrapolationMethod
from neuroextrap.stats._extrapolation._mixtures import (
    uniform_mixture_accuracy,
    uniform_mixture_cdf,
)
from neuroextrap.stats._extrapolation._sample import WinSample

_TOLERANCE = 1e-4
_AIM = 1e-6


class MonotonePseudoLikelihood(ExtrapolationMethod):
    """Non-decreasing density of U by maximum pseudolikelihood, A_K kept.

    Such densities are mixtures of uniforms on (a, 1); the constraint
    E U^(K-1) = A_K makes the feasible set the hull of pairs of uniforms, one with
    a moment below A_K and one above, over which the likelihood is maximized. An A_K
    below chance has no such density: U is then uniform on (0, 1), A_k = 1/k.

    Parameters
    ----------
    n_knots : int, default=400
        Number of knots a, geometric in 1 - a.
    max_iter : int, default=1000
        Largest number of steps; `certificate_` says, in words too, whether the gap was
        closed.

    References
    ----------
    Zheng, Achanta & Benjamini 2016, "How many faces can be recognized?", the
    constrained pseudolikelihood estimator.
    """

    name = "monotone_mple"
    uses_scores = False

    def __init__(self, *, n_knots: int = 400, max_iter: int = MAX_ITER):
        if n_knots < 2:
            raise ValueError(f"n_knots must be at least 2, got {n_knots}")
        if max_iter < 1:
            raise ValueError(f"max_iter must be at least 1, got {max_iter}")
        self.n_knots = n_knots
        self.max_iter = max_iter

    def fit(self, sample: WinSample) -> Self:
        distances = knot_distances(sample.n_classes, self.n_knots)
        fit = self._solve(sample.wins, distances)
        used = fit.weights > 0
        self.distances_, self.weights_ = distances[used], fit.weights[used]
        self.certificate_ = certificate(fit, _TOLERANCE)
        return self

    def _solve(self, wins: np.ndarray, distances: np.ndarray) -> MixtureFit:
        """Maximize the likelihood over pairs of uniforms."""
        moments = uniform_mixture_accuracy(distances, [len(wins)])[0]
        if wins[-1] <= moments.min() or wins[-1] >= 1:
            perfect = wins[-1] >= 1
            only = np.zeros(len(distances))
            only[-1 if perfect else 0] = 1
            return MixtureFit(only, 0.0 if perfect else -np.log(len(wins)), 0.0, 0)
        propose = pair_proposer(moments, wins[-1])
        seen = np.flatnonzero(wins)
        return maximize_likelihood(
            wins[seen],
            uniform_columns(len(wins), distances, seen),
            propose(np.ones(len(distances)))[1],
            propose,
            tol=_AIM,
            max_iter=self.max_iter,
        )

    def accuracy(self, set_sizes: ArrayLike) -> np.ndarray:
        return uniform_mixture_accuracy(self.distances_, set_sizes) @ self.weights_

    def cdf(self, u: ArrayLike) -> np.ndarray:
        return uniform_mixture_cdf(u, self.distances_, self.weights_)


def knot_distances(n_classes: int, n_knots: int) -> np.ndarray:
    """Return 1 - a from 1 to 1e-5 / K, even in log and angle, then 0 for the atom."""
    geometric = np.geomspace(1.0, 1e-5 / n_classes, n_knots)
    even = np.linspace(1.0, 0.0, n_knots, endpoint=False)
    return np.r_[np.unique(np.r_[geometric, even])[::-1], 0.0]


def uniform_columns(
    n_classes: int, distances: np.ndarray, outcomes: ArrayLike
) -> np.ndarray:
    """Probability of each number of wins when U is uniform on (1 - distance, 1)."""
    v = np.asarray(outcomes)[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        columns = special.betainc(n_classes - v, v + 1, distances) / (
            n_classes * distances
        )
    return np.where(distances > 0, columns, v == n_classes - 1)


def pair_proposer(moments: np.ndarray, target: float) -> Propose:
    """Return a `propose` for mixtures whose mean moment is `target`.

    `moments` (n_columns,) are those of the columns, on both sides of the target. It
    proposes the best partner of every column, kept where the pair gains more than one
    and more than its neighbors.
    """
    low, high = np.flatnonzero(moments <= target), np.flatnonzero(moments > target)
    share = (target - moments[low])[:, None] / (moments[high] - moments[low][:, None])

    def propose(gradient: np.ndarray) -> tuple[float, np.ndarray]:
        gains = (1 - share) * gradient[low][:, None] + share * gradient[high]
        pairs = _peaks(gains) | {(i, j) for j, i in _peaks(gains.T)}
        best = np.unravel_index(gains.argmax(), gains.shape)
        pairs.add((int(best[0]), int(best[1])))
        vertices = np.zeros((len(pairs), len(gradient)))
        for row, (i, j) in zip(vertices, sorted(pairs), strict=True):
            row[low[i]] += 1 - share[i, j]
            row[high[j]] += share[i, j]
        return gains.max() - 1, vertices

    return propose


def _peaks(gains: np.ndarray) -> set[tuple[int, int]]:
    """Return rows whose best entry gains over one and over the neighboring rows'."""
    partner = gains.argmax(1)
    best = gains[np.arange(len(gains)), partner]
    padded = np.r_[-np.inf, best, -np.inf]
    peak = (best > 1) & (best >= padded[:-2]) & (best >= padded[2:])
    return {(int(i), int(partner[i])) for i in np.flatnonzero(peak)}
