"""Fitted searchlights as folders of maps, tables and arrays."""

import json
from pathlib import Path

import numpy as np

from neuroextrap import images, maps

_RESULTS, _ABOUT, _TABLE = "results.npz", "searchlight.json", "table.tsv"
_MASK = "mask"


def write_fitted(fitted, path, *, overwrite=False, bids=None):
    """Write maps with sidecars, the table, and the arrays to read them back.

    Parameters
    ----------
    fitted : IdentificationSearchLight
        Fitted.
    path : path-like
    overwrite : bool
    bids : dict of str to str, or None
        Entities of BIDS names.

    Raises
    ------
    ValueError
        When the folder is not empty, or not writable.
    """
    files = maps.ResultFiles.below(path, bids)
    files.check(overwrite=overwrite)
    files.create()
    if fitted.masker_ is not None:
        found, sidecars = _maps_and_sidecars(fitted)
        maps.write_maps(path, found, sidecars, overwrite=True, bids=bids)
    _whole(files.path(_RESULTS), fitted._results.save)
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
        files.path(_ABOUT), lambda file: Path(file).write_text(text, encoding="utf-8")
    )


def read_fitted(empty, path):
    """Fill an estimator from what :func:`write_fitted` wrote.

    Parameters
    ----------
    empty : IdentificationSearchLight
        Not fitted.
    path : path-like
        Folder, or one above it, or the file ``searchlight.json`` (under its BIDS name).

    Returns
    -------
    IdentificationSearchLight

    Raises
    ------
    ValueError
        When the folder holds no searchlight, or several.
    """
    files = maps.ResultFiles.find(path, _ABOUT)
    if files is None or not files.path(_RESULTS).is_file():
        raise ValueError(
            f"{path} holds no searchlight; give a folder that to_directory wrote"
        )
    about = json.loads(files.path(_ABOUT).read_text(encoding="utf-8"))
    known = empty.get_params()
    kept = about["parameters"]
    empty.set_params(**{name: kept[name] for name in known if name in kept})
    empty._results = maps.RegionResults.load(files.path(_RESULTS))
    empty._experiment = None
    empty.test_codes_ = None
    empty.classes_ = np.array(about["classes"])
    empty.n_elements_ = about["n_elements"]
    empty.fold_wins_ = None
    empty.masker_ = None
    if about["has_images"]:
        found = maps.read_maps(files.path(maps.MAPS_FILE))
        empty.masker_ = images.resolve_masker(images.finite_mask(found[_MASK]))
    empty._publish()
    if files.path(_TABLE).is_file():
        import pandas as pd

        empty.table_ = pd.read_csv(files.path(_TABLE), sep="\t", dtype={"name": str})
    return empty


def plain_parameters(estimator):
    """Return the parameters that JSON can hold.

    Parameters
    ----------
    estimator : IdentificationSearchLight

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


def _maps_and_sidecars(fitted):
    """Return the maps, the mask among them, and what to say of each."""
    given = fitted.get_params(deep=False)
    parameters = {
        name: value if name in plain_parameters(fitted) else repr(value)
        for name, value in given.items()
        if name != "random_state"
    }
    parameters |= {
        "classes": fitted.classes_.tolist(),
        "set_sizes": fitted.set_sizes_.tolist(),
        "notes": list(fitted.notes_),
    }
    inputs = {"wins": fitted.wins_}
    if fitted._experiment is not None:
        run = fitted._experiment
        inputs |= {"samples": run.samples.X, "labels": run.plan.codes[0]}
    seed = given["random_state"]
    about = maps.describe_map(
        "-", "-", parameters=parameters, inputs=inputs, random_state=_plain_seed(seed)
    )
    found = {
        **fitted.maps_,
        _MASK: images.to_img(np.ones(fitted.n_elements_), fitted.masker_),
    }
    texts = maps.MAP_DESCRIPTIONS | {_MASK: ("Voxels or vertices in the mask", "1")}
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
