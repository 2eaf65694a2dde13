"""Discriminant analysis of many samples with few features."""

from collections.abc import Iterator

import numpy as np
from scipy.linalg import solve_triangular

from neuroextrap.margins._design import Design, Labelings
from neuroextrap.margins._lda_algebra import (
    SINGULAR,
    inverse,
    margin_constants,
    prior_constants,
)
from neuroextrap.margins._tall import TallRegion


def fill_tall(
    margins: np.ndarray,
    region: TallRegion,
    design: Design,
    labelings: Labelings,
    counts: np.ndarray,
    priors: str,
) -> None:
    """Fill the margins (n_test, K, B) of a region with few features.

    What is inverted for every labeling is K x K, or of the size of the features where
    there are more classes than those.
    """
    log_priors = prior_constants(counts, priors)
    few_features = region.x.shape[1] <= 2 * design.n_classes
    tall_margins = _from_features if few_features else _from_classes
    for labeling, codes in enumerate(labelings.codes):
        n = counts[:, :, labeling]
        sums = region.class_sums(codes, n)
        scores = tall_margins(region, design, sums, n)
        for fold, (rows, of_fold) in enumerate(scores):
            margins[rows, :, labeling] = of_fold + log_priors[fold, :, labeling]


def _from_features(
    region: TallRegion, design: Design, sums: np.ndarray, n: np.ndarray
) -> Iterator[tuple[slice, np.ndarray]]:
    """Yield rows and margins (n_test_f, K) by a p x p solution for each fold."""
    roots = sums / np.sqrt(n)[:, :, None]
    within = region.systems - roots.swapaxes(1, 2) @ roots
    shifts = sums / n[:, :, None]
    try:
        lower = np.linalg.cholesky(within)
    except np.linalg.LinAlgError:
        raise ValueError(SINGULAR) from None
    pivots = np.einsum("fpp->fp", lower) ** 2
    smallest = 10 * within.shape[-1] * np.finfo(float).eps
    if not (pivots > smallest * np.einsum("fpp->fp", within)).all():
        raise ValueError(SINGULAR)
    for fold, (_, test) in enumerate(design.folds):
        half = solve_triangular(lower[fold], shifts[fold].T, lower=True)
        weights = solve_triangular(lower[fold], half, lower=True, trans=1)
        constants = -0.5 * np.square(half).sum(axis=0)
        points = (region.x[test] - region.means[fold]).astype(region.dtype)
        scores = points @ weights.astype(region.dtype) + constants.astype(region.dtype)
        yield design.fold_slices[fold], scores


def _from_classes(
    region: TallRegion, design: Design, sums: np.ndarray, n: np.ndarray
) -> Iterator[tuple[slice, np.ndarray]]:
    """Yield rows and margins (n_test_f, K) by a K x K inverse for each fold."""
    shares = n / n.sum(axis=1, keepdims=True)
    moments = -(sums @ region.inverses) @ sums.swapaxes(1, 2)
    np.einsum("fkk->fk", moments)[:] += n
    inverses = inverse(moments.transpose(1, 2, 0)[..., None, None])
    small = n[:, :, None, None], shares[:, :, None, None]
    constants = margin_constants(inverses, *small, "equal")[..., 0, 0]
    for fold, rows in enumerate(design.fold_slices):
        predicted = region.projected[rows] @ sums[fold].T.astype(region.dtype)
        precision = inverses[:, :, fold, 0, 0].astype(region.dtype)
        offset = constants[fold] + shares[fold] @ inverses[:, :, fold, 0, 0]
        scores = predicted @ precision + offset.astype(region.dtype)
        yield rows, scores
