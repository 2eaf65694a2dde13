"""Tables of text and arrays from files: nothing is guessed, nothing vanishes."""

import csv
import gzip
import io
import os
import zlib
from collections import Counter
from tokenize import TokenError
from zipfile import BadZipFile

import numpy as np
import pandas as pd

from neuroextrap.stats._validation import brief

MISSING = "n/a"
"""The only entry that BIDS takes for missing."""


def read_text_table(path, name):
    """Return a file as a DataFrame of text, exactly as it is written."""
    path = os.fspath(path)
    header, *rows = _rows(path, name) or [[]]
    if not header:
        raise ValueError(f"{path} is not a table, it is empty; give named columns")
    check_columns(header, path)
    _check_separated(header, rows[:1], path)
    for number, row in enumerate(rows, start=1):
        if len(row) != len(header):
            raise ValueError(
                f"{path}: row {number} has {len(row)} entries for {len(header)} "
                f"columns; separate them by {_separator(path)[1]}, write {MISSING} for "
                "what is missing"
            )
    return pd.DataFrame(rows, columns=header, dtype=object)


def numbers(table, name):
    """Return a table's columns as float64; ValueError names what is not finite."""
    values = np.empty(table.shape)
    for i, column in enumerate(table.columns):
        read = pd.to_numeric(table[column], errors="coerce").to_numpy(dtype=float)
        values[:, i] = read
        if not np.isfinite(read).all():
            row = int(np.flatnonzero(~np.isfinite(read))[0])
            raise ValueError(
                f"{name}: column {column} has {str(table[column].iloc[row])!r} in row "
                f"{row + 1}, which is no finite number; give numbers in every row"
            )
    return values


def check_columns(columns, name):
    """Raise if columns have the same name, or none."""
    twice = sorted(str(key) for key, n in Counter(columns).items() if n > 1)
    if twice:
        raise ValueError(
            f"{name} has more than one column {', '.join(map(repr, twice))}; keep one"
        )
    if any(isinstance(key, str) and not key.strip() for key in columns):
        raise ValueError(f"{name} has a column without a name; name every column")


def _check_separated(header, first, path):
    """Raise if the only column holds, in its name and below, what separates others."""
    for mark in ",;\t" if len(header) == 1 else "":
        n = header[0].count(mark)
        if n and all("".join(row).count(mark) == n for row in first):
            raise ValueError(
                f"{path} has one column, {brief(header[0])}; separate columns by "
                f"{_separator(path)[1]}"
            )


def text_column(table, column, name):
    """Return a column as text, "" where the entry is missing (n/a, None) or empty."""
    values = table[column]
    missing = values.isna().to_numpy()
    text = values.astype(str).to_numpy(dtype=object)
    text[missing | (text == MISSING)] = ""
    for row, entry in enumerate(text, start=1):
        if entry != entry.strip():
            raise ValueError(
                f"{name}: column {column} has {entry!r} in row {row}, which begins or "
                "ends with a blank; remove it"
            )
    present = values[~missing]
    if present.nunique() > len(set(text[~missing])) + int((present == MISSING).any()):
        raise ValueError(
            f"{name}: column {column} holds entries of different types that are the "
            "same text; convert the column to text"
        )
    return text.astype(str)


def _rows(path, name):
    """Return the rows of a file as lists of text, without empty lines at its end."""
    separator, called = _separator(path)
    lines = io.StringIO(_text(path, name), newline="")
    try:
        rows = list(csv.reader(lines, delimiter=separator, strict=True))
    except csv.Error as error:
        raise ValueError(
            f"{path} is not a table ({error}); give columns separated by {called} "
            "under a row of names"
        ) from error
    while rows and not any(rows[-1]) and len(rows[-1]) < 2:  # two: empty entries
        rows.pop()
    return rows


def _text(path, name):
    """Return the text of a file, compressed or not."""
    if not os.path.isfile(path):
        raise ValueError(f"{name}: no file {path}; check the path")
    try:
        with (gzip.open if path.endswith(".gz") else open)(path, "rb") as file:
            raw = file.read()
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise ValueError(
            f"{path} is not a table of UTF-8 text (line {line}); save it as UTF-8"
        ) from error
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(
            f"{path} cannot be decompressed ({error}); copy or compress it again"
        ) from error
    if "\0" in text:
        line = text[: text.index("\0")].count("\n") + 1
        raise ValueError(
            f"{path} has a NUL byte in line {line}; it is damaged or not text, save it "
            "as UTF-8 text"
        )
    return text


def _separator(path):
    """Return what separates columns, and its name."""
    commas = path.lower().endswith((".csv", ".csv.gz"))
    return (",", "commas") if commas else ("\t", "tabs")


def load_array(path, *, mmap_mode=None):
    """Return the array of a .npy file, never of pickles; ValueError if damaged."""
    path = os.fspath(path)
    try:
        array = np.load(path, mmap_mode=mmap_mode, allow_pickle=False)
    except (EOFError, OSError, ValueError, BadZipFile, TokenError) as error:
        if getattr(error, "filename", None) is not None:  # not there, or not to be read
            raise
        raise ValueError(
            f"{path} holds no array of numbers, it is damaged or of another kind; "
            "write it again with numpy.save"
        ) from error
    if not isinstance(array, np.ndarray):  # an archive of several arrays
        array.close()
        raise ValueError(
            f"{path} is an archive of arrays (.npz); write one array with numpy.save"
        )
    return array
