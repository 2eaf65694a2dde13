"""Where a map is high: cluster tables by nilearn, and peaks apart from each other."""

import warnings

import numpy as np

from neuroextrap.images._opening import open_image, read_image


def cluster_table(img, threshold, *, min_voxels=0, min_distance=8.0):
    """Table of the clusters above a threshold and of their peaks.

    Parameters
    ----------
    img : path-like, Niimg or SurfaceImage
        A map whose larger values matter more (accuracy, z, -log10 p); NaN is outside.
    threshold : float
        Clusters are made of values above it; at least 0.
    min_voxels : int, default=0
        Smallest cluster kept, in voxels or vertices.
    min_distance : float, default=8.0
        Smallest distance between two peaks of one cluster (mm; volumes only).

    Returns
    -------
    pandas.DataFrame
        As nilearn.reporting.get_clusters_table makes it; no row when nothing is above
        the threshold.

    Raises
    ------
    TypeError
        If ``img`` is no image and no path.
    ValueError
        If ``threshold`` is negative or not finite, or the file is missing or
        unreadable.

    Examples
    --------
    >>> import numpy as np, nibabel
    >>> from neuroextrap.images._clusters import cluster_table
    >>> data = np.zeros((5, 5, 5))
    >>> data[1, 2, 3] = 4.0
    >>> img = nibabel.Nifti1Image(data, np.diag([3.0, 3, 3, 1]))
    >>> cluster_table(img, 2.0)[["X", "Y", "Z", "Peak Stat"]].values.tolist()
    [[3.0, 6.0, 9.0, 4.0]]
    """
    from nilearn.reporting import get_clusters_table

    if not (np.isfinite(threshold) and threshold >= 0):
        raise ValueError(
            f"threshold must be a finite number >= 0, got {threshold!r}; use a map "
            "whose larger values matter more, such as z or -log10 p"
        )
    img = _nan_to_background(read_image(open_image(img, "img")))
    with warnings.catch_warnings():
        # the table itself says so
        for words in ("No clusters found", "The given float value must not exceed"):
            warnings.filterwarnings("ignore", message=words, category=UserWarning)
        warnings.filterwarnings("ignore", message="Attention: At least one of the")
        return get_clusters_table(
            img,
            stat_threshold=threshold,
            cluster_threshold=min_voxels,
            min_distance=min_distance,
        )


def peaks(img, *, n_peaks=10, min_distance=16.0, threshold=None):
    """World coordinates of a map's highest peaks.

    Parameters
    ----------
    img : path-like, Niimg or SurfaceImage
        One map; NaN is outside.
    n_peaks : int, default=10
        Most peaks to return.
    min_distance : float, default=16.0
        A peak is the highest of all values within this distance (mm).
    threshold : float or None, default=None
        Peaks are above it; None sets no limit.

    Returns
    -------
    coordinates : ndarray, shape (n_found, 3)
        Peaks in mm, the highest first.
    values : ndarray, shape (n_found,)
        The map there.

    Raises
    ------
    TypeError
        If ``img`` is no image and no path.
    ValueError
        If ``img`` has several samples, is missing or unreadable, ``n_peaks`` is not
        positive or ``min_distance`` is negative.

    Examples
    --------
    >>> import numpy as np, nibabel
    >>> from neuroextrap.images._clusters import peaks
    >>> data = np.full((4, 4, 4), np.nan)
    >>> data[0, 0, 0], data[3, 3, 3] = 0.5, 0.9
    >>> peaks(nibabel.Nifti1Image(data, np.eye(4)), min_distance=2.0)
    (array([[3., 3., 3.],
           [0., 0., 0.]]), array([0.9, 0.5]))
    """
    named = read_image(open_image(img, "img"))
    if named.n_samples not in (None, 1):
        raise ValueError(
            f"{named.name} must be one map, got {named.n_samples} samples; pick one "
            "with nilearn.image.index_img"
        )
    values, places = _values_and_places(named)
    found = peak_features(
        values,
        places,
        n_peaks=n_peaks,
        min_distance=min_distance,
        threshold=threshold,
    )
    return places[found], values[found]


def peak_features(
    values, coordinates, *, n_peaks=10, min_distance=16.0, threshold=None
):
    """Find features that are the highest of all within a distance.

    Parameters
    ----------
    values : array-like, shape (n_features,)
        Larger matters more; NaN never is a peak.
    coordinates : array-like, shape (n_features, 3)
        Where the features are (mm).
    n_peaks : int, default=10
        Most peaks to return.
    min_distance : float, default=16.0
        A peak is the highest of all values within this distance (mm); of equal values
        the first.
    threshold : float or None, default=None
        Peaks are above it; None sets no limit.

    Returns
    -------
    ndarray of intp, shape (n_found,)
        Feature indices, the highest first.

    Raises
    ------
    ValueError
        If shapes do not match, ``n_peaks`` is not positive or ``min_distance`` is
        negative.

    Examples
    --------
    >>> from neuroextrap.images._clusters import peak_features
    >>> line = [[0.0, 0, 0], [4, 0, 0], [8, 0, 0]]
    >>> peak_features([0.9, 0.8, 0.7], line, min_distance=5.0)
    array([0])
    """
    from scipy.spatial import cKDTree

    values, coordinates = _check_peaks(values, coordinates, n_peaks, min_distance)
    floor = -np.inf if threshold is None else threshold
    usable = np.flatnonzero(np.isfinite(values))
    order = usable[np.argsort(-values[usable], kind="stable")]
    if not len(order):
        return order
    rank = np.arange(len(order))
    tree = cKDTree(coordinates[order])
    found = []
    for place in rank[values[order] > floor]:
        near = tree.query_ball_point(coordinates[order[place]], min_distance)
        if min(near, default=place) >= place:
            found.append(order[place])
        if len(found) == n_peaks:
            break
    return np.array(found, dtype=np.intp)


def _check_peaks(values, coordinates, n_peaks, min_distance):
    """Return arrays of matching shapes, after checking the numbers."""
    values = np.asarray(values, dtype=float)
    coordinates = np.asarray(coordinates, dtype=float)
    if values.ndim != 1 or coordinates.shape != (len(values), 3):
        raise ValueError(
            "values and coordinates must have shapes (n_features,) and (n_features, "
            f"3), got {values.shape} and {coordinates.shape}; give one row a feature"
        )
    if n_peaks < 1 or not min_distance >= 0:
        raise ValueError(
            f"n_peaks must be >= 1 and min_distance >= 0 (mm), got {n_peaks} and "
            f"{min_distance}"
        )
    return values, coordinates


def _nan_to_background(named):
    """Return the image with 0, which no cluster holds, in place of NaN."""
    if named.is_surface:
        from nilearn.surface import SurfaceImage

        parts = named.img.data.parts.items()
        clean = {side: np.where(np.isnan(part), 0, part) for side, part in parts}
        return SurfaceImage(mesh=named.img.mesh, data=clean)
    from nibabel import Nifti1Image

    data = np.asanyarray(named.img.dataobj, dtype=float)
    return Nifti1Image(np.where(np.isnan(data), 0, data), named.img.affine)


def _values_and_places(named):
    """Return all values of one map and their world coordinates."""
    if named.is_surface:
        parts = named.img.data.parts
        values = [np.asarray(part, dtype=float).ravel() for part in parts.values()]
        places = [named.img.mesh.parts[side].coordinates for side in parts]
        return np.concatenate(values), np.concatenate(places)
    from nibabel.affines import apply_affine

    data = np.asanyarray(named.img.dataobj, dtype=float)
    data = data.reshape(data.shape[:3])
    finite = np.isfinite(data)
    return data[finite], apply_affine(named.img.affine, np.argwhere(finite))
