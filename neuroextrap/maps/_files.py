"""Maps on disk: one image and one JSON sidecar each, all or nothing."""

import json
import os
import platform
import shutil
import tempfile
from importlib import metadata
from pathlib import Path

import numpy as np

from neuroextrap.images import array_hash, load_image, save_image

_MANIFEST = "maps.json"
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
    >>> from neuroextrap.maps import describe_map
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


def check_output_directory(directory, *, overwrite=False):
    """Refuse a folder that results cannot or should not go to.

    Nothing is created or changed, so that a long analysis can check first.

    Parameters
    ----------
    directory : path-like
        The folder; it may not exist yet.
    overwrite : bool, default=False
        Whether it may already hold something.

    Returns
    -------
    pathlib.Path
        The folder.

    Raises
    ------
    ValueError
        If it is a file, is not empty and ``overwrite`` is False, or it (or the folder
        it would be created in) is not writable.

    Examples
    --------
    >>> import tempfile
    >>> from neuroextrap.maps import check_output_directory
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     check_output_directory(f"{folder}/maps").name
    'maps'
    """
    directory = Path(directory).expanduser()
    if not directory.exists():
        parent = next(p for p in directory.absolute().parents if p.exists())
        if not parent.is_dir() or not _writable(parent):
            raise ValueError(
                f"output folder {directory} cannot be created, {parent} is not a "
                "writable folder; choose another"
            )
        return directory
    if not directory.is_dir():
        raise ValueError(
            f"output folder {directory} is a file; choose another name or remove it"
        )
    if not overwrite and any(directory.iterdir()):
        raise ValueError(
            f"output folder {directory} is not empty; use overwrite=True (--overwrite) "
            "or choose another"
        )
    if not _writable(directory):
        raise ValueError(
            f"output folder {directory} is not writable; choose another or change its "
            "permissions"
        )
    return directory


def write_maps(directory, images, sidecars, *, overwrite=False):
    """Write maps as floating-point images, each with a JSON sidecar.

    Everything is first written to a temporary folder beside (or, when it exists, in)
    the output folder and moved into place file by file at the end: a failure leaves the
    folder as it was, and no file is ever half there. With ``overwrite`` the maps of an
    earlier call are removed, other files are left alone.

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

    Returns
    -------
    dict of str to pathlib.Path
        Sidecar of every map. ``maps.json`` lists maps and files.

    Raises
    ------
    TypeError
        If an image is not floating point, or a sidecar holds what JSON cannot.
    ValueError
        If names are not usable as file names, images and sidecars do not match, a
        sidecar lacks ``description`` or ``unit``, or the folder is not usable (see
        ``check_output_directory``).

    Examples
    --------
    >>> import tempfile, numpy as np, nibabel
    >>> from neuroextrap.maps import describe_map, read_maps, write_maps
    >>> img = nibabel.Nifti1Image(np.full((2, 2, 2), 0.002), np.eye(4))
    >>> about = {"p_value": describe_map("Permutation p.", "probability")}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = write_maps(folder, {"p_value": img}, about)
    ...     float(read_maps(folder)["p_value"].get_fdata().max())
    0.002
    """
    directory = check_output_directory(directory, overwrite=overwrite)
    _check_names(images, sidecars)
    texts = {name: _to_json(name, sidecars[name]) for name in images}
    stale = _files_of_manifest(directory)
    beside = directory if directory.is_dir() else directory.absolute().parent
    beside.mkdir(parents=True, exist_ok=True)
    partial = Path(tempfile.mkdtemp(prefix=".neuroextrap-partial-", dir=beside))
    try:
        _write_all(partial, images, texts)
        directory.mkdir(exist_ok=True)
        for path in sorted(partial.iterdir(), key=lambda p: p.name == _MANIFEST):
            os.replace(path, directory / path.name)
            stale.discard(path.name)
        for name in stale:
            (directory / name).unlink(missing_ok=True)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return {name: directory / f"{name}.json" for name in images}


def read_maps(directory):
    """Read the maps that ``write_maps`` wrote.

    Parameters
    ----------
    directory : path-like
        The folder.

    Returns
    -------
    dict of str to nibabel.Nifti1Image or nilearn.surface.SurfaceImage
        Map by name, data in memory.

    Raises
    ------
    ValueError
        If there is no ``maps.json``, it is damaged, or a map is missing or damaged.

    Examples
    --------
    >>> import tempfile, numpy as np, nibabel
    >>> from neuroextrap.maps import describe_map, read_maps, write_maps
    >>> img = nibabel.Nifti1Image(np.ones((2, 2, 2)), np.eye(4))
    >>> about = {"accuracy": describe_map("Accuracy.", "proportion correct")}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = write_maps(folder, {"accuracy": img}, about)
    ...     list(read_maps(folder))
    ['accuracy']
    """
    directory = Path(directory).expanduser()
    manifest = _manifest(directory)
    if manifest is None:
        raise ValueError(
            f"{directory} holds no {_MANIFEST}; give a folder that write_maps wrote"
        )
    return {
        name: load_image(directory, entry["files"]) for name, entry in manifest.items()
    }


def _writable(folder):
    """Tell whether files can be created in a folder."""
    return os.access(folder, os.W_OK | os.X_OK)


def _check_names(images, sidecars):
    """Refuse names that are no file names, and maps without a description."""
    for name in images:
        if not (isinstance(name, str) and name.replace("-", "_").isidentifier()):
            raise ValueError(
                f"images: {name!r} cannot be a file name; use letters, digits, _ and -"
            )
        if name == Path(_MANIFEST).stem or name == "mesh":
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


def _write_all(folder, images, texts):
    """Write images, sidecars and the list of them."""
    manifest = {}
    for name, img in images.items():
        files = save_image(img, folder, name)
        (folder / f"{name}.json").write_text(texts[name], encoding="utf-8")
        manifest[name] = {"files": files, "sidecar": f"{name}.json"}
    text = _to_json(_MANIFEST, {"maps": manifest})
    (folder / _MANIFEST).write_text(text, encoding="utf-8")


def _manifest(directory):
    """Return the list of maps in a folder, or None without one."""
    path = directory / _MANIFEST
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


def _files_of_manifest(directory):
    """Names of the files of an earlier call."""
    files = set()
    for entry in (_manifest(directory) or {}).values():
        files |= {*entry["files"].values(), entry["sidecar"]}
    return files


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
