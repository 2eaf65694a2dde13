"""Encoding models of films and stories: every participant's runs and their features."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sklearn.base import clone

from neuroextrap._parameter_table import shared_parameters
from neuroextrap.analysis._analysis_files import origin_of
from neuroextrap.encoding._continuous_runs import TableOfRuns
from neuroextrap.images import _bids_names as names
from neuroextrap.images._bids_runs import most_specific
from neuroextrap.images._events import features_of_events, stimuli_of

_ENDINGS = (".tsv", ".csv", ".tsv.gz", ".csv.gz", ".parquet", ".npz", ".npy")
_BAND = "_motion.tsv"
_EXAMPLE = f"task-film_run-1{_BAND}"


@dataclass(frozen=True, kw_only=True)
class FilmDesign:
    """Where the features of films are, and which runs are tested."""

    features: Path  # folder of files called by runs or stimuli, with _<band> at the end
    test_runs: dict
    column: str | None = None  # of the events, if files are called by its stimuli
    seconds: float | None = None  # of a segment
    files: dict = field(default_factory=dict)  # by what they are of, and band

    @property
    def identity(self):
        """What decides results besides files, JSON values."""
        return {"column": self.column, "seconds": self.seconds}

    @property
    def options(self):
        """The options of a configuration."""
        return {
            "analysis": "continuous",
            "features": str(self.features),
            "stimulus_column": self.column,
            "test_runs": names.filter_texts(self.test_runs),
            "segments": self.seconds,
        }, {}

    def is_tested(self, run):
        """Say whether a BidsRun is for testing."""
        return all(
            any(names.same_label(run.entities.get(key), label) for label in labels)
            for key, labels in self.test_runs.items()
        )

    def check(self, runs):
        """Return the files of all runs' features; ValueError if the runs cannot be."""
        sets = {self.is_tested(run) for run in runs}
        if len(sets) < 2:
            who, what = ("all", "train on") if sets == {True} else ("none", "test")
            named = " ".join(names.filter_texts(self.test_runs))
            raise ValueError(
                f"{who} of {len(runs)} runs have {named} in their names, so that "
                f"nothing is left to {what}; choose others (test_runs, --test-runs)"
            )
        listed = [self._files_of(run) for run in runs]
        return [str(path) for run in listed for files in run for path in files.values()]

    def table_of(self, participant):
        """Return the TableOfRuns of a participant, with confounds."""
        runs, confounds = participant.runs, participant.request.confounds
        sets = ["test" if self.is_tested(run) else "train" for run in runs]
        features = [self._features_of(run) for run in runs]
        if len(features[0]) == 1:
            features = [next(iter(bands.values())) for bands in features]
        table = TableOfRuns(sets, features, participant.imgs, None, None)
        return table.cleaned_by(confounds) if confounds else table

    def fit(self, participant, analysis):
        """Train a ContinuousEncoding and score it; return RegionMaps and Origin."""
        table, confounds = self.table_of(participant), participant.request.confounds
        features = list(dict.fromkeys(self.check(participant.runs)))
        sources = {"imgs": table.imgs, "features": features}
        sources["events"] = [run.events for run in participant.runs if self.column]
        made_by = {**self.identity, "confounds": list(confounds)}
        made_by["test_runs"] = names.filter_texts(self.test_runs)
        origin = origin_of(sources, made_by)
        return analysis.fit_runs(table, seconds=self.seconds), origin

    def _features_of(self, run):
        """Return the features of a run by band: files, or tables made of the events."""
        files = self._files_of(run)
        if self.column is None:
            return {band: str(path) for band, path in files[0].items()}
        return {
            band: features_of_events(run.events, self.column, self.files, band)
            for band in files[0]
        }

    def _files_of(self, run):
        """Return the files by band of a run, or of each stimulus in its events."""
        if self.column is None:
            return [self._fitting(run)]
        files = []
        for name in stimuli_of(run.events, self.column):
            own = {b: f for (stem, b), f in self.files.items() if stem == name}
            files.append(self._complete(own, f"stimulus {name!r}", f"{name}{_BAND}"))
        return files

    def _fitting(self, run):
        """Return the most specific file of each band whose entities are the run's."""
        best: dict[str, list] = {}
        for (_, band), path in self.files.items():
            own = names.loose_entities(path.relative_to(self.features))
            if all(names.same_label(run.entities.get(k), own[k]) for k in own):
                best.setdefault(band, []).append((len(own), path))
        name = Path(run.bold).name
        own = {
            band: most_specific(sorted(candidates), name, f"files of {band}")
            for band, candidates in best.items()
        }
        return self._complete(own, name, _EXAMPLE)

    def _complete(self, own, what, example):
        """Return files of all bands in their order; ValueError if one lacks."""
        bands = sorted({band for _, band in self.files})
        missing = [band for band in bands if band not in own]
        if missing:
            raise ValueError(
                f"{what} has no features {missing[0]} in {self.features}; name a file "
                f"by it, such as {example}"
            )
        return {band: own[band] for band in bands}


def read_films(features, stimulus_column, test_runs, seconds):
    """Return a FilmDesign; ValueError before any work if it cannot be."""
    folder = Path(features)
    if not folder.is_dir():
        raise ValueError(
            f"features={str(folder)!r} is no folder; give that of the files of all "
            f"runs, such as {_EXAMPLE}"
        )
    if not test_runs:
        raise ValueError(
            "films and stories are tested on runs of their own; name labels of these "
            "(test_runs, --test-runs run=4)"
        )
    files: dict[Any, Path] = {}
    for path in sorted(folder.rglob("*_*")):
        if not path.name.lower().endswith(_ENDINGS) or path.name.startswith("."):
            continue
        stem, _, band = path.name.partition(".")[0].rpartition("_")
        within = path.relative_to(folder)
        named = stem if stimulus_column is not None else names.loose_entities(within)
        if not named or names.PAIR.fullmatch(band):
            continue
        # runs of several participants may have files of one name
        what = stem if stimulus_column is not None else within.as_posix()
        if (what, band) in files:
            raise ValueError(
                f"{folder} has two files {path.name}; keep one of each stimulus"
            )
        files[what, band] = path
    if not files:
        raise ValueError(
            f"{folder} holds no file such as {_EXAMPLE}: what it is of, _, and the "
            "name of the band"
        )
    return FilmDesign(
        features=folder,
        test_runs=names.read_filters(test_runs),
        column=stimulus_column,
        seconds=seconds,
        files=files,
    )


def cleaning_by(analysis, options):
    """Return a ContinuousEncoding that cleans as SampleOptions say."""
    defaults = vars(type(options)(samples=options.samples))
    changed = {n: v for n, v in vars(options).items() if v != defaults[n]}
    for name in sorted(changed.keys() - shared_parameters("samples", "continuous")):
        raise ValueError(
            f"{name} is not for a ContinuousEncoding, which has all volumes of runs, "
            "and scales them (within_runs); leave it out"
        )
    return clone(analysis).set_params(**changed)
