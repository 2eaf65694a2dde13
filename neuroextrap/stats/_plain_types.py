"""Arguments that are annotated as a plain type must be of it."""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from neuroextrap.stats._validation import (
    brief,
    check_flags,
    check_integer,
    check_number,
)

Function = TypeVar("Function", bound=Callable[..., Any])
_LEAST = -(2**53)


def check_plain_types(estimator: Any) -> None:
    """Check the parameters of a class that are annotated as a plain type."""
    for name, known in inspect.signature(type(estimator)).parameters.items():
        _check_plain(getattr(estimator, name), name, known.annotation)


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
    if "PathLike" in text and not isinstance(value, str | os.PathLike):
        raise TypeError(f"{name} must be a path; got {brief(value)}")
    kind, *others = text.split(" | ")
    if others not in ([], ["None"]) or (others and value is None):
        return
    if kind == "bool":
        check_flags(**{name: value})
    elif kind == "int" and (isinstance(value, bool) or _is_no_integer(value)):
        raise TypeError(f"{name} must be a whole number; got {brief(value)}")
    elif kind == "int":
        check_integer(value, name, minimum=_LEAST)
    elif kind == "float":
        check_number(value, name)
    elif kind == "str" and not isinstance(value, str):
        raise TypeError(f"{name} must be a text; got {brief(value)}")


def _is_no_integer(value: Any) -> bool:
    """Return whether a value is no whole number by its type."""
    return not isinstance(value, int | np.integer)
