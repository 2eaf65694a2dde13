"""Slices of a map, transparent where nothing is known."""

import numpy as np

from neuroextrap.plotting._backgrounds import anatomy, read_volume

_TRANSPARENT = 1e-9


def plot_map(img, *, bg_img=None, threshold=None, **options):
    """Plot slices of a map over an anatomy; voxels without a value are transparent.

    Maps hold NaN outside the analyzed voxels. Nilearn warns about NaN and replaces it;
    here a copy is drawn, and the map itself stays as it is.

    Parameters
    ----------
    img : Niimg or path-like
        Map of a volume, such as ``maps_["implied_information"]``.
    bg_img : Niimg, path-like, False or None, default=None
        Anatomy in the space of the map. None is the MNI152 template that nilearn ships
        if 95% of the voxels with a value lie in its brain, otherwise nothing; False is
        nothing.
    threshold : float or None, default=None
        Values nearer to zero than this, in the map's unit, are transparent. None draws
        all that is not zero.
    **options : dict
        Further arguments of ``nilearn.plotting.plot_stat_map``.

    Returns
    -------
    display : nilearn.plotting.displays.OrthoSlicer
        Display of nilearn; its class depends on ``display_mode``.

    Raises
    ------
    TypeError
        If an image is a surface.
    ValueError
        If an image is not one volume, or the map has no value anywhere.

    References
    ----------
    nilearn's user guide, "Plotting brain images".

    Examples
    --------
    >>> import numpy as np, nibabel
    >>> from neuroextrap.plotting import plot_map
    >>> bits = np.full((8, 9, 7), np.nan)
    >>> bits[2:5, 3:6, 2:5] = 1.5
    >>> display = plot_map(nibabel.Nifti1Image(bits, np.eye(4)), bg_img=False)
    >>> display.close()
    """
    from nibabel import Nifti1Image
    from nibabel.affines import apply_affine
    from nilearn.plotting import plot_stat_map

    data, affine = read_map(img)
    finite = np.isfinite(data)
    below = anatomy(apply_affine(affine, np.argwhere(finite)), bg_img)
    low, high = float(data[finite].min()), float(data[finite].max())
    settings = {
        "cmap": "cividis",
        "symmetric_cbar": False,
        "vmin": min(low, 0.0),
        "vmax": high if high > min(low, 0.0) else low + 1,
        "black_bg": False,
        "draw_cross": False,
        "resampling_interpolation": "nearest",
    } | options
    return plot_stat_map(
        Nifti1Image(np.where(finite, data, 0.0), affine),
        bg_img=below,
        threshold=max(_TRANSPARENT, threshold or 0.0),
        **settings,
    )


def read_map(img):
    """Read a map of a volume: data (nx, ny, nz), NaN where unknown, and affine (mm)."""
    advice = "plot surfaces with nilearn.plotting.plot_surf_stat_map"
    return read_volume(img, "img", advice)
