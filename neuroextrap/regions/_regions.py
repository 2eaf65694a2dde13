"""Regions: of labels, on a lattice of voxels, among loose coordinates, on meshes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import coo_array, csr_array, issparse
from scipy.sparse.csgraph import dijkstra
from scipy.spatial import cKDTree

from neuroextrap.stats._validation import brief, check_numbers, is_integer, real_array

_MOST_PAIRS = np.iinfo(np.int32).max


def check_regions(regions: Any, n_features: int) -> csr_array:
    """Return a matrix (n_regions, n_features) as regions in canonical form."""
    given = regions if issparse(regions) else check_numbers(regions, "regions")
    if given.ndim != 2 or given.shape[1] != n_features or given.shape[0] == 0:
        raise ValueError(
            f"regions must have shape (n_regions >= 1, {n_features}), got "
            f"{given.shape}; give one row per region and one column per feature"
        )
    members = _canonical(csr_array(given))
    if members.nnz == 0:
        raise ValueError(
            "regions must have at least one member, got none; set the entries of "
            "each region's features to True"
        )
    return members


def rows_to_regions(
    indices: np.ndarray, counts: np.ndarray, n_features: int
) -> csr_array:
    """Return regions of the members (n_pairs,) and their counts (n_regions,)."""
    indptr = np.zeros(len(counts) + 1, dtype=np.int32)
    np.cumsum(counts, out=indptr[1:])
    data, shape = np.ones(len(indices), dtype=bool), (len(counts), n_features)
    regions = csr_array((data, indices, indptr), shape=shape, copy=False)
    regions.has_sorted_indices = True
    regions.has_canonical_format = True
    return regions


def check_n_pairs(n_pairs: int) -> None:
    """Refuse more (region, feature) pairs than 32-bit indices can address."""
    if n_pairs > _MOST_PAIRS:
        raise ValueError(
            f"regions hold {n_pairs} (region, feature) pairs, at most {_MOST_PAIRS} "
            "are possible; use a smaller radius or fewer centers"
        )


def check_centers(centers: Any, n_features: int) -> np.ndarray:
    """Return the feature indices of the centers, or all features for None."""
    if centers is None:
        return np.arange(n_features)
    indices = check_numbers(centers, "centers")
    if indices.ndim != 1 or indices.dtype.kind not in "iu" or indices.size == 0:
        raise ValueError(
            "centers must be a non-empty 1-D array of feature indices or None, got "
            f"shape {indices.shape} of {indices.dtype}; use numpy.flatnonzero on a mask"
        )
    if indices.min() < 0 or indices.max() >= n_features:
        raise ValueError(
            f"centers must lie in 0..{n_features - 1}, got {indices.min()}.."
            f"{indices.max()}; index features, not voxels of the whole volume"
        )
    return indices.astype(np.intp)


def check_radius(radius: Any) -> float:
    """Return the radius as a float, or say that it must be positive and finite."""
    is_number = isinstance(radius, int | float | np.number)
    value = float(radius) if is_number and not isinstance(radius, bool) else np.nan
    if not 0 < value < np.inf:
        raise ValueError(
            f"radius={brief(radius)} must be a positive finite number of mm; use 8.0, "
            "for example"
        )
    return value


def check_coordinates(coordinates: Any) -> np.ndarray:
    """Return coordinates as float64 of shape (n, 3), or say what is wrong."""
    points = real_array(coordinates, "coordinates")
    if points.ndim != 2 or points.shape[1] != 3 or len(points) == 0:
        raise ValueError(
            "coordinates must have shape (n_features >= 1, 3) in mm, got "
            f"{points.shape}; give one row per feature"
        )
    if not np.isfinite(points).all():
        raise ValueError(
            "coordinates must be finite, got NaN or infinity; drop those features"
        )
    return points


def _canonical(matrix: csr_array) -> csr_array:
    """Bool CSR without zeros and duplicates, int32 sorted indices; copies if needed."""
    if matrix.dtype.kind in "fc" and np.isnan(matrix.data).any():
        raise ValueError(
            "regions must not hold NaN; use zero or False for a feature outside"
        )
    whole = matrix.has_canonical_format and matrix.data.all()
    if whole and matrix.dtype == bool and matrix.indices.dtype == np.int32:
        return matrix
    check_n_pairs(matrix.nnz)
    indices, indptr = (a.astype(np.int32) for a in (matrix.indices, matrix.indptr))
    members = csr_array((matrix.data != 0, indices, indptr), shape=matrix.shape)
    members.sum_duplicates()
    members.eliminate_zeros()
    members.sort_indices()
    return members


def label_regions(labels: np.ndarray) -> tuple[csr_array, np.ndarray]:
    """Return regions of the labels (n_features,) but 0, and the labels."""
    order = np.argsort(labels, kind="stable")
    values, counts = np.unique(labels, return_counts=True)
    kept = values != 0
    members = order[np.repeat(kept, counts)].astype(np.int32)
    return rows_to_regions(members, counts[kept], len(labels)), values[kept]


class UsableRegions(NamedTuple):
    """Regions without unusable features, and how many usable features each had."""

    regions: csr_array
    n_features: np.ndarray


def usable_regions(
    regions: csr_array, usable: np.ndarray, min_features: int
) -> UsableRegions:
    """Drop unusable features (n_features,), and regions with too few left."""
    sizes = np.diff(regions.indptr)
    kept, counts = usable[regions.indices], sizes.astype(np.int64)
    whole = bool(kept.all())
    if not whole:
        filled = np.flatnonzero(sizes)
        starts = regions.indptr[filled]
        counts[filled] = np.add.reduceat(kept, starts, dtype=np.int64)
    large = counts >= max(1, min_features)
    if not large.any():
        raise ValueError(
            f"no region has min_voxels={min_features} usable voxels (largest: "
            f"{counts.max(initial=0)}); give a larger radius or mask, or check the "
            "images for NaN and constant voxels"
        )
    if whole and large.all():
        return UsableRegions(regions, counts)
    wanted = kept & np.repeat(large, sizes)
    indices = regions.indices[wanted].astype(np.int32, copy=False)
    sizes = np.where(large, counts, 0)
    return UsableRegions(rows_to_regions(indices, sizes, regions.shape[1]), counts)


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
    regions : scipy.csr_array of bool of shape (n_regions, n_features)
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
        sizes, near_members = near(centers[start : start + width])
        counts.append(sizes)
        used = len(members)
        check_n_pairs(used + len(near_members))
        members.resize(used + len(near_members), refcheck=False)
        members[used:] = near_members
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
