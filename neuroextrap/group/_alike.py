"""Subjects must be analyzed alike before their numbers are put together."""

import numpy as np

from neuroextrap.analysis._parameters import RESULT, parameters
from neuroextrap.group._pairing import sidecar_of

_KINDS = "searchlight", "encoding"
_COHORT = "task runs mask confounds features stimulus_column n_folds"
"""What participants of BIDS derivatives were made of, besides."""
_FEW = 4  # subjects that a line names


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
    unknown = [name for name in given if name not in names]
    if unknown:
        raise ValueError(
            f"allow_mixed (--allow-mixed): {unknown[0]!r} is nothing that can differ; "
            f"there are {', '.join(names)}"
        )
    return tuple(given)


def check_alike(told, name, *, allow_mixed=False):
    """Raise if subjects were not analyzed alike, unless `allow_mixed`.

    `told` are pairs of what a subject is called and what is known of its analysis, a
    dict by parameter (`kind` too, and `made_by`, the options by which samples were
    made); None where nothing is. What is not known of a subject is not judged. `name`
    is the argument's. Returns the names of what differs.
    """
    allowed, expected, differing = allowed_names(allow_mixed), {}, {}
    for subject, about in told:
        for key, value in _decisive(about).items() if about else ():
            first, usual = expected.setdefault(key, (subject, value))
            if value != usual:
                differing.setdefault(key, (first, []))[1].append(subject)
    refused = [key for key in differing if key[1] not in allowed]
    if refused:
        first = differing[refused[0]][0]
        others = dict.fromkeys(other for key in refused for other in differing[key][1])
        shown = ", ".join(list(others)[:_FEW])
        more = f" and {len(others) - _FEW} more" if len(others) > _FEW else ""
        words = list(dict.fromkeys(word for _, word in refused))
        raise ValueError(
            f"{name}: {first} and {shown}{more} differ in {', '.join(words)}; "
            "analyze all subjects alike, or name what may differ "
            f"(allow_mixed={words}, --allow-mixed {' '.join(words)})"
        )
    return tuple(dict.fromkeys(word for _, word in differing))


def check_alike_maps(files, name, *, allow_mixed=False):
    """Raise if the sidecars of subjects' maps say that analyses differed.

    `files` are paths, None for maps that are not from a file; these, and maps without a
    sidecar of this package, are not judged.
    """
    told = [(file, None if file is None else _told(file)) for file in files]
    check_alike(told, name, allow_mixed=allow_mixed)


def _told(file):
    """Return what the sidecar of a map says of its analysis, None if it does not."""
    about = sidecar_of(str(file))
    parameters = about.get("parameters")
    if not isinstance(parameters, dict):
        return None
    samples = about.get("samples")
    return {**parameters, "kind": about.get("description"), "made_by": samples}


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
    judged = [("analysis", about, row) for row in _decisive_rows(*_KINDS).values()]
    if made:
        judged += [("images", made, row) for row in _decisive_rows("samples").values()]
    return {
        ("analysis", "kind"): about.get("kind"),
        **{(of, row.name): _seen(row, told.get(row.name)) for of, told, row in judged},
        **{("cohort", name): cohort.get(name) for name in _COHORT.split() if cohort},
    }


def _decisive_rows(*kinds):
    """Return the parameters that change what the numbers of a map mean, by name."""
    return {row.name: row for row in parameters(*kinds) if row.role == RESULT}


def _seen(row, value):
    """Return of a value what must be the same: of one's own, whether it is given."""
    return value not in (None, []) if row.own else value
