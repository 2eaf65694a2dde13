"""Slices to click into: nilearn's viewer in a frame that reports clicks to the page."""

import base64
import html
import re
from string import Template

import numpy as np

from neuroextrap.plotting._brain_maps import COLORMAP
from neuroextrap.reporting._pictures import gray_png
from neuroextrap.reporting._rendering import read_text

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


def slices_frame(view, map_name, place, below=None):
    """Return nilearn's viewer of volumes in an inline frame, as HTML.

    The frame tells the page where it was clicked. The map `map_name` is drawn until the
    page's own script colors it; the cuts are at `place` (mm) at first. It is drawn over
    the volume `below`, or over the mask's outline. Raises RuntimeError if the installed
    nilearn draws its viewer in another way than 0.14.
    """
    drawn = _draw(view, map_name, place, below)
    body = drawn.html.partition("<body>")[2].rpartition("</body>")[0]
    body = _RANDOM.sub("0", body)  # names of elements; a frame has one viewer
    body = _PICTURE.sub(_smaller, body)
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


def _smaller(match):
    """Return a picture in base64, an opaque gray one with one byte per pixel."""
    return base64.b64encode(gray_png(base64.b64decode(match[0]))).decode("ascii")


def _draw(view, map_name, place, below):
    """Return nilearn's viewer of the map over its background, cut at a place."""
    from nilearn.plotting import view_img

    low, high = view.look(map_name).span
    return view_img(
        _drawable(view.maps[map_name], view.masker),
        bg_img=_outlined_mask(view.masker) if below is None else _fine(below),
        cut_coords=place,
        threshold=_TRANSPARENT,
        cmap=COLORMAP,
        symmetric_cmap=False,
        vmin=low,
        vmax=high,
        black_bg=False,
        resampling_interpolation="nearest",
        width_view=_WIDTH,
    )


def _drawable(img, masker):
    """Return a copy of a map to be drawn, NaN as zero, which is transparent."""
    from nibabel import Nifti1Image

    data, affine = _framed(np.asarray(img.dataobj, dtype=float), masker)
    return Nifti1Image(np.where(np.isnan(data), 0.0, data), affine)


def _outlined_mask(masker):
    """Return the mask as a white anatomy with a gray edge, upright and isotropic."""
    from nibabel import Nifti1Image
    from scipy.ndimage import binary_erosion

    from neuroextrap.images._geometry import mask_lattice

    mask, affine = _framed(mask_lattice(masker)[0], masker)
    img = _fine(Nifti1Image(mask.astype(np.float32), affine))
    mask = img.get_fdata() > 0
    inside = binary_erosion(mask, border_value=1)
    shade = np.where(inside, 2.0, mask).astype(np.float32)
    return Nifti1Image(shade, img.affine)


def _fine(img):
    """Return a volume with upright cubic voxels, large ones cut into several.

    The viewer's crosshair is a voxel wide.
    """
    from nilearn.image import resample_img

    sizes = np.linalg.norm(img.affine[:3, :3], axis=0)
    extent, size = (np.array(img.shape) * sizes).max(), sizes.min()
    parts = int(_FINE * size / extent)
    size /= max(1, parts - (parts + 1) % 2)  # odd: a middle stays a middle
    grid = np.diag([max(size, extent / _FINEST)] * 3)
    if np.allclose(img.affine[:3, :3], grid):
        return img
    return resample_img(img, target_affine=grid, interpolation="nearest")


def _framed(volume, masker):
    """Cut a volume to where the mask is, with a margin around it."""
    from neuroextrap.images._geometry import mask_lattice

    mask, affine = mask_lattice(masker)
    places = np.argwhere(mask)
    low, high = places.min(axis=0), places.max(axis=0) + 1
    margin = 1 + max(high - low) // 12
    box = tuple(slice(a, b) for a, b in zip(low, high, strict=True))
    shift = np.eye(4)
    shift[:3, 3] = low - margin
    return np.pad(volume[box], margin), affine @ shift
