"""Maps on disk: one image and one JSON sidecar each, all or nothing."""

import json
import os
import platform
import shutil
import tempfile
from importlib import metadata
from pathlib import Path

import numpy as np

from neuroextrap.images._hashes import array_hash
from neuroextrap.images._saving import load_image, save_image
from neuroextrap.maps._result_files import ResultFiles

MAPS_FILE = "maps.json"
"""Plain name of the list of maps."""
_PACKAGES = ("neuroextrap", "numpy", "scipy", "scikit-learn", "nibabel", "nilearn")
_NEEDED = ("description", "unit")


def describe_map(description, unit, *, parameters=None, inputs=None, random_state=None):
    """Say what a map is and where it comes from, for its sidecar.

    Parameters
    ----------
    description : str
        What the numbers are, in a sentence.
    unit : str
        Their unit, such as "bits", "proportion correct", "probability".
    parameters : dict or None, default=None
        Settings of the analysis.
    inputs : dict of str to array-like, or None, default=None
        Arrays the map was computed from; their SHA-256 is kept, not their values.
    random_state : object, default=None
        Seed of the analysis.

    Returns
    -------
    dict
        With ``description``, ``unit``, ``parameters``, ``input_sha256``,
        ``random_state`` and ``versions`` of neuroextrap and what it builds on.

    Examples
    --------
    >>> from neuroextrap.maps._files import describe_map
    >>> about = describe_map("Accuracy.", "proportion correct", inputs={"y": [0, 1]})
    >>> sorted(about)[:3]
    ['description', 'input_sha256', 'parameters']
    """
    versions = {"python": platform.python_version()}
    for package in _PACKAGES:
        versions[package] = metadata.version(package)
    return {
        "description": description,
        "unit": unit,
        "parameters": dict(parameters or {}),
        "input_sha256": {name: array_hash(a) for name, a in (inputs or {}).items()},
        "random_state": random_state,
        "versions": versions,
    }


def check_output_directory(directory, *, overwrite=False, bids=None):
    """Refuse a folder that results cannot or should not go to.

    Nothing is created or changed, so that a long analysis can check first.

    Parameters
    ----------
    directory : path-like
        The folder; it may not exist yet.
    overwrite : bool, default=False
        Whether it may already hold something.
    bids : dict of str to str, or None, default=None
        Entities of BIDS names. Then the folder may hold a data set of this package,
        and without ``overwrite`` no files with the same entities.

    Returns
    -------
    pathlib.Path
        The folder.

    Raises
    ------
    ValueError
        If it is a file, is not empty (BIDS: not ours, or holds such files) and
        ``overwrite`` is False, or it (or the folder it would be created in) is not
        writable; BIDS: if it is a data set that this package did not make.

    Examples
    --------
    >>> import tempfile
    >>> from neuroextrap.maps._files import check_output_directory
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     check_output_directory(f"{folder}/maps").name
    'maps'
    """
    files = ResultFiles.below(directory, bids)
    files.check(overwrite=overwrite)
    return files.root


def write_maps(directory, images, sidecars, *, overwrite=False, bids=None):
    """Write maps as floating-point images, each with a JSON sidecar.

    Everything is first written to a temporary folder in the output folder (or above,
    when it does not exist) and moved into place file by file at the end: a failure
    leaves the folder as it was, and no file is ever half there. With ``overwrite`` the
    maps of an earlier call (of the same names) are removed, other files left alone.

    Parameters
    ----------
    directory : path-like
        The output folder; created when missing.
    images : dict of str to Niimg or SurfaceImage
        Map by name; names become file names.
    sidecars : dict of str to dict
        For every name at least ``description`` and ``unit``, as ``describe_map`` makes
        them. Arrays become lists; numbers that are not finite become null.
    overwrite : bool, default=False
        Whether the folder may already hold something.
    bids : dict of str to str, or None, default=None
        Entities of BIDS names, such as ``{"sub": "01", "task": "objects"}``; None for
        plain names. See :class:`ResultFiles`.

    Returns
    -------
    dict of str to pathlib.Path
        Sidecar of every map. ``maps.json`` lists maps and files.

    Raises
    ------
    TypeError
        If an image is not floating point, or a sidecar holds what JSON cannot.
    ValueError
        If names are not usable as file names (or two have the same BIDS label), images
        and sidecars do not match, a sidecar lacks ``description`` or ``unit``, or the
        folder is not usable (see ``check_output_directory``).

    Examples
    --------
    >>> import tempfile, numpy as np, nibabel
    >>> from neuroextrap.maps import read_maps
    >>> from neuroextrap.maps._files import describe_map, write_maps
    >>> img = nibabel.Nifti1Image(np.full((2, 2, 2), 0.002), np.eye(4))
    >>> about = {"p_value": describe_map("Permutation p.", "probability")}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = write_maps(folder, {"p_value": img}, about)
    ...     float(read_maps(folder)["p_value"].get_fdata().max())
    0.002
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
    """Read the maps that ``write_maps`` wrote.

    Parameters
    ----------
    directory : path-like
        The folder, or one above it, or the list of maps (``maps.json``, or under its
        BIDS name) itself.

    Returns
    -------
    dict of str to nibabel.Nifti1Image or nilearn.surface.SurfaceImage
        Map by name, data in memory.

    Raises
    ------
    ValueError
        If there is no ``maps.json`` or several, it is damaged, or a map is missing or
        damaged.

    Examples
    --------
    >>> import tempfile, numpy as np, nibabel
    >>> from neuroextrap.maps import read_maps
    >>> from neuroextrap.maps._files import describe_map, write_maps
    >>> img = nibabel.Nifti1Image(np.ones((2, 2, 2)), np.eye(4))
    >>> about = {"accuracy": describe_map("Accuracy.", "proportion correct")}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = write_maps(folder, {"accuracy": img}, about)
    ...     list(read_maps(folder))
    ['accuracy']
    """
    files = ResultFiles.find(directory, MAPS_FILE)
    if files is None:
        raise ValueError(
            f"{directory} holds no {MAPS_FILE}; give a folder that write_maps wrote"
        )
    return {
        name: load_image(files.folder, entry["files"])
        for name, entry in _manifest(files).items()
    }


def _check_names(images, sidecars):
    """Refuse names that are no file names, and maps without a description."""
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
    """Refuse names that differ by what a BIDS label cannot hold."""
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
    known = {"Description": sidecar["description"], "Units": sidecar["unit"]}
    return {**known, **sidecar}


def _write_all(folder, images, texts, files):
    """Write images, sidecars and the list of them, under plain names."""
    manifest = {}
    for name, img in images.items():
        written = save_image(img, folder, name)
        (folder / f"{name}.json").write_text(texts[name], encoding="utf-8")
        manifest[name] = {
            "files": {role: files.name(plain) for role, plain in written.items()},
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
    """Names of the files of an earlier call."""
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
