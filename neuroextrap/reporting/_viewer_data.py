"""What the viewer's page knows of every region: numbers only, and not too many."""

import numpy as np

from neuroextrap.maps import MAP_DESCRIPTIONS, bound_set_sizes
from neuroextrap.reporting._peaks import peak_table

_REACH = 4.0


def viewer_data(fitted, *, map_name, max_regions):
    """Collect curves, numbers and places of regions, ready for JSON.

    Parameters
    ----------
    fitted : IdentificationSearchLight or EncodingIdentification
        On volumes.
    map_name : str
        The map whose strongest regions are kept, strongest first.
    max_regions : int
        How many are kept, unless the regions are those of an atlas.

    Returns
    -------
    data : dict
        ``curves`` at ``set_sizes``, ``bounds`` (or None) at ``bound_sizes``, ``values``
        of ``columns``, ``places`` (x, y, z) in mm and ``names`` (or None), one row a
        kept region; ``voxels``: start, length and row of every run of voxels (in C
        order of ``shape``) that belong to one kept region; ``affine``, voxel to mm, and
        ``inverse``; ``analysed`` and ``kept``, numbers of regions; ``start``, the row
        to begin with; ``reach``, mm.
    """
    results, scores = fitted.results_, fitted.region_scores_
    kept = _strongest(fitted, map_name, max_regions)
    columns = [name for name in MAP_DESCRIPTIONS if name in scores]
    data = {
        "set_sizes": results.set_sizes.tolist(),
        "curves": _rounded(results.curve(kept)[1]),
        **_bounds(results, kept),
        "columns": [
            {"label": name.replace("_", " "), "unit": unit, "title": what}
            for name, (what, unit) in ((c, MAP_DESCRIPTIONS[c]) for c in columns)
        ],
        "values": _rounded(np.stack([scores[name][kept] for name in columns], axis=1)),
        "names": None,
        "analysed": int(np.isfinite(scores["accuracy"]).sum()),
        "kept": len(kept),
        "start": _start(fitted, map_name, kept),
    }
    names = results.choice.names
    if names is not None:
        data["names"] = [str(names[region]) for region in kept]
    return data | _where(fitted, kept)


def _strongest(fitted, map_name, max_regions):
    """Return kept regions, strongest first; ties go to the more accurate."""
    scores = fitted.region_scores_
    values, accuracy = scores[map_name], scores["accuracy"]
    sign = 1 if map_name.startswith("p_value") else -1
    order = np.lexsort((-accuracy, sign * values))  # NaN comes last
    order = order[np.isfinite(accuracy[order])]
    in_atlas = fitted.results_.choice.owner is not None
    return order if in_atlas else order[:max_regions]


def _start(fitted, map_name, kept):
    """Return the row of the map's peak (a plateau's middle), 0 where it is not kept."""
    if map_name.startswith("p_value"):
        return 0
    peak = peak_table(fitted, n_peaks=1, statistic=map_name)["region"].iloc[0]
    return int(np.argmax(kept == peak))


def _bounds(results, kept):
    """Bound the average Bayes accuracy of kept regions, where a bound holds."""
    if results.n_repeats is None:
        return {"bound_sizes": [], "bounds": None}
    wins = results.bound_wins[kept]
    sizes = bound_set_sizes(wins.shape[1])
    return {
        "bound_sizes": sizes.tolist(),
        "bounds": _rounded(results.bounds_at(wins, sizes)),
    }


def _where(fitted, kept):
    """Say which voxels belong to which kept region."""
    from neuroextrap.images import feature_coordinates, mask_lattice

    mask, affine = mask_lattice(fitted.masker_)
    choice = fitted.results_.choice
    row_of = np.full(choice.n_regions, np.nan)
    row_of[kept] = np.arange(len(kept))
    row = choice.to_features(row_of)
    own = np.flatnonzero(np.isfinite(row))
    row = row[own].astype(int)
    places = feature_coordinates(fitted.masker_)[own]
    size = np.linalg.norm(affine[:3, :3], axis=0).max()
    return {
        "shape": list(mask.shape),
        "affine": affine.tolist(),
        "inverse": np.linalg.inv(affine).tolist(),
        "voxels": _runs(np.flatnonzero(mask)[own], row, mask.shape[2]),
        "places": _rounded(_central_places(places, row, len(kept))),
        "reach": float(_REACH * size),
    }


def _runs(flat, row, length):
    """Return start, length and row of runs along the last axis: three lists."""
    new = np.ones(len(flat), dtype=bool)
    new[1:] = (
        (np.diff(flat) != 1) | (np.diff(row) != 0) | (np.diff(flat // length) != 0)
    )
    starts = np.flatnonzero(new)
    lengths = np.diff(np.append(starts, len(flat)))
    return [flat[starts].tolist(), lengths.tolist(), row[starts].tolist()]


def _central_places(places, row, n_rows):
    """Return, of every row's voxels, the one nearest to their mean."""
    counts = np.bincount(row, minlength=n_rows)
    sums = [np.bincount(row, weights=x, minlength=n_rows) for x in places.T]
    mean = np.stack(sums, axis=1) / np.maximum(counts, 1)[:, None]
    order = np.lexsort((np.linalg.norm(places - mean[row], axis=1), row))
    first = order[np.searchsorted(row[order], np.arange(n_rows))]
    return places[first]


def _rounded(values):
    """Return nested lists with four significant digits; what is not finite is None."""
    values = np.asarray(values, dtype=float)
    flat = [float(f"{v:.4g}") if np.isfinite(v) else None for v in values.ravel()]
    width = values.shape[1]
    return [flat[i : i + width] for i in range(0, len(flat), width)]
