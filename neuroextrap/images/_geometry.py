"""Where features of a masker lie: coordinates, neighbors, peaks, smoothing."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from neuroextrap.images._maskers import check_masker, is_surface_masker
from neuroextrap.images._opening import (
    NamedImage,
    check_same_grid,
    open_image,
    read_image,
)
from neuroextrap.images._sample_options import check_fwhm


@dataclass(frozen=True)
class Hemisphere:
    """One hemisphere of a surface masker's mesh.

    `name` is "left" or "right"; `coordinates` (n_vertices, 3), in mm, and `faces`
    (n_faces, 3) describe the whole mesh; `vertices` are the ascending numbers of the
    vertices that are features, the first of which is feature `offset`.
    """

    name: str
    coordinates: np.ndarray
    faces: np.ndarray
    vertices: np.ndarray
    offset: int


def mask_lattice(masker):
    """Return mask (nx, ny, nz) and affine (4, 4) of a fitted volume masker.

    The affine leads from voxel indices to mm. Feature i is the i-th True of the mask in
    C order.
    """
    if is_surface_masker(masker):
        raise TypeError(
            "masker must be a NiftiMasker to have a lattice, got a SurfaceMasker; use "
            "surface_mesh"
        )
    img = masker.mask_img_
    return np.asanyarray(img.dataobj).astype(bool), np.array(img.affine, dtype=float)


def surface_mesh(masker):
    """Return the hemispheres of a fitted surface masker, in the order of features."""
    if not is_surface_masker(masker):
        raise TypeError(
            "masker must be a SurfaceMasker to have a mesh, got a NiftiMasker; use "
            "mask_lattice"
        )
    hemispheres, offset = [], 0
    for name, data in masker.mask_img_.data.parts.items():
        mesh = masker.mask_img_.mesh.parts[name]
        vertices = np.flatnonzero(np.asarray(data).ravel())
        hemispheres.append(
            Hemisphere(
                name,
                np.asarray(mesh.coordinates, dtype=float),
                np.asarray(mesh.faces),
                vertices,
                offset,
            )
        )
        offset += len(vertices)
    return hemispheres


def feature_coordinates(masker: Any) -> np.ndarray:
    """Return the world coordinates of every feature, (n_features, 3), in mm.

    Those are centers of voxels or vertices; inflated hemispheres may overlap in space.
    """
    check_masker(masker)
    if is_surface_masker(masker):
        return np.concatenate([h.coordinates[h.vertices] for h in surface_mesh(masker)])
    from nibabel.affines import apply_affine

    mask, affine = mask_lattice(masker)
    return apply_affine(affine, np.argwhere(mask))


def center_features(process_mask_img, masker):
    """Return the ascending indices of the features inside a second mask.

    They serve as centers of regions; `process_mask_img` lies on the masker's grid or
    mesh.
    """
    values = feature_values(process_mask_img, masker, "process_mask_img")
    if np.isnan(values).any():
        raise ValueError("process_mask_img must not hold NaN; use 0 outside the mask")
    centers = np.flatnonzero(values)
    if not len(centers):
        raise ValueError(
            "process_mask_img selects no voxel of the mask; check that the two overlap"
        )
    return centers


def feature_values(img: Any, masker: Any, name: str) -> np.ndarray:
    """Read an image at a masker's features, (n_features,), in the image's data type.

    `name` is the argument's. TypeError if image and masker are not both of volumes or
    both of surfaces, ValueError if the grid or mesh differs, or there is more than one
    sample.
    """
    opened = read_image(open_image(img, name))
    check_same_grid(opened, NamedImage("the mask", masker.mask_img_))
    if opened.n_samples not in (None, 1):
        raise ValueError(
            f"{opened.name} must be one image, got {opened.n_samples} samples; pick "
            "one with nilearn.image.index_img"
        )
    if not opened.is_surface:
        data = np.asanyarray(opened.img.dataobj)
        return data.reshape(data.shape[:3])[mask_lattice(masker)[0]]
    parts = opened.img.data.parts
    return np.concatenate(
        [np.asarray(parts[h.name]).ravel()[h.vertices] for h in surface_mesh(masker)]
    )


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
