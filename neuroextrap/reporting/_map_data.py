"""The maps of a page: numbers of every region, where they go, and their colors."""

import base64
import gzip

import numpy as np

from neuroextrap.maps._registry import MAPS, record_of
from neuroextrap.plotting._brain_maps import COLORMAP

TREND_SHARE = 0.05
"""Share of the regions that is drawn first where none survives correction."""

_MOST_NUMBERS = 600_000


def map_data(fitted, map_name, *, trends=False):
    """Collect the maps that a viewer offers, ready for JSON.

    With `trends`, maps begin with their strongest 5% of regions. `map_name` is shown
    first; the others are those of the overview, as many as fit
    into 600,000 numbers. The returned dict has ``maps``: of each its label, title,
    unit, range of colors (low, high), first threshold (start), whether small values
    are strong (smaller) and its values of all regions (float32, packed); ``shown``:
    which is first; ``region_of``: region of every voxel or vertex, -1 for none (int32,
    packed); ``colors``: 256 times rrggbb.
    """
    choice, scores = fitted.results_.choice, fitted.region_scores_
    names = [name for name in overview_maps(scores) if name != map_name]
    names = names[: max(0, _MOST_NUMBERS // choice.n_regions - 1)]
    names = [name for name in names if np.nanmax(scores[name], initial=0.0) > 0]
    names = overview_maps([*names, map_name])
    if map_name not in names:
        names.append(map_name)
    region = choice.to_features(np.arange(choice.n_regions))
    return {
        "maps": [
            one_map(
                record_of(name),
                scores[name],
                n_classes=len(fitted.classes_),
                trends=trends,
            )
            for name in names
        ],
        "shown": names.index(map_name),
        "region_of": packed(np.nan_to_num(region, nan=-1), "<i4"),
        "colors": map_colors(),
    }


def overview_maps(names):
    """Return the names of the overview's maps among these, in the registry's order."""
    return [name for name, record in MAPS.items() if record.overview and name in names]


def one_map(record, values, *, n_classes=None, trends=False):
    """Describe one map to a viewer; `values` are those of all regions."""
    low, high = color_range(values)
    start = record.first_threshold(n_classes)
    begins = _first_threshold_text(record, n_classes)
    if trends:
        start = trend_limit(record.strength(values))
        start = -start if record.tail == "lower" else start
        begins = (
            "No region survives correction: the threshold starts at the strongest "
            f"{100 * TREND_SHARE:.0f}% of regions, a trend."
        )
    return {
        "label": record.label,
        "title": record.description,
        "unit": record.unit,
        "low": low,
        "high": high,
        "start": start,
        "begins": begins,
        "smaller": record.tail == "lower",
        "values": packed(values, "<f4"),
    }


def trend_limit(strength):
    """Return the strength that one region in twenty exceeds at most."""
    return float(np.nanquantile(strength, 1 - TREND_SHARE))


def color_range(values):
    """Return where colors begin (at zero or below) and end, low < high."""
    low, high = min(float(np.nanmin(values)), 0.0), float(np.nanmax(values))
    return low, (high if high > low else low + 1.0)


def _first_threshold_text(record, n_classes):
    """Explain in a sentence where the threshold of a map starts."""
    start = record.first_threshold(n_classes)
    if record.threshold_meaning:
        return f"The threshold starts at {start:g}: {record.threshold_meaning}."
    chance = record.chance_level(n_classes)
    if chance and record.threshold is None:
        return f"The threshold starts at chance, {chance}."
    return f"The threshold starts at {start:g}."


def packed(values, kind):
    """Return numbers as compressed text; `kind` is a type of numpy such as "<f4"."""
    return compressed(np.ascontiguousarray(values, dtype=kind).tobytes())


def compressed(data):
    """Return bytes as text: gzip, then base64, equal for equal bytes."""
    return base64.b64encode(gzip.compress(data, mtime=0)).decode("ascii")


def map_colors():
    """Return the 256 colors of the maps as one text of rrggbb."""
    import matplotlib

    table = matplotlib.colormaps[COLORMAP](np.arange(256), bytes=True)[:, :3]
    return table.tobytes().hex()
