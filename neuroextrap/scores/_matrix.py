"""A matrix of scores, and how its targets rank: a block of trials at a time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuroextrap.stats._accuracy import accuracy_weights
from neuroextrap.stats._jackknife import TieMeans
from neuroextrap.stats._validation import FloatArray
from neuroextrap.stats._wins import spread_ties

_BLOCK = 2**22  # scores compared at once


@dataclass(frozen=True, eq=False)
class ScoreMatrix:
    """Scores (n_trials, n_candidates), larger for what is more alike.

    `columns` (n_trials,) hold the target of every trial, `names` (n_candidates,) those
    of the candidates, which are their numbers as text unless `is_named`.
    """

    scores: NDArray[np.floating]
    columns: NDArray[np.intp]
    names: NDArray
    is_named: bool = False

    @property
    def n_candidates(self) -> int:
        """Number of candidates K."""
        return self.scores.shape[1]

    @property
    def repeats(self) -> NDArray[np.intp]:
        """Trials of every candidate (n_candidates,), 0 for mere distractors."""
        return np.bincount(self.columns, minlength=self.n_candidates)

    @cached_property
    def ranks(self) -> Ranks:
        """How the targets rank."""
        n, columns = len(self.columns), self.columns
        beaten, tied = np.empty(n, dtype=np.intp), np.empty(n, dtype=np.intp)
        attracted = np.zeros(self.n_candidates)
        height = max(1, _BLOCK // self.n_candidates)
        for start in range(0, n, height):
            rows = slice(start, min(start + height, n))
            block = self.scores[rows]
            own = np.take_along_axis(block, columns[rows, np.newaxis], axis=1)
            beaten[rows] = np.count_nonzero(block < own, axis=1)
            tied[rows] = np.count_nonzero(block == own, axis=1) - 1
            best = block == block.max(axis=1, keepdims=True)
            share = 1 / np.count_nonzero(best, axis=1)
            attracted += share @ best
            right = best[np.arange(len(block)), columns[rows]]
            np.subtract.at(attracted, columns[rows][right], share[right])
        return Ranks(columns, beaten, tied, attracted)

    def of_candidates(self, kept: NDArray[np.bool_]) -> ScoreMatrix:
        """Return the matrix of some candidates and their trials."""
        if kept.all():
            return self
        rows = np.flatnonzero(kept[self.columns])
        columns = (np.cumsum(kept) - 1)[self.columns[rows]]
        scores = self.scores[np.ix_(rows, np.flatnonzero(kept))]
        return ScoreMatrix(scores, columns, self.names[kept], self.is_named)

    def negative(self) -> ScoreMatrix:
        """Return the matrix of distances as one of similarities."""
        return replace(self, scores=-self.scores)

    def exchanged_accuracy(
        self, labelings: NDArray[np.intp], set_size: int
    ) -> FloatArray:
        """Return the accuracy among `set_size` candidates with other targets.

        `labelings` (n_labelings, n_trials) are columns of targets, as often each as
        those of the matrix. Every row of scores is sorted once for all labelings.
        """
        mean = TieMeans(accuracy_weights(self.n_candidates, [set_size]))
        repeats = self.repeats
        total = np.zeros(len(labelings))
        for row, scores in enumerate(self.scores):
            ordered, columns = np.sort(scores), labelings[:, row]
            own = scores[columns]
            below = np.searchsorted(ordered, own, side="left")
            tied = np.searchsorted(ordered, own, side="right") - below - 1
            total += mean(below, tied)[:, 0] / repeats[columns]
        return total / np.count_nonzero(repeats)


class Ranks(NamedTuple):
    """How every trial's target fared: distractors beaten and tied, both (n_trials,).

    `attracted` (n_candidates,) counts the trials of others whose first choice a
    candidate is; several first choices share a trial.
    """

    columns: NDArray[np.intp]
    beaten: NDArray[np.intp]
    tied: NDArray[np.intp]
    attracted: FloatArray

    @property
    def wins(self) -> FloatArray:
        """Win distribution (n_candidates,), one target, one vote."""
        counts = self.beaten[None], self.tied[None], self.columns[None]
        return spread_ties(*counts, len(self.attracted))[0]

    @property
    def middle(self) -> FloatArray:
        """Rank of every target (n_trials,), 1 for the first; ties share the middle."""
        return np.asarray(len(self.attracted) - self.beaten - self.tied / 2)

    def among(self, set_size: int) -> FloatArray:
        """Chance of every trial (n_trials,) to be right among random candidates."""
        weights = accuracy_weights(len(self.attracted), [set_size])
        return np.asarray(TieMeans(weights)(self.beaten, self.tied)[:, 0])

    def target_means(self, values: FloatArray) -> FloatArray:
        """Average over the trials of every candidate (n_candidates,), NaN without."""
        total = np.bincount(self.columns, values, minlength=len(self.attracted))
        repeats = np.bincount(self.columns, minlength=len(self.attracted))
        unknown = np.full(len(repeats), np.nan)
        return np.divide(total, repeats, unknown, where=repeats > 0)
