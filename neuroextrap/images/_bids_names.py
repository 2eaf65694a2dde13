"""BIDS file names: the entities that they carry."""

import re
from pathlib import Path

PAIR = re.compile(r"([a-z]+)-([A-Za-z0-9+]+)")
_SUFFIX = re.compile(r"[A-Za-z0-9]+")


def file_entities(path):
    """Read the entities of a BIDS file name, label by key; None when it is none.

    Only the last part of `path` is looked at. A BIDS name of a subject has
    ``sub-<label>``, further ``key-label`` pairs with no key twice, a suffix and an
    extension (Gorgolewski et al. 2016, Scientific Data 3; specification, "Filenames").

    >>> file_entities("data/sub-01_task-objects_run-2_bold.nii.gz")
    {'sub': '01', 'task': 'objects', 'run': '2'}
    """
    stem, dot, extension = Path(path).name.partition(".")
    *pairs, suffix = stem.split("_")
    matches = [PAIR.fullmatch(pair) for pair in pairs]
    whole = matches and all(matches) and _SUFFIX.fullmatch(suffix)
    if not (dot and extension and whole):
        return None
    entities = dict(match.groups() for match in matches)
    if len(entities) < len(matches) or matches[0].group(1) != "sub":
        return None
    return entities


def loose_entities(path):
    """Read the ``key-label`` pairs of any file name, keys in lower case.

    The subject and the session may also stand in the names of folders. Names that BIDS
    would refuse are read too: this serves to find disagreement, not to name files.

    >>> loose_entities("sub-01/ses-2/Run-03_events.tsv")
    {'run': '03', 'ses': '2', 'sub': '01'}
    """
    path = Path(path)
    found = {}
    for piece in path.name.partition(".")[0].split("_"):
        match = PAIR.fullmatch(_lower_key(piece))
        if match:
            found.setdefault(*match.groups())
    for folder in reversed(path.parts[:-1]):
        match = PAIR.fullmatch(_lower_key(folder))
        if match and match.group(1) in ("sub", "ses"):
            found.setdefault(*match.groups())
    return found


def _lower_key(piece):
    """Return a pair with its key in lower case."""
    key, dash, label = piece.partition("-")
    return f"{key.lower()}{dash}{label}"
