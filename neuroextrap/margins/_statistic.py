"""The statistic that a permutation test compares: one number from the wins."""

import numpy as np

from neuroextrap.stats import average_accuracy, implied_information
from neuroextrap.stats._null_counts import round_ties


class AccuracyStatistic:
    """Average accuracy among k classes, from wins of shape (M, K).

    Parameters
    ----------
    n_classes : int
        Number of classes K of the wins.
    set_size : int
        k, from 2 to K.
    """

    def __init__(self, n_classes, set_size):
        self.n_classes = n_classes
        self.set_size = set_size
        self._weights = average_accuracy(np.eye(n_classes), [set_size])[:, 0]

    def __call__(self, wins):
        """Return the statistic of each row of wins, shape (M,)."""
        return round_ties(np.add.reduce(wins * self._weights, axis=1))

    def __repr__(self):
        """Name the statistic; part of a checkpoint's identity."""
        return f"AccuracyStatistic({self.n_classes}, {self.set_size})"


class InformationStatistic:
    """Implied information in bits, from wins of shape (M, K).

    Parameters
    ----------
    n_classes : int
        Number of classes K of the wins.
    set_sizes : sequence of int
        Set sizes at which the accuracy curve is matched.
    """

    def __init__(self, n_classes, set_sizes):
        self.n_classes = n_classes
        self.set_sizes = [int(k) for k in set_sizes]
        self._weights = average_accuracy(np.eye(n_classes), self.set_sizes)

    def __call__(self, wins):
        """Return the statistic of each row of wins, shape (M,)."""
        curves = round_ties(np.einsum("mv,vk->mk", wins, self._weights))
        return round_ties(implied_information(curves, self.set_sizes))

    def __repr__(self):
        """Name the statistic; part of a checkpoint's identity."""
        return f"InformationStatistic({self.n_classes}, {self.set_sizes})"


def resolve_statistic(statistic, n_classes, set_sizes):
    """Return the callable that a name or a set size stands for.

    Parameters
    ----------
    statistic : {"accuracy", "pairwise_accuracy", "implied_information"} or int
        An integer k is the average accuracy among k classes.
    n_classes : int
        Number of classes K.
    set_sizes : sequence of int
        Set sizes of the information statistic.

    Returns
    -------
    callable
        Win distributions (M, K) -> values (M,).

    Raises
    ------
    ValueError
        When the name is unknown, or the set size is not in 2..K.

    Examples
    --------
    >>> import numpy as np
    >>> from neuroextrap.margins._statistic import resolve_statistic
    >>> statistic = resolve_statistic("pairwise_accuracy", 3, [2, 3])
    >>> statistic(np.array([[0.1, 0.2, 0.7]]))
    array([0.8])
    """
    if statistic == "implied_information":
        return InformationStatistic(n_classes, set_sizes)
    size = _set_size(statistic, n_classes)
    if size is not None:
        return AccuracyStatistic(n_classes, size)
    raise ValueError(
        f"statistic={statistic!r} is not known; use 'accuracy', 'pairwise_accuracy', "
        f"'implied_information' or a set size from 2 to {n_classes}"
    )


def accuracy_set_size(statistic, n_classes):
    """Return the set size that an accuracy stands for.

    Parameters
    ----------
    statistic : {"accuracy", "pairwise_accuracy"} or int
        An integer k is the average accuracy among k classes.
    n_classes : int
        Number of classes K.

    Returns
    -------
    set_size : int
        From 2 to K.

    Raises
    ------
    ValueError
        When it is not an accuracy, or the set size is not in 2..K.

    Examples
    --------
    >>> from neuroextrap.margins._statistic import accuracy_set_size
    >>> accuracy_set_size("pairwise_accuracy", 8)
    2
    """
    size = _set_size(statistic, n_classes)
    if size is None:
        raise ValueError(
            f"statistic={statistic!r} is not known; use 'accuracy', "
            f"'pairwise_accuracy' or a set size from 2 to {n_classes}"
        )
    return size


def _set_size(statistic, n_classes):
    """Set size of an accuracy, or None where it is none."""
    sizes = {"accuracy": n_classes, "pairwise_accuracy": 2}
    size = sizes.get(statistic, statistic)
    if isinstance(size, (int, np.integer)) and 2 <= size <= n_classes:
        return int(size)
    return None
