"""Maximum pseudolikelihood of the win probability's distribution."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from neuroextrap.stats._extrapolation._likelihood import (
    MAX_ITER,
    MixtureFit,
    certificate,
    maximize_likelihood,
    peaks_over_columns,
)
from neuroextrap.stats._extrapolation._method import ExtrapolationMethod
from neuroextrap.stats._extrapolation._sample import WinSample

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
        if max_iter < 1:
            raise ValueError(f"max_iter must be at least 1, got {max_iter}")
        self.max_iter = max_iter

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
