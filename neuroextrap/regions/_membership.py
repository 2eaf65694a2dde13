"""Regions in canonical form: boolean CSR, int32 indices sorted within rows; labels."""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from neuroextrap.stats._validation import brief, check_numbers, real_array

_MOST_PAIRS = np.iinfo(np.int32).max


def check_regions(regions: Any, n_features: int) -> sparse.csr_array:
    """Return a matrix (n_regions, n_features) as regions in canonical form."""
    if sparse.issparse(regions):
        members = sparse.csr_array(regions)
    else:
        dense = check_numbers(regions, "regions")
        if dense.ndim != 2:
            raise ValueError(
                f"regions must be a matrix (n_regions, n_features), got "
                f"shape {dense.shape}; give one row per region"
            )
        members = sparse.csr_array(dense)
    if members.shape[1] != n_features or members.shape[0] == 0:
        raise ValueError(
            f"regions must have shape (n_regions >= 1, {n_features}), got "
            f"{members.shape}; give one row per region and one column per feature"
        )
    if members.dtype.kind in "fc" and np.isnan(members.data).any():
        raise ValueError(
            "regions must not hold NaN; use zero or False for a feature outside"
        )
    members = _canonical(members)
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
    n_pairs = int(np.sum(counts, dtype=np.int64))
    check_n_pairs(n_pairs)
    indptr = np.zeros(len(counts) + 1, dtype=np.int32)
    np.cumsum(counts, out=indptr[1:])
    regions = sparse.csr_array(
        (np.ones(n_pairs, dtype=bool), indices, indptr),
        shape=(len(counts), n_features),
        copy=False,
    )
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
    number = isinstance(radius, (int, float, np.number)) and not isinstance(
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
    if (
        matrix.dtype == bool
        and matrix.indices.dtype == np.int32
        and matrix.has_canonical_format
        and matrix.data.all()
    ):
        return matrix
    check_n_pairs(matrix.nnz)
    members = sparse.csr_array(
        (
            matrix.data != 0,
            matrix.indices.astype(np.int32),
            matrix.indptr.astype(np.int32),
        ),
        shape=matrix.shape,
    )
    members.sum_duplicates()
    members.eliminate_zeros()
    members.sort_indices()
    return members


def label_regions(
    labels: Any, *, background: Any = 0
) -> tuple[sparse.csr_array, np.ndarray]:
    """Return regions of the labels (n_features,) but background, and the labels."""
    labels = np.asarray(labels)
    if labels.ndim != 1:
        raise ValueError(
            f"labels must be one-dimensional (n_features,), got shape {labels.shape}; "
            "give one label per feature"
        )
    if labels.dtype.kind == "f" and np.isnan(labels).any():
        raise ValueError("labels must not hold NaN; use the background label instead")
    order = np.argsort(labels, kind="stable")
    values, counts = np.unique(labels[order], return_counts=True)
    kept = np.ones(len(values), dtype=bool)
    if background is not None:
        kept = values != background
    if not kept.any():
        raise ValueError(
            f"labels must hold a label other than the background {background!r}, got "
            "none; check that atlas and mask overlap"
        )
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
    least = max(1, min_features)
    whole = bool(usable.all())
    sizes = np.diff(regions.indptr)
    kept = None if whole else usable[regions.indices]
    counts = sizes.astype(np.int64) if whole else _counts_of_rows(kept, regions.indptr)
    large = counts >= least
    if not large.any():
        raise ValueError(
            f"no region has min_voxels={min_features} usable voxels (largest: "
            f"{counts.max(initial=0)}); give a larger radius or mask, or check the "
            "images for NaN and constant voxels"
        )
    if whole and large.all():
        return UsableRegions(regions, counts)
    wanted = np.repeat(large, sizes)
    if not whole:
        wanted &= kept
    indptr = np.concatenate([[0], np.cumsum(np.where(large, counts, 0))])
    indices = regions.indices[wanted].astype(np.int32, copy=False)
    left = sparse.csr_array(
        (np.ones(len(indices), dtype=bool), indices, indptr), shape=regions.shape
    )
    return UsableRegions(left, counts)


def _counts_of_rows(kept: Any, indptr: np.ndarray) -> np.ndarray:
    """Count the members kept in every row."""
    counts = np.zeros(len(indptr) - 1, dtype=np.int64)
    filled = np.flatnonzero(np.diff(indptr))
    if len(filled):
        counts[filled] = np.add.reduceat(kept, indptr[filled], dtype=np.int64)
    return counts
