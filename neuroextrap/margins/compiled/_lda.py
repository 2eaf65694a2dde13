"""Compiled discriminant margins: all K x K steps of a few labelings, in cache.

Labelings are taken `LANES` at a time, one machine instruction serving several of them:
every number of an array is a row of so many labelings (``_vector.py``). The number of
classes is made even by one without samples, so that all loops go two by two.
`score_labelings` and `score_regions` are the entries, and ``LDAMargins`` in
``classifiers/_lda.py`` has the formulas.
"""

from typing import Any

import numpy as np
from numba import njit

from neuroextrap.margins.compiled._lane_best import add_share
from neuroextrap.margins.compiled._lane_memory import address_of
from neuroextrap.margins.compiled._lane_sums import fill_blocks, fill_sums
from neuroextrap.margins.compiled._lda_memory import group_of, places_in
from neuroextrap.margins.compiled._sweep import invert
from neuroextrap.margins.compiled._vector import (
    LANES,
    ROW,
    add,
    add_product,
    divide,
    load,
    load_number,
    multiply,
    spread,
    store,
    take_product,
    where_code,
)

# No fast math: sums keep their order, so that the same labeling gets the same margins
# to the last bit whatever else is in its batch. Divisions by zero give infinity, as in
# numpy; a singular matrix is found by its pivots instead.
_compile = njit(cache=True, nogil=True, error_model="numpy")


@_compile
def _fill_residuals(region: Any, groups: Any, g: int, work: Any) -> None:
    """Fill the residuals (n_samples, K) of some labelings from blocks of I - H."""
    n_blocks, n_samples, _ = region.blocks.shape
    edges, out = groups.edges[g], address_of(region.residuals)
    members = address_of(groups.members) + g * LANES * n_samples * 4
    for c in range(n_blocks):
        block = address_of(region.blocks) + c * n_samples * ROW
        place = out + c * LANES * work.width * ROW
        fill_sums(block, members, n_samples, edges, place, work.scratch)


@_compile
def _fill_total(residuals: int, codes: int, n_samples: int, work: Any) -> None:
    """Fill the upper triangle of Y'E over all samples."""
    step = work.width * ROW
    for k in range(0, work.width, 2):
        for m in range(k, work.width, 2):
            a, b, c, d = spread(0.0), spread(0.0), spread(0.0), spread(0.0)
            for i in range(n_samples):
                place, label = residuals + i * step + m * ROW, codes + i * LANES
                one, other = load(place), load(place + ROW)
                a = where_code(label, k, add(a, one), a)
                b = where_code(label, k, add(b, other), b)
                c = where_code(label, k + 1, add(c, one), c)
                d = where_code(label, k + 1, add(d, other), d)
            place = work.total + k * step + m * ROW
            store(place, a)
            store(place + ROW, b)
            store(place + step, c)
            store(place + step + ROW, d)


@_compile
def _inside(residuals: int, held: Any, work: Any) -> int:
    """Return the address of the residuals of held-out samples, copied if need be."""
    step = work.width * ROW
    if held[-1] - held[0] == len(held) - 1:  # sorted: one after the other
        return residuals + held[0] * step
    for j in range(len(held)):
        place, to = residuals + held[j] * step, work.inside + j * step
        for k in range(0, step, ROW):
            store(to + k, load(place + k))
    return work.inside


@_compile
def _fill_errors(inverse: int, inside: int, n_held: int, work: Any) -> None:
    """Fill out-of-fold errors: minus the inverse held-out block times the residuals."""
    step = work.width * ROW
    for i in range(0, n_held, 2):
        last = min(i + 1, n_held - 1)  # the same once more where there is no other
        upper, lower = inverse + i * n_held * 8, inverse + last * n_held * 8
        for k in range(0, step, 2 * ROW):
            a, b, c, d = spread(0.0), spread(0.0), spread(0.0), spread(0.0)
            for j in range(n_held):
                one, other = (
                    load(inside + j * step + k),
                    load(inside + j * step + k + ROW),
                )
                weight = spread(load_number(upper + j * 8))
                below = spread(load_number(lower + j * 8))
                a, b = take_product(a, weight, one), take_product(b, weight, other)
                c, d = take_product(c, below, one), take_product(d, below, other)
            place, under = work.errors + i * step + k, work.errors + last * step + k
            store(place, a)
            store(place + ROW, b)
            store(under, c)
            store(under + ROW, d)


@_compile
def _fill_moments(counts: int, inside: int, n_held: int, work: Any) -> None:
    """Fill the upper triangle of Q = Y'E - E_f' E^_f + d d'/N; errors are minus E^_f.

    ``counts`` are the training samples of a class, d; N is the number of all.
    """
    step, size = work.width * ROW, spread(0.0)
    for k in range(0, step, ROW):
        size = add(size, load(counts + k))
    share = divide(spread(1.0), size)
    for k in range(0, step, 2 * ROW):
        upper = multiply(share, load(counts + k))
        lower = multiply(share, load(counts + k + ROW))
        for m in range(k, step, 2 * ROW):
            # Y'E of all samples, and d d'/N of this fold
            at = k * work.width + m
            one, other = load(counts + m), load(counts + m + ROW)
            place = work.total + at
            a = add_product(load(place), upper, one)
            b = add_product(load(place + ROW), upper, other)
            c = add_product(load(place + step), lower, one)
            d = add_product(load(place + step + ROW), lower, other)
            # take the held-out samples off, in their order
            for j in range(0, n_held * step, step):
                left, below = load(inside + j + k), load(inside + j + k + ROW)
                error = work.errors + j + m
                one, other = load(error), load(error + ROW)
                a, b = add_product(a, left, one), add_product(b, left, other)
                c, d = add_product(c, below, one), add_product(d, below, other)
            place = work.moments + at
            store(place, a)
            store(place + ROW, b)
            store(place + step, c)
            store(place + step + ROW, d)
    if work.n_classes < work.width:  # a class without samples is left alone
        store(work.moments + (step + ROW) * work.n_classes, spread(1.0))


@_compile
def _fill_constants(constants: int, work: Any) -> None:
    """Fill what a fold adds to the margins of a class; minus half of (Q^-1)_mm."""
    step, half = work.width * ROW, spread(0.5)
    for m in range(0, step, ROW):
        diagonal = load(work.moments + m * (work.width + 1))
        value = take_product(load(constants + m), half, diagonal)
        store(work.constants + m, value)


@_compile
def _weigh_equally(counts: int, weights: int, work: Any) -> None:
    """Turn moments into the weights of ridge regression; fill its constants."""
    step, size, share = work.width * ROW, spread(0.0), spread(-1.0 / work.n_classes)
    for k in range(0, step, ROW):
        size = add(size, load(counts + k))
    for m in range(0, step, ROW):
        total = spread(0.0)
        for k in range(0, step, ROW):  # the upper triangle of a symmetric matrix
            place = work.moments + min(k, m) * work.width + max(k, m)
            total = add_product(total, load(weights + k), load(place))
        value = add(divide(total, size), share)
        store(work.constants + m, add_product(share, load(weights + m), value))
    for k in range(0, step, ROW):
        for m in range(0, step, ROW):
            place = work.moments + k * work.width + m
            store(place, load(weights + k) if k == m else spread(0.0))


@_compile
def _add_truth(codes: int, held: Any, work: Any) -> None:
    """Turn errors of held-out samples into what is predicted."""
    one = spread(1.0)
    for i in range(len(held)):
        place, label = work.errors + i * work.width * ROW, codes + held[i] * LANES
        for k in range(work.n_classes):
            error = load(place + k * ROW)
            store(place + k * ROW, where_code(label, k, add(error, one), error))


@_compile
def _fill_scores(i: int, j: int, work: Any) -> None:
    """Fill the margins (2, K) of two test points, by their places in the fold."""
    step = work.width * ROW
    upper, lower = work.errors + i * step, work.errors + j * step
    for m in range(0, step, 2 * ROW):
        a, b = load(work.constants + m), load(work.constants + m + ROW)
        c, d = a, b
        for k in range(0, step, ROW):
            place = work.moments + k * work.width + m
            one, other = load(place), load(place + ROW)
            first, second = load(upper + k), load(lower + k)
            a, b = add_product(a, first, one), add_product(b, first, other)
            c, d = add_product(c, second, one), add_product(d, second, other)
        place = work.scores + m
        store(place, a)
        store(place + ROW, b)
        store(place + step, c)
        store(place + step + ROW, d)


@_compile
def _put_margins(scores: int, t: int, g: int, out: Any) -> None:
    """Write the margins of test point t under the labelings of group g."""
    first = g * LANES
    for k in range(out.n_classes):
        to = out.place + (t * out.n_classes + k) * out.step + first
        place = scores + k * ROW
        for b in range(min(LANES, out.n_labelings - first)):
            out.margins[to + b] = load_number(place + b * 8)


@_compile
def _test_fold(
    f: int, g: int, held: Any, folds: Any, group: Any, out: Any, work: Any
) -> bool:
    """Write, or count, the margins of the test points of a fold; False if NaN."""
    shares, weight = address_of(out.shares) + g * ROW, group.weights
    step, numbers = work.width * ROW, True
    first, stop = folds.row_edges[f], folds.row_edges[f + 1]
    for t in range(first, stop, 2):
        last = min(t + 1, stop - 1)
        _fill_scores(folds.rows[t], folds.rows[last], work)
        for p in range(t, last + 1):
            scores = work.scores + (p - t) * step
            if out.margins.size:
                _put_margins(scores, p, g, out)
            if out.shares.size:
                label = group.codes + held[folds.rows[p]] * LANES
                if group.weights:
                    weight = group.weights + p * ROW
                numbers &= add_share(
                    scores, label, weight, shares, work.n_classes, out.single
                )
    return numbers


@_compile
def _fit_fold(f: int, group: Any, inside: int, n_held: int, work: Any) -> bool:
    """Fit a fold whose errors are known: inverse moments and constants.

    ``n_held`` samples are taken off the moments. False if these are singular. Ridge
    regression inverts none.
    """
    first = f * work.width * ROW
    _fill_moments(group.counts + first, inside, n_held, work)
    if group.is_ridge:
        _weigh_equally(group.counts + first, group.constants + first, work)
        return True
    regular = invert(work.moments, work.scratch, work.width)
    _fill_constants(group.constants + first, work)
    return regular


@_compile
def score_labelings(region: Any, folds: Any, groups: Any, out: Any, array: Any) -> bool:
    """Fill margins, or shares of best classes, of a region under many labelings.

    ``array`` is a `workspace`. False when a within-class scatter is singular or not
    finite.
    """
    n_groups, n_samples, _ = groups.codes.shape
    fill_blocks(region.dense, region.blocks)
    work = places_in(array, np.diff(folds.edges).max(), out.n_classes)
    residuals, regular = address_of(region.residuals), True
    for g in range(n_groups):
        group, inverse = group_of(groups, g), address_of(region.inverses)
        _fill_residuals(region, groups, g, work)
        _fill_total(residuals, group.codes, n_samples, work)
        for f in range(len(folds.edges) - 1):
            held = folds.held[folds.edges[f] : folds.edges[f + 1]]
            inside = _inside(residuals, held, work)
            _fill_errors(inverse, inside, len(held), work)
            regular &= _fit_fold(f, group, inside, len(held), work)
            _add_truth(group.codes, held, work)
            regular &= _test_fold(f, g, held, folds, group, out, work)
            inverse += len(held) ** 2 * 8
    return regular


@_compile
def score_regions(
    errors: Any, moments: Any, folds: Any, groups: Any, out: Any, array: Any
) -> bool:
    """Fill the margins of many regions from their ridge fits under one labeling.

    Regions lie where labelings are elsewhere. ``errors`` (G, n_test, K, `LANES`) are
    predicted minus true at the test points, which ``folds`` holds out, and ``moments``
    (G, F, K, K, `LANES`) those of the residuals. False when a within-class scatter is
    singular or not finite.
    """
    n_groups, n_test, width, _ = errors.shape
    n_folds, step, regular = len(folds.edges) - 1, width * ROW, True
    work = places_in(array, np.diff(folds.edges).max(), out.n_classes)
    for g in range(n_groups):
        group, of_points = group_of(groups, g), address_of(errors) + g * n_test * step
        for f in range(n_folds):
            held = folds.held[folds.edges[f] : folds.edges[f + 1]]
            of_fold = address_of(moments) + (g * n_folds + f) * width * step
            for b in range(0, width * step, ROW):
                store(work.total + b, load(of_fold + b))
            for i in range(len(held)):
                place, to = of_points + held[i] * step, work.errors + i * step
                for b in range(0, step, ROW):
                    store(to + b, load(place + b))
            regular &= _fit_fold(f, group, work.inside, 0, work)
            _add_truth(group.codes, held, work)
            regular &= _test_fold(f, g, held, folds, group, out, work)
    return regular
