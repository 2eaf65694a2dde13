"""Compiled best classes of the nearest centroid: in short integers where leads are sure.

Importing this module needs numba (the extra ``fast``). Every share is the one that
``_centroid_shares.py`` gives, to the last bit: where a lead is too small to be sure,
margins are made in full precision.
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
    add_singles,
    add_where_code,
    add_where_same,
    load_shorts,
    load_singles,
    multiply_singles,
    spread_single,
    store_shorts,
    store_singles,
    take_singles,
    to_shorts,
    to_singles,
)

# inner products (n, n) in units, float32, and in whole units, int16, zero between
# samples of one fold; and whether no two samples of a fold are ever of one class
Whole = namedtuple("Whole", "gram table alone")
# what may be written over, rows of singles: squared lengths of sums over a class's
# training samples (F, K), and for all folds, (K,); and (n,)
Squares = namedtuple("Squares", "of_folds totals within")

# sums in single precision, of n inner products of a sample with itself, are below this
_MAX_UNITS = 2.0**18
# units so small or large that margins in single precision could be zero or infinite
_LEAST_UNIT, _LARGEST_UNIT = 1e-25, 1e25
# close leads of a labeling that cost as much as making all margins in full precision
_MOST_CLOSE = 4

_compile = njit(cache=True, nogil=True, error_model="numpy")


@_compile
def _within(gram: Any, codes: int, i: int, first: int, stop: int) -> Any:
    """Return inner products of a sample with those of its class in its fold."""
    label, total = load_shorts(codes + i * SHORT_ROW), spread_single(np.float32(0.0))
    for j in range(first, stop):
        other = load_shorts(codes + j * SHORT_ROW)
        total = add_where_same(total, label, other, gram[i, j])
    return total


@_compile
def _fill_squares(whole: Any, codes: int, edges: Any, work: Any, squares: Any) -> None:
    """Fill squared lengths of sums over the training samples of a class, (F, K).

    That of all samples, less what pairs with a held-out sample add. A sample's product
    with the sum over other folds counts once, and once more where it is held out.
    """
    n_folds, n_classes = len(edges) - 1, len(squares.totals)
    own, step = address_of(work.own), n_classes * SINGLE_ROW
    out, totals = address_of(squares.of_folds), address_of(squares.totals)
    within = address_of(squares.within)
    nothing = spread_single(np.float32(0.0))
    for k in range(n_classes):
        store_singles(totals + k * SINGLE_ROW, nothing)
    for f in range(n_folds):
        first, stop = edges[f], edges[f + 1]
        for i in range(first, stop):
            ends = (i, i + 1) if whole.alone else (first, stop)
            inside = _within(whole.gram, codes, i, ends[0], ends[1])
            store_singles(within + i * SINGLE_ROW, inside)
        for k in range(n_classes):
            across = inside = nothing
            for i in range(first, stop):
                label = load_shorts(codes + i * SHORT_ROW)
                one = to_singles(load_shorts(own + i * SHORT_ROW))
                across = add_where_code(across, label, k, one)
                one = load_singles(within + i * SINGLE_ROW)
                inside = add_where_code(inside, label, k, one)
            once = add_singles(across, inside)
            place = totals + k * SINGLE_ROW
            store_singles(place, add_singles(load_singles(place), once))
            place = out + f * step + k * SINGLE_ROW
            store_singles(place, add_singles(once, across))
    for f in range(n_folds):
        for k in range(n_classes):
            place = out + f * step + k * SINGLE_ROW
            total = load_singles(totals + k * SINGLE_ROW)
            store_singles(place, take_singles(total, load_singles(place)))


@_compile
def _fill_constants(halves: Any, work: Any, squares: Any) -> None:
    """Fill what is taken off the sums of classes, (F, K), from squared lengths.

    In units of the sums, of which margins are some multiple; what all classes have in
    common is left out. ``halves`` (F,) are 1 / (2 n) of n training samples of a class.
    """
    n_classes = len(squares.totals)
    lengths, out = address_of(squares.of_folds), address_of(work.constants)
    share = spread_single(np.float32(1.0 / n_classes))
    for f in range(len(halves)):
        common, half = spread_single(np.float32(0.0)), spread_single(halves[f])
        for k in range(n_classes):
            row = load_singles(lengths + (f * n_classes + k) * SINGLE_ROW)
            common = add_singles(common, multiply_singles(row, share))
        for k in range(n_classes):
            at = f * n_classes + k
            row = take_singles(load_singles(lengths + at * SINGLE_ROW), common)
            store_shorts(out + at * SHORT_ROW, to_shorts(multiply_singles(row, half)))


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
    gram: Any, labeling: Any, point: int, fold: Any, rivals: Any, factors: Any
) -> float:
    """Return a point's share, 1 / (number of best classes) or 0, in full precision.

    ``rivals`` (K,) says which classes may be as good as the point's own.
    """
    members, edges, truth = labeling
    of_class = members[edges[truth] : edges[truth + 1]]
    own = _exact_margin(gram, of_class, point, fold, factors)
    n_best = 1
    for k in range(len(rivals)):
        if k != truth and rivals[k]:
            of_class = members[edges[k] : edges[k + 1]]
            margin = _exact_margin(gram, of_class, point, fold, factors)
            if margin > own:
                return 0.0
            n_best += margin == own
    return 1.0 / n_best


@_compile
def _share_of_close(
    gram: Any, short: Any, exact: Any, place: Any, edges: Any, work: Any, slack: int
) -> float:
    """Return the share of all points of a labeling where some leads are not sure.

    Added in the order of the points. ``place`` is the labeling's group, and its place
    there, of which ``short`` and ``exact`` have what either way needs.
    """
    g, b = place
    members, of_class = short.members[g, b], short.edges[g, b]
    rivals, share = np.empty(len(of_class) - 1, np.bool_), 0.0
    for f in range(len(edges) - 1):
        fold = np.uint32(edges[f]), np.uint32(edges[f + 1])
        factors = exact.twice[g, f, 0, b], exact.minus[g, f, 0, b]
        for i in range(edges[f], edges[f + 1]):
            lead, weight = work.lead[i, b], 1.0
            if lead < -slack:
                continue
            if exact.weights.size:
                weight = exact.weights[g, i, b]
            if lead <= slack:
                truth = np.int64(short.codes[g, i, b])
                least = np.int64(work.sums[i, truth, b]) - slack
                least -= work.constants[f, truth, b]
                for k in range(len(rivals)):
                    score = np.int64(work.sums[i, k, b]) - work.constants[f, k, b]
                    rivals[k] = score >= least
                labeling = members, of_class, truth
                weight *= _exact_share(gram, labeling, i, fold, rivals, factors)
            share += weight
    return share


@_compile
def _has_many_close(counts: Any, width: int) -> bool:
    """Whether so many leads are close that all margins are as soon made."""
    n_close = 0
    for b in range(width):
        n_close += counts[1, b] - counts[0, b]
    return n_close > _MOST_CLOSE * width


@_compile
def fill_whole(gram: Any, table: Any, n_most: int, whole: Any) -> bool:
    """Fill inner products in units; False if they are not fit for it.

    Sums of ``n_most`` numbers of a row stay in range: they are no larger than so many
    times the largest, nor than its root times the length of the row.
    """
    bound = largest = total = 0.0
    for i in range(len(table)):
        most, square = 0.0, 0.0
        for j in range(len(table)):
            size = abs(table[i, j])
            most = max(most, size)
            square += size * size
        bound = max(bound, min(n_most * most, np.sqrt(n_most * square)))
        largest = max(largest, gram[i, i])
        total += square + gram[i, i]  # not finite, if one number is not
    unit = max(bound / (LARGEST - n_most), n_most * largest / _MAX_UNITS)
    if not (_LEAST_UNIT < unit < _LARGEST_UNIT and np.isfinite(total)):
        return False
    scale = 1.0 / unit
    for i in range(len(table)):
        for j in range(len(table)):
            whole.gram[i, j] = gram[i, j] * scale
            whole.table[i, j] = np.int16(np.rint(table[i, j] * scale))
    return True


@_compile
def fill_screened_shares(
    gram: Any,
    table: Any,
    whole: Any,
    edges: Any,
    slack: int,
    groups: Any,
    work: Any,
    out: Any,
) -> bool:
    """Fill the shares (G, `LANES`) of best classes; False if a margin is NaN.

    ``gram`` (n, n) are inner products of the samples, one fold after the other, which
    begin at ``edges`` (F + 1,), rounded so that sums are exact; ``table`` is the same
    with zeros between samples of one fold, and ``whole`` are both in units. A lead of
    more than ``slack`` units is sure. Where many are not, all margins are made.
    """
    short, exact = groups
    leads, squares, of_exact = work
    fill_short_blocks(whole.table, leads.blocks)
    halves = np.empty(len(edges) - 1, np.float32)
    is_coarse, is_number = False, True
    for g in range(len(short.codes)):
        if not is_coarse:
            for f in range(len(halves)):
                halves[f] = np.float32(0.25 * exact.twice[g, f, 0, 0])
            codes = address_of(short.codes) + g * len(gram) * SHORT_ROW
            fill_short_sums(short, g, leads)
            _fill_squares(whole, codes, edges, leads, squares)
            _fill_constants(halves, leads, squares)
            fill_leads(short, g, edges, slack, leads)
            is_coarse = _has_many_close(leads.counts, LANES)
            if is_coarse:
                fill_blocks(table, of_exact.blocks)
        if is_coarse:
            is_number &= fill_group_shares(gram, edges, exact, g, of_exact, out)
            continue
        for b in range(LANES):
            out[g, b] = leads.counts[0, b]
            if leads.counts[1, b] > leads.counts[0, b] or exact.weights.size:
                place = g, b
                out[g, b] = _share_of_close(
                    gram, short, exact, place, edges, leads, slack
                )
    return is_number
