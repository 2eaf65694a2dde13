"""One participant after another, whatever happens to one of them, or a plan of it."""

import logging
import shutil
import time
import warnings
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from neuroextrap.analysis._analysis_files import write_analysis
from neuroextrap.analysis._parameters import of_arrays
from neuroextrap.cohorts import _cohort_records as records
from neuroextrap.cohorts._cohort_encoding import analysis_of
from neuroextrap.cohorts._cohort_films import FilmDesign, cleaning_by
from neuroextrap.cohorts._cohort_options import (
    ParticipantOptions,
    check_names,
    check_path,
)
from neuroextrap.cohorts._group_level import INDEX, write_index
from neuroextrap.cohorts._group_members import of_majority
from neuroextrap.cohorts._request import NULL_FILE, Participant, Request
from neuroextrap.encoding import ContinuousEncoding
from neuroextrap.encoding._cost import check_runs, estimate_cost, estimate_cost_of_runs
from neuroextrap.images import to_img
from neuroextrap.images._bids_names import read_filters
from neuroextrap.images._bids_runs import find_participants, find_raw
from neuroextrap.images._sample_options import SAMPLES, SampleOptions
from neuroextrap.maps._provenance import read_json
from neuroextrap.maps._transaction import PROVENANCE_FILE, finish_interrupted
from neuroextrap.margins._resources import parse_shard
from neuroextrap.reporting import peak_table
from neuroextrap.reporting._peaks import peaks_of
from neuroextrap.stats._shared_options import as_options, takes_options
from neuroextrap.stats._validation import check_choice, one_line

logger = logging.getLogger(__name__)


@takes_options(ParticipantOptions, SampleOptions, without="sample_mask label_column")
def analyze_participants(
    derivatives: str | PathLike,
    out: str | PathLike,
    *,
    analysis: Any = None,
    samples: str = "lss",
    confounds: str | Sequence[str] = ("motion",),
    **options: Any,
) -> Any:
    """Analyze every participant of a folder of BIDS derivatives.

    Participants, their runs, events, brain masks and confounds are found by the
    entities of the files' names; repetition times come from headers and JSON files. A
    participant that cannot be analyzed does not stop the others. One whose results are
    there already, from the same files and options, is skipped: the same call resumes.

    Parameters
    ----------
    derivatives : path-like
        Folder of preprocessed images, such as fMRIPrep's output.
    out : path-like
        Folder of the results, a BIDS data set of its own.
    analysis : estimator or None, default=None
        Analysis that every participant gets, not fitted: an IdentificationSearchLight,
        an EncodingIdentification or, of films and stories, a ContinuousEncoding. Its
        ``mask`` None stands for the voxels in the brain masks of all runs. If None, a
        searchlight with defaults.
    samples : {"lss", "lsa", "blocks", "volumes", "betas"}, default="lss"
        What a sample is, as in ``IdentificationSearchLight.fit_events``; for an
        EncodingIdentification "lss", "lsa" or "betas"; a ContinuousEncoding, which has
        all volumes, does not use it. With "betas" the images are betas already:
        ``_betas`` series with a table of trial_type and run beside them (such as
        GLMsingle's), or maps of single runs named
        ``run-<label>_contrast-<condition>_stat-effect_statmap`` (such as nilearn's).
    confounds : sequence of str, default=("motion",)
        Confounds of fMRIPrep that are regressed out, by nilearn's names
        (``load_confounds``): "motion", "wm_csf", "global_signal", "high_pass",
        "compcor", "scrub", "ica_aroma", "tedana". Empty for none.

    Returns
    -------
    outcomes : pandas.DataFrame
        A row per participant: ``participant_id``; ``status`` ("done", "skipped",
        "failed", or "planned" in a dry run); ``n_runs``; ``seconds`` (in a dry run an
        estimate from the first participant, which has ``memory`` and ``disk`` in bytes
        too); ``reason`` of a failure, or why runs were left out (they have no events,
        or one after their last volume). The same is in ``out/code/sub-<label>.toml``,
        with all options and files (paths within the data sets, or from the record's
        folder, none of them absolute), a configuration for
        ``neuroextrap bids --config``; ``out/index.html`` links to everything.

    Raises
    ------
    ValueError
        If `derivatives` has no participants, options do not go together, or
        another program made `out`.

    See Also
    --------
    analyze_group : Put the participants' results together.

    Examples
    --------
    >>> from neuroextrap.cohorts import analyze_participants
    >>> analyze_participants("no_such_folder", "out")
    Traceback (most recent call last):
    ValueError: derivatives='no_such_folder' is no folder; check the path
    """
    given = as_options(ParticipantOptions, analyze_participants, options)
    of_betas = check_choice(samples, "samples", (*SAMPLES, "betas")) == "betas"
    all_volumes = of_betas or isinstance(analysis, ContinuousEncoding)
    made_as = "volumes" if all_volumes else samples
    made_by = as_options(SampleOptions, analyze_participants, options, samples=made_as)
    confounds = check_names(confounds, "confounds")
    check_path(out, "out")
    check_path(derivatives, "derivatives")
    labels = _labels(given.participants, find_participants(derivatives))
    part = parse_shard(given.shard)
    labels = labels if part is None else labels[part[0] :: part[1]]
    analysis, stimuli = analysis_of(analysis, given, samples)
    made_by = replace(made_by, exclude=made_by.excluded)
    if isinstance(stimuli, FilmDesign):
        analysis = cleaning_by(analysis, made_by)
    request = Request(
        cohort=given,
        derivatives=Path(derivatives),
        out=Path(out),
        raw=find_raw(derivatives) if given.raw is None else Path(given.raw),
        filters=read_filters(given.filters, given.filter_file),
        confounds=() if of_betas else confounds,
        analysis=analysis,
        stimuli=stimuli,
        options=made_by,
        of_betas=of_betas,
    )
    if given.save_null and not request.analysis.n_permutations:
        raise ValueError(
            "save_null=True needs permutations; give an analysis with n_permutations "
            "(--n-permutations)"
        )
    if given.dry_run:
        return records.outcome_table(_planned(request, labels), _COST[1:])
    _check_anyone(request, labels)
    records.prepare_dataset(out, derivatives)
    causes: dict[str, str] = {}
    try:
        outcomes = [_outcome(Participant(request, label), causes) for label in labels]
    finally:
        write_index(out)
    records.tell_missing_runs(outcomes)
    return records.outcome_table(outcomes)


def _check_anyone(request, labels):
    """Raise, before anything is written, if nobody can be analyzed for one cause."""
    causes: dict[str, str] = {}
    first = ""
    for label in labels:
        try:
            Participant(request, label).find()
        except ValueError as error:
            first = first or one_line(error)
            records.reason_once(causes, one_line(error), f"sub-{label}")
            if len(causes) == 1:
                continue
        return
    if len(labels) > 1:
        raise ValueError(f"nobody of {len(labels)} can be analyzed: {first}")


def _labels(participants, present):
    """Return the requested labels; ValueError if one is not there."""
    if participants is None:
        return present
    labels = [label.removeprefix("sub-") for label in participants]
    unknown = sorted(set(labels) - set(present))
    if unknown:
        raise ValueError(
            f"participants: there is no sub-{unknown[0]}; there are "
            f"{', '.join(present)}"
        )
    return list(dict.fromkeys(labels))


def _outcome(participant, causes):
    """Analyze one participant, and put on record how it ended, each cause told once."""
    start, name = time.monotonic(), f"sub-{participant.label}"
    try:
        finish_interrupted(participant.request.out / name, below=True)
        participant = participant.with_files()
        _check_record(participant)
        if _is_done(participant):
            entry = records.entry_of(participant, "skipped", start)
            _mend_record(participant, entry)
            return entry
        participant.files.check(overwrite=participant.request.cohort.overwrite)
        logger.info("%s: %d runs", name, participant.n_runs)
        with participant.working_folder() as folder:
            fitted, origin = participant.fit(folder)
            entry = records.entry_of(participant, "done", start)
            _write(fitted, origin, participant, folder, entry)
            participant.record_path(failed=True).unlink(missing_ok=True)
    except Exception as error:  # whatever it is, it is told, and others go on
        entry = records.entry_of(participant, "failed", start, one_line(error))
        cause = records.reason_once(causes, entry["reason"], name)
        logger.error("%s failed: %s", name, cause)
        logger.debug("%s", name, exc_info=True)
        # the record of results that are there stays theirs
        kept = participant.outcome.get("status") == "done"
        _write_record(participant, entry, failed=kept)
    return entry


def _write_record(participant, entry, *, failed=False):
    """Write a record; the page of all, which is of earlier ones, goes."""
    (participant.request.out / INDEX).unlink(missing_ok=True)
    path = participant.record_path(failed=failed)
    path.parent.mkdir(parents=True, exist_ok=True)
    records.write_text(path, records.record_text(path, participant, entry))


def _check_record(participant):
    """Raise if the record of this name is of other results that are there."""
    outcome, out = participant.outcome, participant.request.out
    own, is_done = participant.results, outcome.get("status") == "done"
    other = outcome.get("results", own)
    if is_done and other != own and records.written(out, other):
        raise ValueError(
            f"{out} has other results on record as {participant.record_name} ({other}),"
            " of another space or other sessions; give these a folder of their own, "
            "choose sessions (--session-label), or remove those with their record"
        )


def _mend_record(participant, entry):
    """Write the record of results that are there, unless it is theirs."""
    outcome = participant.outcome
    own = ("done", participant.identity, participant.results)
    if tuple(outcome.get(key) for key in ("status", "identity", "results")) != own:
        _write_record(participant, entry | {"status": "done"})


def _is_done(participant):
    """Return whether results of the same files and options are there."""
    needed = [participant.files.path(PROVENANCE_FILE)]
    if participant.request.cohort.save_null:
        needed.append(participant.files.path(NULL_FILE))
    if not all(each.is_file() for each in needed):
        return False
    identity = read_json(needed[0]).get("samples", {}).get("identity")
    return identity == participant.identity


def _write(fitted: Any, origin, participant, folder, entry):
    """Write results and their record in one step, permuted maps too."""
    out, record = participant.request.out, participant.record_path()
    text = records.record_text(record, participant, entry)
    if participant.request.of_films:
        scores, write = fitted.region_scores_, fitted.to_directory
        peaks = peaks_of(scores, scores["correlation"], None, fitted.places_)[1]
    else:
        peaks, write = peak_table(fitted), partial(write_analysis, fitted)
    more: dict[str, Any] = {
        "peaks.tsv": partial(peaks.to_csv, sep="\t", index=False),
        "record.toml": lambda path: path.write_text(text, encoding="utf-8"),
    }
    for name in (NULL_FILE, f"{NULL_FILE}.json"):
        if (folder / name).is_file():
            more[name] = partial(shutil.move, folder / name)
    options = participant.request.cohort
    if options.report:
        page = fitted.generate_report(title=f"sub-{participant.label}")
        more["report.html"] = page.save_as_html
    samples = {**origin.samples, "identity": participant.identity}
    samples["cohort"] = participant.made_of
    # the page of all is of what was there before: it goes, and is made at the end
    elsewhere = {"record.toml": record, INDEX: out / INDEX}
    # so do all records of what is replaced
    for name, earlier in records.read_records(out).items():
        if earlier.get("outcome", {}).get("results") == participant.results:
            elsewhere[f"{name}.toml"] = records.record_path(out, name)
    write(
        out,
        overwrite=options.overwrite,
        bids=participant.bids,
        origin=replace(origin, samples=samples),
        more=more,
        elsewhere=elsewhere,
    )


_N_MAPS = 30  # maps of a participant, about
_COST = ("seconds", "memory", "disk")


def _planned(request, labels):
    """Return what would be done; data of the first participant tell the time."""
    cost, entries, classes = None, [], {}
    for label in labels:
        start, participant, reason = time.monotonic(), Participant(request, label), ""
        try:
            participant = participant.with_files()
            classes[f"sub-{label}"] = None, _classes(participant)
            cost = _cost(participant) if cost is None else cost
        except Exception as error:  # told in the table
            classes.pop(f"sub-{label}", None)
            reason = one_line(error)
        status = "failed" if reason else "planned"
        entry = records.entry_of(participant, status, start, reason)
        entries.append(entry | (dict.fromkeys(_COST, 0) if reason else cost))
    records.tell_missing_runs(entries)
    _tell_left_out(classes)
    return entries


def _tell_left_out(classes):
    """Log who would be left out of the group."""
    left_out: dict[str, str] = {}
    try:
        of_majority(classes, left_out)
    except ValueError as error:
        logger.warning("%s", error)
    for name, reason in left_out.items():
        logger.warning("%s is left out of the group: %s", name, reason)


def _classes(participant):
    """Return the classes that a participant's results would have; errors as theirs."""
    request, design = participant.request, participant.request.stimuli
    if request.of_films:
        check_runs(request.analysis, design.table_of(participant))
        return ()
    y, runs = participant.labels()
    if design is None:
        analysis = request.analysis
        single = of_arrays(analysis)  # of two numbers a sample
        single.set_params(n_permutations=min(1, analysis.n_permutations))
        numbers = np.random.default_rng(0).normal(size=(len(y), 2))
        with warnings.catch_warnings():  # of what the numbers are
            warnings.simplefilter("ignore")
            return tuple(single.fit(numbers, y, groups=runs).classes_.tolist())
    _, _, tested = design.rows_in(participant, y)
    if design.n_folds is None:
        return tuple(design.features.index[tested])
    return tuple(range(len(tested) // design.n_folds))


def _cost(participant):
    """Estimate seconds, memory and disk (bytes), from samples and a few regions."""
    request = participant.request
    if request.of_films:
        model = clone(request.analysis).set_params(mask=participant.mask)
        table = request.stimuli.table_of(participant)
        cost = estimate_cost_of_runs(model, table, request.stimuli.seconds)
        return _entry(cost["seconds"], cost["memory"], _N_MAPS * cost["n_features"])
    start = time.monotonic()
    samples = participant.samples()
    reading = time.monotonic() - start
    cost, n_tested = _cost_of_samples(participant, samples)
    n_numbers = _N_MAPS * cost["n_features"] + cost["n_regions"] * n_tested
    if request.cohort.save_null:
        n_numbers += cost["n_regions"] * cost["n_permutations"]
    memory = int(cost["memory"]) + samples.data.nbytes
    return _entry(reading + float(cost["seconds"]), memory, n_numbers)


def _cost_of_samples(participant, samples):
    """Return the cost once samples are read, and how many of them have margins."""
    analysis = participant.request.analysis
    if participant.request.stimuli is not None:
        data = participant.request.stimuli.data_of(participant, samples)
        return estimate_cost(analysis, data), 2 * len(data.tested)
    light = clone(analysis).set_params(mask=samples.masker.mask_img_)
    data = to_img(samples.data, samples.masker), samples.y, samples.runs
    n_tested = len(samples.y) + len(set(samples.y))
    return light.estimate_cost(*data, order=samples.order), n_tested


def _entry(seconds, memory, n_numbers):
    """Return what the table says of the cost, with the bytes of numbers on disk."""
    values = round(float(seconds), 1), memory, 4 * n_numbers
    return dict(zip(_COST, values, strict=True))
