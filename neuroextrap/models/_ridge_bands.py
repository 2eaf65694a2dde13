"""Bands of features, and the weights of bands that banded ridge regression tries."""

import numpy as np

from neuroextrap.stats._labels import check_labels
from neuroextrap.stats._validation import random_generator

_CONCENTRATIONS = (1.0, 0.1)
"""Of the Dirichlet distributions that draws alternate between: all bands weigh
something, or few bands almost everything."""


def check_bands(bands, n_features):
    """Return the bands' labels, sorted, and every feature's band as a number.

    None stands for one band. ValueError where there is not one label per feature.

    >>> check_bands(["color", "gabor", "gabor"], 3)
    (array(['color', 'gabor'], dtype='<U5'), array([0, 1, 1]))
    """
    if bands is None:
        return None, np.zeros(n_features, dtype=int)
    labels, codes = np.unique(check_labels(bands, "bands"), return_inverse=True)
    if len(codes) != n_features:
        raise ValueError(
            f"bands has {len(codes)} entries, X has {n_features} features; name the "
            "band of every feature"
        )
    return labels, codes


def candidate_weights(band_weights, n_bands, random_state):
    """Return the weights (n_candidates, n_bands) that are tried; rows sum to one.

    `band_weights` is their number (the first are equal, the others drawn), or holds
    them. ValueError where they are not weights of `n_bands` bands.

    >>> candidate_weights([[1, 3], [2, 2]], 2, 0)
    array([[0.25, 0.75],
           [0.5 , 0.5 ]])
    """
    if n_bands == 1:
        return np.ones((1, 1))
    if np.ndim(band_weights) == 0:
        return _drawn_weights(band_weights, n_bands, random_state)
    weights = np.asarray(band_weights, dtype=np.float64)
    good = weights.ndim == 2 and weights.shape[1] == n_bands and len(weights)
    if not (good and np.isfinite(weights).all() and (weights >= 0).all()):
        raise ValueError(
            f"band_weights must be a whole number, or rows of {n_bands} finite weights "
            f"of at least 0, one per band, got shape {weights.shape}"
        )
    total = weights.sum(axis=1, keepdims=True)
    if not (total > 0).all():
        row = int(np.flatnonzero(total == 0)[0])
        raise ValueError(f"band_weights: all weights of row {row} are 0; give one band")
    return weights / total


def _drawn_weights(n_candidates, n_bands, random_state):
    """Equal weights, and draws from Dirichlet distributions."""
    whole = isinstance(n_candidates, (int, np.integer))
    if isinstance(n_candidates, bool) or not whole or n_candidates < 1:
        raise ValueError(
            f"band_weights={n_candidates!r} must be a whole number of at least 1, or "
            "rows of weights; give how many to try"
        )
    rng = random_generator(random_state)
    weights = np.full((n_candidates, n_bands), 1 / n_bands)
    for index in range(1, n_candidates):
        concentration = _CONCENTRATIONS[(index - 1) % 2]
        weights[index] = rng.dirichlet(np.full(n_bands, concentration))
    return weights
