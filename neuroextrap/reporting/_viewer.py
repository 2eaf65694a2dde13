"""Click a voxel, see its curve: an interactive viewer inside a page."""

import json
import logging
from importlib import resources
from string import Template

import numpy as np

from neuroextrap.maps import MAP_DESCRIPTIONS
from neuroextrap.reporting._page import escape, make_page, paragraphs
from neuroextrap.reporting._viewer_data import viewer_data

_LOGGER = logging.getLogger(__name__)
_WIDTH = 920
_FINE, _FINEST = 96, 200
_TRANSPARENT = 1e-9

_SECTION = Template("""<section class="nx-viewer">
<style>
.nx-viewer iframe {border: 0; max-width: 100%;}
.nx-panel {display: flex; flex-wrap: wrap; gap: 1.5rem; align-items: flex-start;}
.nx-panel svg {width: 30rem; max-width: 100%; height: auto;}
.nx-place {font-weight: 600; min-height: 1.5em;}
</style>
<script type="application/json" class="nx-data">$data</script>
<script>$script</script>
$frame
<div class="nx-place" aria-live="polite">Click into the brain.</div>
<div class="nx-panel"><svg class="nx-curve" viewBox="0 0 480 300" role="img"
aria-label="accuracy against set size"></svg><table class="nx-numbers"></table></div>
<noscript><p class="note">The viewer needs JavaScript; nothing else on this page
does.</p></noscript>
</section>""")

_FRAME = Template("""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Brain viewer</title>
<style>body {margin: 0; display: flow-root; font: 13px system-ui, sans-serif;}
</style></head>
<body>$body</body></html>""")

# Nilearn's page keeps its viewer to itself; the function that makes it is global.
_BRIDGE = """<script>
(function () {
  var make = window.brainsprite;
  window.brainsprite = function (parameters) {
    var brain = make(parameters);
    function tell() {
      var at = brain.coordinatesSlice;
      parent.postMessage({
        neuroextrap: "voxel", xyz: [at.X, at.Y, at.Z], value: brain.voxelValue,
        height: document.body.offsetHeight
      }, "*");
    }
    brain.onclick = tell;
    tell();
    return brain;
  };
})();
</script>
"""


def interactive_viewer(fitted, *, map_name="implied_information", max_regions=5000):
    """Make a page with a brain to click into: every voxel shows its accuracy curve.

    The page needs no network. The brain is drawn by the script of
    :func:`nilearn.plotting.view_img`, taken from the installed nilearn; a click shows
    accuracy against set size, the lower bound where one holds, and the numbers of the
    region that the voxel belongs to.

    Parameters
    ----------
    fitted : IdentificationSearchLight or EncodingIdentification
        Fitted on volumes, or read from a folder.
    map_name : str, default="implied_information"
        Which of ``maps_`` is shown.
    max_regions : int, default=5000
        Curves kept in the page when the regions are spheres: those strongest in the
        map shown (smallest, for p-values). At most about 400 bytes each. Atlas regions
        are all kept.

    Returns
    -------
    report : nilearn.reporting.HTMLReport
        ``report.get_standalone()`` is its HTML.

    Raises
    ------
    ValueError
        If ``fitted`` has no volume to show (surfaces, arrays, regions without a place),
        has no such map, or ``max_regions`` is below 1.
    RuntimeError
        If the installed nilearn draws its viewer in another way than nilearn 0.14.

    References
    ----------
    Zheng, Achanta & Benjamini 2018, JMLR 19 (average accuracy against the number of
    classes).

    Examples
    --------
    >>> from neuroextrap.datasets import simulate_brain
    >>> from neuroextrap.decoding import IdentificationSearchLight
    >>> from neuroextrap.reporting import interactive_viewer
    >>> brain = simulate_brain(resolution=8, n_classes=3, n_runs=3)
    >>> light = IdentificationSearchLight(brain.masker.mask_img_, radius=10.0)
    >>> light = light.fit(brain.imgs, brain.y, groups=brain.runs)
    >>> page = interactive_viewer(light, max_regions=100).get_standalone()
    >>> "http" in page.replace("http://www.w3.org/2000/svg", "")
    False
    """
    section = viewer_section(fitted, map_name=map_name, max_regions=max_regions)
    return make_page("Click a voxel, see its curve", [("", section)])


def viewer_section(fitted, *, map_name="implied_information", max_regions=5000):
    """Make the viewer as a part of a page.

    Parameters
    ----------
    fitted : IdentificationSearchLight or EncodingIdentification
    map_name : str
    max_regions : int

    Returns
    -------
    str
        HTML.
    """
    _check(fitted, map_name, max_regions)
    data = viewer_data(fitted, map_name=map_name, max_regions=max_regions)
    section = _SECTION.substitute(
        data=json.dumps(data, allow_nan=False).replace("<", "\\u003c"),
        script=_own_script(),
        frame=_frame(fitted, map_name, data["places"][data["start"]]),
    )
    return paragraphs(_hint(map_name, data)) + section


def report_section(fitted):
    """Make the viewer for a report, or say why there is none.

    Parameters
    ----------
    fitted : IdentificationSearchLight or EncodingIdentification

    Returns
    -------
    str
        HTML; empty where there is no image at all.
    """
    if fitted.masker_ is None or not fitted.results_.choice.has_place:
        return ""
    if not has_viewer(fitted):
        return paragraphs(
            "The viewer that shows the curve of a voxel is for volumes; for surfaces "
            "there are the pictures above, and accuracy_curve of the fitted analysis."
        )
    try:
        return viewer_section(fitted)
    except RuntimeError as error:  # a later nilearn: the other sections still hold
        _LOGGER.warning("the report has no interactive viewer: %s", error)
        return paragraphs(f"There is no interactive viewer: {error}.", note=True)


def has_viewer(fitted):
    """Tell whether a fitted analysis can be shown in the viewer.

    Parameters
    ----------
    fitted : IdentificationSearchLight or EncodingIdentification

    Returns
    -------
    bool
    """
    from neuroextrap.images import is_surface_masker

    masker = fitted.masker_
    if masker is None or is_surface_masker(masker):
        return False
    return fitted.results_.choice.has_place


def _check(fitted, map_name, max_regions):
    """Raise what is documented."""
    if not has_viewer(fitted):
        raise ValueError(
            "fitted has no volume to click into (it comes from a surface, an array or "
            "regions without a place); use generate_report or plot_accuracy_curve"
        )
    scores = fitted.region_scores_
    if map_name not in scores:
        raise ValueError(f"map_name={map_name!r} is not one of {sorted(scores)}")
    if max_regions < 1:
        raise ValueError(f"max_regions must be at least 1, got {max_regions}")
    if not np.isfinite(scores[map_name]).any():
        raise ValueError(f"map_name={map_name!r} has no finite value; choose another")


def _own_script():
    """Read the script that draws curves."""
    here = resources.files("neuroextrap.reporting")
    return here.joinpath("_viewer.js").read_text(encoding="utf-8")


def _hint(map_name, data):
    """Say what is shown and what was left out."""
    what, unit = MAP_DESCRIPTIONS[map_name]
    text = (
        "Click into the brain (or drag): below it are the accuracy curve and the "
        f"numbers of the region that the voxel belongs to. Shown: {what} ({unit}). The "
        "mask has a grey edge; nothing is drawn where the map is zero or unknown. A "
        "lower bound is one on average Bayes accuracy, each set size and region by "
        "itself. "
    )
    if data["kept"] < data["analysed"]:
        return text + (
            f"To keep the page small it holds the curves of the {data['kept']} "
            f"strongest of {data['analysed']} regions."
        )
    return text + f"The page holds the curves of all {data['kept']} regions."


def _frame(fitted, map_name, place):
    """Return nilearn's viewer in an inline frame that tells where it was clicked."""
    view = _view(fitted, map_name, place)
    body = view.html.partition("<body>")[2].rpartition("</body>")[0]
    script = body.rfind("<script>", 0, max(body.rfind("= brainsprite("), 0))
    if script < 0:
        raise RuntimeError(
            "the page of nilearn.plotting.view_img does not call brainsprite any more; "
            "install nilearn 0.14 to have the interactive viewer"
        )
    page = _FRAME.substitute(body=body[:script] + _BRIDGE + body[script:])
    return (
        f'<iframe title="Brain viewer" srcdoc="{escape(page)}" '
        f'width="{view.width}" height="{view.height}"></iframe>'
    )


def _view(fitted, map_name, place):
    """Let nilearn draw the map over its mask, cut at a place."""
    from nibabel import Nifti1Image
    from nilearn.plotting import view_img

    img, values = fitted.maps_[map_name], fitted.region_scores_[map_name]
    # nothing is drawn where a voxel has no value: below the threshold is transparent
    data, affine = _framed(np.asarray(img.dataobj, dtype=float), fitted.masker_)
    shown = Nifti1Image(np.where(np.isnan(data), 0.0, data), affine)
    low, high = min(float(np.nanmin(values)), 0.0), float(np.nanmax(values))
    return view_img(
        shown,
        bg_img=_outlined_mask(fitted),
        cut_coords=place,
        threshold=_TRANSPARENT,
        cmap="cividis",
        symmetric_cmap=False,
        vmin=low,
        vmax=high if high > low else low + 1,
        black_bg=False,
        resampling_interpolation="nearest",
        width_view=_WIDTH,
    )


def _outlined_mask(fitted):
    """Return the mask as a white anatomy with a grey edge, upright and isotropic.

    The viewer's crosshair is a voxel wide, so large voxels are cut into several.
    """
    from nibabel import Nifti1Image
    from nilearn.image import resample_img
    from scipy.ndimage import binary_erosion

    from neuroextrap.images import mask_lattice

    mask, affine = _framed(mask_lattice(fitted.masker_)[0], fitted.masker_)
    sizes = np.linalg.norm(affine[:3, :3], axis=0)
    extent, size = (np.array(mask.shape) * sizes).max(), sizes.min()
    parts = int(_FINE * size / extent)
    size /= max(1, parts - (parts + 1) % 2)  # odd: a middle stays a middle
    grid = np.diag([max(size, extent / _FINEST)] * 3)
    img = Nifti1Image(mask.astype(np.float32), affine)
    img = resample_img(img, target_affine=grid, interpolation="nearest")
    mask = img.get_fdata() > 0
    inside = binary_erosion(mask, border_value=1)
    shade = np.where(inside, 2.0, mask).astype(np.float32)
    return Nifti1Image(shade, img.affine)


def _framed(volume, masker):
    """Cut a volume to where the mask is, with a margin around it."""
    from neuroextrap.images import mask_lattice

    mask, affine = mask_lattice(masker)
    places = np.argwhere(mask)
    low, high = places.min(axis=0), places.max(axis=0) + 1
    margin = 1 + max(high - low) // 12
    box = tuple(slice(a, b) for a, b in zip(low, high, strict=True))
    shift = np.eye(4)
    shift[:3, 3] = low - margin
    return np.pad(volume[box], margin), affine @ shift
