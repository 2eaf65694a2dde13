"""From feature values back to images, in floating point, NaN outside the mask."""

import numpy as np

from neuroextrap.images._geometry import surface_mesh
from neuroextrap.images._maskers import is_surface_masker
from neuroextrap.images._space import new_volume


def to_img(values, masker):
    """Make an image of feature values: floating point, NaN outside the mask.

    The image takes grid and space from the masker's mask but never its data type: a
    p-value of 0.002 stays 0.002 on disk even when the mask is an 8-bit image.

    Parameters
    ----------
    values : array-like of shape (n_features,) or (n_maps, n_features)
        Values of the features; float32 stays float32, everything else becomes float64.
    masker : nilearn.maskers.NiftiMasker or nilearn.maskers.SurfaceMasker
        Fitted masker.

    Returns
    -------
    nibabel.Nifti1Image or nilearn.surface.SurfaceImage
        3-D or 4-D volume; on surfaces one value or ``n_maps`` values per vertex.

    Raises
    ------
    ValueError
        If the last axis is not the masker's number of features.

    Examples
    --------
    >>> import numpy as np, nibabel
    >>> from neuroextrap.images import resolve_masker, to_img
    >>> mask = np.array([[[1, 0]]], dtype="int8")
    >>> masker = resolve_masker(nibabel.Nifti1Image(mask, np.eye(4)))
    >>> to_img([0.002], masker).get_fdata()
    array([[[0.002,   nan]]])
    """
    values = np.asarray(values)
    if values.dtype != np.float32:
        values = values.astype(np.float64)
    if values.ndim not in (1, 2) or values.shape[-1] != masker.n_elements_:
        raise ValueError(
            f"values must have shape ({masker.n_elements_},) or "
            f"(n_maps, {masker.n_elements_}), got {values.shape}; give one value "
            "per feature of the masker"
        )
    if is_surface_masker(masker):
        return _surface(values, masker)
    return _volume(values, masker)


def _volume(values, masker):
    """Build a NIfTI image of the values' own type."""
    mask_img = masker.mask_img_
    mask = np.asanyarray(mask_img.dataobj).astype(bool)
    data = np.full(mask.shape + values.shape[:-1], np.nan, dtype=values.dtype)
    data[mask] = values.T
    return new_volume(data, mask_img)


def _surface(values, masker):
    """Build a SurfaceImage on the mask's mesh."""
    from nilearn.surface import SurfaceImage

    parts = {}
    for side in surface_mesh(masker):
        stop = side.offset + len(side.vertices)
        shape = (len(side.coordinates), *values.shape[:-1])
        parts[side.name] = np.full(shape, np.nan, dtype=values.dtype)
        parts[side.name][side.vertices] = values[..., side.offset : stop].T
    return SurfaceImage(mesh=masker.mask_img_.mesh, data=parts)
