"""Tables that name what every run of a film or a story has."""

from os import PathLike
from pathlib import Path
from typing import NamedTuple

from neuroextrap.images._cleaning import fmriprep_confounds
from neuroextrap.images._tables import MISSING, load_array, read_text_table, text_column

_SET, _IMGS, _CLEANING = "set", "imgs", ("confounds", "sample_mask")


class TableOfRuns(NamedTuple):
    """Sets of runs (train, test), and what each of them has, a list each."""

    sets: list
    features: list
    imgs: list
    confounds: list | None
    sample_mask: list | None

    def of(self, name):
        """Return what the runs of a set have, arguments of ``fit`` by name."""
        own = [number for number, each in enumerate(self.sets) if each == name]
        given = {n: v for n, v in self._asdict().items() if n != _SET + "s"}
        return {n: v and [v[i] for i in own] for n, v in given.items()}

    def cleaned_by(self, strategy):
        """Return the same with confounds of fMRIPrep, by ``load_confounds``."""
        for name in _CLEANING:
            if getattr(self, name) is not None:
                raise ValueError(
                    f"runs has a column {name}, and confounds of fMRIPrep were asked "
                    "for too; give one"
                )
        confounds, sample_mask = fmriprep_confounds(self.imgs, strategy)
        return self._replace(confounds=confounds, sample_mask=sample_mask)

    @property
    def files(self):
        """The files among features, images and confounds, lists by name."""
        listed: dict = {name: [] for name in ("features", "imgs", "confounds")}
        for name, found in listed.items():
            for run in getattr(self, name) or ():
                each = list(run.values()) if isinstance(run, dict) else [run]
                found += [file for file in each if isinstance(file, (str, PathLike))]
        return {name: list(dict.fromkeys(found)) for name, found in listed.items()}


def read_table_of_runs(runs):
    """Return the TableOfRuns of a DataFrame, or of a file, which names files beside it.

    Every column but set, imgs, confounds and sample_mask is a band of features.
    """
    if isinstance(runs, TableOfRuns):
        return runs
    folder = None
    if isinstance(runs, (str, PathLike)):
        runs, folder = read_text_table(runs, "runs"), Path(runs).parent
    missing = [name for name in (_SET, _IMGS) if name not in runs]
    bands = [name for name in runs if name not in (_SET, _IMGS, *_CLEANING)]
    if missing or not bands:
        raise ValueError(
            f"runs has columns {', '.join(map(str, runs.columns))}; give set (train or "
            "test), imgs, and one for each band of features"
        )
    sets = text_column(runs, _SET, "runs").tolist()
    if {*sets} != {"train", "test"}:
        raise ValueError(
            "runs: column set must hold train and test, got "
            f"{', '.join(sorted({*sets}))}"
        )
    named = [name for name in runs if name != _SET]
    cells = {n: [_cell(each, folder, n) for each in runs[n]] for n in named}
    imgs, cleaning = cells.pop(_IMGS), [cells.pop(name, None) for name in _CLEANING]
    features = next(iter(cells.values())) if len(bands) == 1 else by_run(cells)
    return TableOfRuns(sets, features, imgs, *cleaning)


def _cell(entry, folder, column):
    """Return an entry of the table of runs, files as paths from `folder`."""
    if not isinstance(entry, str):
        return entry
    if entry in ("", MISSING):
        if column in _CLEANING:
            return None
        raise ValueError(
            f"runs: column {column} lacks an entry; name a file for every run"
        )
    path = entry if folder is None else str(folder / entry)
    return load_array(path) if column == "sample_mask" else path


def by_run(bands):
    """Return a dict of lists, an entry for every run, as a list of dicts."""
    rows = zip(*bands.values(), strict=True)
    return [dict(zip(bands, row, strict=True)) for row in rows]
