"""Numbers of the places where there are any, among all places."""

import numpy as np


def spread_known(known, values):
    """Place values of the known places among all; the others are NaN.

    `known` is a boolean array of shape (n,), each of the named `values` an array of
    shape (known.sum(),); each result has shape (n,), float64.
    """
    spread = {}
    for name, value in values.items():
        spread[name] = np.full(known.shape, np.nan)
        spread[name][known] = value
    return spread
