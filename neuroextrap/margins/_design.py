"""A cross-validation design: which samples train, which are tested, fold by fold."""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np


@dataclass(frozen=True)
class Design:
    """Folds of a cross-validation over labeled samples.

    Parameters
    ----------
    folds : tuple of (train, test)
        Integer index arrays into the samples, one pair a fold.
    n_samples : int
        Number of samples n.
    n_classes : int
        Number of classes K; labels are the codes 0..K-1.

    Examples
    --------
    >>> import numpy as np
    >>> from neuroextrap.margins._design import Design
    >>> folds = (
    ...     (np.array([0, 1]), np.array([2, 3])),
    ...     (np.array([2, 3]), np.array([0, 1])),
    ... )
    >>> Design(folds, n_samples=4, n_classes=2).test
    array([2, 3, 0, 1])
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
        return tuple(slice(a, b) for a, b in pairwise(edges))

    @cached_property
    def held_out(self):
        """Per fold, the samples that do not train (tested or not), sorted."""
        everything = np.arange(self.n_samples)
        return tuple(np.setdiff1d(everything, train) for train, _ in self.folds)

    @cached_property
    def order(self):
        """An order of the samples in which folds lie together, if folds part them."""
        held = np.concatenate(self.held_out)
        everything = np.arange(self.n_samples)
        return held if np.array_equal(np.sort(held), everything) else everything

    @cached_property
    def is_partition(self):
        """Whether equally many samples are held out by every fold, each sample once."""
        sizes = {len(held) for held in self.held_out}
        held = np.sort(np.concatenate(self.held_out))
        return len(sizes) == 1 and np.array_equal(held, np.arange(self.n_samples))

    @cached_property
    def tests_in_order(self):
        """Whether the test points are all the samples in ``order``."""
        return np.array_equal(self.test, self.order)

    @cached_property
    def fold_batches(self):
        """Folds that hold out equally many samples: (folds, held), held in ``order``.

        ``held`` has shape (number of folds, number of held-out samples).
        """
        place = np.empty(self.n_samples, dtype=int)
        place[self.order] = np.arange(self.n_samples)
        sizes = np.array([len(held) for held in self.held_out])
        batches = []
        for size in np.unique(sizes):
            folds = np.flatnonzero(sizes == size)
            batches.append((folds, np.stack([place[self.held_out[f]] for f in folds])))
        return tuple(batches)

    @cached_property
    def fold_views(self):
        """Per fold, (held-out samples, test points among them), slices if possible."""
        return tuple(
            (as_slice(held), as_slice(np.searchsorted(held, test)))
            for held, (_, test) in zip(self.held_out, self.folds, strict=True)
        )

    @cached_property
    def flat_folds(self):
        """Held-out samples, their edges, test points among them, and their edges.

        Four integer arrays: what ``fold_views`` says, for compiled loops.
        """
        places = [
            np.searchsorted(held, test)
            for held, (_, test) in zip(self.held_out, self.folds, strict=True)
        ]
        return tuple(
            array
            for parts in (self.held_out, places)
            for array in (
                np.concatenate(parts),
                np.cumsum([0, *(len(part) for part in parts)]),
            )
        )


def as_slice(index):
    """Return a slice instead of a run of consecutive indices, to view, not to copy.

    Parameters
    ----------
    index : ndarray of int

    Returns
    -------
    slice or ndarray of int
    """
    if len(index) and (np.diff(index) == 1).all():
        return slice(int(index[0]), int(index[-1]) + 1)
    return index


class Labelings:
    """A batch of labelings of the same samples, the batch axis last.

    Parameters
    ----------
    codes : ndarray of int, shape (n_labelings, n_samples)
        Class codes 0..K-1 of each labeling.
    n_classes : int
        Number of classes K.

    Attributes
    ----------
    codes : ndarray of int, shape (n_labelings, n_samples)

    Examples
    --------
    >>> import numpy as np
    >>> from neuroextrap.margins._design import Labelings
    >>> labelings = Labelings([[0, 1, 1], [1, 0, 1]], n_classes=2)
    >>> labelings.one_hot().shape
    (3, 2, 2)
    """

    def __init__(self, codes, n_classes):
        self.codes = np.asarray(codes)
        self.n_classes = n_classes
        self._cache = {}

    @property
    def n_labelings(self):
        """Number of labelings B."""
        return len(self.codes)

    def one_hot(self, dtype=np.float32):
        """Return indicators of the classes.

        Parameters
        ----------
        dtype : numpy dtype
            Of the indicators.

        Returns
        -------
        indicators : ndarray, shape (n_samples, K, B)
            1 where a sample has the class, else 0.
        """
        dtype = np.dtype(dtype)
        if dtype not in self._cache:
            classes = np.arange(self.n_classes)[None, :, None]
            self._cache[dtype] = (self.codes.T[:, None, :] == classes).astype(dtype)
        return self._cache[dtype]

    def ordered_one_hot(self, design):
        """Return float32 indicators with the samples in the design's order.

        Parameters
        ----------
        design : Design
            Folds of the cross-validation.

        Returns
        -------
        indicators : ndarray of float32, shape (n_samples, K, B)
            Rows as ``design.order`` has them.
        """
        if "ordered" not in self._cache:
            self._cache["ordered"] = self.one_hot(np.float32)[design.order]
        return self._cache["ordered"]

    def training_counts(self, design):
        """Return how many samples train each class in each fold.

        Parameters
        ----------
        design : Design
            Folds of the cross-validation.

        Returns
        -------
        counts : ndarray of float32, shape (n_folds, K, B)
            Training samples.
        """
        if "counts" not in self._cache:
            members = self.one_hot(np.float32)
            total = np.add.reduce(members, axis=0)
            self._cache["counts"] = np.stack(
                [
                    total - np.add.reduce(members[held], axis=0)
                    for held in design.held_out
                ]
            )
        return self._cache["counts"]
