"""Ridge regression on class indicators as batched margins."""

from typing import Any

import numpy as np

from neuroextrap.margins._design import Design, Labelings
from neuroextrap.margins._kernel import MarginKernel
from neuroextrap.margins._nearest_centroid import batch_last
from neuroextrap.margins._operators import (
    checked_counts,
    residual_operators,
)


class RidgeMargins(MarginKernel):
    """Out-of-fold ridge regression of the class indicators on a region's features.

    The intercept is free and the penalty is the same in every fold: it comes from
    the region's total, unlabeled scatter (see `ridge_penalty` for ``shrinkage``). The
    margin of a class is its predicted indicator. A fold's fit is never recomputed: the
    out-of-fold prediction is one fixed matrix times the indicators, exactly.

    Hastie, Tibshirani & Friedman 2009, "The Elements of Statistical Learning",
    section 4.2 (indicator regression) and eq. 7.64 (leave-one-out by the smoother).
    """

    name = "ridge"
    shrinks = True

    def __init__(self, *, shrinkage: Any = "auto") -> None:
        self.shrinkage = shrinkage

    def prepare(self, xs: Any, design: Design) -> Any:
        """Compute each region's out-of-fold operator."""
        groups = residual_operators(xs, design, shrinkage=self.shrinkage)
        predictors = [
            (group, None if group.dense is None else _predictor(group, design))
            for group in groups
        ]
        return design, len(xs), predictors

    def margins(self, state: Any, labelings: Labelings) -> np.ndarray:
        design, n_regions, predictors = state
        checked_counts(design, labelings)
        K, B = labelings.n_classes, labelings.n_labelings
        parts = []
        for group, predictor in predictors:
            flat = labelings.one_hot(group.dtype).reshape(design.n_samples, K * B)
            if predictor is None:
                part = _thin_predictions(group, design, flat)
            else:
                part = predictor @ flat
            parts.append(batch_last(part, (len(design.test), K, B)))
        if len(parts) == 1:
            return parts[0]
        margins = np.empty((len(design.test), K, n_regions, B), np.result_type(*parts))
        for part, (group, _) in zip(parts, predictors, strict=True):
            margins[:, :, group.regions] = part.reshape(-1, K, len(group.regions), B)
        return margins.reshape(-1, K, n_regions * B)


def _predictor(group: Any, design: Design) -> np.ndarray:
    """Return C with out-of-fold predictions C @ Y, (n_regions, n_test, n_samples)."""
    shape = (len(group.regions), len(design.test), design.n_samples)
    predictor = np.empty(shape, group.dtype)
    for fold, (held, rows) in enumerate(design.fold_views):
        block = -group.inverses[fold][:, rows] @ group.dense[:, held]
        block[:, :, held] = 0.0  # exactly: a held-out label never enters
        predictor[:, design.fold_slices[fold]] = block
    return predictor


def _thin_predictions(group: Any, design: Design, flat: np.ndarray) -> np.ndarray:
    """Out-of-fold predictions from the factor of H, shape (1, n_test, K * B)."""
    factor = group.factors[0].astype(group.dtype)
    scores = factor.T @ flat
    predictions = np.empty((1, len(design.test), flat.shape[1]), group.dtype)
    for fold, (held, rows) in enumerate(design.fold_views):
        inverse = group.inverses[fold][0, rows].astype(group.dtype)
        residual = inverse @ (flat[held] - factor[held] @ scores)
        predictions[0, design.fold_slices[fold]] = flat[held][rows] - residual
    return predictions
