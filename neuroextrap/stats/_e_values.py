"""Many e-values at once: the false discovery rate under any dependence."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from neuroextrap.stats._validation import FloatArray, real_array


def e_value_false_discovery_rate(e_values: ArrayLike) -> FloatArray:
    """Return the smallest false discovery rate at which each region is reported.

    The e-BH procedure reports the j regions of largest e-value for the largest j with
    ``e_(j) >= n / (j alpha)``; its false discovery rate is at most alpha whatever the
    dependence of the regions, where the Benjamini-Hochberg procedure on p-values needs
    assumptions on it. Here the smallest such alpha is returned for every region, the
    counterpart of an adjusted p-value.

    Parameters
    ----------
    e_values : array-like of shape (n_regions,)
        E-values of the null hypotheses; NaN gives NaN and is not counted.

    Returns
    -------
    rate : ndarray of shape (n_regions,)
        Between 0 and 1.

    Raises
    ------
    ValueError
        If `e_values` are not one-dimensional, or one is negative.

    References
    ----------
    Wang & Ramdas 2022, "False discovery rate control with e-values", Journal of the
    Royal Statistical Society B 84.

    Examples
    --------
    >>> e_value_false_discovery_rate([100.0, 0.5, 30.0, 2.0])
    array([0.04      , 1.        , 0.06666667, 0.66666667])
    """
    values = real_array(e_values, "e_values")
    if values.ndim != 1:
        raise ValueError(
            f"e_values must have shape (n_regions,); got {values.shape}: ravel them"
        )
    if (values < 0).any():
        raise ValueError("e_values must be at least 0; logs of them must be undone")
    rate = np.full(values.shape, np.nan)
    known = np.flatnonzero(~np.isnan(values))
    order = known[np.argsort(-values[known], kind="stable")]
    with np.errstate(divide="ignore"):
        level = len(known) / (np.arange(1, len(known) + 1) * values[order])
    rate[order] = np.minimum(1, np.minimum.accumulate(level[::-1])[::-1])
    return rate
