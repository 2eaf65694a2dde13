"""One map of each subject: opened, compared with the others, masked, read and named."""

import os
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse

from neuroextrap.design._findings import EVERYTHING, Finding, tell
from neuroextrap.group._alike import (
    allowed_names,
    check_alike,
    findings_of_differences,
    sidecar_of,
)
from neuroextrap.group._pairing import label_of, name_subjects, order_of_pairs
from neuroextrap.images import resolve_masker
from neuroextrap.images._loading import load_opened, neighbor_pairs
from neuroextrap.images._maskers import masker_of_maps
from neuroextrap.images._opening import (
    CODES,
    MNI,
    check_same_grid,
    files_of,
    list_images,
    mapped,
    read_image,
)
from neuroextrap.maps._files import check_results
from neuroextrap.stats._validation import brief, check_flags, check_numbers, warn

_MOST = 10**8
"""Permutations and resamples that nobody waits for."""
_N_TOLD_APART = 10  # maps of fewer different numbers may be equal by chance

# fmt: off
_NATIVE = frozenset((
    "anat", "bold", "boldref", "epi", "fsnative", "func", "individual", "native",
    "orig", "scanner", "subject", "t1", "t1w", "t2w",
))
# fmt: on
"""Labels of ``space`` that mean a subject's own space, in small letters."""

_REMEDY = (
    "bring the maps into a template's space first, or say that voxels correspond with "
    "allow_native_space=True (--allow-native-space)"
)


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
    if not isinstance(imgs, np.ndarray):
        named = open_results(imgs, name)
        findings = _compared(named, asked, name, repeated=repeated)
        if asked.mask is None:
            masker = masker_of_maps(named, min_subjects is not None)
        else:
            masker = resolve_masker(asked.mask)
        values = load_opened(named, masker)
    else:
        values = _of_array(imgs, asked.mask, name)
    if values.ndim != 2 or len(values) < 2:
        raise ValueError(
            f"{name} has shape {values.shape} as (n_subjects, n_features); give one "
            "map for each of at least two subjects"
        )
    tell(findings)
    usable = _usable(values, name, min_subjects)
    quantities = {img.entities.get("desc", "") for img in named if img.file}
    one_each = len(named) == len(values)
    files = tuple(img.file for img in named) if one_each else (None,) * len(values)
    quantity = quantities.pop() if len(quantities) == 1 else ""
    about = files, name_subjects(files), quantity, findings
    return SubjectMaps(values, usable, masker, *about)


def _of_array(values, mask, name):
    """Return an array of maps as floating point numbers."""
    if mask is not None:
        raise ValueError(
            f"{name} is an array, so mask must be None; give images or no mask"
        )
    values = check_numbers(values, name)
    return values if values.dtype.kind == "f" else values.astype(float)


def open_results(imgs, name):
    """Return NamedImages; results of this package are completed and checked before."""
    check_results(files_of(imgs, name))
    return list_images(imgs, name)


def _compared(named, asked, name, *, repeated):
    """Return Findings about maps (NamedImage); ValueError unless they go together."""
    files = [img.file for img in named]
    check_distinct(files, name, repeated=repeated)
    records = [{} if file is None else sidecar_of(file) for file in files]
    analyses = list(zip(files, map(_analysis_in, records), strict=True))
    mixed = check_alike(analyses, name, allow_mixed=asked.allow_mixed)
    if not asked.allow_native_space:
        _check_one_space([img for img in named if not img.is_surface], name)
    one_each = all(img.n_samples is None for img in named)
    doubts = _findings_of_subjects(records) if one_each else ()
    return doubts + findings_of_differences(mixed)


def _analysis_in(sidecar):
    """Return the parameters of the analysis of a map, None if they are unknown."""
    more = {"kind": sidecar.get("description"), "made_by": sidecar.get("samples")}
    known = sidecar.get("parameters")
    return known | more if isinstance(known, dict) else None


def _findings_of_subjects(records):
    """Return the doubts that sidecars tell, each once, with how many have it."""
    found = defaultdict(list)
    for about in records:
        for finding in about.get("findings", ()):
            if finding["grade"] == "doubtful":
                found[finding["name"]].append(finding)
    return tuple(
        Finding(
            name,
            "doubtful",
            float(len(own)),
            EVERYTHING,
            f"in {len(own)} of {len(records)} subjects {own[0]['because']}",
            own[0]["effect"],
            own[0]["remedy"],
        )
        for name, own in found.items()
    )


def _check_one_space(volumes, name):
    """Raise if maps lie in subjects' own spaces, by their names, headers and grids."""
    for img in volumes:
        if img.space is not None and img.space.casefold() in _NATIVE:
            raise ValueError(
                f"{img.name} lies in the subject's own space (space-{img.space}), "
                f"where the voxels of two subjects do not correspond; {_REMEDY}"
            )
    spaces = sorted({img.space for img in volumes} - {None})
    if len(spaces) > 1:
        raise ValueError(
            f"{name} lie in different spaces ({', '.join(spaces)}), where voxels do "
            f"not correspond; {_REMEDY}"
        )
    untold = [img for img in volumes if img.space is None and img.code != MNI][:1]
    others = [img for first in untold for img in volumes if not img.shares_grid(first)]
    if others:
        raise ValueError(
            f"{untold[0].name} and {others[0].name} have different grids, and neither "
            f"a name (space-MNI...) nor the header (code {untold[0].code}, "
            f"{CODES.get(untold[0].code)}) says that they lie in one space; {_REMEDY}"
        )


def _usable(values, name, min_subjects):
    """Return which features are finite in all subjects, or in `min_subjects`."""
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
    return [(key, *found[:2]) for key, found in places.items() if len(found) > 1]


def check_distinct(files, name, *, repeated=False):
    """Raise if two of several files (or None) are one, warn if of one subject."""
    paths = [None if file is None else os.path.realpath(file) for file in files]
    for path, first, second in places_of_repeats(paths):
        raise ValueError(
            f"{name}[{first}] and {name}[{second}] are both {path}; give every subject "
            "once"
        )
    labels = [] if repeated else map(label_of, files)
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
    pairs = zip(open_results(imgs, "imgs"), open_results(others, "imgs"), strict=True)
    for first, second in pairs:
        check_same_grid(second, first)
        img = mapped(np.subtract, read_image(first).img, read_image(second).img)
        img.file_map["image"].filename = first.file
        found.append(img)
    return found
