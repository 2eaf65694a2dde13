"""Maps on disk: one image and one JSON sidecar each, all or nothing."""

import json
import os
import platform
import shutil
import tempfile
from importlib import metadata
from pathlib import Path

import numpy as np

from neuroextrap.images._saving import load_image, save_image
from neuroextrap.maps._result_files import ResultFiles
from neuroextrap.margins._array_hash import array_hash

MAPS_FILE = "maps.json"
"""Plain name of the list of maps."""
_PACKAGES = ("neuroextrap", "numpy", "scipy", "scikit-learn", "nibabel", "nilearn")
_NEEDED = ("description", "unit")


def provenance(*, parameters=None, inputs=None, random_state=None):
    """Return where maps come from: parameters, inputs, seed and versions.

    Arrays in the dict `inputs` are kept as their SHA-256, not as values.
    """
    versions = {"python": platform.python_version()}
    for package in _PACKAGES:
        versions[package] = metadata.version(package)
    return {
        "parameters": dict(parameters or {}),
        "input_sha256": {name: array_hash(a) for name, a in (inputs or {}).items()},
        "random_state": random_state,
        "versions": versions,
    }


def describe_map(record, origin, *, n_classes=None):
    """Return the sidecar of a map: what its record says, and its provenance.

    A chance level that depends on the number of classes is null without `n_classes`.

    >>> from neuroextrap.maps import MAPS
    >>> sidecar = describe_map(MAPS["accuracy"], provenance(), n_classes=8)
    >>> sidecar["unit"], sidecar["chance"], sidecar["tail"]
    ('proportion', 0.125, 'upper')
    """
    unknown = n_classes is None and callable(record.chance)
    chance = None if unknown else record.chance_level(n_classes)
    return {
        "description": record.description,
        "unit": record.unit,
        "chance": None if chance is None else float(chance),
        "tail": record.tail,
        **origin,
    }


def check_output_directory(directory, *, overwrite=False, bids=None):
    """Check that results can go to a folder, and return it; change nothing.

    The folder may not exist yet. Raises ValueError if it is a file, is not empty (with
    the entities `bids`: holds another data set, or files of these entities) and
    `overwrite` is False, or it cannot be written.
    """
    files = ResultFiles.below(directory, bids)
    files.check(overwrite=overwrite)
    return files.root


def write_maps(directory, images, sidecars, *, overwrite=False, bids=None):
    """Write maps as floating-point images, each with a JSON sidecar.

    Everything is first written to a temporary folder in the output folder (or above,
    when it does not exist) and moved into place file by file at the end: a failure
    leaves the folder as it was, and no file is ever half there. With `overwrite` the
    maps of an earlier call (of the same names) are removed, other files left alone.

    `images` and `sidecars` are dicts with the same keys, which become file names;
    sidecars hold at least ``description`` and ``unit``, arrays in them become lists,
    numbers that are not finite null. `bids` is a dict of entities such as ``{"sub":
    "01", "task": "objects"}``, or None for plain names (see :class:`ResultFiles`).
    Returns the path of every sidecar; ``maps.json`` lists maps and files.

    Raises TypeError if an image is not floating point or a sidecar is no JSON, and
    ValueError if names, sidecars or folder cannot be used.
    """
    _check_names(images, sidecars)
    files = ResultFiles.below(directory, bids)
    files.check(overwrite=overwrite)
    _check_labels(images, files)
    texts = {name: _to_json(name, _about(sidecars[name], files)) for name in images}
    stale = _files_of_manifest(files)
    existing = next(p for p in (files.folder / "_").absolute().parents if p.is_dir())
    partial = Path(tempfile.mkdtemp(prefix=".neuroextrap-partial-", dir=existing))
    try:
        _write_all(partial, images, texts, files)
        files.create()
        for path in sorted(partial.iterdir(), key=lambda p: p.name == MAPS_FILE):
            target = files.path(path.name)
            os.replace(path, target)
            stale.discard(target.name)
        for name in stale:
            (files.folder / name).unlink(missing_ok=True)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return {name: files.path(f"{name}.json") for name in images}


def read_maps(directory):
    """Read the maps that an analysis wrote.

    Parameters
    ----------
    directory : path-like
        Folder of the maps, or one above it, or the list of maps (``maps.json``, or
        under its BIDS name) itself.

    Returns
    -------
    maps : dict of str to nibabel.Nifti1Image or nilearn.surface.SurfaceImage
        Every map by its name, data in memory.

    Raises
    ------
    ValueError
        If there is no ``maps.json`` or several, it is damaged, or a map is missing or
        damaged.

    Examples
    --------
    >>> import tempfile
    >>> from neuroextrap.datasets import simulate_brain
    >>> from neuroextrap.decoding import IdentificationSearchLight
    >>> from neuroextrap.maps import read_maps
    >>> brain = simulate_brain(resolution=8, n_classes=3, n_runs=3)
    >>> light = IdentificationSearchLight(brain.masker.mask_img_, radius=10.0)
    >>> light = light.fit(brain.imgs, brain.y, groups=brain.runs)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     light.to_directory(folder)
    ...     maps = read_maps(folder)
    >>> maps["accuracy"].shape == brain.masker.mask_img_.shape
    True
    """
    files = ResultFiles.find(directory, MAPS_FILE)
    if files is None:
        raise ValueError(
            f"{directory} holds no {MAPS_FILE}; give a folder that to_directory or the "
            "command line wrote"
        )
    return {
        name: load_image(files.folder, entry["files"])
        for name, entry in _manifest(files).items()
    }


def _check_names(images, sidecars):
    """Check that names can be file names and that every map is described."""
    for name in images:
        if not (isinstance(name, str) and name.replace("-", "_").isidentifier()):
            raise ValueError(
                f"images: {name!r} cannot be a file name; use letters, digits, _ and -"
            )
        if name == Path(MAPS_FILE).stem or name == "mesh":
            raise ValueError(f"images: the name {name!r} is taken; choose another")
    if not images or images.keys() != sidecars.keys():
        raise ValueError(
            f"images and sidecars must have the same names (at least one), got "
            f"{sorted(images)} and {sorted(sidecars)}"
        )
    for name, sidecar in sidecars.items():
        missing = [key for key in _NEEDED if not sidecar.get(key)]
        if missing:
            raise ValueError(
                f"sidecars[{name!r}] lacks {missing}; make it with describe_map"
            )


def _check_labels(images, files):
    """Check that names differ in letters and digits, all that a BIDS label holds."""
    by_file = {}
    for name in images:
        other = by_file.setdefault(files.name(f"{name}.json"), name)
        if other != name:
            raise ValueError(
                f"images: {other!r} and {name!r} have the same BIDS label; rename one"
            )


def _about(sidecar, files):
    """Return a sidecar, with the keys that BIDS knows where names are BIDS."""
    if files.bids is None:
        return sidecar
    standard = {"Description": sidecar["description"], "Units": sidecar["unit"]}
    return {**standard, **sidecar}


def _write_all(folder, images, texts, files):
    """Write images, sidecars and the list of them, under plain names."""
    manifest = {}
    for name, img in images.items():
        file_names = save_image(img, folder, name)
        (folder / f"{name}.json").write_text(texts[name], encoding="utf-8")
        manifest[name] = {
            "files": {role: files.name(plain) for role, plain in file_names.items()},
            "sidecar": files.name(f"{name}.json"),
        }
    text = _to_json(MAPS_FILE, {"maps": manifest})
    (folder / MAPS_FILE).write_text(text, encoding="utf-8")


def _manifest(files):
    """Return the list of maps in a folder, or None without one."""
    path = files.path(MAPS_FILE)
    if not path.is_file():
        return None
    try:
        maps = json.loads(path.read_text(encoding="utf-8"))["maps"]
        names = [
            [*entry["files"].values(), entry["sidecar"]] for entry in maps.values()
        ]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(
            f"{path} is damaged ({type(error).__name__}); write the maps again"
        ) from error
    if any(Path(file).name != file for files in names for file in files):
        raise ValueError(f"{path} is damaged (files elsewhere); write the maps again")
    return maps


def _files_of_manifest(files):
    """Return the names of the files of an earlier call."""
    names = set()
    for entry in (_manifest(files) or {}).values():
        names |= {*entry["files"].values(), entry["sidecar"]}
    return names


def _to_json(name, value):
    """Return strict JSON text."""
    try:
        return json.dumps(_plain(value), indent=2, allow_nan=False) + "\n"
    except TypeError as error:
        raise TypeError(
            f"sidecars[{name!r}] cannot be written as JSON ({error}); use numbers, "
            "text, lists and dicts"
        ) from error


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
