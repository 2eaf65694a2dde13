"""Check parameters before any work is done."""

from neuroextrap.analysis._run_parameters import check_run_parameters
from neuroextrap.encoding._margins import COVARIANCES


def check_parameters(estimator):
    """Check parameters that need no data.

    Parameters
    ----------
    estimator : EncodingIdentification
        Its parameters.

    Raises
    ------
    ValueError
        If a parameter is outside its range.
    """
    allowed = {
        "covariance": tuple(COVARIANCES),
        "residuals": ("cross_validated", "training"),
        "repeats": ("average", "keep"),
    }
    for name, names in allowed.items():
        value = getattr(estimator, name)
        if value not in names:
            raise ValueError(f"{name}={value!r} is unknown; choose one of {names}")
    check_run_parameters(estimator)
