"""Pictures as data URIs: curves and histograms as SVG, brain maps as PNG."""

import base64
import copy
import functools
import io
from itertools import product

import numpy as np

from neuroextrap.maps._registry import record_of
from neuroextrap.plotting import plot_null_distribution
from neuroextrap.plotting._backgrounds import surface_grays
from neuroextrap.plotting._brain_maps import draw_map, read_map
from neuroextrap.reporting._map_data import COLORMAP, color_range, overview_maps
from neuroextrap.reporting._page import figure_tag

_TRANSPARENT = 1e-9


def data_uri(figure, kind="svg"):
    """Draw a figure into a data URI, as "svg" or "png", and close it.

    Equal figures give equal text: no date, no random names of elements.
    """
    import matplotlib.pyplot as plt

    target = io.BytesIO()
    metadata = {"Date": None} if kind == "svg" else None
    with plt.rc_context({"svg.hashsalt": "neuroextrap"}):
        figure.savefig(target, format=kind, dpi=110, metadata=metadata)
    plt.close(figure)
    text = base64.b64encode(target.getvalue()).decode("ascii")
    return f"data:image/{'svg+xml' if kind == 'svg' else kind};base64,{text}"


def embed_figure(figure, caption):
    """Return a matplotlib figure as HTML, as vectors with a caption, and close it."""
    return figure_tag(data_uri(figure), caption)


def null_picture(fitted):
    """Draw the distribution of the permuted maximum, with the observed maximum."""
    observed = float(np.nanmax(fitted.results_.scores.score))
    ax = plot_null_distribution(
        fitted.null_maxima_,
        observed,
        xlabel=f"largest {_statistic_name(fitted)} over regions",
    )
    return data_uri(ax.figure)


def _statistic_name(fitted):
    """Name the statistic of the permutation test, with its unit if it has one."""
    if isinstance(fitted.statistic, str):
        return record_of(fitted.statistic).label_with_unit
    return f"accuracy among {fitted.statistic}"


def map_pictures(fitted, place, below, bg_img):
    """Draw the maps of the overview, above chance or significance.

    Volumes are cut at `place` (mm; None lets nilearn choose) and drawn over `below`, a
    volume or None; surfaces over `bg_img`. Returns a data URI by the
    name of the map, None for a map that is nowhere above its first threshold.
    """
    names = overview_maps(fitted.maps_)
    return {name: _map_picture(fitted, name, place, below, bg_img) for name in names}


def _map_picture(fitted, name, place, below, bg_img):
    """Draw one map, or nothing where there is nothing to draw."""
    from neuroextrap.images._maskers import is_surface_masker

    values, img = fitted.region_scores_[name], fitted.maps_[name]
    threshold = record_of(name).first_threshold(len(fitted.classes_))
    if not (values > threshold).any():
        return None
    if is_surface_masker(fitted.masker_):
        grays = surface_grays(fitted.masker_, bg_img)
        figure = _surface_figure(img, grays, color_range(values), threshold)
    else:
        figure = _volume_figure(
            img, fitted.masker_.mask_img_, place, below=below, threshold=threshold
        )
    return data_uri(figure, "png")


def _volume_figure(img, mask_img, place, **options):
    """Draw three slices, or one of a flat volume, with the outline of the mask."""
    import matplotlib.pyplot as plt

    thin = [axis for axis, size in enumerate(img.shape[:3]) if size < 3]
    mode = "xyz"[thin[0]] if thin else "ortho"
    cuts = None
    if place is not None:
        cuts = [float(place[thin[0]])] if thin else [float(x) for x in place]
    figure = plt.figure(figsize=(4, 4) if thin else (8, 3.2))
    display = draw_map(
        *read_map(img), display_mode=mode, cut_coords=cuts, figure=figure, **options
    )
    display.add_contours(mask_img, levels=[0.5], colors="0.55", linewidths=0.8)
    return figure


def _surface_figure(img, grays, span, threshold):
    """Draw the hemispheres with values, from outside and from inside."""
    import matplotlib.pyplot as plt
    from nilearn.plotting import plot_surf_stat_map

    mesh = copy.deepcopy(img.mesh)  # nilearn moves the vertices of the mesh it is given
    shades = dict(zip(img.data.parts, grays, strict=True))
    sides = [s for s, part in img.data.parts.items() if np.isfinite(part).any()]
    views = ("lateral", "medial")
    figure, axes = plt.subplots(
        len(views),
        len(sides),
        figsize=(2 * len(sides) + 0.6, 1.75 * len(views)),
        subplot_kw={"projection": "3d"},
        squeeze=False,
    )
    for ax, (view, side) in zip(axes.flat, product(views, sides), strict=True):
        values = np.ravel(img.data.parts[side])
        plot_surf_stat_map(
            mesh.parts[side],
            np.where(values > threshold, values, 0.0),  # transparent; a copy
            bg_map=255.0 - shades[side],
            hemi=side,
            view=view,
            axes=ax,
            figure=figure,
            cmap=COLORMAP,
            symmetric_cbar=False,
            vmin=span[0],
            vmax=span[1],
            threshold=_TRANSPARENT,
            colorbar=False,
        )
        ax.set_box_aspect(None, zoom=1.5)
        ax.set_title(f"{side}, {view}", y=0.98, fontsize="medium")
    figure.subplots_adjust(0, 0.02, 0.86, 0.94, 0, 0.1)
    colors = plt.cm.ScalarMappable(plt.Normalize(*span), COLORMAP)
    figure.colorbar(colors, cax=figure.add_axes([0.88, 0.25, 0.02, 0.5]))
    return figure


@functools.cache
def glass_outlines():
    """Return nilearn's empty glass brain of MNI space, seen along x, y and z.

    For every axis a dict of ``source``, a data URI with a transparent background, and
    ``frame``, where its left, right, bottom and top edges are (mm).
    """
    return {axis: _glass_outline(axis) for axis in "xyz"}


def _glass_outline(axis):
    """Draw one side, the figure's edges at the limits of its axes."""
    import matplotlib.pyplot as plt
    from nilearn.plotting import plot_glass_brain

    figure = plt.figure()
    display = plot_glass_brain(None, display_mode=axis, figure=figure, annotate=False)
    ax = display.axes[axis].ax
    (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
    figure.set_size_inches(4, 4 * (top - bottom) / (right - left))
    ax.set_position([0, 0, 1, 1])
    figure.patch.set_alpha(0)
    frame = [float(edge) for edge in (left, right, bottom, top)]
    return {"source": data_uri(figure), "frame": frame}
