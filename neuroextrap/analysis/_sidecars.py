"""What files of an analysis say of it: sources, sidecars, index, record of the call."""

import json
import os
from dataclasses import replace

from neuroextrap.design._findings import findings_about
from neuroextrap.images._maskers import mask_of
from neuroextrap.images._opening import image_files
from neuroextrap.maps._described_parameters import (
    changed_parameters,
    described_parameters,
    flat_parameters,
)
from neuroextrap.maps._files import describe_map
from neuroextrap.maps._provenance import Origin, SourceFile, provenance, versions
from neuroextrap.maps._records import MapRecord
from neuroextrap.maps._registry import record_of
from neuroextrap.maps._trained_on_all import OF_CURVES
from neuroextrap.margins.running._checkpoint import identity_hash
from neuroextrap.margins.running._described import class_name


def origin_of(sources, options=None):
    """Return the Origin of data that came in as images, paths, lists or arrays.

    `sources` is a dict of what came in by role, such as ``{"imgs": "run-*.nii.gz"}``.
    Only what is on disk has files; it is hashed when results are written. `options` are
    those by which samples were made of the data.
    """
    files = {role: source_files(value) for role, value in sources.items()}
    return Origin(files, options or {})


def recorded_options(options):
    """Return options of samples as they are put on record: tables as arrays.

    >>> recorded_options({"exclude": "rest", "confounds": [None]})
    {'exclude': 'rest', 'confounds': [None]}
    """
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
    if isinstance(value, (str, os.PathLike)):
        return [SourceFile.of(path) for path in image_files(value)]
    if isinstance(value, (list, tuple)):
        return [path for item in value for path in source_files(item)]
    get_filename = getattr(value, "get_filename", None)
    path = get_filename() if callable(get_filename) else None
    return [] if path is None else [SourceFile.of(path)]


BACKGROUND = "mean_image"
_PARTIAL = "partial result: over the regions that are in it only"


def maps_and_sidecars(fitted, about, *, mask):
    """Return the maps, mask (so named) and background among them, and their sidecars.

    `about` is what :meth:`Origin.sidecar` returned.
    """
    results, n_classes = fitted.results_, len(fitted.classes_)
    parameters = described_parameters(fitted)
    seed = parameters.pop("random_state", None)
    parameters |= {
        "classes": fitted.classes_.tolist(),
        "set_sizes": fitted.set_sizes_.tolist(),
        "notes": list(fitted.notes_),
    }
    origin = provenance(parameters=parameters, inputs={"wins": fitted.wins_})
    origin["random_state"] = seed
    origin["run"] = identity_hash(results.identity)
    origin["identity"] = results.identity
    origin |= about
    if results.missing_parts:
        origin["partial"] = {"missing_parts": results.missing_parts}
    about_mask = MapRecord(
        name=mask, description="Voxels or vertices in the mask (1)", unit="1"
    )
    records = {name: _record(name, results) for name in fitted.maps_}
    records |= {mask: about_mask}
    further, more_records = fitted.further_maps()
    records |= more_records
    maps = {**fitted.maps_, **further}
    maps[mask] = mask_of(fitted.masker_)
    if fitted.bg_img_ is not None:
        maps[BACKGROUND] = fitted.bg_img_
        records[BACKGROUND] = MapRecord(
            name=BACKGROUND,
            description="Mean of the images as gray levels, to be drawn under maps",
            unit="gray levels, 0 to 255",
        )
    return maps, {
        name: describe_map(
            record,
            origin | {"findings": findings_about(fitted.findings_, name)},
            n_classes=n_classes,
        )
        for name, record in records.items()
    }


def index_content(fitted, about):
    """Return what the index says of an analysis, the hashes of its files apart."""
    results = fitted.results_
    parameters = described_parameters(fitted)
    return {
        "kind": fitted.kind,
        "run": identity_hash(results.identity),
        "missing_parts": results.missing_parts,
        "parameters": parameters,
        "restored": restorable_parameters(fitted),
        "classes": fitted.classes_.tolist(),
        "n_elements": fitted.n_elements_,
        "has_images": fitted.masker_ is not None,
        "origin": {name: about[name] for name in ("sources", "samples")},
    }


def restorable_parameters(estimator):
    """Return the names of parameters that JSON holds as they are."""
    plain, given = described_parameters(estimator), flat_parameters(estimator)
    return [name for name, value in plain.items() if _same(value, given[name])]


def call_record(fitted, about):
    """Return how to make the results again, for the record of their provenance."""
    return {
        "run": identity_hash(fitted.results_.identity),
        "parts": [f"{i}/{n}" for i, n in fitted.results_.parts],
        "missing_parts": fitted.results_.missing_parts,
        "call": {
            "class": class_name(fitted),
            "parameters": changed_parameters(fitted),
        },
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
