"""Extrapolate every region of a brain at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from neuroextrap.stats._extrapolation._auto import (
    join_measured,
    opinion_weights,
    opinions_of_wins,
    resolved_logit,
)
from neuroextrap.stats._extrapolation._gaussian import Gaussian
from neuroextrap.stats._extrapolation._gaussian_mixture import GaussianMixture
from neuroextrap.stats._extrapolation._method import falling
from neuroextrap.stats._validation import (
    check_choice,
    check_real_set_sizes,
    check_wins,
    real_array,
)


def extrapolate_wins(
    wins: ArrayLike,
    n_test: ArrayLike,
    set_sizes: ArrayLike,
    *,
    method: str = "auto",
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
    method : {"auto", "gaussian_mixture", "gaussian"}, default="auto"
        The default of the extrapolator without scores, the model with two parameters,
        or that with the one parameter of the high-dimensional limit.

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
    check_choice(method, "method", _METHODS)
    wins = check_wins(wins)
    sizes = check_real_set_sizes(set_sizes)
    n_test = real_array(n_test, "n_test")
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
        predicted = _METHODS[method](wins[valid], n_test, np.atleast_1d(sizes))
        accuracy[valid] = np.clip(predicted, 0.0, 1.0)
    return accuracy.reshape(len(wins), *sizes.shape)


def _auto(wins: np.ndarray, n_test: np.ndarray, set_sizes: np.ndarray) -> np.ndarray:
    """Predict by the default for wins only, shape (n_regions, n_sizes)."""
    n_classes, rows = wins.shape[1], n_test[:, None]
    methods = opinions_of_wins(n_classes)
    fits = [[(m, m.fit_many(wins, n_test)[0]) for m in members] for members in methods]

    def curve(sizes: np.ndarray) -> np.ndarray:
        logits = []
        for members in fits:
            each = [resolved_logit(m.curves(x, sizes), sizes, rows) for m, x in members]
            logits.append(np.mean(each, axis=0))
        weights = opinion_weights(n_classes, len(fits), sizes)
        mean = special.expit(sum(w * x for w, x in zip(weights, logits, strict=True)))
        at_all = mean[:, sizes == n_classes]
        return np.clip(join_measured(wins, sizes, mean, at_all), 0.0, 1.0)

    return falling(curve, set_sizes, n_classes)


_METHODS = {
    "auto": _auto,
    "gaussian_mixture": GaussianMixture().predict_many,
    "gaussian": Gaussian().predict_many,
}
