"""Any value as JSON that is equal for equal values: no memory addresses, no paths."""

import hashlib
import inspect
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse

_ADDRESS = re.compile(r" at 0x[0-9A-Fa-f]+")
_LONGEST = 1000  # numbers or words that are kept as they are
_DEEPEST = 8
#: parameters of anything that change no result
WITHOUT_EFFECT = (
    "memory",
    "memory_level",
    "n_jobs",
    "verbose",
    "max_memory",
    "checkpoint",
    "save_null",
    "shard",
)


def array_hash(array: Any) -> str:
    """Fingerprint values, shape and type by 64 hexadecimal digits (SHA-256)."""
    array = np.asarray(array)
    if array.dtype.kind == "O":
        if not all(isinstance(item, str) for item in array.ravel()):
            raise TypeError(
                "array must hold numbers or strings, got Python objects; convert it "
                "first"
            )
        array = array.astype(str)
    array = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    key = hashlib.sha256(f"{array.dtype.str} {array.shape}".encode())
    if array.size:
        key.update(array.reshape(-1).view(np.uint8).data)
    return key.hexdigest()


def described(
    value: Any, special: Callable[[Any], Any] | None = None, _depth: int = 0
) -> Any:
    """Return what a value is, in JSON values.

    Large arrays become shape and hash, objects with parameters (``get_params``) their
    class and parameters, without those that change no result. ``special`` returns the
    description of values that it knows, else None.

    >>> described({"radius": np.float64(8), "cv": range(2)})
    {'radius': 8.0, 'cv': {'class': 'range', 'text': 'range(0, 2)'}}
    """
    known = None if special is None else special(value)
    if known is not None:
        return known
    if value is None or isinstance(value, (bool, int, float, str, np.generic)):
        return value.item() if isinstance(value, np.generic) else value
    if isinstance(value, np.ndarray) or scipy.sparse.issparse(value):
        return _array(value)
    if _depth == _DEEPEST:
        return {"class": class_name(value)}
    return _compound(value, lambda item: described(item, special, _depth + 1))


def class_name(value: Any) -> str:
    """Return the full name of a class or of a value's, without private modules."""
    named = value if hasattr(value, "__qualname__") else type(value)
    home = getattr(named, "__module__", None) or "builtins"
    public = [part for part in home.split(".") if not part.startswith("_")]
    public = [part for part in public if part != "builtins"]
    return ".".join([*public, named.__qualname__])


def without_addresses(text: str) -> str:
    """Remove memory addresses from the text of an object."""
    return _ADDRESS.sub("", text)


def _array(array: Any) -> Any:
    """Describe an array, sparse or not, by its values, or by shape and hashes."""
    if scipy.sparse.issparse(array):
        rows = scipy.sparse.csr_array(array)
        parts = rows.indptr.astype(np.int64), rows.indices.astype(np.int64), rows.data
        hashes = [array_hash(part) for part in parts]
        return {"shape": list(rows.shape), "sha256": hashes}
    if array.dtype.kind in "OV":
        return {"class": "numpy.ndarray", "shape": list(array.shape)}
    if array.size <= _LONGEST:
        return array.tolist()
    shape, dtype = list(array.shape), str(array.dtype)
    return {"shape": shape, "dtype": dtype, "sha256": array_hash(array)}


def _compound(value: Any, describe: Callable[[Any], Any]) -> Any:
    """Describe what consists of other values."""
    if isinstance(value, dict):
        return {str(key): describe(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return _sequence(value, describe)
    if inspect.isclass(value) or inspect.isroutine(value):
        return {"class": class_name(value)}
    if hasattr(value, "get_params"):
        parameters = value.get_params(deep=False)
        kept = {n: v for n, v in parameters.items() if n not in WITHOUT_EFFECT}
        return {"class": class_name(value), "parameters": describe(kept)}
    public = {n: v for n, v in getattr(value, "__dict__", {}).items() if n[:1] != "_"}
    if public:
        return {"class": class_name(value), "parameters": describe(public)}
    text = without_addresses(repr(value))
    return {"class": class_name(value), "text": text[:_LONGEST]}


def _sequence(values: Any, describe: Callable[[Any], Any]) -> Any:
    """Describe a sequence item by item, or a long one of numbers or words by hash."""
    items = sorted(values, key=str) if isinstance(values, (set, frozenset)) else values
    if len(items) > _LONGEST and all(isinstance(v, (int, float, str)) for v in items):
        return {"length": len(items), "sha256": array_hash(list(items))}
    return [describe(item) for item in items]
