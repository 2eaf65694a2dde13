"""Peaks of maps, neighbors of features, and smoothing in a mask."""

import numpy as np

from neuroextrap.images._geometry import mask_lattice, surface_mesh
from neuroextrap.images._maskers import is_surface_masker
from neuroextrap.images._sample_options import check_fwhm


def peak_features(
    values, coordinates, *, n_peaks=10, min_distance=16.0, threshold=None
):
    """Find the features that are the highest of all within a distance.

    `values` has shape (n_features,), where NaN is never a peak, and `coordinates`
    (n_features, 3), in mm. A peak is above `threshold` and the highest within
    `min_distance` (mm), the first of equal values. Returns at most `n_peaks` feature
    indices, the highest first.
    """
    from scipy.spatial import cKDTree

    values, coordinates = _check_peaks(values, coordinates, n_peaks, min_distance)
    floor = -np.inf if threshold is None else threshold
    usable = np.flatnonzero(np.isfinite(values))
    order = usable[np.argsort(-values[usable], kind="stable")]
    if not len(order):
        return order
    # ranks instead of values: a feature is a peak if no neighbor has a smaller rank
    tree = cKDTree(coordinates[order])
    highest = []
    for rank in np.flatnonzero(values[order] > floor):
        neighbors = tree.query_ball_point(coordinates[order[rank]], min_distance)
        if min(neighbors, default=rank) >= rank:
            highest.append(order[rank])
        if len(highest) == n_peaks:
            break
    return np.array(highest, dtype=np.intp)


def _check_peaks(values, coordinates, n_peaks, min_distance):
    """Return arrays of matching shapes, after checking the numbers."""
    values = np.asarray(values, dtype=float)
    coordinates = np.asarray(coordinates, dtype=float)
    if values.ndim != 1 or coordinates.shape != (len(values), 3):
        raise ValueError(
            "values and coordinates must have shapes (n_features,) and (n_features, "
            f"3), got {values.shape} and {coordinates.shape}; give one row per feature"
        )
    if n_peaks < 1 or not min_distance >= 0:
        raise ValueError(
            f"n_peaks must be >= 1 and min_distance >= 0 (mm), got {n_peaks} and "
            f"{min_distance}; use 10 and 16"
        )
    return values, coordinates


def neighbor_pairs(masker):
    """Return the pairs of neighboring features, shape (n_pairs, 2), each pair once.

    Voxels are neighbors when they share a face, vertices when an edge of the mesh joins
    them; hemispheres have no neighbors in one another.
    """
    if is_surface_masker(masker):
        return np.concatenate([_edges(h) for h in surface_mesh(masker)])
    mask, _ = mask_lattice(masker)
    number = np.full(mask.shape, -1, dtype=np.intp)
    number[mask] = np.arange(mask.sum())
    pairs = []
    for axis in range(3):
        along = np.moveaxis(number, axis, 0)
        pairs.append(np.stack([along[:-1].ravel(), along[1:].ravel()], axis=1))
    return _known(np.concatenate(pairs))


def _edges(hemisphere):
    """Return the edges of one hemisphere between vertices that are features."""
    number = np.full(len(hemisphere.coordinates), -1, dtype=np.intp)
    number[hemisphere.vertices] = hemisphere.offset + np.arange(
        len(hemisphere.vertices)
    )
    faces = hemisphere.faces
    edges = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
    return _known(number[np.unique(np.sort(edges, axis=1), axis=0)])


def _known(pairs):
    """Return the pairs both of which are features."""
    return pairs[(pairs >= 0).all(axis=1)]


_FWHM_PER_SIGMA = np.sqrt(8 * np.log(2))


def variance_smoother(masker, usable, fwhm):
    """Return a function that smooths maps (n_maps, n_usable) with a Gaussian.

    `fwhm` is in mm; what lies outside of the usable voxels has no weight.
    """
    from nibabel.affines import voxel_sizes
    from scipy.ndimage import gaussian_filter

    if masker is None or is_surface_masker(masker):
        raise ValueError(
            "variance_fwhm smooths over the voxels of volumes; leave it out for arrays "
            "and surfaces"
        )
    check_fwhm(fwhm, "variance_fwhm")
    mask, affine = mask_lattice(masker)
    where = np.flatnonzero(mask)[usable]
    sigma = fwhm / _FWHM_PER_SIGMA / voxel_sizes(affine)

    def smoothed(values):
        volume = np.zeros(mask.shape)
        volume.flat[where] = values
        return gaussian_filter(volume, sigma, mode="constant").flat[where]

    weight = smoothed(np.ones(len(where)))
    return lambda maps: np.stack([smoothed(values) / weight for values in maps])
