"""The analyses of several subjects, read or fitted, and which regions they share."""

import os
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from neuroextrap.analysis._analysis_files import find_analysis, read_analysis
from neuroextrap.analysis._region_analysis import RegionAnalysis
from neuroextrap.group._alike import check_alike, findings_of_differences
from neuroextrap.group._subjects import (
    SubjectMaps,
    check_distinct,
    label_of,
    name_subjects,
    places_of_repeats,
    read_subjects,
)
from neuroextrap.images import to_img
from neuroextrap.maps._provenance import described_value
from neuroextrap.maps._records import described_parameters
from neuroextrap.stats._validation import brief


class Subject(NamedTuple):
    """One subject's results, read or fitted."""

    name: str
    results: Any
    masker: Any
    classes: np.ndarray
    about: dict  # the analysis by parameter, as the sidecars of maps say
    file: str | None = None

    @classmethod
    def read(cls, item, name):
        """Return the analysis that an item of subjects is, or that is in its folder."""
        if isinstance(item, RegionAnalysis):
            about = described_parameters(item) | {"kind": item.kind}
            about["made_by"] = described_value(item.origin_.samples)
            classes = np.asarray(item.classes_)
            return cls(name, item.results_, item.masker_, classes, about)
        if not isinstance(item, (str, os.PathLike)):
            raise TypeError(
                f"{name} is a {type(item).__name__}; give folders that to_directory "
                "wrote, or fitted analyses"
            )
        if not os.path.exists(item):
            raise ValueError(f"{name}: no folder {item}; check the path")
        file, kind = os.fspath(item), find_analysis(item)[0]
        saved = read_analysis(item, kind)
        about = saved.origin.parameters | saved.parameters | {"kind": kind}
        about["made_by"] = saved.origin.samples
        return cls(file, saved.results, saved.masker, saved.classes, about, file)

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
    analyses = [Subject.read(item, f"subjects[{n}]") for n, item in enumerate(subjects)]
    if len(analyses) < 2:
        raise ValueError(
            f"subjects hold {len(analyses)} analyses; give one for each of at least "
            "two subjects"
        )
    labels = [label_of(subject.file) for subject in analyses]
    check_distinct([subject.file for subject in analyses], "subjects", labels)
    _check_together(analyses)
    names = name_subjects([subject.name for subject in analyses], labels)
    judged = zip(names, map(_must_agree, analyses), strict=True)
    mixed = check_alike(judged, "subjects", allow_mixed=allow_mixed)
    return analyses, findings_of_differences(mixed)


def _must_agree(subject):
    """Return what must be alike: the analysis, its classes and set sizes."""
    sizes = subject.results.set_sizes.tolist()
    return subject.about | {"classes": subject.classes.tolist(), "set_sizes": sizes}


def _check_together(analyses):
    """Raise if analyses cannot be put together."""
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


@dataclass(frozen=True)
class SharedRegions:
    """Which region of each subject's analysis is which column of the group."""

    analyses: list
    index: np.ndarray  # regions (n_subjects, n_columns); those of an atlas come once
    column_of: np.ndarray  # each feature of the masker, n_columns for none
    placed: SubjectMaps

    @classmethod
    def read(cls, subjects, options):
        """Read analyses of subjects, as MapOptions say, in images or arrays."""
        analyses, findings = read_analyses(subjects, allow_mixed=options.allow_mixed)
        index: Any = [subject.region_index for subject in analyses]
        if analyses[0].masker is None:
            n_regions = sorted({len(numbers) for numbers in index})
            if len(n_regions) > 1:
                raise ValueError(
                    "subjects have different numbers of regions: "
                    f"{', '.join(map(str, n_regions))}; analyze the same regions"
                )
            index = np.stack(index)
        placed = read_subjects(index, options, "subjects")
        files = [subject.file for subject in analyses]
        names = name_subjects(files, list(map(label_of, files)), numbered=True)
        placed = placed._replace(names=names, findings=findings)
        numbers = placed.values[:, placed.usable]
        number, column = np.unique(numbers, axis=1, return_inverse=True)
        column_of = np.full(placed.usable.shape, number.shape[1])
        column_of[placed.usable] = column.ravel()
        return cls(analyses, number.astype(np.intp), column_of, placed)

    @property
    def n_classes(self):
        """Number of classes, the same in all subjects."""
        return len(self.analyses[0].classes)

    @property
    def results(self):
        """The results of every subject."""
        return [subject.results for subject in self.analyses]

    def gather(self, values_of, columns=slice(None)):
        """Return values of regions as (n_subjects, n_columns, ...)."""
        rows = zip(self.results, self.index[:, columns], strict=True)
        return np.stack([np.asarray(values_of(each))[row] for each, row in rows])

    def maps(self, values, quantity):
        """Return SubjectMaps of (n_subjects, n_columns), with a last column of NaN."""
        finite = np.isfinite(values).all(axis=0)
        if not finite.any():
            raise ValueError(
                "subjects share no region that was analyzed in all of them; check masks"
            )
        return self.placed._replace(
            values=np.column_stack([values, np.full(len(values), np.nan)]),
            usable=np.append(finite, False),
            quantity=quantity,
        )
