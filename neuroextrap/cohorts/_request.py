"""What is asked of every participant, and what it comes to for one of them."""

import hashlib
import logging
import shutil
from collections import Counter
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from sklearn.base import clone

import neuroextrap
from neuroextrap.analysis._parameters import with_parameters
from neuroextrap.cohorts._cohort_films import FilmDesign
from neuroextrap.cohorts._cohort_records import read_toml, record_path
from neuroextrap.group._alike import MadeOf
from neuroextrap.images import resolve_masker
from neuroextrap.images._bids_runs import find_betas, find_runs, fmriprep_confounds
from neuroextrap.images._event_samples import event_samples
from neuroextrap.images._events import read_events, read_runs
from neuroextrap.images._fits import ready_betas
from neuroextrap.images._maskers import shared_mask
from neuroextrap.images._sample_plans import labels_of_samples, late_events
from neuroextrap.images._surface_files import other_hemisphere
from neuroextrap.images._tables import MISSING, read_text_table
from neuroextrap.maps._provenance import (
    describe_file,
    described_value,
    json_text,
    shared_entities,
)
from neuroextrap.maps._records import described_parameters
from neuroextrap.maps._result_files import ResultFiles
from neuroextrap.maps._transaction import PROVENANCE_FILE, tried_again

logger = logging.getLogger(__name__)

NULL_FILE = "null.npy"
"""Plain name of a participant's permuted maps."""
_VERSIONS = ("ce", "rec", "echo", "part", "res", "den", "desc")


@dataclass(frozen=True, kw_only=True)
class Request:
    """The analysis of every participant, as asked for."""

    cohort: Any  # ParticipantOptions
    derivatives: Path
    out: Path
    raw: Any
    filters: dict
    confounds: tuple
    analysis: Any  # not fitted; mask None stands for brain masks beside the images
    options: Any  # SampleOptions
    stimuli: Any = None  # StimulusDesign or FilmDesign
    of_betas: bool = False

    @property
    def of_films(self):
        """Whether runs are predicted, volume by volume."""
        return isinstance(self.stimuli, FilmDesign)

    @property
    def made_by(self):
        """How samples are made, by name, as it is put on record; confounds apart."""
        if self.of_films:  # by the analysis itself
            return {}
        given = self.options.given(without="confounds sample_mask label_column")
        t_r, check_t_r = given.pop("t_r"), given.pop("check_t_r")
        if self.of_betas:
            given["samples"] = "betas"
        if t_r is not None:
            given["t_r"] = t_r
        return given if check_t_r else given | {"check_t_r": False}


@dataclass(frozen=True)
class Participant:
    """One participant's runs, and what makes the results what they are."""

    request: Request
    label: str
    runs: list = field(default_factory=list)  # none before files are found
    conditions: Any = None  # table of beta images and their runs; None if they have own
    left_out: tuple = ()
    bids: dict | None = None
    identity: Any = None  # a hash, once files are found
    made_of: dict = field(default_factory=dict)  # the same in all members of a group

    def find(self):
        """Return runs, conditions of betas, and why further runs are left out."""
        request, label = self.request, self.label
        chosen, filters = request.cohort, request.filters
        wanted = {"task": chosen.task, "space": chosen.space, "ses": chosen.sessions}
        conditions, left_out = None, ()
        if request.of_betas:
            runs, conditions = find_betas(request.derivatives, label, wanted, filters)
        else:
            runs = find_runs(request.derivatives, request.raw, label, wanted, filters)
            if not request.of_films or request.stimuli.column is not None:
                runs, left_out = _with_events(request, runs)
        if request.of_films:
            request.stimuli.check(runs)
        _check_files(request, runs)
        return runs, conditions, left_out

    def with_files(self):
        """Return the same with files, hashed; ValueError if they cannot be used."""
        request = self.request
        runs, conditions, left_out = self.find()
        for reason in left_out:
            logger.warning("sub-%s: %s", self.label, reason)
        bids = shared_entities([run.bold for run in runs])
        if bids is None:  # a model's own names
            bids = {k: e for k, e in runs[0].entities.items() if k in ("sub", "ses")}
        for key in ("desc", "contrast", "stat", "hemi"):
            bids.pop(key, None)
        decided = _identity(request, runs), _made_of(request, runs)
        parts = runs, conditions, left_out, bids, *decided
        return Participant(request, self.label, *parts)

    @property
    def record_name(self):
        """What the record is called: what was chosen is said."""
        options = self.request.cohort
        chosen = {"ses": "x".join(options.sessions or ()), "task": options.task}
        return "_".join([self.label, *(f"{k}-{v}" for k, v in chosen.items() if v)])

    def record_path(self, *, failed=False):
        """Return the path of the record, or of that of a failure."""
        return record_path(self.request.out, self.record_name, failed=failed)

    @property
    def outcome(self):
        """How its analysis ended, as is on record; empty if it never did."""
        path = self.record_path()
        return read_toml(path).get("outcome", {}) if path.is_file() else {}

    @property
    def files(self):
        """Where the results are."""
        return ResultFiles.below(self.request.out, self.bids)

    @property
    def results(self):
        """What the paths of all results begin with in the folder, None if unknown."""
        if self.identity is None:
            return None
        path = ResultFiles.below("", self.bids).path(PROVENANCE_FILE)
        return path.as_posix().partition("_desc-")[0]

    @property
    def n_runs(self):
        """Number of runs, of which beta images may be several each, or one of many."""
        return sum(self.made_of.get("runs", {}).values())

    @property
    def imgs(self):
        """The images of all runs."""
        return [run.bold for run in self.runs]

    @property
    def events(self):
        """The tables of the images, or one of all images."""
        of_runs = [run.events for run in self.runs]
        return of_runs if self.conditions is None else self.conditions

    @property
    def mask(self):
        """The voxels to analyze: as requested, or those in all runs' brain masks."""
        if self.request.analysis.mask is not None:
            return self.request.analysis.mask
        masks = [run.mask for run in self.runs]
        if None not in masks:
            return shared_mask(masks)
        logger.info(
            "sub-%s: not all images have a brain mask beside them; one is computed",
            self.label,
        )
        return None

    @cached_property
    def options(self):
        """The SampleOptions, confounds as tables."""
        request, changed = self.request, {}
        if request.stimuli is not None and not request.of_betas:
            changed["label_column"] = request.stimuli.column
        elif request.stimuli is not None and self.conditions is None:
            changed["exclude"] = ()  # the tables have no label for these
        if request.confounds:
            confounds, kept = fmriprep_confounds(self.imgs, request.confounds)
            changed |= {"confounds": confounds, "sample_mask": kept}
        return replace(request.options, **changed)

    def _data(self):
        """Return images, their events as samples are made of them, and the mask."""
        tables = self.events
        if self.request.stimuli is not None and self.request.of_betas:
            tables = self.request.stimuli.tables_of(self)
        return ready_betas(self.imgs, tables, self.mask)

    def samples(self):
        """Return the LabeledSamples."""
        imgs, tables, mask = self._data()
        return event_samples(imgs, tables, mask, self.options)

    def labels(self):
        """Return label and run of every sample, no data of the images read."""
        imgs, tables, mask = self._data()
        labels = labels_of_samples(imgs, tables, self.options)
        if mask is not None:
            resolve_masker(mask, imgs)  # checks that images lie on its grid
        return labels

    def fit(self, folder):
        """Return the fitted analysis and its Origin; `folder` holds unfinished work."""
        request, analysis = self.request, clone(self.request.analysis)
        if request.of_films:
            return request.stimuli.fit(self, analysis.set_params(mask=self.mask))
        if request.cohort.work_dir is not None:
            analysis.set_params(checkpoint=folder / "checkpoint")
        if request.cohort.save_null:
            analysis = with_parameters(analysis, save_null=folder / NULL_FILE)
        if request.stimuli is not None:
            return request.stimuli.fit(self, analysis)
        options = self.options.given(without="label_column")
        analysis.set_params(mask=self.mask)
        analysis.fit_events(self.imgs, self.events, **options)
        return analysis, analysis.origin_

    @contextmanager
    def working_folder(self):
        """Yield a folder for work in progress, removed when all ends well."""
        given = self.request.cohort.work_dir
        root = self.request.out / ".work" if given is None else Path(given)
        folder = root / f"sub-{self.label}-{self.identity[:16]}"
        tried_again(folder.mkdir, parents=True, exist_ok=True)
        try:
            yield folder
            shutil.rmtree(folder, ignore_errors=True)
        finally:
            with suppress(OSError):  # there is work to continue
                folder.rmdir()
            if given is None:
                shutil.rmtree(folder, ignore_errors=True)
                with suppress(OSError):  # others work in it
                    root.rmdir()


def _check_files(request, runs):
    """Raise if a run lacks confounds, or betas a mask."""
    lacking = [run.bold for run in runs if run.confounds is None]
    if request.confounds and lacking:
        raise ValueError(
            f"{lacking[0]} has no table of confounds (desc-confounds_timeseries) "
            "beside it; use none (confounds=(), --confounds none)"
        )
    unmasked = request.of_betas and None in [run.mask for run in runs]
    if unmasked and request.analysis.mask is None:
        raise ValueError(
            f"{runs[0].bold} has no brain mask beside it, and none can be computed "
            "from betas; give one (the analysis's mask, --mask)"
        )


def _with_events(request, runs):
    """Return at least two runs whose events are known, and why others are left out."""
    lacking = {run.bold: _lack_of_events(request, run) for run in runs}
    reasons = {bold: reason for bold, reason in lacking.items() if reason}
    usable = {run.bold: run for run in runs if run.bold not in reasons}
    if reasons and len(usable) < 2:
        raise ValueError(next(iter(reasons.values())))
    tables = [run.events for run in usable.values()]
    by_run = zip(usable, late_events([*usable], tables, request.options), strict=True)
    late = {bold: reason for bold, reason in by_run if reason}
    if len(usable) - len(late) < 2:
        late = {}
    kept = [run for bold, run in usable.items() if bold not in late]
    reasons |= late
    return kept, tuple(f"a run is left out: {reason}" for reason in reasons.values())


def _lack_of_events(request, run):
    """Say why a run has no event of a condition, "" if it has."""
    if run.events is None:
        folders = [folder for folder in (request.derivatives, request.raw) if folder]
        return (
            f"{Path(run.bold).name} has no events in {' or '.join(map(str, folders))}; "
            "name the data set that has them (raw, --raw)"
        )
    rows = []
    if Path(run.events).stat().st_size:
        table = read_text_table(run.events, "events")
        rows = table.get("trial_type", table.index)  # a missing column is told later
        if request.stimuli is None:
            rows = set(rows) - {*request.options.exclude, MISSING, ""}
    return "" if len(rows) else f"{Path(run.events).name} has no event of a condition"


def _identity(request, runs):
    """Return a hash of everything that decides a participant's results."""
    files: list = []
    for run in runs:
        paths = [run.bold, str(other_hemisphere(run.bold)), run.events, run.mask]
        own = dict.fromkeys([*paths, run.confounds])
        files.append([describe_file(path) for path in own if path is not None])
    if request.of_films:
        files += [[request.stimuli.is_tested(run) for run in runs]]
        files += [list(map(describe_file, request.stimuli.check(runs)))]
    about = {
        "files": files,
        "confounds": list(request.confounds),
        "options": described_value(request.made_by),
        "parameters": described_parameters(request.analysis),
        **({} if request.stimuli is None else request.stimuli.identity),
        "version": neuroextrap.__version__,
    }
    return hashlib.sha256(json_text("identity", about).encode()).hexdigest()


def _made_of(request, runs):
    """Return what no sidecar says about how samples were made, JSON values."""
    mask, described = request.analysis.mask, described_value(request.analysis.mask)
    if mask is None:
        beside = all(run.mask is not None for run in runs)
        described = "brain masks of all runs" if beside else "computed from the images"
    elif isinstance(described, dict):
        described = described.get("sha256", described)
    numbered = {
        (run.entities.get("ses", ""), number)
        for run in runs
        for number in _runs_in(run, request.of_betas)
    }
    versions = {
        " ".join(f"{k}-{run.entities[k]}" for k in _VERSIONS if k in run.entities)
        for run in runs
    }
    stimuli = {} if request.stimuli is None else request.stimuli.identity
    made_of = MadeOf(
        task=runs[0].entities.get("task"),
        runs=dict(sorted(Counter(session for session, _ in numbered).items())),
        mask=described,
        versions=sorted(versions),
        confounds=sorted(request.confounds),
        features=[stimuli.get(name) for name in ("features", "names")],
        stimulus_column=stimuli.get("column"),
        n_folds=stimuli.get("n_folds"),
    )
    return made_of._asdict()


def _runs_in(run, of_betas):
    """Return what identifies the runs that a BidsRun has; betas are of one or more."""
    if not of_betas:
        return [run.bold]
    if run.events is None:
        return [run.entities.get("run", run.bold)]
    table, name = read_events(run.events)
    return read_runs(table, name).tolist() if "run" in table else [run.bold]
