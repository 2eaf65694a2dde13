"""Nearest neighbor as batched margins: distances never change, labels do."""

import numpy as np

from neuroextrap.margins._operators import (
    centered_gram,
    check_regions,
    checked_counts,
)

LABELINGS = 64  # labelings handled together; changes no result


class NearestNeighborMargins:
    """Out-of-fold margins of the nearest training sample.

    The margin of a class is minus the squared Euclidean distance from the test point
    to the nearest training sample of that class.

    See Also
    --------
    NearestNeighborClassifier : The same rule for one region, with fit and predict.

    References
    ----------
    Cover & Hart 1967, "Nearest neighbor pattern classification", section III.

    Examples
    --------
    >>> import numpy as np
    >>> from neuroextrap.margins._design import Design, Labelings
    >>> x = np.array([[0.0], [1.0], [0.2], [0.8]])
    >>> folds = (([0, 1], [2, 3]), ([2, 3], [0, 1]))
    >>> design = Design(folds=folds, n_samples=4, n_classes=2)
    >>> kernel = NearestNeighborMargins()
    >>> margins = kernel.margins(
    ...     kernel.prepare([x], design), Labelings([[0, 1, 0, 1]], 2)
    ... )
    >>> margins[0, :, 0].round(2)
    array([-0.04, -0.64])
    """

    def __repr__(self):
        """Name the kernel."""
        return "NearestNeighborMargins()"

    def prepare(self, xs, design):
        """Compute distances from test points to training samples.

        Parameters
        ----------
        xs : list of ndarray, shape (n_samples, n_features_s)
            Samples of each region.
        design : Design
            Cross-validation folds.

        Returns
        -------
        state : tuple
            The design and squared distances (n_regions, n_samples, n_test), infinite
            where a sample does not train; for `margins`.

        Raises
        ------
        ValueError
            If a region has a wrong shape.
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

    def margins(self, state, labelings):
        """Compute out-of-fold margins of every region and labeling.

        Parameters
        ----------
        state : tuple
            What `prepare` returned, for S regions.
        labelings : Labelings
            B labelings of K classes.

        Returns
        -------
        margins : ndarray of float64, shape (n_test, K, S * B)
            Region-major batch; rows in the order of ``design.test``.

        Raises
        ------
        ValueError
            If a class is absent from the training samples of a fold.
        """
        design, distances = state
        checked_counts(design, labelings)
        n_regions, _, n_test = distances.shape
        K, B = labelings.n_classes, labelings.n_labelings
        margins = np.empty((n_test, K, n_regions, B))
        for start in range(0, B, LABELINGS):
            part = slice(start, start + LABELINGS)
            order, firsts = _sorted_by_class(labelings.codes[part], K)
            for s, region in enumerate(distances):
                nearest = np.minimum.reduceat(region[order], firsts, axis=0)
                nearest = nearest.reshape(-1, K, n_test)
                margins[:, :, s, part] = -nearest.transpose(2, 1, 0)
        return margins.reshape(n_test, K, -1)


def _sorted_by_class(codes, n_classes):
    """Order the samples of each labeling by class, one labeling after the other.

    Returns sample numbers (B * n,) and where each class starts among them (B * K,).
    """
    B, n = codes.shape
    order = np.argsort(codes, axis=1, kind="stable").ravel()
    below = (codes[:, None, :] < np.arange(n_classes)[:, None]).sum(axis=2)
    return order, (below + n * np.arange(B)[:, None]).ravel()
