"""Whose is what: subjects that come twice, and what comes with them by their names."""

import os
from collections import defaultdict
from pathlib import Path

import numpy as np
import pandas as pd

from neuroextrap.images._bids_names import loose_entities
from neuroextrap.maps._transaction import read_json
from neuroextrap.margins.running._null import read_about_null
from neuroextrap.stats._warn import warn

_EXTENSIONS = (".nii.gz", ".nii")
_ID = "participant_id"
_N_TOLD_APART = 10  # maps of fewer different numbers may be equal by chance


def check_distinct(files, name, *, repeated=False):
    """Raise if two of several files are one; warn if two are of one subject.

    `files` may hold None, for what is not from a file. With `repeated` a subject may
    have several. `name` is the argument's.
    """
    places = defaultdict(list)
    for number, file in enumerate(files):
        if file is not None:
            places[os.path.realpath(file)].append(number)
    for file, numbers in places.items():
        if len(numbers) > 1:
            raise ValueError(
                f"{name}[{numbers[0]}] and {name}[{numbers[1]}] are both {file}; give "
                "every subject once"
            )
    if not repeated:
        _warn_of_repeats(files, name)


def name_subjects(files, otherwise=None):
    """Name subjects by the sub-<label> of their files or folders, or their names.

    If a file is None, or two subjects would have one name, `otherwise` names them,
    numbers by default.
    """
    if otherwise is None:
        otherwise = tuple(str(number) for number in range(1, len(files) + 1))
    if None in files:
        return otherwise
    labels = map(_label, files)
    names = [
        Path(file).name.partition(".nii")[0] if label is None else f"sub-{label}"
        for file, label in zip(files, labels, strict=True)
    ]
    return tuple(names) if len(set(names)) == len(names) else otherwise


def check_different(values, name):
    """Raise if two rows of maps (n_subjects, n_features) hold the same numbers.

    Copies in another precision are found too: compared are float32.
    """
    seen: dict[bytes, int] = {}
    for number, row in enumerate(values):
        with np.errstate(over="ignore"):
            row = row.astype(np.float32) + np.float32(0)  # no -0
        other = seen.setdefault(row.tobytes(), number)
        if other != number and len(np.unique(row)) >= _N_TOLD_APART:
            raise ValueError(
                f"{name}[{other}] and {name}[{number}] hold the same numbers; give "
                "every subject once"
            )


def in_order_of(files, values, name):
    """Return a DataFrame or Series with its rows in the order of the subjects' files.

    A column or index level participant_id names the rows, else the index does, unless
    it counts 0, 1, 2 ...; without names on either side, and for anything that is no
    DataFrame or Series, the order is right. ValueError if names disagree.
    """
    if not isinstance(values, (pd.DataFrame, pd.Series)):
        return values
    index = values.index
    if isinstance(values, pd.DataFrame) and _ID in values.columns:
        rows, values = list(values[_ID]), values.drop(columns=_ID)
    elif _ID in index.names:
        rows = list(index.get_level_values(_ID))
    else:
        plain = index.equals(pd.RangeIndex(len(index)))
        rows = [None] * len(index) if plain else list(index)
    labels = [_label(file) for file in files]
    if len(rows) != len(files) and None in (*rows, *labels):  # said of the shape
        return values
    order = matching_order(labels, rows, ("imgs", name))
    return values if order is None else values.iloc[order]


def order_of_pairs(files, others, names):
    """Return which of the second images belongs to each first one; None: the same.

    `names` are those of the two arguments. Lists that share no subject, such as
    patients and the controls matched to them, are paired by their order.
    """
    first, second = _keys(map(_label, files), map(_label, others))
    if not set(first) & set(second) - {None}:
        return None
    return matching_order(first, second, names)


def matching_order(first, second, names):
    """Return where in `second` the subject of each entry of `first` is.

    Both are labels of subjects, None if one is not known. Returns None if the order
    is right as it is, or unknown; ValueError if it is wrong and cannot be made
    right, because subjects differ or come several times.
    """
    first, second = _keys(first, second)
    pairs = [pair for pair in zip(first, second, strict=False) if None not in pair]
    differing = [f"{one!r} is paired with {two!r}" for one, two in pairs if one != two]
    alike = len(first) == len(second)
    if alike and not differing:
        return None
    is_unique = None not in first and len(set(first)) == len(first)
    if alike and is_unique and set(first) == set(second):
        return [second.index(label) for label in first]
    told = differing[0] if alike else f"there are {len(first)} and {len(second)}"
    alone = [
        ", ".join(x for x in these if x not in {None, *those}) or "none"
        for these, those in ((first, second), (second, first))
    ]
    raise ValueError(
        f"{names[0]} and {names[1]} cannot be matched by the names of subjects ("
        f"{told}; only in {names[0]}: {alone[0]}; only in {names[1]}: "
        f"{alone[1]}); give the same subjects in both, each once, or, if the order is "
        "right, an array or a table without names (reset_index(drop=True))"
    )


def _keys(*lists):
    """Return labels as text without sub-, 08 as 8 unless that makes two into one."""
    texts, short = [], []
    for labels in lists:
        known = [None if x is None else str(x).removeprefix("sub-") for x in labels]
        texts.append(known)
        short.append([str(int(x)) if x and x.isdecimal() else x for x in known])
    joined = any(len(set(a)) < len(set(b)) for a, b in zip(short, texts, strict=True))
    return texts if joined else short


def check_nulls(nulls, null_files, files):
    """Raise if permuted maps are not those of the map at the same place.

    Names say it (``sub-<label>``), or the file that ``keep`` wrote beside the permuted
    maps together with the sidecar of the map. If neither does, a warning says that
    the order counts. `nulls` are arrays, `null_files` and `files` their paths or None;
    of images among `null_files` only the names are looked at.
    """
    check_distinct(null_files, "null_scores", repeated=True)
    untold = []
    for number, (file, null_file) in enumerate(zip(files, null_files, strict=True)):
        if null_file is None:
            continue
        is_npy = null_file.endswith(".npy")
        own = read_about_null(null_file, nulls[number]) if is_npy else None
        if file is None:
            continue
        _check_labels(number, file, null_file)
        beside = sidecar_of(file)
        if own is not None and beside.get("run") is not None:
            _check_run(number, (file, beside), (null_file, own))
        elif is_npy and None in (_label(file), _label(null_file)):
            untold.append(number)
    if untold:
        k = untold[0]
        warn(
            f"nothing says whether null_scores[{k}] ({null_files[k]}) are the permuted "
            f"maps of scores[{k}] ({files[k]}): {len(untold)} of {len(files)} are "
            "matched by their order; keep what save_null writes beside them, or put "
            "sub-<label> into the names"
        )


def _check_labels(number, file, null_file):
    """Raise if two paths name different subjects."""
    [(one,), (two,)] = _keys([_label(file)], [_label(null_file)])
    if None not in (one, two) and one != two:
        raise ValueError(
            f"null_scores[{number}] ({null_file}) is of sub-{two}, "
            f"scores[{number}] ({file}) of sub-{one}; give both in one order of "
            "the subjects"
        )


def _check_run(number, observed, permuted):
    """Raise unless a map and permuted maps are of one run and one statistic.

    `observed` and `permuted` are pairs of a file and its sidecar.
    """
    (file, beside), (null_file, own) = observed, permuted
    if own["run"] != beside["run"]:
        raise ValueError(
            f"null_scores[{number}] ({null_file}) and scores[{number}] ({file}) are of "
            "different runs; give the permuted maps of each subject's own run, in the "
            "order of the maps"
        )
    allowed = own.get("maps") or {}
    if allowed and beside.get("description") not in allowed.values():
        raise ValueError(
            f"null_scores[{number}] ({null_file}) are permuted maps of "
            f"{' or '.join(allowed)}, which scores[{number}] ({file}) is not; give "
            "that map, or run again with another statistic"
        )


def sidecar_of(file):
    """Return the sidecar of a map, empty if there is none."""
    for extension in _EXTENSIONS:
        beside = Path(file.removesuffix(extension) + ".json")
        if file.endswith(extension) and beside.is_file():
            return read_json(beside)
    return {}


def _label(file):
    """Return the label of the subject in a path, or None."""
    return None if file is None else loose_entities(file).get("sub")


def _warn_of_repeats(files, name):
    """Warn if two files name the same subject."""
    labels = np.array([_label(file) or "" for file in files])
    for label in dict.fromkeys(labels[labels != ""].tolist()):
        numbers = np.flatnonzero(labels == label)
        if len(numbers) > 1:
            first, second = (int(number) for number in numbers[:2])
            warn(
                f"{name}[{first}] and {name}[{second}] are both of sub-{label} "
                f"({files[first]}, {files[second]}) and count as two subjects; if they "
                "are one, average the maps first"
            )
