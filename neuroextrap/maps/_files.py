"""Maps on disk: one image and one JSON sidecar each, all or nothing."""

from __future__ import annotations

import itertools
import os
from os import PathLike
from pathlib import Path

from neuroextrap.design._findings import Finding
from neuroextrap.images._maskers import load_image, save_image
from neuroextrap.maps._provenance import file_hash, json_text, read_json
from neuroextrap.maps._result_files import ResultFiles
from neuroextrap.maps._transaction import (
    PROVENANCE_FILE,
    finish_interrupted,
    replaced_results,
)
from neuroextrap.stats._label_checks import plain_types_checked

MAPS_FILE = "maps.json"
"""Plain name of the list of maps."""
_NEEDED = ("description", "unit")
_RECORDS = (
    PROVENANCE_FILE,
    "*desc-provenance_stat.json",
    "*desc-*Provenance_stat.json",
)


def describe_map(record, origin, *, n_classes=None):
    """Return the sidecar of a map: what its record says, and its provenance.

    A chance level that depends on the number of classes is null without `n_classes`.
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
    """Check that results can go to a folder (see ResultFiles.check), and return it."""
    files = ResultFiles.below(directory, bids)
    files.check(overwrite=overwrite)
    return files.root


def write_maps(
    directory,
    images,
    sidecars,
    *,
    bids=None,
    provenance=None,
    more=None,
    run=None,
    **places,
):
    """Write maps and sidecars, all or none, by the same names; return sidecars' paths.

    `more` are further files, functions that write to a path by plain name, with which
    there may be no images; `run` names the run in the list of maps, `places` are
    options of :func:`replaced_results`.
    """
    files = ResultFiles.below(directory, bids)
    check_maps(images, sidecars, files)
    with replaced_results([(files, provenance or {})], **places) as [staging]:
        if images:
            stage_maps(staging, images, sidecars, files, run)
        for name, write in (more or {}).items():
            write(staging / name)
    return {name: files.path(f"{name}.json") for name in images}


def check_maps(images, sidecars, files):
    """Raise unless maps and sidecars can be written to ResultFiles by their names."""
    by_file: dict[str, str] = {}
    for name in images:
        _check_name(name)
        other = by_file.setdefault(files.name(f"{name}.json"), name)
        if other != name:
            raise ValueError(
                f"images: {other!r} and {name!r} have the same BIDS label; rename one"
            )
        missing = [key for key in _NEEDED if not sidecars[name].get(key)]
        if missing:
            raise ValueError(
                f"sidecars[{name!r}] lacks {missing}; make it with describe_map"
            )
        json_text(f"sidecars[{name!r}]", sidecars[name])


def stage_maps(folder, images, sidecars, files, run=None):
    """Write images, sidecars and the list of maps of a `run` under plain names."""
    listed = {}
    for name, img in images.items():
        about = sidecars[name]
        if files.bids is not None:  # with the keys that BIDS knows
            bids_keys = {"Description": about["description"], "Units": about["unit"]}
            about = bids_keys | about
        text = json_text(f"sidecars[{name!r}]", about)
        roles = save_image(img, folder, name)
        (folder / f"{name}.json").write_text(text, encoding="utf-8")
        plain = [*roles.values(), f"{name}.json"]
        listed[name] = {
            "files": {role: files.name(file) for role, file in roles.items()},
            "sidecar": files.name(f"{name}.json"),
            "sha256": {files.name(file): file_hash(folder / file) for file in plain},
        }
    text = json_text(MAPS_FILE, {"run": run, "maps": listed})
    (folder / MAPS_FILE).write_text(text, encoding="utf-8")


@plain_types_checked
def read_maps(directory: str | PathLike) -> dict:
    """Read the maps that an analysis wrote.

    Parameters
    ----------
    directory : path-like
        Folder of the maps, or one above it, or the list of maps (``maps.json``, or
        under its BIDS name) itself.

    Returns
    -------
    maps : dict of str to nibabel.Nifti1Image or nilearn.surface.SurfaceImage
        Every map by its name, data in memory. Attributes ``parameters`` (dict) and
        ``findings_`` (list) hold what was requested, and what is doubtful about the
        maps; reports of the maps say so.

    Raises
    ------
    ValueError
        If there is no ``maps.json`` or several, it is damaged, or a map or its sidecar
        is missing, damaged, or not the one that was written.

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
    maps, folder = _ReadMaps(), files.folder
    for name, entry in _listed_maps(files).items():
        for file in (*entry["files"].values(), entry["sidecar"]):
            check_hash(folder / file, entry["sha256"][file], f"map {name!r}")
        maps[name] = load_image(folder, entry["files"])
        maps.note(read_json(folder / entry["sidecar"], "write the maps again"))
    return maps


class _ReadMaps(dict):
    """Maps by name, with what their sidecars say of how they were made."""

    def __init__(self):
        super().__init__()
        self.parameters, self.findings_ = {}, []

    def note(self, sidecar):
        """Keep the parameters of a map, and findings that touch it."""
        self.parameters |= sidecar.get("parameters") or {}
        for entry in sidecar.get("findings") or ():
            fields = {**entry, "maps": tuple(entry["maps"])}
            finding = Finding._make(fields[field] for field in Finding._fields)
            if finding not in self.findings_:
                self.findings_.append(finding)


def check_hash(path, sha256, what):
    """Raise ValueError unless a file, of the results `what`, is there and unchanged."""
    if not path.is_file():
        raise ValueError(f"{what}: no file {path}; write the results again")
    if file_hash(path) != sha256:
        raise ValueError(
            f"{what}: {path} is not the file that was written with these results (it "
            "was changed, or belongs to another run); write the results again"
        )


def check_results(paths):
    """Raise ValueError if a file is not the one that the record beside it lists.

    What killed runs left in part is completed first.
    """
    places = [Path(path).absolute() for path in paths]
    places += [Path(os.path.realpath(path)) for path in places]  # where links lead
    folders = dict.fromkeys(path.parent for path in places)
    for folder in folders:
        finish_interrupted(folder)
    hashes: dict[Path, str] = {}
    for folder, name in itertools.product(folders, _RECORDS):
        for record in folder.glob(name):
            files = read_json(record).get("files")
            listed = files if isinstance(files, dict) else {}
            hashes |= {folder / file: sha256 for file, sha256 in listed.items()}
    for path in dict.fromkeys(places):
        if hashes.get(path) is not None:
            check_hash(path, hashes[path], path.name)


def _check_name(name):
    """Check that the name of a map can be that of a file."""
    if not (isinstance(name, str) and name.replace("-", "_").isidentifier()):
        raise ValueError(
            f"images: {name!r} cannot be a file name; use letters, digits, _ and -"
        )
    if name in ("maps", "mesh"):
        raise ValueError(f"images: the name {name!r} is taken; choose another")


def _listed_maps(files):
    """Return the list of maps in a folder: files, sidecar and hashes by name."""
    path, remedy = files.path(MAPS_FILE), "write the maps again"
    maps = read_json(path, remedy).get("maps")
    try:
        listed = [
            ({*entry["files"].values(), entry["sidecar"]}, {*entry["sha256"]})
            for entry in maps.values()
        ]
    except (KeyError, TypeError, AttributeError) as error:
        wrong = type(error).__name__
        raise ValueError(f"{path} is damaged ({wrong}); {remedy}") from error
    if any(Path(file).name != file for pair in listed for file in set.union(*pair)):
        raise ValueError(f"{path} is damaged (files elsewhere); {remedy}")
    if any(used - on_record for used, on_record in listed):
        raise ValueError(f"{path} is damaged (files without a hash); {remedy}")
    return maps
