"""Identification results as folders of maps, tables and arrays."""

import json
from pathlib import Path

import numpy as np

from neuroextrap import images, maps


def write_identification(fitted, path, *, overwrite=False, bids=None):
    """Write maps with sidecars, the table, and results as arrays.

    Parameters
    ----------
    fitted : EncodingIdentification
        After ``identify``.
    path : path-like
        Folder.
    overwrite : bool
        Replace what is there.
    bids : dict of str to str, or None
        Entities of BIDS names.

    Raises
    ------
    ValueError
        If the folder is not empty, or not writable.
    """
    files = maps.ResultFiles.below(path, bids)
    files.check(overwrite=overwrite)
    files.create()
    if fitted.masker_ is not None:
        maps.write_maps(path, *_maps_and_sidecars(fitted), overwrite=True, bids=bids)
    fitted._results.save(files.path("results.npz"))
    if fitted.table_ is not None:
        fitted.table_.to_csv(files.path("table.tsv"), sep="\t", index=False)
    text = json.dumps(_about(fitted), indent=2) + "\n"
    files.path("encoding.json").write_text(text, encoding="utf-8")


def _about(fitted):
    """Parameters and notes as JSON values."""
    given = fitted.get_params(deep=False)
    parameters = {}
    for name, value in given.items():
        plain = value.as_posix() if isinstance(value, Path) else value
        known = isinstance(plain, (str, int, float, bool, type(None)))
        parameters[name] = plain if known else repr(plain)
    return {
        "parameters": parameters,
        "n_candidates": len(fitted.classes_),
        "set_sizes": np.asarray(fitted.set_sizes_).tolist(),
        "notes": list(fitted.notes_),
    }


def _maps_and_sidecars(fitted):
    """Return the maps and what to say of each."""
    about = _about(fitted)
    seed = about["parameters"].pop("random_state")
    shared = maps.describe_map(
        "-",
        "-",
        parameters=about,
        inputs={"wins": fitted.wins_, "data": fitted._experiment.rows},
        random_state=seed,
    )
    found = {
        **fitted.maps_,
        "mask": images.to_img(np.ones(fitted.n_elements_), fitted.masker_),
    }
    texts = maps.MAP_DESCRIPTIONS | {"mask": ("Voxels or vertices in the mask", "1")}
    return found, {
        name: {**shared, "description": texts[name][0], "unit": texts[name][1]}
        for name in found
    }
