"""What became of every single test point, for tests of paired outcomes."""

import numpy as np

from neuroextrap.margins._wins import beaten_and_tied
from neuroextrap.stats._accuracy import accuracy_weights


def correct_outcomes(
    beaten: np.ndarray, tied: np.ndarray, n_classes: int
) -> np.ndarray:
    """Return how correct each test point is: 1, or 1 / m where m classes are best.

    Counts of distractors beaten and tied have shape (n_test, M), as the result, which
    is float32.

    >>> correct_outcomes(np.array([[2], [1], [0]]), np.array([[0], [1], [0]]), 3).T
    array([[1. , 0.5, 0. ]], dtype=float32)
    """
    best = beaten + tied == n_classes - 1
    return np.asarray(best / (tied + np.float32(1)), dtype=np.float32)


def win_chances(margins: np.ndarray, codes: np.ndarray, set_size: int) -> np.ndarray:
    """Return the chance (n_test,) of every test point to win among random distractors.

    ``margins`` (n_test, K) are scores, ``codes`` (n_test,) the true classes. The
    ``set_size`` - 1 distractors are drawn at random; K is plain accuracy. A tie for the
    first place is broken at random.

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
