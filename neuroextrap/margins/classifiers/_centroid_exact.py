"""The nearest centroid where samples are few: sums of inner products that are exact.

Inner products are rounded so that all sums of them are exact
(``algebra/_class_sums.py``): compiled loops and numpy, margins and best classes, give
the same bits. Without numba best classes are looked for in single precision first
(``algebra/_screen.py``).
"""

from functools import partial
from typing import Any

import numpy as np

from neuroextrap.margins._best_classes import sort_by_class
from neuroextrap.margins._design import Design, Labelings
from neuroextrap.margins._wins import NAN_MARGINS
from neuroextrap.margins.algebra._screen import may_be_short, shares_by_lead
from neuroextrap.margins.classifiers._centroid_growing import fill_others
from neuroextrap.margins.classifiers._centroid_screen import fill_screened_shares
from neuroextrap.margins.compiled._numba import has_numba

_MAX_UNITS = 2**23  # of sums of whole numbers that single precision holds as they are
# more of them are added to one by one in each labeling
_MAX_CLASSES = 24
_TINY = np.finfo(np.float32).tiny


def exact_margins(grams: np.ndarray, design: Design, labelings: Any) -> np.ndarray:
    """Return the margins of regions from rounded inner products, in float32."""
    shape = len(design.test), labelings.n_classes, len(grams), labelings.n_labelings
    margins = np.empty(shape, dtype=np.float32)
    if has_numba() and labelings.n_labelings == 1:
        fill_others(margins[..., 0], grams, design, labelings)
    elif has_numba():
        from neuroextrap.margins.compiled._centroid import fill_centroid_margins

        by_class = sort_by_class(labelings, design, design.order)
        folds = _compiled_folds(labelings, design)
        table = np.empty_like(grams[0])
        for region, gram in enumerate(grams):
            out = margins[:, :, region]
            _fill_apart(table, gram, design)
            fill_centroid_margins(gram, table, by_class, folds, out)
    else:
        for columns, part in labelings.parts():
            for region, gram in enumerate(grams):
                _fill_exact(margins[:, :, region, columns], gram, design, part)
    return margins.reshape(*shape[:2], -1)


def exact_shares(
    grams: np.ndarray, design: Design, labelings: Any, weights: Any
) -> np.ndarray:
    """Return the shares (S, B) of best classes, from rounded inner products.

    Where all test points weigh the same, ``weights`` is a number, and the shares are
    yet to be multiplied by it.
    """
    if not has_numba():
        return _count(grams, design, labelings, weights)
    few = labelings.n_classes <= _MAX_CLASSES
    count = _count_side_by_side if few else _count_compiled
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


def _count_compiled(
    grams: np.ndarray, design: Design, labelings: Any, weights: Any
) -> np.ndarray:
    """Return the shares (S, B) of best classes of regions in compiled loops."""
    from neuroextrap.margins.compiled._centroid import fill_centroid_shares

    by_class = sort_by_class(labelings, design, design.order, weights)
    folds = _compiled_folds(labelings, design)
    shares = np.empty((len(grams), labelings.n_labelings))
    table = np.empty_like(grams[0])
    for gram, share in zip(grams, shares, strict=True):
        _fill_apart(table, gram, design)
        fill_centroid_shares(gram, table, by_class, folds, share)
    return shares


def _count(
    grams: np.ndarray, design: Design, labelings: Any, weights: Any
) -> np.ndarray:
    """Return the same without numba, from inner products in whole numbers."""
    n_most, slack = _whole_bounds(labelings, design)
    apart = design.fold_of_test[:, np.newaxis] != design.fold_of_test
    shares = np.empty((len(grams), labelings.n_labelings))
    for gram, share in zip(grams, shares, strict=True):
        scaled = gram * (_MAX_UNITS / n_most / max(np.abs(gram).max(), _TINY))
        whole = np.rint(scaled * apart).astype(np.float32)
        scores_of = partial(_fold_scores, scaled, whole, design)
        exact = partial(_margins_one_by_one, gram, design)
        share[:] = shares_by_lead(scores_of, exact, slack, labelings, design, weights)
    return shares


def _whole_bounds(labelings: Any, design: Design) -> tuple[int, float]:
    """Return the most training samples of a class, and by how much a lead is sure.

    A sum of n inner products is wrong by n / 2 units, and the squared length of a class
    sum by what the sums of its N samples are, those held out twice. Single precision
    rounds products of at most 2^24 / n units, three times, and their difference.
    """
    counts = labelings.training_counts(design)
    n_least, n_most = int(counts.min()), int(counts.max())
    size = counts.sum(axis=0).max() / (len(design.folds) - 1)
    ratio = n_most / n_least
    of_terms = ratio + 1.5 * size * ratio / n_least
    of_rounding = 8 / n_least + 8 * ratio**2 / n_most
    return n_most, float(2 * (of_terms + of_rounding))


def _margins_one_by_one(gram: np.ndarray, design: Design, labelings: Any) -> Any:
    """Return the exact margins (n, K, B) of one region, for few labelings."""
    classes, folds = np.eye(design.n_classes), np.eye(len(design.folds))
    of_sample = folds[design.fold_of_test]
    same_fold = of_sample @ of_sample.T > 0
    apart = np.where(same_fold, 0.0, gram)
    counts = labelings.training_counts(design).astype(float)
    margins = np.empty((len(gram), len(classes), labelings.n_labelings), np.float32)
    for labeling, codes in enumerate(labelings.codes[:, design.order]):
        members = classes[codes]
        same = same_fold & (codes[:, np.newaxis] == codes)
        within = np.where(same, gram, 0.0).sum(axis=1)
        cross = apart @ members
        own = (cross * members).sum(axis=1)
        # squared lengths over all samples, minus those of pairs with held-out samples
        held = of_sample.T @ (members * (2.0 * own + within)[:, np.newaxis])
        n = counts[:, :, labeling]
        squares = ((own + within) @ members - held) * (1.0 / (n * n))
        of_fold = cross * (2.0 / n)[design.fold_of_test]
        margins[..., labeling] = of_fold - squares[design.fold_of_test]
    return margins


def _fill_exact(out: np.ndarray, gram: np.ndarray, design: Design, part: Any) -> None:
    """Fill the margins (n, K, b) of one region under some labelings."""
    apart = np.empty_like(gram)
    _fill_apart(apart, gram, design)
    out[:] = _fold_scores(gram, apart, design, part)


def _fold_scores(
    gram: np.ndarray, apart: np.ndarray, design: Design, part: Any
) -> np.ndarray:
    """Return the margins (n, K, b) of one region in the precision of ``apart``.

    These are the inner products of samples, 0 where both are of one fold.
    """
    dtype, n = apart.dtype, len(gram)
    one_hot = part.ordered_one_hot(design, dtype)
    n_classes, width = one_hot.shape[1:]
    same, place, of_fold, of_class = part.keep("pairs", lambda: _pairs(part, design))
    # of every sample, its products with the sums of classes over other folds
    cross = apart @ one_hot.reshape(n, -1)
    own = cross.reshape(-1).take(place).astype(float, copy=False)
    within = np.zeros_like(own)
    for samples, others, is_same in same:
        within[samples] += gram[samples, others][:, np.newaxis] * is_same
    # squared lengths over all samples, minus those of pairs with held-out samples
    size = n_classes * width
    within += own
    total = np.bincount(of_class, within.reshape(-1), minlength=size)
    within += own
    held = np.bincount(of_fold, within.reshape(-1), len(design.folds) * size)
    twice, inverse = part.keep("factors", lambda: training_factors(part, design, float))
    twice = part.keep(("twice", dtype), lambda: twice.astype(dtype))
    squares = (total - held.reshape(-1, size)).reshape(inverse.shape) * inverse
    squares, cross = squares.astype(dtype, copy=False), cross.reshape(one_hot.shape)
    if design.is_partition:  # folds of equal sizes, in order: all at once
        of_folds = cross.reshape(len(squares), -1, n_classes, width)
        of_folds *= twice[:, np.newaxis]
        of_folds -= squares[:, np.newaxis]
        return cross
    for fold, rows in enumerate(design.fold_slices):
        of_rows = cross[rows]
        of_rows *= twice[fold]
        of_rows -= squares[fold]
    return cross


def _pairs(part: Any, design: Design) -> tuple:
    """Return what `_fill_exact` asks of labels.

    Pairs of samples of one fold and whether they are of one class; where, in flat
    arrays (n, K, b), (F, K, b) and (K, b), the class of each sample is.
    """
    codes = part.codes[:, design.order].T.astype(np.intp)
    width, n_classes = codes.shape[1], design.n_classes
    fold = design.fold_of_test
    same = []
    for step in range(max(len(held) for held in design.held_out)):
        samples = np.arange(len(fold) - step)
        samples = samples[fold[samples] == fold[samples + step]]
        is_same = codes[samples] == codes[samples + step]
        found = is_same.any(axis=1)  # none, where a run has every class once
        if found.any():
            samples, is_same = samples[found], is_same[found].astype(float)
            same.append((samples, samples + step, is_same))
            if step:
                same.append((samples + step, samples, is_same))
    of_class = codes * width + np.arange(width)
    of_fold = of_class + fold[:, np.newaxis] * (n_classes * width)
    place = of_class + np.arange(len(fold))[:, np.newaxis] * (n_classes * width)
    return same, place, of_fold.reshape(-1), of_class.reshape(-1)


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
