"""Maximum pseudolikelihood of the win probability, with a duality gap."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from neuroextrap.stats._extrapolation._method import (
    ExtrapolationMethod,
    PointWins,
    UniformWins,
    WinSample,
    log_win_of,
)
from neuroextrap.stats._extrapolation._mixtures import simplex_least_squares
from neuroextrap.stats._validation import check_integer

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

    @property
    def relative_gap(self) -> float:
        """The gap by the size of the log-likelihood."""
        return self.duality_gap / max(abs(self.log_likelihood), 1e-3)

    def certificate(self, tol: float) -> dict[str, Any]:
        """Describe how near the fit is to its optimum, in words too."""
        return {
            "converged": self.relative_gap <= tol,
            "message": (
                f"after {self.n_iter} steps the mean log-likelihood per test point, "
                f"{self.log_likelihood:.6g}, is at most {self.duality_gap:.2g} below "
                f"its maximum ({self.relative_gap:.2g} of its size, {tol:g} asked for)"
            ),
            "duality_gap": self.duality_gap,
            "relative_gap": self.relative_gap,
            "n_iter": self.n_iter,
        }


def peaks_over_columns(gradient: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the gap, largest gain less one, and one-hot vertices at its peaks."""
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

    The steps of algorithm CNM (Wang 2007, "On fast computation of the non-parametric
    maximum likelihood estimate of a mixing distribution") over the vertices that
    `propose` finds (gradient -> gap, vertices), each after a few EM steps: a quadratic
    step can only double a share, where an EM step multiplies it by its gain. It stops
    at a gap of `tol` times the size of the log-likelihood, or at rounding.
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
        if stuck or best.relative_gap <= tol:
            break
        vertices = np.vstack([vertices, new])
        columns = dictionary @ vertices.T
        shares = _admit(counts, columns, shares)
        shares = _expectation_maximization(counts, columns, shares)
        shares = _improve(counts, columns, shares)
        kept = shares > 0
        vertices, shares = vertices[kept], shares[kept]
    return best


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
    Zheng, Achanta & Benjamini 2016, with the binomial corrected to K - 1 trials.
    """

    name = "mple"
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
        log_win = log_win_of(np.sin(angles) ** 2)
        self.mixture_ = PointWins.of_used(log_win, fit.weights)
        self.certificate_ = fit.certificate(_TOLERANCE)
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
    Zheng, Achanta & Benjamini 2016, the constrained pseudolikelihood estimator.
    """

    name = "monotone_mple"

    def __init__(self, *, n_knots: int = 400, max_iter: int = MAX_ITER):
        self.n_knots = check_integer(n_knots, "n_knots", minimum=2)
        self.max_iter = check_integer(max_iter, "max_iter", minimum=1)

    def fit(self, sample: WinSample) -> Self:
        distances = knot_distances(sample.n_classes, self.n_knots)
        fit = self._solve(sample.wins, distances)
        self.mixture_ = UniformWins.of_used(distances, fit.weights)
        self.certificate_ = fit.certificate(_MONOTONE_TOLERANCE)
        return self

    def _solve(self, wins: np.ndarray, distances: np.ndarray) -> MixtureFit:
        """Maximize the likelihood over pairs of uniforms."""
        moments = UniformWins.curves(distances, [len(wins)])[0]
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
    """Return a `propose` of the best pairs of moments (n_columns,) that mix to one."""
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
