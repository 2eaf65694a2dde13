"""Features of stimuli from tables, and photographs of which features are made."""

from __future__ import annotations

import os
import struct
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any
from zipfile import BadZipFile
from zipfile import Path as ZipPath

import numpy as np
import pandas as pd

from neuroextrap.images._tables import load_array, numbers, read_text_table, text_column
from neuroextrap.stats._label_checks import plain_types_checked

NAMES = "stimulus"
"""Column (array, in .npz files) that holds the names."""


@plain_types_checked
def read_features(path: str | PathLike) -> Any:
    r"""Read features of stimuli (network layers, word vectors) from a file.

    Parameters
    ----------
    path : path-like
        A table, ``.tsv`` or ``.csv`` (also ``.gz``) or ``.parquet``, whose column
        ``stimulus`` (if there is one) names the stimuli and whose other columns are
        numbers; a ``.npy`` array of shape (n_stimuli, n_columns), without names; or a
        ``.npz`` archive of an array ``features`` and, perhaps, of names ``stimulus``.

    Returns
    -------
    features : pandas.DataFrame of shape (n_stimuli, n_columns)
        Features; the index has the names of the stimuli, or numbers from 0 where there
        are none.

    Raises
    ------
    ValueError
        When the file is of another kind or damaged, a name is missing, or a column
        holds something else than finite numbers.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from neuroextrap.encoding import read_features
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "layer.tsv"
    ...     _ = path.write_text("stimulus\tunit1\tunit2\ncat\t0.5\t1\ndog\t0\t2\n")
    ...     features = read_features(path)
    >>> features.index.tolist(), features.to_numpy().tolist()
    (['cat', 'dog'], [[0.5, 1.0], [0.0, 2.0]])
    """
    path = os.fspath(path)
    values, names, columns = read_matrix(path, "features", (NAMES,))
    if values.ndim != 2 or not values.size:
        raise ValueError(
            f"{path} has features of shape {values.shape}; give (n_stimuli, n_columns)"
        )
    bad = np.flatnonzero(~np.isfinite(values).all(axis=1))
    if bad.size:
        raise ValueError(
            f"{path} has NaN or infinity in row {bad[0] + 1} ({bad.size} in all); "
            "repair these rows or leave them out"
        )
    if names is not None and len(names) != len(values):
        raise ValueError(
            f"{path} has {len(names)} names of stimuli for {len(values)} rows of "
            "features; give one each"
        )
    index = None if names is None else pd.Index(_complete(names, path), name=NAMES)
    return pd.DataFrame(values, index=index, columns=columns)


def read_matrix(path, array, names):
    """Return a file's matrix (`array` in archives), names of its rows, and columns."""
    suffix = os.path.splitext(path.lower().removesuffix(".gz"))[1]
    if suffix not in _READERS:
        raise ValueError(
            f"{path} is of no kind that holds {array}; give {', '.join(_READERS)}"
        )
    return _READERS[suffix](path, array, names)


def _read_npy(path, array, _):
    """Read an array without names."""
    return _numeric(load_array(path), path, array), None, None


def _read_npz(path, array, names):
    """Read the arrays of a matrix and, perhaps, of the names of its rows."""
    try:
        with np.load(path, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
    except (ValueError, EOFError, BadZipFile, AttributeError) as error:
        raise ValueError(
            f"{path} holds no arrays of numbers and text; write them again with "
            f"numpy.savez(path, {array}=..., {names[0]}=...), names as text"
        ) from error
    key = "arr_0" if list(arrays) == ["arr_0"] else array
    if key not in arrays:
        raise ValueError(
            f"{path} has no array {array!r}, it has {', '.join(arrays) or 'none'}; "
            f"write numpy.savez(path, {array}=..., {names[0]}=...)"
        )
    rows = next((arrays[name] for name in names if name in arrays), None)
    return _numeric(arrays[key], path, array), rows, None


def _read_text(path, array, names):
    """Read a table of text, whose other columns than the names are numbers."""
    table = read_text_table(path, array)
    first = pd.to_numeric(pd.Series(table.columns, dtype=object), errors="coerce")
    if first.notna().all() and all("." in name for name in table.columns):
        raise ValueError(
            f"{path} has numbers in its first row, which must name the columns; add a "
            "row of names, or write an array with numpy.save"
        )
    return _split_table(table, path, names, None)


def _read_parquet(path, array, names):
    """Read a table whose names are a column, or the index if that is text."""
    try:
        table = pd.read_parquet(path)
    except ImportError as error:
        raise ModuleNotFoundError(
            f"{path}: parquet files are read by pyarrow, which is not installed; "
            "install pyarrow, or write the table as .tsv"
        ) from error
    except FileNotFoundError:
        raise
    except (ValueError, OSError) as error:
        raise ValueError(
            f"{path} is no parquet table of {array}; write it again"
        ) from error
    named = not pd.api.types.is_numeric_dtype(table.index)
    return _split_table(table, path, names, table.index.to_numpy() if named else None)


def _split_table(table, path, names, rows):
    """Return numbers, names of rows (`rows` if no column has them) and of columns."""
    name = next((name for name in names if name in table), None)
    if name is not None:
        rows = text_column(table, name, path)
        table = table.drop(columns=name)
    return numbers(table, path), rows, list(map(str, table.columns))


def _numeric(values, path, array):
    """Return an array of real numbers; ValueError for others."""
    if values.dtype.kind not in "buif":
        raise ValueError(
            f"{path} holds {array} of dtype {values.dtype}; give real numbers"
        )
    single = values.dtype == np.float32
    return values if single else values.astype(np.float64, copy=False)


def _complete(names, path):
    """Return names as text; ValueError where one is missing or comes twice."""
    names = np.asarray(names).astype(str)
    empty = np.flatnonzero(names == "")
    if empty.size:
        raise ValueError(
            f"{path}: column {NAMES} has no entry in row {empty[0] + 1}; name every "
            "stimulus"
        )
    unique, counts = np.unique(names, return_counts=True)
    if counts.max() > 1:
        name = str(unique[counts.argmax()])
        raise ValueError(
            f"{path} has {counts.max()} rows of stimulus {name!r}; give each once"
        )
    return names.astype(object)


_READERS = {
    ".tsv": _read_text,
    ".csv": _read_text,
    ".txt": _read_text,
    ".npy": _read_npy,
    ".npz": _read_npz,
    ".parquet": _read_parquet,
}


class Photographs:
    """Image files, read some at a time and indexed like an array of their ``shape``.

    Gray, (n_images, height, width) of 0 to 255, where all files are, else with a fourth
    axis of colors; averaged so that no side exceeds `max_size` pixels.
    """

    def __init__(self, paths, *, max_size=128):
        self.paths, self.max_size = [os.fspath(path) for path in paths], max_size
        sizes = {path: self._header(path) for path in dict.fromkeys(self.paths)}
        first = self.paths[0]
        for path, (size, _) in sizes.items():
            if size != sizes[first][0]:
                one, two = ("{} x {}".format(*sizes[p][0][::-1]) for p in (path, first))
                raise ValueError(
                    f"{path} has {one} pixels, {first} {two} (height x width, after "
                    "reduction); crop images to one shape"
                )
        color = () if all(is_gray for _, is_gray in sizes.values()) else (3,)
        self.shape = (len(self.paths), *sizes[first][0][::-1], *color)

    def __len__(self):
        """Return the number of images."""
        return len(self.paths)

    def __getitem__(self, rows):
        """Read the images at an array of indices, or a slice."""
        return np.stack([self._read(p) for p in np.array(self.paths)[rows]])

    def _header(self, path):
        """Return width and height after reduction, and whether a file is gray."""
        with _opened(path) as image:
            return self._reduced(image.size), _is_gray(image)

    def _reduced(self, size):
        """Return a width and height, reduced where they exceed the largest side."""
        longest = max(size)
        if longest <= self.max_size:
            return size
        return tuple(max(1, round(side * self.max_size / longest)) for side in size)

    def _read(self, path):
        """Read one file as float32, (height, width) or (height, width, 3)."""
        from PIL import Image

        with _opened(path) as opened:
            image = opened.convert("L" if _is_gray(opened) else "RGB")
            size = self._reduced(image.size)
            if size != image.size:
                image = image.resize(size, Image.Resampling.BOX)
        values = np.asarray(image, dtype=np.float32)
        if values.ndim < len(self.shape) - 1:
            return np.repeat(values[..., np.newaxis], 3, axis=2)
        return values


def photograph_tree(folder):
    """Return a folder, or the only folder (else the root) of a .zip, as a path."""
    if os.path.splitext(folder)[1].lower() != ".zip":
        return Path(folder)
    try:
        tree = ZipPath(folder)
    except BadZipFile as error:
        raise ValueError(f"{folder} is no .zip archive ({error}); pack it again") from (
            error
        )
    inner = [entry for entry in tree.iterdir() if entry.name != "__MACOSX"]
    return inner[0] if len(inner) == 1 and inner[0].is_dir() else tree


def photograph_files(folder, names):
    """Return the file of every name, with suffix or not, in a folder or .zip file."""
    tree = photograph_tree(folder)
    files = {entry.name for entry in tree.iterdir() if entry.is_file()}
    by_stem: dict[str, list[str]] = {}
    for file in sorted(files):
        by_stem.setdefault(os.path.splitext(file)[0], []).append(file)
    found_of = {n: [n] if n in files else by_stem.get(n, []) for n in names}
    remedy = "give the name of the file in a column stim_file"
    for name, matches in found_of.items():
        if not matches:
            raise FileNotFoundError(
                f"{folder} holds no image of stimulus {name!r}; name the file like the "
                f"stimulus, or {remedy}"
            )
        if len(matches) > 1:
            raise ValueError(
                f"{folder} holds {' and '.join(matches)}: which is stimulus {name!r}; "
                f"{remedy}"
            )
    return [str(tree / found_of[name][0]) for name in names]


@contextmanager
def _opened(path):
    """Yield an image file, whose pixels are not read yet; ValueError if it is none."""
    try:
        from PIL import Image
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "image files are read by pillow, which is not installed; install it with "
            "matplotlib: pip install 'neuroextrap[plotting]'"
        ) from error
    archive, inside, member = path.rpartition(".zip/")
    packed = inside and os.path.isfile(f"{archive}.zip")
    source = ZipPath(f"{archive}.zip", member) if packed else Path(path)
    try:
        with source.open("rb") as file, Image.open(file) as image:
            yield image
    except Image.DecompressionBombError as error:
        raise ValueError(
            f"{path} has too many pixels ({error}); give smaller images"
        ) from error
    except FileNotFoundError as error:
        raise FileNotFoundError(f"{path} is not there; give it") from error
    except (OSError, ValueError, SyntaxError, LookupError, struct.error) as error:
        if getattr(error, "filename", None) is not None:
            raise
        raise ValueError(
            f"{path} is no image that can be read, it is damaged or of another kind "
            f"({error}); give whole .png or .jpg files"
        ) from error


def _is_gray(image):
    """Say whether an opened image has no color."""
    return image.mode in ("1", "L", "LA", "I;16", "I", "F")
