"""Fitted analyses as folders of maps, tables and arrays."""

import json
from pathlib import Path

import numpy as np

from neuroextrap.images import resolve_masker, to_img
from neuroextrap.images._masks import finite_mask
from neuroextrap.maps._files import MAPS_FILE, describe_map, read_maps, write_maps
from neuroextrap.maps._identification import MAP_DESCRIPTIONS
from neuroextrap.maps._result_files import ResultFiles
from neuroextrap.maps._results import RegionResults

_RESULTS, _TABLE, _MASK = "results.npz", "table.tsv", "mask"
_INDICES = "searchlight.json", "encoding.json"


def write_analysis(fitted, path, index, *, inputs, overwrite=False, bids=None):
    """Write maps with sidecars, the table, and the arrays to read them back.

    Parameters
    ----------
    fitted : RegionAnalysis
        Fitted.
    path : path-like
    index : str
        Name of the file that says what analysis it is, such as "searchlight.json".
    inputs : dict of str to ndarray
        What the maps were computed from; hashed.
    overwrite : bool
    bids : dict of str to str, or None
        Entities of BIDS names.

    Raises
    ------
    ValueError
        When the folder is not empty, or not writable.
    """
    files = ResultFiles.below(path, bids)
    files.check(overwrite=overwrite)
    files.create()
    for stale in {*_INDICES, _TABLE} - {index}:  # of what is overwritten
        files.path(stale).unlink(missing_ok=True)
    if fitted.masker_ is not None:
        found, sidecars = _maps_and_sidecars(fitted, inputs)
        write_maps(path, found, sidecars, overwrite=True, bids=bids)
    _whole(files.path(_RESULTS), fitted.results_.save)
    if fitted.table_ is not None:
        _whole(
            files.path(_TABLE),
            lambda file: fitted.table_.to_csv(file, sep="\t", index=False),
        )
    about = {
        "parameters": plain_parameters(fitted),
        "classes": fitted.classes_.tolist(),
        "n_elements": fitted.n_elements_,
        "has_images": fitted.masker_ is not None,
    }
    text = json.dumps(about, indent=2) + "\n"
    _whole(
        files.path(index), lambda file: Path(file).write_text(text, encoding="utf-8")
    )


def read_analysis(empty, path, index):
    """Fill an estimator from what :func:`write_analysis` wrote.

    Parameters
    ----------
    empty : RegionAnalysis
        Not fitted.
    path : path-like
        Folder, or one above it, or the index file (under its BIDS name).
    index : str
        Plain name of the index file.

    Returns
    -------
    fitted : RegionAnalysis
        ``empty``, with results but without data.
    table : pandas.DataFrame or None
        As it was written.

    Raises
    ------
    ValueError
        When the folder holds no such analysis, or several.
    """
    files = ResultFiles.find(path, index)
    if files is None or not files.path(_RESULTS).is_file():
        raise ValueError(
            f"{path} holds no {index}; give a folder that to_directory wrote"
        )
    about = json.loads(files.path(index).read_text(encoding="utf-8"))
    known = empty.get_params(deep=False)
    kept = about["parameters"]
    empty.set_params(**{name: kept[name] for name in known if name in kept})
    empty._results = RegionResults.load(files.path(_RESULTS))
    empty.classes_ = np.array(about["classes"])
    empty.n_elements_ = about["n_elements"]
    empty.masker_ = None
    if about["has_images"]:
        found = read_maps(files.path(MAPS_FILE))
        empty.masker_ = resolve_masker(finite_mask(found[_MASK]))
    return empty, _read_table(files.path(_TABLE))


def _read_table(path):
    """Return the table of regions, or None where there is none."""
    if not path.is_file():
        return None
    import pandas as pd

    return pd.read_csv(path, sep="\t", dtype={"name": str})


def plain_parameters(estimator):
    """Return the parameters that JSON can hold.

    Parameters
    ----------
    estimator : RegionAnalysis

    Returns
    -------
    dict
        Numbers, text, None, and short lists of them; paths as text.
    """
    found = {}
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
        found[name] = plain
    return found


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
    about = describe_map(
        "-",
        "-",
        parameters=parameters,
        inputs={"wins": fitted.wins_, **inputs},
        random_state=_plain_seed(given["random_state"]),
    )
    found = {
        **fitted.maps_,
        _MASK: to_img(np.ones(fitted.n_elements_), fitted.masker_),
    }
    texts = MAP_DESCRIPTIONS | {_MASK: ("Voxels or vertices in the mask", "1")}
    return found, {
        name: {**about, "description": texts[name][0], "unit": texts[name][1]}
        for name in found
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
