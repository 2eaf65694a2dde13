"""From margins to wins, and the statistic that permutations count."""

from typing import Any

import numpy as np
from scipy.stats import rankdata

from neuroextrap.stats import average_accuracy, implied_information
from neuroextrap.stats._accuracy import accuracy_weights
from neuroextrap.stats._null_counts import round_ties
from neuroextrap.stats._validation import brief, is_integer


class AccuracyStatistic:
    """Average accuracy among ``set_size`` of K classes, from wins of shape (M, K)."""

    def __init__(self, n_classes: int, set_size: int) -> None:
        self.n_classes = n_classes
        self.set_size = set_size
        self._weights = average_accuracy(np.eye(n_classes), [set_size])[:, 0]
        sizes = {"accuracy": n_classes, "pairwise_accuracy": 2}
        #: names of the maps that show the statistic
        self.maps = [name for name, size in sizes.items() if size == set_size]

    def __call__(self, wins: np.ndarray) -> np.ndarray:
        """Return the statistic of each row of wins, shape (M,)."""
        return round_ties(np.add.reduce(wins * self._weights, axis=1))

    def __repr__(self) -> str:
        """Name the statistic; part of a checkpoint's identity."""
        return f"AccuracyStatistic({self.n_classes}, {self.set_size})"


class InformationStatistic:
    """Implied information in bits of curves at ``set_sizes``, from wins (M, K)."""

    maps = ("implied_information",)

    def __init__(self, n_classes: int, set_sizes: Any) -> None:
        self.n_classes = n_classes
        self.set_sizes = [int(k) for k in set_sizes]
        self._weights = average_accuracy(np.eye(n_classes), self.set_sizes)

    def __call__(self, wins: np.ndarray) -> np.ndarray:
        """Return the statistic of each row of wins, shape (M,)."""
        curves = round_ties(np.einsum("mv,vk->mk", wins, self._weights))
        return round_ties(implied_information(curves, self.set_sizes))

    def __repr__(self) -> str:
        """Name the statistic; part of a checkpoint's identity."""
        return f"InformationStatistic({self.n_classes}, {self.set_sizes})"


class CorrelationStatistic:
    """Correlation of decoded with true targets, which comes with margins."""

    maps = ("correlation",)

    def of_batch(self, correlation: Any) -> np.ndarray:
        """Return the statistic of every region and labeling of a batch, (M,)."""
        return round_ties(np.ravel(correlation))

    def __repr__(self) -> str:
        """Name the statistic; part of a checkpoint's identity."""
        return "CorrelationStatistic()"


def resolve_statistic(
    statistic: Any, n_classes: int, set_sizes: Any, *, correlates: bool = False
) -> Any:
    """Return the statistic, wins (M, K) -> values (M,), of a name or a set size."""
    if isinstance(statistic, str) and statistic == "implied_information":
        return InformationStatistic(n_classes, set_sizes)
    if correlates and isinstance(statistic, str) and statistic == "correlation":
        return CorrelationStatistic()
    words = "'accuracy', 'pairwise_accuracy', 'implied_information'"
    words = f"'correlation', {words}" if correlates else words
    return AccuracyStatistic(n_classes, accuracy_set_size(statistic, n_classes, words))


def accuracy_set_size(
    statistic: Any, n_classes: int, words: str = "'accuracy', 'pairwise_accuracy'"
) -> int:
    """Return the set size k that "accuracy", "pairwise_accuracy" or k means."""
    sizes = {"accuracy": n_classes, "pairwise_accuracy": 2}
    size: Any = sizes.get(statistic) if isinstance(statistic, str) else statistic
    if is_integer(size) and 2 <= size <= n_classes:
        return int(size)
    raise ValueError(
        f"statistic={brief(statistic)} is not known; use {words} or a set size from 2 "
        f"to {n_classes}"
    )


NAN_MARGINS = (
    "margins contain NaN; drop NaN and constant features, or raise the shrinkage"
)


def beaten_and_tied(
    margins: np.ndarray, y: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Count distractors beaten and tied by the true class, each (n_test, M).

    ``margins`` (n_test, K, M) may lie in memory as (M, K, n_test); ``y`` (n_test, L)
    are the true classes, over again for every L of the M columns. Raises where a margin
    is NaN.

    >>> margins = np.array([[[0.9], [0.2], [0.2]], [[0.1], [0.1], [0.5]]])
    >>> beaten, tied = beaten_and_tied(margins, np.array([[0], [1]]))
    >>> beaten.ravel().tolist(), tied.ravel().tolist()
    ([2, 0], [0, 1])
    """
    from neuroextrap.margins.compiled._counting import count_beaten

    count = count_type(margins.shape[1])
    by_labeling = margins.transpose(2, 1, 0)
    turned = by_labeling.flags.c_contiguous  # points and columns change places
    if turned:
        margins, y = by_labeling, y.T
    else:
        y = np.tile(y, margins.shape[2] // y.shape[1])
    # of one type and layout, so that the loop is compiled once
    margins, y = np.ascontiguousarray(margins), np.ascontiguousarray(y, np.int32)
    beaten, tied = np.empty((2, len(margins), margins.shape[2]), dtype=count)
    whole = np.zeros((1, margins.shape[1]), margins.dtype)
    if count_beaten(margins, whole, y, 0, 0.0, beaten, tied):
        raise ValueError(NAN_MARGINS)
    return (beaten.T, tied.T) if turned else (beaten, tied)


def count_type(n_classes: int) -> type[np.signedinteger]:
    """Return the smallest type that counts distractors."""
    return np.int8 if n_classes < 128 else np.int32


def rank_tables(margins: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Beaten and tied counts (n_test, K) had each class in turn been the true one."""
    if np.isnan(margins).any():
        raise ValueError(NAN_MARGINS)
    lowest, highest = (
        rankdata(margins, method, axis=1).astype(int) for method in ("min", "max")
    )
    count = count_type(margins.shape[1])
    return (lowest - 1).astype(count), (highest - lowest).astype(count)


def win_histogram(
    beaten: np.ndarray, tied: np.ndarray, weights: Any, n_classes: int
) -> np.ndarray:
    """Win distribution (M, K) of every labeling from counts (n_test, M).

    ``weights`` of test points are (n_test, M) or (n_test, 1), or a float when all weigh
    the same. A point with T ties spreads its weight evenly over T + 1 numbers of wins.

    >>> beaten, tied = np.array([[[2], [0]], [[0], [1]]], dtype=np.int32)
    >>> win_histogram(beaten, tied, 0.5, 3)
    array([[0.25, 0.25, 0.5 ]])
    """
    from neuroextrap.margins.compiled._counting import add_wins

    counting = np.ndim(weights) == 0
    wins = np.zeros((beaten.shape[1], n_classes))
    each = np.atleast_2d(1.0 if counting else np.asarray(weights, dtype=float))
    # of one layout, so that the loop is compiled once
    beaten, tied, each = (np.ascontiguousarray(a.T) for a in (beaten, tied, each))
    add_wins(beaten, tied, each, wins)
    return wins * weights if counting else wins


def correct_outcomes(
    beaten: np.ndarray, tied: np.ndarray, n_classes: int
) -> np.ndarray:
    """Return how correct each test point is: 1, or 1 / m where m classes are best.

    Counts of distractors beaten and tied have shape (n_test, M), as the result,
    float32.

    >>> correct_outcomes(np.array([[2], [1], [0]]), np.array([[0], [1], [0]]), 3).T
    array([[1. , 0.5, 0. ]], dtype=float32)
    """
    best = beaten + tied == n_classes - 1
    return np.asarray(best / (tied + np.float32(1)), dtype=np.float32)


def win_chances(margins: np.ndarray, codes: np.ndarray, set_size: int) -> np.ndarray:
    """Return the chance (n_test,) to win among ``set_size`` - 1 random distractors.

    ``margins`` (n_test, K) are scores, ``codes`` (n_test,) the true classes. A tie for
    the first place is broken at random.

    >>> margins = np.array([[3.0, 1.0, 2.0], [0.0, 1.0, 1.0]])
    >>> win_chances(margins, np.array([0, 1]), 3)
    array([1. , 0.5])
    >>> win_chances(margins, np.array([0, 1]), 2)
    array([1. , 0.75])
    """
    weights = accuracy_weights(margins.shape[1], [set_size])[:, 0]
    credit = np.concatenate([[0.0], np.cumsum(weights)])
    beaten, tied = beaten_and_tied(margins[:, :, None], codes[:, None])
    low = beaten[:, 0].astype(int)
    high = low + tied[:, 0].astype(int)
    return (credit[high + 1] - credit[low]) / (high - low + 1)
