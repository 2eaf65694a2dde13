"""The nearest centroid where samples are few: sums of inner products that are exact.

Inner products are rounded so that all sums of them are exact
(``algebra/_class_sums.py``): margins and best classes, one labeling and several side by
side, have the same bits.
"""

from typing import Any

import numpy as np

from neuroextrap.design._design import Design, Labelings
from neuroextrap.margins._best_classes import sort_by_class
from neuroextrap.margins._wins import NAN_MARGINS
from neuroextrap.margins.algebra._screen import may_be_short
from neuroextrap.margins.classifiers._centroid_growing import fill_others
from neuroextrap.margins.classifiers._centroid_screen import fill_screened_shares

# more of them are added to one by one in each labeling
_MAX_CLASSES = 24


def exact_margins(grams: np.ndarray, design: Design, labelings: Any) -> np.ndarray:
    """Return the margins of regions from rounded inner products, in float32."""
    shape = len(design.test), labelings.n_classes, len(grams), labelings.n_labelings
    margins = np.empty(shape, dtype=np.float32)
    if labelings.n_labelings == 1:
        fill_others(margins[..., 0], grams, design, labelings)
        return margins.reshape(*shape[:2], -1)
    from neuroextrap.margins.compiled._centroid import fill_centroid_margins

    by_class = sort_by_class(labelings, design, design.order)
    folds = _compiled_folds(labelings, design)
    table = np.empty_like(grams[0])
    for region, gram in enumerate(grams):
        _fill_apart(table, gram, design)
        fill_centroid_margins(gram, table, by_class, folds, margins[:, :, region])
    return margins.reshape(*shape[:2], -1)


def exact_shares(
    grams: np.ndarray, design: Design, labelings: Any, weights: Any
) -> np.ndarray:
    """Return the shares (S, B) of best classes, from rounded inner products.

    Where all test points weigh the same, ``weights`` is a number, and the shares are
    yet to be multiplied by it.
    """
    few = labelings.n_classes <= _MAX_CLASSES
    count = _count_side_by_side if few else _count_one_by_one
    return count(grams, design, labelings, weights)


def _count_side_by_side(
    grams: np.ndarray, design: Design, labelings: Any, weights: Any
) -> np.ndarray:
    """Return the shares (S, B) of best classes, several labelings at a time."""
    from neuroextrap.margins.compiled._centroid_shares import Work, fill_shares
    from neuroextrap.margins.compiled._lane_memory import aligned
    from neuroextrap.margins.compiled._vector import LANES

    n, B = design.n_samples, labelings.n_labelings
    groups = _groups(labelings, design, weights)
    n_blocks = -(-n // LANES)
    work = Work(
        aligned(n_blocks, n),
        aligned(n_blocks * LANES, design.n_classes),
        aligned(2 * n + LANES),
    )
    work.blocks[-1] = 0.0
    edges = np.array([0, *(rows.stop for rows in design.fold_slices)])
    out = aligned(len(grams), len(groups.codes))
    if may_be_short(labelings, design):
        exact = groups, work, out
        is_number = fill_screened_shares(grams, edges, labelings, design, exact)
    else:
        is_number, table = True, np.empty_like(grams[0])
        for gram, share in zip(grams, out, strict=True):
            _fill_apart(table, gram, design)
            is_number &= fill_shares(gram, table, edges, groups, work, share)
    if not is_number:
        raise ValueError(NAN_MARGINS)
    return out.reshape(len(grams), -1)[:, :B]


def _groups(labelings: Any, design: Design, weights: Any) -> Any:
    """Return labelings in groups for compiled loops; kept for the next region.

    The last of them is repeated until its group is full.
    """
    from neuroextrap.margins.compiled._centroid_shares import Groups
    from neuroextrap.margins.compiled._lane_memory import grouped
    from neuroextrap.margins.compiled._vector import LANES

    equal = np.ndim(weights) == 0

    def make() -> Any:
        B = labelings.n_labelings
        padded = np.minimum(np.arange(-(-B // LANES) * LANES), B - 1)
        some = Labelings(labelings.codes[padded], labelings.n_classes)
        members, edges = some.sorted_by_class(design.order)
        codes = some.codes[:, design.order].T.astype(np.uint8)
        twice, inverse = training_factors(some, design, float)
        rows = np.empty((0, len(padded))) if equal else weights[:, padded]
        return Groups(
            members.reshape(-1, LANES, design.n_samples),
            edges.reshape(-1, LANES, edges.shape[1]),
            *map(grouped, (codes, twice, -inverse, rows)),
        )

    return labelings.keep(("groups", equal), make)


def _count_one_by_one(
    grams: np.ndarray, design: Design, labelings: Any, weights: Any
) -> np.ndarray:
    """Return the shares (S, B) of best classes, one labeling after the other."""
    from neuroextrap.margins.compiled._centroid import fill_centroid_shares

    by_class = sort_by_class(labelings, design, design.order, weights)
    folds = _compiled_folds(labelings, design)
    shares = np.empty((len(grams), labelings.n_labelings))
    table = np.empty_like(grams[0])
    for gram, share in zip(grams, shares, strict=True):
        _fill_apart(table, gram, design)
        fill_centroid_shares(gram, table, by_class, folds, share)
    return shares


def _compiled_folds(labelings: Any, design: Design) -> Any:
    """Return folds and their factors for compiled loops; kept for the next region."""
    from neuroextrap.margins.compiled._centroid import Folds

    def make() -> Any:
        edges = np.array([0, *(rows.stop for rows in design.fold_slices)], np.uint32)
        of_sample = design.fold_of_test.astype(np.uint32)
        factors = (
            f.transpose(2, 0, 1) for f in training_factors(labelings, design, float)
        )
        return Folds(of_sample, edges, *map(np.ascontiguousarray, factors))

    return labelings.keep("folds", make)


def _fill_apart(out: np.ndarray, gram: np.ndarray, design: Design) -> None:
    """Fill inner products, zero between samples of the same fold."""

    def make() -> np.ndarray:
        fold = design.fold_of_test
        return (fold[:, np.newaxis] != fold).astype(float)

    np.multiply(gram, design.keep("apart", make), out=out)


def training_factors(labelings: Any, design: Design, dtype: Any) -> tuple:
    """Return what a class's inner products and squared length are multiplied by.

    2 / n and 1 / n^2 of the n training samples, each of shape (F, K, B).
    """
    counts = labelings.training_counts(design).astype(dtype)
    return 2.0 / counts, 1.0 / (counts * counts)
