"""Scores as they come, checked and turned so that larger is more alike."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuroextrap.stats._validation import check_labels, check_numbers

METRICS = ("cosine", "correlation", "euclidean")
KINDS = ("auto", "similarity", "distance")
_SHOWN = 3


@dataclass(frozen=True, eq=False)
class ScoreMatrix:
    """Scores (n_trials, n_candidates), and the column of the target of every trial.

    `names` (n_candidates,) are None where candidates have column numbers only.
    """

    scores: NDArray[np.floating]
    columns: NDArray[np.intp]
    names: NDArray | None = None

    @property
    def n_candidates(self) -> int:
        """Number of candidates K."""
        return self.scores.shape[1]

    @property
    def repeats(self) -> NDArray[np.intp]:
        """Trials of every candidate (n_candidates,), 0 for mere distractors."""
        return np.bincount(self.columns, minlength=self.n_candidates)

    def of_candidates(self, kept: NDArray[np.bool_]) -> ScoreMatrix:
        """Return the matrix of some candidates and their trials."""
        rows = np.flatnonzero(kept[self.columns])
        columns = (np.cumsum(kept) - 1)[self.columns[rows]]
        return ScoreMatrix(self.scores[np.ix_(rows, np.flatnonzero(kept))], columns)

    def negative(self) -> ScoreMatrix:
        """Return the matrix of distances as one of similarities."""
        return replace(self, scores=-self.scores)


def read_scores(
    scores: Any, targets: ArrayLike | None, names: ArrayLike | None
) -> ScoreMatrix:
    """Check a matrix of scores, its targets, and the names of its candidates."""
    if names is None:
        names = _own_names(scores, "columns")
    rows = _own_names(scores, "index")
    array = check_numbers(scores, "scores")
    if array.ndim != 2 or len(array) < 1 or array.shape[1] < 2:
        raise ValueError(
            f"scores has shape {array.shape}; give a matrix with one row for each "
            "trial and one column for each of at least two candidates (accuracies "
            "that are averages already cannot be read)"
        )
    small = array.dtype in (np.float16, np.float32)
    kind: Any = np.float32 if small else np.float64
    array = np.asarray(array, dtype=kind)
    _check_finite(array, "scores")
    names = _check_names(names, array.shape[1])
    columns = _target_columns(targets, rows, names, array.shape)
    return ScoreMatrix(array, columns, names)


def score_vectors(
    decoded: Any, candidates: Any, targets: Any, names: Any, metric: str
) -> ScoreMatrix:
    """Score decoded vectors (n_trials, n) against those of candidates (K, n)."""
    if metric not in METRICS:
        raise ValueError(f"metric={metric!r} must be one of {', '.join(METRICS)}")
    if names is None:
        names = _own_names(candidates, "index")
    rows = _own_names(decoded, "index")
    found = _vectors(decoded, "decoded"), _vectors(candidates, "candidates")
    if found[0].shape[1] != found[1].shape[1] or len(found[1]) < 2:
        raise ValueError(
            f"decoded has shape {found[0].shape} and candidates {found[1].shape}; give "
            "vectors with the same features, of at least two candidates"
        )
    # equal candidates tie exactly: each distinct vector is scored once
    distinct, place = np.unique(found[1], axis=0, return_inverse=True)
    if metric == "euclidean":
        center = distinct.mean(axis=0)
        trials, distinct = found[0] - center, distinct - center
        scores = trials @ distinct.T - (distinct**2).sum(axis=1) / 2
    else:
        vectors = zip((found[0], distinct), ("decoded", "candidates"), strict=True)
        trials, distinct = (_directions(v, name, metric) for v, name in vectors)
        scores = trials @ distinct.T
    if len(distinct) < len(place) or (place != np.arange(len(place))).any():
        scores = scores[:, place.ravel()]
    names = _check_names(names, scores.shape[1])
    columns = _target_columns(targets, rows, names, scores.shape)
    return ScoreMatrix(scores, columns, names)


def _vectors(values: Any, name: str) -> NDArray[np.float64]:
    """Return vectors as a finite matrix of float64."""
    array = check_numbers(values, name).astype(np.float64, copy=False)
    if array.ndim != 2 or array.size == 0:
        raise ValueError(
            f"{name} has shape {array.shape}; give a matrix with one vector a row"
        )
    _check_finite(array, name)
    return array


def _directions(
    vectors: NDArray[np.float64], name: str, metric: str
) -> NDArray[np.float64]:
    """Return vectors of length one, of which correlation takes the mean out."""
    if metric == "correlation":
        vectors = vectors - vectors.mean(axis=1, keepdims=True)
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not length.all():
        raise ValueError(
            f"{name} has a vector without a direction in row {np.argmin(length)}, all "
            "its entries being 0 or equal; leave it out, or use metric='euclidean'"
        )
    return vectors / length


def _check_finite(array: NDArray[np.floating], name: str) -> None:
    """Raise ValueError where there is NaN or infinity, row by row to save memory."""
    wrong = [row for row in range(len(array)) if not np.isfinite(array[row]).all()]
    if wrong:
        column = int(np.argmin(np.isfinite(array[wrong[0]])))
        raise ValueError(
            f"{name} has {array[wrong[0], column]} in row {wrong[0]}, column {column} "
            f"({len(wrong)} such rows); leave out trials without scores, and give "
            "a number below all others for minus infinity (the logarithm of 0)"
        )


def _own_names(table: Any, axis: str) -> NDArray | None:
    """Return the labels of a data frame, or None if they only count."""
    index = getattr(table, axis) if hasattr(table, "columns") else None
    plain = index is None or type(index).__name__ == "RangeIndex"
    return None if plain else np.asarray(index)


def _check_names(names: Any, n_candidates: int) -> NDArray | None:
    """Return names of candidates as text, all different."""
    if names is None:
        return None
    text = check_labels(names, "names").astype(str)
    if len(text) != n_candidates:
        raise ValueError(
            f"names has {len(text)} entries for {n_candidates} candidates; give each "
            "column of the scores one"
        )
    found, counts = np.unique(text, return_counts=True)
    if len(found) < len(text):
        raise ValueError(
            f"names has {_listed(found[counts > 1])} more than once; give every "
            "candidate once, and leave out repeated columns"
        )
    return text


def _target_columns(
    targets: Any, rows: Any, names: NDArray | None, shape: tuple[int, ...]
) -> NDArray[np.intp]:
    """Return the column of the target of every trial."""
    n_trials, n_candidates = shape
    if targets is None:
        targets = rows
    if targets is None:
        if n_trials != n_candidates:
            raise ValueError(
                f"scores has {n_trials} trials for {n_candidates} candidates; give "
                "targets, the candidate of every trial (without them, trial i belongs "
                "to candidate i)"
            )
        return np.arange(n_trials)
    given = check_labels(targets, "targets")
    if len(given) != n_trials:
        turned = "; scores seem transposed, give scores.T"
        raise ValueError(
            f"targets has {len(given)} entries for {n_trials} trials; give one for "
            f"each row of the scores{turned if len(given) == n_candidates else ''}"
        )
    if names is not None:
        return _columns_of_names(given.astype(str), names)
    return _columns_of_numbers(given, n_candidates)


def _columns_of_names(given: NDArray, names: NDArray) -> NDArray[np.intp]:
    """Look up names of targets among those of the candidates."""
    order = np.argsort(names)
    place = order[np.searchsorted(names, given, sorter=order).clip(0, len(names) - 1)]
    unknown = np.unique(given[names[place] != given])
    if len(unknown):
        raise ValueError(
            f"targets has {_listed(unknown)}, not among the candidates "
            f"({_listed(names)}); give targets by the names of candidates"
        )
    return place


def _columns_of_numbers(given: NDArray, n_candidates: int) -> NDArray[np.intp]:
    """Check column numbers, which may be text."""
    if given.dtype.kind == "U" and np.char.isdecimal(given).all():
        given = given.astype(np.intp)
    if given.dtype.kind not in "iu" and not (
        given.dtype.kind == "f" and (given == np.rint(given)).all()
    ):
        raise ValueError(
            f"targets has {_listed(given)}, but the candidates have no names; give "
            "names, one for each column, or targets as column numbers from 0"
        )
    columns = given.astype(np.intp)
    low, high = int(columns.min()), int(columns.max())
    if low < 0 or high >= n_candidates:
        from_one = low >= 1 and high == n_candidates
        remedy = "they seem to count from 1: give targets - 1" if from_one else ""
        raise ValueError(
            f"targets are {low} to {high}, but the {n_candidates} columns have the "
            f"numbers 0 to {n_candidates - 1}; {remedy or 'give targets that exist'}"
        )
    return columns


def _listed(values: ArrayLike) -> str:
    """Write the first of some values."""
    several = [str(value) for value in np.asarray(values).ravel()]
    rest = ", ..." if len(several) > _SHOWN else ""
    return ", ".join(several[:_SHOWN]) + rest
