"""Scores with the wrong sign: accuracy so far below chance that chance is no excuse."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import special

from neuroextrap.stats._warn import warn

_FAR_BELOW = 0.25  # pairwise accuracy: half of what guessing gives
_FALSE_ALARM = 1e-4
_FEW = 0.01  # share of regions: a wrong sign turns all that carry information


def warn_if_reversed(wins: NDArray[np.float64], n_test: int) -> None:
    """Warn where pairwise accuracy lies far below chance and nowhere far above.

    `wins` (..., n_classes) rest on `n_test` independent test points each. Far is 0.25
    from one half, and farther than independent guesses get in one of 10,000 analyses:
    the number of wins of a guess is uniform over 0..K-1. Guesses of cross-validation
    depend on one another and get farther, so that among many regions one in a hundred
    must lie there.
    """
    n_classes = wins.shape[-1]
    pairwise = (wins @ np.arange(n_classes) / (n_classes - 1)).ravel()
    pairwise = pairwise[~np.isnan(pairwise)]
    if not pairwise.size:
        return
    spread = np.sqrt((n_classes + 1) / (12 * (n_classes - 1)) / n_test)
    quantile = -special.ndtri(_FALSE_ALARM / pairwise.size)
    distance = max(_FAR_BELOW, quantile * spread)
    below = np.count_nonzero(pairwise < 0.5 - distance)
    few = below < max(1, _FEW * pairwise.size)
    if few or (pairwise > 0.5 + distance).any():
        return
    where = f" in {below} of {pairwise.size} regions" if pairwise.size > 1 else ""
    warn(
        f"the true class beats another one in only {pairwise.min():.3f} of the pairs"
        f"{where}, far below chance (0.5): margins must be larger for likelier "
        "classes; put a minus before distances, divergences and costs. Where the sign "
        "is right, see whether the folds leave fewer training samples to the classes "
        "they test"
    )
