"""Extrapolate every region of a brain at once."""

import numpy as np

from neuroextrap.stats._extrapolation._gaussian import (
    clip_to_resolution,
    invert_gaussian_accuracy,
)
from neuroextrap.stats._extrapolation._gaussian_mixture import (
    fit_normal_mixture,
    predict_normal_mixture,
)
from neuroextrap.stats._validation import check_real_set_sizes, check_wins


def extrapolate_wins(wins, n_test, set_sizes, *, method="gaussian_mixture"):
    """Extrapolate the win distributions of many regions.

    Each row is fitted as ``AccuracyExtrapolator(method).fit_wins`` would, all rows
    together: 70,000 regions of 120 classes take well under a minute.

    Parameters
    ----------
    wins : array_like of shape (n_regions, n_classes)
        Win distributions; rows of NaN stay NaN.
    n_test : int or array_like of shape (n_regions,)
        Number of test points behind each.
    set_sizes : array_like of shape (n_sizes,) or float
        Numbers of classes k >= 2.
    method : {"gaussian_mixture", "gaussian"}
        Two parameters, or the one of the high-dimensional limit.

    Returns
    -------
    ndarray of shape (n_regions, n_sizes), or (n_regions,) for one set size
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
            "'gaussian_mixture' or 'gaussian'."
        )
    wins = check_wins(wins)
    sizes = check_real_set_sizes(set_sizes)
    n_test = np.asarray(n_test, float)
    if wins.ndim != 2 or n_test.shape not in ((), wins.shape[:1]):
        raise ValueError(
            "wins must have shape (n_regions, n_classes) and n_test be one number or "
            f"(n_regions,), got {wins.shape} and {n_test.shape}."
        )
    if not (n_test >= 1).all():
        raise ValueError(f"n_test must be at least 1, got {n_test.min()}.")
    valid = np.isfinite(wins).all(1)
    n_test = np.broadcast_to(n_test, len(wins))[valid]
    accuracy = np.full((len(wins), sizes.size), np.nan)
    if valid.any():
        parameters = _parameters(wins[valid], n_test, method)
        flat = np.atleast_1d(sizes)
        accuracy[valid] = np.clip(predict_normal_mixture(parameters, flat), 0.0, 1.0)
    return accuracy.reshape(len(wins), *sizes.shape)


def _parameters(wins, n_test, method):
    """(mu, log nu) of each region."""
    if method == "gaussian_mixture":
        return fit_normal_mixture(wins, n_test)[0]
    observed = clip_to_resolution(wins[:, -1], n_test)
    shift = invert_gaussian_accuracy(observed, wins.shape[1])
    return np.stack([shift, 0 * shift], 1)
