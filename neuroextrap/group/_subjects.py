"""One map of each subject: whose it is, compared with the others, masked and read."""

import os
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy.sparse

from neuroextrap.group._alike import allowed_names, findings_of_maps
from neuroextrap.images._bids_names import loose_entities
from neuroextrap.images._loading import (
    check_same_grid,
    finite_masker,
    load_opened,
    mapped,
    neighbor_pairs,
    read_image,
)
from neuroextrap.images._maskers import resolve_masker
from neuroextrap.images._opening import check_one_space, list_images
from neuroextrap.maps._files import check_results
from neuroextrap.maps._provenance import read_json
from neuroextrap.stats._rearrangement_test import pairs_among
from neuroextrap.stats._validation import brief, check_flags, check_numbers, warn

_MOST = 10**8
"""Permutations and resamples that nobody waits for."""
_ID = "participant_id"
_N_TOLD_APART = 10  # maps of fewer different numbers may be equal by chance


def check_count(value, name, least=1):
    """Check that a value is a whole number of at least `least`."""
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not whole or not least <= value <= _MOST:
        raise ValueError(
            f"{name}={brief(value)} must be an integer of at least {least} (and at "
            f"most {_MOST:,})"
        )


@dataclass(frozen=True, kw_only=True)
class MapOptions:
    """Where maps of subjects are compared, and in what they may differ.

    Parameters
    ----------
    mask : path, image, NiftiMasker, SurfaceMasker or None, default=None
        Where to test. If None, every voxel that is finite in all subjects; zeros are
        values, so give a mask where they mean "outside the brain".
    allow_mixed : bool or sequence of str, default=False
        Names of what may differ among subjects, such as ``["radius", "bounds"]``:
        parameters of the analysis, and options of ``fit_events`` by which samples were
        made. If True, anything. Maps are judged by what the JSON files beside them say.
    allow_native_space : bool, default=False
        Whether maps in the subjects' own spaces (``space-T1w`` in a name, or different
        grids without a name or header that says MNI) are tested voxel by voxel all the
        same.
    """

    mask: Any = None
    allow_mixed: bool | Sequence[str] = False
    allow_native_space: bool = False

    def __post_init__(self):
        """Check what may differ."""
        check_flags(allow_native_space=self.allow_native_space)
        allowed_names(self.allow_mixed)


class SubjectMaps(NamedTuple):
    """One map of each subject, and where each comes from."""

    values: np.ndarray  # (n_subjects, n_features)
    usable: Any = None  # (n_features,), finite in every subject
    masker: Any = None  # fitted; None for arrays
    files: tuple = ()  # None for one that is not in a file of its own
    labels: tuple = ()  # of subjects, in the names of files, or None
    names: tuple = ()
    quantity: str = ""  # what all maps are of (accuracy, say), if known
    findings: tuple = ()

    def in_order(self, table, name):
        """Return a table with its rows in the order of the subjects, by names."""
        if not isinstance(table, (pd.DataFrame, pd.Series)):
            return table
        if _ID in getattr(table, "columns", ()):
            table = table.set_index(_ID)
        index = table.index
        if _ID in index.names:
            rows = list(index.get_level_values(_ID))
        else:
            plain = index.equals(pd.RangeIndex(len(index)))
            rows = [None] * len(index) if plain else list(index)
        if len(rows) != len(self.labels) and None in (*rows, *self.labels):
            return table  # its shape says what is wrong
        order = _matching_order(self.labels, rows, ("imgs", name))
        return table if order is None else table.iloc[order]

    def one_each(self, values, name):
        """Return one value per subject, in their order, or None."""
        if values is None:
            return None
        values = self.in_order(values, name)
        try:
            array = np.asarray(values)
        except ValueError:  # lists of different lengths
            array = np.empty((0, 0))
        if array.shape != (len(self.files),):
            raise ValueError(
                f"{name} must have one entry per subject ({len(self.files)}); got "
                f"shape {array.shape}"
            )
        return array

    def neighbors(self, adjacency):
        """Return the pairs of neighbors among the features that are tested."""
        if self.masker is None:
            pairs = _pairs_of(adjacency, len(self.usable))
        elif adjacency is None:
            pairs = neighbor_pairs(self.masker)
        else:
            raise ValueError(
                "adjacency is for arrays; images have neighbors of their own, so leave "
                "it out"
            )
        return pairs_among(np.flatnonzero(self.usable), pairs, len(self.usable))


def _pairs_of(adjacency, n_features):
    """Return the pairs of an adjacency matrix, each once."""
    if adjacency is None:
        raise ValueError(
            "clusters of an array need adjacency, a sparse matrix (n_features, "
            "n_features) that is not zero where two features are neighbors"
        )
    matrix = scipy.sparse.coo_array(adjacency)
    if matrix.shape != (n_features, n_features):
        raise ValueError(
            f"adjacency has shape {matrix.shape}; give one row and column for each of "
            f"the {n_features} features"
        )
    linked = matrix.data != 0
    pairs = np.stack([matrix.row[linked], matrix.col[linked]], axis=1)
    pairs = np.unique(np.sort(pairs, axis=1), axis=0)
    return pairs[pairs[:, 0] != pairs[:, 1]].astype(np.intp)


def read_subjects(imgs, options, name, min_subjects=None, *, repeated=False):
    """Return SubjectMaps of an array, one 4-D image, or an image each."""
    if isinstance(imgs, np.ndarray):
        maps = SubjectMaps(_of_array(imgs, options.mask, name))
    else:
        how = {"in_any": min_subjects is not None, "repeated": repeated}
        maps = _of_images(imgs, options, name, **how)
    maps = maps._replace(usable=_usable(maps.values, name, min_subjects))
    if len(maps.files) != len(maps.values):  # not one each
        nobody = (None,) * len(maps.values)
        maps = maps._replace(files=nobody, labels=nobody)
    return maps._replace(names=name_subjects(maps.files, maps.labels, numbered=True))


def _of_images(imgs, options, name, *, in_any, repeated):
    """Return SubjectMaps of images, which are compared before they are read."""
    named = list_images(imgs, name, check_results)
    if not options.allow_native_space:
        check_one_space(named, name)
    about = _compared(named, name, options.allow_mixed, repeated=repeated)
    if options.mask is None:
        masker = finite_masker(named, in_any=in_any)
    else:
        masker = resolve_masker(options.mask)
    return SubjectMaps(load_opened(named, masker), masker=masker, **about)


def _compared(named, name, allow_mixed, *, repeated):
    """Return what SubjectMaps tell of images; ValueError unless they go together."""
    files = tuple(img.file for img in named)
    labels = tuple(img.entities.get("sub") for img in named)
    check_distinct(files, name, () if repeated else labels)
    findings = findings_of_maps(
        name_subjects(files, labels),
        [sidecar_of(file) for file in files],
        name,
        allow_mixed=allow_mixed,
        one_each=all(img.n_samples is None for img in named),
    )
    quantities = {img.entities.get("desc", "") for img in named if img.file}
    about = {"files": files, "labels": labels, "findings": findings}
    return about | {"quantity": quantities.pop() if len(quantities) == 1 else ""}


def _of_array(values, mask, name):
    """Return an array of maps as floating point numbers."""
    if mask is not None:
        raise ValueError(
            f"{name} is an array, so mask must be None; give images or no mask"
        )
    values = check_numbers(values, name)
    return values if values.dtype.kind == "f" else values.astype(float)


def _usable(values, name, min_subjects):
    """Return which features are finite in all subjects, or in `min_subjects`."""
    if values.ndim != 2 or len(values) < 2:
        raise ValueError(
            f"{name} has shape {values.shape} as (n_subjects, n_features); give one "
            "map for each of at least two subjects"
        )
    least = len(values) if min_subjects is None else min_subjects
    if least > len(values):
        raise ValueError(
            f"min_subjects={min_subjects} is more than the {len(values)} subjects of "
            f"{name}; give a smaller number"
        )
    usable = np.isfinite(values).sum(axis=0) >= least
    if not usable.any():
        raise ValueError(
            f"{name} has no voxel that is finite in "
            f"{'all' if min_subjects is None else 'at least'} {least} subjects; check "
            "the images and the mask"
        )
    return usable


def places_of_repeats(keys):
    """Return each key that comes several times, but None, with its first two places."""
    places = defaultdict(list)
    for number, key in enumerate(keys):
        if key is not None:
            places[key].append(number)
    return [(key, *rows[:2]) for key, rows in places.items() if len(rows) > 1]


def check_distinct(files, name, labels=()):
    """Raise if two of several files (or None) are one, warn if two labels are."""
    paths = [None if file is None else os.path.realpath(file) for file in files]
    for path, first, second in places_of_repeats(paths):
        raise ValueError(
            f"{name}[{first}] and {name}[{second}] are both {path}; give every subject "
            "once"
        )
    for label, first, second in places_of_repeats(labels):
        warn(
            f"{name}[{first}] and {name}[{second}] are both of sub-{label} "
            f"({files[first]}, {files[second]}) and count as two subjects; if they "
            "are one, average the maps first"
        )


def check_different(values, name):
    """Raise if two rows of (n_subjects, n_features) are the same in float32."""
    with np.errstate(over="ignore"):
        rows = (row.astype(np.float32) + np.float32(0) for row in values)  # no -0
        contents = [row.tobytes() for row in rows]
    for content, first, second in places_of_repeats(contents):
        if len(np.unique(np.frombuffer(content, np.float32))) >= _N_TOLD_APART:
            raise ValueError(
                f"{name}[{first}] and {name}[{second}] hold the same numbers; give "
                "every subject once"
            )


def read_differences(imgs, options, *, repeated):
    """Return SubjectMaps of one map of each subject, or of the differences of pairs."""
    how = {"min_subjects": options.min_subjects, "repeated": repeated}
    subjects = read_subjects(imgs, options, "imgs", **how)
    check_different(subjects.values, "imgs")
    values = subjects.values.astype(float)
    if options.paired_imgs is None:
        return subjects._replace(values=values)
    if subjects.masker is not None:
        options = replace(options, mask=subjects.masker)
    others = read_subjects(options.paired_imgs, options, "paired_imgs", **how)
    values = values - _paired_values(subjects, others)
    least = options.min_subjects or len(values)
    usable = np.isfinite(values).sum(axis=0) >= least
    return subjects._replace(usable=usable, values=values)


def _paired_values(subjects, others):
    """Return the values of the others in the order of the subjects."""
    values, labels = others.values, (subjects.labels, others.labels)
    if values.shape != subjects.values.shape:
        raise ValueError(
            f"imgs and paired_imgs have shapes {subjects.values.shape} and "
            f"{values.shape}; give two maps of each subject, in one order"
        )
    check_different(values, "paired_imgs")
    first, second = ({*keys} - {None} for keys in label_keys(*labels))
    if first.isdisjoint(second):  # patients, and controls matched to them
        return values
    order = _matching_order(*labels, ("imgs", "paired_imgs"))
    return values if order is None else values[order]


def differences_of(imgs, others):
    """Return images of subjects less those of others, named as the first."""
    differences = []
    firsts, seconds = (list_images(i, "imgs", check_results) for i in (imgs, others))
    for first, second in zip(firsts, seconds, strict=True):
        check_same_grid(second, first)
        img = mapped(np.subtract, read_image(first).img, read_image(second).img)
        img.file_map["image"].filename = first.file
        differences.append(img)
    return differences


def sidecar_of(file):
    """Return the sidecar of a map (None: not in a file), empty if there is none."""
    beside = Path(str(file).removesuffix(".gz").removesuffix(".nii") + ".json")
    return read_json(beside) if file is not None and beside.is_file() else {}


def label_of(file):
    """Return the label of the subject in a path, or None."""
    return None if file is None else loose_entities(file).get("sub")


def name_subjects(files, labels, *, numbered=False):
    """Name subjects by labels or files, or, where these repeat, by paths or numbers."""
    if None not in files:
        names = tuple(
            Path(file).name.partition(".nii")[0] if label is None else f"sub-{label}"
            for file, label in zip(files, labels, strict=True)
        )
        if len(set(names)) == len(names):
            return names
    numbers = tuple(str(number) for number in range(1, len(files) + 1))
    return numbers if numbered else _from_shared_folder(files)


def _from_shared_folder(files):
    """Return paths from the folder on that all have in common, which nobody is told."""
    if None in files or len({os.path.isabs(file) for file in files}) > 1:
        return files
    root = os.path.commonpath(files)
    return [os.path.relpath(file, root) for file in files]


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
    why = differing[0] if alike else f"there are {len(first)} and {len(second)}"
    raise ValueError(
        f"{names[0]} and {names[1]} cannot be matched by the names of subjects ("
        f"{why}; only in {names[0]}: {_lacking(second, first)}; only in {names[1]}: "
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
        keys = [None if x is None else str(x).removeprefix("sub-") for x in labels]
        texts.append(keys)
        short.append([str(int(x)) if x and x.isdecimal() else x for x in keys])
    joined = any(len(set(a)) < len(set(b)) for a, b in zip(short, texts, strict=True))
    return texts if joined else short
