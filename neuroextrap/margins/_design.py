"""A cross-validation design: which samples train, which are tested, fold by fold."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np


@dataclass(frozen=True)
class Design:
    """Folds of a cross-validation over labelled samples.

    Parameters
    ----------
    folds : tuple of (train, test)
        Integer index arrays into the samples, one pair a fold.
    n_samples : int
        Number of samples n.
    n_classes : int
        Number of classes K; labels are the codes 0..K-1.
    """

    folds: tuple
    n_samples: int
    n_classes: int

    @cached_property
    def test(self):
        """Sample index of every test point, fold after fold; shape (n_test,)."""
        return np.concatenate([test for _, test in self.folds])

    @cached_property
    def fold_of_test(self):
        """Fold index of every test point; shape (n_test,)."""
        sizes = [len(test) for _, test in self.folds]
        return np.repeat(np.arange(len(sizes)), sizes)

    @cached_property
    def fold_slices(self):
        """Where each fold's test points lie among all test points."""
        edges = np.cumsum([0, *(len(test) for _, test in self.folds)])
        return tuple(slice(a, b) for a, b in zip(edges[:-1], edges[1:], strict=True))

    @cached_property
    def held_out(self):
        """Per fold, the samples that do not train (tested or not), sorted."""
        everything = np.arange(self.n_samples)
        return tuple(np.setdiff1d(everything, train) for train, _ in self.folds)


class Labelings:
    """A batch of labellings of the same samples, the batch axis last.

    Parameters
    ----------
    codes : ndarray of int, shape (n_labelings, n_samples)
        Class codes 0..K-1 of each labelling.
    n_classes : int
        Number of classes K.

    Attributes
    ----------
    codes : ndarray of int, shape (n_labelings, n_samples)
    """

    def __init__(self, codes, n_classes):
        self.codes = np.asarray(codes)
        self.n_classes = n_classes
        self._one_hot = {}

    @property
    def n_labelings(self):
        """Number of labellings B."""
        return len(self.codes)

    def one_hot(self, dtype=np.float32):
        """Return indicators, shape (n_samples, K, B), 1 where a sample has the class."""
        dtype = np.dtype(dtype)
        if dtype not in self._one_hot:
            classes = np.arange(self.n_classes)[None, :, None]
            self._one_hot[dtype] = (self.codes.T[:, None, :] == classes).astype(dtype)
        return self._one_hot[dtype]
