"""Nearest class mean and nearest neighbor as batched margins."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from neuroextrap.design._design import Design, Labelings, as_slice
from neuroextrap.margins._kernel import AdditiveKernel, MarginKernel
from neuroextrap.margins._paths import path_of
from neuroextrap.margins._wins import NAN_MARGINS
from neuroextrap.margins.algebra._grams import centered_gram, rounded_grams
from neuroextrap.margins.algebra._linear import (
    Linear,
    LinearWhereFew,
    centered,
    class_sums,
    empty_linear,
    fill_linear,
)
from neuroextrap.margins.algebra._operators import (
    are_unequal,
    check_regions,
    checked_counts,
    compiled_chains,
    level_margins,
    test_edges,
)
from neuroextrap.margins.algebra._sums import ClassSums

_FOLDS_AT_ONCE = 8  # whose means are made by one product; changes no result
_MOST_FEATURES = 4  # a sample; of more, their inner products have fewer numbers


class NearestCentroidMargins(LinearWhereFew, AdditiveKernel):
    """Margins of the nearest class mean: 2 x'mu_l - mu_l'mu_l.

    This is minus the squared Euclidean distance to the mean of class l of the training
    samples, plus a number that is the same for every class. Where classes are unequal,
    a class of n training samples loses what the less noise of its mean gains, on
    average over all labelings: ``(1 / n_min - 1 / n) s``, with s the variance of the
    training samples, summed over features. (Huang, Tong & Zhao 2010, "Bias-corrected
    diagonal discriminant rules for high-dimensional classification", section 2.)
    """

    name = "nearest_centroid"
    marginal = True
    indicator_bytes = 8
    counts_sums = True
    of_a_margin = 4

    def margins_of_folds(
        self, X: Any, codes: Any, design: Design, folds: Any
    ) -> Iterator[np.ndarray]:
        features = np.ascontiguousarray(X.T, dtype=np.float32)
        exact, classes = features.astype(float), np.eye(design.n_classes)[codes]
        means = training_means(exact, classes, design)
        for some in folds:
            part = design.some_folds(some)
            shape = len(features), len(part.test), design.n_classes
            margins = np.empty(shape, dtype=np.float32)
            for (train, test), rows in zip(part.folds, part.fold_slices, strict=True):
                mean = next(means).astype(np.float32)[:, np.newaxis]
                np.subtract(
                    2 * features[:, test, np.newaxis], mean, out=margins[:, rows]
                )
                margins[:, rows] *= mean
                noise = 1.0 / classes[train].sum(axis=0)
                if np.ptp(noise):
                    spread = exact[:, train].var(axis=1, ddof=1)
                    gains = np.multiply.outer(spread, noise - noise.max())
                    margins[:, rows] += gains[:, np.newaxis]
            yield margins

    def prepare(self, xs: Sequence[np.ndarray], design: Design) -> Any:
        """Return inner products (S, n, n) in the design's order, or samples."""
        path = path_of(self.name, np.inf, design)
        if path == "linear":
            return xs, {}, design, path, [_linear(x, design) for x in xs]
        grams = rounded_grams(xs)
        if design.tests_each_once and (np.diff(design.order) != 1).any():
            grams = grams[:, design.order[:, np.newaxis], design.order]
        return xs, {}, design, path, np.ascontiguousarray(grams)

    def linear(self, state: Any) -> Sequence[Linear]:
        return state[-1]

    def keeps_margins(self, n_features: int, plan: Any) -> bool:
        path = path_of(self.name, n_features, plan.design)
        held_out = path == "class sums" and not plan.design.tests_each_once
        return held_out or super().keeps_margins(n_features, plan)

    def count(
        self, state: Any, labelings: Labelings, design: Design, out: np.ndarray
    ) -> None:
        if state[3] == "linear":
            super().count(state, labelings, design, out)
            return
        _check_products(state[-1], design, labelings)
        sums = _sums(state)
        sums.count(*_by_class(design, labelings), labelings, design, out)

    def margins(self, state: Any, labelings: Labelings) -> np.ndarray:
        xs, kept, design, path, regions = state
        shape = len(design.test), labelings.n_classes, len(xs) * labelings.n_labelings
        if path == "linear":
            margins = empty_linear(len(xs), labelings, design, np.float32)
            for place, linear in enumerate(regions):
                fill_linear(margins[:, :, place], [linear], labelings, design)
        else:
            margins = _from_products(state, labelings)
        margins = margins.reshape(shape)
        counts = labelings.training_counts(design)
        if are_unequal(counts):
            if "spreads" not in kept:
                kept["spreads"] = _spreads(xs, design)
            level_margins(margins, kept["spreads"], counts, design)
        return margins


def _spreads(xs: Sequence[np.ndarray], design: Design) -> np.ndarray:
    """Return the variances of training samples, summed over features, (S, F)."""
    spreads = np.empty((len(xs), len(design.folds)))
    for s, f in np.ndindex(spreads.shape):
        x = xs[s][design.folds[f][0]]
        spreads[s, f] = x.var(axis=0, ddof=1, dtype=float).sum()
    return spreads


def _linear(x: np.ndarray, design: Design) -> Linear:
    """Return what makes a region's margins, in few dimensions where p is large."""
    if x.shape[1] <= _MOST_FEATURES * len(x):
        x = centered(x)
    else:
        values, vectors = np.linalg.eigh(centered_gram(x))
        x = np.ascontiguousarray(vectors * np.sqrt(np.maximum(values, 0.0)))
    points = x[as_slice(design.test)].astype(np.float32)
    return Linear(points, partial(_rules, x, design))


def _rules(
    x: np.ndarray, design: Design, labelings: Labelings
) -> tuple[np.ndarray, np.ndarray]:
    """Return weights and offsets, as `Linear` has, of samples about their mean."""
    means = class_sums(x, design, labelings)
    means /= labelings.training_counts(design).swapaxes(1, 2)[..., np.newaxis]
    return 2.0 * means, -np.einsum("fbkp,fbkp->fbk", means, means)


def _from_products(state: Any, labelings: Labelings) -> np.ndarray:
    """Return the margins (n_test, K, S, B) of regions from inner products."""
    _, _, design, path, grams = state
    _check_products(grams, design, labelings)
    shape = labelings.n_labelings, labelings.n_classes, len(design.test)
    margins = np.empty((len(grams), *shape), dtype=np.float32)
    if path == "growing folds":
        _fill_growing(grams, design, labelings, margins)
    elif design.tests_each_once:
        _sums(state).fill(*_by_class(design, labelings), margins)
    else:
        _fill_held_out(grams, design, labelings, margins)
    return margins.transpose(3, 2, 0, 1)


def _check_products(grams: np.ndarray, design: Design, labelings: Labelings) -> None:
    """Raise unless every class has training samples, and all products are finite."""
    lengths = np.einsum("snn->sn", grams)  # no product is larger
    has_all = labelings.training_counts(design).min() >= 1
    if not has_all or not np.isfinite(lengths).all():
        raise ValueError(NAN_MARGINS)


def _factors(design: Design, labelings: Labelings) -> tuple[np.ndarray, np.ndarray]:
    """Return 2 / n and 1 / n^2 of the n training samples of a class, (B, F, K) each."""
    counts = labelings.training_counts(design).transpose(2, 0, 1).astype(float)
    counts = np.ascontiguousarray(counts)
    return 2.0 / counts, 1.0 / (counts * counts)


def _sums(state: Any) -> ClassSums:
    """Return the sums of folds that test every sample once, kept with their state."""
    _, kept, design, _, grams = state
    if "sums" not in kept:
        together = design.fold_of_test[:, np.newaxis] == design.fold_of_test
        kept["sums"] = ClassSums(np.where(together, 0.0, grams), grams, np.float32)
    return kept["sums"]


def _by_class(design: Design, labelings: Labelings) -> tuple[Any, Any]:
    """Return samples by class and folds for compiled sums, kept with the labelings."""
    from neuroextrap.margins.compiled._class_sums import Folds, Sorted

    def make() -> Any:
        edges = test_edges(design).astype(np.uint32)
        of_sample = design.fold_of_test.astype(np.uint32)
        folds = Folds(of_sample, edges, *_factors(design, labelings))
        return Sorted(*labelings.sorted_by_class(design.order)), folds

    return labelings.keep("class sums", make)


def _fill_held_out(
    grams: np.ndarray, design: Design, labelings: Labelings, margins: np.ndarray
) -> None:
    """Fill the margins (S, B, K, n_test) of folds that repeat or leave out samples."""
    from neuroextrap.margins.compiled._class_sums import Sorted, fill_held_out_margins
    from neuroextrap.margins.compiled._lda_labelings import Folds

    def make() -> Any:
        every = np.arange(design.n_samples)
        by_class = Sorted(*labelings.sorted_by_class(every))
        return by_class, labelings.codes.astype(np.uint32), _factors(design, labelings)

    by_class, codes, factors = labelings.keep("sums beside held-out samples", make)
    folds = design.keep("compiled folds", lambda: Folds(*design.flat_folds))
    fill_held_out_margins(grams, by_class, codes, folds, factors, margins)


def _fill_growing(
    grams: np.ndarray, design: Design, labelings: Labelings, margins: np.ndarray
) -> None:
    """Fill the margins (S, B, K, n_test) of folds whose training sets grow."""
    from neuroextrap.margins.compiled._growing_folds import fill_growing_margins

    codes = labelings.codes.astype(np.uint32)
    chains = design.keep("compiled chains", partial(compiled_chains, design))
    twice, inverse = labelings.keep("factors", partial(_factors, design, labelings))
    fill_growing_margins(grams, codes, chains, twice, inverse, margins)


def training_means(x: Any, classes: Any, design: Design) -> Iterator[np.ndarray]:
    """Yield class means (p, K) of x (p, n), classes (n, K), fold after fold."""
    trained = [train for train, _ in design.folds]
    for start in range(0, len(trained), _FOLDS_AT_ONCE):
        some = trained[start : start + _FOLDS_AT_ONCE]
        shares = np.zeros((len(some), *classes.shape))
        for share, train in zip(shares, some, strict=True):
            share[train] = classes[train]
            share /= share.sum(axis=0)
        means = x @ shares.transpose(1, 0, 2).reshape(len(classes), -1)
        yield from np.split(means, len(some), axis=1)


class NearestNeighborMargins(MarginKernel):
    """Minus the squared distance from the test point to the nearest sample of a class.

    Where classes are unequal, it is the mean of that over all random subsets of the
    class with as many training samples as the rarest class has. (Cover & Hart 1967,
    "Nearest neighbor pattern classification", section III.)
    """

    name = "nearest_neighbor"
    marginal = True
    indicator_bytes = 0

    def prepare(self, xs: Any, design: Design) -> Any:
        """Sort samples by their distances to test points, (S, n_test, n)."""
        check_regions(xs, design)
        outside = np.ones((len(design.test), design.n_samples), dtype=bool)
        for (train, _), rows in zip(design.folds, design.fold_slices, strict=True):
            outside[rows, train] = False
        distances = np.empty((len(xs), *outside.shape))
        for x, out in zip(xs, distances, strict=True):
            gram = centered_gram(x)
            norms = np.diagonal(gram)
            squared = norms[:, None] + norms - 2.0 * gram
            np.maximum(squared, 0.0, out=squared)
            out[:] = np.where(outside, np.inf, squared[design.test])
        order = np.argsort(distances, axis=2, kind="stable")
        return design, order, np.take_along_axis(distances, order, axis=2)

    def margins(self, state: Any, labelings: Labelings) -> np.ndarray:
        from neuroextrap.margins.compiled._class_sums import fill_nearest

        design, order, distances = state
        counts = checked_counts(design, labelings)
        K, B = labelings.n_classes, labelings.n_labelings
        margins = np.empty((len(design.test), K, len(order), B))
        fill_nearest(
            order, distances, labelings.codes, counts, design.fold_of_test, margins
        )
        return margins.reshape(len(margins), K, -1)
