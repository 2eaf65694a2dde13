"""Extrapolate every region of a brain at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from neuroextrap.stats._extrapolation._gaussian import (
    clip_to_resolution,
    invert_gaussian_accuracy,
)
from neuroextrap.stats._extrapolation._gaussian_mixture import (
    fit_normal_mixture,
    predict_normal_mixture,
)
from neuroextrap.stats._validation import check_real_set_sizes, check_wins


def extrapolate_wins(
    wins: ArrayLike,
    n_test: ArrayLike,
    set_sizes: ArrayLike,
    *,
    method: str = "gaussian_mixture",
) -> np.ndarray:
    """Extrapolate the win distributions of many regions.

    Each row is fitted as ``AccuracyExtrapolator(method).fit_wins`` would, all rows
    together: 70,000 regions of 120 classes take well under a minute.

    Parameters
    ----------
    wins : array-like of shape (n_regions, n_classes)
        Win distributions; rows of NaN stay NaN.
    n_test : int or array-like of int of shape (n_regions,)
        Number of test points behind each.
    set_sizes : float or array-like of shape (n_sizes,)
        Numbers of classes k >= 2.
    method : {"gaussian_mixture", "gaussian"}, default="gaussian_mixture"
        The model with two parameters, or that with the one parameter of the
        high-dimensional limit.

    Returns
    -------
    accuracy : ndarray of shape (n_regions, n_sizes), or (n_regions,) for one set size
        Predicted average accuracy.

    Raises
    ------
    ValueError
        If the method is another one, the wins are not distributions of at least two
        classes, a set size is below 2, or `n_test` is below one.

    References
    ----------
    Zheng, Achanta & Benjamini 2018, "Extrapolating expected accuracies for large
    multi-class problems".

    Examples
    --------
    >>> import numpy as np
    >>> chance, perfect = np.full(20, 1 / 20), np.eye(20)[-1]
    >>> extrapolate_wins([chance, perfect], 200, [20, 100], method="gaussian").round(4)
    array([[0.05  , 0.01  ],
           [0.9975, 0.9906]])
    """
    if method not in ("gaussian", "gaussian_mixture"):
        raise ValueError(
            f"method={method!r} is not available for many regions at once; use "
            "'gaussian_mixture' or 'gaussian'"
        )
    wins = check_wins(wins)
    sizes = check_real_set_sizes(set_sizes)
    n_test = np.asarray(n_test, float)
    if wins.ndim != 2 or n_test.shape not in ((), wins.shape[:1]):
        raise ValueError(
            "wins must have shape (n_regions, n_classes) and n_test be one number or "
            f"(n_regions,), got {wins.shape} and {n_test.shape}"
        )
    if not (n_test >= 1).all():
        raise ValueError(f"n_test must be at least 1, got {n_test.min()}")
    valid = np.isfinite(wins).all(1)
    n_test = np.broadcast_to(n_test, len(wins))[valid]
    accuracy = np.full((len(wins), sizes.size), np.nan)
    if valid.any():
        parameters = _parameters(wins[valid], n_test, method)
        flat = np.atleast_1d(sizes)
        accuracy[valid] = np.clip(predict_normal_mixture(parameters, flat), 0.0, 1.0)
    return accuracy.reshape(len(wins), *sizes.shape)


def _parameters(wins: np.ndarray, n_test: np.ndarray, method: str) -> np.ndarray:
    """Return (mu, log nu) of each region, shape (n_regions, 2)."""
    if method == "gaussian_mixture":
        return fit_normal_mixture(wins, n_test)[0]
    observed = clip_to_resolution(wins[:, -1], n_test)
    shift = invert_gaussian_accuracy(observed, wins.shape[1])
    return np.stack([shift, 0 * shift], 1)
