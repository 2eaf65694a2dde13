"""What an extrapolation method is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from copy import copy, deepcopy
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from neuroextrap.stats._extrapolation._sample import LeftOut, WinSample
from neuroextrap.stats._gaussian_limit import gauss_legendre_panels
from neuroextrap.stats._validation import batches

_ANCHORS_PER_E_FOLD = 20
_LARGEST_LOG10 = 15.0


class ExtrapolationMethod(ABC):
    """A model of the win probability U, from which accuracy at any k follows."""

    name: ClassVar[str]  # in the registry
    needs_scores: ClassVar[bool] = False  # win distributions alone are not enough
    continuous_scores: ClassVar[bool] = False  # it errs where scores tie
    uses_scores: ClassVar[bool] = True  # a fit looks at them where the sample has them
    reliable_factor: ClassVar[float] = np.inf  # how many times K data identify it
    monotone: ClassVar[bool] = True  # in [0, 1] and never increasing by itself
    has_cdf: ClassVar[bool] = True  # it models the distribution of U
    #: how an iterative method ended: "converged", the same in words, "message", and, if
    #: convex, "duality_gap"
    certificate_: dict[str, Any] | None = None

    def resolve(self, sample: WinSample) -> ExtrapolationMethod:
        """Return the method that this sample calls for; its parts are fitted so too."""
        del sample
        return self

    @abstractmethod
    def fit(self, sample: WinSample) -> ExtrapolationMethod:
        """Fit to a sample and return the fitted method, with `certificate_`."""

    def refits(self, parts: LeftOut) -> Iterator[ExtrapolationMethod]:
        """Yield a fit to each part of the sample; methods may share work."""
        for sample in parts.samples(scores=self.uses_scores):
            yield deepcopy(self).fit(sample)

    @abstractmethod
    def accuracy(self, set_sizes: ArrayLike) -> np.ndarray:
        """Predict average accuracy at set sizes (n_sizes,), which need not be whole."""

    def projected_accuracy(self, set_sizes: np.ndarray) -> np.ndarray:
        """Predict in [0, 1] and never increasing, at set sizes (n_sizes,)."""

        def limited(sizes: np.ndarray) -> np.ndarray:
            return np.clip(self.accuracy(sizes), 0.0, 1.0)

        return limited(set_sizes) if self.monotone else falling(limited, set_sizes)

    def cdf(self, u: ArrayLike) -> np.ndarray:
        """Return the fitted Pr(U <= u) at u (...)."""
        raise NotImplementedError(f"method={self.name!r} has no distribution of U")


class WinMethod(ExtrapolationMethod):
    """A method of a few parameters, fitted to many win distributions at once."""

    uses_scores = False
    parameters_: np.ndarray  # (1, n_parameters)
    wins_: np.ndarray  # (n_classes,) of the sample

    @abstractmethod
    def fit_many(
        self, wins: np.ndarray, n_test: np.ndarray, start: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """Return parameters (n, n_parameters) of wins, and which converged, if any."""

    @abstractmethod
    def curves(self, parameters: np.ndarray, set_sizes: ArrayLike) -> np.ndarray:
        """Predict average accuracy of each row of parameters, (n, n_sizes)."""

    def predict_many(
        self, wins: np.ndarray, n_test: np.ndarray, set_sizes: ArrayLike
    ) -> np.ndarray:
        """Predict average accuracy of each win distribution, (n, n_sizes)."""
        return self.curves(self.fit_many(wins, n_test)[0], set_sizes)

    def fit(self, sample: WinSample) -> Self:
        n_test = np.array([sample.n_test])
        self.parameters_, converged = self.fit_many(sample.wins[None], n_test)
        self.wins_ = sample.wins
        if converged is not None:
            ended = "reached" if converged[0] else "ran out of steps before"
            message = f"Newton's method {ended} a minimum"
            self.certificate_ = {"converged": bool(converged[0]), "message": message}
        return self

    def refits(self, parts: LeftOut) -> Iterator[Self]:
        """Fit parts of one size together, from where the whole sample's fit ended."""
        parameters = np.empty((len(parts), self.parameters_.shape[1]))
        for places, wins, n_test in parts.same_size():
            parameters[places] = self.fit_many(wins, n_test, self.parameters_[0])[0]
        for row, part in zip(parameters, parts.win_samples, strict=True):
            refit = copy(self)
            refit.parameters_, refit.wins_ = row[None], part.wins
            yield refit

    def accuracy(self, set_sizes: ArrayLike) -> np.ndarray:
        return self.curves(self.parameters_, set_sizes)[0]


def falling(
    curve: Callable[[np.ndarray], np.ndarray], set_sizes: np.ndarray, first: float = 2
) -> np.ndarray:
    """Return a curve (..., n_sizes), from `first` on its running minimum."""
    # with fixed anchors an answer hardly depends on what else was asked
    anchors, largest = log_anchors(set_sizes.max()), set_sizes.max()
    anchors = anchors[(anchors > first) & (anchors < largest)]
    every = np.unique(np.r_[anchors, first, set_sizes])
    values = curve(every)
    fixed = np.searchsorted(every, first)
    values[..., fixed:] = np.minimum.accumulate(values[..., fixed:], axis=-1)
    return values[..., np.searchsorted(every, set_sizes)]


def log_anchors(largest: float) -> np.ndarray:
    """Return fixed log-spaced set sizes from 2 to at least `largest`."""
    n_anchors = int(np.ceil(_ANCHORS_PER_E_FOLD * np.log(largest))) + 2
    return 2 * np.exp(np.arange(n_anchors) / _ANCHORS_PER_E_FOLD)


def first_crossing(curve: Callable[[np.ndarray], np.ndarray], level: float) -> float:
    """Return where a curve first falls to a level: 2 at once, infinity beyond 1e15."""
    anchors = log_anchors(10**_LARGEST_LOG10)
    anchors = np.r_[anchors[anchors < 10**_LARGEST_LOG10], 10**_LARGEST_LOG10]
    below = np.flatnonzero(curve(anchors) <= level)
    if not below.size:
        return float("inf")
    if below[0] == 0:
        return 2.0
    low, high = np.log10(anchors[below[0] - 1 : below[0] + 1])
    while high - low > 1e-9:
        middle = (low + high) / 2
        above = curve(np.array([10**middle]))[0] > level
        low, high = (middle, high) if above else (low, middle)
    return float(10**high)


_BATCH_NUMBERS = 4_000_000


class PointWins:
    """Accuracy and distribution of U by point; `log_win` and `weights` (n_test,)."""

    def __init__(self, log_win: np.ndarray, weights: np.ndarray):
        self.log_win = log_win
        self.weights = weights

    def accuracy(self, set_sizes: ArrayLike) -> np.ndarray:
        """Return the weighted mean of U^(k - 1) at each set size."""
        power = np.asarray(set_sizes, float) - 1
        parts = [
            np.exp(np.multiply.outer(power[part], self.log_win)) @ self.weights
            for part in batches(len(power), _BATCH_NUMBERS // len(self.log_win))
        ]
        return np.concatenate(parts)

    def cdf(self, u: ArrayLike) -> np.ndarray:
        """Return the weighted share of points with U at most `u`."""
        return (np.exp(self.log_win) <= np.asarray(u, float)[..., None]) @ self.weights


class PointMethod(ExtrapolationMethod):
    """A method that gives every test point a win probability of its own."""

    needs_scores = True
    fewest_classes: ClassVar[int]
    points_: PointWins

    def fit(self, sample: WinSample) -> Self:
        if sample.n_classes < self.fewest_classes:
            raise ValueError(
                f"method={self.name!r} needs at least {self.fewest_classes} classes, "
                f"got {sample.n_classes}; use method='gaussian_mixture'"
            )
        self.points_ = self._points(sample)
        return self

    @abstractmethod
    def _points(self, sample: WinSample) -> PointWins:
        """Return the win probabilities of a sample of enough classes."""

    def accuracy(self, set_sizes: ArrayLike) -> np.ndarray:
        return self.points_.accuracy(set_sizes)

    def cdf(self, u: ArrayLike) -> np.ndarray:
        return self.points_.cdf(u)


def split_ties(tied: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Split points that are `tied` (n_test,) into equally likely ways of breaking them.

    U = Pr(less) + s Pr(equal), s uniform on (0, 1), in cells that shrink towards both
    ends. Returned are the point of each part, s, and its share of the point (n_split,).
    """
    left = np.geomspace(1e-9, 0.5, 48)
    edges = np.r_[0.0, left, 1 - left[-2::-1], 1.0]
    node, part = gauss_legendre_panels(edges, 2)
    rows = np.repeat(np.arange(len(tied)), np.where(tied, len(node), 1))
    share, weight = np.zeros(len(rows)), np.ones(len(rows))
    share[tied[rows]] = np.tile(node, np.count_nonzero(tied))
    weight[tied[rows]] = np.tile(part, np.count_nonzero(tied))
    return rows, share, weight
