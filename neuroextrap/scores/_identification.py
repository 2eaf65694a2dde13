"""Identification by any matrix of scores: curve, bits, bounds, p, and what to doubt."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import stats as laws

from neuroextrap import stats
from neuroextrap.design._findings import Finding, tell
from neuroextrap.design._permutations import few_exchanges
from neuroextrap.maps._identification import bound_statistics
from neuroextrap.margins._wins import accuracy_set_size
from neuroextrap.scores._doubts import (
    doubt,
    duplicates_finding,
    examine,
    near_duplicates,
)
from neuroextrap.scores._reading import ScoreMatrix, read_scores, score_vectors
from neuroextrap.scores._result import ScoreIdentification
from neuroextrap.stats._accuracy import default_set_sizes
from neuroextrap.stats._extrapolation._prediction_intervals import (
    CALIBRATED_FACTOR,
    FEWEST_CALIBRATED,
)
from neuroextrap.stats._jackknife import SampledClasses, leave_one_class_out_accuracy
from neuroextrap.stats._null_counts import tie_floor
from neuroextrap.stats._permutation import FewLabelings, draw_labelings
from neuroextrap.stats._pvalues import p_value_from_counts
from neuroextrap.stats._shared_options import as_options, takes_options
from neuroextrap.stats._validation import (
    FloatArray,
    check_choice,
    check_flags,
    check_integer,
    check_level,
    check_set_sizes,
)

_PREDICTED_LEVEL = 0.9  # at which intervals of predicted accuracies are calibrated
_USUAL_SIZES = (50, 200, 1000)
_BEST = 5  # what "top-5" counts
_BOUNDS = (
    "average_bayes_accuracy_bound",
    "bayes_accuracy_bound",
    "class_information_bound",
    "information_bound",
)


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

    def __post_init__(self) -> None:
        """Raise ValueError or TypeError for options that cannot be."""
        check_choice(self.kind, "kind", ("auto", "similarity", "distance"))
        check_flags(cross_validated=self.cross_validated)
        check_integer(self.n_permutations, "n_permutations", minimum=0)
        check_integer(self.random_state, "random_state", minimum=0)
        check_level(self.confidence_level, "confidence_level")
        if self.set_sizes is not None:
            check_set_sizes(self.set_sizes)

    def pool_sizes(self, n_candidates: int) -> np.ndarray:
        """Return the sizes of pools for which accuracy is reported."""
        if self.set_sizes is not None:
            return np.unique(check_set_sizes(self.set_sizes))
        largest = CALIBRATED_FACTOR * n_candidates
        if n_candidates < FEWEST_CALIBRATED:
            largest = n_candidates
        return np.array([k for k in _USUAL_SIZES if k <= largest], dtype=int)

    def tested_size(self, n_candidates: int) -> int:
        """Return the number of candidates of the statistic that is tested."""
        return accuracy_set_size(self.statistic, n_candidates)


@takes_options(ScoreOptions)
def score_identification(
    scores: Any = None,
    targets: ArrayLike | None = None,
    *,
    decoded: Any = None,
    candidates: Any = None,
    **options: Any,
) -> ScoreIdentification:
    """Measure identification by the scores of any decoder for any candidates.

    A trial is identified among k candidates if its target has the best score of a
    random set of k that holds it. Retrieval calls that top-1 among k, and two-way
    identification for k = 2. Such figures depend on the pool; implied information, in
    bits, does not, so that decoders tested on 50, 200 or 982 candidates can be
    compared. Within the pool, accuracies are exact averages over all sets of k, ties
    counted as guesses; beyond it, they are predicted. Every target has one vote,
    however many trials it has. Scores may be changed by any increasing function, even
    another one in every trial (softmax, logarithm, ranks).

    All that is said about other pools, the curve beyond the pool,
    ``average_bayes_accuracy_bound`` and ``information_bound`` need candidates that are
    a random sample of what they stand for. ``bayes_accuracy_bound`` and
    ``class_information_bound`` speak of the candidates with trials only, and hold for
    chosen ones too. All bounds need trials that are independent of each other and of
    the training data, and scores that rest on one trial each.

    Parameters
    ----------
    scores : array-like or DataFrame of shape (n_trials, n_candidates), default=None
        Score of every trial for every candidate.
    targets : array-like of shape (n_trials,) or None, default=None
        Candidate of every trial: its name if candidates have names, otherwise its
        column, from 0. If None, the index of a data frame, or trial i belongs to
        candidate i. Candidates without trials are distractors only.
    decoded : array-like or DataFrame of shape (n_trials, n_features) or None
        Vectors that were decoded, instead of `scores`.
    candidates : array-like or DataFrame of shape (n_candidates, n_features) or None
        Vectors of the candidates, with `decoded`.

    Returns
    -------
    found : ScoreIdentification
        ``found.curve`` (DataFrame: set_size, accuracy, lower, upper, top_5, source),
        ``found.summary`` (one row for a paper), ``found.stimuli`` (one row for every
        candidate), ``found.findings`` and ``found.notes`` (what is doubtful),
        ``found.compare(other)``, ``found.generate_report()`` and
        ``found.to_directory(path)``.

    Raises
    ------
    TypeError
        If scores are no real numbers, or an option does not exist.
    ValueError
        If scores hold NaN or infinity, shapes disagree, targets are not among the
        candidates, names repeat, or an option is out of range.

    Warns
    -----
    UserWarning
        If something is doubtful: scores that are smaller for targets, targets that are
        off by one, candidates that nearly repeat one another.

    References
    ----------
    Zheng, Achanta & Benjamini 2018, JMLR 19, eq. 3 (the curve). Zheng & Benjamini 2016,
    arXiv:1606.05229 (implied information). Radovanovic, Nanopoulos & Ivanovic 2010,
    "Hubs in space", JMLR 11 (candidates that attract).

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> candidates = rng.normal(size=(300, 40))
    >>> decoded = candidates + 2 * rng.normal(size=(300, 40))
    >>> found = score_identification(
    ...     decoded=decoded, candidates=candidates, set_sizes=[50, 1000]
    ... )
    >>> found.pools[["set_size", "accuracy", "source"]].round(2)
       set_size  accuracy     source
    0        50      0.78   measured
    1       300      0.57   measured
    2      1000      0.43  predicted
    """
    chosen = as_options(ScoreOptions, score_identification, options)
    n_vectors = (decoded is not None) + (candidates is not None)
    if n_vectors != (2 if scores is None else 0):
        raise ValueError(
            "scores, or both decoded and candidates, must be given; got "
            f"{n_vectors} of the two matrices of vectors "
            f"{'without' if scores is None else 'beside'} scores"
        )
    if scores is not None:
        matrix = read_scores(scores, targets, chosen.names)
    else:
        vectors = decoded, candidates, targets, chosen.names
        matrix = score_vectors(*vectors, chosen.metric)
    chosen.tested_size(matrix.n_candidates)
    turned, matrix, findings = examine(matrix, chosen.kind)
    leader = near_duplicates(matrix)
    curve, left_out, values = _measure(matrix, chosen)
    values |= _bounds(matrix, chosen, turned=turned)
    values["p_value"], few = _exchange_test(matrix, chosen)
    values |= _distinct(matrix, leader)
    findings += (*duplicates_finding(values), *few)
    if chosen.cross_validated:
        findings += (doubt("trained_on_trials", 1.0),)
    tell(findings)
    return ScoreIdentification(
        curve=curve,
        values=values,
        ranks=matrix.ranks,
        leader=leader,
        names=matrix.names,
        left_out=left_out,
        findings=findings,
        options=replace(chosen, names=None, groups=chosen.groups is not None),
        is_named=matrix.is_named,
    )


def _measure(
    matrix: ScoreMatrix, chosen: ScoreOptions
) -> tuple[pd.DataFrame, FloatArray, dict[str, float]]:
    """Return the curve, its measured part without each candidate, and bits by name."""
    n_trials, n_candidates = matrix.scores.shape
    pools = chosen.pool_sizes(n_candidates)
    within, beyond = pools[pools <= n_candidates], pools[pools > n_candidates]
    usual = default_set_sizes(n_candidates)
    sizes = np.unique([*usual, *within, chosen.tested_size(n_candidates)])
    wins = matrix.ranks.wins
    accuracy = stats.average_accuracy(wins, sizes)
    best = stats.resolution_information(n_candidates, n_trials, usual)
    bits = stats.implied_information(accuracy[np.isin(sizes, usual)], usual)
    left_out, ends, bit_ends = _intervals(matrix, sizes, accuracy, chosen)
    curve = _curve(sizes, accuracy, ends, _top_5(wins, sizes), "measured")
    curve["confidence_level"] = chosen.confidence_level
    if len(beyond):
        curve = pd.concat([curve, _predicted(matrix, beyond)], ignore_index=True)
    values = zip(("", "_lower", "_upper"), (min(bits, best), *bit_ends), strict=True)
    return curve, left_out, {f"implied_information{e}": float(v) for e, v in values}


def _top_5(wins: FloatArray, sizes: np.ndarray) -> FloatArray:
    """Return the chance to be among the best five of random sets (n_sizes,)."""
    above = np.arange(len(wins))[::-1, np.newaxis]
    within = laws.hypergeom.cdf(_BEST - 1, len(wins) - 1, above, sizes - 1)
    return np.clip(wins @ within, 0, 1)


def _intervals(
    matrix: ScoreMatrix, sizes: np.ndarray, accuracy: FloatArray, chosen: ScoreOptions
) -> tuple[FloatArray, Any, Any]:
    """Return accuracies without each candidate, and intervals."""
    n_trials, n_candidates = matrix.scores.shape
    n_tested = int(np.count_nonzero(matrix.repeats))
    if n_candidates < 3 or n_tested < 2:
        unknown = np.full((n_candidates, len(sizes)), np.nan)
        return unknown, unknown[:2], unknown[:2, 0]
    classes = SampledClasses(n_trials, n_candidates, n_tested)
    inner, place = np.unique(np.minimum(sizes, n_candidates - 1), return_inverse=True)
    curves = leave_one_class_out_accuracy(matrix.scores, matrix.columns, inner)
    error = classes.error(curves[:, place], sizes)
    used = np.isin(sizes, default_set_sizes(n_candidates))
    of_bits = accuracy[used], curves[:, place[used]], sizes[used]
    bit_ends = classes.information_ends(*of_bits, chosen.confidence_level)
    ends = classes.accuracy_ends(accuracy, error, sizes, chosen.confidence_level)
    return curves[:, place], ends, bit_ends


def _curve(
    sizes: np.ndarray, accuracy: FloatArray, ends: Any, top_5: Any, source: str
) -> pd.DataFrame:
    """Tabulate a part of the curve."""
    columns = {"set_size": sizes, "accuracy": accuracy, "lower": ends[0]}
    columns |= {"upper": ends[1], "top_5": top_5, "chance": 1 / sizes, "source": source}
    return pd.DataFrame(columns)


def _predicted(matrix: ScoreMatrix, sizes: np.ndarray) -> pd.DataFrame:
    """Predict the accuracy in pools larger than the one at hand."""
    with warnings.catch_warnings():  # a finding says so, by a rule for any targets
        warnings.filterwarnings("ignore", "the true class beats another one")
        model = stats.AccuracyExtrapolator().fit(matrix.scores, matrix.columns)
        ends = model.predict_interval(sizes, _PREDICTED_LEVEL)
    curve = _curve(sizes, model.predict(sizes), ends, np.nan, "predicted")
    return curve.assign(confidence_level=_PREDICTED_LEVEL)


def _distinct(matrix: ScoreMatrix, leader: NDArray[np.intp]) -> dict[str, float]:
    """Return the share of near-duplicates, and the bits among distinct candidates."""
    share = (np.bincount(leader, minlength=len(leader)) > 1)[leader].mean()
    kept, bits = leader == np.arange(len(leader)), np.nan
    if kept.sum() > 1:
        wins = matrix.of_candidates(kept).ranks.wins
        sizes = default_set_sizes(len(wins))
        bits = stats.implied_information(stats.average_accuracy(wins, sizes), sizes)
    return {
        "near_duplicates": float(share),
        "implied_information_distinct": float(bits),
    }


def _bounds(
    matrix: ScoreMatrix, chosen: ScoreOptions, *, turned: bool
) -> dict[str, float]:
    """Return lower bounds by the candidates that have trials, NaN where none holds.

    If the sign of the scores was chosen by these trials, two decoders share the error.
    """
    tested = matrix.repeats > 0
    if chosen.cross_validated or tested.sum() < 2:
        return dict.fromkeys(_BOUNDS, np.nan)
    matrix = matrix.of_candidates(tested)
    ranks, level = matrix.ranks, chosen.confidence_level
    n_right = np.count_nonzero(ranks.beaten == matrix.n_candidates - 1)
    values = bound_statistics(
        ranks.wins[np.newaxis],
        n_repeats=matrix.repeats,
        confidence_level=(1 + level) / 2 if turned else level,
        n_best=np.array([n_right]),
    )
    return {name: float(values[name][0]) for name in _BOUNDS}


def _exchange_test(
    matrix: ScoreMatrix, chosen: ScoreOptions
) -> tuple[float, list[Finding]]:
    """Return the p-value by exchange of targets, and whether exchanges are few."""
    if not chosen.n_permutations or np.count_nonzero(matrix.repeats) < 2:
        return np.nan, []
    labelings, few = draw_labelings(
        matrix.columns, chosen.groups, None, chosen.n_permutations, chosen.random_state
    )
    every = np.concatenate([matrix.columns[np.newaxis], labelings])
    set_size = chosen.tested_size(matrix.n_candidates)
    accuracy = matrix.exchanged_accuracy(every, set_size)
    n_reached = np.count_nonzero(accuracy[1:] >= tie_floor(accuracy[0], 1.0))
    finding = few_exchanges(few and FewLabelings(few.n_others, 1, "pairings"))
    p_value = float(p_value_from_counts(n_reached, len(labelings)))
    return p_value, [] if finding is None else [finding]
