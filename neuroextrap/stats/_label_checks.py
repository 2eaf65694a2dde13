"""Checks of labels, and of arguments that are annotated as a plain type."""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable
from datetime import date
from typing import Any, TypeVar

import numpy as np

from neuroextrap.stats._validation import (
    brief,
    check_flags,
    check_integer,
    check_number,
    is_integer,
)

Function = TypeVar("Function", bound=Callable[..., Any])
_LEAST = -(2**53)


def check_plain_types(estimator: Any) -> None:
    """Check the parameters of a class that are annotated as a plain type."""
    for name, parameter in inspect.signature(type(estimator)).parameters.items():
        _check_plain(getattr(estimator, name), name, parameter.annotation)


def plain_types_checked(function: Function) -> Function:
    """Check the arguments of a function that are annotated as a plain type."""
    signature = inspect.signature(function)

    @functools.wraps(function)
    def checked(*args: Any, **kwargs: Any) -> Any:
        for name, value in signature.bind(*args, **kwargs).arguments.items():
            _check_plain(value, name, signature.parameters[name].annotation)
        return function(*args, **kwargs)

    return checked  # type: ignore[return-value]


def _check_plain(value: Any, name: str, annotation: Any) -> None:
    """Raise unless a value is of a plain type, such as ``float`` or ``int | None``."""
    is_class = isinstance(annotation, type)
    text = annotation.__name__ if is_class else str(annotation)
    kind, *others = text.split(" | ")
    if others[-1:] == ["None"] and value is None:
        return
    if "PathLike" in text and not isinstance(value, str | os.PathLike):
        raise TypeError(f"{name} must be a path; got {brief(value)}")
    if others not in ([], ["None"]):
        return
    if kind == "bool":
        check_flags(**{name: value})
    elif kind == "int" and not is_integer(value):
        raise TypeError(f"{name} must be a whole number; got {brief(value)}")
    elif kind == "int":
        check_integer(value, name, minimum=_LEAST)
    elif kind == "float":
        check_number(value, name)
    elif kind == "str" and not isinstance(value, str):
        raise TypeError(f"{name} must be a text; got {brief(value)}")


_MISSING = ("NAType", "NaTType")  # those of pandas, by name: it is not imported here


def check_labels(values: Any, name: str) -> np.ndarray:
    """Return labels (n_samples,), all of one kind and none missing; else an error."""
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
        text = f"={values!r}" if array.ndim == 0 else ""
        raise ValueError(
            f"{name}{text} has shape {array.shape}; give one entry for every sample"
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
        text = "NaN" if array.dtype.kind == "f" else str(entry)
        raise ValueError(
            f"{name} has {text} in row {rows[0]} ({len(rows)} missing in all); give "
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


def checked_entries(values, name, y, of="y"):
    """Return runs or blocks of the samples, or None; raise unless they fit."""
    if values is None:
        return None
    values = check_labels(values, name)
    if values.shape != y.shape:
        raise ValueError(
            f"{name} has shape {values.shape}, {of} has {y.shape}; give one entry for "
            "every sample"
        )
    return values


def checked_labels(
    y: Any, name: str = "y", **given: Any
) -> tuple[np.ndarray, dict[str, Any]]:
    """Return labels, and by name what is given for every sample, or None."""
    y = check_labels(y, name)
    return y, {k: checked_entries(v, k, y, name) for k, v in given.items()}
