"""Smoothing of variance maps within a mask."""

import numpy as np

from neuroextrap.images._geometry import mask_lattice
from neuroextrap.images._maskers import is_surface_masker

_FWHM_PER_SIGMA = np.sqrt(8 * np.log(2))


_WIDEST = 100.0
"""Full width in mm from which on a kernel is as wide as a brain."""


def check_fwhm(fwhm, name):
    """Raise unless a width is None or a number of mm that leaves something local."""
    if fwhm is None:
        return
    real = isinstance(fwhm, (int, float, np.integer, np.floating))
    if not real or isinstance(fwhm, bool):
        raise TypeError(
            f"{name}={fwhm!r} must be None or a number of mm, got "
            f"{type(fwhm).__name__}; give one width for all directions"
        )
    if not 0 < fwhm <= _WIDEST:
        raise ValueError(
            f"{name}={fwhm!r} must be positive (mm) and at most {_WIDEST:g}, which "
            "is as wide as a brain, or None; 4 to 8 mm are usual"
        )


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
