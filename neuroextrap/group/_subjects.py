"""One map of each subject: opened, compared with the others, masked and read."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse

from neuroextrap.group._alike import (
    allowed_names,
    compared,
    name_subjects,
    order_of_pairs,
    places_of_repeats,
)
from neuroextrap.images._loading import load_opened, neighbor_pairs
from neuroextrap.images._maskers import masker_of_maps
from neuroextrap.images._opening import (
    check_one_space,
    check_same_grid,
    list_images,
    mapped,
    read_image,
)
from neuroextrap.maps._files import check_results
from neuroextrap.stats._validation import brief, check_flags, check_numbers

_MOST = 10**8
"""Permutations and resamples that nobody waits for."""
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
    usable: np.ndarray  # (n_features,), finite in every subject
    masker: object  # fitted; None for arrays
    files: tuple = ()  # None for one that is not in a file of its own
    names: tuple = ()
    quantity: str = ""  # what all maps are of (accuracy, say), if known
    findings: tuple = ()

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
        place = np.full(len(self.usable), -1, dtype=np.intp)
        place[self.usable] = np.arange(self.usable.sum())
        kept = place[pairs]
        return kept[(kept >= 0).all(axis=1)]


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


def read_subjects(imgs, asked, name, min_subjects=None, *, repeated=False):
    """Return SubjectMaps of an array, one 4-D image, or an image each."""
    named, masker, findings = [], None, ()
    if isinstance(imgs, np.ndarray):
        values = _of_array(imgs, asked.mask, name)
    else:
        named = list_images(imgs, name, check_results)
        if not asked.allow_native_space:
            check_one_space(named, name)
        findings = compared(named, asked, name, repeated=repeated)
        masker = masker_of_maps(named, asked.mask, in_any=min_subjects is not None)
        values = load_opened(named, masker)
    usable = _usable(values, name, min_subjects)
    one_each = len(named) == len(values)
    files = tuple(img.file for img in named) if one_each else (None,) * len(values)
    about = files, name_subjects(files), _quantity(named), findings
    return SubjectMaps(values, usable, masker, *about)


def _quantity(named):
    """Return what all maps are of, "" if that is not known."""
    found = {img.entities.get("desc", "") for img in named if img.file}
    return found.pop() if len(found) == 1 else ""


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


def read_differences(imgs, asked, *, repeated):
    """Return SubjectMaps of one map of each subject, or of the differences of pairs."""
    how = {"min_subjects": asked.min_subjects, "repeated": repeated}
    subjects = read_subjects(imgs, asked, "imgs", **how)
    check_different(subjects.values, "imgs")
    values = subjects.values.astype(float)
    if asked.paired_imgs is None:
        return subjects._replace(values=values)
    if subjects.masker is not None:
        asked = replace(asked, mask=subjects.masker)
    others = read_subjects(asked.paired_imgs, asked, "paired_imgs", **how)
    values = values - _paired_values(subjects, others)
    least = asked.min_subjects or len(values)
    usable = np.isfinite(values).sum(axis=0) >= least
    return subjects._replace(usable=usable, values=values)


def _paired_values(subjects, others):
    """Return the values of the others in the order of the subjects."""
    values = others.values
    if values.shape != subjects.values.shape:
        raise ValueError(
            f"imgs and paired_imgs have shapes {subjects.values.shape} and "
            f"{values.shape}; give two maps of each subject, in one order"
        )
    check_different(values, "paired_imgs")
    order = order_of_pairs(subjects.files, others.files, ("imgs", "paired_imgs"))
    return values if order is None else values[order]


def differences_of(imgs, others):
    """Return images of subjects less those of others, named as the first."""
    found = []
    firsts, seconds = (list_images(i, "imgs", check_results) for i in (imgs, others))
    for first, second in zip(firsts, seconds, strict=True):
        check_same_grid(second, first)
        img = mapped(np.subtract, read_image(first).img, read_image(second).img)
        img.file_map["image"].filename = first.file
        found.append(img)
    return found
