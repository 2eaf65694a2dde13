"""The Brain Imaging Data Structure: read file names, describe a data set."""

import json
import os
import uuid
from pathlib import Path
from typing import Any

import neuroextrap
from neuroextrap.images._bids_names import PAIR, file_entities

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
SOURCE_LINK = "source"
"""Name by which BIDS addresses in results refer to the data set that was analyzed."""
_VERSION = "1.8.0"

# what BIDS has no suffix for yet: statistical maps, their tables, and the report
_IGNORED = """\
*_stat.*
group
*provenance*
"""
_README = """\
Maps of how much every region of a brain tells about a stimulus, made by neuroextrap.

The JSON file beside each map says what it is (Description, Units) and how it was made.
The suffix "stat" is not in the BIDS standard, which has none for such maps yet.
"""
BESIDE = {".bidsignore": _IGNORED, "README": _README}
"""Files beside the description of a data set, and what is in them."""


def shared_entities(paths):
    """Return the entities that files have in common; None if one is no BIDS name."""
    entities = [file_entities(path) for path in paths]
    if not entities or None in entities:
        return None
    first, *others = entities
    shared = {
        key: label
        for key, label in first.items()
        if all(other.get(key) == label for other in others)
    }
    return in_order(shared)


def in_order(entities):
    """Sort entities as they stand in a file name; ValueError for other characters."""
    for key, label in entities.items():
        if not PAIR.fullmatch(f"{key}-{label}"):
            raise ValueError(
                f"bids: {key}-{label} is no entity; keys are lower-case letters, "
                "labels letters, digits and +"
            )
    unknown = [key for key in entities if key not in (*ENTITIES, "desc")]
    ordered = [*ENTITIES, *unknown, "desc"]
    return {key: entities[key] for key in ordered if key in entities}


def check_dataset(root, *, overwrite):
    """Raise ValueError if an existing folder is another program's data set.

    Without `overwrite` also if it holds files without a description.
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
    """Write ``dataset_description.json`` to the folder `root`, unless it is there.

    Of the data sets that the files `sources` belong to, the DOI is named if they state
    it, and a relative path leads to the first of them. Returns the file's path.
    """
    root = Path(root).expanduser()
    path = root / DESCRIPTION
    if path.is_file():
        return path
    about = _description(root, sources)
    root.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".partial-{uuid.uuid4().hex}")
    try:
        partial.write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)
    for name, text in BESIDE.items():
        if not (root / name).exists():
            (root / name).write_text(text, encoding="utf-8")
    return path


def _description(root, sources):
    """Return the description of a data set at `root` made of the files `sources`."""
    about: dict[str, Any] = {
        "Name": "neuroextrap: identification of stimuli, maps of regions",
        "BIDSVersion": _VERSION,
        "DatasetType": "derivative",
        "GeneratedBy": [{"Name": "neuroextrap", "Version": neuroextrap.__version__}],
    }
    datasets = [dataset for file in sources if (dataset := dataset_of(file))]
    dois = [_read(dataset / DESCRIPTION).get("DatasetDOI") for dataset in datasets]
    if dois := sorted({doi for doi in dois if isinstance(doi, str) and doi}):
        about["SourceDatasets"] = [{"DOI": doi} for doi in dois]
    if datasets:
        link = os.path.relpath(datasets[0], root.absolute())
        about["DatasetLinks"] = {SOURCE_LINK: Path(link).as_posix()}
    return about


def dataset_of(file):
    """Return the top folder of the BIDS data set that a file belongs to, or None."""
    for folder in Path(file).absolute().parents:
        if (folder / DESCRIPTION).is_file():
            return folder
    return None


def _read(path):
    """Return a description, empty when it is damaged."""
    try:
        about = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        return {}
    return about if isinstance(about, dict) else {}
