"""The options of identification by scores."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from neuroextrap.scores._matrix import KINDS
from neuroextrap.stats._extrapolation._intervals import (
    CALIBRATED_FACTOR,
    FEWEST_CALIBRATED,
)
from neuroextrap.stats._validation import (
    check_flags,
    check_integer,
    check_level,
    check_set_sizes,
)

USUAL_SIZES = (50, 200, 1000)


@dataclass(frozen=True, kw_only=True)
class ScoreOptions:
    """How scores are read and what is computed of them.

    Parameters
    ----------
    names : array-like of shape (n_candidates,) or None, default=None
        Names of the candidates, all different. If None, the columns of a data frame
        of `scores` (or the index of one of `candidates`), or no names.
    kind : {"auto", "similarity", "distance"}, default="auto"
        Whether larger scores are more alike or less. "auto" takes them as similarities
        unless targets come last far oftener than guessing explains, and then warns.
    metric : {"cosine", "correlation", "euclidean"}, default="cosine"
        How decoded vectors are compared with those of the candidates.
    set_sizes : int, array-like of int or None, default=None
        Sizes of the pools for which accuracy is reported. If None, those of 50, 200 and
        1,000 for which predictions are calibrated: up to ten times the candidates, or
        up to these with fewer than eight.
    statistic : {"pairwise_accuracy", "accuracy"} or int, default="pairwise_accuracy"
        What is tested: accuracy among two candidates, all, or that many.
    n_permutations : int, default=0
        Number of exchanges of targets between trials. 0 leaves the p-value out.
    groups : array-like of shape (n_trials,) or None, default=None
        Run or subject of every trial, within which targets are exchanged.
    cross_validated : bool, default=False
        Whether trials that are tested have trained the decoder of other trials. Lower
        bounds are then left out, and the p-value is approximate.
    confidence_level : float, default=0.95
        Confidence level of intervals and bounds (of predicted accuracies: 0.9).
    random_state : int, default=0
        Seed of the exchanges.
    """

    names: ArrayLike | None = None
    kind: str = "auto"
    metric: str = "cosine"
    set_sizes: ArrayLike | None = None
    statistic: str | int = "pairwise_accuracy"
    n_permutations: int = 0
    groups: ArrayLike | None = None
    cross_validated: bool = False
    confidence_level: float = 0.95
    random_state: int = 0

    def check(self) -> None:
        """Raise ValueError or TypeError for options that cannot be."""
        if self.kind not in KINDS:
            raise ValueError(f"kind={self.kind!r} must be one of {', '.join(KINDS)}")
        check_flags(cross_validated=self.cross_validated)
        check_integer(self.n_permutations, "n_permutations", minimum=0)
        check_integer(self.random_state, "random_state", minimum=0)
        check_level(self.confidence_level, "confidence_level")
        if self.set_sizes is not None:
            check_set_sizes(self.set_sizes)
        if self.statistic not in ("accuracy", "pairwise_accuracy"):
            if isinstance(self.statistic, str):
                raise ValueError(
                    f"statistic={self.statistic!r} must be accuracy, pairwise_accuracy "
                    "or a number of candidates"
                )
            check_integer(self.statistic, "statistic", minimum=2)

    def pool_sizes(self, n_candidates: int) -> np.ndarray:
        """Return the sizes of pools for which accuracy is reported."""
        if self.set_sizes is not None:
            return np.unique(check_set_sizes(self.set_sizes))
        largest = CALIBRATED_FACTOR * n_candidates
        if n_candidates < FEWEST_CALIBRATED:
            largest = n_candidates
        return np.array([k for k in USUAL_SIZES if k <= largest], dtype=int)

    def tested_size(self, n_candidates: int) -> int:
        """Return the number of candidates of the statistic that is tested."""
        sizes = {"pairwise_accuracy": 2, "accuracy": n_candidates}
        size = sizes.get(str(self.statistic)) or int(self.statistic)
        if size > n_candidates:
            raise ValueError(
                f"statistic={size} must be at most the {n_candidates} candidates"
            )
        return size
