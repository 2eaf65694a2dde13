"""Multi-class shrinkage discriminant analysis as batched margins, exactly."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from neuroextrap.design._design import Design, Labelings, as_slice
from neuroextrap.margins._paths import path_of
from neuroextrap.margins.algebra._linear import LinearWhereFew, fill_linear
from neuroextrap.margins.algebra._operators import (
    GrowingRegions,
    RegionOperators,
    are_unequal,
    check_priors,
    checked_counts,
    growing_fits,
    level_margins,
    prepare_fits,
)
from neuroextrap.margins.classifiers._lda_algebra import (
    SINGULAR,
    batch_first,
    fixed_constants,
    linear_margins,
    margin_terms,
    noise_weights,
)

# Labelings times regions handled together: keeps the work in cache, and changes no
# result. Not a power of two: strides of those fall on the same few cache lines.
_BATCH = 64


class LDAMargins(LinearWhereFew):
    """Out-of-fold linear discriminant analysis with a ridge-shrunk covariance.

    With W the within-class sum of squares of the training samples, m their mean
    and mu_l the mean of class l, the margin of class l at x is
    ``(x - m)' V (mu_l - m) - (mu_l - m)' V (mu_l - m) / 2``, ``V`` the inverse of
    ``W + lambda I``: the log posterior under equal class priors, up to the factor
    1 / (N - K) and a term shared by all classes (N training samples). The penalty
    lambda is `ridge_penalty`, so nothing but K x K inverses is left for each fold and
    labeling; the result equals refitting. ``priors="frequency"`` adds
    ``log(class share of the training samples) / (N - K)``. With equal priors, a class
    of n training samples loses what the less noise of its mean gains, on average over
    all labelings: ``(1 / n_min - 1 / n) h / (1 - h) / 2``, with h the trace of the
    smoother of the N training samples over N - 1.

    Margins are computed in float64 and rounded to float32 where the penalty is at least
    0.01 of the mean squared norm of the centered samples.

    Hastie, Tibshirani & Buja 1994, "Flexible discriminant analysis by optimal
    scoring", section 3 (discriminant analysis from indicator regression). Huang, Tong &
    Zhao 2010, "Bias-corrected diagonal discriminant rules for high-dimensional
    classification", section 2 (unequal classes). Treder 2019,
    "Cross-validation in high-dimensional spaces: a lifeline for least squares models
    and multi-class LDA", section 3 (folds without refitting).
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
        if fits.growing is not None:
            _fill_growing(margins, fits.growing, trained)
        for place, region in fits.linear.items():
            fill_linear(margins[:, :, place], linear_margins(region, *trained), design)
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
    for s, region in enumerate(group.regions):
        dense, inverses = group.dense_of(s), group.flat_inverses[s]
        if not fill_labelings(dense, inverses, folds, labelings, margins[:, :, region]):
            raise ValueError(SINGULAR)


def _fill_growing(
    margins: np.ndarray, growing: GrowingRegions, trained: _Trained
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
        if not fill_regions(fits.errors, fits.residual, *given, out):
            raise ValueError(SINGULAR)
        margins[:, :, as_slice(growing.regions), labeling] = out


def _fill(margins: np.ndarray, group: RegionOperators, trained: _Trained) -> None:
    """Fill the margins of a group of regions, all of them under a few labelings."""
    design, labelings, counts, rule = trained
    width = max(1, _BATCH // len(group.regions))
    for start in range(0, labelings.n_labelings, width):
        part = slice(start, start + width)
        batch = _Batch(group, design, labelings.codes[part], counts[..., part])
        for rows, fold_margins in batch.margins(rule):
            margins[rows, :, as_slice(group.regions), part] = fold_margins


class _Batch:
    """Some labelings (b) of a group of regions (S), in all folds (F).

    Arrays with samples carry the batch first, (S, b, n, K), where small matrix products
    are fast; K x K inverses last. Held-out samples lie fold after fold.
    """

    def __init__(
        self, group: RegionOperators, design: Design, codes: Any, counts: Any
    ) -> None:
        K = counts.shape[1]
        self.group = group
        self.design = design
        self.counts = counts[:, :, None]  # (F, K, 1, b)
        self.shares = self.counts / self.counts.sum(axis=1, keepdims=True)
        indicators = np.eye(K).take(codes, axis=0)
        residuals = group.residuals(indicators)
        # Y'E over all samples, (S, b, K, K)
        self.total = indicators.swapaxes(1, 2) @ residuals
        order = as_slice(np.concatenate(design.held_out))
        self.indicators = indicators[:, order]
        self.residuals = residuals[:, :, order]
        edges = np.cumsum([0, *(len(held) for held in design.held_out)])
        self.folds = [slice(a, b) for a, b in pairwise(edges)]

    def margins(self, rule: str) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield output rows of a fold and their margins, shape (n_test_f, K, S, b)."""
        predicted, moments = self._held_out()
        weights, constants = margin_terms(moments, self.counts, rule)
        for fold, (_, rows) in enumerate(self.design.fold_views):
            of_fold = batch_first(weights[:, :, fold])
            scores = predicted[:, :, self.folds[fold]][:, :, rows] @ of_fold
            scores = scores.transpose(2, 3, 0, 1) + constants[fold]
            # single precision where the penalty allows it, to the last bit the same
            # for a region in whatever company
            yield self.design.fold_slices[fold], scores.astype(self.group.dtype)

    def _held_out(self) -> tuple[np.ndarray, np.ndarray]:
        """Out-of-fold predictions (S, b, n_held, K) and moments (K, K, F, S, b).

        Moments are Q = Y'E - E_f' E^_f + d d'/N: what the training residuals leave of
        the class counts' diagonal matrix.
        """
        S, b, _, K = self.residuals.shape
        errors = np.empty_like(self.residuals)
        moments = np.empty((K, K, len(self.folds), S, b))
        for fold, columns in enumerate(self.folds):
            inside, error = self.residuals[:, :, columns], errors[:, :, columns]
            np.matmul(self.group.inverses[fold][:, None], inside, out=error)
            moment = self.total - inside.swapaxes(2, 3) @ error
            between = self.counts[fold][:, None] * self.shares[fold]
            np.add(moment.transpose(2, 3, 0, 1), between, out=moments[:, :, fold])
        return np.subtract(self.indicators, errors, out=errors), moments
