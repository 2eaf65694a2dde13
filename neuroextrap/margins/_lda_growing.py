"""Discriminant analysis in folds whose training sets grow, from ridge fits."""

from typing import Any

import numpy as np

from neuroextrap.margins._design import Design, Labelings, as_slice
from neuroextrap.margins._growing_folds import GrowingRegions, RidgeFits, ridge_fits
from neuroextrap.margins._lda_algebra import (
    SINGULAR,
    inverse,
    margin_constants,
    prior_constants,
)


def fill_growing(
    margins: np.ndarray,
    growing: GrowingRegions,
    design: Design,
    labelings: Labelings,
    counts: np.ndarray,
    *,
    priors: str,
    compiled: bool,
) -> None:
    """Fill the margins (n_test, K, S, B) of the regions whose fits grow."""
    regions = as_slice(growing.regions)
    discriminants = _compiled_discriminants if compiled else _discriminants
    for labeling, codes in enumerate(labelings.codes):
        indicators = np.eye(labelings.n_classes)[codes]
        fits = ridge_fits(growing, indicators, design, compiled=compiled)
        margins[:, :, regions, labeling] = discriminants(
            fits, indicators, design, counts[:, :, labeling], priors
        )


def _compiled_discriminants(
    fits: RidgeFits, indicators: np.ndarray, design: Design, counts: Any, priors: str
) -> np.ndarray:
    """Return the margins (n_test, K, S) of one labeling, by compiled loops."""
    from neuroextrap.margins._lda_kernel import Classes, fill_growing_margins

    errors = np.ascontiguousarray(fits.errors.transpose(1, 2, 0))
    moments = np.ascontiguousarray(fits.residual.transpose(1, 2, 3, 0))
    counts = np.repeat(counts[..., np.newaxis], len(fits.residual), axis=2)
    truth = np.repeat(indicators[design.test, :, np.newaxis], errors.shape[2], axis=2)
    rows = np.array([0, *(points.stop for points in design.fold_slices)])
    classes, margins = Classes(counts, prior_constants(counts, priors)), truth.copy()
    if not fill_growing_margins(errors, moments, truth, rows, classes, margins):
        raise ValueError(SINGULAR)
    return margins


def _discriminants(
    fits: RidgeFits, indicators: np.ndarray, design: Design, counts: Any, priors: str
) -> np.ndarray:
    """Return the same by small matrices of all folds and regions together."""
    d = counts[:, :, np.newaxis, np.newaxis]  # (F, K, 1, 1)
    shares = d / d.sum(axis=1, keepdims=True)
    between = (d[:, np.newaxis] * shares[:, :, np.newaxis])[..., 0]  # (F, K, K, 1)
    moments = fits.residual.transpose(2, 3, 1, 0) + between.transpose(1, 2, 0, 3)
    inverses = inverse(moments[..., np.newaxis])  # (K, K, F, S, 1)
    constants = margin_constants(inverses, d, shares, priors)[..., 0]
    precision = np.ascontiguousarray(inverses[..., 0].transpose(2, 3, 0, 1))
    predicted = indicators[design.test] - fits.errors
    margins = np.empty((len(design.test), design.n_classes, len(fits.residual)))
    for fold, rows in enumerate(design.fold_slices):
        scores = predicted[:, rows] @ precision[fold]
        margins[rows] = scores.transpose(1, 2, 0) + constants[fold]
    return margins
