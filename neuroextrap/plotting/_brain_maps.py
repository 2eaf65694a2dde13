"""Slices of a map, and where in the image a voxel has its weights."""

from __future__ import annotations

import functools
import logging
import re
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from neuroextrap.images._loading import read_image, surface_mesh
from neuroextrap.images._opening import (
    CODES,
    MNI,
    is_surface_image,
    open_image,
    space_code,
)
from neuroextrap.plotting._axes import draws_on_axes, resolve_axes
from neuroextrap.stats._validation import brief, check_number, real_array

TEMPLATE = "mni152"
"""What users write for the template."""

COLORMAP = "plasma"
"""Colors of maps: even in lightness, safe for the color-blind, none of them gray."""

SIGNED_COLORMAP = "RdBu_r"
"""Colors of maps that are strong on both sides of zero, which is white."""

_LOGGER = logging.getLogger(__name__)
_TRANSPARENT = 1e-9
_LEAST_SHARE = 0.5
_LIGHT, _SPAN = 225, 85
_FINEST = 160
_N_GRAYS = 32


class Background(NamedTuple):
    """What is drawn under a map."""

    #: A volume with upright cubic voxels, at most 160 along its longest side, or None;
    #: under maps of a surface what :func:`surface_grays` takes.
    img: Any
    #: Whether the map is taken to lie in MNI space, where a glass brain fits it.
    in_mni152: bool
    #: One line that says why there is no template, and how to have one; "" otherwise.
    why: str


def volume_background(img, places, bg_img=None, *, own=None):
    """Choose what is drawn under the map or mask `img`, a Background.

    Without `bg_img` it is the template if the header of `img` says MNI, and half the
    `places` (n_voxels, 3) in mm lie in its brain; else `own`, the subject's image.
    """
    if bg_img is False:
        return Background(None, False, "")
    if isinstance(bg_img, str) and bg_img.lower() == TEMPLATE:
        return Background(mni152_template(), True, "")
    share = share_in_mni152(places) if space_code(img) == MNI else 0.0
    in_mni152 = share >= _LEAST_SHARE
    if bg_img is not None:
        return Background(_anatomy(bg_img), in_mni152, "")
    if in_mni152:
        return Background(mni152_template(), True, "")
    below = None if own is None else _anatomy(own)
    why = _why(img, share, below)
    _LOGGER.info("%s", why)
    return Background(below, False, why)


def _why(img, share, below):
    """Say why no template is drawn, what is, and what the user can do."""
    code = space_code(img)
    reason = f"their header does not say MNI space (code {code}, {CODES.get(code)})"
    if code == MNI:
        reason = (
            f"their header says MNI space, but only {100 * share:.0f}% of the voxels "
            "lie in the template's brain"
        )
    drawn = "without an anatomy" if below is None else "over the mean image"
    return (
        f"the maps are drawn {drawn}, not on the MNI template, because {reason}; give "
        f"an anatomy in their space with bg_img (--bg-img), or bg_img={TEMPLATE!r} if "
        "they are in MNI space"
    )


def _anatomy(img):
    """Read a user's anatomy, zero where it is not finite, not too fine for a page."""
    from nibabel import Nifti1Image

    data, affine = read_volume(
        img, "bg_img", f"give a Niimg, a file, {TEMPLATE!r}, or False for none"
    )
    img = Nifti1Image(np.where(np.isfinite(data), data, 0.0), affine)
    smallest, extent = voxel_sizes(img)
    # nearer to the data than splines, which ring where a brain was cut out
    return with_cubes(img, max(smallest, extent / _FINEST), "linear")


def read_volume(img, name, instead_of_surface):
    """Read a volume that is about to be drawn: data (nx, ny, nz), and affine (mm)."""
    opened = read_image(open_image(img, name))
    if opened.is_surface:
        raise TypeError(
            f"{name} must be a volume, got a SurfaceImage; {instead_of_surface}"
        )
    if opened.n_samples not in (None, 1):
        raise ValueError(
            f"{opened.name} must be one volume, got {opened.n_samples}; pick one with "
            "nilearn.image.index_img"
        )
    data = np.asarray(opened.img.dataobj, dtype=float)
    if not np.isfinite(data).any():
        raise ValueError(f"{opened.name} has no finite voxel; give another image")
    return data.reshape(data.shape[:3]), opened.img.affine


def voxel_sizes(img):
    """Return the smallest side of a voxel, and the longest of the volume, in mm."""
    sizes = np.linalg.norm(img.affine[:3, :3], axis=0)
    return sizes.min(), (np.array(img.shape) * sizes).max()


def with_cubes(img, size, interpolation):
    """Return a volume with upright cubic voxels of a size in mm."""
    from nilearn.image import resample_img

    grid = np.diag([size] * 3)
    if np.allclose(img.affine[:3, :3], grid):
        return img
    return resample_img(img, target_affine=grid, interpolation=interpolation)


@functools.cache
def mni152_template():
    """Load the template brain at 2 mm in 32 grays, which make pages a third smaller."""
    from nilearn.datasets import load_mni152_template
    from nilearn.image import new_img_like

    img = load_mni152_template(resolution=2)
    data = img.get_fdata()
    step = data.max() / _N_GRAYS
    return new_img_like(img, (np.round(data / step) * step).astype(np.float32))


def share_in_mni152(places):
    """Return the share of places (n_voxels, 3) in mm in the template's brain."""
    from nibabel.affines import apply_affine

    brain = mni152_template()
    data = np.asarray(brain.dataobj) > 0
    voxels = np.rint(apply_affine(np.linalg.inv(brain.affine), places)).astype(int)
    inside = ((voxels >= 0) & (voxels < data.shape)).all(axis=1)
    return float(data[tuple(voxels[inside].T)].sum() / max(1, len(places)))


def surface_grays(masker, bg_img=None):
    """Return grays, one array of uint8 per hemisphere, of a surface masker's vertices.

    High values of `bg_img` are drawn dark. Without it, the sulcal depth that nilearn
    ships is taken when the mesh has the triangles of fsaverage5; False is one gray.
    """
    sides = surface_mesh(masker)
    depth = None if bg_img is False else _depths(sides, bg_img)
    if depth is None:
        return [np.full(len(s.coordinates), _LIGHT, dtype=np.uint8) for s in sides]
    low, high = np.nanpercentile(np.concatenate(depth), [2, 98])
    span = high - low if high > low else 1.0
    shares = [np.clip((np.nan_to_num(d, nan=low) - low) / span, 0, 1) for d in depth]
    return [(_LIGHT - _SPAN * share).astype(np.uint8) for share in shares]


def _depths(sides, bg_img):
    """Return the background's values of every hemisphere, or None without any."""
    bg_img = _fsaverage5_depth(sides) if bg_img is None else bg_img
    if bg_img is None:
        return None
    if not is_surface_image(bg_img):
        raise TypeError(
            f"bg_img must be a SurfaceImage for maps of a surface, got "
            f"{type(bg_img).__name__}; or False for none"
        )
    parts = {name: np.asarray(x, float) for name, x in bg_img.data.parts.items()}
    depths = [parts.get(side.name, np.empty(0)).ravel() for side in sides]
    for side, values in zip(sides, depths, strict=True):
        if len(values) != len(side.coordinates):
            raise ValueError(
                f"bg_img must have one value for each of the {len(side.coordinates)} "
                f"vertices of the {side.name} mesh, got {len(values)}"
            )
    return depths


def _fsaverage5_depth(sides):
    """Return nilearn's sulcal depth where the triangles are those of fsaverage5."""
    from nilearn.datasets import load_fsaverage, load_fsaverage_data

    meshes = load_fsaverage("fsaverage5")["pial"].parts
    for side in sides:
        mesh = meshes.get(side.name)
        if mesh is None or not np.array_equal(side.faces, mesh.faces):
            return None
    return load_fsaverage_data(mesh="fsaverage5", data_type="sulcal")


@draws_on_axes
def plot_receptive_field(features: Any, weights: ArrayLike, *, ax: Any = None) -> Any:
    """Draw the receptive field of a voxel: where in the image its weights lie.

    Every pixel shows the sum of weights over features, each under its window: a
    Gaussian at the position of the feature, of its width and of sum one. Positive
    weights (more contrast or light, more response) are red, negative ones blue.

    Parameters
    ----------
    features : GaborPyramid or RetinotopicFeatures
        Fitted transformer, whose features have positions and widths.
    weights : array-like of shape (n_features,)
        Weights of the features, such as those of
        :meth:`EncodingIdentification.coefficients`.

    Raises
    ------
    ValueError
        If there is not one finite weight for every feature.

    Examples
    --------
    >>> import numpy as np
    >>> from neuroextrap.encoding import RetinotopicFeatures
    >>> from neuroextrap.plotting import plot_receptive_field
    >>> features = RetinotopicFeatures(widths=(0.25,)).fit(np.zeros((1, 16, 16)))
    >>> ax = plot_receptive_field(features, np.arange(32.0))
    >>> ax.get_xlabel()
    'column (pixels)'
    """
    weights = real_array(weights, "weights")
    if not hasattr(features, "feature_positions_"):
        raise TypeError(
            f"features must be a fitted GaborPyramid or RetinotopicFeatures, got "
            f"{brief(features)}"
        )
    n_features = len(features.feature_positions_)
    if weights.shape != (n_features,) or not np.isfinite(weights).all():
        raise ValueError(
            f"weights must be {n_features} finite numbers, one for each feature, got "
            f"shape {weights.shape}; give those of one usable voxel"
        )
    height, width = features.image_shape_[:2]
    down, across = (
        _windows(size, features.feature_positions_[:, side], features.feature_widths_)
        for side, size in enumerate((height, width))
    )
    field = (down * weights[:, np.newaxis]).T @ across
    ax = resolve_axes(ax)
    most = np.abs(field).max() or 1.0
    image = ax.imshow(field, vmin=-most, vmax=most, cmap="RdBu_r")
    ax.set(xlabel="column (pixels)", ylabel="row (pixels)")
    ax.figure.colorbar(image, ax=ax, label="sum of weights per pixel")
    return ax


def _windows(size, centers, widths):
    """Gaussian windows along one side, (n_features, size), each of sum one."""
    distance = (np.arange(size) - centers[:, np.newaxis]) / widths[:, np.newaxis]
    windows = np.exp(-0.5 * distance**2)
    return windows / windows.sum(axis=1, keepdims=True)


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

    data, affine = read_map(img)
    if isinstance(threshold, str):
        number = re.fullmatch(r"([0-9]+(?:\.[0-9]*)?)%?", threshold)
        if number is None or float(number[1]) > 100:
            raise ValueError(
                f"threshold={threshold!r} must be a number, or a percentile such as "
                '"95%"'
            )
        threshold = np.percentile(data[np.isfinite(data)], float(number[1]))
    threshold = None if threshold is None else check_number(threshold, "threshold")
    places = apply_affine(affine, np.argwhere(np.isfinite(data)))
    below = volume_background(open_image(img, "img").img, places, bg_img)
    return draw_map(data, affine, below.img, threshold=threshold, **options)


_LOOK = {
    "cmap": COLORMAP,
    "symmetric_cbar": False,
    "black_bg": False,
    "draw_cross": False,
    "resampling_interpolation": "nearest",
    "cbar_tick_format": "%.3g",
}


def draw_map(data, affine, below, *, threshold=None, **options):
    """Plot slices of a map, NaN where unknown, over a volume (or None) as it is."""
    from nibabel import Nifti1Image
    from nilearn.plotting import plot_stat_map

    finite = np.isfinite(data)
    low, high = float(data[finite].min()), float(data[finite].max())
    vmin = min(low, 0.0)
    ends = {"vmin": vmin, "vmax": high if high > vmin else low + 1}
    return plot_stat_map(
        Nifti1Image(np.where(finite, data, 0.0), affine),
        bg_img=below,
        threshold=max(_TRANSPARENT, threshold or 0.0),
        **(_LOOK | ends | options),
    )


def read_map(img):
    """Read a map of a volume: data (nx, ny, nz), NaN where unknown, and affine (mm)."""
    advice = "plot surfaces with nilearn.plotting.plot_surf_stat_map"
    return read_volume(img, "img", advice)
