"""Maps with a threshold to move, and what is known of the place that is clicked."""

from __future__ import annotations

import json
import logging

import numpy as np
from markupsafe import Markup

from neuroextrap.reporting._curves import class_bounds
from neuroextrap.reporting._discoveries import Counted, viewer_discoveries
from neuroextrap.reporting._maps_section import page_maps
from neuroextrap.reporting._peaks import peak_table
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

_LOGGER = logging.getLogger(__name__)
_SCRIPTS = (
    *("look_up", "curve", "subjects", "discoveries", "threshold"),
    *("volume", "surface", "start"),
)

_FIRST_MAP = "accuracy"
_MOST_CURVES = 2000
_LOOKS = ("outside", "inside", "above", "below", "front", "behind")
_SIDES = {"x": "from the right", "y": "from behind", "z": "from above"}


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
    """Return the viewer of a fitted analysis as HTML.

    `map_name` is shown first, at first with surviving regions only or, where there are
    none, the strongest 5%. Volumes are drawn over the `background`, as slices by the
    script of nilearn's ``view_img`` and as a glass brain; surfaces over `bg_img`, as
    hemispheres that can be turned. Of spheres the `max_regions` strongest curves are
    kept (about 400 bytes each), those of the regions `peaks` in any case, of atlas
    regions all. RuntimeError if the installed nilearn draws its viewer otherwise. The
    data have ``curves`` at ``set_sizes`` and
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
