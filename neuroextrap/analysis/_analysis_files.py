"""Fitted analyses as folders of maps, tables and arrays, with their provenance."""

from pathlib import Path
from typing import Any, NamedTuple
from zipfile import BadZipFile

import numpy as np

from neuroextrap.analysis._results import RegionResults
from neuroextrap.analysis._sidecars import (
    BACKGROUND,
    call_record,
    index_content,
    maps_and_sidecars,
)
from neuroextrap.images import resolve_masker
from neuroextrap.maps._files import (
    MAPS_FILE,
    check_hash,
    check_maps,
    read_maps,
    stage_maps,
)
from neuroextrap.maps._json import json_text, read_json
from neuroextrap.maps._provenance import Origin, file_hash
from neuroextrap.maps._result_files import ResultFiles
from neuroextrap.maps._transaction import replaced_results
from neuroextrap.margins.running._checkpoint import identity_hash

_INDEX, _RESULTS, _TABLE, _MASK = "analysis.json", "results.npz", "table.tsv", "mask"
_RUN, _FEATURES = "run.npz", "voxels.tsv"
_NEEDED = (
    "kind",
    "run",
    "parameters",
    "restored",
    "classes",
    "n_elements",
    "has_images",
    "files",
)


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
    fitted,
    path,
    *,
    overwrite=False,
    bids=None,
    origin=None,
    more=None,
    elsewhere=None,
):
    """Write maps with sidecars, the table, and the arrays to read them back.

    All files take their places together or not at all. `origin` (Origin) says what the
    results were made of, None what the analysis knows of that; `more` is a dict of
    further files, functions that write to a path by plain name (a report, say), of
    which those in `elsewhere`, a dict of paths in the data set, go there.
    ValueError when the folder is not empty, or not writable.
    """
    files = ResultFiles.below(path, bids)
    origin = fitted.origin_ if origin is None else origin
    files.check(overwrite=overwrite)  # before files are hashed
    about = origin.sidecar()
    maps, sidecars = {}, {}
    if fitted.masker_ is not None:
        maps, sidecars = maps_and_sidecars(fitted, about, mask=_MASK)
        check_maps(maps, sidecars, files)
    record = {**origin.record, **call_record(fitted, about)}
    places = {"sources": origin.paths, "elsewhere": elsewhere}
    with replaced_results(
        files, overwrite=overwrite, provenance=record, **places
    ) as folder:
        if maps:
            run = identity_hash(fitted.results_.identity)
            stage_maps(folder, maps, sidecars, files, run)
        fitted.results_.save(folder / _RESULTS)
        if fitted.table_ is not None:
            fitted.table_.to_csv(folder / _TABLE, sep="\t", index=False)
        _write_run(fitted, folder)
        for name, write in (more or {}).items():
            write(folder / name)
        kept = MAPS_FILE, _RESULTS, _TABLE, _RUN, _FEATURES
        checked = [name for name in kept if (folder / name).exists()]
        hashes = {files.name(name): file_hash(folder / name) for name in checked}
        index = index_content(fitted, about) | {"files": hashes}
        text = json_text(_INDEX, index)
        (folder / _INDEX).write_text(text, encoding="utf-8")


def find_analysis(path):
    """Return the kind of the analysis in a folder, and its ResultFiles.

    `path` is the folder, or one above it, or the index file (under its BIDS name).
    ValueError when there is no analysis, or several.
    """
    files = ResultFiles.find(path, _INDEX)
    if files is None or not files.path(_RESULTS).is_file():
        raise ValueError(
            f"{path} holds no {_INDEX}; give a folder that to_directory wrote"
        )
    return _read_index(files)["kind"], files


def read_analysis(path, kind):
    """Read what :func:`write_analysis` wrote of an analysis of this kind.

    ValueError if a file is not the one that was written with the index.
    """
    written, files = find_analysis(path)
    if written != kind:
        raise ValueError(
            f"{path} holds no {kind!r} analysis, but one of kind {written!r}; read it "
            "with the class that wrote it"
        )
    index, masker, bg_img = _read_index(files), None, None
    for name, sha256 in index["files"].items():
        check_hash(files.folder / Path(name).name, sha256, f"{kind} analysis")
    results = _read_results(files.path(_RESULTS))
    if identity_hash(results.identity) != index["run"]:
        raise ValueError(
            f"{files.path(_RESULTS)} is of another run than {_INDEX}; write the "
            "results again"
        )
    if index["has_images"]:
        maps = read_maps(files.path(MAPS_FILE))
        masker = resolve_masker(maps[_MASK])
        bg_img = maps.get(BACKGROUND)
    origin = index.get("origin", {})
    restored = {name: index["parameters"][name] for name in index["restored"]}
    return SavedAnalysis(
        restored,
        results,
        np.array(index["classes"]),
        index["n_elements"],
        masker,
        _read_table(files.path(_TABLE)),
        bg_img,
        Origin(
            origin.get("sources", {}),
            origin.get("samples", {}),
            parameters={
                name: value
                for name, value in index["parameters"].items()
                if name not in restored
            },
        ),
        _read_run(files.path(_RUN)),
    )


def _read_index(files):
    """Return the dict that the index file holds."""
    path = files.path(_INDEX)
    index = read_json(path)
    missing = [key for key in _NEEDED if key not in index]
    if missing or not isinstance(index["files"], dict):
        raise ValueError(
            f"{path} is damaged (it lacks {', '.join(missing or ['files'])}); write "
            "the results again"
        )
    return index


def _read_results(path):
    """Read the arrays; they are those that were written, or damaged before that."""
    try:
        return RegionResults.load(path)
    except (KeyError, TypeError) as error:
        raise ValueError(
            f"{path} lacks {error}; it was written by another version, write the "
            "results again"
        ) from error


def _write_run(fitted, folder):
    """Write the arrays of the run, and numbers of features that are no images."""
    arrays = fitted.run_arrays()
    if arrays:
        np.savez(folder / _RUN, **arrays)
    features = {} if fitted.masker_ is not None else fitted.further_maps()[0]
    if features:
        import pandas as pd

        table = pd.DataFrame(features)
        table.to_csv(folder / _FEATURES, sep="\t", index=False, na_rep="n/a")


def _read_run(path):
    """Return the arrays of the run, or None if there are none."""
    if not path.is_file():
        return None
    try:
        with np.load(path, allow_pickle=False) as stored:
            return {name: stored[name] for name in stored.files}
    except (ValueError, EOFError, BadZipFile) as error:
        raise ValueError(f"{path} is damaged; write the results again") from error


def _read_table(path):
    """Return the table of regions, or None if there is none."""
    if not path.is_file():
        return None
    import pandas as pd

    return pd.read_csv(path, sep="\t", converters={"name": str})
