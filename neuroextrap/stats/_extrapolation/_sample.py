"""What a method is fitted to: a win distribution, and the scores if there are any."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from neuroextrap.stats._accuracy import accuracy_weights
from neuroextrap.stats._wins import win_distribution


def log_spaced_set_sizes(n_classes, n_sizes):
    """Return at most `n_sizes` distinct, log-spaced set sizes from 2 to `n_classes`.

    Parameters
    ----------
    n_classes : int
        Number of classes K, the largest set size returned.
    n_sizes : int
        Upper limit on how many sizes are returned.

    Returns
    -------
    ndarray of int, shape (<= n_sizes,)
        Increasing, with 2 and K in it.
    """
    sizes = np.geomspace(2, n_classes, min(n_sizes, n_classes - 1))
    return np.unique(np.r_[2, np.rint(sizes).astype(int), n_classes])


@dataclass(frozen=True)
class WinSample:
    """The data of one fit.

    Parameters
    ----------
    wins : ndarray of shape (n_classes,)
        Class-averaged distribution of the number of distractors beaten.
    n_test : int
        Number of test points behind `wins`.
    margins : ndarray of shape (n_test, n_classes) or None
        Scores, where the caller has them.
    y_true : ndarray of int, shape (n_test,) or None
        Column of each test point's true class.
    """

    wins: np.ndarray
    n_test: int
    margins: Any = None
    y_true: Any = None

    @classmethod
    def from_margins(cls, margins, y_true):
        """Count the wins of `margins` and keep the scores."""
        wins = win_distribution(margins, y_true)
        return cls(wins, len(y_true), np.asarray(margins), np.asarray(y_true))

    @property
    def n_classes(self):
        """Number of classes K."""
        return self.wins.shape[-1]

    def curve(self, set_sizes):
        """Average accuracy at `set_sizes`, each within 2..K."""
        return self.wins @ accuracy_weights(self.n_classes, set_sizes)

    def own_scores(self):
        """Score of each test point for its own class, shape (n_test,)."""
        return np.take_along_axis(self.margins, self.y_true[:, None], 1)[:, 0]

    def distractor_scores(self, rows=slice(None)):
        """Scores for the other classes, in column order, shape (n_rows, K - 1)."""
        margins, y_true = self.margins[rows], self.y_true[rows]
        others = np.ones(margins.shape, bool)
        np.put_along_axis(others, y_true[:, None], False, 1)
        return margins[others].reshape(len(margins), -1)

    def point_weights(self):
        """Weight of each test point: one class, one vote; they sum to one."""
        counts = np.bincount(self.y_true, minlength=self.n_classes)
        return 1 / (counts[self.y_true] * np.count_nonzero(counts))

    def subset(self, classes):
        """Return the sample of these classes alone, as targets and distractors."""
        columns = np.full(self.n_classes, -1)
        columns[classes] = np.arange(len(classes))
        rows = np.flatnonzero(columns[self.y_true] >= 0)
        return WinSample.from_margins(
            self.margins[np.ix_(rows, classes)], columns[self.y_true[rows]]
        )
