"""The Brain Imaging Data Structure: read file names, describe a data set."""

import json
import os
import re
import uuid
from pathlib import Path

import neuroextrap

# fmt: off
ENTITIES = (
    "sub", "ses", "sample", "task", "tracksys", "acq", "nuc", "voi", "ce", "trc",
    "stain", "rec", "dir", "run", "mod", "echo", "flip", "inv", "mt", "part",
    "proc", "hemi", "space", "split", "recording", "chunk", "seg", "res", "den",
    "label",
)
# fmt: on
"""Keys in the order in which they stand in a file name, ``desc`` after all others."""

DESCRIPTION = "dataset_description.json"
_VERSION = "1.8.0"
_PAIR = re.compile(r"([a-z]+)-([A-Za-z0-9+]+)")
_SUFFIX = re.compile(r"[A-Za-z0-9]+")


def file_entities(path):
    """Read the entities of a BIDS file name.

    Parameters
    ----------
    path : path-like
        Only the last part is looked at; the file need not exist.

    Returns
    -------
    dict of str to str, or None
        Label by key, as they stand. None when the name is no BIDS name of a subject:
        ``sub-<label>``, further ``key-label`` pairs with no key twice, a suffix and an
        extension.

    References
    ----------
    Gorgolewski et al. 2016, "The brain imaging data structure", Scientific Data 3;
    specification, "Filenames".

    Examples
    --------
    >>> from neuroextrap.maps._bids import file_entities
    >>> file_entities("data/sub-01_task-objects_run-2_bold.nii.gz")
    {'sub': '01', 'task': 'objects', 'run': '2'}
    >>> file_entities("sub-01.nii.gz") is None
    True
    """
    stem, dot, extension = Path(path).name.partition(".")
    *pairs, suffix = stem.split("_")
    found = [_PAIR.fullmatch(pair) for pair in pairs]
    if not (dot and extension and found and all(found) and _SUFFIX.fullmatch(suffix)):
        return None
    entities = dict(match.groups() for match in found)
    if len(entities) < len(found) or found[0].group(1) != "sub":
        return None
    return entities


def shared_entities(paths):
    """Find the entities that all of several BIDS files have in common.

    Parameters
    ----------
    paths : sequence of path-like
        Inputs of one analysis.

    Returns
    -------
    dict of str to str, or None
        In BIDS order, ``desc`` last; entities that differ, or that some lack, are left
        out. None when a name is no BIDS name, or there is none.

    Examples
    --------
    >>> from neuroextrap.maps._bids import shared_entities
    >>> runs = [f"sub-01_task-x_run-{i}_space-T1w_bold.nii.gz" for i in (1, 2)]
    >>> shared_entities(runs)
    {'sub': '01', 'task': 'x', 'space': 'T1w'}
    >>> shared_entities([*runs, "bold.nii.gz"]) is None
    True
    """
    found = [file_entities(path) for path in paths]
    if not found or None in found:
        return None
    first, *others = found
    shared = {
        key: label
        for key, label in first.items()
        if all(other.get(key) == label for other in others)
    }
    return in_order(shared)


def in_order(entities):
    """Sort entities as they stand in a file name; unknown ones before ``desc``.

    Parameters
    ----------
    entities : dict of str to str

    Returns
    -------
    dict of str to str

    Raises
    ------
    ValueError
        When a key or a label has other characters than BIDS allows.
    """
    for pair in entities.items():
        if not _PAIR.fullmatch("-".join(pair)):
            raise ValueError(
                f"bids: {pair[0]}-{pair[1]} is no entity; keys are lower-case letters, "
                "labels letters, digits and +"
            )
    known = {key: place for place, key in enumerate(ENTITIES)} | {"desc": 1000}
    return dict(sorted(entities.items(), key=lambda pair: known.get(pair[0], 999)))


def check_dataset(root, *, overwrite):
    """Refuse a folder that is no data set of this package's own.

    Parameters
    ----------
    root : pathlib.Path
        Folder that exists.
    overwrite : bool
        Whether it may hold something without a description.

    Raises
    ------
    ValueError
        If it describes itself as somebody else's data, or is not empty and does not
        describe itself.
    """
    path = root / DESCRIPTION
    if not path.is_file():
        if any(root.iterdir()) and not overwrite:
            raise ValueError(
                f"output folder {root} is not empty and has no {DESCRIPTION}; use "
                "overwrite=True (--overwrite) or choose another"
            )
        return
    about = _read(path)
    makers = about.get("GeneratedBy") or []
    names = [maker.get("Name") for maker in makers if isinstance(maker, dict)]
    if about.get("DatasetType") != "derivative" or "neuroextrap" not in names:
        raise ValueError(
            f"output folder {root} holds the data set {about.get('Name')!r}, not made "
            f"by neuroextrap; choose another, such as {root}/derivatives/neuroextrap"
        )


def describe_dataset(root, sources=()):
    """Write ``dataset_description.json``, unless it is there.

    Parameters
    ----------
    root : path-like
        Top folder of the derivatives; created when missing.
    sources : sequence of path-like, default=()
        Files that were analyzed; the DOI of the data set that each belongs to is named
        where that data set tells it.

    Returns
    -------
    pathlib.Path
        The file.

    Examples
    --------
    >>> import json, tempfile
    >>> from neuroextrap.maps._bids import describe_dataset
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     about = json.loads(describe_dataset(folder).read_text())
    >>> about["DatasetType"], about["GeneratedBy"][0]["Name"]
    ('derivative', 'neuroextrap')
    """
    root = Path(root).expanduser()
    path = root / DESCRIPTION
    if path.is_file():
        return path
    about = {
        "Name": "neuroextrap: identification of stimuli, maps of regions",
        "BIDSVersion": _VERSION,
        "DatasetType": "derivative",
        "GeneratedBy": [{"Name": "neuroextrap", "Version": neuroextrap.__version__}],
    }
    dois = sorted({doi for file in sources if (doi := _doi(file))})
    if dois:
        about["SourceDatasets"] = [{"DOI": doi} for doi in dois]
    root.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".partial-{uuid.uuid4().hex}")
    partial.write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")
    os.replace(partial, path)
    return path


def _doi(file):
    """DOI of the data set that a file belongs to, or None."""
    for folder in Path(file).absolute().parents:
        path = folder / DESCRIPTION
        if path.is_file():
            doi = _read(path).get("DatasetDOI")
            return doi if isinstance(doi, str) and doi else None
    return None


def _read(path):
    """Return a description, empty when it is damaged."""
    try:
        about = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        return {}
    return about if isinstance(about, dict) else {}
