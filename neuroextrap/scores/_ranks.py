"""Ranks of targets, blocks of trials at a time: memory stays that of the scores."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuroextrap.scores._matrix import ScoreMatrix
from neuroextrap.stats._accuracy import accuracy_weights
from neuroextrap.stats._jackknife import TieMeans
from neuroextrap.stats._validation import FloatArray
from neuroextrap.stats._wins import spread_ties

_BLOCK = 2**22  # scores compared at once


class Ranks(NamedTuple):
    """How every trial's target fared: distractors beaten and tied, both (n_trials,).

    `attracted` (n_candidates,) counts the trials of others whose first choice a
    candidate is; several first choices share a trial.
    """

    columns: NDArray[np.intp]
    beaten: NDArray[np.intp]
    tied: NDArray[np.intp]
    attracted: FloatArray

    @classmethod
    def of(cls, matrix: ScoreMatrix) -> Ranks:
        """Rank the targets of a matrix."""
        n, columns = len(matrix.columns), matrix.columns
        beaten, tied = np.empty(n, dtype=np.intp), np.empty(n, dtype=np.intp)
        attracted = np.zeros(matrix.n_candidates)
        for rows in row_blocks(matrix.scores.shape):
            block = matrix.scores[rows]
            own = np.take_along_axis(block, columns[rows, np.newaxis], axis=1)
            beaten[rows] = np.count_nonzero(block < own, axis=1)
            tied[rows] = np.count_nonzero(block == own, axis=1) - 1
            best = block == block.max(axis=1, keepdims=True)
            share = 1 / np.count_nonzero(best, axis=1)
            attracted += share @ best
            right = best[np.arange(len(block)), columns[rows]]
            np.subtract.at(attracted, columns[rows][right], share[right])
        return cls(columns, beaten, tied, attracted)

    @property
    def n_candidates(self) -> int:
        """Number of candidates K."""
        return len(self.attracted)

    @property
    def wins(self) -> FloatArray:
        """Win distribution (n_candidates,), one target, one vote."""
        counts = self.beaten[None], self.tied[None], self.columns[None]
        return spread_ties(*counts, self.n_candidates)[0]

    @property
    def middle(self) -> FloatArray:
        """Rank of every target (n_trials,), 1 for the first; ties share the middle."""
        return np.asarray(self.n_candidates - self.beaten - self.tied / 2)

    def among(self, set_size: int) -> FloatArray:
        """Chance of every trial (n_trials,) to be right among random candidates."""
        weights = accuracy_weights(self.n_candidates, [set_size])
        return np.asarray(TieMeans(weights)(self.beaten, self.tied)[:, 0])

    def target_means(self, values: FloatArray) -> FloatArray:
        """Average over the trials of every candidate (n_candidates,), NaN without."""
        total = np.bincount(self.columns, values, minlength=self.n_candidates)
        repeats = np.bincount(self.columns, minlength=self.n_candidates)
        return np.divide(
            total, repeats, np.full(self.n_candidates, np.nan), where=repeats > 0
        )


def exchanged_accuracy(
    matrix: ScoreMatrix, labelings: NDArray[np.intp], set_size: int
) -> FloatArray:
    """Return the accuracy among `set_size` candidates with other targets.

    `labelings` (n_labelings, n_trials) are columns of targets, as often each as those
    of the matrix. Every row of scores is sorted once for all labelings.
    """
    mean = TieMeans(accuracy_weights(matrix.n_candidates, [set_size]))
    repeats = matrix.repeats
    total = np.zeros(len(labelings))
    for row, scores in enumerate(matrix.scores):
        ordered, columns = np.sort(scores), labelings[:, row]
        own = scores[columns]
        below = np.searchsorted(ordered, own, side="left")
        tied = np.searchsorted(ordered, own, side="right") - below - 1
        total += mean(below, tied)[:, 0] / repeats[columns]
    return total / np.count_nonzero(repeats)


def row_blocks(shape: tuple[int, ...]) -> Iterator[slice]:
    """Yield slices of rows that hold no more than some millions of scores."""
    height = max(1, _BLOCK // shape[1])
    for start in range(0, shape[0], height):
        yield slice(start, min(start + height, shape[0]))
