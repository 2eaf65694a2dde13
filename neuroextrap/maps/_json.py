"""Strict JSON of results: no NaN, numpy's values as Python's."""

import json
import os

import numpy as np


def json_text(name, value):
    """Return strict JSON text; `name` is what an error calls the value.

    Arrays become lists, numbers that are not finite null. TypeError if something has no
    place in JSON.
    """
    try:
        return json.dumps(_plain(value), indent=2, allow_nan=False) + "\n"
    except TypeError as error:
        raise TypeError(
            f"{name} cannot be written as JSON ({error}); use numbers, text, lists and "
            "dicts"
        ) from error


def read_json(path, remedy="write the results again"):
    """Return the dict of a JSON file; ValueError with the remedy when it is damaged."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is damaged (no JSON); {remedy}") from error
    if not isinstance(value, dict):
        raise ValueError(f"{path} is damaged (no JSON object); {remedy}")
    return value


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
