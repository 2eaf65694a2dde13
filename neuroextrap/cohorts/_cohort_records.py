"""What is on record of every participant: options, files, and how it ended."""

import json
import logging
import os
import time
import tomllib
from collections import Counter
from pathlib import Path

import pandas as pd

from neuroextrap._parameter_table import parameters, path_words
from neuroextrap.cohorts._cohort_design import mean_motion
from neuroextrap.encoding import ElasticNetEncoder, RidgeEncoder
from neuroextrap.images._bids_names import filter_texts
from neuroextrap.images._bids_runs import find_raw
from neuroextrap.maps._provenance import (
    check_dataset,
    describe_dataset,
    described_value,
    replaced_file,
)
from neuroextrap.maps._records import (
    changed_parameters,
    described_parameters,
    flat_parameters,
)

logger = logging.getLogger(__name__)

FOLDER = "code"
"""Where BIDS has room for how data were made."""
FAILED = "failed"
"""Where, below that, is told of calls that failed beside earlier results."""
_IGNORED = "index.html"
_RECORD = ("runs", "python", "outcome")
"""Tables of a record that are no options."""


def prepare_dataset(out, derivatives):
    """Make the data set of results, or check that the folder is one of this package."""
    out = Path(out)
    if out.is_dir():
        check_dataset(out, overwrite=False)
    elif out.exists():
        raise ValueError(f"out={str(out)!r} is a file; give a folder")
    describe_dataset(out, [Path(derivatives) / "sub"])
    ignored = out / ".bidsignore"
    text = ignored.read_text(encoding="utf-8") if ignored.exists() else ""
    if _IGNORED not in text.splitlines():
        write_text(ignored, f"{text}{_IGNORED}\n")


def record_path(out, name, *, failed=False):
    """Return the path of a record (label and choices), or of that of a failure."""
    folder = Path(out) / FOLDER / (FAILED if failed else "")
    return folder / f"sub-{name}.toml"


def record_text(path, participant, entry):
    """Return a record, a configuration of exactly this analysis, no path absolute."""
    request, runs = participant.request, participant.runs
    options, python = _configuration(request, runs)
    for name in path_words():
        if options.get(name) is not None:
            options[name] = _relative(options[name], path.parent)
    lines = ["# A configuration: neuroextrap bids DERIVATIVES OUT participant --config"]
    lines += _lines({**options, "participant_label": [participant.label]})
    lines += ["", "[python]", *_lines(python)] if python else []
    folders = [f for f in (request.derivatives, request.raw, request.out) if f]
    for run in runs:
        files = {"bold": run.bold, "events": run.events}
        files |= {"mask": run.mask, "confounds_file": run.confounds}
        within = {name: _within(file, folders) for name, file in files.items()}
        lines += ["", "[[runs]]", *_lines(within)]
    outcome = {name: entry[name] for name in ("status", "n_runs", "seconds")}
    outcome["reason"] = _without_folders(entry["reason"], folders)
    outcome["results"], outcome["identity"] = participant.results, participant.identity
    outcome["motion"] = mean_motion([run.confounds for run in runs])
    return "\n".join([*lines, "", "[outcome]", *_lines(outcome), ""])


def read_records(out):
    """Return all records, dicts by label and what was chosen ("01", "01_ses-2")."""
    paths = sorted((Path(out) / FOLDER).glob("sub-*.toml"))
    return {path.stem.removeprefix("sub-"): read_toml(path) for path in paths}


def records_of(records, label, entities):
    """Return the records of a participant whose names do not contradict entities."""
    matches = []
    for name, record in records.items():
        own, *pairs = name.split("_")
        chosen = dict(pair.split("-", 1) for pair in pairs)
        is_chosen = all(entities.get(k) in (None, v) for k, v in chosen.items())
        matches += [record] if own == label and is_chosen else []
    return matches


def written(out, results):
    """Return whether results are there, whose paths below `out` begin so."""
    return (Path(out) / f"{results}_desc-provenance_stat.json").is_file()


def results_on_record(out):
    """Return how analyses ended whose results are there, by what their paths begin."""
    outcomes = [record.get("outcome", {}) for record in read_records(out).values()]
    return {
        outcome["results"]: outcome
        for outcome in outcomes
        if outcome.get("status") == "done" and written(out, outcome.get("results"))
    }


def read_configuration(path):
    """Return the options of a configuration, paths from its folder on."""
    content = read_toml(path)
    if content.get("python"):
        raise ValueError(
            f"{path} is of an analysis with settings that only Python has "
            f"({', '.join(content['python'])}), so that options cannot repeat it; "
            "remove the table [python] from a copy of the file to go without them"
        )
    options = {k: value for k, value in content.items() if k not in _RECORD}
    folder = Path(path).absolute().parent
    words = path_words()
    for name, value in options.items():
        if name.replace("-", "_") in words and isinstance(value, str):
            options[name] = os.path.normpath(folder / Path(value).expanduser())
    return options


def tell_unlike(path, out):
    """Log whose results in `out` are not of the analysis whose record is at `path`."""
    config = read_toml(path)
    identity = config.get("outcome", {}).get("identity")
    if identity is None:
        return
    records = read_records(out)
    for label in config.get("participant_label", ()):
        matches = records_of(records, label, {})
        identities = [each.get("outcome", {}).get("identity") for each in matches]
        if not matches or {None, identity} & set(identities):
            continue
        again = matches[0]
        one, two = ({run["bold"] for run in e.get("runs", ())} for e in (config, again))
        what = f"runs differ: {', '.join(sorted(one ^ two))}"
        if one == two:
            what = "options, files or the version of this package differ"
        logger.warning("sub-%s is not analyzed as %s says: %s", label, path, what)


def read_toml(path):
    """Return what a TOML file says; ValueError if it is none."""
    path = Path(path)
    if not path.is_file():
        raise ValueError(f"no file {path}; check the path of the configuration")
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:  # not TOML, not UTF-8, too deep
        raise ValueError(f"{path} is no TOML ({error}); correct it") from error


def write_text(path, text):
    """Write a text file as a whole, over an older one too."""
    with replaced_file(path) as partial:
        partial.write_text(text, encoding="utf-8")


def _relative(path, folder):
    """Return the path of an existing file from a folder; other text as it is."""
    absolute = os.path.abspath(os.path.expanduser(path))
    if not os.path.exists(absolute):
        return path
    try:
        return Path(os.path.relpath(absolute, os.path.abspath(folder))).as_posix()
    except ValueError:  # another drive of Windows
        return path


def _within(file, folders):
    """Return a file's path within the first folder that has it, else its name."""
    if file is None:
        return None
    absolute = Path(os.path.abspath(file))
    for folder in folders:
        if absolute.is_relative_to(os.path.abspath(folder)):
            return absolute.relative_to(os.path.abspath(folder)).as_posix()
    return absolute.name


def _without_folders(text, folders):
    """Return a message without the places of folders on this machine."""
    places = set(map(os.path.abspath, folders)) | set(map(os.path.realpath, folders))
    for place in sorted(places, key=len, reverse=True):
        text = text.replace(os.path.join(place, ""), "")
        text = text.replace(place, Path(place).name)
    home = os.path.join(os.path.expanduser("~"), "")
    return text.replace(home, "~/") if home.strip("/") else text


def _lines(options):
    """Return options as lines of TOML; those that are None are left out."""
    return [f"{name} = {_value(v)}" for name, v in options.items() if v is not None]


def _value(value):
    """Return a plain value in TOML, whose numbers, lists and text are JSON's."""
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, float) and value == int(value):
        return f"{value:.1f}"
    # JSON leaves the one control character that TOML wants escaped
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


_COLUMNS = ("participant_id", "status", "n_runs", "seconds", "reason")


def reason_once(causes, reason, name):
    """Return why a participant failed, or as whom, if that was told of another."""
    first = causes.setdefault(reason.replace(name, "sub-"), name)
    return reason if first == name else f"as {first}"


def entry_of(participant, status, start, reason=""):
    """Return the row of a participant: why it failed, or runs are left out, too."""
    reason = reason or "; ".join(participant.left_out)
    seconds = round(time.monotonic() - start, 1)
    values = f"sub-{participant.label}", status, participant.n_runs, seconds, reason
    return dict(zip(_COLUMNS, values, strict=True))


def tell_missing_runs(outcomes):
    """Log who has fewer runs than most."""
    counts = Counter(entry["n_runs"] for entry in outcomes if entry["n_runs"])
    usual = max(counts, key=lambda n: (counts[n], n), default=0)
    for entry in outcomes:
        who, n_runs = entry["participant_id"], entry["n_runs"]
        if 0 < n_runs < usual:
            logger.warning("%s has %d runs, most have %d", who, n_runs, usual)


def outcome_table(outcomes, more=()):
    """Return outcomes as a data frame."""
    return pd.DataFrame(outcomes, columns=[*_COLUMNS, *more])


def _configuration(request, runs):
    """Return options as a configuration has them, inferred ones too, and Python's."""
    own = runs[0].entities if runs else {}
    words, python = _of_analysis(request.analysis)
    raw = request.raw and request.raw.absolute()
    again = raw in (None, find_raw(request.derivatives))  # it will be found again
    stimuli, more = ({}, {}) if request.stimuli is None else request.stimuli.options
    sessions = sorted({run.entities["ses"] for run in runs if "ses" in run.entities})
    options = {
        "task": request.cohort.task or own.get("task"),
        "space": request.cohort.space or own.get("space"),
        "session_label": sessions or None,
        "filter": filter_texts(request.filters) or None,
        "raw": None if again else str(raw),
        "confounds": list(request.confounds) or ["none"],
        **{name: _plain(value) for name, value in request.made_by.items()},
        "save_null": request.cohort.save_null or None,
        **stimuli,
        **words,
    }
    return options, python | more


def _of_analysis(analysis):
    """Return the parameters of an analysis as options, and those that are none."""
    decisive = described_parameters(analysis)
    kept = {n: v for n, v in changed_parameters(analysis).items() if n in decisive}
    flat = flat_parameters(analysis)
    given = {name: _plain(flat[name]) for name in kept}
    if "encoder" in given:
        given["encoder"] = _encoder_word(analysis.encoder)
    rows = parameters(analysis.kind)
    none = [r.name for r in rows if r.option and "none" in (r.option.choices or ())]
    given |= {n: "none" for n in none if n in given and given[n] is None}
    words = {row.name: row.word for row in rows}
    plain = {words[n]: given[n] for n in given if words.get(n) and given[n] is not None}
    python = {name: str(kept[name]) for name in kept if words.get(name) not in plain}
    return plain, python


def _encoder_word(encoder):
    """Return the command line's word for an encoder, None if it has none."""
    words = {"auto": None, "elastic-net": ElasticNetEncoder(), "ridge": RidgeEncoder()}
    given = described_value(encoder)
    return next(
        (w for w, each in words.items() if described_value(each) == given), None
    )


def _plain(value):
    """Return a value that TOML can hold, None for others (images, arrays)."""
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value if isinstance(value, (bool, int, float, str)) else None
