"""Whose map is it, and are all of them alike? Subjects by the labels in names."""

import os
from collections import defaultdict
from pathlib import Path

import numpy as np
import pandas as pd

from neuroextrap.analysis._parameters import AS_MADE, PARAMETERS, RESULT, parameters
from neuroextrap.design._findings import EVERYTHING, P_VALUES, Finding, tell
from neuroextrap.images._bids_names import loose_entities
from neuroextrap.maps._provenance import read_json
from neuroextrap.stats._validation import brief, warn

_KINDS = {kind for row in PARAMETERS for kind in row.of} - {"samples", "group"}
_COHORT = ("task", "runs", "versions", "mask", "confounds", "features")
_COHORT += ("stimulus_column", "n_folds")
"""What participants of BIDS derivatives were made of, besides."""
_ID = "participant_id"
_FEW = 4  # subjects that a line names
_FEWEST = 20  # subjects of one variance with whom the level holds at .001


def compared(named, asked, name, *, repeated):
    """Tell and return Findings about maps; ValueError unless they go together."""
    files = [img.file for img in named]
    check_distinct(files, name, repeated=repeated)
    records = [{} if file is None else sidecar_of(file) for file in files]
    analyses = list(zip(files, map(_analysis_in, records), strict=True))
    mixed = check_alike(analyses, name, allow_mixed=asked.allow_mixed)
    one_each = all(img.n_samples is None for img in named)
    doubts = _findings_of_subjects(records) if one_each else ()
    tell(found := doubts + findings_of_differences(mixed))
    return found


def _analysis_in(sidecar):
    """Return the parameters of the analysis of a map, None if they are unknown."""
    more = {"kind": sidecar.get("description"), "made_by": sidecar.get("samples")}
    known = sidecar.get("parameters")
    return known | more if isinstance(known, dict) else None


def _findings_of_subjects(records):
    """Return the doubts that sidecars tell, each once, with how many have it."""
    found = defaultdict(list)
    for about in records:
        for finding in about.get("findings", ()):
            if finding["grade"] == "doubtful":
                found[finding["name"]].append(finding)
    return tuple(
        Finding(
            name,
            "doubtful",
            float(len(own)),
            EVERYTHING,
            f"in {len(own)} of {len(records)} subjects {own[0]['because']}",
            own[0]["effect"],
            own[0]["remedy"],
        )
        for name, own in found.items()
    )


def places_of_repeats(keys):
    """Return each key that comes several times, but None, with its first two places."""
    places = defaultdict(list)
    for number, key in enumerate(keys):
        if key is not None:
            places[key].append(number)
    return [(key, *found[:2]) for key, found in places.items() if len(found) > 1]


def check_distinct(files, name, *, repeated=False):
    """Raise if two of several files (or None) are one, warn if of one subject."""
    paths = [None if file is None else os.path.realpath(file) for file in files]
    for path, first, second in places_of_repeats(paths):
        raise ValueError(
            f"{name}[{first}] and {name}[{second}] are both {path}; give every subject "
            "once"
        )
    labels = [] if repeated else map(label_of, files)
    for label, first, second in places_of_repeats(labels):
        warn(
            f"{name}[{first}] and {name}[{second}] are both of sub-{label} "
            f"({files[first]}, {files[second]}) and count as two subjects; if they "
            "are one, average the maps first"
        )


def allowed_names(allow_mixed):
    """Return the names of what may differ; `allow_mixed` is a bool, or names."""
    names = dict.fromkeys(
        ["kind", *_decisive_rows(*_KINDS), *_decisive_rows("samples"), *_COHORT]
    )
    if isinstance(allow_mixed, (bool, np.bool_)):
        return tuple(names) if allow_mixed else ()
    several = isinstance(allow_mixed, (list, tuple, set, frozenset))
    given = allow_mixed if several else [allow_mixed]
    unknown = [e for e in given if not isinstance(e, str) or e not in names]
    if unknown:
        raise ValueError(
            f"allow_mixed (--allow-mixed): {brief(unknown[0])} is nothing that can "
            f"differ; there are {', '.join(names)}"
        )
    return tuple(given)


def check_alike(analyses, name, *, allow_mixed=False):
    """Return in words what differs by its name; ValueError if that is not allowed.

    `analyses` are pairs of a subject's name or file and the parameters of its analysis
    (and `kind`, `made_by`), or None if unknown.
    """
    allowed, differing = allowed_names(allow_mixed), _differences(analyses)
    refused = [key for key in differing if key[1] not in allowed]
    if refused:
        first = differing[refused[0]][0]
        others = dict.fromkeys(other for key in refused for other in differing[key][1])
        words = list(dict.fromkeys(word for _, word in refused))
        raise ValueError(
            f"{name}: {first} and {_told(others)} differ in {', '.join(words)}; "
            "analyze all subjects alike, or name what may differ "
            f"(allow_mixed={words}, --allow-mixed {' '.join(words)})"
        )
    return {
        word: f"{word} ({_told(others)} unlike {first}{_values(usual, value)})"
        for (_, word), (first, others, usual, value) in differing.items()
    }


def _differences(analyses):
    """Return the first subject, others, and both values, by what differs."""
    expected: dict[tuple, tuple] = {}
    differing: dict[tuple, tuple] = {}
    files = [file for file, _ in analyses]
    names = name_subjects(files, otherwise=_from_shared_folder(files))
    for subject, (_, about) in zip(names, analyses, strict=True):
        for key, value in _decisive(about).items() if about else ():
            first, usual = expected.setdefault(key, (subject, value))
            if value != usual:
                differing.setdefault(key, (first, [], usual, value))[1].append(subject)
    return differing


def _from_shared_folder(files):
    """Return paths from the folder on that all have in common, which nobody is told."""
    if None in files or len({os.path.isabs(file) for file in files}) > 1:
        return files
    root = os.path.commonpath(files)
    return [os.path.relpath(file, root) for file in files]


def _told(subjects):
    """Name a few subjects."""
    shown = ", ".join(list(subjects)[:_FEW])
    return f"{shown} and {len(subjects) - _FEW} more" if len(subjects) > _FEW else shown


def _values(expected, value):
    """Say what differs, if it can be said in a word or a number."""
    plain = (str, int, float, type(None))
    if not (isinstance(expected, plain) and isinstance(value, plain)):
        return ""
    return f": {value!r}, not {expected!r}"


def _decisive(about):
    """Return what is on record and must be alike in all subjects."""
    samples = about.get("made_by")
    samples = samples if isinstance(samples, dict) else {}
    cohort = samples.get("cohort", {})
    judged = [("analysis", about, row) for row in _decisive_rows(*_KINDS).values()]
    left = samples.get("exclude") or []
    made = samples | {"exclude": sorted([left] if isinstance(left, str) else left)}
    kinds = ["samples"] if "samples" in samples else []
    kinds += AS_MADE if samples else []
    judged += [("images", made, row) for row in _decisive_rows(*kinds).values()]

    def seen(row, value):  # of values of one's own, only whether there is one
        return value not in (None, []) if row.own else value

    return {
        ("analysis", "kind"): about.get("kind"),
        **{(of, row.name): seen(row, known.get(row.name)) for of, known, row in judged},
        **{("cohort", name): cohort[name] for name in _COHORT if name in cohort},
    }


def _decisive_rows(*kinds):
    """Return the parameters that change what the numbers of a map mean, by name."""
    return {row.name: row for row in parameters(*kinds) if row.role == RESULT}


def findings_of_differences(differences):
    """Return a Finding that names what was allowed to differ, if anything does."""
    if not differences:
        return ()
    finding = Finding(
        "mixed_subjects",
        "note",
        float(len(differences)),
        EVERYTHING,
        f"subjects differ, as was allowed, in {'; '.join(differences.values())}",
        "a difference between groups of subjects may be one of how they were analyzed",
        "",
    )
    return (finding,)


def findings_of_variances(groups):
    """Return a Finding about groups of too few subjects, if there are any."""
    sizes = () if groups is None else np.unique(groups, return_counts=True)[1]
    fewest = int(min(sizes, default=_FEWEST))
    if fewest >= _FEWEST:
        return ()
    few = Finding(
        "small_variance_groups",
        "doubtful",
        fewest,
        P_VALUES,
        f"variance_groups has a group of {fewest} subjects",
        "small p-values are too frequent if variances differ",
        f"have {_FEWEST} or more in every group, or leave variance_groups out if "
        "variances are alike",
    )
    return (few,)


def sidecar_of(file):
    """Return the sidecar of a map, empty if there is none."""
    beside = Path(str(file).removesuffix(".gz").removesuffix(".nii") + ".json")
    return read_json(beside) if beside.is_file() else {}


def label_of(file):
    """Return the label of the subject in a path, or None."""
    return None if file is None else loose_entities(file).get("sub")


def name_subjects(files, otherwise=None):
    """Name subjects by sub-<label>, by files or, where these repeat, `otherwise`."""
    if otherwise is None:
        otherwise = tuple(str(number) for number in range(1, len(files) + 1))
    if None in files:
        return otherwise
    names = []
    for file in files:
        label = label_of(file)
        named = Path(file).name.partition(".nii")[0]
        names.append(named if label is None else f"sub-{label}")
    return tuple(names) if len(set(names)) == len(names) else otherwise


def in_order_of(files, values, name):
    """Return a table with its rows in the order of the subjects' files, by names."""
    if not isinstance(values, (pd.DataFrame, pd.Series)):
        return values
    if _ID in getattr(values, "columns", ()):
        values = values.set_index(_ID)
    index = values.index
    if _ID in index.names:
        rows = list(index.get_level_values(_ID))
    else:
        plain = index.equals(pd.RangeIndex(len(index)))
        rows = [None] * len(index) if plain else list(index)
    labels = [label_of(file) for file in files]
    if len(rows) != len(files) and None in (*rows, *labels):  # said of the shape
        return values
    order = _matching_order(labels, rows, ("imgs", name))
    return values if order is None else values.iloc[order]


def per_subject(values, name, files):
    """Return one value per subject, in the order of their files, or None."""
    if values is None:
        return None
    ordered = in_order_of(files, values, name)
    try:
        array = np.asarray(ordered)
    except ValueError:  # lists of different lengths
        array = np.empty((0, 0))
    if array.shape != (len(files),):
        raise ValueError(
            f"{name} must have one entry per subject ({len(files)}); got shape "
            f"{array.shape}"
        )
    return array


def order_of_pairs(files, others, names):
    """Return which second image belongs to each first one; None for the same."""
    first, second = label_keys(map(label_of, files), map(label_of, others))
    if not set(first) & set(second) - {None}:  # patients, and controls matched to them
        return None
    return _matching_order(first, second, names)


def _matching_order(first, second, names):
    """Return where in `second` the subject of each label in `first` is, or None."""
    first, second = label_keys(first, second)
    pairs = [pair for pair in zip(first, second, strict=False) if None not in pair]
    differing = [f"{one!r} is paired with {two!r}" for one, two in pairs if one != two]
    alike = len(first) == len(second)
    if alike and not differing:
        return None
    is_unique = None not in first and len(set(first)) == len(first)
    if alike and is_unique and set(first) == set(second):
        return [second.index(label) for label in first]
    why = differing[0] if alike else f"there are {len(first)} and {len(second)}"
    raise ValueError(
        f"{names[0]} and {names[1]} cannot be matched by the names of subjects ("
        f"{why}; only in {names[0]}: {_lacking(second, first)}; only in {names[1]}: "
        f"{_lacking(first, second)}); give the same subjects in both, each once, or, "
        "if the order is right, an array or a table without names "
        "(reset_index(drop=True))"
    )


def _lacking(labels, others):
    """Name what is among the others only."""
    return ", ".join(x for x in others if x not in {None, *labels}) or "none"


def label_keys(*lists):
    """Return labels as text without sub-, 08 as 8 unless that makes two into one."""
    texts, short = [], []
    for labels in lists:
        known = [None if x is None else str(x).removeprefix("sub-") for x in labels]
        texts.append(known)
        short.append([str(int(x)) if x and x.isdecimal() else x for x in known])
    joined = any(len(set(a)) < len(set(b)) for a, b in zip(short, texts, strict=True))
    return texts if joined else short
