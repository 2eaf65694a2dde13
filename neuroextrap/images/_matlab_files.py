"""Files of MATLAB and HDF5; damaged ones are refused, and nothing is unpickled."""

import math
import struct
import zlib
from pathlib import Path

_HDF5 = b"\x89HDF\r\n\x1a\n"
_USER_BLOCK = 512
"""Bytes of text that MATLAB writes before what is HDF5."""
_READ = ("xX", "name", "xBF", "SPM")
"""What is read of structs; those of SPM hold objects that need not be understood."""

_HEADER = 128
"""Bytes of text before the variables of versions 5 to 7.2."""
_MATRIX, _COMPRESSED = 14, 15
_PLAIN = {*range(1, 8), 9, 12, 13, 16, 17, 18}
"""Types of elements that hold numbers or text."""
_CELL, _STRUCT, _OBJECT, _SPARSE, _FUNCTION, _OPAQUE = 1, 2, 3, 5, 16, 17
_N_PLAIN = {_CELL: 3, _STRUCT: 5, _OBJECT: 6, _SPARSE: 6, _FUNCTION: 3, _OPAQUE: 4}
"""Plain elements of a matrix: flags, dimensions, name, and what is not one array."""


def read_matlab(path, *names):
    """Return variables of a MATLAB file of any version, or of HDF5, those there are.

    Arrays have MATLAB's order of axes; structs are dicts, cells lists, text is str.
    """
    path = Path(path)
    try:
        with path.open("rb") as file:
            start = file.read(_USER_BLOCK + len(_HDF5))
        if _HDF5 in (start[: len(_HDF5)], start[_USER_BLOCK:]):
            return _read_hdf5(path, names, of_matlab=start[: len(_HDF5)] != _HDF5)
        from scipy.io.matlab import loadmat, matfile_version

        if matfile_version(path)[0] == 1:
            _check_elements(path)
        found = loadmat(path, simplify_cells=True, variable_names=list(names))
    except Exception as error:  # whatever is wrong with the bytes of others
        if isinstance(error.__cause__, ImportError):
            raise
        raise ValueError(
            f"{path} cannot be read as a MATLAB or HDF5 file ({error}); save it again"
        ) from error
    return {name: found[name] for name in names if name in found}


def _read_hdf5(path, names, *, of_matlab):
    """Return variables of a file of HDF5, some of which MATLAB writes."""
    try:
        import h5py
    except ImportError as error:
        raise ValueError(
            f"{path} is HDF5 (MATLAB's version 7.3), which h5py reads; install it "
            "(python -m pip install h5py)"
        ) from error
    with h5py.File(path, "r") as file:
        return {n: _value(file, file[n], of_matlab) for n in names if n in file}


def _value(file, node, of_matlab):
    """Return what a node of a file holds."""
    if hasattr(node, "keys"):
        known = [key for key in node if key in _READ]
        return {key: _value(file, node[key], of_matlab) for key in known}
    data = node[()]
    if not of_matlab:
        return data
    if data.dtype == object:  # a cell: references
        return [_value(file, file[reference], of_matlab) for reference in data.flat]
    if node.attrs.get("MATLAB_class") == b"char":
        return "".join(map(chr, data.T.flat))
    return data.T


def _check_elements(path):
    """Raise for a file of versions 5 to 7.2 whose elements contradict one another.

    scipy's reader looks up types and follows counts as they stand in the file, so that
    wrong bytes can end the interpreter. Compressed elements have a checksum instead.
    """
    content = memoryview(path.read_bytes())
    order = "<" if content[_HEADER - 2 : _HEADER] == b"IM" else ">"
    for kind, data in _elements(content[_HEADER:], order):
        if kind == _COMPRESSED:
            zlib.decompress(data)
        else:
            _check_matrix(data, order)


def _elements(data, order):
    """Yield type and content of the elements that follow one another in bytes."""
    at = 0
    while at < len(data):
        kind, size = struct.unpack_from(f"{order}II", data, at)
        start, room = at + 8, size if kind == _COMPRESSED else size + -size % 8
        if kind >> 16:  # a short element has its type, size and content in eight bytes
            kind, size, start, room = kind & 0xFFFF, kind >> 16, at + 4, 4
        if size > min(room, len(data) - start):
            raise ValueError("an element is longer than its place")
        yield kind, data[start : start + size]
        at = start + room


def _check_matrix(data, order):
    """Raise for a matrix whose elements are not those that it says it has."""
    if not data:
        return
    kinds, parts = zip(*_elements(data, order), strict=True)
    flags, *_ = _integers(parts[0], order)
    kind, is_complex = flags & 0xFF, flags >> 11 & 1
    has_numbers = _OBJECT < kind < _FUNCTION
    n_plain = _N_PLAIN.get(kind, 4) + (has_numbers and is_complex)
    n_matrices = int(kind in (_FUNCTION, _OPAQUE))
    if kind in (_CELL, _STRUCT, _OBJECT):
        n_matrices = math.prod(_integers(parts[1], order))
    if kind in (_STRUCT, _OBJECT):
        [width] = _integers(parts[n_plain - 2], order)
        n_matrices *= len(parts[n_plain - 1]) // width
    typed = _PLAIN.issuperset(kinds[:n_plain]) and {_MATRIX}.issuperset(kinds[n_plain:])
    shaped = kind == _OPAQUE or len(parts[1]) >= 2 * 4  # bytes, of two axes at least
    if len(kinds) != n_plain + n_matrices or not (typed and shaped):
        raise ValueError(f"a matrix of class {kind} with elements of types {kinds}")
    for part in parts[n_plain:]:
        _check_matrix(part, order)


def _integers(data, order):
    """Return the sizes and flags of an element, none of which is negative."""
    return struct.unpack(f"{order}{len(data) // 4}I", data)
