"""Prevalence from folders of results: every subject's regions found by their place."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from neuroextrap.group._analyses import align_regions, analysis_names, read_analyses
from neuroextrap.group._prevalence import run_prevalence
from neuroextrap.group._subjects import SubjectMaps
from neuroextrap.images._tables import load_array


@dataclass(frozen=True)
class AlignedNull:
    """A file of permuted statistics of regions, its columns in the group's order.

    `columns` (n_columns,) are region numbers. Nothing is read but what is asked for,
    and nothing of it is kept.
    """

    path: Path
    columns: np.ndarray

    @property
    def shape(self):
        """Permutations, and columns of the group."""
        return len(self), len(self.columns)

    @property
    def dtype(self):
        """Kind of numbers in the file."""
        return self._open().dtype

    def __len__(self):
        """Return the number of permutations."""
        return len(self._open())

    def __getitem__(self, index):
        """Read permutations and columns of the group."""
        rows, columns = index
        return self._open()[rows, self.columns[columns]]

    def _open(self):
        return load_array(self.path, mmap_mode="r")


def saved_prevalence(
    subjects,
    null_files,
    asked,
    *,
    mask=None,
    allow_mixed=False,
    allow_native_space=False,
):
    """Test prevalence in subjects' saved analyses by PrevalenceOptions; return maps.

    `subjects` are folders or index files, `null_files` what ``save_null`` wrote of each
    one's tested statistic, in the same order. Masks may differ: a region is tested
    where all subjects have it. Other options are those of ``prevalence_test``.
    """
    analyses = read_analyses(subjects, allow_mixed=allow_mixed)
    _check_statistics(analyses)
    aligned = align_regions(analyses, mask, allow_native_space)
    index, column = np.unique(
        aligned.values[:, aligned.usable], axis=1, return_inverse=True
    )
    index = index.astype(np.intp)
    scores = np.stack(
        [
            subject.results.scores.score[row]
            for subject, row in zip(analyses, index, strict=True)
        ]
    )
    nulls = [
        AlignedNull(Path(file), row)
        for file, row in zip(null_files, index, strict=True)
    ]
    for null, subject in zip(nulls, analyses, strict=True):
        _check_regions(null, subject)
    known = np.isfinite(scores).all(axis=0)
    if not known.any():
        raise ValueError(
            "subjects share no region that was analyzed in all of them; check masks"
        )
    # features of the masker that no subject lacks show a column, the others a last one
    shown = np.full(aligned.usable.shape, scores.shape[1])
    shown[aligned.usable] = column.ravel()
    columns = SubjectMaps(
        np.column_stack([scores, np.full(len(scores), np.nan)]),
        np.append(known, False),
        aligned.masker,
    )
    quantity = str(analyses[0].parameters.get("statistic", ""))
    return run_prevalence(
        columns,
        nulls,
        analysis_names(analyses),
        asked,
        quantity=quantity.replace("_", " "),
        column=shown,
    )


def _check_statistics(analyses):
    """Raise where subjects' permutations tested different statistics."""
    tested = {str(subject.parameters.get("statistic")) for subject in analyses}
    if len(tested) > 1:
        raise ValueError(
            f"subjects were tested by different statistics ({', '.join(sorted(tested))}"
            "); analyze all subjects with one"
        )


def _check_regions(null, subject):
    """Raise where a file has other regions than the analysis that it belongs to."""
    n_regions = subject.results.choice.n_regions
    n_columns = load_array(null.path, mmap_mode="r").shape[1]
    if n_columns != n_regions:
        raise ValueError(
            f"{null.path} has {n_columns} regions and {subject.name} {n_regions}; "
            "analyze the subject again"
        )
