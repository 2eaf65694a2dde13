"""Where results come from: BIDS data sets, files, hashes, the call."""

import functools
import hashlib
import json
import os
import platform
import uuid
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

import neuroextrap
from neuroextrap.images._bids_names import PAIR, file_entities
from neuroextrap.images._caching import image_hash, is_image
from neuroextrap.images._opening import is_surface_image
from neuroextrap.margins.running._checkpoint import array_hash, described

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
_MAKER = {"Name": "neuroextrap", "Version": neuroextrap.__version__}

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


@contextmanager
def replaced_file(path):
    """Yield a path beside a file, which takes its place when the block ends well."""
    partial = path.with_name(f".partial-{uuid.uuid4().hex}")
    try:
        yield partial
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


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
    with replaced_file(path) as partial:
        partial.write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")
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
        "GeneratedBy": [_MAKER],
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
        return read_json(path)
    except ValueError:
        return {}


_PACKAGES = ("neuroextrap", "numpy", "scipy", "scikit-learn", "nibabel", "nilearn")


@dataclass(frozen=True)
class SourceFile:
    """A file as it was when it was read; it is hashed later, if at all."""

    path: str
    stamp: tuple | None

    @classmethod
    def of(cls, path):
        """Note the state of a file."""
        return cls(os.fspath(path), _file_stamp(path))

    def described(self):
        """Return name and hash; one that was changed since has no hash, and says so."""
        changed = _file_stamp(self.path) != self.stamp
        about = describe_file(self.path, hashed=not changed)
        return about | {"changed_since_it_was_read": True} if changed else about


@dataclass(frozen=True)
class Origin:
    """What results were made of, and how.

    `sources` has the files by role, SourceFiles or what :func:`describe_file` returned,
    `samples` the options by which samples were made of them. Both are the same for
    equal runs, and stand in every sidecar; `record`, such as the command, in
    ``provenance.json`` only. `parameters` could not be restored from a folder.
    """

    sources: dict = field(default_factory=dict)
    samples: dict = field(default_factory=dict)
    record: dict = field(default_factory=dict)
    parameters: dict = field(default_factory=dict)

    @property
    def paths(self):
        """Paths of the files that were analyzed."""
        listed = [file for files in self.sources.values() for file in files]
        return [file.path for file in listed if isinstance(file, SourceFile)]

    def names(self, role):
        """Return the names of the files of a role, without folders."""
        files = self.sources.get(role, [])
        paths = [f.path if isinstance(f, SourceFile) else f["file"] for f in files]
        return [Path(path).name for path in paths]

    def sidecar(self):
        """Return what sidecars say of sources and samples, in BIDS keys too."""
        sources = {
            role: [f.described() if isinstance(f, SourceFile) else f for f in files]
            for role, files in self.sources.items()
            if files
        }
        named = [
            f"bids:{SOURCE_LINK}:{f['file']}" if f.get("in_dataset") else f["file"]
            for files in sources.values()
            for f in files
        ]
        return {
            "sources": sources,
            "samples": described_value(self.samples),
            "Sources": named,
            "GeneratedBy": [_MAKER],
        }


def versions():
    """Return the versions of Python and of the packages that results depend on."""
    return dict(_versions())


@functools.cache
def _versions():
    packages = {package: metadata.version(package) for package in _PACKAGES}
    return {"python": platform.python_version(), **packages}


def provenance(*, parameters=None, inputs=None, random_state=None):
    """Return where maps come from: parameters, SHA-256 of inputs, seed and versions."""
    return {
        "parameters": described_value(dict(parameters or {})),
        "input_sha256": {name: array_hash(a) for name, a in (inputs or {}).items()},
        "random_state": described_value(random_state),
        "versions": versions(),
    }


def described_value(value):
    """Return what a parameter is, in JSON values: no memory addresses, no paths."""
    return described(value, _special)


def file_hash(path):
    """Return the SHA-256 of a file as 64 hexadecimal digits; it is read in pieces."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _file_stamp(path):
    """Return what distinguishes two states of a file; None if it cannot be read."""
    with suppress(OSError):
        status = os.stat(path)
        return status.st_size, status.st_mtime_ns, status.st_ino
    return None


@functools.lru_cache(maxsize=4096)
def _hash_of_state(path, _stamp):
    """Return the SHA-256 of a file; one whose stamp has not changed is read once."""
    return file_hash(path)


def describe_file(path, *, hashed=True):
    """Return name (in a BIDS data set, path) and SHA-256 of a file, None if unknown."""
    path = Path(path).expanduser()
    dataset = dataset_of(path)
    name = path.name
    if dataset is not None:
        name = path.absolute().relative_to(dataset).as_posix()
    sha256 = None
    with suppress(OSError):
        if hashed:
            sha256 = _hash_of_state(os.path.abspath(path), _file_stamp(path))
    about = {"file": name, "sha256": sha256}
    return about if dataset is None else {**about, "in_dataset": True}


def relative_words(words):
    """Return the words of a command, paths relative to the working folder, or names."""
    return [_relative_word(str(word)) for word in words]


def _relative_word(word):
    """Shorten the path that a word is, or that follows its ``=``."""
    option, equals, value = word.partition("=")
    if equals and option.startswith("--"):
        return f"{option}={_relative_word(value)}"
    path = Path(word).expanduser() if word[:1] in ("/", "~") else Path(word)
    if not path.is_absolute():
        return word
    here = Path.cwd()
    inside = path.is_relative_to(here)
    return path.relative_to(here).as_posix() if inside else path.name


def _special(value):
    """Describe images and files; None for anything else."""
    if isinstance(value, os.PathLike) or _is_file_name(value):
        path = Path(value).expanduser()
        return describe_file(path) if path.is_file() else path.name
    if not is_image(value):
        return None
    kind = "surface" if is_surface_image(value) else "volume"
    return {"image": kind, "sha256": image_hash(value)}


def _is_file_name(value):
    """Return whether a text is the path of a file, or an absolute path."""
    if not isinstance(value, str) or len(value) > 4096 or "\n" in value:
        return False
    if os.path.isabs(value) or value.startswith("~"):
        return True
    return any(sign in value for sign in "/.") and os.path.isfile(value)


def json_text(name, value):
    """Return JSON text, numbers that are not finite null; TypeError names the value."""
    try:
        return json.dumps(_plain(value), indent=2, allow_nan=False) + "\n"
    except TypeError as error:
        raise TypeError(
            f"{name} cannot be written as JSON ({error}); use numbers, text, lists and "
            "dicts"
        ) from error


def read_json(path, remedy="write the results again"):
    """Return the dict of a JSON file; ValueError with the remedy when it is damaged."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is damaged (no JSON); {remedy}") from error
    if not isinstance(value, dict):
        raise ValueError(f"{path} is damaged (no JSON object); {remedy}")
    return value


def _plain(value):
    """Turn numpy values into Python's, what is not finite into None."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, (np.ndarray, np.generic)):
        return _plain(value.tolist())
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value
