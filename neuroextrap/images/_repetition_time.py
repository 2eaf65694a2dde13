"""The time between volumes: what the user, the header and the sidecar say."""

import json
import logging
from pathlib import Path

import numpy as np

from neuroextrap.images._bids_names import file_entities
from neuroextrap.images._bids_runs import find_raw, fitting_files
from neuroextrap.images._surface_files import SURFACES
from neuroextrap.stats._validation import brief, check_flags, check_number

_logger = logging.getLogger(__name__)

_TOLERANCE = 1e-3
"""Seconds by which two statements of a repetition time may differ."""

_LONGEST = 1e4
"""Seconds between volumes that no scanner needs: what is larger is no time."""

_SECONDS = {"sec": 1.0, "msec": 1e-3, "usec": 1e-6}
_EXTENSIONS = (*SURFACES, ".nii.gz", ".nii", ".img.gz", ".img", ".hdr")


def repetition_times(named, t_r, *, check_t_r=True):
    """Return the time between volumes of every series in seconds.

    `t_r`, header and sidecar must agree within a millisecond, or (without `check_t_r`)
    the first of `t_r`, sidecar and header counts.
    """
    check_flags(check_t_r=check_t_r)
    if t_r is not None:
        given = np.nan if isinstance(t_r, bool) else check_number(t_r, "t_r")
        if not 0 < given <= _LONGEST:
            raise ValueError(
                f"t_r={brief(t_r)} must be a positive number of seconds, at most "
                f"{_LONGEST:g}; for example 2.0"
            )
        t_r = given
    found = [_of_series(img, t_r, check_t_r) for img in named]
    for said in dict.fromkeys(found if t_r is None else ()):
        series = [img for img, own in zip(named, found, strict=True) if own == said]
        more = f" and {len(series) - 1} more" if len(series) > 1 else ""
        _logger.info("%s%s: repetition time %g s (%s)", series[0].name, more, *said)
    return [time for time, _ in found]


def _of_series(img, t_r, check_t_r):
    """Return the time between volumes of one series, and what tells it."""
    found = {"t_r": t_r, "its sidecar": _of_sidecar(img), "its header": _of_header(img)}
    stated = {source: value for source, value in found.items() if value is not None}
    if not stated:
        raise ValueError(
            f"t_r is needed with BIDS events, got None, and neither the header nor a "
            f"sidecar of {img.name} tells it; give t_r (--t-r), the time between "
            "volumes in seconds"
        )
    times = list(stated.values())
    if check_t_r and max(times) - min(times) > _TOLERANCE + 1e-6:
        said = ", ".join(f"{source} says {t:g} s" for source, t in stated.items())
        raise ValueError(
            f"{img.name}: repetition times disagree: {said}; correct the wrong one, or "
            "give the right one as t_r with check_t_r=False (--t-r with --no-check-t-r)"
        )
    return times[0], next(iter(stated))


def _of_header(img):
    """Return pixdim[4] in seconds, None where it is not set or has no unit."""
    header = getattr(img.img, "header", None)
    if header is None or img.n_samples is None or not hasattr(header, "get_xyzt_units"):
        return None
    zoom, unit = float(header.get_zooms()[3]), header.get_xyzt_units()[1]
    value = zoom * _SECONDS.get(unit, np.nan)
    return value if np.isfinite(value) and value > 0 else None


def _of_sidecar(img):
    """Return RepetitionTime of the JSON beside an image, or of its data sets."""
    if img.file is None:
        return None
    path = Path(img.file)
    stem = next(
        (path.name.removesuffix(e) for e in _EXTENSIONS if path.name.endswith(e)), None
    )
    beside = [] if stem is None else [path.with_name(f"{stem}.json")]
    times = map(_time_in, [each for each in beside if each.is_file()])
    told = next((time for time in times if time is not None), None)
    return _inherited(path) if told is None else told


def _inherited(path):
    """Return RepetitionTime of the most specific file of the image's data sets."""
    entities, root = file_entities(path), find_raw(path)
    while entities is not None and "sub" in entities and root is not None:
        for _, _, sidecar in reversed(fitting_files(entities, root, "bold.json")):
            time = _time_in(sidecar)
            if time is not None:
                return time
        root = find_raw(root)
    return None


def _time_in(sidecar):
    """Return RepetitionTime of a JSON file, or None."""
    try:
        value = json.loads(sidecar.read_text(encoding="utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise ValueError(
            f"{sidecar} is not a readable sidecar ({error}); correct or remove it"
        ) from error
    value = value.get("RepetitionTime") if isinstance(value, dict) else None
    if value is None:
        return None
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not (number and 0 < value < _LONGEST):
        raise ValueError(
            f"{sidecar}: RepetitionTime={value!r} must be a positive number of "
            "seconds; correct the sidecar"
        )
    return float(value)
