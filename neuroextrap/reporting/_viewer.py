"""Maps with a threshold to move, and the curve of the voxel that is clicked."""

import json
import logging
from string import Template

import numpy as np

from neuroextrap.reporting._anatomy import fitted_background
from neuroextrap.reporting._page import escape, make_page, paragraphs
from neuroextrap.reporting._pictures import glass_outlines
from neuroextrap.reporting._slices import read_script, slices_frame
from neuroextrap.reporting._viewer_data import viewer_data

_LOGGER = logging.getLogger(__name__)
_SCRIPTS = ("look_up", "curve", "threshold", "volume", "surface", "start")

_SECTION = Template("""<section class="nx-viewer">
<style>
.nx-viewer iframe {border: 0; max-width: 100%; display: block;}
.nx-row {display: flex; flex-wrap: wrap; gap: .5rem 1.5rem; align-items: center;
         margin: .5rem 0;}
.nx-viewer label, .nx-scale {display: inline-flex; gap: .5rem; align-items: center;}
.nx-threshold {width: 14rem; max-width: 60vw;}
.nx-level {width: 6rem; font: inherit;}
.nx-map, .nx-look {font: inherit; max-width: 100%;}
.nx-bar {width: 10rem; height: .9rem; border: 1px solid #d0d7de;}
.nx-what {font-size: .85rem; color: #57606a; margin: .2rem 0;}
.nx-shown {font-variant-numeric: tabular-nums;}
.nx-slice + output {min-width: 4.5em; font-variant-numeric: tabular-nums;}
.nx-viewer .nx-views figure {flex: 1 1 6.5rem; max-width: 20rem; margin: 0;}
.nx-stack {position: relative;}
.nx-stack canvas {width: 100%; display: block;}
.nx-stack img {position: absolute; inset: 0; width: 100%; height: 100%;
               pointer-events: none;}
.nx-viewer .nx-mesh figure {flex-basis: 14rem; max-width: 29rem;}
.nx-mesh canvas {width: 100%; cursor: crosshair; touch-action: none;}
.nx-viewer figcaption {text-align: center;}
.nx-panel {display: flex; flex-wrap: wrap; gap: 1.5rem; align-items: flex-start;}
.nx-panel svg {width: 30rem; max-width: 100%; height: auto;}
.nx-place {font-weight: 600; min-height: 1.5em; overflow-wrap: anywhere;}
</style>
<script type="application/json" class="nx-data">$data</script>
<div class="nx-row"><label>Map <select class="nx-map"></select></label>
<label>Threshold <input type="range" class="nx-threshold" min="0" max="200"
step="1"></label>
<label><input type="number" class="nx-level" step="any"
aria-label="Threshold, exactly"><span class="nx-unit"></span></label>
<span class="nx-scale"><span class="nx-low"></span><canvas class="nx-bar" width="256"
height="1" role="img" aria-label="colors"></canvas><span class="nx-high"></span></span>
</div>
<p class="nx-what"></p>
<output class="nx-shown" aria-live="polite"></output>
$views
<div class="nx-place" aria-live="polite"></div>
<div class="nx-panel"><svg class="nx-curve" viewBox="0 0 480 300" role="img"
aria-label="accuracy against set size"></svg><table class="nx-numbers"></table></div>
<script>(function () {
"use strict";
if (window.neuroextrapViewer) { window.neuroextrapViewer.start(); return; }
$script
})();</script>
<noscript><p class="note">The viewer needs JavaScript; nothing else on this page
does.</p></noscript>
</section>""")

_SLICE = Template("""<label>$axis <input type="range" class="nx-slice" min="0" max="1"
step="1" aria-label="cut at $axis"><output></output></label>""")

_GLASS = Template("""<figure><div class="nx-stack"><canvas data-view="$axis" width="440"
role="img" aria-label="$caption"></canvas>$outline</div>
<figcaption>$caption</figcaption></figure>""")

_MESH = Template("""<figure><canvas width="440" height="360" tabindex="0" role="img"
aria-label="$name hemisphere; arrow keys turn it"></canvas>
<figcaption>$name</figcaption></figure>""")

_LOOKS = ("outside", "inside", "above", "below", "front", "behind")


def interactive_viewer(
    fitted, *, map_name="implied_information", max_regions=5000, bg_img=None
):
    """Make a page with maps to explore: threshold, cuts, and curves on a click.

    The page needs no network. A slider moves the threshold of the map shown, in its
    own units. Volumes are drawn as slices, by the script of
    :func:`nilearn.plotting.view_img` taken from the installed nilearn, and as a glass
    brain; surfaces as hemispheres that can be turned. A click shows accuracy against
    set size, the bound on average Bayes accuracy where it holds, and the numbers of
    the region that the voxel or vertex belongs to.

    Parameters
    ----------
    fitted : IdentificationSearchLight or EncodingIdentification
        Analysis fitted on images, or read from a folder.
    map_name : str, default="implied_information"
        Map that is shown first, a key of ``maps_``.
    max_regions : int, default=5000
        Number of curves kept in the page (about 400 bytes each) when the regions are
        spheres: those strongest in the map shown first (smallest, for p-values). Atlas
        regions are all kept.
    bg_img : path-like, Niimg, SurfaceImage, "mni152", False or None, default=None
        Image drawn under the maps. Volumes: an anatomy in the space of the maps;
        "mni152" is the MNI152 template that nilearn ships, with a glass brain; None is
        the template where the mask's header says that it lies in MNI space (code 4),
        otherwise the subject's own mean image ``bg_img_`` or, where there is none, the
        mask's outline; False is the mask's outline. Surfaces: a
        SurfaceImage such as sulcal depth, high values dark; None is nilearn's if the
        mesh has the triangles of fsaverage5, otherwise one gray; False is one gray.

    Returns
    -------
    report : nilearn.reporting.HTMLReport
        The page; ``report.get_standalone()`` is its HTML.

    Raises
    ------
    TypeError
        If ``bg_img`` is no image, or one of the other kind.
    ValueError
        If ``fitted`` has no image to show (arrays, regions without a place), has no
        such map, ``max_regions`` is below 1, or ``bg_img`` does not fit.
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
    >>> 'src="http' in page
    False
    """
    _check(fitted, map_name, max_regions)
    background = fitted_background(fitted, bg_img)
    section = viewer_section(
        fitted,
        background,
        map_name=map_name,
        max_regions=max_regions,
        bg_img=bg_img,
    )
    return make_page("Explore the maps", [("", background_note(background) + section)])


def background_note(background):
    """Return a note, as HTML, where maps are drawn without the template."""
    why = background.why
    return paragraphs(f"{why[:1].upper()}{why[1:]}." if why else "", note=True)


def viewer_section(
    fitted,
    background,
    *,
    map_name="implied_information",
    max_regions=5000,
    bg_img=None,
):
    """Return the viewer as HTML, a part of a page; see :func:`interactive_viewer`.

    Volumes are drawn over the `background`, surfaces over `bg_img`.
    """
    _check(fitted, map_name, max_regions)
    data = viewer_data(
        fitted,
        map_name=map_name,
        max_regions=max_regions,
        in_mni152=background.in_mni152,
        bg_img=bg_img,
    )
    if "hemispheres" in data:
        views = _surface_views(data)
    else:
        place = data["places"][data["start"]]
        frame = slices_frame(fitted, map_name, place, background.img)
        views = _volume_views(frame, data)
    section = _SECTION.substitute(
        data=json.dumps(data, allow_nan=False).replace("<", "\\u003c"),
        script="\n".join(read_script(name) for name in _SCRIPTS),
        views=views,
    )
    return paragraphs(_hint(data)) + section


def _volume_views(frame, data):
    """Return slices with their sliders, and the glass brain."""
    sliders = "\n".join(_SLICE.substitute(axis=axis) for axis in "xyz")
    captions = ("from the right", "from behind", "from above")
    glass = "\n".join(
        _GLASS.substitute(axis=axis, caption=caption, outline=_outline(data, axis))
        for axis, caption in zip("xyz", captions, strict=True)
    )
    return (
        f'{frame}\n<div class="nx-row">{sliders}</div>\n'
        f'<div class="nx-row nx-views nx-glass">{glass}</div>'
    )


def _outline(data, axis):
    """Return the picture of the brain's outline, in MNI space."""
    if data["glass"] is None:
        return ""
    return f'<img src="{glass_outlines()[axis]["source"]}" alt="">'


def _surface_views(data):
    """Return hemispheres, and the menu of directions to look from."""
    meshes = "\n".join(
        _MESH.substitute(name=escape(side["name"])) for side in data["hemispheres"]
    )
    looks = "".join(f"<option>{name}</option>" for name in _LOOKS)
    menu = f'<label>Seen from <select class="nx-look">{looks}</select></label>'
    return (
        f'<div class="nx-row">{menu}</div>\n'
        f'<div class="nx-row nx-views nx-mesh">{meshes}</div>'
    )


def report_section(fitted, background, bg_img=None):
    """Return the viewer for a report, a note why there is none, or nothing.

    Nothing where there is no image; a note where the installed nilearn draws its viewer
    in another way: the other sections of the report still hold.
    """
    if not has_viewer(fitted):
        return ""
    try:
        return viewer_section(fitted, background, bg_img=bg_img)
    except RuntimeError as error:
        _LOGGER.warning("the report has no interactive viewer: %s", error)
        return paragraphs(f"There is no interactive viewer: {error}.", note=True)


def has_viewer(fitted):
    """Return whether the regions of a fitted analysis have a place in an image."""
    return fitted.masker_ is not None and fitted.results_.choice.has_place


def _check(fitted, map_name, max_regions):
    """Check that there is a map to show."""
    if not has_viewer(fitted):
        raise ValueError(
            "fitted has no image to click into (it comes from an array or from regions "
            "without a place); use generate_report or plot_accuracy_curve"
        )
    scores = fitted.region_scores_
    if map_name not in scores:
        raise ValueError(f"map_name={map_name!r} must be one of {sorted(scores)}")
    if max_regions < 1:
        raise ValueError(f"max_regions={max_regions} must be at least 1")
    if not np.isfinite(scores[map_name]).any():
        raise ValueError(f"map_name={map_name!r} has no finite value; choose another")


def _hint(data):
    """Explain how to use the viewer and what was left out."""
    text = (
        "The slider moves the threshold of the map (weaker values are not drawn); the "
        f"number beside it can be typed. Click into the brain to see, below it, the "
        f"accuracy curve and the numbers of the region that the {data['element']} "
        "belongs to. The bound on average Bayes accuracy holds for each set size and "
        "region by itself. "
    )
    if data["kept"] < data["analyzed"]:
        return text + (
            f"To keep the page small it holds the curves of the {data['kept']} "
            f"strongest of {data['analyzed']} regions."
        )
    return text + f"The page holds the curves of all {data['kept']} regions."
