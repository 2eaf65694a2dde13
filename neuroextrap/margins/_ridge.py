"""Ridge regression on class indicators as batched margins."""

from typing import Any

import numpy as np

from neuroextrap.margins._design import Design, Labelings, as_slice
from neuroextrap.margins._growing_folds import (
    GrowingRegions,
    ridge_fits,
    split_by_form,
)
from neuroextrap.margins._kernel import MarginKernel
from neuroextrap.margins._nearest_centroid import batch_last
from neuroextrap.margins._operators import checked_counts


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
        groups, growing = split_by_form(xs, design, shrinkage=self.shrinkage)
        predictors = [
            (group, None if group.dense is None else _predictor(group, design))
            for group in groups
        ]
        return design, len(xs), predictors, growing

    def margins(self, state: Any, labelings: Labelings) -> np.ndarray:
        design, n_regions, predictors, growing = state
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
        if len(parts) == 1 and growing is None:
            return parts[0]
        dtype = np.result_type(*parts) if growing is None else np.dtype(float)
        margins = np.empty((len(design.test), K, n_regions, B), dtype)
        if growing is not None:
            _fill_growing(margins, growing, design, labelings)
        for part, (group, _) in zip(parts, predictors, strict=True):
            margins[:, :, group.regions] = part.reshape(-1, K, len(group.regions), B)
        return margins.reshape(-1, K, n_regions * B)


def _fill_growing(
    margins: np.ndarray, growing: GrowingRegions, design: Design, labelings: Labelings
) -> None:
    """Fill the predictions of regions in folds whose training sets grow."""
    regions = as_slice(growing.regions)
    for labeling, codes in enumerate(labelings.codes):
        indicators = np.eye(labelings.n_classes)[codes]
        for chain in growing.chains:
            fits = ridge_fits(*growing[1:3], indicators, chain)
            for fold, fit in enumerate(fits, start=chain.first_fold):
                rows = design.fold_slices[fold]
                margins[rows, :, regions, labeling] = fit.predicted.transpose(1, 2, 0)


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
