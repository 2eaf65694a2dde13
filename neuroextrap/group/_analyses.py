"""Analyses of several subjects: regions that belong together, permuted maps."""

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from neuroextrap.analysis._analysis_files import find_analysis, read_analysis
from neuroextrap.analysis._region_analysis import RegionAnalysis
from neuroextrap.group._alike import check_alike, findings_of_differences
from neuroextrap.group._pairing import (
    check_different,
    check_distinct,
    check_nulls,
    name_subjects,
)
from neuroextrap.group._subjects import (
    SubjectMaps,
    read_null,
    read_subjects,
)
from neuroextrap.images import to_img
from neuroextrap.maps._provenance import described_value
from neuroextrap.maps._records import described_parameters
from neuroextrap.stats._rearrangement_test import Part, permute
from neuroextrap.stats._validation import brief, random_generator


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
    is_saved: bool = False

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
    """Read subjects' analyses, fitted or from folders, and check that they are alike.

    Returns a list of Subject, and Findings about what was allowed to differ.

    ValueError names what differs, unless `allow_mixed`; classes may never differ in
    number.
    """
    if isinstance(subjects, str) or not np.iterable(subjects):
        raise TypeError(f"subjects={brief(subjects)} must be a list of analyses")
    analyses = [_subject(item, number) for number, item in enumerate(subjects)]
    if len(analyses) < 2:
        raise ValueError(
            f"subjects hold {len(analyses)} analyses; give one for each of at least "
            "two subjects"
        )
    _check_distinct(analyses)
    for other in analyses[1:]:
        _check_possible(analyses[0], other)
    told = [(subject.name, subject.about) for subject in analyses]
    mixed = check_alike(told, "subjects", allow_mixed=allow_mixed)
    return analyses, findings_of_differences(mixed)


@dataclass(frozen=True)
class SharedRegions:
    """Which region of each subject belongs to which column of the group.

    `index` (n_subjects, n_columns) are region numbers; voxels of one atlas region in
    all subjects are one column. `shown` is the column that each feature of the masker
    shows, n_columns where subjects lack a region. `placed` are SubjectMaps of numbers.
    """

    index: np.ndarray
    shown: np.ndarray
    placed: SubjectMaps

    def gather(self, analyses, values_of, columns=slice(None)):
        """Gather values of regions (n_regions, ...) into (n_subjects, n_columns, ...).

        `values_of` is a function of a subject's results.
        """
        rows = zip(analyses, self.index[:, columns], strict=True)
        return np.stack([np.asarray(values_of(s.results))[row] for s, row in rows])

    def columns(self, values, known, quantity):
        """Return SubjectMaps of values (n_subjects, n_columns), some of them known.

        A last column, of nothing, is for features that some subject lacks.
        """
        return self.placed._replace(
            values=np.column_stack([values, np.full(len(values), np.nan)]),
            usable=np.append(known, False),
            quantity=quantity,
        )


def share_regions(analyses, findings, mask, allow_native_space):
    """Return the `SharedRegions` of subjects' analyses, in images or arrays.

    `analyses` and `findings` are what ``read_analyses`` returns.
    """
    index = [subject.region_index for subject in analyses]
    if analyses[0].masker is None:
        n_regions = {len(numbers) for numbers in index}
        if len(n_regions) > 1:
            raise ValueError(
                "subjects have different numbers of regions: "
                f"{', '.join(map(str, sorted(n_regions)))}; analyze the same regions"
            )
        index = np.stack(index)
    placed = read_subjects(
        index, mask, "subjects", allow_native_space=allow_native_space
    )
    files = [subject.name if subject.is_saved else None for subject in analyses]
    placed = placed._replace(names=name_subjects(files), findings=findings)
    number, column = np.unique(
        placed.values[:, placed.usable], axis=1, return_inverse=True
    )
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
    if isinstance(item, RegionAnalysis):
        return Subject(
            f"subjects[{number}]",
            item.kind,
            item.results_,
            item.masker_,
            np.asarray(item.classes_),
            described_parameters(item),
            described_value(item.origin_.samples),
        )
    if not isinstance(item, (str, os.PathLike)):
        raise TypeError(
            f"subjects[{number}] is a {type(item).__name__}; give folders that "
            "to_directory wrote, or fitted analyses"
        )
    if not os.path.exists(item):
        raise ValueError(f"subjects[{number}]: no folder {item}; check the path")
    kind, _ = find_analysis(item)
    saved = read_analysis(item, kind)
    return Subject(
        os.fspath(item),
        kind,
        saved.results,
        saved.masker,
        saved.classes,
        {**saved.origin.parameters, **saved.parameters},
        saved.origin.samples,
        is_saved=True,
    )


def _check_distinct(analyses):
    """Raise if two analyses are of the same data; warn if of one subject."""
    files = [subject.name if subject.is_saved else None for subject in analyses]
    check_distinct(files, "subjects")
    seen: dict[Any, Any] = {}
    for subject in analyses:
        data = (subject.results.identity or {}).get("data")
        other = seen.setdefault(data, subject)
        if data is not None and other is not subject:
            raise ValueError(
                f"{other.name} and {subject.name} are analyses of the same data; give "
                "every subject once"
            )


def _check_possible(first, other):
    """Raise if two subjects' analyses can in no case be put together."""
    if (first.masker is None) != (other.masker is None):
        raise ValueError(
            f"{first.name} and {other.name} are not both of images or both of arrays; "
            "analyze all subjects in one way"
        )
    n_classes = len(first.classes), len(other.classes)
    if n_classes[0] != n_classes[1]:
        raise ValueError(
            f"{first.name} has {n_classes[0]} classes and {other.name} {n_classes[1]}; "
            "accuracies among different numbers of classes have no mean"
        )


_BATCH_BYTES = 2**27
_BYTE = 8  # features whose marks fit a byte


def read_nulls(null_scores, subjects):
    """Return every subject's permuted maps, checked but not read."""
    check_different(subjects.values, "scores")
    n_subjects, n_features = subjects.values.shape
    several = isinstance(null_scores, (np.ndarray, Sequence))
    if not several or getattr(null_scores, "ndim", 1) == 0:
        raise ValueError(
            f"null_scores is a {type(null_scores).__name__}; give an array (n_subjects,"
            " n_permutations, n_features) or one entry for each subject"
        )
    if len(null_scores) != n_subjects:
        raise ValueError(
            f"null_scores has {len(null_scores)} subjects, scores has {n_subjects}; "
            "give the permuted maps of every subject"
        )
    nulls = [read_null(n, subjects.masker, k) for k, n in enumerate(null_scores)]
    for k, null in enumerate(nulls):
        if null.shape[1] != n_features:
            raise ValueError(
                f"null_scores[{k}] has {null.shape[1]} features, scores has "
                f"{n_features}; use one mask for all subjects and both"
            )
    check_nulls(nulls, [_file_of(null) for null in null_scores], subjects.files)
    return nulls


def _file_of(null):
    """Return the path of one subject's permuted maps, or of the first; None without."""
    if isinstance(null, (list, tuple)):
        null = null[0]
    if isinstance(null, (str, os.PathLike)):
        return os.fspath(null)
    return null.get_filename() if hasattr(null, "get_filename") else None


class FirstLevels(NamedTuple):
    """Maps of every subject, its own and permuted ones, and how they are combined.

    `nulls` are arrays or files of shape (n_permutations, n_features), and `picks`
    (n_combinations, n_subjects) says which map each subject contributes, 0 for its own.
    """

    subjects: SubjectMaps
    nulls: list
    picks: np.ndarray

    @classmethod
    def combined(cls, subjects, nulls, n_permutations, random_state):
        """Draw combinations; all of them if there are no more than that.

        That of all observed maps is not among them; `n_permutations` counts it.
        """
        n_maps = [1 + len(null) for null in nulls]
        if math.prod(n_maps) <= n_permutations:
            grid = np.meshgrid(*[np.arange(n) for n in n_maps], indexing="ij")
            picks = np.stack([g.ravel() for g in grid], axis=1)
        else:
            rng = random_generator(random_state)
            # the first row drawn stands for the observed maps
            picks = rng.integers(0, n_maps, size=(n_permutations, len(n_maps)))
        return cls(subjects, nulls, picks[1:])

    @property
    def usable(self):
        """Numbers of the features that are tested."""
        return np.flatnonzero(self.subjects.usable)

    @property
    def options(self):
        """What a page says of the permutations."""
        return {
            "n_permutations": 1 + len(self.picks),
            "n_first_level": sorted({len(null) for null in self.nulls}),
        }

    def observed(self):
        """Return subjects' own scores (n_subjects, n_usable), as precise as the others.

        They are rounded to float32 if the permuted maps are.
        """
        rows = zip(self.subjects.values[:, self.usable], self.nulls, strict=True)
        return np.stack([row.astype(null.dtype).astype(float) for row, null in rows])

    def by_subject(self, batch):
        """Yield every subject's picks, and its maps of some usable features.

        Maps are (1 + n_permutations, n_features), its own first.
        """
        features = self.usable[batch]
        for subject in range(len(self.nulls)):
            permuted = read_columns(self.nulls, subject, features)
            own = self.subjects.values[subject, features].astype(permuted.dtype)
            maps = np.concatenate([own[np.newaxis], permuted])
            yield self.picks[:, subject], maps

    def permute(self, score, floor):
        """Score all combinations of some features at a time, multiples of 8 of them."""
        n = len(self.picks)
        rows = 2 * n + max(len(null) for null in self.nulls)
        width = max(_BYTE, _BATCH_BYTES // (8 * rows) // _BYTE * _BYTE)
        parts = [
            Part(slice(n), slice(first, min(first + width, len(floor))))
            for first in range(0, len(floor), width)
        ]
        return permute(score, floor, n, parts=parts)


def read_columns(nulls, subject, features):
    """Return one subject's permuted maps of some features, (n_permutations, n)."""
    if features[-1] - features[0] + 1 == len(features):  # read without a copy
        features = slice(int(features[0]), int(features[-1]) + 1)
    permuted = np.array(_reopened(nulls[subject])[:, features])
    if np.isnan(permuted).any():
        raise ValueError(
            f"null_scores[{subject}] has NaN where all subjects' scores are "
            "numbers; use the same mask and regions for both"
        )
    return permuted


def _reopened(null):
    """Map a file again: what is read of it does not stay in this process's memory."""
    if not isinstance(null, np.memmap) or null.filename is None:
        return null
    return np.memmap(
        null.filename,
        dtype=null.dtype,
        mode="r",
        offset=null.offset,
        shape=null.shape,
        order="C" if null.flags.c_contiguous else "F",
    )
