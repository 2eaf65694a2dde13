"""Pictures as data URIs: curves and histograms as SVG, small PNGs of brain maps."""

import base64
import functools
import io

from neuroextrap.plotting import plot_null_distribution
from neuroextrap.reporting._page import figure_tag

_OPAQUE = (255, 255)
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


def null_figure(maxima, observed, xlabel, caption, file_name, *, label=None):
    """Draw the largest statistic of every permutation, with the observed one, as HTML.

    `label` names the permuted values in the legend, where permuting is not the word.
    """
    ax = plot_null_distribution(maxima, observed, xlabel=xlabel)
    if label:
        ax.get_legend().get_texts()[0].set_text(label)
    return embed_figure(ax.figure, caption, file_name)


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


def few_colors(data):
    """Return a picture (bytes of a PNG) with a table of at most 256 colors."""
    from PIL import Image

    image = Image.open(io.BytesIO(data)).convert("RGBA")
    if image.getextrema()[-1] == _OPAQUE:
        image = image.convert("RGB").quantize(
            256, Image.Quantize.MAXCOVERAGE, kmeans=1, dither=Image.Dither.NONE
        )
    else:
        image = image.quantize(256, Image.Quantize.FASTOCTREE)
    return _written(image)


def gray_png(data):
    """Return an opaque gray picture (bytes of a PNG) with one byte for every pixel.

    Pixels stay as they are; pictures that are not gray are returned unchanged.
    """
    from PIL import Image, ImageChops

    image = Image.open(io.BytesIO(data)).convert("RGBA")
    red, green, blue, alpha = image.split()
    differs = ImageChops.lighter(
        ImageChops.difference(red, green), ImageChops.difference(red, blue)
    )
    if alpha.getextrema() != _OPAQUE or differs.getextrema() != (0, 0):
        return data
    return _written(red)


def _written(image):
    """Return a picture as bytes of a PNG."""
    target = io.BytesIO()
    image.save(target, format="png", optimize=True)
    return target.getvalue()
