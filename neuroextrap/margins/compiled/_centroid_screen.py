"""Compiled best classes of the nearest centroid, found in short integers.

Every share is the one that ``_centroid_shares.py`` gives, to the last bit: where a lead
is too small to be sure, margins are made in full precision.
``classifiers/_centroid_screen.py`` has the formula.
"""

from collections import namedtuple
from typing import Any

import numpy as np
from numba import njit

from neuroextrap.margins.compiled._centroid_shares import fill_group_shares
from neuroextrap.margins.compiled._lane_memory import address_of
from neuroextrap.margins.compiled._lane_sums import fill_blocks
from neuroextrap.margins.compiled._leads import (
    fill_leads,
    fill_short_blocks,
    fill_short_sums,
)
from neuroextrap.margins.compiled._shorts import (
    LANES,
    LARGEST,
    SHORT_ROW,
    SINGLE_ROW,
    add_shorts,
    add_singles,
    add_where_code,
    add_where_same,
    larger_size,
    load_shorts,
    load_singles,
    multiply_singles,
    spread_short,
    spread_single,
    store_shorts,
    store_singles,
    take_singles,
    to_shorts,
    to_singles,
    where_short,
)

# inner products (n, n) in units, float32, and in whole units, int16, zero between
# samples of one fold; squared lengths (n,), int16, less what all have in common; of how
# many training samples of a class sums are at most; a lead in units that is sure; and
# whether no two samples of a fold are ever of one class
Whole = namedtuple("Whole", "gram table diagonal n_most slack alone")
# what may be written over: rows of singles, which are squared lengths of sums over a
# class's training samples (F, K), and for all folds, (K,), and the largest constant;
# 1 / (2 n) of the n training samples of a class, (F,), float32; and products (n, n)
Squares = namedtuple("Squares", "of_folds totals extreme halves table")

# sums in single precision, of n inner products of a sample with itself, are below this
_MAX_UNITS = 2.0**18
# units so small or large that margins in single precision could be zero or infinite
_LEAST_UNIT, _LARGEST_UNIT = 1e-25, 1e25
# close leads of a labeling that cost as much as making all margins in full precision
_MOST_CLOSE = 4

_compile = njit(cache=True, nogil=True, error_model="numpy")


@_compile
def _sums_alone(whole: Any, codes: int, rows: Any, k: int, work: Any) -> Any:
    """Return what the samples of a fold add to the squared length of their class.

    Their products with the sum over other folds, and inner products within the fold,
    for class ``k`` and ``rows`` of which no two are of one class.
    """
    first, stop = rows
    sums, step = address_of(work.sums) + k * SHORT_ROW, work.sums.shape[1] * SHORT_ROW
    across = inside = nothing = spread_short(0)
    for i in range(first, stop):
        label, score = load_shorts(codes + i * SHORT_ROW), load_shorts(sums + i * step)
        across = add_shorts(across, where_short(label, k, score, nothing))
        square = spread_short(whole.diagonal[i])
        inside = add_shorts(inside, where_short(label, k, square, nothing))
    return to_singles(across), to_singles(inside)


@_compile
def _sums_of_pairs(whole: Any, codes: int, rows: Any, k: int, work: Any) -> Any:
    """Return the same for samples of which several may be of one class."""
    first, stop = rows
    sums, step = address_of(work.sums) + k * SHORT_ROW, work.sums.shape[1] * SHORT_ROW
    across = inside = spread_single(np.float32(0.0))
    for i in range(first, stop):
        label = load_shorts(codes + i * SHORT_ROW)
        score = to_singles(load_shorts(sums + i * step))
        across = add_where_code(across, label, k, score)
        total = spread_single(np.float32(0.0))
        for j in range(first, stop):
            other = load_shorts(codes + j * SHORT_ROW)
            total = add_where_same(total, label, other, whole.gram[i, j])
        inside = add_where_code(inside, label, k, total)
    return across, inside


@_compile
def _fill_squares(whole: Any, codes: int, edges: Any, work: Any, squares: Any) -> None:
    """Fill squared lengths of sums over the training samples of a class, (F, K).

    That of all samples, less what pairs with a held-out sample add. A sample's product
    with the sum over other folds counts once, and once more where it is held out.
    """
    n_folds, n_classes = len(edges) - 1, len(squares.totals)
    step = n_classes * SINGLE_ROW
    out, totals = address_of(squares.of_folds), address_of(squares.totals)
    for k in range(n_classes):
        total = spread_single(np.float32(0.0))
        for f in range(n_folds):
            rows = edges[f], edges[f + 1]
            if whole.alone:
                across, inside = _sums_alone(whole, codes, rows, k, work)
            else:
                across, inside = _sums_of_pairs(whole, codes, rows, k, work)
            once = add_singles(across, inside)
            total = add_singles(total, once)
            store_singles(out + f * step + k * SINGLE_ROW, add_singles(once, across))
        store_singles(totals + k * SINGLE_ROW, total)
    for f in range(n_folds):
        for k in range(n_classes):
            place = out + f * step + k * SINGLE_ROW
            total = load_singles(totals + k * SINGLE_ROW)
            store_singles(place, take_singles(total, load_singles(place)))


@_compile
def _fill_constants(work: Any, squares: Any) -> bool:
    """Fill what is taken off the sums of classes, (F, K), from squared lengths.

    In units of the sums, of which margins are some multiple; what all classes have in
    common is left out. False if one is too large for a short integer.
    """
    extreme = spread_single(np.float32(0.0))
    n_classes = len(squares.totals)
    lengths, out = address_of(squares.of_folds), address_of(work.constants)
    share = spread_single(np.float32(1.0 / n_classes))
    for f in range(len(squares.halves)):
        common, half = spread_single(np.float32(0.0)), spread_single(squares.halves[f])
        for k in range(n_classes):
            row = load_singles(lengths + (f * n_classes + k) * SINGLE_ROW)
            common = add_singles(common, multiply_singles(row, share))
        for k in range(n_classes):
            at = f * n_classes + k
            row = take_singles(load_singles(lengths + at * SINGLE_ROW), common)
            row = multiply_singles(row, half)
            extreme = larger_size(extreme, row)
            store_shorts(out + at * SHORT_ROW, to_shorts(row))
    store_singles(address_of(squares.extreme), extreme)
    return squares.extreme.max() < LARGEST


@_compile
def _exact_margin(
    gram: Any, members: Any, point: Any, fold: Any, factors: Any
) -> np.float32:
    """Return a point's margin of the class that has these samples, in single precision.

    ``fold`` are the places where the point's fold begins and ends.
    """
    first, stop = fold
    total, square = 0.0, 0.0
    for a in range(len(members)):
        i = members[a]
        if first <= i < stop:
            continue
        total += gram[point, i]
        square += gram[i, i]
        for b in range(a + 1, len(members)):
            j = members[b]
            if j < first or j >= stop:
                square += 2.0 * gram[i, j]
    twice, minus = factors
    return np.float32(total * twice + square * minus)


@_compile
def _exact_share(
    gram: Any, labeling: Any, point: Any, fold: Any, factors: Any
) -> float:
    """Return a point's share, 1 / (number of best classes) or 0, in full precision.

    ``point`` is its place, its class, and the sums of classes in units with what is
    taken off them, of which those close to its own class's may be as good.
    """
    members, edges = labeling
    i, truth, sums, constants, slack = point
    least = np.int64(sums[truth]) - constants[truth] - slack
    of_class = members[edges[truth] : edges[truth + 1]]
    own, n_best = _exact_margin(gram, of_class, i, fold, factors), 1
    for k in range(len(sums)):
        if k != truth and np.int64(sums[k]) - constants[k] >= least:
            of_class = members[edges[k] : edges[k + 1]]
            margin = _exact_margin(gram, of_class, i, fold, factors)
            if margin > own:
                return 0.0
            n_best += margin == own
    return 1.0 / n_best


@_compile
def _share_of_close(
    gram: Any, groups: Any, place: Any, edges: Any, work: Any, slack: int
) -> float:
    """Return the share of all points of a labeling where some leads are not sure.

    Added in the order of the points. ``place`` is the labeling's group, and its place
    there.
    """
    short, exact = groups
    g, b = place
    labeling, share = (short.members[g, b], short.edges[g, b]), 0.0
    for f in range(len(edges) - 1):
        fold = np.uint32(edges[f]), np.uint32(edges[f + 1])
        factors = exact.twice[g, f, 0, b], exact.minus[g, f, 0, b]
        constants = work.constants[f, :, b]
        for i in range(edges[f], edges[f + 1]):
            lead, weight = work.lead[i, b], 1.0
            if lead < -slack:
                continue
            if exact.weights.size:
                weight = exact.weights[g, i, b]
            if lead <= slack:
                truth = np.int64(short.codes[g, i, b])
                point = i, truth, work.sums[i, :, b], constants, slack
                weight *= _exact_share(gram, labeling, point, fold, factors)
            share += weight
    return share


@_compile
def _has_many_close(counts: Any) -> bool:
    """Whether so many leads are close that all margins are as soon made."""
    n_close = 0
    for b in range(LANES):
        n_close += counts[1, b] - counts[0, b]
    return n_close > _MOST_CLOSE * LANES


@_compile
def _fill_apart(gram: Any, edges: Any, table: Any) -> None:
    """Fill inner products, zero between samples of the same fold."""
    table[:] = gram
    for f in range(len(edges) - 1):
        table[edges[f] : edges[f + 1], edges[f] : edges[f + 1]] = 0.0


@_compile
def _fill_whole(gram: Any, table: Any, whole: Any) -> bool:
    """Fill inner products in units; False if they are not fit for it.

    Sums over the training samples of a class stay in range: they are no larger than so
    many times the largest of a row, nor than its root times the length of the row.
    """
    n_most, n = whole.n_most, len(table)
    bound = largest = total = 0.0
    least = np.inf
    for i in range(n):
        most, square = 0.0, 0.0
        for j in range(n):
            size = abs(table[i, j])
            most = max(most, size)
            square += size * size
        bound = max(bound, min(n_most * most, np.sqrt(n_most * square)))
        largest, least = max(largest, gram[i, i]), min(least, gram[i, i])
        total += square + gram[i, i]  # not finite, if one number is not
    unit = max(bound / (LARGEST - n_most), n_most * largest / _MAX_UNITS)
    if whole.alone:
        unit = max(unit, 0.5 * (largest - least) / (LARGEST - 1))
    if not (_LEAST_UNIT < unit < _LARGEST_UNIT and np.isfinite(total)):
        return False
    scale, middle = 1.0 / unit, 0.5 * (largest + least)
    for i in range(n):
        for j in range(n):
            whole.gram[i, j] = gram[i, j] * scale
            whole.table[i, j] = np.int16(np.rint(table[i, j] * scale))
        if whole.alone:
            whole.diagonal[i] = np.int16(np.rint((gram[i, i] - middle) * scale))
    return True


@_compile
def _fill_sure(whole: Any, groups: Any, g: int, edges: Any, work: Any) -> bool:
    """Fill the leads of a group; False if they are not, or many are not sure."""
    short, exact = groups
    leads, squares = work
    for f in range(len(edges) - 1):
        squares.halves[f] = np.float32(0.25 * exact.twice[g, f, 0, 0])
    codes = address_of(short.codes) + g * short.codes.shape[1] * SHORT_ROW
    fill_short_sums(short, g, leads)
    _fill_squares(whole, codes, edges, leads, squares)
    if not _fill_constants(leads, squares):
        return False
    fill_leads(short, g, edges, whole.slack, leads)
    return not _has_many_close(leads.counts)


@_compile
def _fill_close(
    gram: Any, groups: Any, g: int, edges: Any, work: Any, slack: int, out: Any
) -> None:
    """Fill the shares (`LANES`,) of a group whose leads are filled."""
    counts = work.counts
    for b in range(LANES):
        out[b] = counts[0, b]
        if counts[1, b] > counts[0, b] or groups[1].weights.size:
            out[b] = _share_of_close(gram, groups, (g, b), edges, work, slack)


@_compile
def fill_screened_shares(
    grams: Any, edges: Any, groups: Any, whole: Any, work: Any, out: Any
) -> bool:
    """Fill the shares (S, G, `LANES`) of best classes; False if a margin is NaN.

    ``grams`` (S, n, n) are inner products of the samples of regions, one fold after the
    other, which begin at ``edges`` (F + 1,), rounded so that sums are exact. ``groups``
    are those of short integers and those of full precision, by which all margins are
    made where inner products are not fit for integers, or many leads are too small.
    """
    leads, squares, of_exact = work
    is_number = True
    for region in range(len(grams)):
        gram, table, shares = grams[region], squares.table, out[region]
        _fill_apart(gram, edges, table)
        n_done, n_groups = 0, len(shares)
        if _fill_whole(gram, table, whole):
            fill_short_blocks(whole.table, leads.blocks)
            while n_done < n_groups:
                if not _fill_sure(whole, groups, n_done, edges, (leads, squares)):
                    break
                place = shares[n_done]
                _fill_close(gram, groups, n_done, edges, leads, whole.slack, place)
                n_done += 1
        if n_done < n_groups:
            fill_blocks(table, of_exact.blocks)
            exact = groups[1]
            for g in range(n_done, n_groups):
                is_number &= fill_group_shares(gram, edges, exact, g, of_exact, shares)
    return is_number
