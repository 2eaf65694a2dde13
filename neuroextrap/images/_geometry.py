"""Where a masker's features are: lattice, mesh, coordinates, centers."""

from dataclasses import dataclass

import numpy as np

from neuroextrap.images._grids import check_same_grid
from neuroextrap.images._maskers import is_surface_masker
from neuroextrap.images._opening import NamedImage, open_image, read_image


@dataclass(frozen=True)
class Hemisphere:
    """One hemisphere of a surface masker's mesh.

    Parameters
    ----------
    name : str
        "left" or "right".
    coordinates : ndarray, shape (n_vertices, 3)
        All vertices of the mesh (mm), features or not.
    faces : ndarray of int, shape (n_faces, 3)
        Triangles.
    vertices : ndarray of int, shape (n_features_of_hemisphere,)
        Vertices that are features, ascending.
    offset : int
        Feature index of the first of them.

    Examples
    --------
    >>> import numpy as np
    >>> from neuroextrap.images._geometry import Hemisphere
    >>> faces = np.array([[0, 1, 2]])
    >>> Hemisphere("left", np.eye(3), faces, np.array([0, 2]), 0).name
    'left'
    """

    name: str
    coordinates: np.ndarray
    faces: np.ndarray
    vertices: np.ndarray
    offset: int


def mask_lattice(masker):
    """Return the mask and affine of a volume masker.

    Parameters
    ----------
    masker : nilearn.maskers.NiftiMasker
        Fitted.

    Returns
    -------
    mask : ndarray of bool, shape (nx, ny, nz)
        Voxels that are features; feature i is the i-th in C order.
    affine : ndarray, shape (4, 4)
        Voxel indices to world coordinates (mm).

    Raises
    ------
    TypeError
        If the masker is a surface masker.

    Examples
    --------
    >>> import numpy as np, nibabel
    >>> from neuroextrap.images import resolve_masker
    >>> from neuroextrap.images._geometry import mask_lattice
    >>> masker = resolve_masker(nibabel.Nifti1Image(np.ones((3, 3, 2)), np.eye(4)))
    >>> mask_lattice(masker)[0].shape
    (3, 3, 2)
    """
    if is_surface_masker(masker):
        raise TypeError(
            "masker must be a NiftiMasker to have a lattice, got a SurfaceMasker; use "
            "surface_mesh"
        )
    img = masker.mask_img_
    return np.asanyarray(img.dataobj).astype(bool), np.array(img.affine, dtype=float)


def surface_mesh(masker):
    """Return the hemispheres of a surface masker, in feature order.

    Parameters
    ----------
    masker : nilearn.maskers.SurfaceMasker
        Fitted.

    Returns
    -------
    list of Hemisphere
        Mesh, feature vertices and feature offset of each hemisphere present.

    Raises
    ------
    TypeError
        If the masker is a volume masker.

    Examples
    --------
    >>> import numpy as np
    >>> from nilearn.surface import InMemoryMesh, SurfaceImage
    >>> from neuroextrap.images import resolve_masker
    >>> from neuroextrap.images._geometry import surface_mesh
    >>> triangle = InMemoryMesh(np.eye(3), np.array([[0, 1, 2]]))
    >>> sides = {"left": triangle, "right": triangle}
    >>> data = {"left": np.array([1, 1, 0]), "right": np.array([0, 1, 1])}
    >>> masker = resolve_masker(SurfaceImage(sides, data))
    >>> [(side.vertices.tolist(), side.offset) for side in surface_mesh(masker)]
    [([0, 1], 0), ([1, 2], 2)]
    """
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


def feature_coordinates(masker):
    """World coordinates of every feature.

    Parameters
    ----------
    masker : nilearn.maskers.NiftiMasker or nilearn.maskers.SurfaceMasker
        Fitted.

    Returns
    -------
    ndarray, shape (n_features, 3)
        Voxel centers or vertices, in mm. Inflated hemispheres may overlap in space.

    Examples
    --------
    >>> import numpy as np, nibabel
    >>> from neuroextrap.images import feature_coordinates, resolve_masker
    >>> img = nibabel.Nifti1Image(np.ones((1, 1, 2)), np.diag([2.0, 2, 3, 1]))
    >>> feature_coordinates(resolve_masker(img))
    array([[0., 0., 0.],
           [0., 0., 3.]])
    """
    if is_surface_masker(masker):
        return np.concatenate([h.coordinates[h.vertices] for h in surface_mesh(masker)])
    from nibabel.affines import apply_affine

    mask, affine = mask_lattice(masker)
    return apply_affine(affine, np.argwhere(mask))


def center_features(process_mask_img, masker):
    """Find features inside a second mask, to serve as centers of regions.

    Parameters
    ----------
    process_mask_img : path-like, Niimg or SurfaceImage
        Non-zero where centers are wanted; same grid or mesh as the masker's mask.
    masker : nilearn.maskers.NiftiMasker or nilearn.maskers.SurfaceMasker
        Fitted.

    Returns
    -------
    ndarray of intp, shape (n_centers,)
        Feature indices, ascending.

    Raises
    ------
    TypeError
        If the mask is a surface and the masker is not, or the reverse.
    ValueError
        If the mask has another grid or mesh, holds NaN, or selects no feature.

    Examples
    --------
    >>> import numpy as np, nibabel
    >>> from neuroextrap.images import resolve_masker
    >>> from neuroextrap.images._geometry import center_features
    >>> masker = resolve_masker(nibabel.Nifti1Image(np.ones((1, 1, 4)), np.eye(4)))
    >>> right = np.array([[[0, 0, 1, 1]]], dtype="uint8")
    >>> center_features(nibabel.Nifti1Image(right, np.eye(4)), masker)
    array([2, 3])
    """
    values = feature_values(process_mask_img, masker, "process_mask_img")
    if np.isnan(values).any():
        raise ValueError("process_mask_img must not hold NaN; use 0 outside the mask")
    found = np.flatnonzero(values)
    if not len(found):
        raise ValueError(
            "process_mask_img selects no voxel of the mask; check that the two overlap"
        )
    return found


def feature_values(img, masker, name):
    """Read one image's values at the features, on the masker's own grid.

    Parameters
    ----------
    img : path-like, Niimg or SurfaceImage
        One sample; same grid or mesh as the masker's mask.
    masker : nilearn.maskers.NiftiMasker or nilearn.maskers.SurfaceMasker
        Fitted; its smoothing and cleaning are not applied.
    name : str
        The argument's name, for messages.

    Returns
    -------
    ndarray, shape (n_features,)
        The image's own numbers, untouched.

    Raises
    ------
    TypeError
        If image and masker are not both of volumes or both of surfaces.
    ValueError
        If the grid or mesh differs, or there is more than one sample.

    Examples
    --------
    >>> import numpy as np, nibabel
    >>> from neuroextrap.images import feature_values, resolve_masker
    >>> masker = resolve_masker(nibabel.Nifti1Image(np.ones((1, 1, 3)), np.eye(4)))
    >>> img = nibabel.Nifti1Image(np.array([[[4, 5, 6]]], "uint8"), np.eye(4))
    >>> feature_values(img, masker, "img")
    array([4, 5, 6], dtype=uint8)
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
