"""Results as arrays by name, and back: every field of the dataclasses, none named here.

A field that is new needs nothing: an array is kept as it is, a number as an array
without axes, a dict or tuple as JSON text, None not at all.
"""

import json
from dataclasses import fields

import numpy as np
import scipy.sparse

from neuroextrap.images._region_choice import RegionChoice
from neuroextrap.margins._engine import RegionScores
from neuroextrap.stats._forward_design import ForwardDesign

_NESTED = {"scores", "choice", "forward"}
_JSON = "json:"
_FORWARD = "forward_design_"


def write_arrays(results, left_out=()):
    """Return the arrays of RegionResults by name, without the fields `left_out`."""
    named = {field.name: getattr(results, field.name) for field in fields(results)}
    for name in (*_NESTED, *left_out):
        del named[name]
    scores = {f.name: getattr(results.scores, f.name) for f in fields(RegionScores)}
    del scores["null"]
    if results.forward is not None:
        design = results.forward
        scores |= {
            f"{_FORWARD}{f.name}": getattr(design, f.name) for f in fields(design)
        }
    choice, regions = results.choice, results.choice.regions
    named |= scores | {
        "indptr": regions.indptr,
        "indices": regions.indices,
        "shape": np.array(regions.shape),
        "centers": choice.centers,
        "owner": choice.owner,
        "names": None if choice.names is None else [str(n) for n in choice.names],
    }
    return {name: _packed(value) for name, value in named.items() if value is not None}


def read_arrays(arrays, kind):
    """Return the fields of `kind` (RegionResults) from what :func:`write_arrays` made.

    KeyError where an array is missing.
    """
    values = {name: _unpacked(array) for name, array in arrays.items()}
    values.setdefault("n_repeats", None)  # not written where no bounds hold
    members = np.ones(len(values["indices"]), dtype=bool)
    regions = scipy.sparse.csr_array(
        (members, values["indices"], values["indptr"]), shape=tuple(values["shape"])
    )
    names = values.get("names")
    scores = {f.name: values.get(f.name) for f in fields(RegionScores)}
    forward = {f.name: values.get(f"{_FORWARD}{f.name}") for f in fields(ForwardDesign)}
    own = {f.name for f in fields(kind)} - _NESTED
    return {
        "scores": RegionScores(**scores),
        "choice": RegionChoice(
            regions,
            centers=values.get("centers"),
            owner=values.get("owner"),
            names=None if names is None else list(names),
        ),
        "forward": None if forward["n_units"] is None else ForwardDesign(**forward),
        **{name: value for name, value in values.items() if name in own},
    }


def _packed(value):
    """Return a value as an array; lists and dicts as JSON text."""
    if isinstance(value, (dict, tuple, list)):
        return np.array(_JSON + json.dumps(value))
    return np.asarray(value)


def _unpacked(array):
    """Return what :func:`_packed` packed; lists come back as tuples."""
    if array.ndim:
        return array
    value = array.item()
    if not (isinstance(value, str) and value.startswith(_JSON)):
        return value
    value = json.loads(value.removeprefix(_JSON))
    return _tuples(value) if isinstance(value, list) else value


def _tuples(value):
    """Turn lists into tuples, all the way down."""
    return tuple(map(_tuples, value)) if isinstance(value, list) else value
