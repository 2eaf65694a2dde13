"""One map of each subject, or its analysis, and which regions belong together."""

import os
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse

from neuroextrap.analysis._analysis_files import find_analysis, read_analysis
from neuroextrap.analysis._region_analysis import RegionAnalysis
from neuroextrap.design._findings import tell
from neuroextrap.group._alike import (
    allowed_names,
    check_alike,
    check_distinct,
    check_subjects,
    findings_of_differences,
    name_subjects,
    places_of_repeats,
)
from neuroextrap.images import resolve_masker, to_img
from neuroextrap.images._loading import load_maps, neighbor_pairs
from neuroextrap.images._maskers import masker_of_maps
from neuroextrap.images._opening import (
    check_same_grid,
    image_files,
    list_images,
    mapped,
    read_image,
)
from neuroextrap.maps._files import check_results
from neuroextrap.maps._provenance import described_value
from neuroextrap.maps._records import described_parameters
from neuroextrap.stats._null_counts import spread_known
from neuroextrap.stats._validation import brief, check_flags, check_numbers

_MOST = 10**8
"""Permutations and resamples that nobody waits for."""


class SubjectMaps(NamedTuple):
    """One map of each subject, and where each comes from."""

    values: np.ndarray  # (n_subjects, n_features)
    usable: np.ndarray  # (n_features,), finite in every subject
    masker: object  # fitted; None for arrays
    files: tuple = ()  # None for one that is not in a file of its own
    names: tuple = ()
    quantity: str = ""  # what all maps are of (accuracy, say), if known
    findings: tuple = ()


def read_subjects(
    imgs,
    mask,
    name,
    min_subjects=None,
    *,
    allow_mixed=False,
    allow_native_space=False,
    repeated=False,
):
    """Return SubjectMaps of an array, one 4-D image, or an image each."""
    check_flags(allow_native_space=allow_native_space)
    allowed_names(allow_mixed)
    named, masker, findings = [], None, ()
    if isinstance(imgs, np.ndarray):
        values = _of_array(imgs, mask, name)
    else:
        named = open_results(imgs, name)
        how = {"allow_mixed": allow_mixed, "allow_native_space": allow_native_space}
        findings = check_subjects(named, name, repeated=repeated, **how)
        in_any = min_subjects is not None
        masker = masker_of_maps(named, in_any) if mask is None else resolve_masker(mask)
        values = load_maps(named, masker)
    if values.ndim != 2 or len(values) < 2:
        raise ValueError(
            f"{name} has shape {values.shape} as (n_subjects, n_features); give one "
            "map for each of at least two subjects"
        )
    tell(findings)
    usable = _usable(values, name, min_subjects)
    return _described(named, SubjectMaps(values, usable, masker, findings=findings))


def _of_array(values, mask, name):
    """Return an array of maps as floating point numbers."""
    if mask is not None:
        raise ValueError(
            f"{name} is an array, so mask must be None; give images or no mask"
        )
    values = check_numbers(values, name)
    return values if values.dtype.kind == "f" else values.astype(float)


def _described(named, subjects):
    """Add what the names of images say to SubjectMaps."""
    n_subjects = len(subjects.values)
    quantities = {img.entities.get("desc", "") for img in named if img.file}
    one_each = len(named) == n_subjects
    files = [img.file for img in named] if one_each else [None] * n_subjects
    return subjects._replace(
        files=tuple(files),
        names=name_subjects(files),
        quantity=quantities.pop() if len(quantities) == 1 else "",
    )


def open_results(imgs, name):
    """Return NamedImages; results of this package are completed and checked before."""
    given = imgs if isinstance(imgs, (list, tuple)) else [imgs]
    paths = [img for img in given if isinstance(img, (str, os.PathLike))]
    files = image_files(paths, name)
    check_results(files)
    named = list_images(imgs, name)
    check_results([img.file for img in named if img.file not in (None, *files)])
    return named


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


def to_maps(values, subjects, column=slice(None)):
    """Spread values (n_usable,) over all features, and over images if given."""
    maps = spread_known(subjects.usable, values)
    maps = {name: value[column] for name, value in maps.items()}
    if subjects.masker is None:
        return maps
    return {name: to_img(value, subjects.masker) for name, value in maps.items()}


def usable_neighbors(subjects, adjacency):
    """Return the pairs of neighbors among the features that are tested."""
    if subjects.masker is not None:
        if adjacency is not None:
            raise ValueError(
                "adjacency is for arrays; images have neighbors of their own, so leave "
                "it out"
            )
        pairs = neighbor_pairs(subjects.masker)
    else:
        pairs = _pairs_of(adjacency, len(subjects.usable))
    place = np.full(len(subjects.usable), -1, dtype=np.intp)
    place[subjects.usable] = np.arange(subjects.usable.sum())
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


def check_count(value, name, least=1):
    """Check that a value is a whole number of at least `least`."""
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not whole or not least <= value <= _MOST:
        raise ValueError(
            f"{name}={brief(value)} must be an integer of at least {least} (and at "
            f"most {_MOST:,})"
        )


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


@dataclass(frozen=True)
class Subject:
    """One subject's results, read or fitted."""

    name: str
    kind: str
    results: Any
    masker: Any
    classes: np.ndarray
    parameters: dict
    made_by: dict
    file: str | None = None

    @property
    def about(self):
        """What is known of the analysis, by parameter, as the sidecars of maps say."""
        return {
            **self.parameters,
            "kind": self.kind,
            "made_by": self.made_by,
            "classes": self.classes.tolist(),
            "set_sizes": self.results.set_sizes.tolist(),
        }

    @property
    def region_index(self):
        """The region of every feature as an image or array; NaN for none."""
        choice = self.results.choice
        number = np.arange(choice.n_regions, dtype=float)
        if self.masker is None:
            return number
        return to_img(choice.to_features(number), self.masker)


def read_analyses(subjects, *, allow_mixed=False):
    """Return a Subject for each analysis, which must be alike, and Findings."""
    if isinstance(subjects, str) or not np.iterable(subjects):
        raise TypeError(f"subjects={brief(subjects)} must be a list of analyses")
    analyses = [_subject(item, number) for number, item in enumerate(subjects)]
    if len(analyses) < 2:
        raise ValueError(
            f"subjects hold {len(analyses)} analyses; give one for each of at least "
            "two subjects"
        )
    _check_together(analyses)
    told = [(subject.name, subject.about) for subject in analyses]
    mixed = check_alike(told, "subjects", allow_mixed=allow_mixed)
    return analyses, findings_of_differences(mixed)


@dataclass(frozen=True)
class SharedRegions:
    """Which region of each subject is which column of the group."""

    index: np.ndarray  # regions (n_subjects, n_columns); those of an atlas come once
    shown: np.ndarray  # column of each feature of the masker, n_columns for none
    placed: SubjectMaps

    def gather(self, analyses, values_of, columns=slice(None)):
        """Return values of regions as (n_subjects, n_columns, ...)."""
        rows = zip(analyses, self.index[:, columns], strict=True)
        return np.stack([np.asarray(values_of(s.results))[row] for s, row in rows])

    def columns(self, values, known, quantity):
        """Return SubjectMaps of (n_subjects, n_columns), with a last column of NaN."""
        return self.placed._replace(
            values=np.column_stack([values, np.full(len(values), np.nan)]),
            usable=np.append(known, False),
            quantity=quantity,
        )


def share_regions(analyses, findings, mask, native_allowed):
    """Return the `SharedRegions` of subjects' analyses, in images or arrays."""
    index = [subject.region_index for subject in analyses]
    if analyses[0].masker is None:
        n_regions = sorted({len(numbers) for numbers in index})
        if len(n_regions) > 1:
            raise ValueError(
                "subjects have different numbers of regions: "
                f"{', '.join(map(str, n_regions))}; analyze the same regions"
            )
        index = np.stack(index)
    placed = read_subjects(index, mask, "subjects", allow_native_space=native_allowed)
    names = name_subjects([subject.file for subject in analyses])
    placed = placed._replace(names=names, findings=findings)
    numbers = placed.values[:, placed.usable]
    number, column = np.unique(numbers, axis=1, return_inverse=True)
    shown = np.full(placed.usable.shape, number.shape[1])
    shown[placed.usable] = column.ravel()
    return SharedRegions(number.astype(np.intp), shown, placed)


def known_columns(values):
    """Return which columns (n_subjects, n_columns) were analyzed in all subjects."""
    known = np.isfinite(values).all(axis=0)
    if not known.any():
        raise ValueError(
            "subjects share no region that was analyzed in all of them; check masks"
        )
    return known


def _subject(item, number):
    """Return one subject's analysis."""
    name = f"subjects[{number}]"
    if isinstance(item, RegionAnalysis):
        results, classes = item.results_, np.asarray(item.classes_)
        about = described_parameters(item), described_value(item.origin_.samples)
        return Subject(name, item.kind, results, item.masker_, classes, *about)
    if not isinstance(item, (str, os.PathLike)):
        raise TypeError(
            f"{name} is a {type(item).__name__}; give folders that to_directory wrote, "
            "or fitted analyses"
        )
    if not os.path.exists(item):
        raise ValueError(f"{name}: no folder {item}; check the path")
    file, kind = os.fspath(item), find_analysis(item)[0]
    saved = read_analysis(item, kind)
    parameters = saved.origin.parameters | saved.parameters
    about = saved.classes, parameters, saved.origin.samples
    return Subject(file, kind, saved.results, saved.masker, *about, file)


def _check_together(analyses):
    """Raise if analyses cannot be put together; warn if two are of a subject."""
    check_distinct([subject.file for subject in analyses], "subjects")
    data = [(subject.results.identity or {}).get("data") for subject in analyses]
    for _, first, second in places_of_repeats(data):
        raise ValueError(
            f"{analyses[first].name} and {analyses[second].name} are analyses of the "
            "same data; give every subject once"
        )
    first = analyses[0]
    for other in analyses[1:]:
        if (first.masker is None) != (other.masker is None):
            raise ValueError(
                f"{first.name} and {other.name} are not both of images or both of "
                "arrays; analyze all subjects in one way"
            )
        if len(first.classes) != len(other.classes):
            raise ValueError(
                f"{first.name} has {len(first.classes)} classes and {other.name} "
                f"{len(other.classes)}; accuracies among different numbers of classes "
                "have no mean"
            )
