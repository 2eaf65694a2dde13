"""Masks made without a masker: a template brain, and where an image is finite."""

import numpy as np

from neuroextrap.images._grids import check_same_grid
from neuroextrap.images._opening import is_surface_image, open_image
from neuroextrap.images._space import MNI, new_volume


def mni152_mask(resolution=3):
    """Return the brain mask of the MNI152 template that ships with nilearn.

    Parameters
    ----------
    resolution : int, default=3
        Voxel size in mm, at least 1.

    Returns
    -------
    nibabel.Nifti1Image
        Image of int8, 1 inside the brain; 69,765 voxels at 3 mm. Its header says that
        it lies in MNI space.

    Raises
    ------
    ValueError
        If ``resolution`` is not an integer of at least 1.

    References
    ----------
    Fonov et al. 2011, "Unbiased average age-appropriate atlases for pediatric studies",
    NeuroImage 54, 313-327 (the template).

    Examples
    --------
    >>> from neuroextrap.images import mni152_mask
    >>> mni152_mask(8).shape
    (26, 30, 25)
    """
    if isinstance(resolution, bool) or not isinstance(resolution, int):
        raise ValueError(
            f"resolution must be a whole number of mm, got {resolution!r}; use 3"
        )
    if resolution < 1:
        raise ValueError(f"resolution must be at least 1 mm, got {resolution}; use 3")
    from nilearn.datasets import load_mni152_brain_mask

    mask = load_mni152_brain_mask(resolution=resolution)
    return new_volume(np.asanyarray(mask.dataobj), mask, MNI)


def finite_mask(*imgs):
    """Return the 8-bit mask of what is finite in at least one of some samples."""
    first = imgs[0]
    if is_surface_image(first):
        from nilearn.surface import SurfaceImage

        parts = {
            name: _any_finite([img.data.parts[name] for img in imgs])
            for name in first.data.parts
        }
        return SurfaceImage(mesh=first.mesh, data=parts)
    return new_volume(_any_finite(np.asanyarray(i.dataobj) for i in imgs), first)


def mask_of(masker):
    """Return the 8-bit mask, 0 and 1, of a fitted masker."""
    mask = masker.mask_img_
    if is_surface_image(mask):
        from nilearn.surface import SurfaceImage

        parts = {
            name: np.asarray(values).astype(bool).astype(np.uint8)
            for name, values in mask.data.parts.items()
        }
        return SurfaceImage(mesh=mask.mesh, data=parts)
    inside = np.asanyarray(mask.dataobj).astype(bool)
    return new_volume(inside.astype(np.uint8), mask)


def shared_mask(paths):
    """Return the 8-bit mask of the voxels that several mask files have in common."""
    opened = [open_image(path, "mask") for path in paths]
    for mask in opened[1:]:
        check_same_grid(mask, opened[0])
    inside = [np.asanyarray(mask.img.dataobj) > 0 for mask in opened]
    return new_volume(np.logical_and.reduce(inside).astype(np.uint8), opened[0].img)


def _any_finite(arrays):
    """Return 1 where at least one of some arrays is finite."""
    return np.logical_or.reduce([np.isfinite(a) for a in arrays]).astype(np.uint8)
