"""One participant after another, whatever happens to one of them."""

import logging
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

from neuroextrap.analysis._analysis_files import write_analysis
from neuroextrap.cohorts._index_page import write_index
from neuroextrap.cohorts._records import prepare_dataset, read_outcome, write_record
from neuroextrap.cohorts._request import (
    Request,
    find_participant,
    fit_participant,
    samples_of,
)
from neuroextrap.decoding import IdentificationSearchLight
from neuroextrap.images import to_img
from neuroextrap.images._bids_runs import find_participants, find_raw
from neuroextrap.images._event_samples import check_event_options
from neuroextrap.maps._json import read_json
from neuroextrap.maps._parameters import changed_parameters, described_parameters
from neuroextrap.maps._result_files import ResultFiles
from neuroextrap.reporting import peak_table

logger = logging.getLogger(__name__)

_PYTHON_ONLY = (
    "blocks",
    "cv",
    "noise_covariance",
    "per_fold",
    "regions",
    "set_sizes",
    "within_runs",
)
"""Parameters of the searchlight that no option of the command line says."""
_COLUMNS = ("participant_id", "status", "n_runs", "seconds", "reason")


def analyze_participants(  # noqa: PLR0913 - the options of one documented call
    derivatives,
    out,
    *,
    searchlight=None,
    participants=None,
    sessions=None,
    task=None,
    space=None,
    raw=None,
    samples="lss",
    confounds=("motion",),
    exclude=(),
    smoothing_fwhm=None,
    high_pass=None,
    detrend=False,
    standardize=False,
    delay=0.0,
    report=True,
    overwrite=False,
    dry_run=False,
):
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
    searchlight : IdentificationSearchLight or None, default=None
        Analysis that every participant gets, not fitted. Its ``mask`` None stands for
        the voxels in the brain masks of all runs. If None, one with defaults.
    participants : sequence of str or None, default=None
        Labels, with or without "sub-". If None, all that `derivatives` has.
    sessions : sequence of str or None, default=None
        Labels of sessions. If None, the runs of all sessions together.
    task : str or None, default=None
        Label of the task. If None, there must be one only.
    space : str or None, default=None
        Label of the space, such as "MNI152NLin2009cAsym". If None, there must be one
        only.
    raw : path-like or None, default=None
        Data set with the tables of events. If None, `derivatives` and the data set that
        it lies in.
    samples : {"lss", "lsa", "blocks", "volumes"}, default="lss"
        What a sample is, as in ``IdentificationSearchLight.fit_events``.
    confounds : sequence of str, default=("motion",)
        Confounds of fMRIPrep that are regressed out, by nilearn's names
        (``load_confounds``): "motion", "wm_csf", "global_signal", "high_pass",
        "compcor", "scrub", "ica_aroma", "tedana". Empty for none.
    exclude : str or sequence of str, default=()
        Conditions that give no sample, such as "rest".
    smoothing_fwhm : float or None, default=None
        Full width at half maximum in mm of a Gaussian that smooths the volumes. If
        None, they are not smoothed.
    high_pass : float or None, default=None
        Frequency in Hz below which drifts are removed. If None, 0.01 Hz for betas, and
        none for blocks and volumes.
    detrend : bool, default=False
        Whether to remove a straight line from every voxel of every run (blocks and
        volumes).
    standardize : bool, default=False
        Whether to give every voxel mean 0 and standard deviation 1 within every run
        (blocks and volumes).
    delay : float, default=0.0
        Seconds by which responses lag behind events (blocks and volumes).
    report : bool, default=True
        Whether to write a page about every participant.
    overwrite : bool, default=False
        Whether to replace results of other files or options.
    dry_run : bool, default=False
        Whether to find and check everything, estimate time, and write nothing.

    Returns
    -------
    outcomes : pandas.DataFrame
        A row per participant: ``participant_id``; ``status`` ("done", "skipped",
        "failed", or "planned" in a dry run); ``n_runs``; ``seconds`` (in a dry run an
        estimate from the first participant); ``reason`` of a failure. The same is in
        ``out/code/sub-<label>.toml``, with all options and files (paths within the data
        sets, or from the record's folder, none of them absolute), a configuration for
        ``neuroextrap bids --config``; ``out/index.html`` links to everything.

    Raises
    ------
    ValueError
        If `derivatives` has no participants, options do not go together, or `out`
        belongs to somebody else.

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
    labels = _labels(participants, find_participants(derivatives))
    check_event_options(samples, detrend, standardize, delay, high_pass)
    request = Request(
        derivatives=Path(derivatives),
        raw=find_raw(derivatives) if raw is None else Path(raw),
        sessions=sessions,
        task=task,
        space=space,
        confounds=(confounds,) if isinstance(confounds, str) else tuple(confounds),
        searchlight=IdentificationSearchLight() if searchlight is None else searchlight,
        options={
            "samples": samples,
            "exclude": (exclude,) if isinstance(exclude, str) else tuple(exclude),
            "smoothing_fwhm": smoothing_fwhm,
            "high_pass": high_pass,
            "detrend": detrend,
            "standardize": standardize,
            "delay": delay,
        },
    )
    if dry_run:
        return _table(_plan(request, labels))
    prepare_dataset(out, derivatives)
    writing = {"report": report, "overwrite": overwrite}
    outcomes = [_outcome(request, label, Path(out), writing) for label in labels]
    _tell_missing_runs(outcomes)
    write_index(out)
    return _table(outcomes)


def _labels(participants, present):
    """Return the labels that are asked for; ValueError if one is not there."""
    if participants is None:
        return present
    given = [participants] if isinstance(participants, str) else participants
    labels = [str(label).removeprefix("sub-") for label in given]
    unknown = sorted(set(labels) - set(present))
    if unknown:
        raise ValueError(
            f"participants: there is no sub-{unknown[0]}; there are "
            f"{', '.join(present)}"
        )
    return list(dict.fromkeys(labels))


def _outcome(request, label, out, writing):
    """Analyze one participant, and put on record how it ended."""
    start, participant, reason = time.monotonic(), None, ""
    status = "done"
    try:
        participant = find_participant(request, label)
        files = ResultFiles.below(out, participant.bids)
        if _is_done(files, participant.identity):
            status = "skipped"
        else:
            files.check(overwrite=writing["overwrite"])
            logger.info("sub-%s: %d runs", label, len(participant.runs))
            _write(fit_participant(request, participant), participant, out, writing)
    except Exception as error:  # whatever it is, it is told, and others go on
        status, reason = "failed", _one_line(error)
        logger.error("sub-%s failed: %s", label, reason)
        logger.debug("sub-%s", label, exc_info=True)
    entry = _entry(label, status, participant, start, reason)
    _record(request, participant, out, entry)
    return entry


def _record(request, participant, out, entry):
    """Put on record how it ended; whoever was done before stays so."""
    label = entry["participant_id"].removeprefix("sub-")
    if entry["status"] == "skipped":
        if read_outcome(out, label).get("status") == "done":
            return
        entry = entry | {"status": "done"}
    runs = [] if participant is None else participant.runs
    outcome = {name: entry[name] for name in ("status", "n_runs", "seconds", "reason")}
    folders = (request.derivatives, request.raw)
    write_record(out, label, _options(request, runs), runs, outcome, folders)


def _one_line(error):
    """Return an exception's message on one line, or its type's name."""
    return " ".join(str(error).split()) or type(error).__name__


def _entry(label, status, participant, start, reason=""):
    """Return what the table of outcomes says of a participant."""
    n_runs = 0 if participant is None else len(participant.runs)
    seconds = round(time.monotonic() - start, 1)
    return dict(
        zip(_COLUMNS, (f"sub-{label}", status, n_runs, seconds, reason), strict=True)
    )


def _is_done(files, identity):
    """Return whether results of the same files and options are there."""
    path = files.path("analysis.json")
    if not path.is_file():
        return False
    origin = read_json(path).get("origin", {})
    return origin.get("samples", {}).get("identity") == identity


def _write(fitted, participant, out, writing):
    """Write the results of a participant, all files or none."""
    peaks = peak_table(fitted)
    more = {"peaks.tsv": lambda path: peaks.to_csv(path, sep="\t", index=False)}
    if writing["report"]:
        page = fitted.generate_report(title=f"sub-{participant.label}")
        text = page.get_standalone()
        more["report.html"] = lambda path: path.write_text(text, encoding="utf-8")
    origin = fitted.origin_
    samples = {**origin.samples, "identity": participant.identity}
    write_analysis(
        fitted,
        out,
        overwrite=writing["overwrite"],
        bids=participant.bids,
        origin=replace(origin, samples=samples),
        more=more,
    )


def _options(request, runs):
    """Return options as a configuration has them, with those that were inferred."""
    own = runs[0].entities if runs else {}
    raw = None if request.raw is None else request.raw.absolute()
    if raw == find_raw(request.derivatives):
        raw = None  # it will be found again
    kept = changed_parameters(request.searchlight)
    decisive = described_parameters(request.searchlight)
    kept = {name: value for name, value in kept.items() if name in decisive}
    given = {name: _plain(getattr(request.searchlight, name)) for name in kept}
    names = {"process_mask_img": "process_mask"}
    plain = {
        names.get(name, name): value
        for name, value in given.items()
        if name not in _PYTHON_ONLY and value is not None
    }
    if "bounds" in given and given["bounds"] is None:
        plain["bounds"] = "none"
    python = {
        name: str(kept[name]) for name in kept if names.get(name, name) not in plain
    }
    sessions = sorted({run.entities["ses"] for run in runs if "ses" in run.entities})
    return {
        "task": request.task or own.get("task"),
        "space": request.space or own.get("space"),
        "session_label": sessions or None,
        "raw": None if raw is None else str(raw),
        "confounds": list(request.confounds) or ["none"],
        **{name: _plain(value) for name, value in request.options.items()},
        **plain,
        "python": python,
    }


def _plain(value):
    """Return a value that TOML can hold, None for others (images, arrays)."""
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value if isinstance(value, (bool, int, float, str)) else None


def _plan(request, labels):
    """Return what would be done, and about how long it takes."""
    seconds, entries = None, []
    for label in labels:
        start, participant, reason = time.monotonic(), None, ""
        try:
            participant = find_participant(request, label)
            if seconds is None:
                seconds = _seconds(request, participant)
        except Exception as error:  # told in the table
            reason = _one_line(error)
        status = "failed" if reason else "planned"
        entry = _entry(label, status, participant, start, reason)
        entries.append(entry | {"seconds": 0.0 if reason else seconds})
    _tell_missing_runs(entries)
    return entries


def _seconds(request, participant):
    """Estimate how long a participant takes, from its samples and a few regions."""
    from sklearn.base import clone

    start = time.monotonic()
    samples = samples_of(request, participant)
    light = clone(request.searchlight).set_params(mask=samples.masker.mask_img_)
    data = to_img(samples.data, samples.masker)
    reading = time.monotonic() - start
    cost = light.estimate_cost(data, samples.y, samples.runs)
    return round(reading + float(cost["seconds"]), 1)


def _tell_missing_runs(outcomes):
    """Log who has fewer runs than most."""
    counts = Counter(entry["n_runs"] for entry in outcomes if entry["n_runs"])
    if not counts:
        return
    usual = max(counts, key=lambda n: (counts[n], n))
    for entry in outcomes:
        if 0 < entry["n_runs"] < usual:
            logger.warning(
                "%s has %d runs, most have %d",
                entry["participant_id"],
                entry["n_runs"],
                usual,
            )


def _table(outcomes):
    """Return outcomes as a data frame."""
    import pandas as pd

    return pd.DataFrame(outcomes, columns=list(_COLUMNS))
