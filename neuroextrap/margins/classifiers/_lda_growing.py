"""Discriminant analysis in folds whose training sets grow, from ridge fits."""

from typing import Any

import numpy as np

from neuroextrap.design._design import Design, Labelings, as_slice
from neuroextrap.margins.algebra._growing_folds import (
    GrowingRegions,
    RidgeFits,
    ridge_fits,
)
from neuroextrap.margins.classifiers._lda_algebra import (
    SINGULAR,
    margin_terms,
)
from neuroextrap.margins.classifiers._lda_compiled import grouped_classes, with_even


def fill_growing(
    margins: np.ndarray,
    growing: GrowingRegions,
    design: Design,
    labelings: Labelings,
    counts: np.ndarray,
    *,
    rule: str,
    compiled: bool,
) -> None:
    """Fill the margins (n_test, K, S, B) of the regions whose fits grow."""
    regions = as_slice(growing.regions)
    discriminants = _compiled_discriminants if compiled else _discriminants
    for labeling, codes in enumerate(labelings.codes):
        indicators = np.eye(labelings.n_classes)[codes]
        fits = ridge_fits(growing, indicators, design, compiled=compiled)
        margins[:, :, regions, labeling] = discriminants(
            fits, codes, design, counts[:, :, labeling], rule
        )


def _compiled_discriminants(
    fits: RidgeFits, codes: np.ndarray, design: Design, counts: Any, rule: str
) -> np.ndarray:
    """Return the margins (n_test, K, S) of one labeling, by compiled loops."""
    from neuroextrap.margins.compiled._lane_memory import grouped
    from neuroextrap.margins.compiled._lda import score_regions
    from neuroextrap.margins.compiled._lda_memory import Folds, Groups, Out, workspace
    from neuroextrap.margins.compiled._vector import LANES

    n_test, K, n_regions = len(design.test), design.n_classes, len(fits.residual)
    # as many as machine instructions take: the last region is repeated
    padded = np.minimum(np.arange(-(-n_regions // LANES) * LANES), n_regions - 1)
    errors = with_even(-fits.errors[padded].transpose(1, 2, 0), 1)
    moments = with_even(fits.residual[padded].transpose(1, 2, 3, 0), 1, 2)
    labels = np.repeat(codes[design.test, np.newaxis], len(padded), axis=1)
    counts = np.repeat(counts[..., np.newaxis], len(padded), axis=2)
    none = np.empty((0, 0))
    groups = Groups(
        np.empty((0, 0, 0), np.uint32),
        np.empty((0, 0, 0), np.int32),
        grouped(labels.astype(np.uint8)),
        *grouped_classes(counts, rule),
        none[np.newaxis],
        rule == "ridge",
    )
    edges = np.array([0, *(points.stop for points in design.fold_slices)])
    points = np.arange(n_test)
    folds = Folds(points, edges, points - np.repeat(edges[:-1], np.diff(edges)), edges)
    margins = np.empty((n_test, K, n_regions))
    out = Out(margins.reshape(-1), 0, n_regions, K, n_regions, none, False)
    work = workspace(int(np.diff(edges).max()), K)
    if not score_regions(grouped(errors), grouped(moments), folds, groups, out, work):
        raise ValueError(SINGULAR)
    return margins


def _discriminants(
    fits: RidgeFits, codes: np.ndarray, design: Design, counts: Any, rule: str
) -> np.ndarray:
    """Return the same by small matrices of all folds and regions together."""
    d = counts[:, :, np.newaxis, np.newaxis]  # (F, K, 1, 1)
    shares = d / d.sum(axis=1, keepdims=True)
    between = (d[:, np.newaxis] * shares[:, :, np.newaxis])[..., 0]  # (F, K, K, 1)
    moments = fits.residual.transpose(2, 3, 1, 0) + between.transpose(1, 2, 0, 3)
    weights, constants = margin_terms(moments[..., np.newaxis], d, rule)
    weights = np.ascontiguousarray(weights[..., 0].transpose(2, 3, 0, 1))
    predicted = np.eye(design.n_classes)[codes[design.test]] - fits.errors
    margins = np.empty((len(design.test), design.n_classes, len(fits.residual)))
    for fold, rows in enumerate(design.fold_slices):
        scores = predicted[:, rows] @ weights[fold]
        margins[rows] = scores.transpose(1, 2, 0) + constants[fold, :, :, 0]
    return margins
