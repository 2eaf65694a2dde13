"""Compiled best classes of the nearest centroid, many labelings side by side.

Every number is a row of `LANES` labelings (``_vector.py``). Sums are exact
(``algebra/_class_sums.py``), other numbers are rounded as those of ``_centroid.py``
are: both give the same bits.
"""

from collections import namedtuple
from typing import Any

from numba import njit

from neuroextrap.margins.compiled._lane_best import add_share
from neuroextrap.margins.compiled._lane_memory import address_of
from neuroextrap.margins.compiled._lane_sums import fill_blocks, fill_sums
from neuroextrap.margins.compiled._vector import (
    LANES,
    ROW,
    add,
    load,
    multiply,
    spread,
    store,
    take_product,
    where_code,
    where_same,
)

# of G groups of labelings: samples sorted by class (G, `LANES`, n) and where classes
# begin (G, `LANES`, K + 1); classes of samples (G, n, `LANES`); what sums of a class's
# training samples and, times -1, their squared lengths are multiplied by, both
# (G, F, K, `LANES`); and weights of test points (G, n, `LANES`), or none
Groups = namedtuple("Groups", "members edges codes twice minus weights")
# what may be written over: a table (n, n) in blocks (n_blocks, n, `LANES`); sums and
# margins (n, K, `LANES`), for whole blocks of samples; and (2 n + `LANES`, `LANES`)
Work = namedtuple("Work", "blocks margins rows")

_compile = njit(cache=True, nogil=True, error_model="numpy")


@_compile
def _fill_own(gram: Any, edges: Any, codes: int, n_classes: int, work: Any) -> None:
    """Fill what a sample adds to the squared length of the sum over its class.

    Its product with the sum over other folds once, and twice; with both the products
    with the samples of its class in its fold.
    """
    sums, once = address_of(work.margins), address_of(work.rows)
    twice = once + len(gram) * ROW
    for f in range(len(edges) - 1):
        for i in range(edges[f], edges[f + 1]):
            label, place = codes + i * LANES, sums + i * n_classes * ROW
            own = load(place)
            for k in range(1, n_classes):
                own = where_code(label, k, load(place + k * ROW), own)
            within = spread(0.0)
            for j in range(edges[f], edges[f + 1]):
                more = add(within, spread(gram[i, j]))
                within = where_same(label, codes + j * LANES, more, within)
            total = add(own, within)
            store(once + i * ROW, total)
            store(twice + i * ROW, add(total, own))


@_compile
def _fill_margins(edges: Any, codes: int, factors: Any, size: Any, work: Any) -> None:
    """Turn products with sums of classes over other folds into margins."""
    n, n_classes = size
    once, step = address_of(work.rows), n_classes * ROW
    twice = once + n * ROW
    for k in range(n_classes):
        total = spread(0.0)
        for i in range(n):
            more = add(total, load(once + i * ROW))
            total = where_code(codes + i * LANES, k, more, total)
        for f in range(len(edges) - 1):
            square, at = total, (f * n_classes + k) * ROW
            for i in range(edges[f], edges[f + 1]):
                less = take_product(square, spread(1.0), load(twice + i * ROW))
                square = where_code(codes + i * LANES, k, less, square)
            factor = load(factors[0] + at)
            constant = multiply(square, load(factors[1] + at))
            for i in range(edges[f], edges[f + 1]):
                place = address_of(work.margins) + i * step + k * ROW
                store(place, add(multiply(load(place), factor), constant))


@_compile
def fill_group_shares(
    gram: Any, edges: Any, groups: Any, g: int, work: Any, out: Any
) -> bool:
    """Fill the shares (G, `LANES`) of group ``g``; False if a margin is NaN.

    ``gram`` (n, n) are inner products of the samples, one fold after the other, which
    begin at ``edges`` (F + 1,); the same with zeros between samples of one fold lie in
    the blocks of ``work``.
    """
    n, is_number = len(gram), True
    n_folds, n_classes = groups.twice.shape[1:3]
    margins, scratch = address_of(work.margins), address_of(work.rows)
    codes = address_of(groups.codes) + g * n * LANES
    members = address_of(groups.members) + g * LANES * n * 4
    for c in range(len(work.blocks)):
        block = address_of(work.blocks) + c * n * ROW
        place = margins + c * LANES * n_classes * ROW
        fill_sums(block, members, n, groups.edges[g], place, scratch)
    _fill_own(gram, edges, codes, n_classes, work)
    at = g * n_folds * n_classes * ROW
    factors = address_of(groups.twice) + at, address_of(groups.minus) + at
    _fill_margins(edges, codes, factors, (n, n_classes), work)
    weight, shares = 0, address_of(out) + g * ROW
    store(shares, spread(0.0))
    for i in range(n):
        if groups.weights.size:
            weight = address_of(groups.weights) + (g * n + i) * ROW
        place, label = margins + i * n_classes * ROW, codes + i * LANES
        is_number &= add_share(place, label, weight, shares, n_classes, True)
    return is_number


@_compile
def fill_shares(
    gram: Any, table: Any, edges: Any, groups: Any, work: Any, out: Any
) -> bool:
    """Fill the shares (G, `LANES`) of best classes; False if a margin is NaN.

    ``table`` (n, n) are inner products with zeros between samples of one fold.
    """
    fill_blocks(table, work.blocks)
    is_number = True
    for g in range(len(groups.codes)):
        is_number &= fill_group_shares(gram, edges, groups, g, work, out)
    return is_number
