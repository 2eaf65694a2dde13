"""Compiled sums over the samples of each class, a few labelings side by side.

Sums of one labeling are made in registers, `LANES` columns of a table at a time, and
turned so that the labelings lie last, as loops over many labelings want them.
"""

from typing import Any

from numba import njit

from neuroextrap.margins.compiled._vector import (
    LANES,
    ROW,
    add,
    load,
    load_index,
    spread,
    store,
    transpose,
)

_compile = njit(cache=True, nogil=True, error_model="numpy")


@_compile
def fill_blocks(table: Any, blocks: Any) -> None:
    """Copy a table (n_samples, n_columns) into blocks (n_blocks, n_samples, `LANES`).

    What the last block has beyond the table is left as it is.
    """
    for c in range(len(blocks)):
        start = c * LANES
        width = min(LANES, table.shape[1] - start)
        for i in range(len(table)):
            row, out = table[i, start : start + width], blocks[c, i]
            for b in range(width):
                out[b] = row[b]


@_compile
def fill_sums(
    block: int, samples: int, n_samples: int, edges: Any, out: int, scratch: int
) -> None:
    """Fill sums (`LANES` columns, K, `LANES` labelings) over the samples of a class.

    ``block`` (n_samples, `LANES`) are some columns of a table, and ``samples``
    (`LANES`, n_samples), uint32, are sorted by class; ``edges`` (`LANES`, K + 1) say
    where classes begin. All but these are addresses; at ``scratch``, `LANES` rows may
    be written over.
    """
    n_classes = edges.shape[1] - 1
    for k in range(n_classes):
        for b in range(LANES):
            total, first = spread(0.0), edges[b, k]
            row = samples + (b * n_samples + first) * 4
            for a in range(edges[b, k + 1] - first):
                total = add(total, load(block + load_index(row + a * 4) * ROW))
            store(scratch + b * ROW, total)
        transpose(scratch, out + k * ROW, n_classes * ROW)
