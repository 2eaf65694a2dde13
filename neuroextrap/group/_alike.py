"""Subjects must be analyzed alike, in one space, before they are put together."""

import numpy as np

from neuroextrap.analysis._parameters import RESULT, parameters
from neuroextrap.design._findings import EVERYTHING, Finding
from neuroextrap.group._pairing import name_subjects, sidecar_of
from neuroextrap.images._opening import same_affine
from neuroextrap.images._space import CODES, MNI, named_space, space_code
from neuroextrap.stats._validation import brief

_KINDS = "searchlight", "encoding", "cross"
_COHORT = "task runs versions mask confounds features stimulus_column n_folds"
"""What participants of BIDS derivatives were made of, besides."""
_FEW = 4  # subjects that a line names

# fmt: off
_NATIVE = frozenset((
    "anat", "bold", "boldref", "epi", "fsnative", "func", "individual", "native",
    "orig", "scanner", "subject", "t1", "t1w", "t2w",
))
# fmt: on
"""Labels of ``space`` that mean a subject's own space, in small letters."""

_REMEDY = (
    "bring the maps into a template's space first, or say that voxels correspond with "
    "allow_native_space=True (--allow-native-space)"
)


def allowed_names(allow_mixed):
    """Return the names of what may differ; `allow_mixed` is a bool, or names.

    ValueError for names that mean nothing.
    """
    rows = _decisive_rows(*_KINDS), _decisive_rows("samples"), _COHORT.split()
    names = list(dict.fromkeys(["kind", *(name for part in rows for name in part)]))
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


def findings_of_subjects(files):
    """Return what is doubtful about the maps of subjects, as their sidecars say.

    `files` are paths, None for a map without a file of its own. Each kind of finding
    comes once, with the number of subjects that it was made of.
    """
    found: dict[str, list[dict]] = {}
    for file in files:
        about = {} if file is None else sidecar_of(str(file))
        for finding in about.get("findings", ()):
            if finding["grade"] == "doubtful":
                found.setdefault(finding["name"], []).append(finding)
    return tuple(
        Finding(
            name,
            "doubtful",
            float(len(records)),
            EVERYTHING,
            f"in {len(records)} of {len(files)} subjects {records[0]['because']}",
            records[0]["effect"],
            records[0]["remedy"],
        )
        for name, records in found.items()
    )


def check_alike(analyses, name, *, allow_mixed=False):
    """Raise if subjects were not analyzed alike, unless `allow_mixed`.

    `analyses` are pairs of a subject's name or file and the parameters of its analysis,
    a dict (`kind` too, and `made_by`, the options by which samples were made); None
    means unknown. What is not known of a subject is not judged. `name` is the
    argument's. Returns what differs by its name, in words.
    """
    allowed = allowed_names(allow_mixed)
    expected: dict[tuple, tuple] = {}
    differing: dict[tuple, tuple] = {}  # first subject, others, the first one's value
    files = [file for file, _ in analyses]
    names = name_subjects(files, otherwise=files)
    for subject, (_, about) in zip(names, analyses, strict=True):
        for key, value in _decisive(about).items() if about else ():
            first, usual = expected.setdefault(key, (subject, value))
            if value != usual:
                differing.setdefault(key, (first, [], value))[1].append(subject)
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
        key[1]: f"{key[1]} ({_told(others)} unlike {first}"
        f"{_values(expected[key][1], value)})"
        for key, (first, others, value) in differing.items()
    }


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


def check_alike_maps(files, name, *, allow_mixed=False):
    """Raise if the sidecars of subjects' maps say that analyses differed.

    `files` are paths, None for maps that are not from a file; these, and maps without a
    sidecar of this package, are not judged. Returns what ``check_alike`` does.
    """
    analyses = []
    for file in files:
        about = {} if file is None else sidecar_of(str(file))
        known = about.get("parameters")
        if isinstance(known, dict):
            more = {"kind": about.get("description"), "made_by": about.get("samples")}
            known = {**known, **more}
        analyses.append((file, known if isinstance(known, dict) else None))
    return check_alike(analyses, name, allow_mixed=allow_mixed)


def _decisive(about):
    """Return what must be the same in all subjects, by what it is of and its name.

    What is not on record is left out.
    """
    samples = about.get("made_by")
    samples = samples if isinstance(samples, dict) else {}
    names = samples.get("exclude") or []
    made = {**samples, "exclude": sorted([names] if isinstance(names, str) else names)}
    if "samples" not in made:
        made = {}
    cohort = samples.get("cohort", {})
    told = [name for name in _COHORT.split() if name in cohort]

    def seen(row, value):  # of values of one's own, only whether there is one
        return value not in (None, []) if row.own else value

    judged = [("analysis", about, row) for row in _decisive_rows(*_KINDS).values()]
    if made:
        judged += [("images", made, row) for row in _decisive_rows("samples").values()]
    return {
        ("analysis", "kind"): about.get("kind"),
        **{(of, row.name): seen(row, known.get(row.name)) for of, known, row in judged},
        **{("cohort", name): cohort[name] for name in told},
    }


def _decisive_rows(*kinds):
    """Return the parameters that change what the numbers of a map mean, by name."""
    return {row.name: row for row in parameters(*kinds) if row.role == RESULT}


def check_one_space(named, name):
    """Raise if maps, a list of `NamedImage`, lie in the spaces of several subjects.

    That is so when a name says it (``space-T1w``), when names say different spaces, or
    when images of different affines neither have a name nor a header that says MNI.
    `name` is the argument's.
    """
    volumes = [img for img in named if not img.is_surface]
    labels = {img.name: named_space(img.file) for img in volumes}
    for place, label in labels.items():
        if label is not None and label.casefold() in _NATIVE:
            raise ValueError(
                f"{place} lies in the subject's own space (space-{label}), where the "
                f"voxels of two subjects do not correspond; {_REMEDY}"
            )
    spaces = sorted({label for label in labels.values() if label is not None})
    if len(spaces) > 1:
        raise ValueError(
            f"{name} lie in different spaces ({', '.join(spaces)}), where voxels do "
            f"not correspond; {_REMEDY}"
        )
    untold = [
        img
        for img in volumes
        if labels[img.name] is None and space_code(img.img) != MNI
    ]
    for other in volumes if untold else ():
        first = untold[0]  # of an unknown space, so grids must be one
        shapes = {tuple(img.img.shape[:3]) for img in (first, other)}
        affine, shape = first.img.affine, first.img.shape[:3]
        if len(shapes) == 1 and same_affine(other.img.affine, affine, shape):
            continue
        code = space_code(first.img)
        raise ValueError(
            f"{first.name} and {other.name} have different grids, and neither a name "
            f"(space-MNI...) nor the header (code {code}, {CODES.get(code)}) says that "
            f"they lie in one space; {_REMEDY}"
        )
