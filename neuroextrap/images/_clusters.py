"""Clusters and peaks of maps, neighbors of features, and smoothing in a mask."""

import warnings

import numpy as np

from neuroextrap.images._geometry import mask_lattice, surface_mesh
from neuroextrap.images._maskers import is_surface_masker
from neuroextrap.images._opening import open_image, read_image
from neuroextrap.images._sample_options import check_fwhm


def cluster_table(img, threshold, *, min_voxels=0, min_distance=8.0):
    """Return nilearn's table of the clusters above a threshold and of their peaks.

    Larger values of the map `img` must matter more (accuracy, z, -log10 p); NaN is
    outside. `min_voxels` is the smallest cluster kept and `min_distance` (mm, volumes
    only) the smallest distance between two peaks of a cluster.
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
    """Return world coordinates (mm, shape (n, 3)) and values of a map's highest peaks.

    Options are those of `peak_features`; the highest peak comes first.
    """
    named = read_image(open_image(img, "img"))
    if named.n_samples not in (None, 1):
        raise ValueError(
            f"{named.name} must be one map, got {named.n_samples} samples; pick one "
            "with nilearn.image.index_img"
        )
    values, coordinates = _values_and_coordinates(named)
    highest = peak_features(
        values,
        coordinates,
        n_peaks=n_peaks,
        min_distance=min_distance,
        threshold=threshold,
    )
    return coordinates[highest], values[highest]


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


def _values_and_coordinates(named):
    """Return all values of one map, shape (n,), and their coordinates (n, 3) in mm."""
    if named.is_surface:
        parts = named.img.data.parts
        values = [np.asarray(part, dtype=float).ravel() for part in parts.values()]
        coordinates = [named.img.mesh.parts[side].coordinates for side in parts]
        return np.concatenate(values), np.concatenate(coordinates)
    from nibabel.affines import apply_affine

    data = np.asanyarray(named.img.dataobj, dtype=float)
    data = data.reshape(data.shape[:3])
    finite = np.isfinite(data)
    return data[finite], apply_affine(named.img.affine, np.argwhere(finite))


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
