"""Fingerprints of arrays, for sidecars and checkpoints."""

import hashlib
from typing import Any

import numpy as np


def array_hash(array: Any) -> str:
    """Fingerprint an array's values, shape and type by 64 hexadecimal digits (SHA-256).

    Numbers or strings; memory layout and byte order do not matter.
    """
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
