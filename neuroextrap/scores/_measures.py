"""The numbers of a matrix of scores: curve, bits, predictions, bounds, p-value."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats as laws

from neuroextrap import stats
from neuroextrap.design._findings import Finding
from neuroextrap.design._permutations import few_exchanges
from neuroextrap.maps._identification import bound_set_sizes, given_classes_bound
from neuroextrap.scores._matrix import ScoreMatrix
from neuroextrap.scores._options import ScoreOptions
from neuroextrap.scores._ranks import Ranks, exchanged_accuracy
from neuroextrap.stats._intervals import accuracy_ends, information_ends
from neuroextrap.stats._jackknife import (
    jackknife_error,
    leave_one_class_out_accuracy,
    lost_point_error,
)
from neuroextrap.stats._null_counts import tie_floor
from neuroextrap.stats._permutation import FewLabelings, draw_labelings
from neuroextrap.stats._pvalues import p_value_from_counts
from neuroextrap.stats._validation import FloatArray

EXTRAPOLATION_LEVEL = 0.9
"""Confidence level of predicted accuracies, at which their intervals are calibrated."""

_BEST = 5  # what "top-5" counts
_BOUNDS = (
    "average_bayes_accuracy_bound",
    "bayes_accuracy_bound",
    "class_information_bound",
    "information_bound",
)


def measure(
    matrix: ScoreMatrix, ranks: Ranks, chosen: ScoreOptions
) -> tuple[pd.DataFrame, tuple[np.ndarray, FloatArray], dict[str, float]]:
    """Return the curve, the curves without each candidate, and bits by name.

    The second are a pair of set sizes and an array (n_candidates, n_sizes), with no
    sizes where candidates are too few for a jackknife. A perfect curve has the largest
    number of bits that its trials resolve, and an interval without an upper end.
    """
    n_candidates, shape = matrix.n_candidates, matrix.scores.shape
    pools, usual = (
        chosen.pool_sizes(n_candidates),
        stats.default_set_sizes(n_candidates),
    )
    within = pools[pools <= n_candidates]
    sizes = np.unique([*usual, *within, chosen.tested_size(n_candidates)])
    used = np.isin(sizes, usual)
    accuracy = stats.average_accuracy(ranks.wins, sizes)
    best = stats.resolution_information(n_candidates, shape[0], usual)
    bits = min(stats.implied_information(accuracy[used], usual), best)
    inner, curves = np.empty(0, dtype=int), np.empty((n_candidates, 0))
    ends = np.full((2, len(sizes)), np.nan)
    bit_ends = np.full(2, np.nan)
    if n_candidates > 2 and len(np.unique(matrix.columns)) > 1:
        how: dict[str, Any] = {"shape": shape, "level": chosen.confidence_level}
        lesser = np.minimum(sizes, n_candidates - 1)
        inner, place = np.unique(lesser, return_inverse=True)
        curves = leave_one_class_out_accuracy(matrix.scores, matrix.columns, inner)
        least = lost_point_error(sizes, n_candidates, shape[0])
        error = np.maximum(jackknife_error(curves)[place], least)
        ends = accuracy_ends(accuracy, error, sizes, **how)
        smaller = curves[:, np.isin(inner, lesser[used])]
        bit_ends = information_ends(accuracy[used], smaller, usual, **how)
    curve = _curve(sizes, accuracy, ends, _top(ranks.wins, sizes), "measured")
    curve["confidence_level"] = chosen.confidence_level
    beyond = pools[pools > n_candidates]
    if len(beyond):
        curve = pd.concat([curve, _predicted(matrix, beyond)], ignore_index=True)
    named = zip(("", "_lower", "_upper"), (bits, *bit_ends), strict=True)
    bits = {f"implied_information{name}": float(value) for name, value in named}
    return curve, (inner, curves), bits


def _curve(
    sizes: np.ndarray, accuracy: FloatArray, ends: Any, top_5: Any, source: str
) -> pd.DataFrame:
    """Tabulate a part of the curve."""
    columns = {"set_size": sizes, "accuracy": accuracy, "lower": ends[0]}
    columns |= {"upper": ends[1], "top_5": top_5, "chance": 1 / sizes, "source": source}
    return pd.DataFrame(columns)


def _top(wins: FloatArray, sizes: np.ndarray) -> FloatArray:
    """Return the chance of the target to be among the best five of random sets."""
    n_others = len(wins) - 1
    above = np.arange(n_others, -1, -1)[:, np.newaxis]
    within = laws.hypergeom.cdf(_BEST - 1, n_others, above, sizes - 1)
    return np.asarray(np.clip(wins @ within, 0, 1))


def _predicted(matrix: ScoreMatrix, sizes: np.ndarray) -> pd.DataFrame:
    """Predict the accuracy in pools larger than the one at hand."""
    with warnings.catch_warnings():  # a finding says so, by a rule for any targets
        warnings.filterwarnings("ignore", "the true class beats another one")
        model = stats.AccuracyExtrapolator().fit(matrix.scores, matrix.columns)
        ends = model.predict_interval(sizes, EXTRAPOLATION_LEVEL)
    curve = _curve(sizes, model.predict(sizes), ends, np.nan, "predicted")
    return curve.assign(confidence_level=EXTRAPOLATION_LEVEL)


def distinct_bits(matrix: ScoreMatrix, leader: np.ndarray) -> dict[str, float]:
    """Return the share of near-duplicates, and the bits among distinct candidates."""
    share = float((np.bincount(leader, minlength=len(leader)) > 1)[leader].mean())
    kept = leader == np.arange(len(leader))
    bits = np.nan
    if kept.sum() > 1:
        wins = Ranks.of(matrix if kept.all() else matrix.of_candidates(kept)).wins
        sizes = stats.default_set_sizes(len(wins))
        accuracy = stats.average_accuracy(wins, sizes)
        bits = float(stats.implied_information(accuracy, sizes))
    return {"near_duplicates": share, "implied_information_distinct": bits}


def bounds(
    matrix: ScoreMatrix, chosen: ScoreOptions, *, turned: bool
) -> dict[str, float]:
    """Return lower bounds by the candidates that have trials, NaN where none holds.

    If the sign of the scores was chosen by these trials, they count as two decoders.
    """
    tested = matrix.repeats > 0
    if chosen.cross_validated or tested.sum() < 2:
        return dict.fromkeys(_BOUNDS, np.nan)
    matrix = matrix if tested.all() else matrix.of_candidates(tested)
    ranks, n_tested = Ranks.of(matrix), matrix.n_candidates
    design = stats.TestDesign(
        n_tested,
        matrix.repeats,
        confidence_level=chosen.confidence_level,
        n_models=2 if turned else 1,
    )
    sizes = bound_set_sizes(n_tested)
    curve = stats.average_accuracy(ranks.wins, sizes)
    n_right = np.count_nonzero(ranks.beaten == n_tested - 1)
    given = given_classes_bound(curve[-1], design, n_right)
    values = (
        design.average_bayes_accuracy_bound(curve[-1], n_tested),
        given,
        design.class_information_bound(given),
        design.best_information_bound(curve, sizes),
    )
    return {name: float(value) for name, value in zip(_BOUNDS, values, strict=True)}


def exchange_test(
    matrix: ScoreMatrix, chosen: ScoreOptions
) -> tuple[float, Finding | None]:
    """Return the p-value by exchange of targets, and whether exchanges are few."""
    if not chosen.n_permutations:
        return np.nan, None
    labelings, few = draw_labelings(
        matrix.columns, chosen.groups, None, chosen.n_permutations, chosen.random_state
    )
    every = np.concatenate([matrix.columns[np.newaxis], labelings])
    set_size = chosen.tested_size(matrix.n_candidates)
    accuracy = exchanged_accuracy(matrix, every, set_size)
    n_reached = np.count_nonzero(accuracy[1:] >= tie_floor(accuracy[0], 1.0))
    if few is not None:
        few = few_exchanges(FewLabelings(few.n_others, 1, "pairings"))
    return float(p_value_from_counts(n_reached, len(labelings))), few
