"""Compiled inner products of overlapping regions, each from those of the one before.

A block of the sums stays in registers until its last feature (``_vector.py``); what
comes and what goes is added in one pass. ``algebra/_overlapping_grams.py`` has the
idea.
"""

from collections import namedtuple
from typing import Any

from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

from neuroextrap.margins.compiled._sums import fill_symmetric
from neuroextrap.margins.compiled._vector import (
    _INDEX,
    _VECTOR,
    LANES,
    _filled,
    _multiply_add,
)

ROWS = 8  # of a block of sums, LANES wide
TOGETHER = 32  # features that stay in the first cache for all blocks

# features (p, width) as one array, width a multiple of LANES; the features of each
# region, sorted, one region after the other, and where each region's begin, (S + 1,);
# how much smaller squared lengths may become before sums are made anew
Overlap = namedtuple("Overlap", "features indices edges smaller")

# what goes from region to region: sums (width, width), of which only what is right of
# the diagonal counts; the largest squared lengths since sums were made anew, (width,);
# where changed features begin, as many as in the two largest regions
Sums = namedtuple("Sums", "sums largest places")

_compile = njit(cache=True, nogil=True, error_model="numpy")


def _for_each(builder: Any, start: Any, stop: Any, body: Any, carried: list) -> list:
    """Write a loop; ``body(i, carried)`` gives what is carried on."""
    before = builder.block
    head, inside = (builder.append_basic_block(name) for name in ("head", "inside"))
    after = builder.append_basic_block("after")
    builder.branch(head)
    builder.position_at_end(head)
    i = builder.phi(_INDEX)
    values = [builder.phi(value.type) for value in carried]
    i.add_incoming(start, before)
    for value, first in zip(values, carried, strict=True):
        value.add_incoming(first, before)
    builder.cbranch(builder.icmp_unsigned("<", i, stop), inside, after)
    builder.position_at_end(inside)
    following = body(i, values)
    i.add_incoming(builder.add(i, ir.Constant(_INDEX, 1)), builder.block)
    for value, new in zip(values, following, strict=True):
        value.add_incoming(new, builder.block)
    builder.branch(head)
    builder.position_at_end(after)
    return values


def _row(builder: Any, rows: Any, t: Any) -> Any:
    """Return where row ``t`` lies of (array, place of the first, distance)."""
    place = builder.add(rows[1], builder.mul(rows[2], t))
    return builder.bitcast(builder.gep(rows[0], [place]), _VECTOR.as_pointer())


def _add_outer(
    typing: Any, out: Any, rows: Any, places: Any, first: Any, middle: Any, stop: Any
) -> Any:
    """Add outer products of pieces of rows to a block of sums, ROWS x LANES.

    ``out`` is (array, place, numbers from one row to the next), ``rows`` (array, begin
    of the left piece in a row, begin of the right piece), ``places`` says where rows
    begin: those from ``first`` on are added, from ``middle`` to ``stop`` taken off.
    """
    del typing, first, middle, stop

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        def data(value: Any, kind: Any) -> Any:
            return context.make_array(kind)(context, builder, value).data

        kinds = signature.args
        out, rows = (
            [builder.extract_value(value, i) for i in range(3)] for value in args[:2]
        )
        out[0], rows[0] = data(out[0], kinds[0][0]), data(rows[0], kinds[1][0])
        places, (first, middle, stop) = data(args[2], kinds[2]), args[3:]
        numbers = [ir.Constant(_INDEX, i) for i in range(ROWS)]
        sums = [_row(builder, out, i) for i in numbers]
        total = [builder.load(row, align=8) for row in sums]

        def add(t: Any, total: list, sign: int) -> list:
            place = builder.load(builder.gep(places, [t]))
            left = builder.gep(rows[0], [builder.add(place, rows[1])])
            piece = builder.gep(rows[0], [builder.add(place, rows[2])])
            piece = builder.bitcast(piece, _VECTOR.as_pointer())
            right = builder.load(piece, align=8)
            if sign < 0:
                right = builder.fneg(right)
            factors = [
                _filled(builder, builder.load(builder.gep(left, [i])), _VECTOR)
                for i in numbers
            ]
            return [
                _multiply_add(builder, factor, right, value)
                for factor, value in zip(factors, total, strict=True)
            ]

        total = _for_each(builder, first, middle, lambda t, v: add(t, v, 1), total)
        total = _for_each(builder, middle, stop, lambda t, v: add(t, v, -1), total)
        for row, value in zip(sums, total, strict=True):
            builder.store(value, row, align=8)
        return context.get_dummy_value()

    kinds = out, rows, places, types.intp, types.intp, types.intp
    return types.void(*kinds), generate


add_outer: Any = intrinsic(_add_outer)


@_compile
def _add_products(
    features: Any, places: Any, n_added: int, n_all: int, sums: Any
) -> None:
    """Add inner products of some features to the sums, take those of others off."""
    width = len(sums)
    flat = sums.reshape(-1)
    for first in range(0, n_all, TOGETHER):
        stop = min(first + TOGETHER, n_all)
        middle = max(first, min(n_added, stop))
        for j in range(0, width, LANES):
            for i in range(0, j + LANES, ROWS):
                block, rows = (flat, i * width + j, width), (features, i, j)
                add_outer(block, rows, places, first, middle, stop)


@_compile
def _put_others(members: Any, others: Any, width: int, places: Any, start: int) -> int:
    """Put where features begin that others lack, both sorted; return the stop."""
    b = 0
    for member in members:
        while b < len(others) and others[b] < member:
            b += 1
        if b == len(others) or others[b] != member:
            places[start] = member * width
            start += 1
    return start


@_compile
def _has_shrunk(sums: Any, largest: Any, smaller: float) -> bool:
    """Whether a squared length is that much smaller than it has been."""
    n_shrunk = 0
    for i in range(len(largest)):
        n_shrunk += sums[i, i] < smaller * largest[i]
    return n_shrunk > 0


@_compile
def next_sums(overlap: Any, region: int, state: Any) -> None:
    """Turn the sums of the region before into those of a region."""
    sums, largest, places = state
    edges, width = overlap.edges, len(sums)
    members = overlap.indices[edges[region] : edges[region + 1]]
    before = overlap.indices[edges[max(region, 1) - 1] : edges[region]]
    n_new = _put_others(members, before, width, places, 0)
    n_changes = _put_others(before, members, width, places, n_new)
    anew = n_changes >= len(members)
    if not anew:
        _add_products(overlap.features, places, n_new, n_changes, sums)
        anew = _has_shrunk(sums, largest, overlap.smaller)
    if anew:
        sums[:], largest[:] = 0.0, 0.0
        n_new = _put_others(members, members[:0], width, places, 0)
        _add_products(overlap.features, places, n_new, n_new, sums)
    for i in range(width):
        largest[i] = max(largest[i], sums[i, i])


@_compile
def fill_grams(overlap: Any, state: Any, digits: int, out: Any) -> None:
    """Fill inner products (S, n, n) of regions, rounded to so many digits, if any."""
    for region in range(len(out)):
        next_sums(overlap, region, state)
        fill_symmetric(state.sums, out[region], digits)
