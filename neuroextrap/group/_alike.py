"""Are the analyses of subjects alike? What is on record of each, compared."""

from collections import defaultdict
from typing import Any, NamedTuple

import numpy as np

from neuroextrap._parameter_table import AS_MADE, PARAMETERS, RESULT, parameters
from neuroextrap.design._findings import EVERYTHING, Finding, tell
from neuroextrap.stats._validation import brief

_KINDS = {kind for row in PARAMETERS for kind in row.of} - {"samples", "group"}
_FEW = 4  # subjects that a line names


class MadeOf(NamedTuple):
    """What a participant of BIDS derivatives was made of, besides; JSON values."""

    task: str | None
    runs: dict  # how many of every session
    mask: Any
    versions: list  # desc, echo ... of the images
    confounds: list
    features: list  # hashes of these and of their names
    stimulus_column: str | None
    n_folds: int | None


def findings_of_maps(names, sidecars, name, *, allow_mixed, one_each):
    """Tell and return Findings about maps of subjects; ValueError unless alike.

    Doubts of subjects count where there is a map with its sidecar for each.
    """
    analyses = list(zip(names, map(_analysis_in, sidecars), strict=True))
    mixed = check_alike(analyses, name, allow_mixed=allow_mixed)
    doubts = _findings_of_subjects(sidecars) if one_each else ()
    tell(findings := doubts + findings_of_differences(mixed))
    return findings


def _analysis_in(sidecar):
    """Return the parameters of the analysis of a map, None if they are unknown."""
    more = {"kind": sidecar.get("description"), "made_by": sidecar.get("samples")}
    recorded = sidecar.get("parameters")
    return recorded | more if isinstance(recorded, dict) else None


def _findings_of_subjects(records):
    """Return the doubts that sidecars tell, each once, with how many have it."""
    doubts = defaultdict(list)
    for about in records:
        for finding in about.get("findings", ()):
            if finding["grade"] == "doubtful":
                doubts[finding["name"]].append(finding)
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
        for name, own in doubts.items()
    )


def allowed_names(allow_mixed):
    """Return the names of what may differ; `allow_mixed` is a bool, or names."""
    names = dict.fromkeys(
        ["kind", *_decisive_rows(*_KINDS), *_decisive_rows("samples"), *MadeOf._fields]
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

    `analyses` are pairs of a subject's name and the parameters of its analysis (and
    `kind`, `made_by`), or None if unknown.
    """
    allowed, differing = allowed_names(allow_mixed), _differences(analyses)
    refused = [key for key in differing if key[1] not in allowed]
    if refused:
        first = differing[refused[0]][0]
        others = dict.fromkeys(other for key in refused for other in differing[key][1])
        words = list(dict.fromkeys(word for _, word in refused))
        raise ValueError(
            f"{name}: {first} and {_few_names(others)} differ in {', '.join(words)}; "
            "analyze all subjects alike, or name what may differ "
            f"(allow_mixed={words}, --allow-mixed {' '.join(words)})"
        )
    return {
        word: f"{word} ({_few_names(others)} unlike {first}{_values(usual, value)})"
        for (_, word), (first, others, usual, value) in differing.items()
    }


def _differences(analyses):
    """Return the first subject, others, and both values, by what differs."""
    expected: dict[tuple, tuple] = {}
    differing: dict[tuple, tuple] = {}
    for subject, about in analyses:
        for key, value in _decisive(about).items() if about else ():
            first, usual = expected.setdefault(key, (subject, value))
            if value != usual:
                differing.setdefault(key, (first, [], usual, value))[1].append(subject)
    return differing


def _few_names(subjects):
    """Name a few subjects."""
    names = ", ".join(list(subjects)[:_FEW])
    return f"{names} and {len(subjects) - _FEW} more" if len(subjects) > _FEW else names


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
        **{(of, row.name): seen(row, own.get(row.name)) for of, own, row in judged},
        **{("cohort", n): cohort[n] for n in MadeOf._fields if n in cohort},
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
