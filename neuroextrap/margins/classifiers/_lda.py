"""Multi-class shrinkage discriminant analysis as batched margins, exactly.

A ``rule`` says which margins are made of ridge fits: with "equal" priors of the classes
or their "frequency" among the training samples, or those of "ridge" regression.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg.blas import dsymm
from scipy.linalg.lapack import dpotrf, dpotri

from neuroextrap.design._design import Design, Labelings, as_slice
from neuroextrap.margins._paths import path_of
from neuroextrap.margins.algebra._linear import (
    Linear,
    LinearRegion,
    LinearWhereFew,
    fill_linear,
)
from neuroextrap.margins.algebra._operators import (
    RegionOperators,
    are_unequal,
    check_priors,
    checked_counts,
    growing_fits,
    level_margins,
    prepare_fits,
)

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
    """Return what noise costs where a share (S, F) of random labels is explained.

    On average over all labelings, Q is ``(1 - h) D + h d d' / N``, h the share.
    """
    if rule == "ridge":
        return np.asarray(
            explained * counts[:, :, 0].sum(axis=1) / counts.shape[1] ** 2
        )
    return np.asarray(0.5 * explained / (1.0 - explained))


def margin_terms(
    moments: np.ndarray, counts: np.ndarray, rule: str
) -> tuple[np.ndarray, np.ndarray]:
    """Return weights (K, K, F, S, b) of predictions, and constants (F, K, S, b).

    From moments Q (K, K, F, S, b) and counts d (F, K, 1, b); weights are Q^-1.
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


def linear_margins(region: LinearRegion, trained: "_Trained") -> Linear:
    """Return the margins of a region with few features."""
    design, labelings, counts, rule = trained
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
    """Return weights (F, K, p) of centered points, and offsets, by p x p matrices."""
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


# Labelings times regions handled together: keeps the work in cache, and changes no
# result. Not a power of two: strides of those fall on the same few cache lines.
_BATCH = 64


class LDAMargins(LinearWhereFew):
    """Out-of-fold linear discriminant analysis with a ridge-shrunk covariance.

    With W the within-class sum of squares of the N training samples, m their mean and
    mu_l the mean of class l, the margin of class l at x is ``(x - m)' V (mu_l - m) -
    (mu_l - m)' V (mu_l - m) / 2``, ``V`` the inverse of ``W + lambda I``: the log
    posterior under equal class priors, up to the factor 1 / (N - K) and a term shared
    by all classes. The penalty lambda is `ridge_penalty`; the result equals refitting.
    ``priors="frequency"`` adds ``log(class share of the training samples) / (N - K)``.
    With equal priors, a class of n training samples loses what the less noise of its
    mean gains, on average over all labelings: ``(1 / n_min - 1 / n) h / (1 - h) / 2``,
    with h the trace of the smoother over N - 1.

    Hastie, Tibshirani & Buja 1994, "Flexible discriminant analysis by optimal scoring",
    section 3. Huang, Tong & Zhao 2010, "Bias-corrected diagonal discriminant rules for
    high-dimensional classification", section 2 (unequal classes). Treder 2019,
    "Cross-validation in high-dimensional spaces", section 3 (folds without refitting).
    """

    name = "lda"
    indicator_bytes = 8
    shrinks = True

    def __init__(self, *, shrinkage: Any = "auto", priors: str = "equal") -> None:
        self.shrinkage = shrinkage
        self.priors = priors

    @property
    def rule(self) -> str:
        """Which margins are made of ridge fits."""
        return self.priors

    def prepare(self, xs: Sequence[np.ndarray], design: Design) -> Any:
        check_priors(self.priors)
        fits = prepare_fits(self.name, xs, design, self.shrinkage)
        return design, len(xs), fits, {}

    def margins(self, state: Any, labelings: Labelings) -> np.ndarray:
        design, n_regions, fits, kept = state
        counts = checked_counts(design, labelings)
        trained = _Trained(design, labelings, counts, self.rule)
        K, B = labelings.n_classes, labelings.n_labelings
        margins = np.empty((len(design.test), K, n_regions, B), fits.dtype)
        # the labelings of one design are all compiled or none, so that equal ones get
        # equal margins to the last bit; no region of few features is left here
        path = path_of("lda", np.inf, design, labelings.n_together, penalized=False)
        for group in fits.operators:
            fill = _fill_compiled if path == "class sums" else _fill
            fill(margins, group, trained)
        for growing in fits.growing:
            _fill_growing(margins, growing, trained)
        for place, region in fits.linear.items():
            fill_linear(margins[:, :, place], linear_margins(region, trained), design)
        flat = margins.reshape(len(design.test), K, n_regions * B)
        if self.rule != "frequency" and are_unequal(counts):
            if "explained" not in kept:
                kept["explained"] = fits.explained(n_regions, design)
            weights = noise_weights(kept["explained"], counts, self.rule)
            level_margins(flat, weights, counts, design)
        return flat


class _Trained(NamedTuple):
    """Labelings in the folds of a design, their training counts (F, K, B), a rule."""

    design: Design
    labelings: Labelings
    counts: np.ndarray
    rule: str

    def compiled(self) -> Any:
        """Return the labelings for compiled loops, with an even number of classes."""
        from neuroextrap.margins.compiled._lda_moments import Group

        fixed = fixed_constants(self.counts, self.rule)
        even = (0, 0), (0, self.counts.shape[1] % 2), (0, 0)
        return Group(
            *self.labelings.sorted_by_class(np.arange(self.design.n_samples)),
            self.labelings.codes.astype(np.int64),
            np.pad(self.counts, even),
            np.pad(fixed, even),
            self.rule == "ridge",
        )


def _fill_compiled(
    margins: np.ndarray, group: RegionOperators, trained: _Trained
) -> None:
    """Fill the margins (n_test, K, n_regions, B) of a group of regions, one by one."""
    from neuroextrap.margins.compiled._lda_moments import Folds, fill_labelings

    design = trained.design
    labelings = trained.labelings.keep(("compiled", trained.rule), trained.compiled)
    folds = design.keep("compiled folds", lambda: Folds(*design.flat_folds))
    for (region, dense), inverses in zip(
        group.each(), group.flat_inverses, strict=True
    ):
        if not fill_labelings(dense, inverses, folds, labelings, margins[:, :, region]):
            raise ValueError(SINGULAR)


def _fill_growing(
    margins: np.ndarray, growing: RegionOperators, trained: _Trained
) -> None:
    """Fill the margins (n_test, K, S, B) of the regions whose training sets grow."""
    from neuroextrap.margins.compiled._lda_moments import fill_regions

    design, labelings, counts, _ = trained
    edges = np.array([0, *(points.stop for points in design.fold_slices)])
    out = np.empty((len(design.test), design.n_classes, len(growing.regions)))
    for labeling, codes in enumerate(labelings.codes):
        one = labelings.some(np.array([labeling]))
        group = trained._replace(labelings=one, counts=counts[:, :, [labeling]])
        fits = growing_fits(growing, np.eye(design.n_classes)[codes], design)
        given = edges, codes[design.test].astype(np.int64), group.compiled()
        if not fill_regions(*fits, *given, out):
            raise ValueError(SINGULAR)
        margins[:, :, as_slice(growing.regions), labeling] = out


def _fill(margins: np.ndarray, group: RegionOperators, trained: _Trained) -> None:
    """Fill the margins of a group of regions, all of them under a few labelings."""
    design, labelings, counts, rule = trained
    width = max(1, _BATCH // len(group.regions))
    for start in range(0, labelings.n_labelings, width):
        part = slice(start, start + width)
        some = labelings.codes[part], counts[:, :, np.newaxis, part]
        for rows, of_fold in _fold_margins(group, design, *some, rule):
            margins[rows, :, as_slice(group.regions), part] = of_fold


def _fold_margins(
    group: RegionOperators, design: Design, codes: Any, counts: Any, rule: str
) -> Iterator[tuple[slice, np.ndarray]]:
    """Yield output rows of a fold and margins (n_test_f, K, S, b) of S regions.

    Arrays with samples carry the batch first, (S, b, n, K), where small matrix products
    are fast, moments (K, K, F, S, b) last: Q = Y'E - E_f' E^_f + d d'/N is what the
    training residuals leave of the diagonal matrix of class counts (F, K, 1, b).
    """
    shares = counts / counts.sum(axis=1, keepdims=True)
    indicators = np.eye(counts.shape[1]).take(codes, axis=0)
    residuals = group.residuals(indicators)
    total = indicators.swapaxes(1, 2) @ residuals  # Y'E over all samples
    S, b, _, K = residuals.shape
    moments, predicted = np.empty((K, K, len(counts), S, b)), []
    for fold, (held, _) in enumerate(design.fold_views):
        inside = residuals[:, :, held]
        errors = group.inverses[fold][:, np.newaxis] @ inside
        moment = total - inside.swapaxes(2, 3) @ errors
        between = counts[fold][:, np.newaxis] * shares[fold]
        np.add(moment.transpose(2, 3, 0, 1), between, out=moments[:, :, fold])
        predicted.append(np.subtract(indicators[:, held], errors, out=errors))
    weights, constants = margin_terms(moments, counts, rule)
    for fold, (_, rows) in enumerate(design.fold_views):
        of_fold = np.ascontiguousarray(weights[:, :, fold].transpose(2, 3, 0, 1))
        scores = predicted[fold][:, :, rows] @ of_fold
        scores = scores.transpose(2, 3, 0, 1) + constants[fold]
        # single precision where the penalty allows it, to the last bit the same for a
        # region in whatever company
        yield design.fold_slices[fold], scores.astype(group.dtype)
