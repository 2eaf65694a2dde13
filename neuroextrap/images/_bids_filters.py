"""Which version of every run is taken: labels that entities of files must have."""

import json
from collections.abc import Mapping
from pathlib import Path

from neuroextrap.images._bids_names import same_label
from neuroextrap.stats._validation import brief

_LONG = {
    "session": "ses",
    "acquisition": "acq",
    "ceagent": "ce",
    "direction": "dir",
    "reconstruction": "rec",
    "resolution": "res",
    "density": "den",
    "description": "desc",
    "modality": "mod",
}
"""Names of entities in files of filters, and the keys of file names."""
_OF_FILES = ("suffix", "datatype", "extension", "scope")
"""What filters say of files besides, which a series has anyway."""
_IMAGES = "bold"


def read_filters(filters, file=None):
    """Return the labels that entities must have, a tuple of them by the entity's key.

    `filters` is a dict, {"desc": "denoised", "run": ["1", "2"], "echo": None}, with
    None for files that lack an entity, or its items as texts, ["desc=denoised",
    "run=1", "run=2", "echo="]. `file` is the path of a JSON file of such a dict, alone
    or as its entry "bold", the filters of fMRIPrep; `filters` come before it.
    ValueError if something else is given.
    """
    own = _of_texts(filters) if _is_texts(filters) else filters
    own = {} if own is None else own
    if not isinstance(own, Mapping):
        raise ValueError(
            f"filters={brief(filters)} must be a dict of labels by entity, such as "
            '{"desc": "denoised"}, or texts (--filter desc=denoised)'
        )
    given = (_of_file(file) if file is not None else {}) | dict(own)
    return {_LONG.get(key, key): _labels(key, value) for key, value in given.items()}


def filter_texts(filters):
    """Return filters, as ``read_filters`` returns them, as its texts."""
    return [f"{key}={label or ''}" for key in filters for label in filters[key]]


def apply_filters(found, filters, participant):
    """Return the (path, entities) whose labels are among those of every filter."""
    for key, wanted in filters.items():
        kept = [
            (path, entities)
            for path, entities in found
            if any(same_label(entities.get(key), label) for label in wanted)
        ]
        if not kept:
            labels = sorted({entities.get(key, "(none)") for _, entities in found})
            asked = " ".join(filter_texts({key: wanted}))
            raise ValueError(
                f"sub-{participant} has no series with {asked} (filters, --filter); "
                f"there are {', '.join(labels)}"
            )
        found = kept
    return found


def _is_texts(filters):
    """Return whether filters are a list of texts."""
    several = isinstance(filters, (list, tuple))
    return several and all(isinstance(each, str) for each in filters)


def _of_texts(texts):
    """Return a dict of lists of labels from texts key=label."""
    found: dict[str, list] = {}
    for text in texts:
        key, equals, label = text.partition("=")
        if not (key and equals):
            raise ValueError(
                f"filters (--filter): {text!r} must be an entity and its label, such "
                "as desc=denoised, or echo= for images without an echo"
            )
        found.setdefault(key, []).append(label or None)
    return found


def _of_file(file):
    """Return the dict of a JSON file of filters."""
    try:
        content = json.loads(Path(file).expanduser().read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ValueError(
            f"filter_file (--filter-file) {file} cannot be read as JSON ({error}); "
            'write {"bold": {"desc": "denoised"}}'
        ) from error
    if isinstance(content, dict) and isinstance(content.get(_IMAGES), dict):
        content = content[_IMAGES]
    several = isinstance(content, dict) and not any(
        isinstance(value, dict) for value in content.values()
    )
    if not several:
        raise ValueError(
            f"filter_file (--filter-file) {file} has no filters of {_IMAGES} images; "
            'write {"bold": {"desc": "denoised"}}'
        )
    return {key: value for key, value in content.items() if key not in _OF_FILES}


def _labels(key, value):
    """Return the labels of a filter as text, None for no label."""
    values = value if isinstance(value, (list, tuple)) else [value]
    plain = all(
        each is None or (isinstance(each, (str, int)) and not isinstance(each, bool))
        for each in values
    )
    usable = isinstance(key, str) and key.isalpha() and key not in ("sub", "subject")
    if not (values and plain and usable):
        raise ValueError(
            f"filters (--filter): {key!r}: {value!r} is no entity with labels; give "
            "keys of file names (desc, echo, rec, part, res, run ...) with text, "
            "numbers, lists of these, or None (participants have an option of their "
            "own)"
        )
    return tuple(None if each is None else str(each) for each in values)
