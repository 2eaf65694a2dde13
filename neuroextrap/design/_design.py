"""A cross-validation design: which samples train, which are tested, fold by fold."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple, Protocol

import numpy as np


class TestedRows(Protocol):
    """Which rows are tested among how many classes; a `Design` adds the folds."""

    @property
    def n_samples(self) -> int:
        """Number of rows of a region's data."""

    @property
    def n_classes(self) -> int:
        """Number of classes K."""

    @property
    def test(self) -> np.ndarray:
        """Row of every test point; shape (n_test,)."""

    @property
    def arrays(self) -> tuple[np.ndarray, ...]:
        """Arrays that identify a design; part of a checkpoint's identity."""


class Chain(NamedTuple):
    """Consecutive folds whose training sets grow by what was tested.

    ``held`` is held out by the first fold, what is tested last first. Counted from the
    last, fold t holds out those before ``edges[t + 1]`` and tests from ``edges[t]`` on.
    """

    first_fold: int
    held: np.ndarray
    edges: np.ndarray

    @property
    def n_folds(self) -> int:
        """Number of folds."""
        return len(self.edges) - 1


class Keeping:
    """What keeps things that were computed from it, by name."""

    @cached_property
    def _kept(self) -> dict[Any, Any]:
        return {}

    def keep(self, name: Any, make: Callable[[], Any]) -> Any:
        """Return what was computed under this name, or compute it now."""
        if name not in self._kept:
            self._kept[name] = make()
        return self._kept[name]


@dataclass(frozen=True)
class Design(Keeping):
    """Folds (train, test) of a cross-validation over labeled samples.

    What is chosen without labels is chosen from ``unlabeled``; None means all samples.
    """

    folds: tuple
    n_samples: int
    n_classes: int
    unlabeled: np.ndarray | None = None

    def some_folds(self, which: slice) -> "Design":
        """Return the design of consecutive folds; itself if these are all folds."""
        folds = self.folds[which]
        return self if len(folds) == len(self.folds) else replace(self, folds=folds)

    @cached_property
    def chains(self) -> tuple[Chain, ...]:
        """Chains that make up the design; none where training sets do not grow."""
        starts = [0]
        for fold, ((train, test), (longer, _)) in enumerate(pairwise(self.folds)):
            grown = np.append(train, test)
            if len(grown) != len(longer) or not np.array_equal(
                np.sort(grown), np.sort(longer)
            ):
                starts.append(fold + 1)
        if len(starts) == len(self.folds):
            return ()
        chains = []
        for first, stop in pairwise([*starts, len(self.folds)]):
            tested = [test for _, test in self.folds[first:stop]][::-1]
            others = np.setdiff1d(self.held_out[stop - 1], tested[0])
            edges = np.cumsum([len(others), *(len(test) for test in tested)])
            chains.append(Chain(first, np.concatenate([others, *tested]), edges))
        return tuple(chains)

    @cached_property
    def test(self) -> np.ndarray:
        """Sample index of every test point, fold after fold; shape (n_test,)."""
        return np.concatenate([test for _, test in self.folds])

    @property
    def arrays(self) -> tuple[np.ndarray, ...]:
        """Training and test samples of every fold, one array after the other."""
        more = () if self.unlabeled is None else (self.unlabeled,)
        return (*(index for fold in self.folds for index in fold), *more)

    @cached_property
    def leaves_nothing_out(self) -> bool:
        """Whether every sample trains, or is tested, in every fold."""
        sizes = [len(train) + len(test) for train, test in self.folds]
        return set(sizes) == {self.n_samples}

    @property
    def tests_what_trains(self) -> bool:
        """Whether samples are tested that train in other folds."""
        trained = np.concatenate([train for train, _ in self.folds])
        return bool(np.isin(self.test, trained).any())

    def splits(self, units: np.ndarray) -> bool:
        """Whether a fold trains and tests on samples of one unit (n_samples,)."""
        parts = [(units[train], units[test]) for train, test in self.folds]
        return any(np.isin(tested, trained).any() for trained, tested in parts)

    @cached_property
    def fold_of_test(self) -> np.ndarray:
        """Fold index of every test point; shape (n_test,)."""
        sizes = [len(test) for _, test in self.folds]
        return np.repeat(np.arange(len(sizes)), sizes)

    @cached_property
    def fold_slices(self) -> tuple[slice, ...]:
        """Where each fold's test points lie among all test points."""
        edges = np.cumsum([0, *(len(test) for _, test in self.folds)])
        return tuple(slice(a, b) for a, b in pairwise(edges))

    @cached_property
    def held_out(self) -> tuple[np.ndarray, ...]:
        """Per fold, the samples that do not train (tested or not), sorted."""
        every = np.arange(self.n_samples)
        return tuple(np.delete(every, train) for train, _ in self.folds)

    @cached_property
    def mean_held_out(self) -> float:
        """Number of samples that a fold holds out, on average."""
        return float(np.mean([len(held) for held in self.held_out]))

    @cached_property
    def order(self) -> np.ndarray:
        """Order of the samples; folds are contiguous if they partition the samples."""
        held = np.concatenate(self.held_out)
        samples = np.arange(self.n_samples)
        return held if np.array_equal(np.sort(held), samples) else samples

    @cached_property
    def tests_each_once(self) -> bool:
        """Whether every sample is tested once, by the fold that holds it out."""
        held = np.concatenate(self.held_out)
        return np.array_equal(self.order, held) and np.array_equal(self.test, held)

    @cached_property
    def fold_views(self) -> tuple[tuple[Any, Any], ...]:
        """Per fold, (held-out samples, test points among them), slices if possible."""
        return tuple(
            (as_slice(held), as_slice(np.searchsorted(held, test)))
            for held, (_, test) in zip(self.held_out, self.folds, strict=True)
        )

    @cached_property
    def flat_folds(self) -> tuple[np.ndarray, ...]:
        """Held-out samples, their edges, test points among them, and their edges."""
        test_rows = [
            np.searchsorted(held, test)
            for held, (_, test) in zip(self.held_out, self.folds, strict=True)
        ]
        arrays: list[np.ndarray] = []
        for parts in (self.held_out, test_rows):
            arrays += [np.concatenate(parts), np.cumsum([0, *map(len, parts)])]
        return tuple(arrays)


def as_slice(index: np.ndarray) -> slice | np.ndarray:
    """Return consecutive indices as a slice, which takes a view instead of a copy."""
    if len(index) and (np.diff(index) == 1).all():
        return slice(int(index[0]), int(index[-1]) + 1)
    return index


class Labelings(Keeping):
    """A batch of B labelings, class codes (B, n_samples), of the same samples."""

    def __init__(self, codes: Any, n_classes: int) -> None:
        # of one type and layout, so that loops over them are compiled once
        self.codes = np.ascontiguousarray(codes, dtype=np.int32)
        self.n_classes = n_classes
        #: number of labelings B, or that of the batch from which these were selected
        self.n_together = len(self.codes)

    @property
    def n_labelings(self) -> int:
        """Number of labelings B."""
        return len(self.codes)

    def some(self, columns: np.ndarray) -> "Labelings":
        """Return selected labelings, which are computed as in the whole batch."""
        some = Labelings(self.codes[columns], self.n_classes)
        some.n_together = self.n_together
        return some

    def sorted_by_class(self, order: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return samples by class (B, n_samples), and edges of classes (B, K + 1)."""
        # few bytes are sorted fast
        codes = self.codes[:, order].astype(np.min_scalar_type(self.n_classes))
        members = np.argsort(codes, axis=1, kind="stable").astype(np.uint32)
        counts = self._counts(slice(None))[0].T.astype(np.int32)
        edges = np.zeros((self.n_labelings, self.n_classes + 1), dtype=np.int32)
        np.cumsum(counts, axis=1, out=edges[:, 1:])
        return members, edges

    def training_counts(self, design: Design) -> np.ndarray:
        """Count training samples of each class and fold; float32 (n_folds, K, B)."""

        def make() -> np.ndarray:
            sizes = [len(held) for held in design.held_out]
            fold = np.repeat(np.arange(len(sizes)), sizes)
            held_out = self._counts(np.concatenate(design.held_out), fold, len(sizes))
            return self._counts(slice(None)) - held_out

        return self.keep("counts", make)

    def _counts(self, samples: Any, fold: Any = 0, n_folds: int = 1) -> np.ndarray:
        """Count samples of each class, fold by fold, float32 of shape (F, K, B)."""
        K, B = self.n_classes, self.n_labelings
        first = n_folds * np.arange(B)[:, None] + fold
        flat = self.codes[:, samples].astype(np.intp) + K * first
        counts = np.bincount(flat.reshape(-1), minlength=B * n_folds * K)
        counts = counts.reshape(B, n_folds, K).transpose(1, 2, 0)
        return counts.astype(np.float32, order="C")
