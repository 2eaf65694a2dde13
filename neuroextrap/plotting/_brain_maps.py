"""Slices of a map, transparent where it has no values."""

from __future__ import annotations

import logging
import re
from typing import Any

import numpy as np

from neuroextrap.plotting._backgrounds import read_volume, volume_background
from neuroextrap.stats._validation import check_number

_LOGGER = logging.getLogger(__name__)

COLORMAP = "plasma"
"""Colors of maps: even in lightness, safe for the color-blind, none of them gray."""

SIGNED_COLORMAP = "RdBu_r"
"""Colors of maps that are strong on both sides of zero, which is white."""

_TRANSPARENT = 1e-9


def plot_map(
    img: Any,
    *,
    bg_img: Any = None,
    threshold: float | str | None = None,
    **options: Any,
) -> Any:
    """Plot slices of a map over an anatomy; voxels without a value are transparent.

    Maps hold NaN outside the analyzed voxels. Nilearn warns about NaN and replaces it;
    here a copy is drawn, and the map itself stays as it is.

    Parameters
    ----------
    img : Niimg or path-like
        Map of a volume, such as ``maps_["implied_information"]``.
    bg_img : Niimg, path-like, "mni152", False or None, default=None
        Anatomy in the space of the map. "mni152" is the MNI152 template that nilearn
        ships. If None, it is the template where the map's header says that it lies in
        MNI space (sform or qform code 4), otherwise nothing; False is nothing.
    threshold : float, str such as "95%", or None, default=None
        Values nearer to zero than this, in the map's unit, or than that percentile of
        the map, are transparent. None draws all that is not zero.
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
    from nibabel.affines import apply_affine

    from neuroextrap.images._opening import open_image

    data, affine = read_map(img)
    if isinstance(threshold, str):
        threshold = np.percentile(data[np.isfinite(data)], _percent(threshold))
    threshold = None if threshold is None else check_number(threshold, "threshold")
    places = apply_affine(affine, np.argwhere(np.isfinite(data)))
    below = volume_background(open_image(img, "img").img, places, bg_img)
    if below.why:
        _LOGGER.info("%s", below.why)
    return draw_map(data, affine, below.img, threshold=threshold, **options)


def _percent(text):
    """Return the number of a percentile such as "95%"."""
    number = re.fullmatch(r"([0-9]+(?:\.[0-9]*)?)%?", text)
    if number is None or float(number[1]) > 100:
        raise ValueError(
            f'threshold={text!r} must be a number, or a percentile such as "95%"'
        )
    return float(number[1])


def draw_map(data, affine, below, *, threshold=None, **options):
    """Plot slices of a map, NaN where unknown, over a volume (or None) as it is."""
    from nibabel import Nifti1Image
    from nilearn.plotting import plot_stat_map

    finite = np.isfinite(data)
    low, high = float(data[finite].min()), float(data[finite].max())
    settings = {
        "cmap": COLORMAP,
        "symmetric_cbar": False,
        "vmin": min(low, 0.0),
        "vmax": high if high > min(low, 0.0) else low + 1,
        "black_bg": False,
        "draw_cross": False,
        "resampling_interpolation": "nearest",
        "cbar_tick_format": "%.3g",
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
