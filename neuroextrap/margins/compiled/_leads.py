"""Compiled leads of classes in short integers, many labelings side by side.

Every number is a row of `LANES` labelings (``_shorts.py``). What is too close to be
sure is for others to look at again: ``algebra/_screen.py`` has the idea.
"""

from collections import namedtuple
from typing import Any

import numpy as np
from numba import njit

from neuroextrap.margins.compiled._lane_memory import address_of, aligned
from neuroextrap.margins.compiled._shorts import (
    LANES,
    LARGEST,
    SHORT_ROW,
    add_shorts,
    count_above,
    larger_shorts,
    load_shorts,
    spread_short,
    store_shorts,
    take_shorts,
    transpose_shorts,
    where_short,
)
from neuroextrap.margins.compiled._vector import load_index

COLUMNS = 2 * LANES  # of a table that are added up together

# of G groups of labelings: samples sorted by class (G, `LANES`, n), uint32, where
# classes begin (G, `LANES`, K + 1), and the classes (G, n_test, `LANES`) of test points
ShortGroups = namedtuple("ShortGroups", "members edges codes")
# what may be written over: a table in blocks (n_blocks, n, `COLUMNS`); and rows of
# labelings: sums (n_test, K), with room for whole blocks; leads (n_test,); what is
# taken off sums (F, K); counts of leads that are sure, and of those that may be; and
# `COLUMNS` rows
Leads = namedtuple("Leads", "blocks sums lead constants counts rows")

_compile = njit(cache=True, nogil=True, error_model="numpy")


def leads_memory(n_samples: int, n_test: int, n_folds: int, n_classes: int) -> Leads:
    """Allocate what may be written over, for a table (n_samples, n_test)."""
    n_blocks = -(-n_test // COLUMNS)
    places = (n_blocks * COLUMNS, n_classes), (n_test,), (n_folds, n_classes)
    return Leads(
        np.empty((n_blocks, n_samples, COLUMNS), np.int16),
        *(aligned(*rows, dtype=np.int16) for rows in (*places, (2,), (COLUMNS,))),
    )


@_compile
def fill_short_blocks(table: Any, blocks: Any) -> None:
    """Copy a table (n_samples, n_columns) into blocks, with zeros for further columns.

    Blocks have shape (n_blocks, n_samples, `COLUMNS`).
    """
    n_columns = table.shape[1]
    for c in range(len(blocks)):
        start = c * COLUMNS
        width = min(COLUMNS, n_columns - start)
        for i in range(len(table)):
            row, out = table[i, start : start + width], blocks[c, i]
            for b in range(width):
                out[b] = row[b]
            out[width:] = 0


@_compile
def _fill_block(block: int, samples: int, edges: Any, size: Any, places: Any) -> None:
    """Fill sums (`COLUMNS`, K, `LANES`) of a block over the samples of each class.

    ``places`` are addresses of the sums and of `COLUMNS` rows to write over; ``size``
    is the number of samples and that of classes.
    """
    n_samples, n_classes = size
    out, scratch = places
    step = n_classes * SHORT_ROW
    for k in range(n_classes):
        for b in range(LANES):
            first = edges[b, k]
            one = other = spread_short(0)
            row = samples + (b * n_samples + first) * 4
            for a in range(edges[b, k + 1] - first):
                place = block + load_index(row + a * 4) * (2 * SHORT_ROW)
                one = add_shorts(one, load_shorts(place))
                other = add_shorts(other, load_shorts(place + SHORT_ROW))
            store_shorts(scratch + b * SHORT_ROW, one)
            store_shorts(scratch + (LANES + b) * SHORT_ROW, other)
        for half in range(2):
            place = out + half * LANES * step + k * SHORT_ROW
            transpose_shorts(scratch + half * LANES * SHORT_ROW, place, step)


@_compile
def fill_short_sums(groups: Any, g: int, work: Any) -> None:
    """Fill the sums of group ``g`` over the samples of each class, from the blocks."""
    n_samples, n_classes = groups.members.shape[2], groups.edges.shape[2] - 1
    members = address_of(groups.members) + g * LANES * n_samples * 4
    sums, rows = address_of(work.sums), address_of(work.rows)
    step = n_classes * SHORT_ROW
    for c in range(len(work.blocks)):
        block = address_of(work.blocks) + c * n_samples * COLUMNS * 2
        places = sums + c * COLUMNS * step, rows
        _fill_block(block, members, groups.edges[g], (n_samples, n_classes), places)


@_compile
def fill_leads(groups: Any, g: int, edges: Any, slack: int, work: Any) -> None:
    """Fill what points' classes are ahead of all others by, and count leads.

    ``edges`` say where the test points of a fold begin whose sums have constants taken
    off; without folds nothing is. A lead of more than ``slack`` is sure, and one of
    less than ``-slack`` cannot be.
    """
    n_test, n_classes = groups.codes.shape[1], groups.edges.shape[2] - 1
    codes = address_of(groups.codes) + g * n_test * SHORT_ROW
    step, n_folds = n_classes * SHORT_ROW, len(edges) - 1
    lowest, least, nothing = spread_short(-LARGEST - 1), spread_short(slack), 0
    sure = possible = spread_short(nothing)
    most = spread_short(-slack - 1)
    for f in range(max(n_folds, 1)):
        first, stop = (edges[f], edges[f + 1]) if n_folds else (0, n_test)
        constants = address_of(work.constants) + f * step
        for i in range(first, stop):
            label = load_shorts(codes + i * SHORT_ROW)
            place = address_of(work.sums) + i * step
            own = rival = lowest
            for k in range(n_classes):
                score = load_shorts(place + k * SHORT_ROW)
                if n_folds:
                    score = take_shorts(score, load_shorts(constants + k * SHORT_ROW))
                own = where_short(label, k, score, own)
                rival = larger_shorts(rival, where_short(label, k, lowest, score))
            lead = take_shorts(own, rival)
            store_shorts(address_of(work.lead) + i * SHORT_ROW, lead)
            sure = count_above(sure, lead, least)
            possible = count_above(possible, lead, most)
    store_shorts(address_of(work.counts), sure)
    store_shorts(address_of(work.counts) + SHORT_ROW, possible)
