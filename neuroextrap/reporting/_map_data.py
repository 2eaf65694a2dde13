"""The maps of a page: numbers of every region, where they go, and their colors."""

import base64

import numpy as np

from neuroextrap.maps._identification import MAP_DESCRIPTIONS

FIRST_MAPS = (
    "accuracy",
    "implied_information",
    "bayes_accuracy_bound",
    "information_bound",
    "neg_log10_p_fwe",
)
"""Maps that a first look needs."""

COLORMAP = "cividis"
_MOST_NUMBERS = 1_200_000
_LEVEL = 0.05


def map_data(fitted, map_name):
    """Collect the maps that a viewer offers, ready for JSON.

    Parameters
    ----------
    fitted : IdentificationSearchLight or EncodingIdentification
        With regions that have a place.
    map_name : str
        The map shown first; it is always among them.

    Returns
    -------
    data : dict
        ``maps``: of each its label, title, unit, range of colors (low, high), first
        threshold (start), whether small values are strong (smaller) and its values of
        all regions (float32, base64); ``shown``: which is first; ``region_of``: region
        of every voxel or vertex, -1 for none (int32, base64); ``colors``: 256 times
        rrggbb. As many maps as fit into 1.2 million numbers.
    """
    scores = fitted.region_scores_
    names = [name for name in FIRST_MAPS if name in scores and name != map_name]
    n_regions = fitted.results_.choice.n_regions
    names = names[: max(0, _MOST_NUMBERS // n_regions - 1)]
    names = [name for name in names if np.nanmax(scores[name], initial=0.0) > 0]
    shown = sum(name in FIRST_MAPS[: _rank(map_name)] for name in names)
    names.insert(shown, map_name)
    region = fitted.results_.choice.to_features(np.arange(n_regions))
    return {
        "maps": [_one_map(fitted, name) for name in names],
        "shown": shown,
        "region_of": packed(np.nan_to_num(region, nan=-1), "<i4"),
        "colors": colors(),
    }


def _rank(map_name):
    """Return a map's place in the menu; maps of no fixed place are last."""
    return FIRST_MAPS.index(map_name) if map_name in FIRST_MAPS else len(FIRST_MAPS)


def _one_map(fitted, name):
    """Describe one map."""
    values = fitted.region_scores_[name]
    low, high = color_range(values)
    what, unit = MAP_DESCRIPTIONS[name]
    return {
        "label": name.replace("_", " "),
        "title": what,
        "unit": unit,
        "low": low,
        "high": high,
        "start": float(first_threshold(name, len(fitted.classes_))),
        "begins": _begins(name, len(fitted.classes_)),
        "smaller": name.startswith("p_value"),
        "values": packed(values, "<f4"),
    }


def color_range(values):
    """Return the range of values over which colors go, from zero at most.

    Parameters
    ----------
    values : ndarray
        NaN is left out.

    Returns
    -------
    low, high : float
        ``low < high``.
    """
    low, high = min(float(np.nanmin(values)), 0.0), float(np.nanmax(values))
    return low, (high if high > low else low + 1.0)


def first_threshold(name, n_classes):
    """Return from where on a map is worth a look: chance, significance or nothing.

    Parameters
    ----------
    name : str
        Of the map.
    n_classes : int
        Number of classes.

    Returns
    -------
    threshold : float
        In the map's unit. What is drawn lies above it (p-values: at or below it).
    """
    if name.startswith("p_value"):
        return _LEVEL
    if name == "neg_log10_p_fwe":
        return np.floor(-1000 * np.log10(_LEVEL)) / 1000  # p = .05 is just above
    if name == "pairwise_accuracy":
        return 0.5
    return 1 / n_classes if "accuracy" in name else 0.0


def _begins(name, n_classes):
    """Say where the threshold of a map starts."""
    start = first_threshold(name, n_classes)
    if name == "neg_log10_p_fwe":
        return f"The threshold starts at {start:.3f}: p = {_LEVEL}, family-wise."
    if "accuracy" in name:
        chance = "0.5" if name.startswith("pairwise") else f"1/{n_classes}"
        return f"The threshold starts at chance, {chance}."
    return f"The threshold starts at {start:g}."


def packed(values, kind):
    """Return numbers as base64 text, little-endian.

    Parameters
    ----------
    values : array-like
    kind : str
        As numpy names it, such as ``"<f4"``.

    Returns
    -------
    str
    """
    data = np.ascontiguousarray(values, dtype=kind).tobytes()
    return base64.b64encode(data).decode("ascii")


def colors():
    """Return the 256 colors of the maps as one text of rrggbb.

    Returns
    -------
    str
    """
    import matplotlib

    table = matplotlib.colormaps[COLORMAP](np.arange(256), bytes=True)[:, :3]
    return table.tobytes().hex()
