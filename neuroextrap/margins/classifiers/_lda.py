"""Multi-class shrinkage discriminant analysis as batched margins, exactly."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from neuroextrap.design._design import Design, Labelings, as_slice
from neuroextrap.margins._best_classes import BestClasses, times_equal_weight
from neuroextrap.margins._kernel import MarginKernel
from neuroextrap.margins.algebra._forms import split_by_form
from neuroextrap.margins.algebra._linear import fill_linear, shares_of_linear
from neuroextrap.margins.algebra._operators import (
    RegionOperators,
    check_priors,
    checked_counts,
)
from neuroextrap.margins.algebra._tall import is_tall, tall_bytes, tall_workspace
from neuroextrap.margins.classifiers._lda_algebra import (
    batch_first,
    margin_terms,
)
from neuroextrap.margins.classifiers._lda_compiled import (
    compiled_batches,
    count_compiled,
    fill_compiled,
)
from neuroextrap.margins.classifiers._lda_growing import fill_growing
from neuroextrap.margins.classifiers._lda_tall import linear_tall

# Both keep the work in cache, and change no result. Not powers of two: strides of
# a power of two fall on the same few cache lines.
BATCH = 64  # labelings times regions handled together

# beyond either the K x K steps are work for BLAS, not for small loops
MAX_COMPILED_CLASSES = 32
# samples (or test points) times classes: more of them would not stay in cache
MAX_COMPILED_SIZE = 2**14


class LDAMargins(BestClasses, MarginKernel):
    """Out-of-fold linear discriminant analysis with a ridge-shrunk covariance.

    With W the within-class sum of squares of the training samples, m their mean
    and mu_l the mean of class l, the margin of class l at x is
    ``(x - m)' V (mu_l - m) - (mu_l - m)' V (mu_l - m) / 2``, ``V`` the inverse of
    ``W + lambda I``: the log posterior under equal class priors, up to the factor
    1 / (N - K) and a term shared by all classes (N training samples). The penalty
    lambda comes from the region's total, unlabeled scatter (see `ridge_penalty` for
    ``shrinkage``), so nothing but K x K inverses is left for each fold and labeling;
    the result equals refitting. ``priors="frequency"`` adds
    ``log(class share of the training samples) / (N - K)``.

    The K x K steps are compiled: several times faster with many labelings. A single
    labeling, more than 32 classes or large designs are left to numpy, equal up to
    rounding in float64. Margins are computed in float64 and rounded to float32 where
    the penalty is at least 0.01 of the mean squared norm of the centered samples.

    Hastie, Tibshirani & Buja 1994, "Flexible discriminant analysis by optimal
    scoring", section 3 (discriminant analysis from indicator regression). Treder 2019,
    "Cross-validation in high-dimensional spaces: a lifeline for least squares models
    and multi-class LDA", section 3 (folds without refitting).
    """

    name = "lda"
    indicator_bytes = 8
    shrinks = True

    def __init__(
        self,
        *,
        shrinkage: Any = "auto",
        priors: str = "equal",
    ) -> None:
        self.shrinkage = shrinkage
        self.priors = priors

    def __repr__(self) -> str:
        """Show the parameters."""
        return f"LDAMargins(shrinkage={self.shrinkage!r}, priors={self.priors!r})"

    @property
    def rule(self) -> str:
        """Which margins are made of ridge fits."""
        return self.priors

    def prepare(self, xs: Any, design: Design) -> Any:
        """Compute each region's residual operator and its held-out inverses."""
        check_priors(self.priors)
        forms = split_by_form(xs, design, shrinkage=self.shrinkage, solves_classes=True)
        return design, len(xs), forms

    def margins(self, state: Any, labelings: Labelings) -> np.ndarray:
        design, n_regions, forms = state
        counts = checked_counts(design, labelings)
        K, B = labelings.n_classes, labelings.n_labelings
        margins = np.empty((len(design.test), K, n_regions, B), forms.dtype)
        compiled = self._is_compiled(design, labelings)
        for group in forms.operators:
            if compiled:
                fill_compiled(margins, group, design, labelings, self.rule)
            else:
                _fill(margins, group, design, labelings, counts, self.rule)
        if forms.growing is not None:
            fill_growing(
                margins,
                forms.growing,
                design,
                labelings,
                counts,
                rule=self.rule,
                compiled=K <= MAX_COMPILED_CLASSES,
            )
        for place, region in forms.tall.items():
            linear = linear_tall(region, design, labelings, counts, self.rule)
            fill_linear(margins[:, :, place], linear, design)
        return margins.reshape(len(design.test), K, n_regions * B)

    def stores_margins(self, state: Any) -> bool:
        return not state[2].all_tall

    def counts_in_place(self, design: Design) -> bool:
        return self._may_compile(design)

    def best_shares(self, state: Any, labelings: Labelings, weights: Any) -> Any:
        design, n_regions, forms = state
        if forms.all_tall:
            counts = checked_counts(design, labelings)
            linear = (
                linear_tall(region, design, labelings, counts, self.rule)
                for region in forms.tall.values()
            )
            return shares_of_linear(linear, design, labelings, weights)
        compiled = self._is_compiled(design, labelings)
        if not compiled or forms.tall or forms.growing is not None:
            return None
        batches = compiled_batches(labelings, design, self.rule, weights)
        shares = np.empty((n_regions, labelings.n_labelings))
        for group in forms.operators:
            count_compiled(shares, group, design, batches, forms.dtype)
        return times_equal_weight(shares.reshape(-1), weights)

    def workspace(self, n_features: int, n_regions: int, design: Any) -> int:
        if is_tall(n_features, design, solves_classes=True):
            of_one = tall_workspace(n_features, design, of_a_point=16)
            return n_regions * of_one
        return super().workspace(n_features, n_regions, design)

    def direct_bytes(self, n_features: int, design: Any) -> int | None:
        return tall_bytes(n_features, design, float, solves_classes=True)

    def _is_compiled(self, design: Design, labelings: Labelings) -> bool:
        """Whether labelings are many enough, and small enough, for compiled loops.

        The labelings of one design are all compiled or none, so that equal ones
        get equal margins to the last bit.
        """
        return self._may_compile(design) and labelings.n_together > 1

    def _may_compile(self, design: Design) -> bool:
        """Whether designs are small enough for compiled loops."""
        size = max(design.n_samples, len(design.test)) * design.n_classes
        return design.n_classes <= MAX_COMPILED_CLASSES and size <= MAX_COMPILED_SIZE


def _fill(
    margins: np.ndarray,
    group: RegionOperators,
    design: Design,
    labelings: Labelings,
    counts: np.ndarray,
    rule: str,
) -> None:
    """Fill the margins of a group of regions, all of them under a few labelings."""
    width = max(1, BATCH // len(group.regions))
    regions = as_slice(group.regions)
    for start in range(0, labelings.n_labelings, width):
        part = slice(start, start + width)
        batch = _Batch(group, design, labelings.codes[part], counts[..., part])
        for rows, fold_margins in batch.margins(rule):
            margins[rows, :, regions, part] = fold_margins


class _Batch:
    """Some labelings (b) of a group of regions (S), in all folds (F).

    Arrays with samples carry the batch first, (S, b, n, K), where small matrix
    products are fast; the K x K inverses carry it last. Held-out samples of all
    folds lie one fold after the other.
    """

    def __init__(
        self,
        group: RegionOperators,
        design: Design,
        codes: np.ndarray,
        counts: np.ndarray,
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

        The moment matrix is Q = Y'E - E_f' E^_f + d d'/N: what the training
        residuals leave of the class counts' diagonal matrix.
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
