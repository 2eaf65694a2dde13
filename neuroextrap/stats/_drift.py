"""Does the Gaussian limit describe a curve? Implied information against size."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from neuroextrap.stats._implied import implied_information
from neuroextrap.stats._validation import (
    FloatArray,
    check_probabilities,
    check_set_sizes,
)


def information_drift(
    accuracy: ArrayLike, set_sizes: ArrayLike, *, base: float = 2
) -> FloatArray:
    """Return how implied information changes per doubling of the set size.

    Where the Gaussian limit holds, the information implied by each set size alone
    is the same. A downward drift means fewer hard confusions are averaged out
    than in the limit (low-dimensional codes), an upward drift the reverse; either
    way extrapolate with a method that has more than one parameter.

    Parameters
    ----------
    accuracy : array-like of shape (..., n_sizes)
        Accuracy curves, see :func:`average_accuracy`; NaN gives NaN.
    set_sizes : array-like of int of shape (n_sizes,)
        At least two sizes k >= 2.
    base : float, default=2
        Unit of information: 2 for bits, ``math.e`` for nats.

    Returns
    -------
    drift : ndarray of shape (...)
        Least-squares slope of the implied information of each size on log2 of the
        size. Sizes whose accuracy is perfect, or not above chance, imply no finite
        positive information and are left out; NaN where fewer than two remain.

    Raises
    ------
    ValueError
        If accuracies lie outside [0, 1], there are fewer than two sizes, or the
        last axis has another length.

    References
    ----------
    Zheng & Benjamini 2016, "Estimating mutual information in high dimensions via
    classification error", section 3; the diagnostic is ours.

    Examples
    --------
    >>> from neuroextrap.stats import gaussian_identification_accuracy
    >>> curve = gaussian_identification_accuracy(1.5, [2, 8, 32])
    >>> bool(abs(information_drift(curve, [2, 8, 32])) < 1e-9)
    True
    """
    sizes = check_set_sizes(set_sizes)
    curves = check_probabilities(accuracy, "accuracy")
    if sizes.ndim == 0 or len(np.unique(sizes)) < 2:
        raise ValueError(f"set_sizes must hold at least two sizes; got {sizes}")
    if curves.ndim == 0 or curves.shape[-1] != len(sizes):
        raise ValueError(
            f"accuracy must have one value per set size ({len(sizes)}) on its last "
            f"axis; got shape {curves.shape}"
        )
    information = np.stack(
        [
            implied_information(curves[..., i], size, base=base)
            for i, size in enumerate(sizes)
        ],
        axis=-1,
    )
    missing = np.isnan(curves).any(axis=-1)
    used = (information > 0) & np.isfinite(information)
    used[missing] = False
    slope = _slopes(np.where(used, information, 0.0), np.log2(sizes), used)
    return np.asarray(np.where(used.sum(axis=-1) < 2, np.nan, slope))


def _slopes(values: FloatArray, x: FloatArray, used: np.ndarray) -> FloatArray:
    """Return least-squares slopes over the last axis, of the used entries."""
    count = np.maximum(used.sum(axis=-1, keepdims=True), 1)
    x_centered = np.where(used, x - (used * x).sum(-1, keepdims=True) / count, 0.0)
    spread = (x_centered**2).sum(axis=-1)
    cross = (x_centered * values).sum(axis=-1)
    return np.divide(cross, spread, out=np.full_like(cross, np.nan), where=spread > 0)
