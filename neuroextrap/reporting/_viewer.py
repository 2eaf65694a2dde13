"""Maps with a threshold to move, and what is known of the place that is clicked."""

from __future__ import annotations

import base64
import gzip
import json
import logging

import numpy as np
from markupsafe import Markup

from neuroextrap.images._loading import feature_coordinates, mask_lattice, surface_mesh
from neuroextrap.plotting._brain_maps import surface_grays
from neuroextrap.reporting._maps_section import class_bounds, page_maps
from neuroextrap.reporting._page import (
    format_confidence,
    paragraphs,
    read_text,
    render,
    rounded_down,
)
from neuroextrap.reporting._peaks import peak_table
from neuroextrap.reporting._pictures import (
    TREND_SHARE,
    glass_outline,
    slices_frame,
    trend_limit,
)

_LOGGER = logging.getLogger(__name__)
_SCRIPTS = (
    *("look_up", "curve", "subjects", "discoveries", "threshold"),
    *("volume", "surface", "start"),
)

_MOST_CURVES = 2000


def viewer_of_curves(
    fitted, background, *, map_name="accuracy", max_regions=_MOST_CURVES, peaks=()
):
    """Return the viewer of a fitted analysis as HTML, `map_name` shown first.

    Curves (about 400 bytes each) are kept of atlas regions, the `max_regions` strongest
    spheres, and `peaks`.
    """
    view, results = page_maps(fitted), fitted.results_
    names, accuracy = view.choice.names, view.scores["accuracy"]
    # strongest first; ties go to the more accurate, NaN comes last
    kept = np.lexsort((-accuracy, -view.strength(map_name)))
    kept = kept[np.isfinite(accuracy[kept])]
    kept = kept if view.choice.owner is not None else kept[:max_regions]
    kept = np.append(kept, np.setdiff1d(peaks, kept)).astype(int)
    peak = peak_table(fitted, n_peaks=1, statistic=map_name)["region"].iloc[0]
    bounds = class_bounds(view.scores)[kept, np.newaxis]
    details = {
        "set_sizes": results.set_sizes.tolist(),
        "curves": rounded(results.curve(kept)[1]),
        "bound_sizes": [len(fitted.classes_)],
        "bounds": rounded(bounds, down=True) if np.isfinite(bounds).any() else None,
    }
    start = int(np.argmax(kept == peak))
    names = None if names is None else [str(names[region]) for region in kept]
    return draw_viewer(
        view, map_name, kept, details, background, names=names, start=start
    )


def draw_viewer(view, first, kept, details, background, **data):
    """Return a viewer as HTML; `details` is what a click shows besides the numbers.

    The other parameters are those of :func:`viewer_data`.
    """
    data = viewer_data(view, first, kept, **data)
    data |= details | {"discoveries": _discoveries(view)}
    if view.on_surface:
        data |= on_surface(view.masker, background.img)
        views = render("hemispheres", sides=data["hemispheres"])
    else:
        data |= in_volume(view, np.array(data["regions"]), background.in_mni152)
        try:
            views = _volume_views(view, first, data, background)
        except RuntimeError as error:
            _LOGGER.warning("the report has no interactive viewer: %s", error)
            return paragraphs(f"There is no interactive viewer: {error}.", note=True)
    scripts = [name for name in _SCRIPTS if name != "subjects" or "subjects" in data]
    return render(
        "viewer",
        style=Markup(read_text("viewer.css")),
        content=data,
        view=view,
        data=compressed(json.dumps(data, allow_nan=False).encode("utf-8")),
        script=Markup("\n".join(read_text(f"{name}.js") for name in scripts)),
        views=views,
    )


def _volume_views(view, first, data, background):
    """Return slices with their sliders, and the glass brain."""
    place = data["places"][data["start"]]
    frame = slices_frame(view, first, place, background.img)
    sides = data["glass"] or ""
    outlines = {axis: glass_outline(axis)["source"] for axis in sides}
    return render("slices", frame=Markup(frame), outlines=outlines)


def _discoveries(view):
    """Return what a viewer counts with; None where nothing is known."""
    if view.bounds is None:
        return None
    return {
        "scores": packed(view.bounds.scores, "<f8"),
        "thresholds": view.bounds.thresholds.tolist(),
        "level": format_confidence(view.bounds.confidence_level),
        "many": view.words[1],
        "claim": view.claim,
        "ball": view.choice.centers is not None,
    }


_REACH = 4.0
_MOST_NUMBERS = 600_000


def viewer_data(view, first, kept, *, names=None, start=0):
    """Collect what every viewer reads but for places, ready for JSON.

    `kept` are the regions whose numbers the page holds, one row each, `names` what
    these are called (or None), and `start` is the row to begin with. Maps of
    which nothing survives begin with their strongest 5% of regions.
    """
    offered = _offered_maps(view, first)
    trends = bool(view.finding.criterion and not view.finding.n_surviving)
    columns = [
        name
        for name, record in view.records.items()
        if record.tabulated and np.isfinite(view.scores.get(name, np.nan)).any()
    ]
    region = view.choice.to_features(np.arange(view.choice.n_regions))
    return {
        "columns": [
            {"label": record.label, "unit": record.unit, "title": record.description}
            for record in map(view.record, columns)
        ],
        "values": rounded(
            np.stack([view.scores[name][kept] for name in columns], axis=1),
            down=["_bound" in name for name in columns],
        ),
        "regions": kept.tolist(),
        "names": names,
        "analyzed": int(np.isfinite(view.scores[first]).sum()),
        "kept": len(kept),
        "start": start,
        "survives": packed(view.finding.survives, "u1"),
        "maps": [_one_map(view, name, trends=trends) for name in offered],
        "shown": offered.index(first),
        "region_of": packed(np.nan_to_num(region, nan=-1), "<i4"),
    }


def _offered_maps(view, first):
    """Return the maps of the menu: those of the overview that fit, and the first."""
    names = [
        name
        for name in view.overview()
        if name != first and np.nanmax(view.strength(name), initial=0.0) > 0
    ]
    names = names[: max(0, _MOST_NUMBERS // view.choice.n_regions - 1)]
    ordered = [name for name in view.overview() if name in (*names, first)]
    return ordered if first in ordered else [*ordered, first]


def _one_map(view, name, *, trends):
    """Describe one map to a viewer."""
    import matplotlib

    record, (_, (low, high), cmap) = view.record(name), view.look(name)
    colors = matplotlib.colormaps[cmap](np.arange(256), bytes=True)[:, :3]
    start, begins = _first_threshold(view, name, trends)
    return {
        "label": record.label,
        "title": record.description,
        "unit": record.unit,
        "low": low,
        "high": high,
        "colors": colors.tobytes().hex(),  # rrggbb each
        "start": start,
        "begins": begins,
        "smaller": record.tail == "lower",
        "values": packed(view.scores[name], "<f4"),
    }


def _first_threshold(view, name, trends):
    """Return where the threshold of a map starts (below all of two tails), and why."""
    record = view.record(name)
    if view.signed(name):
        low, high = view.look(name).span
        return low - 1e-6 * (high - low), "Both signs are drawn at first."
    if trends:
        start = trend_limit(record.strength(view.scores[name]))
        return -start if record.tail == "lower" else start, (
            "No region survives correction: the threshold starts at the strongest "
            f"{100 * TREND_SHARE:.0f}% of regions, a trend."
        )
    start = record.first_threshold(view.n_classes)
    chance, where = record.chance_level(view.n_classes), f"{start:g}"
    if record.threshold_meaning:
        where = f"{start:g}: {record.threshold_meaning}"
    elif chance and record.threshold is None:
        where = f"chance, {chance}"
    return start, f"The threshold starts at {where}."


def in_volume(view, kept, in_mni152):
    """Collect the places of the mask's voxels, and one (mm) of every kept region."""
    mask, affine = mask_lattice(view.masker)
    row_of = np.full(view.choice.n_regions, np.nan)
    row_of[kept] = np.arange(len(kept))
    row = view.choice.to_features(row_of)
    features = np.flatnonzero(np.isfinite(row))
    row = row[features].astype(int)
    places = feature_coordinates(view.masker)[features]
    size = np.linalg.norm(affine[:3, :3], axis=0).max()
    sides = "xyz" if in_mni152 else ""
    glass = {axis: glass_outline(axis)["frame"] for axis in sides} or None
    return {
        "element": "voxel",
        "elements": "voxels",
        "shape": list(mask.shape),
        "affine": affine.tolist(),
        "inverse": np.linalg.inv(affine).tolist(),
        "features": _runs(np.flatnonzero(mask)),
        "places": rounded(_central_places(places, row, len(kept))),
        "reach": float(_REACH * size),
        "glass": glass,
    }


def on_surface(masker, bg_img):
    """Collect the hemispheres: mesh, grays, and the feature of every vertex or -1."""
    grays, hemispheres = surface_grays(masker, bg_img), []
    for side, gray in zip(surface_mesh(masker), grays, strict=True):
        features = np.full(len(side.coordinates), -1)
        features[side.vertices] = side.offset + np.arange(len(side.vertices))
        hemispheres.append(
            {
                "name": side.name,
                "coordinates": packed(side.coordinates, "<f4"),
                "faces": packed(side.faces, "<i4"),
                "features": packed(features, "<i4"),
                "shades": packed(gray, "u1"),
            }
        )
    return {"element": "vertex", "elements": "vertices", "hemispheres": hemispheres}


def _runs(flat):
    """Return starts and lengths of runs of consecutive numbers: two lists."""
    starts = np.flatnonzero(np.diff(flat, prepend=-2) != 1)
    lengths = np.diff(np.append(starts, len(flat)))
    return [flat[starts].tolist(), lengths.tolist()]


def _central_places(places, row, n_rows):
    """Return, of every row's voxels, the one nearest to their mean."""
    counts = np.bincount(row, minlength=n_rows)
    sums = [np.bincount(row, weights=x, minlength=n_rows) for x in places.T]
    mean = np.stack(sums, axis=1) / np.maximum(counts, 1)[:, None]
    order = np.lexsort((np.linalg.norm(places - mean[row], axis=1), row))
    first = order[np.searchsorted(row[order], np.arange(n_rows))]
    return places[first]


def rounded(values, *, down=False):
    """Return nested lists of four significant digits, bounds `down`, NaN as None."""
    values = np.array(values, dtype=float)
    bounds = np.broadcast_to(down, values.shape)
    values[bounds] = [rounded_down(bound, 4) for bound in values[bounds]]
    return [
        [float(f"{value:.4g}") if np.isfinite(value) else None for value in row]
        for row in values
    ]


def packed(values, kind):
    """Return numbers as compressed text; `kind` is a type of numpy such as "<f4"."""
    return compressed(np.ascontiguousarray(values, dtype=kind).tobytes())


def compressed(data):
    """Return bytes as text: gzip, then base64, equal for equal bytes."""
    return base64.b64encode(gzip.compress(data, mtime=0)).decode("ascii")
