"""Maps with a threshold to move, and the curve of the voxel that is clicked."""

import json
import logging

import numpy as np
from markupsafe import Markup

from neuroextrap.reporting._anatomy import fitted_background
from neuroextrap.reporting._finding import criterion_words, find
from neuroextrap.reporting._map_data import compressed
from neuroextrap.reporting._page import make_page, read_text
from neuroextrap.reporting._pictures import glass_outlines
from neuroextrap.reporting._rendering import paragraphs, render
from neuroextrap.reporting._slices import read_script, slices_frame
from neuroextrap.reporting._viewer_data import viewer_data
from neuroextrap.stats._validation import check_flags

_LOGGER = logging.getLogger(__name__)
_SCRIPTS = ("look_up", "curve", "threshold", "volume", "surface", "start")

_FIRST_MAP = "accuracy"
_MOST_CURVES = 2000
_LOOKS = ("outside", "inside", "above", "below", "front", "behind")


def interactive_viewer(
    fitted, *, map_name=None, max_regions=5000, bg_img=None, only_surviving=True
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
    map_name : str or None, default=None
        Map that is shown first, a key of ``maps_``. If None, the accuracy.
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
    only_surviving : bool, default=True
        Whether, at first, only regions that survive correction are drawn: family-wise p
        at most .05 or, without permutations, a simultaneous bound on Bayes accuracy
        above chance. Without such regions the strongest 5% are drawn at first.

    Returns
    -------
    report : Report
        The page; ``report.save_as_html(path)`` writes it.

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
    map_name = map_name or _FIRST_MAP
    check_flags(only_surviving=only_surviving)
    _check(fitted, map_name, max_regions)
    background = fitted_background(fitted, bg_img)
    section = viewer_section(
        fitted,
        background,
        map_name=map_name,
        max_regions=max_regions,
        bg_img=bg_img,
        only_surviving=only_surviving,
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
    map_name=None,
    max_regions=_MOST_CURVES,
    bg_img=None,
    only_surviving=True,
    peaks=(),
):
    """Return the viewer as HTML, a part of a page; see :func:`interactive_viewer`.

    Volumes are drawn over the `background`, surfaces over `bg_img`. The curves of the
    regions `peaks` are kept in any case.
    """
    map_name = map_name or _FIRST_MAP
    _check(fitted, map_name, max_regions)
    finding = find(fitted)
    data = viewer_data(
        fitted,
        finding.survives,
        trends=bool(only_surviving and finding.criterion and not finding.n_surviving),
        map_name=map_name,
        max_regions=max_regions,
        peaks=peaks,
        in_mni152=background.in_mni152,
        bg_img=bg_img,
    )
    if "hemispheres" in data:
        views = surface_views(data)
    else:
        place = data["places"][data["start"]]
        frame = slices_frame(fitted, map_name, place, background.img)
        views = volume_views(frame, data)
    return render(
        "viewer",
        style=Markup(read_text("viewer.css")),
        hint=_hint(data),
        data=compressed(json.dumps(data, allow_nan=False).encode("utf-8")),
        script=Markup("\n".join(read_script(name) for name in _SCRIPTS)),
        views=views,
        criterion=_criterion(fitted, finding),
        only=only_surviving,
        panel="Accuracy against set size",
        save="Save this curve (TSV)",
    )


def _criterion(fitted, finding):
    """Return in words what surviving means; "" where nothing survives."""
    if not finding.n_surviving:
        return ""
    return criterion_words(fitted, finding.criterion)


def volume_views(frame, data):
    """Return slices with their sliders, and the glass brain."""
    captions = {"x": "from the right", "y": "from behind", "z": "from above"}
    outlines = {} if data["glass"] is None else glass_outlines()
    glass = [
        {
            "axis": axis,
            "caption": caption,
            "outline": Markup(outlines[axis]["source"]) if outlines else "",
        }
        for axis, caption in captions.items()
    ]
    return render("slices", frame=Markup(frame), glass=glass)


def surface_views(data):
    """Return hemispheres, and the menu of directions to look from."""
    names = [side["name"] for side in data["hemispheres"]]
    return render("hemispheres", names=names, looks=_LOOKS)


def report_section(fitted, background, bg_img=None, peaks=()):
    """Return the viewer for a report, a note why there is none, or nothing.

    Nothing where there is no image; a note where the installed nilearn draws its viewer
    in another way: the other sections of the report still hold.
    """
    if not has_viewer(fitted):
        return ""
    try:
        return viewer_section(fitted, background, bg_img=bg_img, peaks=peaks)
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
        "number beside it can be typed. Click into the brain, or on a peak's place in "
        "a table, to see below the accuracy curve and the numbers of the region that "
        f"the {data['element']} belongs to. The bound on average Bayes accuracy holds "
        "for each set size and region by itself. "
    )
    if data["kept"] < data["analyzed"]:
        return text + (
            f"To keep the page small it holds the curves of the {data['kept']} "
            f"strongest of {data['analyzed']} regions."
        )
    return text + f"The page holds the curves of all {data['kept']} regions."
