"""The data of the viewer's page: numbers of the regions, and not too many."""

import numpy as np

from neuroextrap.maps._registry import MAPS, record_of
from neuroextrap.plotting._backgrounds import surface_grays
from neuroextrap.reporting._map_data import map_data, packed
from neuroextrap.reporting._peaks import peak_table
from neuroextrap.reporting._pictures import glass_outlines

_REACH = 4.0


def viewer_data(  # noqa: PLR0913 - what a page is made of
    fitted,
    survives,
    *,
    map_name,
    max_regions,
    peaks=(),
    trends=False,
    in_mni152=False,
    bg_img=None,
):
    """Collect maps, curves, numbers and places of regions, ready for JSON.

    Kept are the curves of the `max_regions` regions that are strongest in the map
    `map_name`, strongest first, or of all regions of an atlas, and of `peaks`. `bg_img`
    gives the vertices of surfaces their gray; volumes have a glass brain if they lie
    `in_mni152`. The regions that `survives` says survive correction can be shown alone;
    with `trends` none does, and maps begin with their strongest 5%.

    The returned dict has what :func:`map_data` collects; ``curves`` at ``set_sizes``,
    ``bounds`` (or None) at ``bound_sizes``, ``values`` of ``columns``, ``regions``
    (their numbers) and ``names`` (or None), one row per kept region; ``analyzed`` and
    ``kept``, numbers of regions; ``survives``, of every region; ``start``, the row to
    begin with; ``element``, voxel or vertex. Of volumes, ``shape``, ``affine`` (voxel
    to mm) and ``inverse``; ``features``, start and length of every run of mask voxels
    in C order; ``places`` (x, y, z) in mm of kept regions; ``reach``, mm; ``glass``,
    frames of the outlines or None. Of surfaces ``hemispheres``: mesh, grays, and the
    feature of every vertex or -1.
    """
    from neuroextrap.images._maskers import is_surface_masker

    results, scores = fitted.results_, fitted.region_scores_
    kept = _strongest(fitted, map_name, max_regions)
    kept = np.append(kept, np.setdiff1d(peaks, kept)).astype(int)
    columns = [record for name, record in MAPS.items() if name in scores]
    data = {
        "set_sizes": results.set_sizes.tolist(),
        "curves": rounded(results.curve(kept)[1]),
        **_bounds(results, kept),
        "columns": [
            {"label": record.label, "unit": record.unit, "title": record.description}
            for record in columns
        ],
        "values": rounded(
            np.stack([scores[record.name][kept] for record in columns], axis=1)
        ),
        "regions": kept.tolist(),
        "names": None,
        "analyzed": int(np.isfinite(scores["accuracy"]).sum()),
        "kept": len(kept),
        "start": _start(fitted, map_name, kept),
    }
    names = results.choice.names
    if names is not None:
        data["names"] = [str(names[region]) for region in kept]
    if is_surface_masker(fitted.masker_):
        places = on_surface(fitted, bg_img)
    else:
        places = in_volume(fitted, kept, in_mni152)
    data["survives"] = packed(survives, "u1")
    return data | map_data(fitted, map_name, trends=trends) | places


def _strongest(fitted, map_name, max_regions):
    """Return kept regions, strongest first; ties go to the more accurate."""
    scores = fitted.region_scores_
    accuracy = scores["accuracy"]
    strength = record_of(map_name).strength(scores[map_name])
    order = np.lexsort((-accuracy, -strength))  # NaN comes last
    order = order[np.isfinite(accuracy[order])]
    in_atlas = fitted.results_.choice.owner is not None
    return order if in_atlas else order[:max_regions]


def _start(fitted, map_name, kept):
    """Return the row of the map's peak (a plateau's middle), 0 where it is not kept."""
    peak = peak_table(fitted, n_peaks=1, statistic=map_name)["region"].iloc[0]
    return int(np.argmax(kept == peak))


def _bounds(results, kept):
    """Return bounds on the average Bayes accuracy of kept regions, where they hold."""
    if results.n_repeats is None:
        return {"bound_sizes": [], "bounds": None}
    sizes, bounds = results.bound_curve(kept)
    return {"bound_sizes": sizes.tolist(), "bounds": rounded(bounds)}


def in_volume(fitted, kept, in_mni152):
    """Collect the places of the mask's voxels, and one of every kept region."""
    from neuroextrap.images import feature_coordinates
    from neuroextrap.images._geometry import mask_lattice

    mask, affine = mask_lattice(fitted.masker_)
    row, features = _rows(fitted, kept)
    places = feature_coordinates(fitted.masker_)
    size = np.linalg.norm(affine[:3, :3], axis=0).max()
    glass = None
    if in_mni152:
        glass = {axis: side["frame"] for axis, side in glass_outlines().items()}
    return {
        "element": "voxel",
        "elements": "voxels",
        "shape": list(mask.shape),
        "affine": affine.tolist(),
        "inverse": np.linalg.inv(affine).tolist(),
        "features": _runs(np.flatnonzero(mask)),
        "places": rounded(_central_places(places[features], row, len(kept))),
        "reach": float(_REACH * size),
        "glass": glass,
    }


def on_surface(fitted, bg_img):
    """Collect the hemispheres' meshes, and which vertex is which feature."""
    from neuroextrap.images._geometry import surface_mesh

    sides = surface_mesh(fitted.masker_)
    grays = surface_grays(fitted.masker_, bg_img)
    hemispheres = []
    for side, gray in zip(sides, grays, strict=True):
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


def _rows(fitted, kept):
    """Return rows of kept regions' features, and which features these are."""
    choice = fitted.results_.choice
    row_of = np.full(choice.n_regions, np.nan)
    row_of[kept] = np.arange(len(kept))
    row = choice.to_features(row_of)
    features = np.flatnonzero(np.isfinite(row))
    return row[features].astype(int), features


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


def rounded(values):
    """Return nested lists with four significant digits; what is not finite is None."""
    values = np.asarray(values, dtype=float)
    flat = [float(f"{v:.4g}") if np.isfinite(v) else None for v in values.ravel()]
    width = values.shape[1]
    return [flat[i : i + width] for i in range(0, len(flat), width)]
