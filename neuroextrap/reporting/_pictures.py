"""Pictures as data URIs: curves and histograms as SVG, brain maps as PNG."""

import base64
import copy
import io
from itertools import product

import numpy as np

from neuroextrap.plotting import plot_null_distribution
from neuroextrap.reporting._page import figure_tag

_MAPS = (
    "accuracy",
    "implied_information",
    "bayes_accuracy_bound",
    "information_bound",
    "neg_log10_p_fwe",
)

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
    >>> from neuroextrap.reporting import embed_figure
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


def map_pictures(fitted, place=None):
    """Draw the maps that a first look needs.

    Parameters
    ----------
    fitted : IdentificationSearchLight or EncodingIdentification
        With a masker.
    place : sequence of 3 float or None, default=None
        Where to cut volumes (mm); None lets nilearn choose.

    Returns
    -------
    dict of str to str
        Name of the map to data URI; maps that are nowhere above zero are left out.
    """
    from neuroextrap.images import is_surface_masker

    on_surface = is_surface_masker(fitted.masker_)
    pictures = {}
    for name in _MAPS:
        values = fitted.region_scores_.get(name)
        if values is not None and np.nanmax(values) > _TRANSPARENT:
            span = float(np.nanmin(values)), float(np.nanmax(values))
            img = fitted.maps_[name]
            if on_surface:
                figure = _surface_figure(img, span)
            else:
                figure = _volume_figure(img, fitted.masker_.mask_img_, span, place)
            pictures[name] = data_uri(figure, "png")
    return pictures


def _volume_figure(img, mask_img, span, place):
    """Three slices through a place, the mask outlined; one slice of a flat volume."""
    import matplotlib.pyplot as plt
    from nibabel import Nifti1Image
    from nilearn.plotting import plot_stat_map

    # nothing is drawn where a voxel has no value: below the threshold is transparent
    data = img.get_fdata()
    shown = Nifti1Image(np.where(np.isnan(data), 0.0, data), img.affine)
    thin = [axis for axis, size in enumerate(img.shape[:3]) if size < 3]
    mode = "xyz"[thin[0]] if thin else "ortho"
    cuts = None
    if place is not None:
        cuts = [float(place[thin[0]])] if thin else [float(x) for x in place]
    figure = plt.figure(figsize=(4, 4) if thin else (8, 3.2))
    low, high = span
    display = plot_stat_map(
        shown,
        bg_img=None,
        display_mode=mode,
        cut_coords=cuts,
        threshold=_TRANSPARENT,
        vmin=min(low, 0.0),
        vmax=high if high > min(low, 0.0) else low + 1,
        cmap="cividis",
        symmetric_cbar=False,
        black_bg=False,
        draw_cross=False,
        resampling_interpolation="nearest",
        figure=figure,
    )
    display.add_contours(mask_img, levels=[0.5], colors="0.55", linewidths=0.8)
    return figure


def _surface_figure(img, span):
    """Show the hemispheres from outside and from inside."""
    import matplotlib.pyplot as plt
    from nilearn.plotting import plot_surf

    img = copy.deepcopy(img)  # plot_surf moves the vertices of the mesh it is given
    sides, views = list(img.data.parts), ("lateral", "medial")
    figure, axes = plt.subplots(
        len(views),
        len(sides),
        figsize=(4 * len(sides), 3.0 * len(views)),
        subplot_kw={"projection": "3d"},
        squeeze=False,
        layout="constrained",
    )
    low, high = span
    for ax, (view, side) in zip(axes.flat, product(views, sides), strict=True):
        plot_surf(
            img.mesh,
            surf_map=img,
            hemi=side,
            view=view,
            axes=ax,
            figure=figure,
            cmap="cividis",
            vmin=min(low, 0.0),
            vmax=high,
            colorbar=side == sides[-1],
            title=f"{side}, {view}",
        )
    return figure
