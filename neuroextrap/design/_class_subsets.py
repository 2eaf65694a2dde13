"""Random subsets of the classes, with folds of their own: curves that are measured."""

from typing import Any, NamedTuple

import numpy as np

from neuroextrap.design._design import Design
from neuroextrap.stats._validation import check_integer


class SubsetTests(NamedTuple):
    """Cross-validation of subsets of classes whose labels and folds are alike."""

    rows: np.ndarray  # samples of every subset, (n_subsets, n_rows)
    codes: np.ndarray  # class codes 0..k-1 of these rows, (n_rows,)
    design: Design  # folds of these rows

    @property
    def arrays(self) -> tuple[np.ndarray, ...]:
        """Arrays that identify the tests; part of a checkpoint's identity."""
        return self.rows, self.codes, *self.design.arrays


def class_subsets(
    codes: np.ndarray,
    design: Design,
    set_sizes: np.ndarray,
    n_partitions: int,
    rng: np.random.Generator,
) -> tuple[SubsetTests, ...]:
    """Draw subsets of classes of every set size, the same for all regions.

    In each of ``n_partitions`` random orders of the K classes, the first k are a
    subset, the next k another, and so on: K // k disjoint ones. ``codes`` (n_samples,)
    are class codes. ValueError where a class has no test sample.
    """
    n_classes = design.n_classes
    n_partitions = check_integer(n_partitions, "n_partitions", minimum=1)
    if len(np.unique(codes[design.test])) < n_classes:
        raise ValueError(
            "curves='measured' must have test samples of every class; choose another "
            "cv, or curves='trained_on_all'"
        )
    orders = [rng.permutation(n_classes) for _ in range(n_partitions)]
    found = []
    for k in map(int, set_sizes):
        starts = range(0, n_classes - k + 1, k)
        subsets = [np.sort(order[a : a + k]) for order in orders for a in starts]
        found += _tests(codes, design, subsets)
    return tuple(found)


def _tests(
    codes: np.ndarray, design: Design, subsets: list[np.ndarray]
) -> list[SubsetTests]:
    """Return the tests of subsets of one size; those that are alike together."""
    tested_in = np.full(design.n_samples, len(design.folds))
    tested_in[design.test] = design.fold_of_test
    alike: dict[Any, list[np.ndarray]] = {}
    for classes in subsets:
        rows = np.flatnonzero(np.isin(codes, classes))
        rows = rows[np.lexsort((codes[rows], tested_in[rows]))]
        own = np.searchsorted(classes, codes[rows])
        place = np.full(design.n_samples, -1)
        place[rows] = np.arange(len(rows))
        folds = [[np.sort(place[part]) for part in fold] for fold in design.folds]
        kept = [tuple(tuple(p[p >= 0]) for p in fold) for fold in folds]
        key = tuple(own), tuple(fold for fold in kept if fold[1])
        alike.setdefault(key, []).append(rows)
    return [
        SubsetTests(
            np.stack(rows),
            np.array(own),
            Design(
                tuple((np.array(train), np.array(test)) for train, test in folds),
                len(own),
                len(subsets[0]),
            ),
        )
        for (own, folds), rows in alike.items()
    ]
