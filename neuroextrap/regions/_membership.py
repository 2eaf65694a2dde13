"""The canonical form of regions: boolean CSR, int32 indices sorted within rows."""

import numpy as np
from scipy import sparse

_MOST_PAIRS = np.iinfo(np.int32).max


def check_regions(regions, n_features):
    """Return regions in canonical form, or say what is wrong with them.

    Parameters
    ----------
    regions : sparse array or matrix, or array-like of shape (n_regions, n_features)
        Every non-zero entry makes that feature a member of that region. Regions may
        overlap, and may be empty.
    n_features : int
        Number of features (voxels, vertices) the regions must refer to.

    Returns
    -------
    scipy.sparse.csr_array of bool of shape (n_regions, n_features)
        No explicit zeros, no duplicates; int32 indices sorted within rows. The input
        is never modified; it is returned itself when already canonical.

    Raises
    ------
    ValueError
        If ``regions`` is not two-dimensional, has no row, has another number of
        columns than ``n_features``, holds NaN, or has no member at all.

    Examples
    --------
    >>> from neuroextrap.regions._membership import check_regions
    >>> check_regions([[1, 1, 0], [0, 0, 2]], 3).indices.tolist()
    [0, 1, 2]
    """
    if sparse.issparse(regions):
        members = sparse.csr_array(regions)
    else:
        dense = np.asarray(regions)
        if dense.ndim != 2:
            raise ValueError(
                f"regions must be a matrix (n_regions, n_features), got "
                f"{dense.ndim} dimension(s); give one row a region"
            )
        members = sparse.csr_array(dense)
    if members.shape[1] != n_features or members.shape[0] == 0:
        raise ValueError(
            f"regions must have shape (n_regions >= 1, {n_features}), got "
            f"{members.shape}; give one row a region and one column a feature"
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


def rows_to_regions(indices, counts, n_features):
    """Assemble regions from concatenated, sorted member lists.

    Parameters
    ----------
    indices : ndarray of int32 of shape (n_pairs,)
        Members of the first region, then of the second, and so on.
    counts : ndarray of int of shape (n_regions,)
        Number of members of each region.
    n_features : int
        Number of features.

    Returns
    -------
    scipy.sparse.csr_array of bool of shape (n_regions, n_features)
        The regions, sharing the memory of ``indices``.

    Raises
    ------
    ValueError
        If there are more pairs than 32-bit indices can address.
    """
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


def check_n_pairs(n_pairs):
    """Refuse more (region, feature) pairs than 32-bit indices can address."""
    if n_pairs > _MOST_PAIRS:
        raise ValueError(
            f"regions hold {n_pairs} (region, feature) pairs, at most {_MOST_PAIRS} "
            "are possible; use a smaller radius or fewer centers"
        )


def check_centers(centers, n_features):
    """Return the centers' feature indices, or all features for None.

    Parameters
    ----------
    centers : None or array-like of int of shape (n_centers,)
        Feature indices.
    n_features : int
        Number of features.

    Returns
    -------
    ndarray of intp of shape (n_centers,)
        Feature indices, in the order given.

    Raises
    ------
    ValueError
        If ``centers`` is empty, not one-dimensional, not of integers, or out of
        range.

    Examples
    --------
    >>> from neuroextrap.regions._membership import check_centers
    >>> check_centers(None, 3)
    array([0, 1, 2])
    """
    if centers is None:
        return np.arange(n_features)
    indices = np.asarray(centers)
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


def check_radius(radius):
    """Return the radius as a float, or say that it must be positive and finite."""
    value = float(radius)
    if not (np.isfinite(value) and value > 0):
        raise ValueError(
            f"radius must be a positive finite number (mm), got {radius!r}; for "
            "example 8.0"
        )
    return value


def check_coordinates(coordinates):
    """Return coordinates as float64 of shape (n, 3), or say what is wrong."""
    points = np.asarray(coordinates, dtype=np.float64)
    if points.ndim != 2 or points.shape[1] != 3 or len(points) == 0:
        raise ValueError(
            "coordinates must have shape (n_features >= 1, 3) in mm, got "
            f"{points.shape}; give one row a feature"
        )
    if not np.isfinite(points).all():
        raise ValueError(
            "coordinates must be finite, got NaN or infinity; drop those features"
        )
    return points


def _canonical(matrix):
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
