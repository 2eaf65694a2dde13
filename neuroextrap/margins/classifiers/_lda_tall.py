"""Discriminant analysis of many samples with few features."""

import numpy as np
from scipy.linalg.blas import dsymm
from scipy.linalg.lapack import dpotrf, dpotri

from neuroextrap.design._design import Design, Labelings
from neuroextrap.margins.algebra._linear import Linear
from neuroextrap.margins.algebra._tall import TallRegion
from neuroextrap.margins.classifiers._lda_algebra import (
    SINGULAR,
    fixed_constants,
    inverse,
    prior_constants,
)


def linear_tall(
    region: TallRegion,
    design: Design,
    labelings: Labelings,
    counts: np.ndarray,
    rule: str,
) -> Linear:
    """Return the margins of a region with few features; counts (F, K, B).

    What is inverted for every labeling is K x K, or of the size of the features where
    there are more classes than those.
    """
    constants = prior_constants(counts, rule).swapaxes(1, 2)
    n = counts.swapaxes(1, 2)
    few_features = region.centered.shape[1] <= 2 * design.n_classes
    linear, points = _from_classes, region.projected
    if rule == "ridge":
        linear = _of_ridge
    elif few_features:
        linear, points = _from_features, region.centered
    weights = region.class_sums(labelings, n)
    for labeling in range(labelings.n_labelings):
        one = weights[:, labeling], n[:, labeling]
        weights[:, labeling], offsets = linear(region, *one)
        constants[:, labeling] += offsets
    return Linear(points, weights, constants)


def _from_features(
    region: TallRegion, sums: np.ndarray, n: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return weights (F, K, p) of centered points, and offsets, by p x p matrices.

    ``sums`` (F, K, p) are those of the classes about the mean, ``n`` (F, K) counts.
    """
    shifts = sums / n[:, :, None]
    within = region.systems - sums.swapaxes(1, 2) @ shifts
    weights = np.stack([_solved(*fold) for fold in zip(within, shifts, strict=True)])
    return weights, -0.5 * np.einsum("fkp,fkp->fk", weights, shifts)


def _solved(matrix: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Multiply rows (K, p) by the inverse of a positive definite matrix (p, p).

    The matrix is symmetric up to rounding: half of it is read.
    """
    lower, n_done = dpotrf(matrix.T, lower=True)
    smallest = 10 * len(matrix) * np.finfo(float).eps * np.diag(matrix)
    if n_done != 0 or not (np.diag(lower) ** 2 > smallest).all():
        raise ValueError(SINGULAR)
    inverse, _ = dpotri(lower, lower=True, overwrite_c=True)  # its lower half
    return dsymm(1.0, inverse, rows.T, lower=True).T


def _of_ridge(
    region: TallRegion, sums: np.ndarray, n: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the same for projected points, by ridge regression: none is inverted."""
    shifts = sums * fixed_constants(n, "ridge")[:, :, None]
    middle = shifts.mean(axis=1)[:, :, None]
    products = (shifts @ region.inverses @ middle)[:, :, 0]
    return shifts, -products / n.mean(axis=1, keepdims=True)


def _from_classes(
    region: TallRegion, sums: np.ndarray, n: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the same for projected points, by K x K matrices."""
    moments = -(sums @ region.inverses) @ sums.swapaxes(1, 2)
    np.einsum("fkk->fk", moments)[:] += n
    inverses = inverse(moments.transpose(1, 2, 0)).transpose(2, 0, 1)
    offsets = 0.5 / n - 0.5 * np.einsum("fkk->fk", inverses)
    return inverses @ sums, offsets
