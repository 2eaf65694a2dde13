"""From ridge fits to margins: K x K moments, many of them at once.

A ``rule`` says to which: those of discriminant analysis with "equal" priors of the
classes or with their "frequency" among the training samples, or of "ridge" regression.
"""

import numpy as np
from scipy.linalg.blas import dsymm
from scipy.linalg.lapack import dpotrf, dpotri

from neuroextrap.design._design import Design, Labelings
from neuroextrap.margins.algebra._linear import Linear, LinearRegion

# K x K matrices inverted together, which keeps them in cache; changes no result. Not a
# power of two: strides of a power of two fall on the same few cache lines.
SWEEP = 768

SINGULAR = "a within-class scatter is singular or not finite; use a larger shrinkage"


def prior_constants(counts: np.ndarray, rule: str) -> np.ndarray:
    """Return what priors add to the margins of a class, shape (n_folds, K, B)."""
    if rule != "frequency":
        return np.zeros_like(counts)
    sizes = counts.sum(axis=1, keepdims=True)
    return np.log(counts / sizes) / (sizes - counts.shape[1])


def fixed_constants(counts: np.ndarray, rule: str) -> np.ndarray:
    """Return what is added to the margins of a class whatever the region, (F, K, ...).

    Priors, half of 1 / d, and, since Q 1 = d, the 1 / N of the mean of the training
    samples; of counts d (F, K, ...). With ridge regression the weight N / (K d) of the
    class.
    """
    sizes = counts.sum(axis=1, keepdims=True)
    if rule == "ridge":
        return sizes / (counts.shape[1] * counts)
    return prior_constants(counts, rule) + (0.5 / counts - 1.0 / sizes)


def noise_weights(explained: np.ndarray, counts: np.ndarray, rule: str) -> np.ndarray:
    """Return what the noise of class means costs in margins, (S, F).

    ``explained`` (S, F) is the share h of labels without meaning that fits explain: on
    average over all labelings, Q is ``(1 - h) D + h d d' / N``.
    """
    if rule == "ridge":
        return np.asarray(
            explained * counts[:, :, 0].sum(axis=1) / counts.shape[1] ** 2
        )
    return np.asarray(0.5 * explained / (1.0 - explained))


def margin_terms(
    moments: np.ndarray, counts: np.ndarray, rule: str
) -> tuple[np.ndarray, np.ndarray]:
    """Return by what predictions are multiplied, and what is added: the margins.

    Of moments Q (K, K, F, S, b) and counts d (F, K, 1, b): weights (K, K, F, S, b),
    Q^-1 or, with ridge regression, diagonal, and constants (F, K, S, b).
    """
    fixed = fixed_constants(counts, rule)
    if rule != "ridge":
        inverses = inverse(moments)
        return inverses, fixed - 0.5 * np.einsum("kkfsb->fksb", inverses)
    K, sizes = len(moments), counts.sum(axis=1, keepdims=True)
    # one class after the other: the same sums for a region in whatever company
    total = sum(fixed[:, [k]] * moments[k].swapaxes(0, 1) for k in range(K))
    diagonal = np.eye(K)[..., np.newaxis, np.newaxis, np.newaxis]
    constants = fixed * (total / sizes - 1.0 / K) - 1.0 / K
    return diagonal * fixed.swapaxes(0, 1), constants


def batch_first(matrices: np.ndarray) -> np.ndarray:
    """Reorder (K, K, S, b) as (S, b, K, K), contiguous."""
    return np.ascontiguousarray(matrices.transpose(2, 3, 0, 1))


def inverse(matrices: np.ndarray) -> np.ndarray:
    """Inverses of symmetric positive definite matrices, shape (K, K, ...)."""
    flat = matrices.reshape(*matrices.shape[:2], -1)
    out = np.empty_like(flat)
    for start in range(0, flat.shape[2], SWEEP):
        part = slice(start, start + SWEEP)
        out[..., part] = _sweep(flat[..., part].copy())
    return out.reshape(matrices.shape)


def _sweep(a: np.ndarray) -> np.ndarray:
    """Invert in place by Gauss-Jordan sweeps without pivoting, (K, K, n_matrices).

    Sweeping every row of a symmetric matrix once leaves minus its inverse and keeps it
    symmetric: only the upper triangle is read and swept, and mirrored at the end. Each
    step is one operation on a vector over all matrices.
    """
    K, _, n_matrices = a.shape
    # a pivot below the rounding error of its own diagonal element is a singular matrix
    smallest = 10 * K * np.finfo(float).eps * np.einsum("kkb->kb", a)
    column, change = np.empty((2, K, n_matrices))
    for k in range(K):
        # column k of the symmetric matrix, put together from the upper triangle
        column[:k], column[k:] = a[:k, k], a[k, k:]
        if not (column[k] > smallest[k]).all():
            raise ValueError(SINGULAR)
        inverse = 1.0 / column[k]
        row = column * inverse
        # eliminate: every other row i loses column[i] times the scaled pivot row
        for i in [*range(k), *range(k + 1, K)]:
            product = np.multiply(column[i], row[i:], out=change[i:])
            np.subtract(a[i, i:], product, out=a[i, i:])
        # last, the pivot's own row and column: the elimination passed over a[:k, k]
        a[:k, k], a[k, k:] = row[:k], row[k:]
        np.negative(inverse, out=a[k, k])
    for i in range(1, K):
        a[i, :i] = a[:i, i]
    return np.negative(a, out=a)


def linear_margins(
    region: LinearRegion,
    design: Design,
    labelings: Labelings,
    counts: np.ndarray,
    rule: str,
) -> Linear:
    """Return the margins of a region with few features; counts (F, K, B).

    What is inverted for every labeling is K x K, or p x p where classes are more.
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
    region: LinearRegion, sums: np.ndarray, n: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return weights (F, K, p) of centered points, and offsets, by p x p matrices.

    ``sums`` (F, K, p) are those of the classes about the mean, ``n`` (F, K) counts.
    """
    shifts = sums / n[:, :, None]
    within = region.systems - sums.swapaxes(1, 2) @ shifts
    weights = np.stack([_solved(*fold) for fold in zip(within, shifts, strict=True)])
    return weights, -0.5 * np.einsum("fkp,fkp->fk", weights, shifts)


def _solved(matrix: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Multiply rows (K, p) by the inverse of a positive definite matrix (p, p)."""
    lower, n_done = dpotrf(matrix.T, lower=True)
    smallest = 10 * len(matrix) * np.finfo(float).eps * np.diag(matrix)
    if n_done != 0 or not (np.diag(lower) ** 2 > smallest).all():
        raise ValueError(SINGULAR)
    inverse, _ = dpotri(lower, lower=True, overwrite_c=True)  # its lower half
    return dsymm(1.0, inverse, rows.T, lower=True).T


def _of_ridge(
    region: LinearRegion, sums: np.ndarray, n: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the same for projected points, by ridge regression: none is inverted."""
    shifts = sums * fixed_constants(n, "ridge")[:, :, None]
    middle = shifts.mean(axis=1)[:, :, None]
    products = (shifts @ region.inverses @ middle)[:, :, 0]
    return shifts, -products / n.mean(axis=1, keepdims=True)


def _from_classes(
    region: LinearRegion, sums: np.ndarray, n: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the same for projected points, by K x K matrices."""
    moments = -(sums @ region.inverses) @ sums.swapaxes(1, 2)
    np.einsum("fkk->fk", moments)[:] += n
    inverses = inverse(moments.transpose(1, 2, 0)).transpose(2, 0, 1)
    offsets = 0.5 / n - 0.5 * np.einsum("fkk->fk", inverses)
    return inverses @ sums, offsets
