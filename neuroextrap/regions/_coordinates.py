"""Regions on a lattice of voxels, among loose coordinates, and on meshes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import coo_array, csr_array

from neuroextrap.regions._membership import (
    check_centers,
    check_coordinates,
    check_n_pairs,
    check_radius,
    rows_to_regions,
)
from neuroextrap.stats._validation import is_integer

RADIUS_TOLERANCE = 1e-9
"""A feature at distance <= radius * (1 + RADIUS_TOLERANCE) belongs to the sphere."""

_BATCH_PAIRS = 2**20  # (center, offset) pairs looked up together
_BATCH_CENTERS = 2048  # centers searched for together
_BATCH_DISTANCES = 2**22  # distances of a batch of centers


def lattice_spheres(
    mask: np.ndarray, affine: np.ndarray, radius: float, *, centers: Any = None
) -> csr_array:
    """Return the voxels of a mask within `radius` mm of each center, csr_array of bool.

    Distances are those of voxel centers in world space, of any affine. Offsets within
    the radius are computed once, and looked up for a batch of centers in a padded
    volume of indices (Kriegeskorte, Goebel & Bandettini 2006, PNAS 103).
    """
    offsets = _stencil(affine[:3, :3], check_radius(radius), mask.shape)
    number = np.full(mask.shape, -1, dtype=np.int32)
    number[mask] = np.arange(mask.sum())
    border = np.abs(offsets).max(axis=0)
    padded = np.pad(number, border[:, None], constant_values=-1)
    steps = offsets @ (np.array(padded.strides) // padded.itemsize)
    lookup = padded.ravel()
    positions = np.flatnonzero(lookup >= 0)

    def near(batch: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        # -1 where the offset leaves the mask: the border is as wide as the stencil
        neighbors = lookup[positions[batch, None] + steps]
        inside = neighbors >= 0
        return inside.sum(axis=1), neighbors[inside]

    width = max(1, _BATCH_PAIRS // len(steps))
    return _collected(near, centers, width, len(positions))


def strided_centers(mask: np.ndarray, stride: Any) -> np.ndarray:
    """Return every `stride`-th feature along each axis, from the mask's first index."""
    steps = np.asarray(stride)
    if steps.dtype.kind not in "iu" or steps.shape not in ((), (3,)) or steps.min() < 1:
        raise ValueError(
            f"stride={stride!r} must be an integer >= 1 or three of them; 1 keeps "
            "every voxel"
        )
    voxels = np.argwhere(mask)
    kept = ((voxels - voxels.min(axis=0)) % steps == 0).all(axis=1)
    if not kept.any():
        raise ValueError(
            f"stride={stride!r} leaves no voxel of the mask as a center; use a "
            "smaller stride"
        )
    return np.flatnonzero(kept)


def _stencil(axes: np.ndarray, radius: float, shape: tuple) -> np.ndarray:
    """Voxel offsets within the radius, in C order; shape (n_offsets, 3)."""
    reach = radius * np.linalg.norm(np.linalg.inv(axes), axis=1)
    most = np.minimum(np.floor(reach * (1 + 1e-6)), np.array(shape) - 1).astype(int)
    grids = np.meshgrid(*(np.arange(-m, m + 1) for m in most), indexing="ij")
    offsets = np.stack([grid.ravel() for grid in grids], axis=1)
    distances = np.linalg.norm(offsets @ axes.T, axis=1)
    return offsets[distances <= radius * (1 + RADIUS_TOLERANCE)]


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
    tree = cKDTree(coordinates)

    def near(batch: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        own = cKDTree(coordinates[batch])
        pairs = own.sparse_distance_matrix(tree, reach, output_type="ndarray")
        order = np.lexsort((pairs["j"], pairs["i"]))
        return np.bincount(pairs["i"], minlength=len(batch)), pairs["j"][order]

    return _collected(near, centers, _BATCH_CENTERS, len(coordinates))


def nearest_features(
    coordinates: Any, n_nearest: int, *, centers: Any = None
) -> csr_array:
    """Return the `n_nearest` features around centers; of ties, the lower index."""
    from scipy.spatial import cKDTree

    coordinates = check_coordinates(coordinates)
    n_features = len(coordinates)
    if not is_integer(n_nearest) or not 1 <= n_nearest <= n_features:
        raise ValueError(
            f"n_nearest={n_nearest!r} must be an integer in 1..{n_features}; it counts "
            "the center itself"
        )
    centers, tree = check_centers(centers, n_features), cKDTree(coordinates)
    check_n_pairs(len(centers) * n_nearest)

    def near(batch: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        members = _nearest_of_batch(tree, coordinates, batch, n_nearest)
        return np.full(len(batch), n_nearest), members.ravel()

    return _collected(near, centers, _BATCH_CENTERS, n_features)


def _nearest_of_batch(
    tree: Any, coordinates: np.ndarray, centers: np.ndarray, n_nearest: int
) -> np.ndarray:
    """Sorted member indices of a batch of centers; shape (n_batch, n_nearest)."""
    distances, neighbors = _query_past_ties(tree, coordinates[centers], n_nearest)
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


def peak_features(values, coordinates, *, n_peaks, min_distance):
    """Return at most `n_peaks` features that are the highest within `min_distance` mm.

    `values` (n_features,) may be NaN, `coordinates` are (n_features, 3). The highest
    comes first; of equal values, the first.
    """
    from scipy.spatial import cKDTree

    if not min_distance >= 0:
        raise ValueError(f"min_distance must be >= 0 (mm), got {min_distance}; use 16")
    usable = np.flatnonzero(np.isfinite(values))
    order = usable[np.argsort(-values[usable], kind="stable")]
    # ranks instead of values: a feature is a peak if no neighbor has a smaller rank
    tree, highest = cKDTree(coordinates[order]), []
    for rank, feature in enumerate(order):
        neighbors = tree.query_ball_point(coordinates[feature], min_distance)
        if min(neighbors, default=rank) >= rank:
            highest.append(feature)
        if len(highest) == n_peaks:
            break
    return np.array(highest, dtype=np.intp)


def surface_discs(
    coordinates: Any, faces: Any, radius: float, *, centers: Any = None
) -> csr_array:
    """Return vertices within a path length in mm along mesh edges, by center.

    Paths (Dijkstra) are never shorter than the geodesic distance, so that two banks of
    a sulcus stay apart (Oosterhof et al. 2011, NeuroImage 56).
    """
    from scipy.sparse.csgraph import dijkstra

    coordinates = check_coordinates(coordinates)
    n = len(coordinates)
    reach = check_radius(radius) * (1 + RADIUS_TOLERANCE)
    first, second = mesh_edges(check_faces(faces, n)).T
    lengths = np.linalg.norm(coordinates[first] - coordinates[second], axis=1)
    ends = np.concatenate([first, second]), np.concatenate([second, first])
    graph = coo_array((np.tile(lengths, 2), ends), shape=(n, n)).tocsr()

    def near(batch: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        inside = dijkstra(graph, indices=batch, limit=reach) <= reach
        return inside.sum(axis=1), np.nonzero(inside)[1]

    return _collected(near, centers, max(1, _BATCH_DISTANCES // n), n)


def _collected(near: Callable, centers: Any, width: int, n_features: int) -> csr_array:
    """Return regions of how many members, and which, are near batches of centers."""
    centers = check_centers(centers, n_features)
    counts, members = [], np.empty(0, dtype=np.int32)
    for start in range(0, len(centers), width):
        sizes, found = near(centers[start : start + width])
        counts.append(sizes)
        used = len(members)
        check_n_pairs(used + len(found))
        members.resize(used + len(found), refcheck=False)
        members[used:] = found
    return rows_to_regions(members, np.concatenate(counts), n_features)


def check_faces(faces: Any, n_vertices: int) -> np.ndarray:
    """Return triangles as intp of shape (n_faces, 3), or say what is wrong."""
    indices = np.asarray(faces)
    if indices.ndim != 2 or indices.shape[1] != 3 or indices.dtype.kind not in "iu":
        raise ValueError(
            f"faces must be integers of shape (n_faces, 3), got {indices.dtype} of "
            f"shape {indices.shape}; give three vertex indices per face"
        )
    if indices.size and (indices.min() < 0 or indices.max() >= n_vertices):
        raise ValueError(
            f"faces must index vertices 0..{n_vertices - 1}, got {indices.min()}.."
            f"{indices.max()}; coordinates and faces come from different meshes"
        )
    return indices.astype(np.intp)


def mesh_edges(faces: np.ndarray) -> np.ndarray:
    """Return the edges (n_edges, 2) of triangles (n_faces, 3), each once."""
    pairs = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
    return np.unique(np.sort(pairs, axis=1), axis=0)
