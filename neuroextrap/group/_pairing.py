"""Whose map is it? Subjects by the labels in names, and tables in their order."""

from pathlib import Path

import numpy as np
import pandas as pd

from neuroextrap.images._bids_names import loose_entities

_ID = "participant_id"


def label_of(file):
    """Return the label of the subject in a path, or None."""
    return None if file is None else loose_entities(file).get("sub")


def name_subjects(files, otherwise=None):
    """Name subjects by sub-<label>, by files or, where these repeat, `otherwise`."""
    if otherwise is None:
        otherwise = tuple(str(number) for number in range(1, len(files) + 1))
    if None in files:
        return otherwise
    names = []
    for file in files:
        label = label_of(file)
        named = Path(file).name.partition(".nii")[0]
        names.append(named if label is None else f"sub-{label}")
    return tuple(names) if len(set(names)) == len(names) else otherwise


def in_order_of(files, values, name):
    """Return a table with its rows in the order of the subjects' files, by names."""
    if not isinstance(values, (pd.DataFrame, pd.Series)):
        return values
    if _ID in getattr(values, "columns", ()):
        values = values.set_index(_ID)
    index = values.index
    if _ID in index.names:
        rows = list(index.get_level_values(_ID))
    else:
        plain = index.equals(pd.RangeIndex(len(index)))
        rows = [None] * len(index) if plain else list(index)
    labels = [label_of(file) for file in files]
    if len(rows) != len(files) and None in (*rows, *labels):  # said of the shape
        return values
    order = _matching_order(labels, rows, ("imgs", name))
    return values if order is None else values.iloc[order]


def per_subject(values, name, files):
    """Return one value per subject, in the order of their files, or None."""
    if values is None:
        return None
    ordered = in_order_of(files, values, name)
    try:
        array = np.asarray(ordered)
    except ValueError:  # lists of different lengths
        array = np.empty((0, 0))
    if array.shape != (len(files),):
        raise ValueError(
            f"{name} must have one entry per subject ({len(files)}); got shape "
            f"{array.shape}"
        )
    return array


def order_of_pairs(files, others, names):
    """Return which second image belongs to each first one; None for the same."""
    first, second = label_keys(map(label_of, files), map(label_of, others))
    if not set(first) & set(second) - {None}:  # patients, and controls matched to them
        return None
    return _matching_order(first, second, names)


def _matching_order(first, second, names):
    """Return where in `second` the subject of each label in `first` is, or None."""
    first, second = label_keys(first, second)
    pairs = [pair for pair in zip(first, second, strict=False) if None not in pair]
    differing = [f"{one!r} is paired with {two!r}" for one, two in pairs if one != two]
    alike = len(first) == len(second)
    if alike and not differing:
        return None
    is_unique = None not in first and len(set(first)) == len(first)
    if alike and is_unique and set(first) == set(second):
        return [second.index(label) for label in first]
    told = differing[0] if alike else f"there are {len(first)} and {len(second)}"
    raise ValueError(
        f"{names[0]} and {names[1]} cannot be matched by the names of subjects ("
        f"{told}; only in {names[0]}: {_lacking(second, first)}; only in {names[1]}: "
        f"{_lacking(first, second)}); give the same subjects in both, each once, or, "
        "if the order is right, an array or a table without names "
        "(reset_index(drop=True))"
    )


def _lacking(labels, others):
    """Name what is among the others only."""
    return ", ".join(x for x in others if x not in {None, *labels}) or "none"


def label_keys(*lists):
    """Return labels as text without sub-, 08 as 8 unless that makes two into one."""
    texts, short = [], []
    for labels in lists:
        known = [None if x is None else str(x).removeprefix("sub-") for x in labels]
        texts.append(known)
        short.append([str(int(x)) if x and x.isdecimal() else x for x in known])
    joined = any(len(set(a)) < len(set(b)) for a, b in zip(short, texts, strict=True))
    return texts if joined else short
