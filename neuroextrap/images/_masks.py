"""Masks made without a masker: a template brain, and where an image is finite."""

import numpy as np

from neuroextrap.images._opening import is_surface_image
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


def finite_mask(img):
    """Return the 8-bit mask of the finite voxels or vertices of one sample."""
    if is_surface_image(img):
        from nilearn.surface import SurfaceImage

        parts = {
            name: np.isfinite(part).astype(np.uint8)
            for name, part in img.data.parts.items()
        }
        return SurfaceImage(mesh=img.mesh, data=parts)
    finite = np.isfinite(np.asanyarray(img.dataobj)).astype(np.uint8)
    return new_volume(finite, img)
