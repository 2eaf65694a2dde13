"""Whose maps are whose: subjects that come twice, and maps of others beside them."""

import os
from collections import defaultdict
from pathlib import Path

import numpy as np

from neuroextrap.images._bids_names import loose_entities
from neuroextrap.maps._json import read_json
from neuroextrap.margins.running._null import read_about_null
from neuroextrap.stats._warn import warn

_EXTENSIONS = (".nii.gz", ".nii")


def check_distinct(files, name, *, repeated=False):
    """Raise where two of several files are one; warn where two are of one subject.

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


def warn_of_order(files, others, names):
    """Warn where two lists name the same subjects, but not in the same order.

    `names` are those of the two arguments. Lists of different subjects, such as
    patients and the controls matched to them, are as they should be.
    """
    first, second = [_label(file) for file in files], [_label(file) for file in others]
    for number, (one, two) in enumerate(zip(first, second, strict=True)):
        if one != two and one in second and two in first:
            warn(
                f"{names[0]}[{number}] ({files[number]}) is of sub-{one}, "
                f"{names[1]}[{number}] ({others[number]}) of sub-{two}; if these are "
                "pairs of one subject, give both in one order"
            )
            return


def check_nulls(nulls, null_files, files):
    """Raise where permuted maps are not those of the map at the same place.

    Names tell (``sub-<label>``), and what ``save_null`` wrote beside the permuted maps
    together with what stands beside the map. Where neither does, a warning says that
    the order counts. `nulls` are arrays, `null_files` and `files` their paths or None.
    """
    check_distinct(null_files, "null_scores", repeated=True)
    untold = []
    for number, (file, null_file) in enumerate(zip(files, null_files, strict=True)):
        if null_file is None:
            continue
        own = read_about_null(null_file, nulls[number])
        if file is None:
            continue
        _check_labels(number, file, null_file)
        beside = sidecar_of(file)
        if own is not None and beside.get("run") is not None:
            _check_run(number, (file, beside), (null_file, own))
        elif None in (_label(file), _label(null_file)):
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
    """Raise where two paths name different subjects."""
    labels = _label(file), _label(null_file)
    if None not in labels and labels[0] != labels[1]:
        raise ValueError(
            f"null_scores[{number}] ({null_file}) is of sub-{labels[1]}, "
            f"scores[{number}] ({file}) of sub-{labels[0]}; give both in one order of "
            "the subjects"
        )


def _check_run(number, observed, permuted):
    """Raise unless a map and permuted maps are of one run and one statistic.

    `observed` and `permuted` are pairs of a file and what is told of it.
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
    """Return what stands beside a map, empty where nothing does."""
    for extension in _EXTENSIONS:
        beside = Path(file.removesuffix(extension) + ".json")
        if file.endswith(extension) and beside.is_file():
            return read_json(beside)
    return {}


def _label(file):
    """Return the label of the subject in a path, or None."""
    return None if file is None else loose_entities(file).get("sub")


def _warn_of_repeats(files, name):
    """Warn where two files name the same subject."""
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
