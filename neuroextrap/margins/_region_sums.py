"""Sums over the features of overlapping regions, by what the regions have in common.

In a mask's order of features a sphere is some runs of consecutive features, and its
neighbors have most of these runs, too. Each run is summed once: from a shorter run in
its middle or at one of its ends, if there is one, and else from its features.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
import scipy.sparse

from neuroextrap.margins._compiled import has_numba

# columns summed together, so that the rows of a neighborhood stay in the second cache
COLUMNS = 64
# shared runs must save this share of the additions
_LEAST_SAVED = 0.2
_MAX_LEVELS = 16


class RegionSums(NamedTuple):
    """How the sums of regions are made from features and parts that regions share.

    Features and parts are numbered together, the parts last. Row by row, ``parts``
    (n_parts, n_features + n_parts) says what a part is the sum of, earlier parts
    included, and ``regions`` (n_regions, n_features + n_parts) what a region is.
    ``levels`` are the edges of parts that do not need one another, ``workspace`` the
    array of one call that serves the next.
    """

    parts: scipy.sparse.csr_array
    regions: scipy.sparse.csr_array
    levels: np.ndarray
    workspace: list[np.ndarray]

    @property
    def n_additions(self) -> int:
        """Number of rows that are added, parts and regions together."""
        return self.parts.nnz + self.regions.nnz

    def fill(self, features: np.ndarray, out: np.ndarray) -> None:
        """Fill the sums (n_columns, n_regions) of features (n_features, n_columns)."""
        if not len(self.workspace):
            self.workspace.append(np.zeros(self.parts.shape[1] * COLUMNS, np.float32))
        for start in range(0, features.shape[1], COLUMNS):
            columns = slice(start, start + COLUMNS)
            self._fill(features[:, columns], out[columns])

    def _fill(self, features: np.ndarray, out: np.ndarray) -> None:
        """Fill a few columns of sums."""
        n_features, n_columns = features.shape
        n_rows = self.parts.shape[1]
        rows = self.workspace[0][: n_rows * n_columns].reshape(n_rows, n_columns)
        rows[:n_features] = features
        if has_numba():
            from neuroextrap.margins._sums_kernel import fill_parts, fill_sums

            fill_parts(self.parts.indptr, self.parts.indices, n_features, rows)
            fill_sums(self.regions.indptr, self.regions.indices, rows, out)
            return
        for start, stop in pairwise(self.levels):
            rows[n_features + start : n_features + stop] = self.parts[start:stop] @ rows
        out[:] = (self.regions @ rows).T


def share_sums(regions: scipy.sparse.csr_array) -> RegionSums:
    """Return how to sum regions (n_regions, n_features), indices sorted in rows."""
    n_regions, n_features = regions.shape
    if regions.nnz == 0:
        return _without_parts(regions)
    # runs of consecutive features, and those of them that differ
    index = regions.indices.astype(np.int64)
    starts = np.ones(len(index), dtype=bool)
    starts[1:] = np.diff(index) != 1
    starts[regions.indptr[:-1][np.diff(regions.indptr) > 0]] = True
    first = np.flatnonzero(starts)
    lengths = np.diff(np.append(first, len(index)))
    keys, run_of = np.unique(lengths * n_features + index[first], return_inverse=True)
    n_runs = np.concatenate([[0], np.cumsum(starts)])[regions.indptr]
    # runs of one feature, which come first, are no parts
    n_single = int(np.searchsorted(keys, 2 * n_features))
    if n_single < len(keys) and _n_levels(keys[n_single:] // n_features) > _MAX_LEVELS:
        return _without_parts(regions)
    columns = np.where(run_of < n_single, index[first], n_features - n_single + run_of)
    parts, levels = _parts(keys[n_single:], n_features)
    shape = n_regions, n_features + len(keys) - n_single
    shared = RegionSums(parts, _ones(columns, n_runs, shape), levels, [])
    saves = shared.n_additions <= (1 - _LEAST_SAVED) * regions.nnz
    return shared if saves else _without_parts(regions)


def _without_parts(regions: scipy.sparse.csr_array) -> RegionSums:
    """Return regions as sums of their features alone."""
    none = _ones(np.empty(0), np.zeros(1), (0, regions.shape[1]))
    whole = _ones(regions.indices, regions.indptr, regions.shape)
    return RegionSums(none, whole, np.zeros(1, dtype=int), [])


def _n_levels(lengths: np.ndarray) -> int:
    """Return the number of different lengths of sorted runs."""
    return int((np.diff(lengths, prepend=-1) > 0).sum())


def _parts(
    keys: np.ndarray, n_features: int
) -> tuple[scipy.sparse.csr_array, np.ndarray]:
    """Return runs as sums of features and shorter runs, and the edges of their lengths.

    ``keys`` are lengths times n_features plus the first feature, sorted.
    """
    lengths, first = np.divmod(keys, n_features)
    last = first + lengths - 1
    shorter = _places(keys, lengths - 1, first, n_features)  # without the last feature
    later = _places(keys, lengths - 1, first + 1, n_features)  # without the first
    middle = _places(keys, lengths - 2, first + 1, n_features)
    kind = np.select([shorter >= 0, later >= 0, middle >= 0], [0, 1, 2], 3)
    sizes = np.choose(kind, [2, 2, 3, lengths])
    edges = np.concatenate([[0], np.cumsum(sizes)])
    indices = np.empty(edges[-1], dtype=np.int64)
    for chosen, columns in (
        (0, (shorter, last)),
        (1, (later, first)),
        (2, (middle, first, last)),
    ):
        rows = np.flatnonzero(kind == chosen)
        for place, column in enumerate(columns):
            indices[edges[rows] + place] = column[rows]
    rows = np.flatnonzero(kind == 3)
    for place in range(int(lengths[rows].max(initial=0))):
        rows = rows[lengths[rows] > place]
        indices[edges[rows] + place] = first[rows] + place
    steps = np.flatnonzero(np.diff(lengths)) + 1
    levels = np.concatenate([[0], steps, [len(keys)]])
    return _ones(indices, edges, (len(keys), n_features + len(keys))), levels


def _places(
    keys: np.ndarray, lengths: np.ndarray, first: np.ndarray, n_features: int
) -> np.ndarray:
    """Return where runs lie among features and parts, -1 for those that are no part."""
    wanted = lengths * n_features + first
    place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    found = (keys[place] == wanted) & (lengths >= 2)
    return np.where(found, n_features + place, -1)


def _ones(
    indices: np.ndarray, edges: np.ndarray, shape: tuple[int, int]
) -> scipy.sparse.csr_array:
    """Return a matrix of ones, float32, with indices of 32 bits."""
    data = np.ones(len(indices), dtype=np.float32)
    arrays = data, indices.astype(np.int32), edges.astype(np.int32)
    return scipy.sparse.csr_array(arrays, shape=shape)
