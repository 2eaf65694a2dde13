"""Ridge penalties that inner folds choose, anew in every fold and for every labeling.

In a fold of the cross-validation every run of its training samples is left out once
more, and the penalty with the least mean squared error there decodes the tested
samples, which no choice has seen. The errors are a quadratic form in the targets, one
matrix for every fold and penalty: of permuted targets they are one more product.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from neuroextrap.design._design import Design, Labelings
from neuroextrap.margins.algebra._grams import (
    centered_grams,
    check_shrinkage,
    gram_penalties,
)
from neuroextrap.stats._validation import brief, check_numbers

CANDIDATES = (0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)
"""Penalties that are tried, as multiples of the mean scatter of a feature."""

# errors that differ by less are equal, and the largest penalty is taken
_EQUAL = 1 + 1e-9
_PAIRS = 2**22  # numbers in the products of targets that are looked up together


def candidate_penalties(shrinkage: Any) -> tuple[float, ...]:
    """Return the multiples that inner folds choose from, ascending; () for none.

    `shrinkage` is "inner_folds", a sequence of numbers above 0, or what
    `check_shrinkage` accepts; ValueError or TypeError otherwise.
    """
    if isinstance(shrinkage, str) and shrinkage == "inner_folds":
        return CANDIDATES
    try:
        values = check_numbers(shrinkage, "shrinkage")
    except (TypeError, ValueError):
        values = np.empty(())
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

    ``errors`` (A, n_pairs) times the products of the targets of all pairs of training
    samples is the mean squared error of the inner folds, summed over columns;
    ``predictors`` (A, n_test, n_train) times the targets is what is decoded, about
    their training mean.
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
            found = [self._chosen(np.ascontiguousarray(part)) for part in parts]
            self._last = labelings, np.concatenate(found, axis=2)
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

    def decoded(self, labelings: Labelings, vectors: np.ndarray) -> np.ndarray:
        """Decode the targets `vectors` (K, n_columns), about their training means.

        Shape (n_regions, n_test, B, n_columns).
        """
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
