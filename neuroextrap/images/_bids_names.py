"""Names of files: their BIDS entities, and which files belong together by them."""

import json
import logging
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from neuroextrap.stats._validation import brief, is_integer

_logger = logging.getLogger(__name__)

PAIR = re.compile(r"([a-z]+)-([A-Za-z0-9+]+)")
_SUFFIX = re.compile(r"[A-Za-z0-9]+")
RUN_KEYS = ("ses", "task", "acq", "dir", "run")
"""Entities that tell runs apart; the others (echo, rec, part) tell copies of one."""
_COMPARED = ("sub", "ses", "task", "acq", "dir", "rec", "run")


def file_entities(path):
    """Return the entities of a subject's BIDS file name, or None if it is none."""
    stem, dot, extension = Path(path).name.partition(".")
    *pairs, suffix = stem.split("_")
    matches = [match for match in map(PAIR.fullmatch, pairs) if match is not None]
    entities = {match[1]: match[2] for match in matches}
    whole = pairs and len(entities) == len(pairs) and _SUFFIX.fullmatch(suffix)
    if not (dot and extension and whole and matches[0][1] == "sub"):
        return None
    return entities


def bids_files(paths):
    """Return (path, entities) of the files with BIDS names, in the order of names."""
    named = [
        (Path(path), file_entities(path)) for path in sorted(paths, key=name_order)
    ]
    return [(path, entities) for path, entities in named if entities]


def loose_entities(path):
    """Return ``key-label`` pairs of any file's name, and sub and ses of its folders."""
    path = Path(path)
    entities: dict[str, str] = {}
    pieces = path.name.partition(".")[0].split("_")
    for piece in [*pieces, *reversed(path.parts[:-1])]:
        key, dash, label = piece.partition("-")
        match = PAIR.fullmatch(f"{key.lower()}{dash}{label}")
        if match and (piece in pieces or match[1] in ("sub", "ses")):
            entities.setdefault(*match.groups())
    return entities


def same_label(label, other):
    """Return whether two labels are the same, numbers as numbers; None is no label."""
    return label_key(label) == label_key(other)


def label_key(label):
    """Return a label as a number where it is one, else as it is."""
    return int(label) if label is not None and label.isdecimal() else label


def name_order(path):
    """Return what sorts paths by name, numbers as numbers (run-2 before run-10)."""
    parts = re.split(r"([0-9]+)", str(path))
    return [int(part) if part.isdecimal() else part for part in parts]


def pair_by_name(named, entries, what):
    """Return entries in the order in which no name disagrees with its image's.

    Entries without a file, and images (NamedImage) without one, fit everything.
    """
    images = [_entities(img.file) for img in named]
    entities = [_entities(entry) for entry in entries]
    pairs = [(i, i if len(entries) > 1 else 0) for i in range(len(images))]
    odd = [(i, j) for i, j in pairs if _disagreement(images[i], entities[j])]
    if not odd:
        return list(entries)
    order = _only_order(images, entities) if len(images) == len(entities) else None
    if order is None:
        i, j = odd[0]
        return refuse_other_names([named[i]], [entries[j]], what)
    _logger.info("%s were put into the order of the images, by their names", what)
    return [entries[j] for j in order]


def refuse_other_names(named, tables, what):
    """Raise ValueError where an image (NamedImage) and its table disagree by name."""
    for img, table in zip(named, tables, strict=True):
        own, given = _entities(img.file), _entities(table)
        key = _disagreement(own, given)
        if key is not None:
            raise ValueError(
                f"{img.file} and {os.fspath(table)} disagree in {key}: {own[key]} and "
                f"{given[key]}; give the {what} of these images"
            )


def _entities(path):
    """Return what a name tells, of a DataFrame or an image without a file nothing."""
    return loose_entities(path) if isinstance(path, (str, os.PathLike)) else {}


def _disagreement(first, second):
    """Return the first entity in which two names disagree, runs as numbers, or None."""
    for key in _COMPARED:
        if key in first and key in second:
            one, two = first[key].casefold(), second[key].casefold()
            if key == "run":
                one, two = label_key(one), label_key(two)
            if one != two:
                return key
    return None


def _only_order(images, tables):
    """Return the table of each image if each has exactly one, and no two the same."""
    order = []
    for image in images:
        fitting = [j for j, t in enumerate(tables) if not _disagreement(image, t)]
        if len(fitting) != 1:
            return None
        order += fitting
    return order if len(set(order)) == len(order) else None


def refuse_same(values, names, remedy):
    """Raise if a file, or a table in memory, is given twice."""
    seen: dict[Any, str] = {}
    for value, name in zip(values, names, strict=True):
        if value is None:
            continue
        is_file = isinstance(value, (str, os.PathLike))
        key = os.path.realpath(value) if is_file else id(value)
        if key in seen:
            kind = "file" if is_file else "table"
            raise ValueError(f"{name} is the same {kind} as {seen[key]}; {remedy}")
        seen[key] = name


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
    """Return the labels that entities must have, a tuple by key; None is no label.

    `filters` is a dict of labels, or texts key=label, and comes before the JSON `file`,
    which holds such a dict or fMRIPrep's (its entry "bold").
    """
    several = isinstance(filters, (list, tuple))
    of_texts = several and all(isinstance(each, str) for each in filters)
    own = _of_texts(filters) if of_texts else filters
    if not isinstance(own, Mapping | None):
        raise ValueError(
            f"filters={brief(filters)} must be a dict of labels by entity, such as "
            '{"desc": "denoised"}, or texts (--filter desc=denoised)'
        )
    given = ({} if file is None else _of_file(file)) | dict(own or {})
    return {_LONG.get(key, key): _labels(key, value) for key, value in given.items()}


def filter_texts(filters):
    """Return filters, as ``read_filters`` returns them, as its texts."""
    return [f"{key}={label or ''}" for key in filters for label in filters[key]]


def _of_texts(texts):
    """Return a dict of lists of labels from texts key=label."""
    filters: dict[str, list] = {}
    for text in texts:
        key, equals, label = text.partition("=")
        if not (key and equals):
            raise ValueError(
                f"filters (--filter): {text!r} must be an entity and its label, such "
                "as desc=denoised, or echo= for images without an echo"
            )
        filters.setdefault(key, []).append(label or None)
    return filters


def _of_file(file):
    """Return the dict of a JSON file of filters."""
    example = 'write {"bold": {"desc": "denoised"}}'
    try:
        content = json.loads(Path(file).expanduser().read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ValueError(
            f"filter_file (--filter-file) {file} cannot be read as JSON ({error}); "
            f"{example}"
        ) from error
    if isinstance(content, dict) and isinstance(content.get(_IMAGES), dict):
        content = content[_IMAGES]
    values = content.values() if isinstance(content, dict) else [{}]
    if any(isinstance(value, dict) for value in values):
        raise ValueError(
            f"filter_file (--filter-file) {file} has no filters of {_IMAGES} images; "
            f"{example}"
        )
    return {key: value for key, value in content.items() if key not in _OF_FILES}


def _labels(key, value):
    """Return the labels of a filter as text, None for no label."""
    values = value if isinstance(value, (list, tuple)) else [value]
    plain = all(v is None or isinstance(v, str) or is_integer(v) for v in values)
    usable = isinstance(key, str) and key.isalpha() and key not in ("sub", "subject")
    if not (values and plain and usable):
        raise ValueError(
            f"filters (--filter): {key!r}: {value!r} is no entity with labels; give "
            "keys of file names (desc, echo, rec, part, res, run ...) with text, "
            "numbers, lists of these, or None (participants have an option of their "
            "own)"
        )
    return tuple(None if each is None else str(each) for each in values)
