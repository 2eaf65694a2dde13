"""Maps with a threshold to move, and what is known of the place that is clicked."""

from __future__ import annotations

import json
import logging
from typing import Any

import numpy as np
from markupsafe import Markup

from neuroextrap.reporting._curves import class_bounds
from neuroextrap.reporting._discoveries import Counted, viewer_discoveries
from neuroextrap.reporting._maps_section import (
    background_note,
    fitted_background,
    page_maps,
)
from neuroextrap.reporting._page import Report, make_page
from neuroextrap.reporting._peaks import peak_table, scores_of
from neuroextrap.reporting._pictures import glass_outlines
from neuroextrap.reporting._rendering import paragraphs, read_text, render
from neuroextrap.reporting._slices import slices_frame
from neuroextrap.reporting._viewer_data import (
    compressed,
    in_volume,
    on_surface,
    rounded,
    viewer_data,
)
from neuroextrap.stats._validation import check_choice, check_flags, check_integer

_LOGGER = logging.getLogger(__name__)
_SCRIPTS = (
    *("look_up", "curve", "subjects", "discoveries", "threshold"),
    *("volume", "surface", "start"),
)

_FIRST_MAP = "accuracy"
_MOST_CURVES = 2000
_LOOKS = ("outside", "inside", "above", "below", "front", "behind")
_SIDES = {"x": "from the right", "y": "from behind", "z": "from above"}


def interactive_viewer(
    fitted: Any,
    *,
    map_name: str | None = None,
    max_regions: int = 5000,
    bg_img: Any = None,
    only_surviving: bool = True,
) -> Report:
    """Make a page with maps to explore: threshold, cuts, and curves on a click.

    The page needs no network. A slider moves the threshold of the map shown, in its
    own units. Volumes are drawn as slices, by the script of
    :func:`nilearn.plotting.view_img` taken from the installed nilearn, and as a glass
    brain; surfaces as hemispheres that can be turned. A click shows accuracy against
    set size, the lower bound on the best possible classifier of these classes, where
    it holds, and the numbers of the region that the voxel or vertex belongs to.

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
        the template if the mask's header says that it lies in MNI space (code 4),
        otherwise the subject's own mean image ``bg_img_`` or, if there is none, the
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
    map_name = _FIRST_MAP if map_name is None else map_name
    check_flags(only_surviving=only_surviving)
    _check(fitted, map_name, max_regions)
    background = fitted_background(fitted, bg_img)
    section = viewer_of_curves(
        fitted,
        background,
        map_name=map_name,
        max_regions=max_regions,
        bg_img=bg_img,
        only_surviving=only_surviving,
    )
    return make_page("Explore the maps", [("", background_note(background) + section)])


def viewer_of_curves(
    fitted,
    background,
    *,
    map_name=_FIRST_MAP,
    max_regions=_MOST_CURVES,
    bg_img=None,
    only_surviving=True,
    peaks=(),
):
    """Return the viewer of a fitted analysis as HTML; see :func:`interactive_viewer`.

    Volumes are drawn over the `background`, surfaces over `bg_img`. The curves of the
    regions `peaks` are kept in any case. The data have ``curves`` at ``set_sizes`` and
    ``bounds`` (or None) on the best classifier of all classes at ``bound_sizes``, one
    row per kept region.
    """
    view, results = page_maps(fitted), fitted.results_
    finding, names = view.finding, view.choice.names
    kept = _strongest(view, map_name, max_regions)
    kept = np.append(kept, np.setdiff1d(peaks, kept)).astype(int)
    peak = peak_table(fitted, n_peaks=1, statistic=map_name)["region"].iloc[0]
    data = viewer_data(
        view,
        map_name,
        kept,
        names=None if names is None else [str(names[region]) for region in kept],
        start=int(np.argmax(kept == peak)),
        trends=bool(only_surviving and finding.criterion and not finding.n_surviving),
    )
    bounds = class_bounds(fitted)[kept, np.newaxis]
    data |= {
        "set_sizes": results.set_sizes.tolist(),
        "curves": rounded(results.curve(kept)[1]),
        "bound_sizes": [len(fitted.classes_)],
        "bounds": rounded(bounds, down=True) if np.isfinite(bounds).any() else None,
        "discoveries": viewer_discoveries(Counted.of(fitted)),
    }
    return draw_viewer(view, map_name, data, background, bg_img, only=only_surviving)


def _strongest(view, map_name, max_regions):
    """Return kept regions, strongest first; ties go to the more accurate."""
    accuracy = view.scores["accuracy"]
    order = np.lexsort((-accuracy, -view.strength(map_name)))  # NaN comes last
    order = order[np.isfinite(accuracy[order])]
    return order if view.choice.owner is not None else order[:max_regions]


def draw_viewer(view, first, data, background, bg_img, *, only=True):
    """Return a viewer as HTML, a part of a page.

    `data` are what ``viewer_data`` collected, and the curves or the subjects that a
    click shows; `first` is the map that is shown at first.
    """
    if view.on_surface:
        data |= on_surface(view.masker, bg_img)
        names = [side["name"] for side in data["hemispheres"]]
        views = render("hemispheres", names=names, looks=_LOOKS)
    else:
        data |= in_volume(view, np.array(data["regions"]), background.in_mni152)
        views = _volume_views(view, first, data, background)
    scripts = [name for name in _SCRIPTS if name != "subjects" or "subjects" in data]
    return render(
        "viewer",
        style=Markup(read_text("viewer.css")),
        content=data,
        n_regions=view.choice.n_regions,
        data=compressed(json.dumps(data, allow_nan=False).encode("utf-8")),
        script=Markup("\n".join(read_text(f"{name}.js") for name in scripts)),
        views=views,
        criterion=view.finding.words if view.finding.n_surviving else "",
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
    frame = slices_frame(view, first, place, background.img)
    return render("slices", frame=Markup(frame), glass=glass)


def or_note(draw, *args, **options):
    """Return a viewer, or a note if the installed nilearn draws its own otherwise.

    The other sections of a report still hold.
    """
    try:
        return draw(*args, **options)
    except RuntimeError as error:
        _LOGGER.warning("the report has no interactive viewer: %s", error)
        return paragraphs(f"There is no interactive viewer: {error}.", note=True)


def has_viewer(fitted):
    """Return whether the regions of a fitted analysis have a place in an image."""
    return fitted.masker_ is not None and fitted.results_.choice.has_place


def _check(fitted, map_name, max_regions):
    """Check that there is a map to show."""
    scores = scores_of(fitted)
    if not has_viewer(fitted):
        raise ValueError(
            "fitted has no image to click into (it comes from an array or from regions "
            "without a place); use generate_report or plot_accuracy_curve"
        )
    check_choice(map_name, "map_name", sorted(scores))
    check_integer(max_regions, "max_regions", minimum=1)
    if not np.isfinite(scores[map_name]).any():
        raise ValueError(f"map_name={map_name!r} has no finite value; choose another")
