"""Fitted analyses as folders of maps, tables and arrays, with their provenance."""

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from neuroextrap.analysis._results import RegionResults
from neuroextrap.images import resolve_masker, to_img
from neuroextrap.images._masks import finite_mask
from neuroextrap.maps._files import (
    MAPS_FILE,
    describe_map,
    provenance,
    read_maps,
    write_maps,
)
from neuroextrap.maps._records import MapRecord
from neuroextrap.maps._registry import record_of
from neuroextrap.maps._result_files import ResultFiles

_INDEX, _RESULTS, _TABLE, _MASK = "analysis.json", "results.npz", "table.tsv", "mask"


class SavedAnalysis(NamedTuple):
    """What a folder holds of a fitted analysis: all but the data."""

    parameters: dict
    results: RegionResults
    classes: np.ndarray
    n_elements: int
    masker: Any
    table: Any


def write_analysis(fitted, path, *, inputs, overwrite=False, bids=None):
    """Write maps with sidecars, the table, and the arrays to read them back.

    Sidecars hold the hashes of `inputs`, a dict of arrays that the maps were computed
    from. ValueError when the folder is not empty, or not writable.
    """
    files = ResultFiles.below(path, bids)
    files.check(overwrite=overwrite)
    files.create()
    if fitted.masker_ is not None:
        maps, sidecars = _maps_and_sidecars(fitted, inputs)
        write_maps(path, maps, sidecars, overwrite=True, bids=bids)
    for stale in (_INDEX, _TABLE):  # of what is overwritten; the new index comes last
        files.path(stale).unlink(missing_ok=True)
    _whole(files.path(_RESULTS), fitted.results_.save)
    if fitted.table_ is not None:
        _whole(
            files.path(_TABLE),
            lambda file: fitted.table_.to_csv(file, sep="\t", index=False),
        )
    index = {
        "kind": fitted.kind,
        "parameters": plain_parameters(fitted),
        "classes": fitted.classes_.tolist(),
        "n_elements": fitted.n_elements_,
        "has_images": fitted.masker_ is not None,
    }
    text = json.dumps(index, indent=2) + "\n"
    _whole(
        files.path(_INDEX), lambda file: Path(file).write_text(text, encoding="utf-8")
    )


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
    """Read what :func:`write_analysis` wrote of an analysis of this kind."""
    written, files = find_analysis(path)
    if written != kind:
        raise ValueError(
            f"{path} holds no {kind!r} analysis, but one of kind {written!r}; read it "
            "with the class that wrote it"
        )
    index, masker = _read_index(files), None
    if index["has_images"]:
        maps = read_maps(files.path(MAPS_FILE))
        masker = resolve_masker(finite_mask(maps[_MASK]))
    return SavedAnalysis(
        index["parameters"],
        RegionResults.load(files.path(_RESULTS)),
        np.array(index["classes"]),
        index["n_elements"],
        masker,
        _read_table(files.path(_TABLE)),
    )


def _read_index(files):
    """Return the dict that the index file holds."""
    path = files.path(_INDEX)
    try:
        index = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        index = None
    if not isinstance(index, dict) or not {"kind", "has_images"} <= index.keys():
        raise ValueError(f"{path} is damaged; write the results again")
    return index


def _read_table(path):
    """Return the table of regions, or None where there is none."""
    if not path.is_file():
        return None
    import pandas as pd

    return pd.read_csv(path, sep="\t", dtype={"name": str})


def plain_parameters(estimator):
    """Return the parameters that JSON can hold: numbers, text, None and short lists.

    Paths become text; what JSON cannot hold is left out.
    """
    parameters = {}
    for name, value in estimator.get_params(deep=False).items():
        plain = value.as_posix() if isinstance(value, Path) else value
        if isinstance(plain, np.ndarray) and plain.size <= 1000:
            plain = plain.tolist()
        if isinstance(plain, np.generic):
            plain = plain.item()
        try:
            json.dumps(plain)
        except TypeError:
            continue
        parameters[name] = plain
    return parameters


def _maps_and_sidecars(fitted, inputs):
    """Return the maps, the mask among them, and what to say of each."""
    given = fitted.get_params(deep=False)
    plain = plain_parameters(fitted)
    parameters = {
        name: value if name in plain else repr(value)
        for name, value in given.items()
        if name != "random_state"
    }
    parameters |= {
        "classes": fitted.classes_.tolist(),
        "set_sizes": fitted.set_sizes_.tolist(),
        "notes": list(fitted.notes_),
    }
    origin = provenance(
        parameters=parameters,
        inputs={"wins": fitted.wins_, **inputs},
        random_state=_plain_seed(given.get("random_state")),
    )
    mask = MapRecord(name=_MASK, description="Voxels or vertices in the mask", unit="1")
    records = {name: record_of(name) for name in fitted.maps_} | {_MASK: mask}
    maps = {
        **fitted.maps_,
        _MASK: to_img(np.ones(fitted.n_elements_), fitted.masker_),
    }
    return maps, {
        name: describe_map(record, origin, n_classes=len(fitted.classes_))
        for name, record in records.items()
    }


def _plain_seed(seed):
    """Return a seed that JSON can hold."""
    return seed if seed is None or isinstance(seed, int) else repr(seed)


def _whole(path, write):
    """Write a file under a temporary name and move it into place."""
    partial = path.with_name(f".partial-{path.name}")
    try:
        write(partial)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
