"""Tell how much a piece of brain tells about a stimulus.

Subpackages (loaded on first use, so that ``import neuroextrap`` stays cheap):

==================  =========================================================
stats               numbers about wins: accuracy curves, information, bounds
regions             which features belong together (spheres, labels, surfaces)
margins             classifiers as batched margin functions
models              elastic net, noise covariance, receptive fields
maps                per-region statistics as named maps with JSON sidecars
images              the only door to nilearn and nibabel
analysis            what every analysis of regions does
decoding            searchlight identification
encoding            Kay-style encoding models and identification
scores              identification by the scores of any decoder
learning_curves     mutual information learning curves
group               inference over subjects
cohorts             all subjects of a folder of BIDS derivatives
datasets            simulated data with known truth
plotting, reporting figures and HTML reports
==================  =========================================================
"""

import importlib as _importlib
import os as _os

_SUBPACKAGES = (
    "analysis",
    "cohorts",
    "datasets",
    "decoding",
    "design",
    "encoding",
    "group",
    "images",
    "learning_curves",
    "maps",
    "margins",
    "models",
    "plotting",
    "regions",
    "reporting",
    "scores",
    "stats",
)

__all__ = ["__version__"]


def __getattr__(name):
    """Import a subpackage, or look up the version, when it is first asked for."""
    if name in _SUBPACKAGES:
        return _importlib.import_module(f"neuroextrap.{name}")
    if name == "__version__":
        return _version()
    raise AttributeError(f"module 'neuroextrap' has no attribute {name!r}")


def _allow_compiling():
    """Give numba a folder of its own where it could write to none, and would fail.

    That is so in containers on a file system that is only read. What was compiled
    before (``NUMBA_CACHE_DIR``) is copied there, and the folder goes with the process.
    """
    given = _os.environ.get("NUMBA_CACHE_DIR", "")
    home = _os.environ.get("XDG_CACHE_HOME") or _os.path.expanduser("~")
    places = (_os.path.dirname(__file__), home, given)
    if any(_os.access(place, _os.W_OK) for place in places):
        return
    import atexit
    import shutil
    import tempfile

    folder = tempfile.mkdtemp(prefix="neuroextrap-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    if _os.path.isdir(given):
        shutil.copytree(given, folder, dirs_exist_ok=True)
    _os.environ["NUMBA_CACHE_DIR"] = folder


_allow_compiling()


def _version():
    """Return the version of the installed package."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("neuroextrap")
    except PackageNotFoundError:  # a source tree that was never installed
        return "0+unknown"


def __dir__():
    """List the subpackages and the version."""
    return sorted([*__all__, *_SUBPACKAGES])
