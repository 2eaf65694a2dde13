"""Subjects must be analyzed alike before their numbers are put together."""

from neuroextrap.group._pairing import sidecar_of

_DECISIVE = (
    "estimator",
    "shrinkage",
    "encoder",
    "covariance",
    "rule",
    "repeats",
    "residuals",
    "standardize",
    "radius",
    "n_nearest",
    "stride",
    "within_runs",
    "per_fold",
    "statistic",
    "classes",
    "set_sizes",
)
"""Parameters that change what the numbers of a map mean."""
_GIVEN_OR_NOT = ("blocks", "labels_img", "noise_covariance", "process_mask_img")
"""Parameters that may be each subject's own, but are given for all or for none."""


def check_alike(told, name, *, allow_mixed=False):
    """Raise if subjects were not analyzed alike, unless `allow_mixed`.

    `told` are pairs of what a subject is called and what is known of its analysis, a
    dict by parameter (`kind` too); None where nothing is, which is not judged. `name`
    is the argument's.
    """
    known = [(subject, _decisive(about)) for subject, about in told if about]
    for subject, about in [] if allow_mixed else known[1:]:
        first, expected = known[0]
        differing = [key for key, value in expected.items() if about[key] != value]
        if differing:
            raise ValueError(
                f"{name}: {first} and {subject} differ in {', '.join(differing)}; "
                "analyze all subjects alike, or say that they may differ "
                "(allow_mixed=True, --allow-mixed)"
            )


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
    return {**parameters, "kind": about.get("description")}


def _decisive(about):
    """Return what must be the same in all subjects, by the word for it."""
    given = {name: about.get(name) is not None for name in _GIVEN_OR_NOT}
    same = {name: about.get(name) for name in _DECISIVE}
    return {"what they are": about.get("kind"), **same, **given}
