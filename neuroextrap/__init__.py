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
