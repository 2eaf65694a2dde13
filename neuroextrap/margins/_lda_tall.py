"""Discriminant analysis of many samples with few features."""

import numpy as np

from neuroextrap.margins._design import Design, Labelings
from neuroextrap.margins._lda_algebra import (
    SINGULAR,
    inverse,
    margin_constants,
    prior_constants,
)
from neuroextrap.margins._tall import TallRegion, fill_linear


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
    constants = prior_constants(counts, priors).swapaxes(1, 2)
    n = counts.swapaxes(1, 2)
    few_features = region.centered.shape[1] <= 2 * design.n_classes
    linear = _from_features if few_features else _from_classes
    points = region.centered if few_features else region.projected
    weights = region.class_sums(labelings, n)
    for labeling in range(labelings.n_labelings):
        one = weights[:, labeling], n[:, labeling]
        weights[:, labeling], offsets = linear(region, *one)
        constants[:, labeling] += offsets
    fill_linear(margins, points, weights, constants, design)


def _from_features(
    region: TallRegion, sums: np.ndarray, n: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return weights (F, K, p) of centered points, and offsets, by p x p matrices.

    ``sums`` (F, K, p) are those of the classes about the mean, ``n`` (F, K) counts.
    """
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
    upward = np.linalg.inv(lower)
    half = shifts @ upward.swapaxes(1, 2)
    return half @ upward, -0.5 * np.einsum("fkp,fkp->fk", half, half)


def _from_classes(
    region: TallRegion, sums: np.ndarray, n: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the same for projected points, by K x K matrices."""
    shares = n / n.sum(axis=1, keepdims=True)
    moments = -(sums @ region.inverses) @ sums.swapaxes(1, 2)
    np.einsum("fkk->fk", moments)[:] += n
    inverses = inverse(moments.transpose(1, 2, 0)[..., None, None])
    small = n[:, :, None, None], shares[:, :, None, None]
    constants = margin_constants(inverses, *small, "equal")[..., 0, 0]
    precision = inverses[..., 0, 0].transpose(2, 0, 1)
    offsets = constants + (shares[:, None] @ precision)[:, 0]
    return precision @ sums, offsets
