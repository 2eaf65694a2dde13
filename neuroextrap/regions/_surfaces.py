"""Discs on a triangle mesh: shortest paths along edges."""

from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import coo_array, csr_array

from neuroextrap.regions._lattice import RADIUS_TOLERANCE
from neuroextrap.regions._membership import (
    check_centers,
    check_coordinates,
    check_n_pairs,
    check_radius,
    rows_to_regions,
)

_BATCH_DISTANCES = 2**22  # distances of a batch of centers


def surface_discs(
    coordinates: Any, faces: Any, radius: float, *, centers: Any = None
) -> csr_array:
    """Make discs on a surface: vertices within a path length along mesh edges.

    The distance of two vertices is the length of the shortest path along edges
    (Dijkstra), never shorter than the geodesic distance: a disc lies within the
    geodesic disc of the same radius, and two banks of a sulcus stay apart.

    `coordinates` (n_vertices, 3) and `radius` (``<=``, relative tolerance 1e-9) are in
    mm, `faces` (n_faces, 3) vertex indices of each triangle, `centers` (n_regions,)
    those of the centers; None means every vertex. Returns regions, a csr_array of bool
    (n_regions, n_vertices), int32 indices sorted. ValueError where coordinates or faces
    are malformed, the radius is not positive, or a center is no vertex. (Oosterhof,
    Wiestler, Downing & Diedrichsen 2011, "A comparison of volume-based and
    surface-based multi-voxel pattern analysis", NeuroImage 56.)

    >>> square = [[0.0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]]
    >>> surface_discs(square, [[0, 1, 2], [0, 2, 3]], 1.0).toarray().astype(int)
    array([[1, 1, 0, 1],
           [1, 1, 1, 0],
           [0, 1, 1, 1],
           [1, 0, 1, 1]])
    """
    from scipy.sparse.csgraph import dijkstra

    coordinates = check_coordinates(coordinates)
    graph = _edge_graph(coordinates, check_faces(faces, len(coordinates)))
    reach = check_radius(radius) * (1 + RADIUS_TOLERANCE)
    centers = check_centers(centers, len(coordinates))
    width = max(1, _BATCH_DISTANCES // len(coordinates))
    counts, members, n_pairs = [], [], 0
    for first in range(0, len(centers), width):
        distances = dijkstra(graph, indices=centers[first : first + width], limit=reach)
        rows, columns = np.nonzero(distances <= reach)
        counts.append(np.bincount(rows, minlength=len(distances)))
        members.append(columns.astype(np.int32))
        n_pairs += len(columns)
        check_n_pairs(n_pairs)
    return rows_to_regions(
        np.concatenate(members), np.concatenate(counts), len(coordinates)
    )


def cached_surface_discs(
    coordinates: Any, faces: Any, radius: float, *, cache_dir: str | Path
) -> csr_array:
    """Return the discs around every vertex, from ``cache_dir`` when computed before.

    The folder is a `joblib.Memory`, which the user has named; several processes may
    share it. Discs that cannot be read are computed again.
    """
    from joblib import Memory

    coordinates = check_coordinates(coordinates)
    faces, radius = check_faces(faces, len(coordinates)), check_radius(radius)
    discs = Memory(cache_dir, verbose=0).cache(surface_discs)
    return discs(coordinates, faces, radius)


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


def _edge_graph(coordinates: np.ndarray, faces: np.ndarray) -> csr_array:
    """Symmetric CSR of edge lengths, every edge once per direction."""
    n_vertices = len(coordinates)
    pairs = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
    pairs = np.unique(np.sort(pairs, axis=1), axis=0)
    lengths = np.linalg.norm(
        coordinates[pairs[:, 0]] - coordinates[pairs[:, 1]], axis=1
    )
    both = np.concatenate([pairs, pairs[:, ::-1]])
    graph = coo_array(
        (np.concatenate([lengths, lengths]), (both[:, 0], both[:, 1])),
        shape=(n_vertices, n_vertices),
    )
    return graph.tocsr()
