"""Leave out features that cannot be analyzed."""

from typing import NamedTuple

import numpy as np
import scipy.sparse


class UsableRegions(NamedTuple):
    """Regions without unusable features.

    Parameters
    ----------
    regions : scipy.sparse.csr_array of shape (n_regions, n_features)
        Rows with too few features are empty.
    n_features : ndarray of int of shape (n_regions,)
        Usable features of every region, also of those with too few.

    Examples
    --------
    >>> import numpy as np, scipy.sparse
    >>> from neuroextrap.regions._usable import UsableRegions
    >>> members = scipy.sparse.csr_array(np.array([[1, 1, 0]], dtype=bool))
    >>> UsableRegions(members, np.array([2])).regions.shape
    (1, 3)
    """

    regions: scipy.sparse.csr_array
    n_features: np.ndarray


def usable_regions(regions, usable, min_features):
    """Drop unusable features from regions, and regions with too few left.

    Parameters
    ----------
    regions : scipy.sparse.csr_array of shape (n_regions, n_features)
        Members of every region.
    usable : ndarray of bool of shape (n_features,)
        Features that may be used.
    min_features : int
        Regions with fewer usable features become empty.

    Returns
    -------
    UsableRegions
        Regions left, and the counts of usable features.

    Raises
    ------
    ValueError
        When no region is left.

    Examples
    --------
    >>> import numpy as np, scipy.sparse
    >>> from neuroextrap.regions._usable import usable_regions
    >>> members = scipy.sparse.csr_array(np.array([[1, 1, 0], [0, 1, 1]], dtype=bool))
    >>> usable_regions(members, np.array([True, True, False]), 2).n_features
    array([2, 1])
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


def _counts_of_rows(kept, indptr):
    """Count the members kept in every row."""
    counts = np.zeros(len(indptr) - 1, dtype=np.int64)
    filled = np.flatnonzero(np.diff(indptr))
    if len(filled):
        counts[filled] = np.add.reduceat(kept, indptr[filled], dtype=np.int64)
    return counts
