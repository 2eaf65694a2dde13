"""Ridge regression on class indicators as batched margins."""

import numpy as np

from neuroextrap.margins._operators import (
    fold_rows,
    residual_operators,
    training_counts,
)


class RidgeMargins:
    """Out-of-fold ridge regression of the class indicators on a region's features.

    The intercept is free and the penalty is the same in every fold: it comes from
    the region's total, unlabelled scatter. The margin of a class is its predicted
    indicator. A fold's fit is never recomputed: the out-of-fold prediction is one
    fixed matrix times the indicators, exactly.

    Parameters
    ----------
    shrinkage : "auto" or float, default "auto"
        "auto": Ledoit-Wolf intensity of the region's scatter; a float multiplies
        the mean scatter of a feature. See `ridge_penalty`.

    See Also
    --------
    RidgeIndicatorClassifier : the same rule for one region, with fit and predict.

    References
    ----------
    Hastie, Tibshirani & Friedman 2009, "The Elements of Statistical Learning",
    section 4.2 (indicator regression) and eq. 7.64 (leave-one-out by the smoother).

    Examples
    --------
    >>> import numpy as np
    >>> from neuroextrap.margins._design import Design, Labelings
    >>> x = np.array([[0.0], [1.0], [0.2], [0.8]])
    >>> folds = (([0, 1], [2, 3]), ([2, 3], [0, 1]))
    >>> design = Design(folds=folds, n_samples=4, n_classes=2)
    >>> kernel = RidgeMargins(shrinkage=0.1)
    >>> state = kernel.prepare([x], design)
    >>> margins = kernel.margins(state, Labelings([[0, 1, 0, 1]], 2))
    >>> margins[:, :, 0].argmax(axis=1)
    array([0, 1, 0, 1])
    """

    def __init__(self, *, shrinkage="auto"):
        self.shrinkage = shrinkage

    def prepare(self, xs, design):
        """Compute each region's out-of-fold operator.

        Parameters
        ----------
        xs : list of ndarray, shape (n_samples, n_features_s)
            Samples of each region.
        design : Design
            Cross-validation folds.

        Returns
        -------
        state : tuple
            The design, the number of regions and their operators; for `margins`.

        Raises
        ------
        TypeError
            If `shrinkage` is neither a string nor a real number.
        ValueError
            If `shrinkage` is negative, not finite or an unknown word, or too small
            for a region; if a region has a wrong shape or is constant.
        """
        groups = residual_operators(xs, design, shrinkage=self.shrinkage)
        predictors = [
            (group, None if group.dense is None else _predictor(group, design))
            for group in groups
        ]
        return design, len(xs), predictors

    def margins(self, state, labelings):
        """Compute out-of-fold margins of every region and labelling.

        Parameters
        ----------
        state : tuple
            What `prepare` returned, for S regions.
        labelings : Labelings
            B labellings of K classes.

        Returns
        -------
        margins : ndarray, shape (n_test, K, S * B)
            Region-major batch; rows in the order of ``design.test``.

        Raises
        ------
        ValueError
            If a class is absent from the training samples of a fold.
        """
        design, n_regions, predictors = state
        training_counts(design, labelings)
        K, B = labelings.n_classes, labelings.n_labelings
        parts = []
        for group, predictor in predictors:
            flat = labelings.one_hot(group.dtype).reshape(design.n_samples, K * B)
            if predictor is None:
                parts.append(_thin_predictions(group, design, flat))
            else:
                parts.append(predictor @ flat)
        return _gather(parts, [group for group, _ in predictors], (n_regions, K, B))


def _predictor(group, design):
    """Return C with out-of-fold predictions C @ Y, (n_regions, n_test, n_samples)."""
    n = design.n_samples
    predictor = np.empty((len(group.regions), len(design.test), n), group.dtype)
    identity = np.eye(n)
    for (held, rows, out), inverse in zip(
        fold_rows(design), group.inverses, strict=True
    ):
        block = identity[held[rows]] - inverse[:, rows] @ group.dense[:, held]
        block[:, :, held] = 0.0  # exactly: a held-out label never enters
        predictor[:, out] = block
    return predictor


def _thin_predictions(group, design, flat):
    """Out-of-fold predictions from the factor of H, shape (1, n_test, K * B)."""
    factor = group.factors[0].astype(group.dtype)
    scores = factor.T @ flat
    predictions = np.empty((1, len(design.test), flat.shape[1]), group.dtype)
    for (held, rows, out), inverse in zip(
        fold_rows(design), group.inverses, strict=True
    ):
        fitted = factor[held] @ scores
        residual = inverse[0, rows].astype(group.dtype) @ (flat[held] - fitted)
        predictions[0, out] = flat[held[rows]] - residual
    return predictions


def _gather(parts, groups, shape):
    """Put the groups' (regions, n_test, K * B) parts into one batch-last array."""
    n_regions, K, B = shape
    n_test = parts[0].shape[1]
    if len(parts) == 1 and n_regions == 1:
        return parts[0].reshape(n_test, K, B)
    margins = np.empty((n_test, K, n_regions, B), np.result_type(*parts))
    for part, group in zip(parts, groups, strict=True):
        blocks = part.reshape(len(group.regions), n_test, K, B)
        margins[:, :, group.regions] = blocks.transpose(1, 2, 0, 3)
    return margins.reshape(n_test, K, n_regions * B)
