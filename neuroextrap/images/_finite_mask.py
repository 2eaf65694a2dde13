"""A mask of where an image is finite."""

import numpy as np

from neuroextrap.images._opening import is_surface_image


def finite_mask(img):
    """Return the mask of finite voxels or vertices.

    Parameters
    ----------
    img : Niimg or SurfaceImage
        One sample.

    Returns
    -------
    nibabel.Nifti1Image or nilearn.surface.SurfaceImage
        1 where the image is finite, else 0 (8 bit).

    Examples
    --------
    >>> import numpy as np, nibabel
    >>> from neuroextrap.images._finite_mask import finite_mask
    >>> img = nibabel.Nifti1Image(np.array([[[0.0, np.nan]]]), np.eye(4))
    >>> np.asarray(finite_mask(img).dataobj)
    array([[[1, 0]]], dtype=uint8)
    """
    if is_surface_image(img):
        from nilearn.surface import SurfaceImage

        parts = {
            name: np.isfinite(part).astype(np.uint8)
            for name, part in img.data.parts.items()
        }
        return SurfaceImage(mesh=img.mesh, data=parts)
    from nibabel import Nifti1Image

    finite = np.isfinite(np.asanyarray(img.dataobj)).astype(np.uint8)
    return Nifti1Image(finite, img.affine)
