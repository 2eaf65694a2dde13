"""Maximum pseudolikelihood of the win probability's distribution."""

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
    peaks_over_columns,
)
from neuroextrap.stats._extrapolation._method import ExtrapolationMethod
from neuroextrap.stats._extrapolation._mixtures import (
    uniform_mixture_accuracy,
    uniform_mixture_cdf,
)
from neuroextrap.stats._extrapolation._sample import WinSample
from neuroextrap.stats._validation import check_integer

_TOLERANCE = 1e-6


class PseudoLikelihood(ExtrapolationMethod):
    """Any distribution of U, by maximum pseudolikelihood of binomial wins.

    V | U is taken to be Binomial(K - 1, U), exact for marginal classifiers, and
    the points as independent, which shared distractors make a pseudolikelihood.
    Not identified beyond about 2K.

    Parameters
    ----------
    max_iter : int, default=1000
        Largest number of steps. Some ten are usual; `certificate_` says, in words too,
        whether the gap over the grid of atoms, refined around those in use, was closed.

    References
    ----------
    Zheng, Achanta & Benjamini 2016, "How many faces can be recognized?", the maximum
    pseudolikelihood estimator with its binomial corrected to K - 1 trials.
    """

    name = "mple"
    uses_scores = False
    reliable_factor = 2.0

    def __init__(self, *, max_iter: int = MAX_ITER):
        self.max_iter = check_integer(max_iter, "max_iter", minimum=1)

    def fit(self, sample: WinSample) -> Self:
        angles = _angle_grid(sample.n_classes)
        fit = self._solve(sample.wins, angles)
        # U = cos(angle)^2: the grid is refined around its atoms
        for _ in range(2):
            angles = _refined(angles, fit.weights)
            fit = self._solve(sample.wins, angles)
        used = fit.weights > 0
        self.angles_, self.weights_ = angles[used], fit.weights[used]
        self.certificate_ = certificate(fit, _TOLERANCE)
        return self

    def _solve(self, wins: np.ndarray, angles: np.ndarray) -> MixtureFit:
        """Maximize the likelihood over atoms at these angles."""
        seen = np.flatnonzero(wins)
        return maximize_likelihood(
            wins[seen],
            binomial_columns(len(wins), angles, seen),
            np.eye(len(angles))[::4],
            peaks_over_columns,
            tol=_TOLERANCE,
            max_iter=self.max_iter,
        )

    def accuracy(self, set_sizes: ArrayLike) -> np.ndarray:
        power = np.asarray(set_sizes, float) - 1
        with np.errstate(divide="ignore"):
            log_win = np.log1p(-(np.sin(self.angles_) ** 2))
        return np.exp(np.multiply.outer(power, log_win)) @ self.weights_

    def cdf(self, u: ArrayLike) -> np.ndarray:
        atoms = np.cos(self.angles_) ** 2
        return (atoms <= np.asarray(u, float)[..., None]) @ self.weights_


def binomial_columns(
    n_classes: int, angles: np.ndarray, outcomes: ArrayLike
) -> np.ndarray:
    """Probability of each number of wins at U = cos(angle)^2, a row each."""
    v = np.asarray(outcomes)[:, None]
    misses = n_classes - 1 - v
    log_choose = -np.log(n_classes) - special.betaln(v + 1, n_classes - v)
    u, q = np.cos(angles) ** 2, np.sin(angles) ** 2
    u = np.where(angles >= np.pi / 2, 0.0, u)
    return np.exp(log_choose + special.xlogy(v, u) + special.xlogy(misses, q))


def _angle_grid(n_classes: int) -> np.ndarray:
    """Angles a, U = cos(a)^2: even at a quarter of a binomial sd, dense near 0."""
    n_even = int(np.ceil(4 * np.pi / 2 * np.sqrt(n_classes))) + 20
    even = np.linspace(0, np.pi / 2, n_even)
    near = np.sqrt(np.geomspace(1e-5 / n_classes, 1 / n_classes, 40))
    return np.unique(np.r_[even, near])


def _refined(angles: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Add eight points on either side of every atom, to its neighbors."""
    atoms = np.flatnonzero(weights > 0)
    below, above = angles[np.maximum(atoms - 1, 0)], angles[atoms]
    beyond = angles[np.minimum(atoms + 1, len(angles) - 1)]
    share = np.arange(1, 8) / 8
    between = [below[:, None] + share * (above - below)[:, None]]
    between.append(above[:, None] + share * (beyond - above)[:, None])
    return np.unique(np.r_[angles, np.concatenate(between).ravel()])


_MONOTONE_TOLERANCE = 1e-4
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
        self.n_knots = check_integer(n_knots, "n_knots", minimum=2)
        self.max_iter = check_integer(max_iter, "max_iter", minimum=1)

    def fit(self, sample: WinSample) -> Self:
        distances = knot_distances(sample.n_classes, self.n_knots)
        fit = self._solve(sample.wins, distances)
        used = fit.weights > 0
        self.distances_, self.weights_ = distances[used], fit.weights[used]
        self.certificate_ = certificate(fit, _MONOTONE_TOLERANCE)
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
    """Return a `propose` for mixtures of `moments` (n_columns,) whose mean is `target`.

    It proposes the best partner of every column, kept where the pair gains more than
    one and more than its neighbors.
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
