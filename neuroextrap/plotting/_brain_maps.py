"""Slices of a map, transparent where nothing is known."""

import numpy as np

from neuroextrap.plotting._backgrounds import anatomy

_TRANSPARENT = 1e-9


def plot_map(img, *, bg_img=None, threshold=None, **options):
    """Plot slices of a map over an anatomy; voxels without a value are transparent.

    Maps hold NaN outside the analyzed voxels. Nilearn warns of NaN and replaces it;
    here a copy is drawn, the map itself is left alone.

    Parameters
    ----------
    img : Niimg or path
        A map of a volume, such as ``maps_["implied_information"]``.
    bg_img : Niimg, path, None or False, default=None
        Anatomy in the space of the map. None is the MNI152 template that nilearn ships
        if 95% of the voxels with a value lie in its brain, otherwise nothing; False is
        nothing.
    threshold : float or None, default=None
        Values nearer to zero than this, in the map's unit, are transparent. None draws
        all that is not zero.
    **options : dict
        Passed on to ``nilearn.plotting.plot_stat_map``.

    Returns
    -------
    display : nilearn.plotting.displays.OrthoSlicer
        Of another class with another ``display_mode``.

    Raises
    ------
    TypeError
        If an image is one of a surface.
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
    known = np.isfinite(data)
    below = anatomy(apply_affine(affine, np.argwhere(known)), bg_img)
    low, high = float(data[known].min()), float(data[known].max())
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
        Nifti1Image(np.where(known, data, 0.0), affine),
        bg_img=below,
        threshold=max(_TRANSPARENT, threshold or 0.0),
        **settings,
    )


def read_map(img):
    """Read a map that is about to be drawn.

    Parameters
    ----------
    img : Niimg or path
        One volume.

    Returns
    -------
    data : ndarray, shape (nx, ny, nz)
        NaN where nothing is known.
    affine : ndarray, shape (4, 4)
        Voxel to mm.

    Raises
    ------
    TypeError
        If it is a surface.
    ValueError
        If it is not one volume, or has no finite value.
    """
    from neuroextrap.images._opening import open_image, read_image

    opened = read_image(open_image(img, "img"))
    if opened.is_surface:
        raise TypeError(
            "img must be a map of a volume, got a SurfaceImage; plot surfaces with "
            "nilearn.plotting.plot_surf_stat_map"
        )
    if opened.n_samples not in (None, 1):
        raise ValueError(
            f"{opened.name} must be one map, got {opened.n_samples}; pick one with "
            "nilearn.image.index_img"
        )
    data = np.asarray(opened.img.dataobj, dtype=float)
    if not np.isfinite(data).any():
        raise ValueError(f"{opened.name} has no finite value; nothing can be drawn")
    return data.reshape(data.shape[:3]), opened.img.affine
