"""Scores as they come, or made of vectors, with targets and names: checked."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from neuroextrap.margins.classifiers._targets import METRICS
from neuroextrap.stats._accuracy import accuracy_weights, spread_ties, tie_means
from neuroextrap.stats._label_checks import check_labels
from neuroextrap.stats._validation import FloatArray, check_choice, check_numbers

_BLOCK = 2**22  # scores compared at once


@dataclass(frozen=True, eq=False)
class ScoreMatrix:
    """Scores (n_trials, n_candidates), larger for what is more alike."""

    scores: NDArray[np.floating]
    columns: NDArray[np.intp]  # target of every trial, (n_trials,)
    names: NDArray  # of the candidates; their numbers as text unless `is_named`
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
        """Return the accuracy of other columns of targets (n_labelings, n_trials)."""
        weights = accuracy_weights(self.n_candidates, [set_size])
        repeats = self.repeats
        total = np.zeros(len(labelings))
        for row, scores in enumerate(self.scores):
            ordered, columns = np.sort(scores), labelings[:, row]
            own = scores[columns]
            below = np.searchsorted(ordered, own, side="left")
            tied = np.searchsorted(ordered, own, side="right") - below - 1
            total += tie_means(weights, below, tied)[:, 0] / repeats[columns]
        return total / np.count_nonzero(repeats)


class Ranks(NamedTuple):
    """How every trial's target fared."""

    columns: NDArray[np.intp]
    beaten: NDArray[np.intp]  # distractors, (n_trials,)
    tied: NDArray[np.intp]
    attracted: FloatArray  # trials of others, shared by first choices (n_candidates,)

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
        return np.asarray(tie_means(weights, self.beaten, self.tied)[:, 0])

    def target_means(self, values: FloatArray) -> FloatArray:
        """Average over the trials of every candidate (n_candidates,), NaN without."""
        total = np.bincount(self.columns, values, minlength=len(self.attracted))
        repeats = np.bincount(self.columns, minlength=len(self.attracted))
        unknown = np.full(len(repeats), np.nan)
        return np.divide(total, repeats, unknown, where=repeats > 0)


_SHOWN = 3


def read_scores(
    scores: Any, targets: ArrayLike | None, names: ArrayLike | None
) -> ScoreMatrix:
    """Check a matrix of scores, its targets, and the names of its candidates."""
    array = check_numbers(scores, "scores")
    if array.ndim != 2 or len(array) < 1 or array.shape[1] < 2:
        raise ValueError(
            f"scores has shape {array.shape}; give a matrix with one row for each "
            "trial and one column for each of at least two candidates (accuracies "
            "that are averages already cannot be read)"
        )
    small = array.dtype in (np.float16, np.float32)
    kind: Any = np.float32 if small else np.float64
    values = np.asarray(array, dtype=kind)
    _check_finite(values, "scores")
    names = _own_names(scores, "columns") if names is None else names
    return _with_targets(values, targets, _own_names(scores, "index"), names)


def score_vectors(
    decoded: Any, candidates: Any, targets: Any, names: Any, metric: str
) -> ScoreMatrix:
    """Score decoded vectors (n_trials, n) against those of candidates (K, n)."""
    check_choice(metric, "metric", METRICS)
    first, second = (_own_names(each, "columns") for each in (decoded, candidates))
    if first is not None and second is not None and {*first} == {*second}:
        candidates = candidates if np.array_equal(first, second) else candidates[first]
    trials = _vectors(decoded, "decoded", metric)
    vectors = _vectors(candidates, "candidates", metric)
    if trials.shape[1] != vectors.shape[1] or len(vectors) < 2:
        raise ValueError(
            f"decoded has shape {trials.shape} and candidates {vectors.shape}; give "
            "vectors with the same features, of at least two candidates"
        )
    # equal candidates tie exactly: each distinct vector is scored once
    distinct, place = np.unique(vectors, axis=0, return_inverse=True)
    if metric == "euclidean":
        center = distinct.mean(axis=0)
        trials, distinct = trials - center, distinct - center
        scores = trials @ distinct.T - (distinct**2).sum(axis=1) / 2
    else:
        scores = trials @ distinct.T
    names = _own_names(candidates, "index") if names is None else names
    rows = _own_names(decoded, "index")
    return _with_targets(scores[:, place.ravel()], targets, rows, names)


def _vectors(values: Any, name: str, metric: str) -> NDArray[np.float64]:
    """Return vectors (n, n_features), of length one where only directions count."""
    array = check_numbers(values, name).astype(np.float64, copy=False)
    if array.ndim != 2 or array.size == 0:
        raise ValueError(
            f"{name} has shape {array.shape}; give a matrix with one vector a row"
        )
    _check_finite(array, name)
    if metric == "euclidean":
        return array
    if metric == "correlation":
        array = array - array.mean(axis=1, keepdims=True)
    length = np.linalg.norm(array, axis=1, keepdims=True)
    if not length.all():
        raise ValueError(
            f"{name} has a vector without a direction in row {np.argmin(length)}, all "
            "its entries being 0 or equal; leave it out, or use metric='euclidean'"
        )
    return array / length


def _check_finite(array: NDArray[np.floating], name: str) -> None:
    """Raise ValueError where there is NaN or infinity."""
    wrong = np.flatnonzero(~np.isfinite(array).all(axis=1))
    if len(wrong):
        column = int(np.argmin(np.isfinite(array[wrong[0]])))
        raise ValueError(
            f"{name} has {array[wrong[0], column]} in row {wrong[0]}, column {column} "
            f"({len(wrong)} such rows); leave out rows without numbers, and give, for "
            "minus infinity (the logarithm of 0), a number below all others"
        )


def _own_names(table: Any, axis: str) -> NDArray | None:
    """Return the labels of a data frame, or None if they only count."""
    index = getattr(table, axis, None)
    if not isinstance(index, pd.Index) or isinstance(index, pd.RangeIndex):
        return None
    return index.to_numpy()


def _with_targets(
    scores: NDArray[np.floating], targets: Any, rows: Any, names: Any
) -> ScoreMatrix:
    """Return the matrix with its candidates named, and the column of every target."""
    n_trials, n_candidates = scores.shape
    is_named = names is not None
    names = check_labels(names if is_named else np.arange(n_candidates), "names")
    candidates = pd.Index(names.astype(str))
    if len(candidates) != n_candidates:
        raise ValueError(
            f"names has {len(candidates)} entries for {n_candidates} candidates; give "
            "each column of the scores one"
        )
    if candidates.has_duplicates:
        twice = candidates[candidates.duplicated()].unique()
        raise ValueError(
            f"names has {_listed(twice)} more than once; give every candidate once, "
            "and leave out repeated columns"
        )
    targets = rows if targets is None else targets
    if targets is None and n_trials != n_candidates:
        raise ValueError(
            f"scores has {n_trials} trials for {n_candidates} candidates; give "
            "targets, the candidate of every trial (without them, trial i belongs "
            "to candidate i)"
        )
    given = check_labels(names if targets is None else targets, "targets")
    if len(given) != n_trials:
        turned = "; scores seem transposed, give scores.T"
        raise ValueError(
            f"targets has {len(given)} entries for {n_trials} trials; give one for "
            f"each row of the scores{turned if len(given) == n_candidates else ''}"
        )
    columns = _look_up(given, candidates, is_named)
    return ScoreMatrix(scores, columns, candidates.to_numpy(dtype=str), is_named)


def _look_up(given: NDArray, names: pd.Index, is_named: bool) -> NDArray[np.intp]:
    """Return the place of targets among the names of candidates."""
    if not is_named and given.dtype.kind == "f" and (given == np.rint(given)).all():
        given = given.astype(np.intp)
    columns = names.get_indexer(given.astype(str))
    unknown = np.unique(given[columns < 0])
    if len(unknown):
        remedy = "give targets by the names of candidates"
        if not is_named:
            remedy = "give names of the candidates, or targets by column numbers from 0"
            if _listed(unknown) == str(len(names)) and (columns != 0).all():
                remedy = "they seem to count from 1: give targets - 1"
        raise ValueError(
            f"targets has {_listed(unknown)}, not among the candidates "
            f"({_listed(names)}{'' if is_named else ', which have no names'}); {remedy}"
        )
    return np.asarray(columns)


def _listed(values: Any) -> str:
    """Write the first of some values."""
    rest = ", ..." if len(values) > _SHOWN else ""
    return ", ".join(map(str, values[:_SHOWN])) + rest
