"""Pictures on pages: maps as PNG or in nilearn's viewer, curves and others as SVG."""

import base64
import copy
import functools
import html
import io
import re
from itertools import product
from typing import Any

import numpy as np
from markupsafe import Markup

from neuroextrap.images._loading import mask_lattice, surface_mesh
from neuroextrap.images._maskers import is_surface_masker
from neuroextrap.plotting import plot_null_distribution
from neuroextrap.plotting._brain_maps import (
    COLORMAP,
    draw_map,
    read_map,
    surface_grays,
    voxel_sizes,
    with_cubes,
)
from neuroextrap.reporting._page import figure_tag, read_text, render

_TRANSPARENT = 1e-9
# opacity of what does not survive: beside what does, and where nothing does
FAINT = 0.25
TREND = 0.5
TREND_SHARE = 0.05
"""Proportion of the regions that is drawn first if none survives correction."""


def brain_figure(img, masker, opacity, place, below, look, marks):
    """Draw one map, as opaque as `opacity`, (n_features,), says for every feature.

    A volume is cut at `place` (mm); hemispheres are seen from outside and from inside,
    opaque or not. `below` is the ``img`` of a Background, `look` a Look; `marks` are
    values by words, marked in the color bar.
    """
    colors = {"cmap": look.cmap, "vmin": look.span[0], "vmax": look.span[1]}
    if is_surface_masker(masker):
        figure = _surface_figure(img, masker, opacity, below, colors)
        box = (0.88, 0.25, 0.02, 0.5)
    else:
        figure = _volume_figure(img, masker, opacity, place, below, colors)
        box = (0.9, 0.15, 0.02, 0.7)
    _color_bar(figure, look, marks, box)
    return figure


def _volume_figure(img, masker, opacity, place, below, colors):
    """Draw three slices, or one of a flat volume, with the outline of the mask."""
    from nibabel import Nifti1Image

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
    how = {"transparency": transparency, "colorbar": False, "axes": (0, 0, 0.8, 1)}
    how |= colors | _slices(mask, affine, place)
    display = draw_map(data, map_affine, below, **how)
    display.add_contours(masker.mask_img_, levels=[0.5], colors="0.55", linewidths=0.8)
    return how["figure"]


def _slices(mask, affine, place):
    """Return where a volume is cut, and a figure; a flat one has a single slice."""
    import matplotlib.pyplot as plt

    thin = [axis for axis, size in enumerate(mask.shape) if size < 3]
    cuts = None if place is None else [float(x) for x in place]
    mode, size = "ortho", (8, 3.2)
    if thin:
        extent = np.ptp(np.argwhere(mask), axis=0) + 1
        extent = extent * np.linalg.norm(affine[:3, :3], axis=0)
        width, height = np.delete(extent, thin[0])
        size = (6.0, float(np.clip(4.5 * height / width, 2.0, 6.0)))
        mode, cuts = "xyz"[thin[0]], None if cuts is None else [cuts[thin[0]]]
    figure = plt.figure(figsize=size)
    return {"display_mode": mode, "cut_coords": cuts, "figure": figure}


def _surface_figure(img, masker, opacity, bg_img, colors):
    """Draw the hemispheres with values, from outside and from inside."""
    import matplotlib.pyplot as plt
    from nilearn.plotting import plot_surf_stat_map

    sides, views = [*_hemispheres(img, masker, opacity, bg_img)], ("lateral", "medial")
    mesh = copy.deepcopy(img.mesh)  # nilearn moves the vertices of the mesh it is given
    figure = plt.figure(figsize=(2 * len(sides) + 0.6, 3.5))
    in_3d = {"projection": "3d"}
    axes = figure.subplots(2, len(sides), squeeze=False, subplot_kw=in_3d)
    how = {"symmetric_cbar": False, "threshold": _TRANSPARENT, "colorbar": False}
    panels = zip(axes.flat, product(views, sides), strict=True)
    for ax, (view, (name, values, gray)) in panels:
        side = {"hemi": name, "view": view, "bg_map": gray, "axes": ax}
        plot_surf_stat_map(mesh.parts[name], values, **side, **how, **colors)
        ax.set_box_aspect(None, zoom=1.5)
        ax.set_title(f"{name}, {view}", y=0.98, fontsize="medium")
    figure.subplots_adjust(0, 0.02, 0.78, 0.94, 0, 0.1)
    return figure


def _hemispheres(img, masker, opacity, bg_img):
    """Yield name, values (0, transparent, where not drawn) and grays of hemispheres."""
    grays = surface_grays(masker, bg_img)
    for side, gray in zip(surface_mesh(masker), grays, strict=True):
        values = np.ravel(img.data.parts[side.name])
        if np.isfinite(values).any():
            drawn = np.zeros(len(values), dtype=bool)
            end = side.offset + len(side.vertices)
            drawn[side.vertices] = opacity[side.offset : end] > 0
            yield side.name, np.where(drawn, values, 0.0), 255.0 - gray


def trend_limit(strength):
    """Return the strength that one region in twenty exceeds at most."""
    return float(np.nanquantile(strength, 1 - TREND_SHARE))


def color_range(values, floor=None):
    """Return where colors begin (at `floor`, or zero or the least value) and end."""
    low, high = floor, float(np.nanmax(values))
    if low is None:
        low = min(float(np.nanmin(values)), 0.0)
    return low, (high if high > low else low + 1.0)


def signed_range(values):
    """Return where colors begin and end that are white at zero."""
    largest = float(np.nanmax(np.abs(values))) or 1.0
    return -largest, largest


def _color_bar(figure, look, marks, box):
    """Draw the color bar in a `box` of the figure, with round ticks and `marks`."""
    import matplotlib.pyplot as plt
    from matplotlib.ticker import MaxNLocator

    colors = plt.cm.ScalarMappable(plt.Normalize(*look.span), look.cmap)
    bar = figure.colorbar(colors, cax=figure.add_axes(box))
    bar.locator = MaxNLocator(4, steps=[1, 2, 2.5, 5, 10])
    bar.update_ticks()
    for words, value in marks.items():
        bar.ax.axhline(value, color="0.15", lw=1)
        bar.ax.annotate(
            words, (0, value), (-4, 0), textcoords="offset points", ha="right",
            va="center", fontsize="small",
        )  # fmt: skip


_OPAQUE = (255, 255)
_SVG: dict[Any, str] = {
    "svg.hashsalt": "neuroextrap",
    "svg.fonttype": "none",  # text stays text: small, searchable
}


def data_uri(figure, kind="svg"):
    """Draw a figure into a data URI, as "svg" or "png", and close it.

    Equal figures give equal text: no date, no random names of elements.
    """
    import matplotlib.pyplot as plt

    target = io.BytesIO()
    how: dict[str, Any] = {"pil_kwargs": {"compress_level": 0}}  # until few_colors
    if kind == "svg":
        how = {"metadata": {"Date": None}}
    with plt.rc_context(_SVG):
        figure.savefig(target, format=kind, dpi=110, **how)
    plt.close(figure)
    data = target.getvalue()
    return _uri("svg+xml", data) if kind == "svg" else _uri(kind, few_colors(data))


def _uri(kind, data):
    """Return bytes of a picture as a data URI."""
    return f"data:image/{kind};base64,{base64.b64encode(data).decode('ascii')}"


def embed_figure(figure, caption, file_name=""):
    """Return a matplotlib figure as HTML, as vectors with a caption, and close it."""
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
def glass_outline(axis):
    """Return one side of nilearn's empty glass brain: ``source``, and frame (mm)."""
    import matplotlib.pyplot as plt
    from nilearn.plotting import plot_glass_brain

    figure = plt.figure()
    display = plot_glass_brain(None, display_mode=axis, figure=figure, annotate=False)
    ax = display.axes[axis].ax
    (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
    figure.set_size_inches(4, 4 * (top - bottom) / (right - left))
    ax.set_position([0, 0, 1, 1])
    figure.patch.set_alpha(0)
    # the edges of the figure: left, right, bottom, top
    frame = [float(edge) for edge in (left, right, bottom, top)]
    return {"source": data_uri(figure, "png"), "frame": frame}


def projections(data, span):
    """Return three views of a volume, the largest value along each axis, as a URI."""
    import matplotlib.pyplot as plt

    filled = np.where(np.isfinite(data), data, -np.inf)
    views = [filled.max(axis=axis).T[::-1] for axis in (0, 1, 2)]
    height = max(view.shape[0] for view in views)
    padded = [  # views stand on one line, a column apart
        np.pad(view, ((height - len(view), 0), (gap, 0)), constant_values=-np.inf)
        for view, gap in zip(views, (0, 1, 1), strict=True)
    ]
    row = np.hstack(padded)
    colors = plt.Normalize(*span)(np.ma.masked_invalid(row))
    image = plt.get_cmap(COLORMAP)(colors, bytes=True)
    image[~np.isfinite(row), 3] = 0
    target = io.BytesIO()
    plt.imsave(target, image, format="png")
    return _uri("png", target.getvalue())


def few_colors(data):
    """Return a PNG with at most 256 colors: half as large, and it looks the same."""
    from PIL import Image

    image = Image.open(io.BytesIO(data)).convert("RGBA")
    if image.getextrema()[-1] != _OPAQUE:
        return _written(image.quantize(256, Image.Quantize.FASTOCTREE))
    best, plain = Image.Quantize.MAXCOVERAGE, Image.Dither.NONE
    return _written(image.convert("RGB").quantize(256, best, dither=plain))


def gray_png(data):
    """Return a PNG, one byte for every pixel if it is opaque and gray."""
    from PIL import Image

    image = Image.open(io.BytesIO(data)).convert("RGBA")
    colors: Any = image.getcolors()  # None of more than 256
    if colors is None or any(len({*rgb}) > 1 or a < 255 for _, (*rgb, a) in colors):
        return data
    return _written(image.getchannel("R"))


def _written(image):
    """Return a picture as bytes of a PNG."""
    target = io.BytesIO()
    image.save(target, format="png", optimize=True)
    return target.getvalue()


_WIDTH = 920
_FINE, _FINEST = 144, 200
_PICTURE = re.compile(r"(?<=data:image/png;base64,)[A-Za-z0-9+/=]+")
_RANDOM = re.compile(r"(?<=[A-Za-z]-)[0-9a-f]{32}\b")


def slices_frame(view, map_name, place, below):
    """Return nilearn's viewer of volumes in a frame, which tells where it was clicked.

    RuntimeError if the installed nilearn draws its viewer in another way than 0.14.
    """
    drawn = _draw(view, map_name, place, below)
    body = drawn.html.partition("<body>")[2].rpartition("</body>")[0]
    body = _RANDOM.sub("0", body)  # names of elements; a frame has one viewer
    body = _PICTURE.sub(_gray_picture, body)
    script = body.rfind("<script>", 0, max(body.rfind("= brainsprite("), 0))
    if script < 0:
        raise RuntimeError(
            "the page of nilearn.plotting.view_img does not call brainsprite any more; "
            "install nilearn 0.14 to have the interactive viewer"
        )
    bridge = f"<script>{read_text('frame.js')}</script>\n"
    page = render("frame", body=Markup(body[:script] + bridge + body[script:]))
    return (
        f'<iframe title="Brain viewer" srcdoc="{html.escape(str(page))}" '
        f'width="{drawn.width}" height="{drawn.height}"></iframe>'
    )


def _gray_picture(match):
    """Return a picture in base64, an opaque gray one with one byte per pixel."""
    return base64.b64encode(gray_png(base64.b64decode(match[0]))).decode("ascii")


def _draw(view, map_name, place, below):
    """Return nilearn's viewer of a map over a volume or the mask, cut at a place."""
    from nibabel import Nifti1Image
    from nilearn.plotting import view_img

    low, high = view.look(map_name).span
    colors = {"cmap": COLORMAP, "symmetric_cmap": False, "vmin": low, "vmax": high}
    data = np.asarray(view.maps[map_name].dataobj, dtype=float)
    data, affine = _framed(data, view.masker)
    return view_img(
        Nifti1Image(np.where(np.isnan(data), 0.0, data), affine),
        bg_img=_outlined_mask(view.masker) if below is None else _fine(below),
        cut_coords=place,
        threshold=_TRANSPARENT,
        black_bg=False,
        resampling_interpolation="nearest",
        width_view=_WIDTH,
        **colors,
    )


def _outlined_mask(masker):
    """Return the mask as a white anatomy with a gray edge, upright and isotropic."""
    from nibabel import Nifti1Image
    from scipy.ndimage import binary_erosion

    mask, affine = _framed(mask_lattice(masker)[0], masker)
    img = _fine(Nifti1Image(mask.astype(np.float32), affine))
    mask = np.asarray(img.dataobj) > 0
    inside = binary_erosion(mask, border_value=1)
    return Nifti1Image(mask + inside.astype(np.float32), img.affine)


def _fine(img):
    """Return a volume cut into small cubes: the viewer's crosshair is a voxel wide."""
    size, extent = voxel_sizes(img)
    parts = int(_FINE * size / extent)
    size /= max(1, parts - (parts + 1) % 2)  # odd: a middle stays a middle
    return with_cubes(img, max(size, extent / _FINEST), "nearest")


def _framed(volume, masker):
    """Cut a volume to where the mask is, with a margin around it."""
    mask, affine = mask_lattice(masker)
    places = np.argwhere(mask)
    low, high = places.min(axis=0), places.max(axis=0) + 1
    margin = 1 + max(high - low) // 12
    box = tuple(slice(a, b) for a, b in zip(low, high, strict=True))
    shift = np.eye(4)
    shift[:3, 3] = low - margin
    return np.pad(volume[box], margin), affine @ shift
