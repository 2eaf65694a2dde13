"""Check parameters before any work is done."""

import numpy as np

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
    for name, high in (("radius", np.inf), ("confidence_level", 1)):
        value = getattr(estimator, name)
        if not isinstance(value, (int, float, np.number)) or not 0 < value < high:
            raise ValueError(f"{name}={value!r} must be a number in (0, {high})")
    for name, least in (("min_voxels", 1), ("stride", 1), ("n_permutations", 0)):
        value = getattr(estimator, name)
        if not isinstance(value, (int, np.integer)) or value < least:
            raise ValueError(f"{name}={value!r} must be an integer of at least {least}")
    if estimator.save_null is not None and estimator.n_permutations == 0:
        raise ValueError("save_null needs permutations; set n_permutations")
