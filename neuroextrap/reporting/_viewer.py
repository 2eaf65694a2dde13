"""Maps with a threshold to move, and what is known of the place that is clicked."""

from __future__ import annotations

import base64
import html
import json
import logging
import re
from string import Template

import numpy as np
from markupsafe import Markup

from neuroextrap.images._loading import mask_lattice
from neuroextrap.plotting._brain_maps import COLORMAP, voxel_sizes, with_cubes
from neuroextrap.reporting._finding import Counted, viewer_discoveries
from neuroextrap.reporting._identification_words import class_bounds
from neuroextrap.reporting._maps_section import page_maps
from neuroextrap.reporting._page import paragraphs, read_text, render
from neuroextrap.reporting._peaks import peak_table
from neuroextrap.reporting._pictures import glass_outlines, gray_png
from neuroextrap.reporting._viewer_data import (
    compressed,
    in_volume,
    on_surface,
    rounded,
    viewer_data,
)

_WIDTH = 920
_FINE, _FINEST = 144, 200
_TRANSPARENT = 1e-9
_PICTURE = re.compile(r"(?<=data:image/png;base64,)[A-Za-z0-9+/=]+")
_RANDOM = re.compile(r"(?<=[A-Za-z]-)[0-9a-f]{32}\b")

_FRAME = Template("""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Brain viewer</title>
<style>body {margin: 0; display: flow-root; font: 13px system-ui, sans-serif;}
</style></head>
<body>$body</body></html>""")


def _slices_frame(view, map_name, place, below):
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
    page = _FRAME.substitute(body=body[:script] + bridge + body[script:])
    return (
        f'<iframe title="Brain viewer" srcdoc="{html.escape(page)}" '
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
    mask = img.get_fdata() > 0
    inside = binary_erosion(mask, border_value=1)
    shade = np.where(inside, 2.0, mask).astype(np.float32)
    return Nifti1Image(shade, img.affine)


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


_LOGGER = logging.getLogger(__name__)
_SCRIPTS = (
    *("look_up", "curve", "subjects", "discoveries", "threshold"),
    *("volume", "surface", "start"),
)

_MOST_CURVES = 2000
_LOOKS = ("outside", "inside", "above", "below", "front", "behind")
_SIDES = {"x": "from the right", "y": "from behind", "z": "from above"}


def viewer_of_curves(
    fitted,
    background,
    *,
    map_name="accuracy",
    max_regions=_MOST_CURVES,
    only_surviving=True,
    peaks=(),
):
    """Return the viewer of a fitted analysis as HTML, `map_name` shown first.

    Of spheres the `max_regions` strongest curves are kept (about 400 bytes each), those
    of the regions `peaks` in any case, of atlas regions all.
    """
    view, results = page_maps(fitted), fitted.results_
    names, accuracy = view.choice.names, view.scores["accuracy"]
    # strongest first; ties go to the more accurate, NaN comes last
    kept = np.lexsort((-accuracy, -view.strength(map_name)))
    kept = kept[np.isfinite(accuracy[kept])]
    kept = kept if view.choice.owner is not None else kept[:max_regions]
    kept = np.append(kept, np.setdiff1d(peaks, kept)).astype(int)
    peak = peak_table(fitted, n_peaks=1, statistic=map_name)["region"].iloc[0]
    data = viewer_data(
        view,
        map_name,
        kept,
        names=None if names is None else [str(names[region]) for region in kept],
        start=int(np.argmax(kept == peak)),
        only=only_surviving,
    )
    bounds = class_bounds(fitted)[kept, np.newaxis]
    data |= {
        "set_sizes": results.set_sizes.tolist(),
        "curves": rounded(results.curve(kept)[1]),
        "bound_sizes": [len(fitted.classes_)],
        "bounds": rounded(bounds, down=True) if np.isfinite(bounds).any() else None,
        "discoveries": viewer_discoveries(Counted.of(fitted)),
    }
    return draw_viewer(view, map_name, data, background, only=only_surviving)


def draw_viewer(view, first, data, background, *, only=True):
    """Return a viewer as HTML; `data` are its viewer_data, and what a click shows."""
    if view.on_surface:
        data |= on_surface(view.masker, background.img)
        views = render("hemispheres", sides=data["hemispheres"], looks=_LOOKS)
    else:
        data |= in_volume(view, np.array(data["regions"]), background.in_mni152)
        views = _volume_views(view, first, data, background)
    scripts = [name for name in _SCRIPTS if name != "subjects" or "subjects" in data]
    return render(
        "viewer",
        style=Markup(read_text("viewer.css")),
        content=data,
        view=view,
        data=compressed(json.dumps(data, allow_nan=False).encode("utf-8")),
        script=Markup("\n".join(read_text(f"{name}.js") for name in scripts)),
        views=views,
        only=only,
    )


def _volume_views(view, first, data, background):
    """Return slices with their sliders, and the glass brain."""
    place = data["places"][data["start"]]
    outlines = {} if data["glass"] is None else glass_outlines()
    glass = [
        {
            "axis": axis,
            "caption": caption,
            "outline": Markup(outlines[axis]["source"]) if outlines else "",
        }
        for axis, caption in _SIDES.items()
    ]
    frame = _slices_frame(view, first, place, background.img)
    return render("slices", frame=Markup(frame), glass=glass)


def or_note(draw, *args, **options):
    """Return a viewer, or a note if the installed nilearn draws its own otherwise."""
    try:
        return draw(*args, **options)
    except RuntimeError as error:
        _LOGGER.warning("the report has no interactive viewer: %s", error)
        return paragraphs(f"There is no interactive viewer: {error}.", note=True)
