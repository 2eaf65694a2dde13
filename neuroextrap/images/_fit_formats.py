"""Betas as SPM, FEAT and GLMsingle leave them: which image is of which condition."""

import math
import re
import struct
import zlib
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from nibabel import Nifti1Image

from neuroextrap.images._opening import open_image
from neuroextrap.images._tables import load_array
from neuroextrap.stats._validation import warn

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
    """Return the named variables that a MATLAB file of any version, or HDF5, has.

    Structs are dicts, cells lists, text is str; arrays have MATLAB's order of axes.
    """
    from scipy.io.matlab import loadmat, matfile_version

    try:
        with open(path, "rb") as file:
            start = file.read(_USER_BLOCK + len(_HDF5))
        if _HDF5 in (start[: len(_HDF5)], start[_USER_BLOCK:]):
            return _read_hdf5(path, names, of_matlab=start[: len(_HDF5)] != _HDF5)
        if matfile_version(path)[0] == 1:
            _check_elements(path)
        content = loadmat(path, simplify_cells=True, variable_names=list(names))
    except Exception as error:  # whatever is wrong with the bytes of others
        if isinstance(error.__cause__, ImportError):
            raise
        raise ValueError(
            f"{path} cannot be read as a MATLAB or HDF5 file ({error}); save it again"
        ) from error
    return {name: content[name] for name in names if name in content}


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
        fields = [key for key in node if key in _READ]
        return {key: _value(file, node[key], of_matlab) for key in fields}
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

    scipy's reader follows types and counts as they stand, so that wrong bytes can end
    the interpreter. Compressed elements have a checksum instead.
    """
    content = memoryview(Path(path).read_bytes())
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


_APART = 3.0
"""Distance between runs (mm) that FEAT's registrations do not differ by alone."""
_IMAGES = (".nii", ".nii.gz", ".img")


class Fit(NamedTuple):
    """The betas of one fit: paths or a 4-D image; names and runs for each volume."""

    images: list
    names: list | None
    runs: list | None
    mask: Any
    series: tuple = ()  # names of the runs that it was fitted to, where known


def read_spm(path):
    """Return the Fit of an ``SPM.mat``: the first regressor of every condition."""
    content = read_matlab(path, "SPM").get("SPM", {})
    columns = []
    for number, text in enumerate(_texts(content, "xX"), start=1):
        match = re.fullmatch(r"Sn\((\d+)\) (.+)\*bf\((\d+)\)", text)
        if match and not re.fullmatch(r".+x.+\^\d+", match[2]):  # no modulator
            columns.append((number, *match.groups()))
    basis = "".join(_texts(content, "xBF")) or "hrf"
    if any(order != "1" for *_, order in columns) and not basis.startswith("hrf"):
        raise ValueError(
            f"{path} models responses by {basis!r}, where no single beta is a "
            "response; estimate it with the canonical response (hrf)"
        )
    columns = [each for each in columns if each[3] == "1"]
    if not columns:
        raise ValueError(
            f"{path} has no regressor of a condition, such as 'Sn(1) face*bf(1)'; give "
            "the SPM.mat of a first-level model"
        )
    folder = Path(path).parent
    images = [_image(folder, f"beta_{number:04d}") for number, *_ in columns]
    _, runs, names, _ = map(list, zip(*columns, strict=True))
    return Fit(images, names, runs, _image(folder, "mask"))


def read_feat(path):
    """Return the Fit of a ``.feat`` folder: each original EV's own cope, or pe."""
    path = Path(path)
    design = _design_of_feat(path / "design.fsf")
    try:
        evs, copes = _evs_of(design), _copes_of(design)
    except (KeyError, ValueError) as error:
        raise ValueError(
            f"{path}: design.fsf is not as FEAT wrote it ({error}); give the folder of "
            "a first-level analysis, fitted with one basis function (double gamma)"
        ) from error
    standard = path / "reg_standard"
    root = standard if any(standard.glob("stats/*pe*.nii*")) else path
    stems = [[copes[k], f"pe{k}"] if k in copes else [f"pe{k}"] for k in evs]
    series = (design["series"],) if "series" in design else ()
    images = [_image(root / "stats", *own) for own in stems]
    runs, mask = [path.stem] * len(evs), _image(root, "mask")
    return Fit(images, list(evs.values()), runs, mask, series)


def check_places(fits):
    """Warn if FEAT's own registrations say that runs lie in different places."""
    folders = [Path(fit.mask).parent for fit in fits if isinstance(fit.mask, str)]
    files = [folder / "reg" / "example_func2standard.mat" for folder in folders]
    grids = [(f.parents[1], np.loadtxt(f, max_rows=4)) for f in files if f.is_file()]
    corners = np.array([[x, y, 80, 1] for x in (0, 160) for y in (0, 200)]).T
    for folder, matrix in grids[1:]:
        apart = np.abs((matrix - grids[0][1]) @ corners).max()
        if apart > _APART:
            warn(
                f"{folder} lies up to {apart:.0f} mm from {grids[0][0]} by FEAT's own "
                "registration, and voxels of the runs are compared as they are; run "
                "featregapply, or align the runs before FEAT"
            )
            return


def _evs_of(design):
    """Return the titles of original EVs by their columns, counted from 1."""
    events, column = {}, 1
    for ev in range(1, int(design["evs_orig"]) + 1):
        if int(design.get(f"convolve{ev}", 0)) > 3:
            raise ValueError(f"{design[f'evtitle{ev}']!r} has several basis functions")
        events[column] = design[f"evtitle{ev}"]
        column += 1 + int(design.get(f"deriv_yn{ev}", 0))
    if column != int(design["evs_real"]) + 1:
        raise ValueError(f"EVs make {column - 1} columns of {design['evs_real']}")
    return events


def _copes_of(design):
    """Return the first cope that is one column and nothing else, by columns."""
    copes = {}
    for contrast in range(int(design.get("ncon_real", 0)), 0, -1):
        weights = [
            float(design.get(f"con_real{contrast}.{column}", 0))
            for column in range(1, int(design["evs_real"]) + 1)
        ]
        if max(weights, default=0) == 1 and sum(map(abs, weights)) == 1:
            copes[weights.index(1) + 1] = f"cope{contrast}"
    return copes


def read_glmsingle(path, mask):
    """Return the Fit of GLMsingle's result, as an image on a mask's grid."""
    path, names, runs = Path(path), None, None
    if path.suffix == ".npy":
        betas = _plain_array(path)
    else:
        content = read_matlab(path, "betasmd", "modelmd")
        betas = content.get("betasmd", content.get("modelmd"))
    if np.ndim(betas) not in (2, 4):
        raise ValueError(
            f"{path} has no betas of x, y, z and trials (betasmd, or modelmd of "
            "MATLAB); give the result of a single-trial model, TYPEB to TYPED"
        )
    if (design := path.parent / "DESIGNINFO.mat").is_file():
        about = read_matlab(design, "stimorder", "numtrialrun")
        names = [f"{int(k)}" for k in np.ravel(about["stimorder"])]
        counts = np.ravel(about["numtrialrun"]).astype(int)
        runs = [str(i) for i, n in enumerate(counts, start=1) for _ in range(n)]
    return Fit([_on_grid(betas, mask, path)], names, runs, mask)


def _on_grid(betas, mask, path):
    """Return betas as an image on the grid of a mask; they have none of their own."""
    if mask is None:
        raise ValueError(
            f"{path} does not say where its voxels are; give the brain mask on the "
            "grid of the series (mask, --mask), or put it beside as mask.nii.gz"
        )
    grid = open_image(mask, "mask").img
    if betas.shape[:3] != grid.shape[:3]:
        raise ValueError(
            f"{path} has betas of shape {betas.shape} for a mask of {grid.shape}; give "
            "the mask on the grid of the series, and to GLMsingle whole volumes (x, y, "
            "z, time): in which order voxels were listed is not known afterwards"
        )
    img = Nifti1Image(np.asarray(betas, dtype=np.float32), grid.affine)
    img.file_map["image"].filename = str(path)  # by which it is named and hashed
    return img


def _plain_array(path):
    """Return the array of a file of numpy; of pickles say what to do instead."""
    try:
        return load_array(path)
    except ValueError as error:
        if "pickle" not in str(error.__cause__):
            raise
        raise ValueError(
            f"{path} is a pickled dict, which can run any code when it is opened and "
            "is not read; let GLMsingle write HDF5 (wanthdf5=1), or save the array "
            "alone: numpy.save('betas.npy', results['typed']['betasmd'])"
        ) from error


def _texts(content, part):
    """Return the names in a part of SPM's struct; a lone one may be no cell."""
    names = content.get(part, {}).get("name", ())
    return [str(text) for text in np.atleast_1d(np.asarray(names, dtype=object))]


def _design_of_feat(path):
    """Return the settings of a ``design.fsf`` by name; those of a first level."""
    if not path.is_file():
        raise ValueError(f"{path.parent} has no design.fsf; give the .feat folder")
    text = path.read_text(encoding="utf-8", errors="replace")
    pairs = re.findall(r"^set fmri\(([^)]+)\)\s+(.*?)\s*$", text, re.MULTILINE)
    pairs += [("series", s) for s in re.findall(r"feat_files\(1\)\s+(.*?)\s", text)]
    design = {key: value.strip('"') for key, value in pairs}
    if design.get("level", "1") != "1" or "evs_real" not in design:
        raise ValueError(
            f"{path} is not of a first-level analysis; give the .feat folder of every "
            "run, not the .gfeat of all"
        )
    return design


def _image(folder, *stems):
    """Return the image of the first stem that there is one of."""
    for stem in stems:
        for ending in _IMAGES:
            if (path := folder / f"{stem}{ending}").is_file():
                return str(path)
    raise ValueError(f"{folder} has no image {' or '.join(stems)}; estimate it again")
