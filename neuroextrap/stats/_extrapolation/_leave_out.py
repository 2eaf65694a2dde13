"""A sample without each group of its classes, what can be counted once counted once."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from neuroextrap.stats._extrapolation._sample import WinSample
from neuroextrap.stats._wins import spread_ties

_MAX_COMPARISONS = 2**20  # at once: counts in float32 stay whole, memory small


class LeftOut:
    """The parts of a sample that lack one group of classes each.

    Classes leave as targets and as distractors. Groups are interleaved, class c being
    in group c modulo `n_groups`; a part without test points is left out of `groups`.
    Every score is compared with the true class's once, for all parts together.
    """

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
        counts = np.empty((2, sample.n_test, self.n_groups), np.int32)
        true_scores = sample.own_scores()[:, None]
        own_group = self.group_of_class[sample.y_true]
        width = max(1, _MAX_COMPARISONS // sample.n_classes)
        for start in range(0, sample.n_test, width):
            rows = slice(start, start + width)
            for count, compare in zip(counts, (np.less, np.equal), strict=True):
                hits = compare(sample.margins[rows], true_scores[rows])
                count[rows] = hits.astype(np.float32) @ members
        counts[1, np.arange(sample.n_test), own_group] -= 1  # not tied with itself
        return counts

    @cached_property
    def totals(self) -> np.ndarray:
        """Distractors beaten by and tied with each point among all, (2, n_test)."""
        return self.counts.sum(axis=2)

    def rows(self, group: int) -> np.ndarray:
        """Return the test points of the part without this group."""
        return np.flatnonzero(self.group_of_class[self.sample.y_true] != group)

    def beaten_and_tied(self, group: int) -> np.ndarray:
        """Return the counts of the part's points, shape (2, n_rows)."""
        rows = self.rows(group)
        return self.totals[:, rows] - self.counts[:, rows, group]

    def columns(self, group: int) -> np.ndarray:
        """Return the column, within the part, of each of its points' classes."""
        kept = np.cumsum(self.group_of_class != group) - 1
        return kept[self.sample.y_true[self.rows(group)]]

    @cached_property
    def win_samples(self) -> list[WinSample]:
        """Win distributions of the parts, without scores, in the order of `groups`."""
        return [self._wins(group) for group in self.groups]

    def same_size(self) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Yield the parts of each size together, for methods that fit many at once.

        Places among the parts (m,), wins (m, n_classes), numbers of test points (m,).
        """
        sizes = np.array([sample.n_classes for sample in self.win_samples])
        for size in np.unique(sizes):
            places = np.flatnonzero(sizes == size)
            same = [self.win_samples[i] for i in places]
            yield (
                places,
                np.stack([sample.wins for sample in same]),
                np.array([sample.n_test for sample in same]),
            )

    def _wins(self, group: int) -> WinSample:
        """Count the part's wins."""
        beaten, tied = self.beaten_and_tied(group)
        n_kept = int(np.count_nonzero(self.group_of_class != group))
        wins = spread_ties(beaten[None], tied[None], self.columns(group)[None], n_kept)
        return WinSample(wins[0], len(beaten))

    def samples(self, *, scores: bool = True) -> Iterator[WinSample]:
        """Yield the parts, with their scores or without."""
        for group, part in zip(self.groups, self.win_samples, strict=True):
            if not scores:
                yield part
            else:
                kept = np.flatnonzero(self.group_of_class != group)
                margins = self.sample.margins[np.ix_(self.rows(group), kept)]
                yield WinSample(part.wins, part.n_test, margins, self.columns(group))
