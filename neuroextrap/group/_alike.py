"""Maps of subjects must come from the same analysis before they are compared."""

from pathlib import Path

from neuroextrap.maps._json import read_json

_EXTENSIONS = (".nii.gz", ".nii")
_SHARED = (
    "estimator",
    "shrinkage",
    "radius",
    "n_nearest",
    "within_runs",
    "stride",
    "classes",
    "set_sizes",
)
"""Parameters that change what the numbers of a map mean."""


def check_alike_maps(files, name):
    """Raise if the sidecars of subjects' maps say that analyses differed.

    `files` are paths; maps without a sidecar are not judged. `name` is the option's.
    """
    told = [(file, about) for file in files if (about := _told(file)) is not None]
    for file, about in told[1:]:
        first, expected = told[0]
        differing = [key for key, value in expected.items() if about[key] != value]
        if differing:
            raise ValueError(
                f"{name}: {first} and {file} differ in {', '.join(differing)}; analyze "
                "all subjects alike, or say --allow-mixed"
            )


def _told(file):
    """Return what the sidecar of a map says of its analysis, None without one."""
    file = str(file)
    extension = next((end for end in _EXTENSIONS if file.endswith(end)), None)
    beside = Path(file.removesuffix(extension or "") + ".json")
    if extension is None or not beside.is_file():
        return None
    about = read_json(beside)
    parameters = about.get("parameters") or {}
    own = {key: parameters.get(key) for key in _SHARED}
    return {"what they are maps of": about.get("description"), **own}
