"""What is on record of every participant: options, files, and how it ended."""

import json
import os
import tomllib
import uuid
from pathlib import Path

from neuroextrap.maps._bids import check_dataset, describe_dataset

FOLDER = "code"
"""Where BIDS has room for how data were made."""
FAILED = "failed"
"""Where, below that, is told of calls that failed beside earlier results."""
_IGNORED = "index.html"
_RECORD = ("runs", "python", "outcome")
"""Tables of a record that are no options."""
_PATHS = (
    "raw",
    "mask",
    "process_mask",
    "labels_img",
    "features",
    "stimulus_images",
)
"""Options that are paths; relative ones begin at the folder of the configuration."""


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
    return out


def record_path(out, label, *, failed=False):
    """Return the path of the record of a participant's results, or of a failed call."""
    folder = Path(out) / FOLDER / (FAILED if failed else "")
    return folder / f"sub-{label}.toml"


def record_text(path, options, runs, outcome, folders):
    """Return the record of a participant, a configuration of exactly this analysis.

    No path in it is absolute: files of runs begin at one of `folders`, the data sets
    that they lie in, and options that are paths at the folder of the record's `path`.
    """
    plain = {name: value for name, value in options.items() if name != "python"}
    for name in _PATHS:
        if plain.get(name) is not None:
            plain[name] = _relative(plain[name], path.parent)
    lines = ["# A configuration: neuroextrap bids DERIVATIVES OUT participant --config"]
    label = path.stem.removeprefix("sub-")
    lines += _lines({**plain, "participant_label": [label]})
    python = options.get("python", {})
    lines += ["", "[python]", *_lines(python)] if python else []
    for run in runs:
        files = {"bold": run.bold, "events": run.events}
        files |= {"mask": run.mask, "confounds_file": run.confounds}
        within = {name: _within(file, folders) for name, file in files.items()}
        lines += ["", "[[runs]]", *_lines(within)]
    reason = _without_folders(outcome["reason"], folders)
    lines += ["", "[outcome]", *_lines(outcome | {"reason": reason})]
    return "\n".join(lines) + "\n"


def write_record(path, text):
    """Write the record of a participant, over an older one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, text)


def read_records(out):
    """Return the records of all participants, dicts by label."""
    paths = sorted((Path(out) / FOLDER).glob("sub-*.toml"))
    return {path.stem.removeprefix("sub-"): read_toml(path) for path in paths}


def read_outcome(out, label):
    """Return how a participant's analysis ended, empty if it never did."""
    path = record_path(out, label)
    return read_toml(path).get("outcome", {}) if path.is_file() else {}


def read_configuration(path):
    """Return the options of a configuration, without what a record adds to them.

    Relative paths among them begin at the folder of the configuration.
    """
    options = {k: value for k, value in read_toml(path).items() if k not in _RECORD}
    folder = Path(path).absolute().parent
    for name, value in options.items():
        if name.replace("-", "_") in _PATHS and isinstance(value, str):
            options[name] = os.path.normpath(folder / Path(value).expanduser())
    return options


def read_toml(path):
    """Return what a TOML file says; ValueError where it is none."""
    path = Path(path)
    if not path.is_file():
        raise ValueError(f"no file {path}; check the path of the configuration")
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is no TOML ({error}); correct it") from error


def write_text(path, text):
    """Write a text file as a whole, over an older one too."""
    partial = path.with_name(f".partial-{uuid.uuid4().hex}")
    try:
        partial.write_text(text, encoding="utf-8")
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


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
        if folder is not None and absolute.is_relative_to(os.path.abspath(folder)):
            return absolute.relative_to(os.path.abspath(folder)).as_posix()
    return absolute.name


def _without_folders(text, folders):
    """Return a message without the places of folders on this machine."""
    given = [folder for folder in folders if folder is not None]
    forms = {form(folder) for folder in given for form in _FORMS}
    for place in sorted(forms, key=len, reverse=True):
        text = text.replace(os.path.join(place, ""), "")
        text = text.replace(place, Path(place).name)
    home = os.path.join(os.path.expanduser("~"), "")
    return text.replace(home, "~/") if home.strip("/") else text


_FORMS = (os.path.abspath, os.path.realpath)


def _lines(options):
    """Return options as lines of TOML; those that are None are left out."""
    return [
        f"{name} = {_value(value)}"
        for name, value in options.items()
        if value is not None
    ]


def _value(value):
    """Return a plain value in TOML, whose numbers, lists and text are JSON's."""
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, float) and value == int(value):
        return f"{value:.1f}"
    # JSON leaves the one control character that TOML wants escaped
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
