"""Ridge regression on class indicators as batched margins."""

from typing import Any

import numpy as np

from neuroextrap.margins._design import Design, Labelings, as_slice
from neuroextrap.margins._forms import split_by_form
from neuroextrap.margins._growing_folds import GrowingRegions, ridge_fits
from neuroextrap.margins._kernel import MarginKernel
from neuroextrap.margins._nearest_centroid import batch_last
from neuroextrap.margins._operators import checked_counts
from neuroextrap.margins._tall import fill_linear, is_tall, tall_bytes, tall_workspace


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
        forms = split_by_form(xs, design, shrinkage=self.shrinkage)
        predictors = [
            None if group.dense is None else _predictor(group, design)
            for group in forms.operators
        ]
        return design, len(xs), forms, predictors

    def margins(self, state: Any, labelings: Labelings) -> np.ndarray:
        design, n_regions, forms, predictors = state
        counts = checked_counts(design, labelings)
        K, B = labelings.n_classes, labelings.n_labelings
        parts = []
        for group, predictor in zip(forms.operators, predictors, strict=True):
            flat = labelings.one_hot(group.dtype).reshape(design.n_samples, K * B)
            if predictor is None:
                part = _thin_predictions(group, design, flat)
            else:
                part = predictor @ flat
            parts.append(batch_last(part, (len(design.test), K, B)))
        if len(parts) == 1 and len(forms.operators[0].regions) == n_regions:
            return parts[0]
        margins = np.empty((len(design.test), K, n_regions, B), forms.dtype)
        if forms.growing is not None:
            _fill_growing(margins, forms.growing, design, labelings)
        for place, region in forms.tall.items():
            n = counts.swapaxes(1, 2)
            sums = region.class_sums(labelings, n)
            shares = n / n.sum(axis=2, keepdims=True)
            fill_linear(margins[:, :, place], region.projected, sums, shares, design)
        for part, group in zip(parts, forms.operators, strict=True):
            margins[:, :, group.regions] = part.reshape(-1, K, len(group.regions), B)
        return margins.reshape(-1, K, n_regions * B)

    def workspace(self, n_features: int, n_regions: int, design: Any) -> int:
        if is_tall(n_features, design):
            of_one = tall_workspace(n_features, design, of_a_point=16)
            return n_regions * of_one
        return super().workspace(n_features, n_regions, design)

    def direct_bytes(self, n_features: int, design: Any) -> int | None:
        return tall_bytes(n_features, design, float)


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
