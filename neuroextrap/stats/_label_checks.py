"""Checks of labels: classes, runs, blocks, subjects, one for every sample."""

from __future__ import annotations

from datetime import date
from typing import Any

import numpy as np

_MISSING = ("NAType", "NaTType")  # those of pandas, by name: it is not imported here


def check_labels(values: Any, name: str) -> np.ndarray:
    """Return labels (classes, runs, blocks) as an array of shape (n_samples,).

    TypeError for masked arrays, complex numbers and mixtures of text and numbers;
    ValueError for another number of dimensions, no entry, or entries that are missing.
    """
    if isinstance(values, np.ma.MaskedArray) and values.mask.any():
        raise TypeError(
            f"{name} is a masked array; leave masked samples out, and give "
            f"{name}[~{name}.mask].data"
        )
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise ValueError(
            f"{name} holds lists of different lengths; give one entry for every sample"
        ) from error
    if array.dtype.kind in "US" and not isinstance(values, (np.ndarray, str, bytes)):
        # numpy has turned numbers among text into text
        array = np.asarray(values, dtype=object)
    if array.ndim != 1 or not len(array):
        shown = f"={values!r}" if array.ndim == 0 else ""
        raise ValueError(
            f"{name}{shown} has shape {array.shape}; give one entry for every sample"
        )
    if array.dtype.kind == "c":
        raise TypeError(f"{name} has dtype {array.dtype}; give numbers or text")
    _check_present(array, name)
    if array.dtype.kind == "O":
        _check_one_kind(array, name)
        array = np.array(array.tolist())
    return array


def _check_present(array: np.ndarray, name: str) -> None:
    """Raise when an entry is None or NaN."""
    if array.dtype.kind == "O":
        missing = np.array([_is_missing(entry) for entry in array], dtype=bool)
    elif array.dtype.kind in "mM":
        missing = np.isnat(array)
    elif array.dtype.kind == "f":
        missing = np.isnan(array)
    else:
        return
    rows = np.flatnonzero(missing)
    if len(rows):
        entry = array[rows[0]]
        shown = "NaN" if array.dtype.kind == "f" else str(entry)
        raise ValueError(
            f"{name} has {shown} in row {rows[0]} ({len(rows)} missing in all); give "
            "an entry for every sample, or leave such samples out"
        )


def _is_missing(entry: Any) -> bool:
    """Return whether an entry is None, NaN, or a missing value of pandas."""
    if entry is None or type(entry).__name__ in _MISSING:
        return True
    return isinstance(entry, float | np.floating) and bool(np.isnan(entry))


def _check_one_kind(array: np.ndarray, name: str) -> None:
    """Raise when entries are neither all text, nor all numbers, nor all alike."""
    kinds = {type(entry): _kind(entry) for entry in array}
    other = [kind for kind, group in kinds.items() if group is kind]
    if other:
        raise TypeError(
            f"{name} has entries of type {other[0].__name__}; give numbers or text"
        )
    if len(set(kinds.values())) > 1:
        listed = ", ".join(sorted({kind.__name__ for kind in kinds}))
        raise TypeError(
            f"{name} mixes {listed}; give entries of one kind, for example "
            f"[str(entry) for entry in {name}]"
        )


def _kind(entry: Any) -> Any:
    """Return what entries that can be compared have in common, else their type."""
    numbers = (int, float, np.number, np.bool_)
    for kinds in (numbers, (str,), (bytes,), (date, np.datetime64)):
        if isinstance(entry, kinds):
            return kinds
    return type(entry)
