"""What a method is fitted to: a win distribution, and the scores if there are any."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from neuroextrap.stats._accuracy import (
    accuracy_weights,
    average_accuracy,
    count_wins,
    spread_ties,
)
from neuroextrap.stats._validation import batches, random_generator

_MOST_TIES = 0.05
_BATCH_NUMBERS = 4_000_000
_MAX_COMPARISONS = 2**20  # at once: counts in float32 stay whole, memory small


def log_spaced_set_sizes(n_classes: int, n_sizes: int) -> np.ndarray:
    """Return at most `n_sizes` distinct, log-spaced sizes, from 2 up to K with both."""
    sizes = np.geomspace(2, n_classes, min(n_sizes, n_classes - 1))
    return np.unique(np.r_[2, np.rint(sizes).astype(int), n_classes])


def measured_curve(wins: np.ndarray, set_sizes: np.ndarray) -> np.ndarray:
    """Return accuracy at sizes of 2..K, linear between, (..., n_sizes)."""
    below = np.floor(set_sizes)
    ends = np.stack([below, np.ceil(set_sizes)]).astype(int)
    curves = average_accuracy(wins, ends.ravel())
    low, high = np.split(curves, 2, axis=-1)
    return low + (set_sizes - below) * (high - low)


@dataclass(frozen=True)
class WinSample:
    """The data of one fit."""

    wins: np.ndarray  # (n_classes,) class-averaged distribution of distractors beaten
    n_test: int
    margins: Any = None  # (n_test, n_classes), or None where there are no scores
    y_true: Any = None  # (n_test,) column of each point's true class

    @classmethod
    def from_margins(cls, margins: ArrayLike, y_true: ArrayLike) -> WinSample:
        """Count the wins of `margins` and keep the scores."""
        wins = count_wins(margins, y_true)
        y_true = np.asarray(y_true)
        return cls(wins, len(y_true), np.asarray(margins), y_true)

    @property
    def n_classes(self) -> int:
        """Number of classes K."""
        return self.wins.shape[-1]

    def curve(self, set_sizes: ArrayLike) -> np.ndarray:
        """Return average accuracy at `set_sizes`, each within 2..K."""
        return self.wins @ accuracy_weights(self.n_classes, set_sizes)

    def own_scores(self) -> np.ndarray:
        """Return the score of each test point for its own class, shape (n_test,)."""
        return np.take_along_axis(self.margins, self.y_true[:, None], 1)[:, 0]

    def distractor_scores(self) -> Iterator[tuple[slice, np.ndarray, np.ndarray]]:
        """Yield rows, their own scores (n_rows, 1), the others (n_rows, K - 1)."""
        for rows in batches(self.n_test, _BATCH_NUMBERS // self.n_classes):
            margins, y_true = self.margins[rows], self.y_true[rows, None]
            others = np.ones(margins.shape, bool)
            np.put_along_axis(others, y_true, False, 1)
            own = np.take_along_axis(margins, y_true, 1)
            yield rows, own, margins[others].reshape(len(margins), -1)

    def point_weights(self) -> np.ndarray:
        """Return weights of the test points: one class, one vote; they sum to one."""
        counts = np.bincount(self.y_true)
        return 1 / (counts[self.y_true] * np.count_nonzero(counts))

    def has_continuous_scores(self) -> bool:
        """Check that there are scores, and few test points that tie with a class."""
        if self.margins is None:
            return False
        tied = (self.margins == self.own_scores()[:, None]).sum(axis=1) > 1
        return bool(tied.mean() <= _MOST_TIES)

    def half_curves(
        self,
        n_half: int,
        set_sizes: np.ndarray,
        *,
        n_draws: int,
        random_state: int | np.random.Generator | None,
    ) -> np.ndarray:
        """Return curves among random halves; without scores the whole's own."""
        if self.margins is None:
            return self.curve(set_sizes)[None]
        rng = random_generator(random_state)
        tested = np.unique(self.y_true)
        halves = [
            half_of_classes(rng, self.n_classes, tested, n_half) for _ in range(n_draws)
        ]
        return self.subset_wins(halves) @ accuracy_weights(n_half, set_sizes)

    def subset_wins(self, subsets: Sequence[np.ndarray]) -> np.ndarray:
        """Return win distributions of several subsets of one size at once."""
        members = np.zeros((self.n_classes, len(subsets)), np.float32)
        np.put_along_axis(members, np.transpose(subsets), 1.0, 0)
        beaten, tied = self.counts(members)
        wins = np.empty((len(subsets), len(subsets[0])))
        for s, member in enumerate(members.T > 0):
            kept = member[self.y_true]
            columns = (np.cumsum(member) - 1)[self.y_true[kept]]
            counts = beaten[None, kept, s], tied[None, kept, s] - 1
            wins[s] = spread_ties(*counts, columns[None], wins.shape[1])[0]
        return wins

    def counts(self, members: np.ndarray) -> np.ndarray:
        """Count the classes that points beat and tie with, (2, n_test, n_groups)."""
        counts = np.empty((2, self.n_test, members.shape[1]), np.int32)
        true_scores = self.own_scores()[:, None]
        for rows in batches(self.n_test, _MAX_COMPARISONS // self.n_classes):
            for count, compare in zip(counts, (np.less, np.equal), strict=True):
                hits = compare(self.margins[rows], true_scores[rows])
                count[rows] = hits.astype(np.float32) @ members
        return counts


def half_of_classes(
    rng: np.random.Generator, n_classes: int, tested: np.ndarray, n_half: int
) -> np.ndarray:
    """Draw classes without replacement, at least one of them with test points."""
    while True:
        classes = np.sort(rng.permutation(n_classes)[:n_half])
        if np.isin(classes, tested).any():
            return classes


class LeftOut:
    """The parts of a sample that lack one of interleaved groups of classes each."""

    def __init__(self, sample: WinSample, max_refits: int):
        tested = np.unique(sample.y_true)
        if len(tested) < 4:
            raise ValueError(
                "a jackknife over classes needs at least 4 classes with test points, "
                f"got {len(tested)}"
            )
        self.sample = sample
        self.n_groups = min(max_refits, sample.n_classes)
        self.group_of_class = np.arange(sample.n_classes) % self.n_groups
        tested_groups = np.unique(self.group_of_class[tested])
        # every group can leave unless it holds all the test points
        alone = tested_groups[0] if len(tested_groups) == 1 else -1
        self.groups = [g for g in range(self.n_groups) if g != alone]

    def __len__(self) -> int:
        """Return the number of parts."""
        return len(self.groups)

    @cached_property
    def counts(self) -> np.ndarray:
        """Distractors beaten by and tied with each point, (2, n_test, n_groups)."""
        sample = self.sample
        members = np.eye(self.n_groups, dtype=np.float32)[self.group_of_class]
        counts = sample.counts(members)
        own_group = self.group_of_class[sample.y_true]
        counts[1, np.arange(sample.n_test), own_group] -= 1  # not tied with itself
        return counts

    @cached_property
    def totals(self) -> np.ndarray:
        """Distractors beaten by and tied with each point among all, (2, n_test)."""
        return self.counts.sum(axis=2)

    def _part(self, group: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the part's classes and test points, and the column of each point's."""
        classes = self.group_of_class != group
        rows = np.flatnonzero(classes[self.sample.y_true])
        return classes, rows, (np.cumsum(classes) - 1)[self.sample.y_true[rows]]

    @cached_property
    def win_samples(self) -> list[WinSample]:
        """Win distributions of the parts, without scores, in the order of `groups`."""
        return [self._wins(group) for group in self.groups]

    def same_size(self) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Yield places, wins (m, n_classes), numbers of points by size of part."""
        sizes = np.array([sample.n_classes for sample in self.win_samples])
        for size in np.unique(sizes):
            places = np.flatnonzero(sizes == size)
            same = [self.win_samples[i] for i in places]
            n_test = np.array([sample.n_test for sample in same])
            yield places, np.stack([sample.wins for sample in same]), n_test

    def _wins(self, group: int) -> WinSample:
        """Count the part's wins."""
        classes, rows, columns = self._part(group)
        beaten, tied = self.totals[:, rows] - self.counts[:, rows, group]
        counts = beaten[None], tied[None], columns[None]
        wins = spread_ties(*counts, int(np.count_nonzero(classes)))
        return WinSample(wins[0], len(rows))

    def samples(self, *, scores: bool = True) -> Iterator[WinSample]:
        """Yield the parts, with their scores or without."""
        for group, part in zip(self.groups, self.win_samples, strict=True):
            if not scores:
                yield part
            else:
                classes, rows, columns = self._part(group)
                margins = self.sample.margins[np.ix_(rows, classes)]
                yield WinSample(part.wins, part.n_test, margins, columns)
