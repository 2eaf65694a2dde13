"""Prevalence from folders of results: every subject's regions found by their place."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from neuroextrap.group._analyses import known_columns, read_analyses, share_regions
from neuroextrap.group._prevalence import run_prevalence
from neuroextrap.images._arrays import load_array


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
    shared = share_regions(analyses, mask, allow_native_space)
    scores = shared.gather(analyses, lambda results: results.scores.score)
    nulls = [
        AlignedNull(Path(file), row)
        for file, row in zip(null_files, shared.index, strict=True)
    ]
    for null, subject in zip(nulls, analyses, strict=True):
        _check_regions(null, subject)
    known = known_columns(scores)
    quantity = str(analyses[0].parameters.get("statistic", ""))
    # features that some subject lacks show a last column, of nothing
    columns = shared.placed._replace(
        values=np.column_stack([scores, np.full(len(scores), np.nan)]),
        usable=np.append(known, False),
        quantity=quantity.replace("_", " "),
    )
    return run_prevalence(columns, nulls, asked, column=shared.shown)


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
