"""Nearest class mean and nearest neighbor as batched margins."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from neuroextrap.design._design import Design, Labelings
from neuroextrap.margins._kernel import AdditiveKernel, MarginKernel
from neuroextrap.margins._paths import path_of
from neuroextrap.margins._wins import NAN_MARGINS
from neuroextrap.margins.algebra._grams import (
    centered_gram,
    centered_grams,
    rounded_grams,
)
from neuroextrap.margins.algebra._linear import (
    ClassSums,
    Linear,
    LinearWhereFew,
    centered,
    fill_linear,
)
from neuroextrap.margins.algebra._operators import (
    are_unequal,
    check_regions,
    checked_counts,
    level_margins,
)

_FOLDS_AT_ONCE = 8  # whose means are made by one product; changes no result


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
    of_a_point, of_a_margin = 4, 4

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
        """Return inner products (S, n, n) in the design's order, or class sums."""
        paths = [path_of(self.name, x.shape[1], design) for x in xs]
        linear = {}
        for place, path in enumerate(paths):
            if path == "linear":
                x = centered(xs[place])
                linear[place] = ClassSums(x, design), x[design.test].astype(np.float32)
        others = [place for place in range(len(xs)) if place not in linear]
        if not others:
            none = np.empty((0, design.n_samples, design.n_samples))
            return xs, {}, design, none, "", linear
        path = paths[others[0]]
        whole = xs if not linear else [xs[place] for place in others]
        grams = (centered_grams if path == "products" else rounded_grams)(whole)
        if (np.diff(design.order) != 1).any():
            grams = grams[:, design.order[:, np.newaxis], design.order]
        return xs, {}, design, grams, path, linear

    def margins(self, state: Any, labelings: Labelings) -> np.ndarray:
        xs, kept, design, grams, path, linear = state
        margins = _unleveled(design, grams, path, linear, labelings)
        counts = labelings.training_counts(design)
        if are_unequal(counts):
            if "spreads" not in kept:  # variances, summed over features, (S, F)
                kept["spreads"] = spreads = np.empty((len(xs), len(design.folds)))
                for s, f in np.ndindex(spreads.shape):
                    x = xs[s][design.folds[f][0]]
                    spreads[s, f] = x.var(axis=0, ddof=1, dtype=float).sum()
            level_margins(margins, kept["spreads"], counts, design)
        return margins


def _unleveled(
    design: Design, grams: Any, path: str, linear: Any, labelings: Labelings
) -> np.ndarray:
    """Return the margins (n_test, K, S * B) as they are."""
    if not linear:
        return _margins(grams, path, design, labelings)
    n_regions = len(grams) + len(linear)
    K, B = labelings.n_classes, labelings.n_labelings
    margins = np.empty((len(design.test), K, n_regions, B), dtype=np.float32)
    counts = labelings.training_counts(design)
    for place, region in linear.items():
        fill_linear(margins[:, :, place], _linear(region, labelings, counts), design)
    others = [place for place in range(n_regions) if place not in linear]
    if others:
        of_grams = _margins(grams, path, design, labelings)
        margins[:, :, others] = of_grams.reshape(-1, K, len(others), B)
    return margins.reshape(-1, K, n_regions * B)


def _linear(region: tuple[ClassSums, Any], labelings: Any, counts: Any) -> Linear:
    """Return the margins of a region of few features; ``counts`` (F, K, B)."""
    sums, points = region
    means = sums.of(labelings)
    means /= counts.swapaxes(1, 2)[..., None]
    squares = np.einsum("fbkp,fbkp->fbk", means, means)
    means *= 2.0
    return Linear(points, means, -squares)


def _margins(
    grams: np.ndarray, path: str, design: Design, labelings: Labelings
) -> np.ndarray:
    """Return the margins (n_test, K, S * B) of regions from inner products."""
    if path == "products":
        return _gram_margins(grams, design, labelings)
    counts = labelings.training_counts(design)
    lengths = np.einsum("snn->sn", grams)  # no product is larger
    if counts.min() < 1 or not np.isfinite(lengths).all():
        raise ValueError(NAN_MARGINS)
    n_regions, B = len(grams), labelings.n_labelings
    shape = n_regions, B, labelings.n_classes, len(design.test)
    margins = np.empty(shape, dtype=np.float32)
    fill = _fill_class_sums if path == "class sums" else _fill_growing
    fill(grams, design, labelings, margins)
    return margins.transpose(3, 2, 0, 1).reshape(shape[3], shape[2], n_regions * B)


def _factors(design: Design, labelings: Labelings) -> tuple[np.ndarray, np.ndarray]:
    """Return 2 / n and 1 / n^2 of the n training samples of a class, (B, F, K) each."""
    counts = labelings.training_counts(design).transpose(2, 0, 1).astype(float)
    counts = np.ascontiguousarray(counts)
    return 2.0 / counts, 1.0 / (counts * counts)


def _fill_class_sums(
    grams: np.ndarray, design: Design, labelings: Labelings, margins: np.ndarray
) -> None:
    """Fill the margins (S, B, K, n) of folds that test every sample once."""
    from neuroextrap.margins.compiled._class_sums import (
        Folds,
        Sorted,
        fill_centroid_margins,
    )

    def make() -> Any:
        edges = np.array([0, *(rows.stop for rows in design.fold_slices)], np.uint32)
        of_sample = design.fold_of_test.astype(np.uint32)
        folds = Folds(of_sample, edges, *_factors(design, labelings))
        return Sorted(*labelings.sorted_by_class(design.order)), folds

    by_class, folds = labelings.keep("class sums", make)
    fill_centroid_margins(grams, by_class, folds, margins)


def _fill_growing(
    grams: np.ndarray, design: Design, labelings: Labelings, margins: np.ndarray
) -> None:
    """Fill the margins (S, B, K, n_test) of folds whose training sets grow."""
    from neuroextrap.margins.compiled._class_sums import Growth, fill_growing_margins

    def make() -> Any:
        chains, slices = design.chains, design.fold_slices
        first = [design.folds[chain.first_fold][0] for chain in chains]
        growth = Growth(
            np.concatenate(first).astype(np.uint32),
            np.cumsum([0, *(len(samples) for samples in first)]),
            np.array([*(chain.first_fold for chain in chains), len(slices)]),
            design.test.astype(np.uint32),
            np.array([0, *(rows.stop for rows in slices)]),
        )
        return growth, *_factors(design, labelings)

    codes = labelings.codes.astype(np.uint32)
    growth, twice, inverse = labelings.keep("growing", make)
    fill_growing_margins(grams, codes, growth, twice, inverse, margins)


def _gram_margins(grams: np.ndarray, design: Design, labelings: Any) -> np.ndarray:
    """Return the margins of regions from inner products, in float64 of one labeling."""
    if labelings.n_together > 1:
        grams = grams.astype(np.float32)
    one_hot = labelings.one_hot(grams.dtype)[design.order]
    flat = one_hot.reshape(design.n_samples, -1)
    counts = labelings.training_counts(design).astype(grams.dtype)
    factors = 2.0 / counts, 1.0 / (counts * counts)  # of products, of squared lengths
    twice, inverse = (np.tile(factor, len(grams)) for factor in factors)
    # inner products of every sample with the sum of each class over all samples
    products = batch_last(np.matmul(grams, flat), one_hot.shape)
    members = one_hot if len(grams) == 1 else np.tile(one_hot, len(grams))
    total = None
    if not design.is_partition:
        total = np.einsum("tlm,tlm->lm", members, products)
    margins = np.empty((len(design.test), *products.shape[1:]), dtype=grams.dtype)
    for folds, held in design.equal_folds:
        held_members, cross = rows_of(members, held), rows_of(products, held)
        sums = np.einsum("fhlm,fhlm->flm", held_members, cross)
        # squared length of a class sum: over all samples, minus the held-out
        # samples' products with all, minus their products with the training ones
        squares = (sums.sum(axis=0) if total is None else total) - sums
        cross = cross - _within(grams, flat, held, one_hot.shape).reshape(cross.shape)
        squares -= np.einsum("fhlm,fhlm->flm", held_members, cross)
        squares *= inverse[folds]
        cross *= twice[folds, None]
        cross -= squares[:, None]
        if total is None and design.tests_in_order:
            return cross.reshape(margins.shape).astype(np.float32, copy=False)
        for fold, held_margins in zip(folds, cross, strict=True):
            tested = design.fold_views[fold][1]
            margins[design.fold_slices[fold]] = held_margins[tested]
    return margins.astype(np.float32, copy=False)


def _within(grams: Any, flat: Any, held: Any, shape: tuple) -> np.ndarray:
    """Inner products with the sums of held-out samples, shape (F * h, K, M)."""
    products = np.matmul(
        grams[:, held[:, :, None], held[:, None, :]], rows_of(flat, held)
    )
    products = products.reshape(len(grams), held.size, -1)
    return batch_last(products, (held.size, *shape[1:]))


def rows_of(array: np.ndarray, held: np.ndarray) -> np.ndarray:
    """Return rows (F, h, ...) of held-out samples, a view if they are all in order."""
    if held.size == len(array) and (np.diff(held.ravel()) == 1).all():
        return array.reshape(*held.shape, *array.shape[1:])
    return array[held]


def batch_last(stacked: np.ndarray, shape: tuple) -> np.ndarray:
    """Move regions behind the labelings: (S, n, K * B) -> (n, K, S * B)."""
    n, n_classes, n_labelings = shape
    split = stacked.reshape(len(stacked), n, n_classes, n_labelings)
    return np.moveaxis(split, 0, 2).reshape(n, n_classes, -1)


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
