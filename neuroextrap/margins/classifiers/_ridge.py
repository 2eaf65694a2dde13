"""Ridge regression on class indicators as batched margins."""

from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from neuroextrap.design._design import Design, Labelings
from neuroextrap.margins._paths import path_of
from neuroextrap.margins.algebra._grams import (
    centered_grams,
    check_shrinkage,
    gram_penalties,
    round_terms,
)
from neuroextrap.margins.algebra._linear import fill_linear, sorted_samples
from neuroextrap.margins.algebra._operators import RegionOperators, checked_counts
from neuroextrap.margins.algebra._sums import ClassSums, no_folds
from neuroextrap.margins.classifiers._lda import LDAMargins
from neuroextrap.stats._validation import brief, check_numbers

CANDIDATES = (0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)
"""Penalties that are tried, as multiples of the mean scatter of a feature."""

# errors that differ by less are equal, and the largest penalty is taken
_EQUAL = 1 + 1e-9
_PAIRS = 2**22  # numbers in the products of targets that are looked up together


def candidate_penalties(shrinkage: Any) -> tuple[float, ...]:
    """Return the multiples that inner folds choose from, ascending; () for none."""
    if isinstance(shrinkage, str) and shrinkage == "inner_folds":
        return CANDIDATES
    values = np.empty(())
    with suppress(TypeError, ValueError):
        values = check_numbers(shrinkage, "shrinkage")
    if values.ndim != 1:
        check_shrinkage(shrinkage, "inner_folds")
        return ()
    values = np.unique(values)
    if values.dtype.kind not in "iuf" or not (values > 0).all() or len(values) < 2:
        raise ValueError(
            f"shrinkage={brief(shrinkage)} must be two or more different numbers above "
            "0, from which inner folds choose"
        )
    if not np.isfinite(values).all():
        raise ValueError(f"shrinkage={brief(shrinkage)} has NaN or infinity")
    return tuple(values.astype(float).tolist())


class NestedFold(NamedTuple):
    """What one fold does to any targets, with each of A penalties; samples sorted.

    ``errors`` (A, n_pairs) times the products of all pairs of training targets is the
    mean squared error of the inner folds; ``predictors`` (A, n_test, n_train) times the
    targets is what is decoded, about their mean.
    """

    errors: np.ndarray
    predictors: np.ndarray

    @classmethod
    def of(
        cls, gram: np.ndarray, fold: Any, units: np.ndarray, penalties: np.ndarray
    ) -> "NestedFold":
        """Make them from inner products (n, n), and what is left out together (n,)."""
        train, test = np.sort(fold[0]), fold[1]
        part = gram[np.ix_(np.append(train, test), train)]
        part = part - part.mean(axis=1, keepdims=True)
        part = part - part[: len(train)].mean(axis=0)
        inner, across = part[: len(train)], part[len(train) :]
        values, vectors = np.linalg.eigh(inner)
        shrunk = 1 / (values + penalties[:, None])
        inverse = (vectors * shrunk[:, np.newaxis]) @ vectors.T
        residual = penalties[:, None, None] * inverse - 1 / len(train)
        left_out = inner_units(units[train])
        errors = np.empty_like(residual)
        for unit in np.unique(left_out):
            (rows,) = np.nonzero(left_out == unit)
            block = residual[:, rows]
            errors[:, rows] = np.linalg.inv(block[:, :, rows]) @ block
            errors[:, rows] /= np.sqrt(len(rows) * len(np.unique(left_out)))
        first, second = np.tril_indices(len(train))
        squares = (errors.swapaxes(1, 2) @ errors)[:, first, second]
        return cls(squares * (1 + (first != second)), across @ inverse)


def inner_units(units: np.ndarray) -> np.ndarray:
    """Return what inner folds leave out: runs, or samples of a single run."""
    return units if len(np.unique(units)) > 1 else np.arange(len(units))


class InnerFolds:
    """Regions whose penalties inner folds choose."""

    dtype = np.dtype(float)

    def __init__(self, xs: Sequence[np.ndarray], design: Design, kernel: Any) -> None:
        self.design, self.n_regions = design, len(xs)
        self._products, self._units = kernel.targets @ kernel.targets.T, kernel.units
        grams, sizes = centered_grams(xs), np.array([x.shape[1] for x in xs])
        scatter = gram_penalties(grams, sizes, 1.0, design.unlabeled)
        penalties = np.outer(scatter, kernel.candidate_penalties)
        self._regions = list(zip(grams, penalties, strict=True))
        self._last: Any = (None, None)

    @cached_property
    def _folds(self) -> list[list[NestedFold]]:
        """The folds, each a list of all regions."""
        return [
            [NestedFold.of(gram, fold, self._units, p) for gram, p in self._regions]
            for fold in self.design.folds
        ]

    def chosen(self, labelings: Labelings) -> np.ndarray:
        """Return the number of every fold's penalty, (n_regions, n_folds, B)."""
        if self._last[0] is not labelings:
            n_together = max(1, _PAIRS // len(labelings.codes[0]) ** 2)
            starts = range(0, labelings.n_labelings, n_together)
            parts = [labelings.codes[i : i + n_together].T for i in starts]
            numbers = [self._chosen(np.ascontiguousarray(part)) for part in parts]
            self._last = labelings, np.concatenate(numbers, axis=2)
        return self._last[1]

    def _chosen(self, codes: np.ndarray) -> np.ndarray:
        """Return the same for the codes (n_samples, B) of some labelings."""
        first, second = np.tril_indices(len(codes))
        numbers = codes[first] * np.int64(len(self._products)) + codes[second]
        products = self._products.take(numbers)
        chosen = np.empty((self.n_regions, len(self._folds), codes.shape[1]), int)
        for place, ((train, _), regions) in enumerate(
            zip(self.design.folds, self._folds, strict=True)
        ):
            of_fold = products[np.isin(first, train) & np.isin(second, train)]
            errors = np.stack([region.errors for region in regions]) @ of_fold
            least = errors <= errors.min(axis=1, keepdims=True) * _EQUAL
            # of equal errors the largest penalty
            chosen[:, place] = errors.shape[1] - 1 - least[:, ::-1].argmax(axis=1)
        return chosen

    def decoded(self, labelings: Labelings, vectors: Any, _name: str) -> np.ndarray:
        """Decode targets about training means, (n_regions, n_test, B, n_columns)."""
        shape = len(self.design.test), labelings.n_labelings, vectors.shape[1]
        out, chosen = np.empty((self.n_regions, *shape)), self.chosen(labelings)
        for place, (rows, (train, _), regions) in enumerate(
            zip(self.design.fold_slices, self.design.folds, self._folds, strict=True)
        ):
            targets = vectors[labelings.codes[:, np.sort(train)]]
            for region, fold in enumerate(regions):
                values = fold.predictors[chosen[region, place]] @ targets
                out[region, rows] = values.swapaxes(0, 1)
        return out


def inner_fold_bytes(n_penalties: int, n_regions: int, design: Any) -> int:
    """Estimate the memory of the folds of some regions, with that of making one."""
    sizes = [(len(train), len(test)) for train, test in design.folds]
    kept = sum(t * (t + 1) // 2 + t * tested for t, tested in sizes)
    making = 5 * max(t for t, _ in sizes) ** 2
    per_region = n_penalties * kept + 2 * design.n_samples**2
    return 8 * (n_regions * per_region + n_penalties * making) + 16 * _PAIRS


class RidgeMargins(LDAMargins):
    """Out-of-fold ridge regression of the class indicators on a region's features.

    The intercept is free and the penalty (`ridge_penalty`) the same in every fold. The
    margin of a class is its predicted indicator: one fixed matrix times the indicators.

    Where classes are unequal, that would favor the large ones. Then the margin of class
    l at x is ``(x - m)' A (mu_l - m) N / K``, up to a term shared by all classes, with
    A the inverse of the total scatter of the N training samples plus the penalty, mu_l
    the means of the K classes and m the mean of these. If classes are equal, that is
    the predicted indicator minus 1 / K. A class of n training samples also loses what
    the less noise of its mean gains, on average over all labelings: ``(1 / n_min - 1 /
    n) h N / K^2``, with h the trace of the smoother over N - 1.

    Hastie, Tibshirani & Friedman 2009, "The Elements of Statistical Learning", section
    4.2 (indicator regression) and eq. 7.64 (leave-one-out by the smoother).
    """

    name = "ridge"
    indicator_bytes = 4
    rule = "ridge"  # of unequal classes, from the sums of lda

    def __init__(self, *, shrinkage: Any = "auto") -> None:
        super().__init__(shrinkage=shrinkage)

    def margins(self, state: Any, labelings: Labelings) -> np.ndarray:
        design, n_regions, fits, _ = state
        given = self.name, np.inf, design, labelings.n_together
        path = path_of(*given, penalized=False)
        grows = not all(group.inverses for group in fits.operators)
        if path != "class sums" or grows:
            return super().margins(state, labelings)
        balances = labelings.keep("by balance", partial(_by_balance, labelings, design))
        parts = []
        for columns, some, balanced in balances:
            make = self._equal_margins if balanced else super().margins
            parts.append((columns, make(state, some)))
        if len(parts) == 1:
            return parts[0][1]
        shape = len(design.test), labelings.n_classes, n_regions, labelings.n_labelings
        margins = np.empty(shape, parts[0][1].dtype)
        for columns, part in parts:
            margins[..., columns] = part.reshape(*shape[:3], -1)
        return margins.reshape(*shape[:2], -1)

    def _equal_margins(self, state: Any, labelings: Labelings) -> np.ndarray:
        """Return margins where classes are equal: exact sums of operators by class."""
        design, n_regions, fits, _ = state
        K, B, n_test = labelings.n_classes, labelings.n_labelings, len(design.test)
        margins = np.empty((n_regions, B, K, n_test), fits.dtype)
        for regions, sums in _sums(state):
            every_region = len(regions) == n_regions
            some = len(regions), B, K, n_test
            own = margins if every_region else np.empty(some, sums.dtype)
            sums.fill(sorted_samples(labelings), no_folds(), own)
            if not every_region:
                margins[regions] = own
        for place, linear in zip(fits.linear, self.linear(state), strict=True):
            out = margins[place].transpose(2, 1, 0)
            fill_linear(out, [linear], labelings, design)
        return margins.transpose(3, 2, 0, 1).reshape(n_test, K, -1)

    def count_operators(
        self, state: Any, labelings: Labelings, out: np.ndarray
    ) -> None:
        by_class, design = sorted_samples(labelings), state[0]
        for regions, sums in _sums(state):
            every_region = len(regions) == out.shape[1]
            own = out if every_region else np.empty_like(out[:, : len(regions)])
            sums.count(by_class, no_folds(), labelings, design, own)
            if not every_region:
                out[:, regions] = own


def _by_balance(
    labelings: Labelings, design: Design
) -> list[tuple[Any, Labelings, bool]]:
    """Return (columns, labelings, whether all classes train equally often)."""
    counts = checked_counts(design, labelings)
    equal = (counts == counts[:, :1]).all(axis=(0, 1))
    if equal.all() or not equal.any():
        return [(slice(None), labelings, bool(equal.all()))]
    parts = (True, np.flatnonzero(equal)), (False, np.flatnonzero(~equal))
    return [(columns, labelings.some(columns), is_so) for is_so, columns in parts]


def out_of_fold(group: RegionOperators, design: Design, dtype: Any) -> np.ndarray:
    """Return C with out-of-fold predictions C @ Y, (n_regions, n_test, n_samples)."""
    dense = np.stack([dense for _, dense in group.each()])
    shape = (len(group.regions), len(design.test), design.n_samples)
    predictor = np.empty(shape, dtype)
    for fold, (held, rows) in enumerate(design.fold_views):
        block = -group.inverses[fold][:, rows] @ dense[:, held]
        block[:, :, held] = 0.0  # exactly: a held-out label never enters
        predictor[:, design.fold_slices[fold]] = block
    return predictor


def _sums(state: Any) -> list[tuple[np.ndarray, ClassSums]]:
    """Return (regions, their sums) of a state, kept there."""
    design, _, fits, kept = state
    if "sums" not in kept:
        kept["sums"] = [(g.regions, _class_sums(g, design)) for g in fits.operators]
    return kept["sums"]


def _class_sums(group: RegionOperators, design: Design) -> ClassSums:
    """Return C' of predictions C @ Y, rounded so that its sums by class are exact."""
    operators = round_terms(out_of_fold(group, design, float), design.n_samples)
    tables = np.ascontiguousarray(operators.swapaxes(1, 2))
    return ClassSums(tables, np.empty((len(tables), 0, 0)), group.dtype)
