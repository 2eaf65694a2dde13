"""Where a masker's features lie: lattice, mesh, coordinates and centers."""

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
