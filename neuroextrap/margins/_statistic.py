"""The statistic that a permutation test compares: one number from the wins."""

from typing import Any

import numpy as np

from neuroextrap.stats import average_accuracy, implied_information
from neuroextrap.stats._null_counts import round_ties
from neuroextrap.stats._validation import brief


class AccuracyStatistic:
    """Average accuracy among ``set_size`` of K classes, from wins of shape (M, K)."""

    def __init__(self, n_classes: int, set_size: int) -> None:
        self.n_classes = n_classes
        self.set_size = set_size
        self._weights = average_accuracy(np.eye(n_classes), [set_size])[:, 0]

    @property
    def maps(self) -> list[str]:
        """Names of the maps that show this statistic."""
        sizes = {"accuracy": self.n_classes, "pairwise_accuracy": 2}
        return [name for name, size in sizes.items() if size == self.set_size]

    def __call__(self, wins: np.ndarray) -> np.ndarray:
        """Return the statistic of each row of wins, shape (M,)."""
        return round_ties(np.add.reduce(wins * self._weights, axis=1))

    def __repr__(self) -> str:
        """Name the statistic; part of a checkpoint's identity."""
        return f"AccuracyStatistic({self.n_classes}, {self.set_size})"


class InformationStatistic:
    """Implied information in bits, from wins of shape (M, K).

    The accuracy curve is matched at ``set_sizes``.
    """

    def __init__(self, n_classes: int, set_sizes: Any) -> None:
        self.n_classes = n_classes
        self.set_sizes = [int(k) for k in set_sizes]
        self._weights = average_accuracy(np.eye(n_classes), self.set_sizes)

    @property
    def maps(self) -> list[str]:
        """Names of the maps that show this statistic."""
        return ["implied_information"]

    def __call__(self, wins: np.ndarray) -> np.ndarray:
        """Return the statistic of each row of wins, shape (M,)."""
        curves = round_ties(np.einsum("mv,vk->mk", wins, self._weights))
        return round_ties(implied_information(curves, self.set_sizes))

    def __repr__(self) -> str:
        """Name the statistic; part of a checkpoint's identity."""
        return f"InformationStatistic({self.n_classes}, {self.set_sizes})"


class CorrelationStatistic:
    """Correlation of decoded with true targets, which comes with margins."""

    @property
    def maps(self) -> list[str]:
        """Names of the maps that show this statistic."""
        return ["correlation"]

    def of_batch(self, correlation: Any) -> np.ndarray:
        """Return the statistic of every region and labeling of a batch, (M,)."""
        return round_ties(np.ravel(correlation))

    def __repr__(self) -> str:
        """Name the statistic; part of a checkpoint's identity."""
        return "CorrelationStatistic()"


def resolve_statistic(
    statistic: Any, n_classes: int, set_sizes: Any, *, correlates: bool = False
) -> Any:
    """Return the statistic, wins (M, K) -> values (M,), of a name or a set size.

    "accuracy", "pairwise_accuracy", "implied_information" (at ``set_sizes``), or an
    integer k: the average accuracy among k classes. "correlation", which is no
    function of wins, only of what ``correlates``.
    """
    if isinstance(statistic, str) and statistic == "implied_information":
        return InformationStatistic(n_classes, set_sizes)
    if correlates and isinstance(statistic, str) and statistic == "correlation":
        return CorrelationStatistic()
    size = _set_size(statistic, n_classes)
    if size is not None:
        return AccuracyStatistic(n_classes, size)
    more = "'correlation', " if correlates else ""
    raise ValueError(
        f"statistic={brief(statistic)} is not known; use {more}'accuracy', "
        f"'pairwise_accuracy', 'implied_information' or a set size from 2 to "
        f"{n_classes}"
    )


def accuracy_set_size(statistic: Any, n_classes: int) -> int:
    """Return the set size k that "accuracy", "pairwise_accuracy" or k stands for."""
    size = _set_size(statistic, n_classes)
    if size is None:
        raise ValueError(
            f"statistic={brief(statistic)} is not known; use 'accuracy', "
            f"'pairwise_accuracy' or a set size from 2 to {n_classes}"
        )
    return size


def _set_size(statistic: Any, n_classes: int) -> int | None:
    """Set size of an accuracy, or None where it is none."""
    sizes = {"accuracy": n_classes, "pairwise_accuracy": 2}
    size = sizes.get(statistic) if isinstance(statistic, str) else statistic
    if isinstance(size, bool) or not isinstance(size, (int, np.integer)):
        return None
    return int(size) if 2 <= size <= n_classes else None
