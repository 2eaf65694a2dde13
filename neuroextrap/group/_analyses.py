"""The analyses of several subjects, and which of their regions belong together."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from neuroextrap.analysis import RegionAnalysis
from neuroextrap.analysis._analysis_files import find_analysis, read_analysis
from neuroextrap.group._pairing import check_distinct
from neuroextrap.group._subjects import read_subjects
from neuroextrap.images import to_img
from neuroextrap.images._bids_names import loose_entities

# what subjects must share for their numbers to mean the same
_SHARED = (
    "estimator",
    "shrinkage",
    "radius",
    "n_nearest",
    "within_runs",
    "process_mask_img",
    "stride",
)


@dataclass(frozen=True)
class Subject:
    """One subject's results, read or fitted."""

    name: str
    kind: str
    results: Any
    masker: Any
    classes: np.ndarray
    parameters: dict
    is_saved: bool = False

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

    ValueError names what differs, unless `allow_mixed`; classes may never differ in
    number.
    """
    analyses = [_subject(item, number) for number, item in enumerate(subjects)]
    if len(analyses) < 2:
        raise ValueError(
            f"subjects hold {len(analyses)} analyses; give one for each of at least "
            "two subjects"
        )
    _check_distinct(analyses)
    first = analyses[0]
    for other in analyses[1:]:
        _check_alike(first, other, allow_mixed)
    return analyses


def analysis_names(analyses):
    """Name subjects by the sub-<label> of their folders, or the folders, or numbers."""
    labels = [loose_entities(subject.name).get("sub") for subject in analyses]
    found = [
        Path(subject.name).name if label is None else f"sub-{label}"
        for subject, label in zip(analyses, labels, strict=True)
    ]
    numbers = [str(number) for number in range(1, len(analyses) + 1)]
    fitted = any(subject.name.startswith("subjects[") for subject in analyses)
    return tuple(numbers if fitted or len(set(found)) < len(found) else found)


def align_regions(analyses, mask, allow_native_space):
    """Return which region of each subject belongs to which feature of the group.

    Returns `SubjectMaps` of region numbers: `usable` where every subject has a region.
    """
    index = [subject.region_index for subject in analyses]
    if analyses[0].masker is not None:
        return read_subjects(
            index, mask, "subjects", allow_native_space=allow_native_space
        )
    n_regions = {len(numbers) for numbers in index}
    if len(n_regions) > 1:
        raise ValueError(
            "subjects have different numbers of regions: "
            f"{', '.join(map(str, sorted(n_regions)))}; analyze the same regions"
        )
    return read_subjects(np.stack(index), mask, "subjects")


def by_region(analyses, index, values_of):
    """Gather values of regions (n_regions, ...) into (n_subjects, n_columns, ...).

    `index` (n_subjects, n_columns) are region numbers, `values_of` a function of a
    subject's results.
    """
    rows = index.astype(np.intp)
    return np.stack(
        [
            np.asarray(values_of(subject.results))[row]
            for subject, row in zip(analyses, rows, strict=True)
        ]
    )


def _subject(item, number):
    """Return one subject's analysis."""
    if isinstance(item, RegionAnalysis):
        return Subject(
            f"subjects[{number}]",
            item.kind,
            item.results_,
            item.masker_,
            np.asarray(item.classes_),
            item.get_params(deep=False),
        )
    if not isinstance(item, (str, os.PathLike)):
        raise TypeError(
            f"subjects[{number}] is a {type(item).__name__}; give folders that "
            "to_directory wrote, or fitted analyses"
        )
    kind, _ = find_analysis(item)
    saved = read_analysis(item, kind)
    return Subject(
        os.fspath(item),
        kind,
        saved.results,
        saved.masker,
        saved.classes,
        saved.parameters,
        is_saved=True,
    )


def _check_distinct(analyses):
    """Raise where two analyses are of the same data; warn where of one subject."""
    files = [subject.name if subject.is_saved else None for subject in analyses]
    check_distinct(files, "subjects")
    seen = {}
    for subject in analyses:
        data = (subject.results.identity or {}).get("data")
        other = seen.setdefault(data, subject)
        if data is not None and other is not subject:
            raise ValueError(
                f"{other.name} and {subject.name} are analyses of the same data; give "
                "every subject once"
            )


def _check_alike(first, other, allow_mixed):
    """Raise if two subjects' analyses cannot be put together."""
    if (first.masker is None) != (other.masker is None):
        raise ValueError(
            f"{first.name} and {other.name} are not both of images or both of arrays"
        )
    n_classes = len(first.classes), len(other.classes)
    if n_classes[0] != n_classes[1]:
        raise ValueError(
            f"{first.name} has {n_classes[0]} classes and {other.name} {n_classes[1]}; "
            "accuracies among different numbers of classes have no mean"
        )
    if allow_mixed:
        return
    differing = [name for name in _SHARED if not _same(first, other, name)]
    if first.kind != other.kind:
        differing.insert(0, "kind of analysis")
    if first.classes.tolist() != other.classes.tolist():
        differing.append("classes")
    if first.results.set_sizes.tolist() != other.results.set_sizes.tolist():
        differing.append("set_sizes")
    if differing:
        raise ValueError(
            f"{first.name} and {other.name} differ in {', '.join(differing)}; analyze "
            "all subjects alike, or say allow_mixed=True"
        )


def _same(first, other, name):
    """Return whether two analyses were asked for the same."""
    values = first.parameters.get(name), other.parameters.get(name)
    plain = [repr(value) for value in values]
    return plain[0] == plain[1]
