"""Fingerprints of arrays, for sidecars and checkpoints."""

import hashlib

import numpy as np


def array_hash(array):
    """Return the SHA-256 of an array's values, shape and type as 64 hex digits.

    Memory layout and byte order do not matter. Arrays hold numbers or strings.
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
