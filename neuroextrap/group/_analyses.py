"""The analyses of several subjects, and which of their regions belong together."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from neuroextrap.analysis import RegionAnalysis
from neuroextrap.analysis._analysis_files import find_analysis, read_analysis
from neuroextrap.group._alike import check_alike
from neuroextrap.group._pairing import check_distinct
from neuroextrap.group._subjects import read_subjects
from neuroextrap.images import to_img
from neuroextrap.images._bids_names import loose_entities
from neuroextrap.maps._parameters import described_parameters
from neuroextrap.maps._provenance import described_value


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
    for other in analyses[1:]:
        _check_possible(analyses[0], other)
    told = [(subject.name, subject.about) for subject in analyses]
    check_alike(told, "subjects", allow_mixed=allow_mixed)
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
            described_parameters(item),
            described_value(item.origin_.samples),
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
        {**saved.origin.parameters, **saved.parameters},
        saved.origin.samples,
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
