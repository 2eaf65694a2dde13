"""Nearest class mean: sums over features for one labeling, Grams for many."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from neuroextrap.design._design import Design
from neuroextrap.margins._best_classes import BestClasses, times_equal_weight
from neuroextrap.margins._kernel import (
    AdditiveKernel,
    Work,
    kept_with,
    ns_of_sums,
    sizes_of,
)
from neuroextrap.margins._wins import NAN_MARGINS
from neuroextrap.margins.algebra._class_sums import MAX_TABLE, is_compact
from neuroextrap.margins.algebra._linear import Linear, fill_linear, shares_of_linear
from neuroextrap.margins.algebra._operators import fill_centered_grams
from neuroextrap.margins.algebra._tall import (
    ClassSums,
    centered,
    is_tall,
    tall_bytes,
    tall_workspace,
)
from neuroextrap.margins.classifiers._centroid_counts import (
    CentroidCounter,
    make_counter,
)
from neuroextrap.margins.classifiers._centroid_exact import (
    exact_margins,
    exact_shares,
    training_factors,
)
from neuroextrap.margins.classifiers._centroid_growing import (
    chains_of,
    compiled_windows,
    fill_growing,
)

_FOLDS_AT_ONCE = 8  # whose means are made by one product; changes no result


class NearestCentroidMargins(BestClasses, AdditiveKernel):
    """Margins of the nearest class mean: 2 x'mu_l - mu_l'mu_l.

    Larger is nearer: this is minus the squared Euclidean distance to the mean of
    class l of the training samples, plus a number that is the same for every class.
    Labels enter only after the Gram matrix of a region is known, so that one region's
    thousand labelings are one matrix product.
    """

    name = "nearest_centroid"
    marginal = True
    indicator_bytes = 8
    shares_products = True

    def feature_margins(self, X: Any, codes: Any, design: Design) -> np.ndarray:
        everything = [slice(0, len(design.folds))]
        return next(self.margins_of_folds(X, codes, design, everything))

    def margins_of_folds(
        self, X: Any, codes: Any, design: Design, folds: Any
    ) -> Iterator[np.ndarray]:
        from neuroextrap.margins.compiled._features import fill_centroid_fold as fill

        features = np.ascontiguousarray(X.T, dtype=np.float32)
        exact, classes = features.astype(float), np.eye(design.n_classes)[codes]
        means = training_means(exact, classes, design)
        for some in folds:
            part = design.some_folds(some)
            shape = len(features), len(part.test), design.n_classes
            margins = np.empty(shape, dtype=np.float32)
            for (_, test), rows in zip(part.folds, part.fold_slices, strict=True):
                fill(features, test, next(means).astype(np.float32), margins[:, rows])
            yield margins

    def costs(self, work: Work, design: Design) -> tuple[float, float]:
        n, n_test, n_classes = design.n_samples, len(design.test), design.n_classes
        by_sums: float = n_test * work.n_labelings * (5 + 3 * n_classes)
        by_sums *= work.n_features
        by_sums += n_test * work.n_labelings * n_classes * ns_of_sums(work)
        size = work.n_memberships / work.n_regions
        if is_tall(size, design):
            labeling = size * (4 * n + n_test * n_classes / 8)
            return by_sums, work.n_regions * (
                10 * n * size + work.n_labelings * labeling
            )
        if work.n_labelings == 1 and (_is_exact(design) or _is_growing(design)):
            return by_sums, work.n_regions * _ns_of_one(size, work, design)
        changes = work.n_memberships if work.n_changes is None else work.n_changes
        products = changes * n * (4 + n / 25)
        held = np.array([len(samples) for samples in design.held_out])
        blocks = float((held**2).sum())  # inner products within held-out samples
        by_regions = products + (4e4 + 4 * blocks) * work.n_regions
        labeling = n_classes * (4 * held.sum() + (n * n + blocks) / 40)
        return by_sums, by_regions + work.n_regions * work.n_labelings * labeling

    def prepare(self, xs: Any, design: Design) -> Any:
        """Return Gram matrices (n_regions, n, n), in the design's order.

        In float64, rounded to exact sums, where samples are few, else in float32.
        Regions of few features beside many samples keep their samples instead, by
        their place in the list.
        """
        tall = {
            place: _tall(centered(xs[place]), design)
            for place, size in enumerate(sizes_of(xs))
            if is_tall(size, design)
        }
        places = [place for place in range(len(xs)) if place not in tall]
        if not places:
            return np.empty((0, design.n_samples, design.n_samples)), tall, design
        whole = xs if not tall else [xs[place] for place in places]
        shape = design.n_samples, design.n_samples
        if not (_is_exact(design) or _is_growing(design)):
            grams = kept_with(
                whole, "grams", shape, partial(fill_centered_grams, whole)
            )
            return _ordered(grams, design).astype(np.float32), tall, design
        # at most 4 n^2 of them are added and subtracted
        fill = partial(fill_centered_grams, whole, n_terms=4 * design.n_samples**2)
        grams = kept_with(whole, "rounded", shape, fill)
        return _ordered(grams, design), tall, design

    def workspace(self, n_features: int, n_regions: int, design: Any) -> int:
        if is_tall(n_features, design):
            of_one = tall_workspace(n_features, design, of_a_point=4)
            return n_regions * of_one
        return super().workspace(n_features, n_regions, design)

    def direct_bytes(self, n_features: int, design: Any) -> int | None:
        return tall_bytes(n_features, design, np.float32)

    def stores_margins(self, state: Any) -> bool:
        grams, *_ = state
        return len(grams) > 0

    def counts_in_place(self, design: Design) -> bool:
        return _is_exact(design)

    def observed_counter(
        self, design: Design, forward: Design | None, codes: np.ndarray
    ) -> CentroidCounter | None:
        """Return what counts under one labeling as it goes over regions, or None."""
        if not _is_exact(design) or (forward is not None and not _is_growing(forward)):
            return None
        return make_counter(design, forward, codes)

    def best_shares(self, state: Any, labelings: Any, weights: Any) -> Any:
        grams, tall, design = state
        if not self.stores_margins(state):
            counts = labelings.training_counts(design)
            linear = (_linear(region, labelings, counts) for region in tall.values())
            return shares_of_linear(linear, design, labelings, weights)
        if tall or not self.counts_in_place(design):
            return None
        if labelings.training_counts(design).min() < 1:
            raise ValueError(NAN_MARGINS)
        shares = exact_shares(grams, design, labelings, weights)
        return times_equal_weight(shares.reshape(-1), weights)

    def margins(self, state: Any, labelings: Any) -> np.ndarray:
        grams, tall, design = state
        if not tall:
            return _margins(grams, design, labelings)
        n_regions = len(grams) + len(tall)
        K, B = labelings.n_classes, labelings.n_labelings
        margins = np.empty((len(design.test), K, n_regions, B), dtype=np.float32)
        counts = labelings.training_counts(design)
        for place, region in tall.items():
            linear = _linear(region, labelings, counts)
            fill_linear(margins[:, :, place], linear, design)
        others = [place for place in range(n_regions) if place not in tall]
        if others:
            of_grams = _margins(grams, design, labelings)
            margins[:, :, others] = of_grams.reshape(-1, K, len(others), B)
        return margins.reshape(-1, K, n_regions * B)


def _tall(x: np.ndarray, design: Design) -> tuple[ClassSums, np.ndarray]:
    """Return what sums a region of few features by class, and its test points."""
    return ClassSums(x, design), x[design.test].astype(np.float32)


def _linear(region: tuple[ClassSums, Any], labelings: Any, n: Any) -> Linear:
    """Return the margins of a region of few features; ``n`` (F, K, B) are counts."""
    sums, points = region
    means = sums.of(labelings)
    means /= n.swapaxes(1, 2)[..., None]
    squares = np.einsum("fbkp,fbkp->fbk", means, means)
    means *= 2.0
    return Linear(points, means, -squares)


def _ns_of_one(size: float, work: Work, design: Design) -> float:
    """Estimate the nanoseconds of a region's margins under one labeling.

    Folds that grow come after others, which have made the products already.
    """
    n, n_margins = design.n_samples, len(design.test) * design.n_classes
    changes = size if work.n_changes is None else work.n_changes / work.n_regions
    if _is_growing(design):
        ns = 1e4 + 0.6 * n * n + 4 * n_margins
        if compiled_windows(design) is None:
            added = sum(n - len(chain.held) for chain in chains_of(design))
            ns += n * added / 2
    else:
        ns = 9e3 + (2.5 + 0.035 * changes) * n * n + 2 * n_margins
    return ns


def _is_exact(design: Design) -> bool:
    """Whether sums of inner products are exact, and best classes counted at once."""
    return is_compact(design) and design.tests_each_once


def _is_growing(design: Design) -> bool:
    """Whether training sets grow from fold to fold, among few samples."""
    return design.n_samples**2 <= MAX_TABLE and bool(chains_of(design))


def _ordered(grams: np.ndarray, design: Design) -> np.ndarray:
    """Return inner products with the samples in the design's order, or as they are."""
    if (np.diff(design.order) == 1).all():
        return grams
    return grams[:, design.order[:, np.newaxis], design.order]


def _margins(grams: np.ndarray, design: Design, labelings: Any) -> np.ndarray:
    """Return the margins of regions from inner products, in the form that suits."""
    if _is_exact(design):
        return exact_margins(grams, design, labelings)
    if not _is_growing(design):
        return _gram_margins(grams, design, labelings)
    if labelings.training_counts(design).min() < 1:
        raise ValueError(NAN_MARGINS)
    shape = len(design.test), labelings.n_classes, len(grams), labelings.n_labelings
    margins = np.empty(shape, dtype=np.float32)
    fill_growing(margins, grams, design, labelings)
    return margins.reshape(*shape[:2], -1)


def _gram_margins(grams: np.ndarray, design: Design, labelings: Any) -> np.ndarray:
    """Return the margins of regions from inner products of their samples."""
    one_hot = labelings.ordered_one_hot(design, grams.dtype)
    flat = one_hot.reshape(design.n_samples, -1)
    twice, inverse = (
        np.tile(factor, len(grams))
        for factor in training_factors(labelings, design, grams.dtype)
    )
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
            return cross.reshape(margins.shape)
        for fold, held_margins in zip(folds, cross, strict=True):
            tested = design.fold_views[fold][1]
            margins[design.fold_slices[fold]] = held_margins[tested]
    return margins


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
    """Move a leading region axis behind the labelings: (S, n, K * B) -> (n, K, S * B).

    ``shape`` is (n, K, B). Columns are region-major; a view when there is one region.
    """
    n, n_classes, n_labelings = shape
    split = stacked.reshape(len(stacked), n, n_classes, n_labelings)
    return np.moveaxis(split, 0, 2).reshape(n, n_classes, -1)


def training_means(x: Any, classes: Any, design: Design) -> Iterator[np.ndarray]:
    """Yield means (p, K) of the training samples of each class, fold after fold.

    ``x`` (p, n), ``classes`` (n, K) the indicators. One product makes those of several
    folds.
    """
    trained = [train for train, _ in design.folds]
    for start in range(0, len(trained), _FOLDS_AT_ONCE):
        some = trained[start : start + _FOLDS_AT_ONCE]
        shares = np.zeros((len(some), *classes.shape))
        for share, train in zip(shares, some, strict=True):
            share[train] = classes[train]
            share /= share.sum(axis=0)
        means = x @ shares.transpose(1, 0, 2).reshape(len(classes), -1)
        yield from np.split(means, len(some), axis=1)
