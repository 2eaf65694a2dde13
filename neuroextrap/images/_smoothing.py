"""Smoothing of variance maps within a mask."""

import numpy as np

from neuroextrap.images._geometry import mask_lattice
from neuroextrap.images._maskers import is_surface_masker

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
    mask, affine = mask_lattice(masker)
    where = np.flatnonzero(mask)[usable]
    sigma = fwhm / _FWHM_PER_SIGMA / voxel_sizes(affine)

    def smoothed(values):
        volume = np.zeros(mask.shape)
        volume.flat[where] = values
        return gaussian_filter(volume, sigma, mode="constant").flat[where]

    weight = smoothed(np.ones(len(where)))
    return lambda maps: np.stack([smoothed(values) / weight for values in maps])
