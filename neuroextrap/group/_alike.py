"""Subjects are analyzed alike, or differ in what may differ."""

from pathlib import Path

import numpy as np

from neuroextrap.analysis._parameters import RESULT, parameters
from neuroextrap.design._findings import EVERYTHING, P_VALUES, Finding
from neuroextrap.group._pairing import name_subjects
from neuroextrap.maps._provenance import read_json
from neuroextrap.stats._validation import brief

_KINDS = "searchlight", "encoding", "cross"
_COHORT = ("task", "runs", "versions", "mask", "confounds", "features")
_COHORT += ("stimulus_column", "n_folds")
"""What participants of BIDS derivatives were made of, besides."""
_FEW = 4  # subjects that a line names
_FEWEST = 20  # subjects of one variance with whom the level holds at .001


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
    names = name_subjects(files, otherwise=files)
    for subject, (_, about) in zip(names, analyses, strict=True):
        for key, value in _decisive(about).items() if about else ():
            first, usual = expected.setdefault(key, (subject, value))
            if value != usual:
                differing.setdefault(key, (first, [], usual, value))[1].append(subject)
    return differing


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
    if "samples" in samples:
        left = samples.get("exclude") or []
        made = samples | {"exclude": sorted([left] if isinstance(left, str) else left)}
        judged += [("images", made, row) for row in _decisive_rows("samples").values()]

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
