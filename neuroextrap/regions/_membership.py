"""Regions in canonical form: boolean CSR, int32 indices sorted within rows; labels."""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from neuroextrap.stats._validation import brief, check_numbers, real_array

_MOST_PAIRS = np.iinfo(np.int32).max


def check_regions(regions: Any, n_features: int) -> sparse.csr_array:
    """Return a matrix (n_regions, n_features) as regions in canonical form."""
    given = regions if sparse.issparse(regions) else check_numbers(regions, "regions")
    if given.ndim != 2 or given.shape[1] != n_features or given.shape[0] == 0:
        raise ValueError(
            f"regions must have shape (n_regions >= 1, {n_features}), got "
            f"{given.shape}; give one row per region and one column per feature"
        )
    members = _canonical(sparse.csr_array(given))
    if members.nnz == 0:
        raise ValueError(
            "regions must have at least one member, got none; set the entries of "
            "each region's features to True"
        )
    return members


def rows_to_regions(
    indices: np.ndarray, counts: np.ndarray, n_features: int
) -> sparse.csr_array:
    """Return regions of the members (n_pairs,) and their counts (n_regions,)."""
    indptr = np.zeros(len(counts) + 1, dtype=np.int32)
    np.cumsum(counts, out=indptr[1:])
    data, shape = np.ones(len(indices), dtype=bool), (len(counts), n_features)
    regions = sparse.csr_array((data, indices, indptr), shape=shape, copy=False)
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
    number = isinstance(radius, int | float | np.number) and not isinstance(
        radius, bool
    )
    value = float(radius) if number else np.nan
    if not (np.isfinite(value) and value > 0):
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


def _canonical(matrix: sparse.csr_array) -> sparse.csr_array:
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
    members = sparse.csr_array((matrix.data != 0, indices, indptr), shape=matrix.shape)
    members.sum_duplicates()
    members.eliminate_zeros()
    members.sort_indices()
    return members


def label_regions(labels: np.ndarray) -> tuple[sparse.csr_array, np.ndarray]:
    """Return regions of the labels (n_features,) but 0, and the labels."""
    order = np.argsort(labels, kind="stable")
    values, counts = np.unique(labels, return_counts=True)
    kept = values != 0
    members = order[np.repeat(kept, counts)].astype(np.int32)
    return rows_to_regions(members, counts[kept], len(labels)), values[kept]


class UsableRegions(NamedTuple):
    """Regions without unusable features, and how many usable features each had."""

    regions: sparse.csr_array
    n_features: np.ndarray


def usable_regions(
    regions: sparse.csr_array, usable: np.ndarray, min_features: int
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
