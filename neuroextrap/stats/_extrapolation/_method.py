"""What an extrapolation method is, what it is fitted to, and distributions of U."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from copy import copy, deepcopy
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from neuroextrap.stats._accuracy import (
    accuracy_weights,
    average_accuracy,
    spread_ties,
)
from neuroextrap.stats._validation import batches, check_margins

_MOST_TIES = 0.05
_BATCH_NUMBERS = 4_000_000
_MAX_COMPARISONS = 2**20  # at once: counts in float32 stay whole, memory small


def log_spaced_set_sizes(n_classes: int, n_sizes: int) -> np.ndarray:
    """Return at most `n_sizes` distinct, log-spaced sizes, from 2 up to K with both."""
    sizes = np.geomspace(2, n_classes, min(n_sizes, n_classes - 1))
    return np.unique(np.r_[2, np.rint(sizes).astype(int), n_classes])


def fill_in_measured(
    accuracy: np.ndarray, wins: np.ndarray, set_sizes: np.ndarray, measured: np.ndarray
) -> np.ndarray:
    """Put the measured curve, linear between sizes, where `measured` (n_sizes,)."""
    if measured.any():
        sizes, below = set_sizes[measured], np.floor(set_sizes[measured])
        ends = np.r_[below, np.ceil(sizes)].astype(int)
        low, high = np.split(average_accuracy(wins, ends), 2, axis=-1)
        accuracy[..., measured] = low + (sizes - below) * (high - low)
    return accuracy


def log_win_of(lose: np.ndarray) -> np.ndarray:
    """Return log(1 - q), minus infinity where q is one."""
    with np.errstate(divide="ignore"):
        return np.log1p(-lose)


@dataclass(frozen=True)
class WinSample:
    """The data of one fit."""

    wins: np.ndarray  # (n_classes,) class-averaged distribution of distractors beaten
    n_test: Any  # number of test points, or (n_regions,) with wins of many
    margins: Any = None  # (n_test, n_classes), or None where there are no scores
    y_true: Any = None  # (n_test,) column of each point's true class
    own_scores: Any = None  # (n_test,) for that class
    beaten: Any = None  # (n_test,) number of distractors that a point beats
    tied: Any = None  # (n_test,) number of distractors that it ties with

    @classmethod
    def from_margins(cls, margins: ArrayLike, y_true: ArrayLike) -> WinSample:
        """Count the wins of `margins` and keep the scores."""
        scores, y = check_margins(margins, y_true)
        own = np.take_along_axis(scores, y[:, None], 1)[:, 0]
        uncounted = cls(np.empty(0), len(y), scores, y, own)
        (sample,) = uncounted.subsets(np.ones((1, scores.shape[1]), bool))
        return replace(sample, margins=scores)

    @property
    def n_classes(self) -> int:
        """Number of classes K."""
        return self.wins.shape[-1]

    def curve(self, set_sizes: ArrayLike) -> np.ndarray:
        """Return average accuracy at `set_sizes`, each within 2..K."""
        return self.wins @ accuracy_weights(self.n_classes, set_sizes)

    def distractor_scores(self) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield some test points, and their scores for others (n_rows, K - 1)."""
        for rows in batches(self.n_test, _BATCH_NUMBERS // self.n_classes):
            others = np.ones(self.margins[rows].shape, bool)
            np.put_along_axis(others, self.y_true[rows, None], False, 1)
            yield rows, self.margins[rows][others].reshape(len(others), -1)

    def point_weights(self) -> np.ndarray:
        """Return weights of the test points: one class, one vote; they sum to one."""
        counts = np.bincount(self.y_true)
        return 1 / (counts[self.y_true] * np.count_nonzero(counts))

    def has_continuous_scores(self) -> bool:
        """Check that there are scores, and few test points that tie with a class."""
        return self.margins is not None and bool((self.tied > 0).mean() <= _MOST_TIES)

    def subsets(self, members: np.ndarray) -> list[WinSample]:
        """Return the samples, without margins, of sets (n_sets, n_classes) of bool."""
        beaten, tied = self._counts(members.T.astype(np.float32))
        samples = []
        for s, member in enumerate(members):
            rows = np.flatnonzero(member[self.y_true])
            y = (np.cumsum(member) - 1)[self.y_true[rows]]
            counts = beaten[rows, s], tied[rows, s] - 1  # not with itself
            each = counts[0][None], counts[1][None], y[None]
            wins = spread_ties(*each, int(np.count_nonzero(member)))[0]
            own = self.own_scores[rows]
            samples.append(WinSample(wins, len(rows), None, y, own, *counts))
        return samples

    def _counts(self, members: np.ndarray) -> np.ndarray:
        """Count the classes that points beat and tie with, (2, n_test, n_sets)."""
        counts = np.empty((2, self.n_test, members.shape[1]), np.int32)
        for rows in batches(self.n_test, _MAX_COMPARISONS // len(members)):
            for count, compare in zip(counts, (np.less, np.equal), strict=True):
                hits = compare(self.margins[rows], self.own_scores[rows, None])
                count[rows] = hits.astype(np.float32) @ members
        return counts


def half_of_classes(
    rng: np.random.Generator, n_classes: int, tested: np.ndarray, n_half: int
) -> np.ndarray:
    """Draw a set of classes (n_classes,) of bool, one of them with test points."""
    while True:
        member = np.zeros(n_classes, bool)
        member[rng.permutation(n_classes)[:n_half]] = True
        if member[tested].any():
            return member


class LeftOut:
    """The parts of a sample that lack one of interleaved groups of classes each."""

    def __init__(self, sample: WinSample, max_refits: int):
        tested = np.unique(sample.y_true)
        if len(tested) < 4:
            raise ValueError(
                "a jackknife over classes needs at least 4 classes with test points, "
                f"got {len(tested)}"
            )
        n_groups = min(max_refits, sample.n_classes)
        left = np.arange(n_groups)[:, None] != np.arange(sample.n_classes) % n_groups
        self.sample = sample
        self.members = left[left[:, tested].any(axis=1)]  # (n_parts, n_classes)
        if len(self.members) < 2:
            raise ValueError(
                f"max_refits={max_refits} puts all classes with test points into one "
                "group; allow more refits"
            )
        self.win_samples = sample.subsets(self.members)

    def __len__(self) -> int:
        """Return the number of parts."""
        return len(self.members)

    def same_size(self) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Yield places, wins (m, n_classes), numbers of points by size of part."""
        sizes = np.count_nonzero(self.members, axis=1)
        for size in np.unique(sizes):
            places = np.flatnonzero(sizes == size)
            same = [self.win_samples[i] for i in places]
            n_test = np.array([sample.n_test for sample in same])
            yield places, np.stack([sample.wins for sample in same]), n_test

    def samples(self) -> Iterator[WinSample]:
        """Yield the parts, with their scores for every class."""
        for member, sample in zip(self.members, self.win_samples, strict=True):
            rows = self.sample.margins[member[self.sample.y_true]]
            yield replace(sample, margins=rows.compress(member, axis=1))


_ANCHORS_PER_E_FOLD = 20
_LARGEST_LOG10 = 15.0


@dataclass(frozen=True)
class Mixture(ABC):
    """A mixture of distributions of U, one an atom; `weights` sum to one."""

    atoms: np.ndarray  # (n_atoms,)
    weights: np.ndarray  # (n_atoms,)

    @staticmethod
    @abstractmethod
    def curves(atoms: np.ndarray, set_sizes: ArrayLike) -> np.ndarray:
        """Return the accuracy curve of each atom, E U^(k - 1), (n_sizes, n_atoms)."""

    @abstractmethod
    def cdf(self, u: ArrayLike) -> np.ndarray:
        """Return Pr(U <= u) at u (...)."""

    @classmethod
    def of_used(cls, atoms: np.ndarray, weights: np.ndarray) -> Self:
        """Leave atoms without weight out."""
        return cls(atoms[weights > 0], weights[weights > 0])

    def accuracy(self, set_sizes: ArrayLike) -> np.ndarray:
        """Return the weighted mean of the atoms' curves at set sizes (n_sizes,)."""
        sizes = np.asarray(set_sizes, float)
        every = batches(len(sizes), _BATCH_NUMBERS // len(self.atoms))
        parts = [self.curves(self.atoms, sizes[part]) @ self.weights for part in every]
        return np.concatenate(parts)


class PointWins(Mixture):
    """U is one of some numbers, as of test points; the atoms are log U."""

    @staticmethod
    def curves(atoms: np.ndarray, set_sizes: ArrayLike) -> np.ndarray:
        return np.exp(np.multiply.outer(np.asarray(set_sizes, float) - 1, atoms))

    def cdf(self, u: ArrayLike) -> np.ndarray:
        return (np.exp(self.atoms) <= np.asarray(u, float)[..., None]) @ self.weights


class UniformWins(Mixture):
    """U is uniform on (a, 1); the atoms are 1 - a, 0 for a U that is one."""

    @staticmethod
    def curves(atoms: np.ndarray, set_sizes: ArrayLike) -> np.ndarray:
        """Return (1 - a^k) / (k (1 - a))."""
        k = np.asarray(set_sizes, float)[:, None]
        safe = np.where(atoms > 0, atoms, 1.0)
        power = -np.expm1(k * log_win_of(safe))
        return np.where(atoms > 0, power / (k * safe), 1.0)

    def cdf(self, u: ArrayLike) -> np.ndarray:
        u, atoms = np.asarray(u, float)[..., None], self.atoms
        share = np.clip((u - (1 - atoms)) / np.where(atoms > 0, atoms, 1.0), 0, 1)
        return np.where(atoms > 0, share, u >= 1) @ self.weights


class ExtrapolationMethod(ABC):
    """A model of the win probability U, from which accuracy at any k follows."""

    name: ClassVar[str]  # in the registry
    needs_scores: ClassVar[bool] = False  # win distributions alone are not enough
    continuous_scores: ClassVar[bool] = False  # it errs where scores tie
    uses_scores: ClassVar[bool] = False  # refits look at them where there are some
    reliable_factor: ClassVar[float] = np.inf  # how many times K data identify it
    monotone_to: float = np.inf  # set size up to which it never increases by itself
    has_cdf: ClassVar[bool] = True  # it models the distribution of U
    mixture_: Mixture  # that was fitted, unless a method predicts in another way
    #: how an iterative method ended: "converged", the same in words, "message", and, if
    #: convex, "duality_gap"
    certificate_: dict[str, Any] | None = None

    @abstractmethod
    def fit(self, sample: WinSample) -> ExtrapolationMethod:
        """Fit to a sample and return the fitted method, with `certificate_`."""

    def refits(self, parts: LeftOut) -> Iterator[ExtrapolationMethod]:
        """Yield a fit to each part of the sample; methods may share work."""
        for sample in parts.samples() if self.uses_scores else parts.win_samples:
            yield deepcopy(self).fit(sample)

    def accuracy(self, set_sizes: ArrayLike) -> np.ndarray:
        """Predict average accuracy at set sizes (n_sizes,), which need not be whole."""
        return self.mixture_.accuracy(set_sizes)

    def projected_accuracy(self, set_sizes: np.ndarray) -> np.ndarray:
        """Predict in [0, 1] and never increasing, at set sizes (n_sizes,)."""
        accuracy = falling(self.accuracy, set_sizes, self.monotone_to)
        return np.clip(accuracy, 0.0, 1.0)

    def cdf(self, u: ArrayLike) -> np.ndarray:
        """Return the fitted Pr(U <= u) at u (...)."""
        if not self.has_cdf:
            raise ValueError(
                f"method={self.name!r} has no distribution of U; use "
                "method='gaussian_mixture'"
            )
        return self.mixture_.cdf(u)


Fit = tuple[np.ndarray, np.ndarray | None]


class WinMethod(ExtrapolationMethod):
    """A method of a few parameters, fitted to many win distributions at once."""

    parameters_: np.ndarray  # (n_regions, n_parameters), one region if wins are of one
    wins_: np.ndarray  # (n_classes,) of the sample, or (n_regions, n_classes)
    warm_start: np.ndarray | None = None  # (n_parameters,), for iterations

    @abstractmethod
    def fit_many(self, wins: np.ndarray, n_test: np.ndarray) -> Fit:
        """Return parameters (n, n_parameters) of wins, and which converged, if any."""

    @abstractmethod
    def curves(self, parameters: np.ndarray, set_sizes: ArrayLike) -> np.ndarray:
        """Predict average accuracy of each row of parameters, (n, n_sizes)."""

    def fit(self, sample: WinSample) -> Self:
        wins, n_test = np.atleast_2d(sample.wins), np.atleast_1d(sample.n_test)
        self.parameters_, converged = self.fit_many(wins, n_test)
        self.wins_ = sample.wins
        if converged is not None:
            ended = "reached" if converged.all() else "ran out of steps before"
            message = f"Newton's method {ended} a minimum"
            self.certificate_ = {"converged": bool(converged.all()), "message": message}
        return self

    def refits(self, parts: LeftOut) -> Iterator[Self]:
        """Fit parts of one size together, from where the whole sample's fit ended."""
        parameters = np.empty((len(parts), self.parameters_.shape[1]))
        again = copy(self)
        again.warm_start = self.parameters_[0]
        for places, wins, n_test in parts.same_size():
            parameters[places] = again.fit_many(wins, n_test)[0]
        for row, part in zip(parameters, parts.win_samples, strict=True):
            refit = copy(self)
            refit.parameters_, refit.wins_ = row[None], part.wins
            yield refit

    def accuracy(self, set_sizes: ArrayLike) -> np.ndarray:
        """Predict, (n_sizes,), or (n_regions, n_sizes) after a fit to wins of many."""
        curves = self.curves(self.parameters_, set_sizes)
        return curves if self.wins_.ndim > 1 else curves[0]


def falling(
    curve: Callable[[np.ndarray], np.ndarray], set_sizes: np.ndarray, first: float
) -> np.ndarray:
    """Return a curve (..., n_sizes), from `first` on its running minimum."""
    largest = set_sizes.max()
    if largest <= first:
        return curve(set_sizes)
    # with fixed anchors an answer hardly depends on what else was asked
    anchors = log_anchors(largest)
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
