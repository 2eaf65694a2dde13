"""Matplotlib figures of one map of a masker: slices, or hemispheres."""

import copy
from itertools import product

import numpy as np

from neuroextrap.plotting._backgrounds import surface_grays
from neuroextrap.plotting._brain_maps import COLORMAP, draw_map, read_map

_TRANSPARENT = 1e-9
# opacity of what does not survive: beside what does, and where nothing does
FAINT = 0.25
TREND = 0.5
TREND_SHARE = 0.05
"""Share of the regions that is drawn first where none survives correction."""


def brain_figure(  # noqa: PLR0913 - what a picture is made of
    img, masker, opacity, *, place=None, below=None, bg_img=None, span=None, cmap=None
):
    """Draw one map, as opaque as `opacity`, (n_features,), says for every feature.

    A volume is cut at `place` (mm; nilearn's choice without it) and drawn over `below`,
    a volume or None; hemispheres are seen from outside and from inside, opaque or not,
    over the values of `bg_img`. `span` is where colors begin and end, from the smallest
    to the largest value if None. Returns a figure.
    """
    from neuroextrap.images._maskers import is_surface_masker

    colors = {"cmap": cmap or COLORMAP}
    if is_surface_masker(masker):
        return _surface_figure(img, masker, opacity, bg_img, span=span, **colors)
    if span is not None:
        colors |= dict(zip(("vmin", "vmax"), span, strict=True))
    return _volume_figure(img, masker, opacity, place, below, colors)


def _volume_figure(img, masker, opacity, place, below, colors):
    """Draw three slices, or one of a flat volume, with the outline of the mask."""
    import matplotlib.pyplot as plt
    from nibabel import Nifti1Image

    from neuroextrap.images._geometry import mask_lattice

    mask, affine = mask_lattice(masker)
    alpha = np.zeros(mask.shape, dtype=np.float32)
    alpha[mask > 0] = opacity
    data, map_affine = read_map(img)
    levels = np.unique(opacity[opacity > 0])
    if len(levels):  # otherwise nothing is seen, and nilearn warns of empty maps
        data = np.where(alpha > 0, data, np.where(np.isfinite(data), 0.0, np.nan))
    transparency = Nifti1Image(alpha, affine)
    if len(levels) <= 1:  # nilearn scales an image by its largest value
        transparency = float(levels.max(initial=0.0))
    thin = [axis for axis, size in enumerate(img.shape[:3]) if size < 3]
    mode = "xyz"[thin[0]] if thin else "ortho"
    cuts = None
    if place is not None:
        cuts = [float(place[thin[0]])] if thin else [float(x) for x in place]
    figure = plt.figure(figsize=_flat_size(mask, affine, thin[0]) if thin else (8, 3.2))
    display = draw_map(
        data,
        map_affine,
        below,
        display_mode=mode,
        cut_coords=cuts,
        figure=figure,
        transparency=transparency,
        **colors,
    )
    outline = masker.mask_img_
    display.add_contours(outline, levels=[0.5], colors="0.55", linewidths=0.8)
    return figure


def _flat_size(mask, affine, thin):
    """Return width and height (inches) for one slice of a volume with its color bar."""
    extent = np.ptp(np.argwhere(mask), axis=0) + 1
    extent = extent * np.linalg.norm(affine[:3, :3], axis=0)
    width, height = np.delete(extent, thin)
    return 6.0, float(np.clip(4.5 * height / width, 2.0, 6.0))


def _surface_figure(img, masker, opacity, bg_img, *, span, cmap):
    """Draw the hemispheres with values, from outside and from inside."""
    import matplotlib.pyplot as plt
    from nilearn.plotting import plot_surf_stat_map

    from neuroextrap.images._geometry import surface_mesh

    sides = [
        (side, gray)
        for side, gray in zip(
            surface_mesh(masker), surface_grays(masker, bg_img), strict=True
        )
        if np.isfinite(img.data.parts[side.name]).any()
    ]
    mesh = copy.deepcopy(img.mesh)  # nilearn moves the vertices of the mesh it is given
    views = ("lateral", "medial")
    figure, axes = plt.subplots(
        len(views),
        len(sides),
        figsize=(2 * len(sides) + 0.6, 1.75 * len(views)),
        subplot_kw={"projection": "3d"},
        squeeze=False,
    )
    for ax, (view, (side, gray)) in zip(axes.flat, product(views, sides), strict=True):
        plot_surf_stat_map(
            mesh.parts[side.name],
            _drawn_vertices(np.ravel(img.data.parts[side.name]), side, opacity),
            bg_map=255.0 - gray,
            hemi=side.name,
            view=view,
            axes=ax,
            figure=figure,
            cmap=cmap,
            symmetric_cbar=False,
            vmin=span[0],
            vmax=span[1],
            threshold=_TRANSPARENT,
            colorbar=False,
        )
        ax.set_box_aspect(None, zoom=1.5)
        ax.set_title(f"{side.name}, {view}", y=0.98, fontsize="medium")
    figure.subplots_adjust(0, 0.02, 0.86, 0.94, 0, 0.1)
    colors = plt.cm.ScalarMappable(plt.Normalize(*span), cmap)
    figure.colorbar(colors, cax=figure.add_axes([0.88, 0.25, 0.02, 0.5]))
    return figure


def _drawn_vertices(values, side, opacity):
    """Return a map of one hemisphere, 0 (transparent) where it is not drawn."""
    drawn = np.zeros(len(values), dtype=bool)
    first = side.offset
    drawn[side.vertices] = opacity[first : first + len(side.vertices)] > 0
    return np.where(drawn, values, 0.0)


def trend_limit(strength):
    """Return the strength that one region in twenty exceeds at most."""
    return float(np.nanquantile(strength, 1 - TREND_SHARE))


def color_range(values):
    """Return where colors begin (at zero or below) and end, low < high."""
    low, high = min(float(np.nanmin(values)), 0.0), float(np.nanmax(values))
    return low, (high if high > low else low + 1.0)
