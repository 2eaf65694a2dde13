"""Leave out features that cannot be analyzed."""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse


class UsableRegions(NamedTuple):
    """Regions (n_regions, n_features) without unusable features.

    Rows with too few features are empty. ``n_features`` (n_regions,) counts the usable
    features of every region, also of those with too few.
    """

    regions: scipy.sparse.csr_array
    n_features: np.ndarray


def usable_regions(
    regions: scipy.sparse.csr_array, usable: np.ndarray, min_features: int
) -> UsableRegions:
    """Drop unusable features from regions, and regions with too few left.

    ``usable`` (n_features,) marks features that may be used; regions with fewer than
    ``min_features`` of them become empty. Raises when no region is left.
    """
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
    left = scipy.sparse.csr_array(
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
