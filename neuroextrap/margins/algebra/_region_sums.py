"""Sums over the features of overlapping regions, by what the regions have in common.

In a mask's order of features a sphere is some runs of consecutive features, and its
neighbors have most of these runs, too. Each run is summed once: from a shorter run in
its middle or at one of its ends, if there is one, and else from its features.
"""

from typing import NamedTuple

import numpy as np
import scipy.sparse

# columns summed together, so that the rows of a neighborhood stay in the second cache
COLUMNS = 64
# a run is a part if that saves this many additions: it is written and read once more
_LEAST_SAVED = 16
_MAX_LENGTHS = 16  # of parts; more of them are not worth while


class RegionSums(NamedTuple):
    """How the sums of regions are made from features and parts that regions share.

    Features and parts are numbered together, the parts last. Row by row, ``parts``
    (n_parts, n_features + n_parts) says what a part is the sum of, earlier parts
    included, and ``regions`` (n_regions, n_features + n_parts) what a region is.
    ``workspace`` is the array of one call that serves the next.
    """

    parts: scipy.sparse.csr_array
    regions: scipy.sparse.csr_array
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
        from neuroextrap.margins.compiled._features import fill_parts, fill_sums

        n_features, n_columns = features.shape
        n_rows = self.parts.shape[1]
        rows = self.workspace[0][: n_rows * n_columns].reshape(n_rows, n_columns)
        rows[:n_features] = features
        fill_parts(self.parts.indptr, self.parts.indices, n_features, rows)
        fill_sums(self.regions.indptr, self.regions.indices, rows, out)


def share_sums(regions: scipy.sparse.csr_array) -> RegionSums:
    """Return how to sum regions (n_regions, n_features), indices sorted in rows."""
    n_features = regions.shape[1]
    if regions.nnz == 0:
        return _without_parts(regions)
    # runs of consecutive features, and those of them that differ
    index = regions.indices.astype(np.int64)
    starts = np.ones(len(index), dtype=bool)
    starts[1:] = np.diff(index) != 1
    starts[regions.indptr[:-1][np.diff(regions.indptr) > 0]] = True
    begin = np.flatnonzero(starts)
    keys = np.diff(np.append(begin, len(index))) * n_features + index[begin]
    keys, run_of, uses = np.unique(keys, return_inverse=True, return_counts=True)
    lengths, first = np.divmod(keys, n_features)
    is_part = uses * (lengths - 1) >= _LEAST_SAVED
    if not is_part.any() or len(np.unique(lengths[is_part])) > _MAX_LENGTHS:
        return _without_parts(regions)
    # parts lie by their last feature, then by length: behind those that they are made
    # of, and near them in memory
    order = np.lexsort((lengths[is_part], (first + lengths)[is_part]))
    places = np.empty(len(order), dtype=np.int64)
    places[order] = np.arange(len(order))
    members = _members_of_runs(keys, keys[is_part], places, n_features)
    n_columns = n_features + len(order)
    parts = _ones(*_pick(*members, np.flatnonzero(is_part)[order]), n_columns)
    # a region is the sum of its runs, those that are no parts by what they are made of
    indices, edges = members
    start, size = edges[:-1].copy(), np.diff(edges)
    indices = np.append(indices, n_features + places)
    start[is_part], size[is_part] = edges[-1] + np.arange(len(order)), 1
    n_runs = np.concatenate([[0], np.cumsum(starts)])[regions.indptr]
    indices, edges = _take(indices, start[run_of], size[run_of])
    whole = _ones(indices, edges[n_runs], n_columns)
    return RegionSums(parts, whole, [])


def _take(
    indices: np.ndarray, start: np.ndarray, size: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return pieces of an array one after the other, and their edges."""
    edges = np.concatenate([[0], np.cumsum(size)])
    return indices[np.repeat(start - edges[:-1], size) + np.arange(edges[-1])], edges


def _pick(
    indices: np.ndarray, edges: np.ndarray, rows: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return some rows of lists that lie one after the other, and their edges."""
    return _take(indices, edges[rows], np.diff(edges)[rows])


def _without_parts(regions: scipy.sparse.csr_array) -> RegionSums:
    """Return regions as sums of only their features."""
    none = _ones(np.empty(0), np.zeros(1), regions.shape[1])
    whole = _ones(regions.indices, regions.indptr, regions.shape[1])
    return RegionSums(none, whole, [])


def _members_of_runs(
    keys: np.ndarray, parts: np.ndarray, places: np.ndarray, n_features: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return what runs are the sums of, one after the other, and the edges of runs.

    ``keys`` are lengths times n_features plus the first feature; ``parts`` are some of
    them, sorted, and ``places`` their numbers. A run is a part that is shorter by one
    or both of its ends, and these, or else all of its features.
    """
    lengths, first = np.divmod(keys, n_features)
    last = first + lengths - 1
    members = _Members(lengths)
    for less, start, ends in (
        (1, 0, (last,)),
        (1, 1, (first,)),
        (2, 1, (first, last)),
    ):
        wanted = (lengths - less) * n_features + first + start
        row = np.minimum(np.searchsorted(parts, wanted), len(parts) - 1)
        found = (parts[row] == wanted) & (lengths - less >= 2)
        members.put(found, n_features + places[row], *ends)
    members.put_runs(first)
    return members.arrays()


class _Members:
    """What runs are the sums of; the first that is put counts."""

    def __init__(self, lengths: np.ndarray) -> None:
        self.lengths = lengths
        self.sizes = np.zeros(len(lengths), dtype=np.int64)
        self.columns: list[tuple[np.ndarray, int, np.ndarray]] = []

    def put(self, which: np.ndarray, *columns: np.ndarray) -> None:
        """Say what the chosen runs are the sums of."""
        rows = np.flatnonzero(which & (self.sizes == 0))
        self.sizes[rows] = len(columns)
        self.columns += [(rows, i, column[rows]) for i, column in enumerate(columns)]

    def put_runs(self, first: np.ndarray) -> None:
        """Make all others of their features."""
        rows = np.flatnonzero(self.sizes == 0)
        self.sizes[rows] = self.lengths[rows]
        for i in range(int(self.sizes[rows].max(initial=0))):
            rows = rows[self.lengths[rows] > i]
            self.columns.append((rows, i, first[rows] + i))

    def arrays(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the members one run after the other, and the edges of runs."""
        edges = np.concatenate([[0], np.cumsum(self.sizes)])
        indices = np.empty(edges[-1], dtype=np.int64)
        for rows, place, column in self.columns:
            indices[edges[rows] + place] = column
        return indices, edges


def _ones(
    indices: np.ndarray, edges: np.ndarray, n_columns: int
) -> scipy.sparse.csr_array:
    """Return a matrix of ones, float32, with indices of 32 bits."""
    data = np.ones(len(indices), dtype=np.float32)
    arrays = data, indices.astype(np.int32), edges.astype(np.int32)
    return scipy.sparse.csr_array(arrays, shape=(len(edges) - 1, n_columns))
