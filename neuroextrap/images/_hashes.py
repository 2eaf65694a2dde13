"""Fingerprints of arrays, for sidecars and checkpoints."""

import hashlib

import numpy as np


def array_hash(array):
    """Fingerprint of an array's values, shape and type.

    Parameters
    ----------
    array : array-like
        Numbers or strings; memory layout and byte order do not matter.

    Returns
    -------
    str
        SHA-256 as 64 hexadecimal digits.

    Raises
    ------
    TypeError
        If the array holds Python objects other than strings.

    Examples
    --------
    >>> from neuroextrap.images._hashes import array_hash
    >>> array_hash([1.0, 2.0])[:8] == array_hash([1.0, 2.0, 3.0])[:8]
    False
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
