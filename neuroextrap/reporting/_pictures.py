"""Pictures as data URIs: curves and histograms as SVG, brain maps as PNG."""

import base64
import copy
import io
from itertools import product

import numpy as np

from neuroextrap.plotting import plot_map, plot_null_distribution
from neuroextrap.plotting._backgrounds import surface_grays
from neuroextrap.reporting._map_data import (
    COLORMAP,
    FIRST_MAPS,
    color_range,
    first_threshold,
)
from neuroextrap.reporting._page import figure_tag

_TRANSPARENT = 1e-9


def data_uri(figure, kind="svg"):
    """Draw a figure into a data URI and close it.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
    kind : {"svg", "png"}, default="svg"

    Returns
    -------
    str
    """
    import matplotlib.pyplot as plt

    target = io.BytesIO()
    metadata = {"Date": None} if kind == "svg" else None
    figure.savefig(target, format=kind, dpi=110, metadata=metadata)
    plt.close(figure)
    text = base64.b64encode(target.getvalue()).decode("ascii")
    return f"data:image/{'svg+xml' if kind == 'svg' else kind};base64,{text}"


def embed_figure(figure, caption):
    """Put a matplotlib figure into a page, as vectors, and close it.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        The figure.
    caption : str
        Plain text; escaped here.

    Returns
    -------
    str
        HTML.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from neuroextrap.reporting._pictures import embed_figure
    >>> "<figcaption>a &lt; b</figcaption>" in embed_figure(Figure(), "a < b")
    True
    """
    return figure_tag(data_uri(figure), caption)


def null_picture(fitted):
    """Draw the distribution of the permuted maximum, with the observed maximum.

    Parameters
    ----------
    fitted : IdentificationSearchLight or EncodingIdentification
        With permutations.

    Returns
    -------
    str
        Data URI.
    """
    observed = float(np.nanmax(fitted.results_.scores.score))
    ax = plot_null_distribution(
        fitted.null_maxima_,
        observed,
        xlabel=f"largest {_statistic_name(fitted)} over regions",
    )
    return data_uri(ax.figure)


def _statistic_name(fitted):
    """Name the statistic of the permutation test, with its unit if it has one."""
    name = fitted.statistic
    if name == "implied_information":
        return "implied information (bits)"
    if isinstance(name, str):
        return name.replace("_", " ")
    return f"accuracy among {name}"


def map_pictures(fitted, place=None, bg_img=None):
    """Draw the maps that a first look needs, above chance or significance.

    Parameters
    ----------
    fitted : IdentificationSearchLight or EncodingIdentification
        With a masker.
    place : sequence of 3 float or None, default=None
        Where to cut volumes (mm); None lets nilearn choose.
    bg_img : path, Niimg, SurfaceImage, None or False, default=None
        What is drawn under the maps.

    Returns
    -------
    dict of str to (str or None)
        Name of the map to data URI; None for a map that is nowhere above its first
        threshold.
    """
    names = [name for name in FIRST_MAPS if name in fitted.maps_]
    return {name: _map_picture(fitted, name, place, bg_img) for name in names}


def _map_picture(fitted, name, place, bg_img):
    """Draw one map, or nothing where there is nothing to draw."""
    from neuroextrap.images._maskers import is_surface_masker

    values, img = fitted.region_scores_[name], fitted.maps_[name]
    threshold = first_threshold(name, len(fitted.classes_))
    if not (values > threshold).any():
        return None
    if is_surface_masker(fitted.masker_):
        grays = surface_grays(fitted.masker_, bg_img)
        figure = _surface_figure(img, grays, color_range(values), threshold)
    else:
        figure = _volume_figure(
            img, fitted.masker_.mask_img_, place, bg_img=bg_img, threshold=threshold
        )
    return data_uri(figure, "png")


def _volume_figure(img, mask_img, place, **options):
    """Three slices through a place, the mask outlined; one slice of a flat volume."""
    import matplotlib.pyplot as plt

    thin = [axis for axis, size in enumerate(img.shape[:3]) if size < 3]
    mode = "xyz"[thin[0]] if thin else "ortho"
    cuts = None
    if place is not None:
        cuts = [float(place[thin[0]])] if thin else [float(x) for x in place]
    figure = plt.figure(figsize=(4, 4) if thin else (8, 3.2))
    display = plot_map(
        img, display_mode=mode, cut_coords=cuts, figure=figure, **options
    )
    display.add_contours(mask_img, levels=[0.5], colors="0.55", linewidths=0.8)
    return figure


def _surface_figure(img, grays, span, threshold):
    """Show the hemispheres from outside and from inside."""
    import matplotlib.pyplot as plt
    from nilearn.plotting import plot_surf_stat_map

    mesh = copy.deepcopy(img.mesh)  # nilearn moves the vertices of the mesh it is given
    sides, views = list(img.data.parts), ("lateral", "medial")
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
            bg_map=255.0 - grays[sides.index(side)],
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
