"""Regions among loose coordinates: balls and nearest neighbors by a k-d tree."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from neuroextrap.regions._lattice import RADIUS_TOLERANCE
from neuroextrap.regions._membership import (
    check_centers,
    check_coordinates,
    check_n_pairs,
    check_radius,
    rows_to_regions,
)

_BATCH_CENTERS = 2048  # centers searched for together


def coordinate_spheres(
    coordinates: Any, radius: float, *, centers: Any = None
) -> csr_array:
    """Make balls around features that lie anywhere in space.

    Parameters
    ----------
    coordinates : array-like of shape (n_features, 3)
        World coordinates of the features in mm.
    radius : float
        Radius in mm; a feature at distance ``<= radius`` (relative tolerance 1e-9)
        belongs to the ball.
    centers : array-like of int of shape (n_regions,) or None, default=None
        Feature indices of the centers. If None, every feature is a center.

    Returns
    -------
    regions : scipy.sparse.csr_array of bool of shape (n_regions, n_features)
        Row i holds the features of ball i (its center included), int32 indices sorted.

    Raises
    ------
    ValueError
        If ``coordinates`` are not finite of shape (n_features, 3), ``radius`` is not
        positive, or ``centers`` are not feature indices.

    Examples
    --------
    >>> from neuroextrap.regions import coordinate_spheres
    >>> line = [[0.0, 0, 0], [2, 0, 0], [4, 0, 0]]
    >>> coordinate_spheres(line, 2.0).toarray().astype(int)
    array([[1, 1, 0],
           [1, 1, 1],
           [0, 1, 1]])
    """
    from scipy.spatial import cKDTree

    coordinates = check_coordinates(coordinates)
    reach = check_radius(radius) * (1 + RADIUS_TOLERANCE)
    centers = check_centers(centers, len(coordinates))
    tree = cKDTree(coordinates)
    counts, members, n_pairs = [], [], 0
    for batch in _batches(centers):
        near = cKDTree(coordinates[batch]).sparse_distance_matrix(
            tree, reach, output_type="ndarray"
        )
        order = np.lexsort((near["j"], near["i"]))
        members.append(near["j"][order].astype(np.int32))
        counts.append(np.bincount(near["i"], minlength=len(batch)))
        n_pairs += len(order)
        check_n_pairs(n_pairs)
    return rows_to_regions(
        np.concatenate(members), np.concatenate(counts), len(coordinates)
    )


def nearest_features(
    coordinates: Any, n_nearest: int, *, centers: Any = None
) -> csr_array:
    """Take the ``n_nearest`` features around each center, itself included.

    `coordinates` (n_features, 3) are in mm, `centers` (n_regions,) feature indices;
    None means every feature. Equal distances (within a relative 1e-9) are broken by
    feature index, the lower first, so that the answer does not depend on the search
    tree. Returns regions, a csr_array of bool (n_regions, n_features) with exactly
    ``n_nearest`` members a row, int32 indices sorted. ValueError where coordinates are
    not finite or of another shape, or `n_nearest` and `centers` are out of range.

    >>> line = [[0.0, 0, 0], [2, 0, 0], [4, 0, 0]]
    >>> nearest_features(line, 2).indices.reshape(3, 2)
    array([[0, 1],
           [0, 1],
           [1, 2]], dtype=int32)
    """
    from scipy.spatial import cKDTree

    coordinates = check_coordinates(coordinates)
    n_features = len(coordinates)
    n_nearest = _check_n_nearest(n_nearest, n_features)
    centers = check_centers(centers, n_features)
    check_n_pairs(len(centers) * n_nearest)
    tree = cKDTree(coordinates)
    members = np.empty((len(centers), n_nearest), dtype=np.int32)
    n_done = 0
    for batch in _batches(centers):
        members[n_done : n_done + len(batch)] = _nearest_of_batch(
            tree, coordinates[batch], batch, n_nearest
        )
        n_done += len(batch)
    counts = np.full(len(centers), n_nearest)
    return rows_to_regions(members.ravel(), counts, n_features)


def _batches(centers: np.ndarray) -> Iterator[np.ndarray]:
    """Split the centers into batches of bounded size."""
    for first in range(0, len(centers), _BATCH_CENTERS):
        yield centers[first : first + _BATCH_CENTERS]


def _check_n_nearest(n_nearest: Any, n_features: int) -> int:
    """Return n_nearest as an int in 1..n_features."""
    whole = isinstance(n_nearest, (int, np.integer)) and not isinstance(n_nearest, bool)
    if not (whole and 1 <= n_nearest <= n_features):
        raise ValueError(
            f"n_nearest={n_nearest!r} must be an integer in 1..{n_features}; it counts "
            "the center itself"
        )
    return int(n_nearest)


def _nearest_of_batch(
    tree: Any, points: np.ndarray, centers: np.ndarray, n_nearest: int
) -> np.ndarray:
    """Sorted member indices of a batch of centers; shape (n_batch, n_nearest)."""
    distances, neighbors = _query_past_ties(tree, points, n_nearest)
    edge = distances[:, n_nearest - 1 : n_nearest]
    # 0: the center itself; 1: nearer than the last one wanted; 2: as far; 3: farther
    rank = np.where(distances < edge * (1 - RADIUS_TOLERANCE), 1, 2)
    rank[distances > edge * (1 + RADIUS_TOLERANCE)] = 3
    rank[neighbors == centers[:, None]] = 0
    order = np.lexsort((neighbors, rank), axis=1)[:, :n_nearest]
    return np.sort(np.take_along_axis(neighbors, order, axis=1), axis=1)


def _query_past_ties(
    tree: Any, points: np.ndarray, n_nearest: int
) -> tuple[np.ndarray, np.ndarray]:
    """Query until every row reaches beyond all ties with its last wanted feature."""
    n_query = min(tree.n, n_nearest + 32)
    while True:
        wanted = np.arange(1, n_query + 1)
        distances, neighbors = tree.query(points, k=wanted)
        edge = distances[:, n_nearest - 1] * (1 + RADIUS_TOLERANCE)
        if n_query == tree.n or (distances[:, -1] > edge).all():
            return distances, neighbors
        n_query = min(tree.n, 2 * n_query)
