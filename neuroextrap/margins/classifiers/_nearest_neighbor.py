"""Nearest neighbor as batched margins: distances never change, labels do."""

from typing import Any

import numpy as np

from neuroextrap.design._design import Design, Labelings
from neuroextrap.margins._kernel import MarginKernel
from neuroextrap.margins.algebra._grams import centered_gram
from neuroextrap.margins.algebra._operators import check_regions, checked_counts


class NearestNeighborMargins(MarginKernel):
    """Out-of-fold margins of the nearest training sample.

    The margin of a class is minus the squared Euclidean distance from the test point
    to the nearest training sample of that class. Where classes are unequal, it is the
    mean of that over all random subsets of the class with as many training samples as
    the rarest class has, so that many samples do not make a class look nearer.

    Cover & Hart 1967, "Nearest neighbor pattern classification", section III.
    """

    name = "nearest_neighbor"
    marginal = True
    indicator_bytes = 0

    def prepare(self, xs: Any, design: Design) -> Any:
        """Sort the samples by their squared distances to each test point.

        Returns samples and distances, (n_regions, n_test, n_samples). Distances are
        infinite where a sample does not train in the fold of the test point.
        """
        check_regions(xs, design)
        outside = np.ones((len(design.test), design.n_samples), dtype=bool)
        for (train, _), rows in zip(design.folds, design.fold_slices, strict=True):
            outside[rows, train] = False
        distances = np.empty((len(xs), *outside.shape))
        for x, out in zip(xs, distances, strict=True):
            gram = centered_gram(x)
            norms = np.diagonal(gram)
            squared = norms[:, None] + norms - 2.0 * gram
            np.maximum(squared, 0.0, out=squared)
            out[:] = np.where(outside, np.inf, squared[design.test])
        order = np.argsort(distances, axis=2, kind="stable")
        return design, order, np.take_along_axis(distances, order, axis=2)

    def margins(self, state: Any, labelings: Labelings) -> np.ndarray:
        from neuroextrap.margins.compiled._nearest import fill_nearest

        design, order, distances = state
        counts = checked_counts(design, labelings)
        K, B = labelings.n_classes, labelings.n_labelings
        margins = np.empty((len(design.test), K, len(order), B))
        fill_nearest(
            order, distances, labelings.codes, counts, design.fold_of_test, margins
        )
        return margins.reshape(len(margins), K, -1)
