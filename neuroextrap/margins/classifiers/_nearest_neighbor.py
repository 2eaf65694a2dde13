"""Nearest neighbor as batched margins: distances never change, labels do."""

from typing import Any

import numpy as np

from neuroextrap.design._design import Design, Labelings
from neuroextrap.margins._kernel import MarginKernel
from neuroextrap.margins.algebra._grams import centered_gram
from neuroextrap.margins.algebra._operators import check_regions, checked_counts

LABELINGS = 64  # labelings handled together; changes no result


class NearestNeighborMargins(MarginKernel):
    """Out-of-fold margins of the nearest training sample.

    The margin of a class is minus the squared Euclidean distance from the test point
    to the nearest training sample of that class.

    Cover & Hart 1967, "Nearest neighbor pattern classification", section III.
    """

    name = "nearest_neighbor"
    marginal = True
    indicator_bytes = 0

    def prepare(self, xs: Any, design: Design) -> Any:
        """Compute squared distances (n_regions, n_samples, n_test) to test points.

        They are infinite where a sample does not train in the fold of the test point.
        """
        check_regions(xs, design)
        outside = np.ones((design.n_samples, len(design.test)), dtype=bool)
        for (train, _), rows in zip(design.folds, design.fold_slices, strict=True):
            outside[train, rows] = False
        distances = np.empty((len(xs), *outside.shape))
        for x, out in zip(xs, distances, strict=True):
            gram = centered_gram(x)
            norms = np.diagonal(gram)
            squared = norms[:, None] + norms - 2.0 * gram
            np.maximum(squared, 0.0, out=squared)
            out[:] = np.where(outside, np.inf, squared[:, design.test])
        return design, distances

    def margins(self, state: Any, labelings: Labelings) -> np.ndarray:
        design, distances = state
        checked_counts(design, labelings)
        n_regions, _, n_test = distances.shape
        K, B = labelings.n_classes, labelings.n_labelings
        margins = np.empty((n_test, K, n_regions, B))
        for start in range(0, B, LABELINGS):
            batch = slice(start, start + LABELINGS)
            order, firsts = _sorted_by_class(labelings.codes[batch], K)
            for s, region in enumerate(distances):
                nearest = np.minimum.reduceat(region[order], firsts, axis=0)
                nearest = nearest.reshape(-1, K, n_test)
                margins[:, :, s, batch] = -nearest.transpose(2, 1, 0)
        return margins.reshape(n_test, K, -1)


def _sorted_by_class(
    codes: np.ndarray, n_classes: int
) -> tuple[np.ndarray, np.ndarray]:
    """Order the samples of each labeling by class, one labeling after the other.

    Returns sample numbers (B * n,) and where each class starts among them (B * K,).
    """
    B, n = codes.shape
    order = np.argsort(codes, axis=1, kind="stable").ravel()
    below = (codes[:, None, :] < np.arange(n_classes)[:, None]).sum(axis=2)
    return order, (below + n * np.arange(B)[:, None]).ravel()
