"""Fitted analyses as folders of maps, tables and arrays, with their provenance."""

import json
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from neuroextrap.analysis._region_maps import table_writer
from neuroextrap.analysis._results import RegionResults, read_npz
from neuroextrap.design._findings import findings_about
from neuroextrap.images import resolve_masker
from neuroextrap.images._maskers import mask_of
from neuroextrap.images._opening import files_of
from neuroextrap.maps._files import (
    MAPS_FILE,
    check_hash,
    describe_map,
    read_maps,
    write_maps,
)
from neuroextrap.maps._identification import OF_CURVES
from neuroextrap.maps._provenance import (
    Origin,
    SourceFile,
    file_hash,
    json_text,
    provenance,
    read_json,
    versions,
)
from neuroextrap.maps._records import (
    MapRecord,
    changed_parameters,
    described_parameters,
    flat_parameters,
)
from neuroextrap.maps._registry import record_of
from neuroextrap.maps._result_files import ResultFiles
from neuroextrap.margins.running._checkpoint import class_name, identity_hash


def origin_of(sources, options=None):
    """Return the Origin of data, by role, that came in as images, paths or arrays."""
    files = {role: source_files(value) for role, value in sources.items()}
    return Origin(files, options or {})


def recorded_options(options):
    """Return options of samples as they are put on record: tables as arrays."""
    return {name: _as_array(value) for name, value in options.items()}


def _as_array(value):
    """Return a table as an array, in lists too."""
    if isinstance(value, (list, tuple)):
        return [_as_array(item) for item in value]
    return value.to_numpy() if hasattr(value, "to_numpy") else value


def source_files(value):
    """Return the files behind what came in, SourceFiles, in the state they are in."""
    if isinstance(value, SourceFile):
        return [value]
    if isinstance(value, (list, tuple)):
        return [path for item in value for path in source_files(item)]
    return [SourceFile.of(path) for path in files_of(value)]


BACKGROUND, _MASK = "mean_image", "mask"
_PARTIAL = "partial result: over the regions that are in it only"
_OF_IMAGES = {
    _MASK: MapRecord(_MASK, "Voxels or vertices in the mask (1)", "1"),
    BACKGROUND: MapRecord(
        BACKGROUND,
        "Mean of the images as gray levels, to be drawn under maps",
        "gray levels, 0 to 255",
    ),
}


def maps_and_sidecars(fitted, about):
    """Return the maps, mask and background among them, and their sidecars."""
    results, parameters = fitted.results_, described_parameters(fitted)
    seed = parameters.pop("random_state", None)
    parameters |= {
        "classes": fitted.classes_.tolist(),
        "set_sizes": fitted.set_sizes_.tolist(),
        "notes": list(fitted.notes_),
    }
    origin = provenance(parameters=parameters, inputs={"wins": fitted.wins_})
    run = {"run": identity_hash(results.identity), "identity": results.identity}
    origin |= {"random_state": seed} | run | about
    if results.missing_parts:
        origin["partial"] = {"missing_parts": results.missing_parts}
    further, more_records = fitted.further_maps()
    maps = fitted.maps_ | further | {_MASK: mask_of(fitted.masker_)}
    if fitted.bg_img_ is not None:
        maps[BACKGROUND] = fitted.bg_img_
    records = {name: _record(name, results) for name in fitted.maps_} | more_records
    records |= {name: each for name, each in _OF_IMAGES.items() if name in maps}
    return maps, {
        name: describe_map(
            record,
            origin | {"findings": findings_about(fitted.findings_, name)},
            n_classes=len(fitted.classes_),
        )
        for name, record in records.items()
    }


def call_record(fitted, about):
    """Return how to make the results again, for the record of their provenance."""
    return {
        "run": identity_hash(fitted.results_.identity),
        "parts": [f"{i}/{n}" for i, n in fitted.results_.parts],
        "missing_parts": fitted.results_.missing_parts,
        "call": {"class": class_name(fitted), "parameters": changed_parameters(fitted)},
        **about,
        "versions": versions(),
    }


def _record(name, results):
    """Return the record of a map; of all regions at once, marked where parts miss."""
    record = record_of(name)
    if name in OF_CURVES:
        size = 2 if name == "pairwise_accuracy" else results.set_sizes.min()
        description = record.description + results.trained(size)
        record = replace(record, description=description)
    over_regions = record.simultaneous or name == "p_value_fdr"
    if not (results.missing_parts and over_regions):
        return record
    return replace(record, description=f"{record.description}; {_PARTIAL}")


def _same(plain, value):
    """Return whether JSON values are what was given (arrays as lists, say)."""
    if isinstance(plain, dict):
        return False
    given = value.tolist() if hasattr(value, "tolist") else value
    given = list(given) if isinstance(given, tuple) else given
    try:
        return json.dumps(plain) == json.dumps(given)
    except TypeError:
        return False


_INDEX, _RESULTS, _TABLE = "analysis.json", "results.npz", "table.tsv"
_RUN, _FEATURES = "run.npz", "voxels.tsv"
_NEEDED = {"kind", "run", "parameters", "restored", "classes", "n_elements"}
_NEEDED |= {"has_images", "files"}


class SavedAnalysis(NamedTuple):
    """What a folder holds of a fitted analysis: all but the data."""

    parameters: dict
    results: RegionResults
    classes: np.ndarray
    n_elements: int
    masker: Any
    table: Any
    bg_img: Any
    origin: Origin
    run: dict | None  # arrays, of analyses that keep them


def write_analysis(
    fitted, path, *, overwrite=False, bids=None, origin=None, more=None, elsewhere=None
):
    """Write maps with sidecars, the table, and the arrays to read them back.

    Functions by name in `more` write further files, at the paths in `elsewhere`, if
    any.
    """
    files = ResultFiles.below(path, bids)
    origin = fitted.origin_ if origin is None else origin
    files.check(overwrite=overwrite)  # before files are hashed
    about = origin.sidecar()
    maps, sidecars = {}, {}
    if fitted.masker_ is not None:
        maps, sidecars = maps_and_sidecars(fitted, about)
    written = _arrays_and_tables(fitted) | (more or {})
    written[_INDEX] = partial(_write_index, fitted, about, files)
    places = {"sources": origin.paths, "elsewhere": elsewhere, "overwrite": overwrite}
    record = {**origin.record, **call_record(fitted, about)}
    run = identity_hash(fitted.results_.identity)
    how = {"bids": bids, "provenance": record, "more": written, "run": run}
    write_maps(path, maps, sidecars, **how, **places)


def _arrays_and_tables(fitted):
    """Return what writes the arrays to read an analysis back, and its tables."""
    write: dict = {_RESULTS: fitted.results_.save}
    if fitted.table_ is not None:
        write[_TABLE] = partial(fitted.table_.to_csv, sep="\t", index=False)
    if arrays := fitted.run_arrays():
        write[_RUN] = partial(np.savez, **arrays)
    features = {} if fitted.masker_ is not None else fitted.further_maps()[0]
    if features:  # numbers that are no images
        import pandas as pd

        write[_FEATURES] = table_writer(pd.DataFrame(features))
    return write


def _write_index(fitted, about, files, path):
    """Write what reads an analysis back, with hashes of the files beside it."""
    results, given = fitted.results_, flat_parameters(fitted)
    plain = described_parameters(fitted)
    kept = MAPS_FILE, _RESULTS, _TABLE, _RUN, _FEATURES
    there = [path.with_name(name) for name in kept if path.with_name(name).exists()]
    index = {
        "kind": fitted.kind,
        "run": identity_hash(results.identity),
        "missing_parts": results.missing_parts,
        "parameters": plain,
        # those that JSON holds as they are
        "restored": [n for n, value in plain.items() if _same(value, given[n])],
        "classes": fitted.classes_.tolist(),
        "n_elements": fitted.n_elements_,
        "has_images": fitted.masker_ is not None,
        "origin": {name: about[name] for name in ("sources", "samples")},
        "files": {files.name(each.name): file_hash(each) for each in there},
    }
    path.write_text(json_text(_INDEX, index), encoding="utf-8")


def find_analysis(path):
    """Return the kind of the analysis at or below a path, and its ResultFiles."""
    files = ResultFiles.find(path, _INDEX)
    if files is None or not files.path(_RESULTS).is_file():
        raise ValueError(
            f"{path} holds no {_INDEX}; give a folder that to_directory wrote"
        )
    return _read_index(files)["kind"], files


def read_analysis(path, kind):
    """Read what :func:`write_analysis` wrote; ValueError if a file is another one."""
    written, files = find_analysis(path)
    if written != kind:
        raise ValueError(
            f"{path} holds no {kind!r} analysis, but one of kind {written!r}; read it "
            "with the class that wrote it"
        )
    index, masker, bg_img = _read_index(files), None, None
    for name, sha256 in index["files"].items():
        check_hash(files.folder / Path(name).name, sha256, f"{kind} analysis")
    results, table = RegionResults.load(files.path(_RESULTS)), None
    if identity_hash(results.identity) != index["run"]:
        raise ValueError(
            f"{files.path(_RESULTS)} is of another run than {_INDEX}; write the "
            "results again"
        )
    if index["has_images"]:
        maps = read_maps(files.path(MAPS_FILE))
        masker = resolve_masker(maps[_MASK])
        bg_img = maps.get(BACKGROUND)
    if files.path(_TABLE).is_file():
        import pandas as pd

        table = pd.read_csv(files.path(_TABLE), sep="\t", converters={"name": str})
    origin, parameters = index.get("origin", {}), index["parameters"]
    restored = {name: parameters.pop(name) for name in index["restored"]}
    of_data = origin.get("sources", {}), origin.get("samples", {})
    of_run = read_npz(files.path(_RUN)) if files.path(_RUN).is_file() else None
    made_of = Origin(*of_data, parameters=parameters)
    saved = restored, results, np.array(index["classes"]), index["n_elements"]
    return SavedAnalysis(*saved, masker, table, bg_img, made_of, of_run)


def _read_index(files):
    """Return the dict that the index file holds."""
    path = files.path(_INDEX)
    index = read_json(path)
    missing = sorted(_NEEDED - index.keys())
    if missing or not isinstance(index["files"], dict):
        raise ValueError(
            f"{path} is damaged (it lacks {', '.join(missing or ['files'])}); write "
            "the results again"
        )
    return index
