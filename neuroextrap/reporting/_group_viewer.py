"""Maps over subjects to explore: a click shows the value of every subject."""

import json
import logging

import numpy as np
from markupsafe import Markup

from neuroextrap.reporting._group_finding import strength_in_group
from neuroextrap.reporting._group_pictures import (
    baseline_of,
    baseline_words,
    value_words,
)
from neuroextrap.reporting._map_data import compressed, map_colors, one_map, packed
from neuroextrap.reporting._page import read_text
from neuroextrap.reporting._rendering import paragraphs, render
from neuroextrap.reporting._slices import read_script, slices_frame
from neuroextrap.reporting._viewer import surface_views, volume_views
from neuroextrap.reporting._viewer_data import in_volume, on_surface, rounded

_LOGGER = logging.getLogger(__name__)
_SCRIPTS = (
    "look_up",
    "curve",
    "subjects",
    "threshold",
    "volume",
    "surface",
    "start",
)
_MOST_NUMBERS = 120_000
_MOST_PLACES = 3000


def group_viewer(maps, finding, view, background, bg_img, peaks):
    """Return the viewer as HTML, or a note why there is none.

    Values of the subjects are kept at the strongest features, and at `peaks`.
    """
    try:
        return _viewer(maps, finding, view, background, bg_img, peaks)
    except RuntimeError as error:
        _LOGGER.warning("the report has no interactive viewer: %s", error)
        return paragraphs(f"There is no interactive viewer: {error}.", note=True)


def _viewer(maps, finding, view, background, bg_img, peaks):
    """Return the viewer as HTML."""
    kept = _kept_features(maps, finding, view, peaks)
    data = _data(maps, finding, view, kept)
    if view.on_surface:
        data |= on_surface(view, bg_img)
        views = surface_views(data)
    else:
        data |= in_volume(view, kept, background.in_mni152)
        frame = slices_frame(view, finding.shown, view.places[peaks[0]], background.img)
        views = volume_views(frame, data)
    return render(
        "viewer",
        style=Markup(read_text("viewer.css")),
        hint=_hint(view, kept),
        data=compressed(json.dumps(data, allow_nan=False).encode("utf-8")),
        script=Markup("\n".join(read_script(name) for name in _SCRIPTS)),
        views=views,
        criterion=finding.words if finding.n_surviving else "",
        only=True,
        panel="Value of every subject",
        save="Save these values (TSV)",
    )


def _kept_features(maps, finding, view, peaks):
    """Return the features whose subjects' values are kept, the first peak first."""
    strength = np.nan_to_num(strength_in_group(maps, finding, view), nan=-np.inf)
    strength = np.where(finding.survives, np.inf, strength)
    n_subjects = len(maps.summary.subjects)
    most = min(_MOST_PLACES, max(1, _MOST_NUMBERS // n_subjects))
    order = np.argsort(-strength, kind="stable")
    order = order[strength[order] > -np.inf][:most]
    return np.append(peaks, np.setdiff1d(order, peaks)).astype(int)


def _data(maps, finding, view, kept):
    """Collect what the scripts read, but for places: see ``viewer_data``."""
    about = maps.summary
    names = [name for name in view.overview() if _varies(view.region_scores_[name])]
    if finding.shown not in names:
        names.insert(0, finding.shown)
    trends = bool(finding.criterion and not finding.n_surviving)
    columns = [
        name for name in view.maps_ if np.isfinite(view.region_scores_[name]).any()
    ]
    baseline = baseline_of(about)
    return {
        "set_sizes": [],
        "subjects": {
            "names": list(about.subjects),
            "label": value_words(about),
            "values": rounded(about.values[:, kept].T),
            "baseline": None if baseline is None else float(baseline),
            "baseline_label": baseline_words(about),
        },
        "columns": [
            {
                "label": view.records[name].label,
                "unit": view.records[name].unit,
                "title": view.records[name].description,
            }
            for name in columns
        ],
        "values": rounded(
            np.stack([view.region_scores_[name][kept] for name in columns], axis=1)
        ),
        "regions": kept.tolist(),
        "names": None if view.labels is None else _names(view, kept),
        "analyzed": int(np.isfinite(view.region_scores_[finding.shown]).sum()),
        "kept": len(kept),
        "start": 0,
        "survives": packed(finding.survives, "u1"),
        "maps": [
            _one_map(maps, view, name, trends=trends and name == finding.shown)
            for name in names
        ],
        "shown": names.index(finding.shown),
        "region_of": packed(np.arange(len(view.places)), "<i4"),
        "colors": map_colors(),
    }


def _one_map(maps, view, name, *, trends):
    """Describe one map; one with two tails begins without a threshold."""
    values = view.region_scores_[name]
    about = one_map(view.records[name], values, trends=trends)
    if maps.summary.options.get("two_sided") and np.nanmin(values) < 0:
        about["start"] = about["low"] - 1e-6 * (about["high"] - about["low"])
        about["begins"] = "Both signs are drawn at first."
    return about


def _varies(values):
    """Return whether there is anything to see."""
    return np.isfinite(values).any() and np.nanmax(np.abs(values)) > 0


def _names(view, kept):
    """Return the atlas regions of kept features."""
    return [view.labels[feature] or "no region" for feature in kept]


def _hint(view, kept):
    """Explain how to use the viewer and what was left out."""
    text = (
        "The slider moves the threshold of the map; the number beside it can be typed. "
        "Click into the brain, or on a place in a table, to see below the value of "
        f"every subject at that {view.element}, and all numbers. "
    )
    if len(kept) < len(view.places):
        return text + (
            f"To keep the page small it holds the subjects' values at the {len(kept):,}"
            f" strongest of {len(view.places):,} {view.elements}."
        )
    return text
