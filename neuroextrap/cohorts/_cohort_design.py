"""From a table of participants, and of their images, to the design of a test."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from neuroextrap.images._bids_runs import find_raw
from neuroextrap.images._loading import flat_values
from neuroextrap.images._opening import open_file
from neuroextrap.images._tables import MISSING, read_text_table
from neuroextrap.stats._validation import brief

TABLE = "participants.tsv"
_ID = "participant_id"
_WORD = re.compile(r"`([^`]+)`|([^\W\d]\w*)")
_COMMA = re.compile(r"[+-]?\d+,\d+")
_CODES = range(3, 7)  # so many different whole numbers may be names of groups
_INTERCEPT = "intercept"
MEASURES = {
    "motion": "mean framewise displacement in mm",
    "voxels_lost": "proportion of the voxels of most that the participant lacks",
    "n_runs": "number of runs",
}
"""What can be a covariate without a table, by name."""
_RADIUS = 50.0  # mm, of the head on which rotations (radians) are arcs


def mean_motion(tables):
    """Return the mean framewise displacement (mm) over runs, None if it is not known.

    Without such a column it is the sum of the six changes of position from volume to
    volume (Power et al. 2012, rotations on a sphere of 50 mm).
    """
    displacements = [_displacement(path) for path in tables if path is not None]
    measured = [values for values in displacements if values is not None]
    if not measured or len(measured) < len(tables):
        return None
    return round(float(np.concatenate(measured).mean()), 4)


def _displacement(path):
    """Return the displacements of one run (mm), None if the table does not tell."""
    table = read_text_table(path, "confounds")
    if "framewise_displacement" in table:
        values = pd.to_numeric(table["framewise_displacement"], errors="coerce")
        return values[np.isfinite(values)].to_numpy()
    names = [f"{kind}_{axis}" for kind in ("trans", "rot") for axis in "xyz"]
    if not set(names) <= set(table):
        return None
    positions = table[names].apply(pd.to_numeric, errors="coerce")
    steps = positions.diff().iloc[1:].abs().to_numpy()
    return steps @ np.repeat([1.0, _RADIUS], 3)


def voxels_lost(imgs):
    """Return the proportion of the voxels of most participants that each one lacks."""
    opened = [open_file(img, "imgs") if isinstance(img, str) else img for img in imgs]
    finite = np.stack([np.isfinite(flat_values(img)) for img in opened])
    usual = finite.mean(axis=0) > 0.5
    return 1 - finite[:, usual].mean(axis=1)


@dataclass(frozen=True)
class CohortDesign:
    """The linear model of participants: columns, contrast, words, who is left out."""

    table: Any
    contrast: Any
    words: tuple
    left_out: dict = field(default_factory=dict)


def find_table(folder):
    """Return ``participants.tsv`` of a folder or the data sets that it lies in."""
    folder = Path(folder).absolute()
    while folder is not None:
        if (folder / TABLE).is_file():
            return folder / TABLE
        folder = find_raw(folder)
    return None


def read_participants(given, out):
    """Return the table of participants as text, indexed by "sub-<label>", if any."""
    given = find_table(out) if given is None else given
    if given is None:
        return pd.DataFrame()
    is_frame = isinstance(given, pd.DataFrame)
    name = "participants_table" if is_frame else str(given)
    table = given.astype(object) if is_frame else read_text_table(given, TABLE)
    if is_frame and _ID not in table and table.index.name == _ID:
        table = table.reset_index()
    if _ID not in table:
        raise ValueError(f"{name} has no column {_ID}; add one, sub-01 and so on")
    table = table.map(lambda entry: entry.strip() if isinstance(entry, str) else entry)
    missing = table.isna() | table.isin([MISSING, ""])
    table = table.where(~missing, None)[~missing.all(axis=1)]  # blank rows at the end
    return _by_name(table, name)


def _by_name(table, name):
    """Return a table with one row a participant, indexed by "sub-<label>"."""
    if table[_ID].isna().any():
        raise ValueError(f"{name} has a row without {_ID}; name it, or remove the row")
    table.index = [f"sub-{str(x).removeprefix('sub-')}" for x in table.pop(_ID)]
    if not table.index.is_unique:
        twice = table.index[table.index.duplicated()][0]
        raise ValueError(f"{name} has {twice} in two rows; leave one")
    return table


def make_design(table, members, contrast, covariates):
    """Return the CohortDesign of participants."""
    given = _INTERCEPT if contrast is None else contrast
    parts = [given] if isinstance(given, str) else given
    if not isinstance(parts, Sequence) or not all(isinstance(p, str) for p in parts):
        raise TypeError(
            f"contrast={brief(given)} must be text, such as 'patients - controls'"
        )
    rows = table.reindex(members)
    words = [a or b for part in parts for a, b in _WORD.findall(part)]
    if not words:
        raise ValueError(
            f"contrast={contrast!r} names no column or group; {_choices(rows)}"
        )
    sources = {word: _source(word, rows) for word in words if word != _INTERCEPT}
    used = list(dict.fromkeys([*sources.values(), *covariates]))
    for name in set(used) - set(rows):
        raise ValueError(f"covariates: {name!r} is not in the table; {_choices(rows)}")
    missing = rows.isna() & rows.columns.isin(used)
    left_out = {
        name: f"no {', '.join(rows.columns[row])} in the table of participants"
        for name, row in zip(members, missing.to_numpy(), strict=True)
        if row.any()
    }
    rows = rows.drop(index=left_out)
    if rows.empty:
        raise ValueError(
            f"nobody has {', '.join(used)} in the table of participants; its rows must "
            f"be called {members[0]} and so on"
        )
    # numbers whose values are named are names
    named = [source for word, source in sources.items() if word != source]
    rows = rows.astype(dict.fromkeys(named, str))
    texts = [n for n in used if n in named or not _is_numeric(rows[n], n)]
    grouped = [name for name in dict.fromkeys(sources.values()) if name in texts]
    if len(grouped) > 1:
        raise ValueError(
            f"contrast={contrast!r} compares values of {' and '.join(grouped)}; make "
            "one column of both, a value for each combination"
        )
    columns, tested, description = _columns(rows, used, texts, grouped, parts)
    return CohortDesign(columns, tested, description, left_out)


def _columns(rows, used, texts, grouped, parts):
    """Return the design of rows, the contrast and the words about both."""
    columns: dict[str, Any] = {}
    words = []
    for name in used:
        how = _of_groups if name in texts else _of_numbers
        added, description = how(name, rows[name], name in grouped)
        taken = sorted(set(added) & set(columns))
        if taken:
            raise ValueError(f"{taken[0]!r} is a column and a value; rename one")
        columns |= added
        words.append(description)
    if not grouped:
        columns[_INTERCEPT] = pd.Series(1.0, index=rows.index)
        words.append("an intercept")
    description = f"{len(rows)} participants: {'; '.join(words)}"
    return pd.DataFrame(columns), _tested(rows, grouped, parts), (description,)


def _tested(rows, grouped, parts):
    """Return the contrast: a column of groups stands for all their differences."""
    if grouped and parts == grouped:
        first, *others = sorted(set(rows[grouped[0]]))
        return [f"`{other}` - `{first}`" for other in others]
    return parts[0] if len(parts) == 1 else parts


def _of_numbers(name, values, _):
    """Return a centered column by name, and how its numbers enter."""
    values = pd.to_numeric(values)
    if values.nunique() < 2:
        raise ValueError(
            f"{name} is {values.iloc[0]:g} in all participants that are tested, so "
            "that it explains nothing; leave it out"
        )
    description = f"{name} ({MEASURES[name]})" if name in MEASURES else name
    description += f", centered at {values.mean():.4g} (SD {values.std():.3g})"
    repeated = values.nunique() in _CODES and 2 * values.nunique() <= len(values)
    if repeated and (values % 1 == 0).all():
        description += ", a slope: write text if its numbers name groups"
    return {name: values - values.mean()}, description


def _of_groups(name, values, compared):
    """Return a column for each value of a text, which may be `compared`, and words."""
    counts = values.value_counts().sort_index()
    if len(counts) < 2 or counts.max() < 2:
        what = "one value" if len(counts) < 2 else "another value for everyone"
        raise ValueError(
            f"{name} has {what} in the participants that are tested, so that it groups "
            "nobody; leave it out"
        )
    shares = {level: (values == level).astype(float) for level in counts.index}
    description = ", ".join(f"{level} {n}" for level, n in counts.items())
    if compared:
        return shares, f"{name} ({description})"
    # the first level is what the others differ from
    centered = {f"{name}={k}": v - v.mean() for k, v in list(shares.items())[1:]}
    return centered, f"{name} ({description}), centered"


def _source(word, rows):
    """Return the column that a word of the contrast is, or is a value of."""
    if word in rows:
        return word
    columns = [name for name in rows if (rows[name].astype(str) == word).any()]
    if len(columns) == 1:
        return columns[0]
    what = f"values of {' and '.join(columns)}" if columns else "no column and no value"
    raise ValueError(f"contrast: {word!r} is {what}; {_choices(rows)}")


def _choices(rows):
    """Say what columns there are."""
    return f"the table of participants has {', '.join(map(str, rows)) or 'no column'}"


def _is_numeric(values, name):
    """Return whether a column holds numbers; ValueError if only some entries do."""
    read = pd.to_numeric(values, errors="coerce").astype(float)
    finite = np.isfinite(read)
    commas = [entry for entry in values if _COMMA.fullmatch(str(entry))]
    if commas:
        raise ValueError(
            f"column {name} has {commas[0]!r}, a number with a comma; write "
            f"{commas[0].replace(',', '.')!r}"
        )
    if finite.any() and not finite.all():
        where = finite.index[~finite][0]
        raise ValueError(
            f"column {name} has {values[where]!r} for {where} and numbers for others; "
            "give numbers, n/a, or text for everyone"
        )
    return bool(finite.all())
