"""What is asked of every participant, and what it comes to for one of them."""

import hashlib
import logging
import shutil
from collections import Counter
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import neuroextrap
from neuroextrap.analysis._analysis_files import origin_of, recorded_options
from neuroextrap.analysis._parameters import with_parameters
from neuroextrap.cohorts._cohort_encoding import beta_tables, encoding_data
from neuroextrap.cohorts._cohort_films import FilmDesign, fit_films
from neuroextrap.cohorts._cohort_runs import found_runs
from neuroextrap.images._cleaning import fmriprep_confounds
from neuroextrap.images._event_samples import (
    event_samples,
    labels_of_samples,
)
from neuroextrap.images._events import read_events, read_runs
from neuroextrap.images._fits import ready_betas
from neuroextrap.images._surface_files import other_hemisphere
from neuroextrap.maps._bids import shared_entities
from neuroextrap.maps._provenance import describe_file, described_value, json_text
from neuroextrap.maps._records import described_parameters
from neuroextrap.maps._result_files import ATTEMPTS, ResultFiles
from neuroextrap.maps._transaction import PROVENANCE_FILE

logger = logging.getLogger(__name__)

NULL_FILE = "null.npy"
"""Plain name of a participant's permuted maps."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """The analysis of every participant, as it was requested.

    `analysis`, an IdentificationSearchLight or, with `stimuli` (StimulusDesign,
    FilmDesign), an EncodingIdentification or a ContinuousEncoding, is not fitted; its
    mask None stands for the brain masks beside the images. `filters` are labels by
    entity, `confounds` strategies of nilearn's ``load_confounds``, `options`
    SampleOptions. With `of_betas` the images are betas already.
    """

    derivatives: Any
    raw: Any
    sessions: Any
    task: str | None
    space: str | None
    filters: dict
    confounds: tuple
    analysis: Any
    options: Any
    stimuli: Any = None
    of_betas: bool = False
    save_null: bool = False
    work_dir: Any = None

    def record_name(self, label):
        """Return what records of a participant are called: what was chosen is said."""
        sessions = [self.sessions] if isinstance(self.sessions, str) else self.sessions
        chosen = {"ses": "x".join(sessions or ()), "task": self.task}
        return "_".join([label, *(f"{k}-{v}" for k, v in chosen.items() if v)])

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
    """One participant's runs, and what makes the results what they are.

    `conditions` are pairs of condition and run, one for each beta image, None if
    tables say it. `left_out` says why further runs are not among them, a sentence each;
    `made_of` what must be the same in all members of a group.
    """

    label: str
    runs: list
    bids: dict
    identity: str
    conditions: list | None = None
    left_out: tuple = ()
    made_of: dict = field(default_factory=dict)

    @property
    def results(self):
        """What the paths of all results begin with, in the folder of results."""
        path = ResultFiles.below("", self.bids).path(PROVENANCE_FILE)
        return path.as_posix().partition("_desc-")[0]

    @property
    def n_runs(self):
        """Number of runs, of which beta images may be several each, or one of many."""
        return sum(self.made_of["runs"].values())

    @property
    def imgs(self):
        """The images of all runs."""
        return [run.bold for run in self.runs]

    @property
    def events(self):
        """The tables of the images, or one of all images."""
        if self.conditions is None:
            return [run.events for run in self.runs]
        import pandas as pd

        return pd.DataFrame(self.conditions, columns=["trial_type", "run"])


def find_participant(request, label):
    """Return the Participant with this label, files hashed; ValueError if unusable."""
    runs, conditions, left_out = found_runs(request, label)
    for reason in left_out:
        logger.warning("sub-%s: %s", label, reason)
    bids = shared_entities([run.bold for run in runs])
    if bids is None:  # a model's own names
        bids = {k: e for k, e in runs[0].entities.items() if k in ("sub", "ses")}
    for key in ("desc", "contrast", "stat", "hemi"):
        bids.pop(key, None)
    identity = _identity(request, runs)
    made_of = _made_of(request, runs)
    return Participant(label, runs, bids, identity, conditions, left_out, made_of)


def fit_participant(request, participant, folder):
    """Return the fitted analysis of a participant, and the Origin of its data.

    `folder` is for what is only needed meanwhile: permuted maps and, where the user
    named a folder of work, what an interrupted run continues from.
    """
    from sklearn.base import clone

    analysis = clone(request.analysis)
    if request.of_films:
        analysis.set_params(mask=mask_of(request, participant))
        return fit_films(request, participant, analysis)
    if request.work_dir is not None:
        analysis.set_params(checkpoint=folder / "checkpoint")
    if request.save_null:
        analysis = with_parameters(analysis, save_null=folder / NULL_FILE)
    if request.stimuli is not None:
        return fit_encoding(request, participant, analysis)
    options = sample_options(request, participant).given(without="label_column")
    analysis.set_params(mask=mask_of(request, participant))
    analysis.fit_events(participant.imgs, participant.events, **options)
    return analysis, analysis.origin_


def fit_encoding(request, participant, analysis):
    """Train an EncodingIdentification and identify; return it and its Origin."""
    sources = {"imgs": participant.imgs, "events": participant.events}
    if request.stimuli.files:
        sources["features"] = request.stimuli.files
    options = sample_options(request, participant)
    made_by = {"n_folds": request.stimuli.n_folds, **request.made_by}
    made_by |= {"samples": options.samples, "exclude": options.exclude}
    names = [] if request.of_betas else ["label_column"]
    names += ["confounds", "sample_mask"] if request.confounds else []
    made_by |= {name: getattr(options, name) for name in names}
    origin = origin_of(sources, recorded_options(made_by))
    samples = samples_of(request, participant)
    data = encoding_data(request, participant, samples)
    fitted = data.identify(analysis.set_params(mask=data.mask))
    fitted.bg_img_ = samples.bg_img  # of the series, before any cleaning
    return fitted, origin


@contextmanager
def working_folder(request, participant, out):
    """Yield a folder for work in progress, removed when all ends well.

    It lies in the user's folder of work, else in that of the results.
    """
    root = Path(out) / ".work" if request.work_dir is None else Path(request.work_dir)
    folder = root / f"sub-{participant.label}-{participant.identity[:16]}"
    for _ in range(ATTEMPTS):
        with suppress(FileNotFoundError):  # another job removed the empty root
            folder.mkdir(parents=True, exist_ok=True)
            break
    done = False
    try:
        yield folder
        done = True
    finally:
        if done or request.work_dir is None:
            shutil.rmtree(folder, ignore_errors=True)
        with suppress(OSError):  # there is work to continue, or others work in it
            folder.rmdir()
        if request.work_dir is None:
            with suppress(OSError):
                root.rmdir()


def samples_of(request, participant):
    """Return the LabeledSamples of a participant."""
    imgs, tables, mask = _data_of(request, participant)
    return event_samples(imgs, tables, mask, sample_options(request, participant))


def labels_of(request, participant):
    """Return label and run of every sample, no data of the images read."""
    from neuroextrap.images import resolve_masker

    imgs, tables, mask = _data_of(request, participant)
    found = labels_of_samples(imgs, tables, sample_options(request, participant))
    if mask is not None:
        resolve_masker(mask, imgs)  # checks that images lie on its grid
    return found


def _data_of(request, participant):
    """Return images, their events as samples are made of them, and the mask."""
    tables = participant.events
    if request.stimuli is not None and request.of_betas:
        tables = beta_tables(request, participant)
    return ready_betas(participant.imgs, tables, mask_of(request, participant))


def sample_options(request, participant):
    """Return the SampleOptions of a participant, confounds as tables."""
    changed = {}
    if request.stimuli is not None and not request.of_betas:
        changed["label_column"] = request.stimuli.column
    elif request.stimuli is not None and participant.conditions is None:
        changed["exclude"] = ()  # the tables have no label for these
    if request.confounds:
        confounds, kept = fmriprep_confounds(participant.imgs, request.confounds)
        changed |= {"confounds": confounds, "sample_mask": kept}
    return replace(request.options, **changed)


def mask_of(request, participant):
    """Return the voxels to analyze: as requested, or those in all runs' brain masks."""
    if request.analysis.mask is not None:
        return request.analysis.mask
    masks = [run.mask for run in participant.runs]
    if None in masks:
        logger.info(
            "sub-%s: not all images have a brain mask beside them; one is computed",
            participant.label,
        )
        return None
    from neuroextrap.images._maskers import shared_mask

    return shared_mask(masks)


def _identity(request, runs):
    """Return a hash of everything that decides a participant's results."""
    files = [
        [
            describe_file(path)
            for path in (*_both(run.bold), run.events, run.mask, run.confounds)
            if path is not None
        ]
        for run in runs
    ]
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


def _both(path):
    """Return a file and, of a hemisphere's, that of the other one."""
    other = str(other_hemisphere(path))
    return (path,) if other == path else (path, other)


def _made_of(request, runs):
    """Return what no sidecar says about how samples were made, JSON values."""
    mask, told = request.analysis.mask, described_value(request.analysis.mask)
    if mask is None:
        beside = all(run.mask is not None for run in runs)
        told = "brain masks of all runs" if beside else "computed from the images"
    elif isinstance(told, dict):
        told = told.get("sha256", told)
    found = {
        (run.entities.get("ses", ""), number)
        for run in runs
        for number in _runs_in(run, request.of_betas)
    }
    counts = Counter(session for session, _ in found)
    stimuli = {} if request.stimuli is None else request.stimuli.identity
    return {
        "task": runs[0].entities.get("task"),
        "runs": dict(sorted(counts.items())),  # of every session
        "mask": told,
        "versions": _versions_of(runs),
        "confounds": sorted(request.confounds),
        "features": [stimuli.get(name) for name in ("features", "names")],
        "stimulus_column": stimuli.get("column"),
        "n_folds": stimuli.get("n_folds"),
    }


def _versions_of(runs):
    """Return which version of its acquisition every run is, as sorted texts."""
    kept = ("ce", "rec", "echo", "part", "res", "den", "desc")
    told = {
        " ".join(f"{key}-{run.entities[key]}" for key in kept if key in run.entities)
        for run in runs
    }
    return sorted(told)


def _runs_in(run, of_betas):
    """Return what identifies the runs that a BidsRun has; betas are of one or more."""
    if not of_betas:
        return [run.bold]
    if run.events is None:
        return [run.entities.get("run", run.bold)]
    table, name = read_events(run.events)
    return read_runs(table, name).tolist() if "run" in table else [run.bold]
