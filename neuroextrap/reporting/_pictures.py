"""Pictures as data URIs: curves and histograms as SVG, brain maps as PNG."""

import base64
import functools
import io

import numpy as np

from neuroextrap.maps._registry import record_of
from neuroextrap.plotting import plot_null_distribution
from neuroextrap.reporting._page import figure_tag
from neuroextrap.reporting._png import few_colors

_SVG = {
    "svg.hashsalt": "neuroextrap",
    "svg.fonttype": "none",  # text stays text: small, searchable
}


def data_uri(figure, kind="svg"):
    """Draw a figure into a data URI, as "svg" or "png", and close it.

    Equal figures give equal text: no date, no random names of elements. Pictures have
    at most 256 colors, which makes them less than half as large and looks the same.
    """
    import matplotlib.pyplot as plt

    target = io.BytesIO()
    metadata = {"Date": None} if kind == "svg" else None
    with plt.rc_context(_SVG):
        figure.savefig(target, format=kind, dpi=110, metadata=metadata)
    plt.close(figure)
    data = target.getvalue()
    if kind == "png":
        data = few_colors(data)
    text = base64.b64encode(data).decode("ascii")
    return f"data:image/{'svg+xml' if kind == 'svg' else kind};base64,{text}"


def embed_figure(figure, caption, file_name=""):
    """Return a matplotlib figure as HTML, as vectors with a caption, and close it.

    A button saves it under `file_name`, if there is one.
    """
    return figure_tag(data_uri(figure), caption, file_name)


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
    return {"source": data_uri(figure, "png"), "frame": frame}
