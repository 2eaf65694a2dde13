"""Identification by any matrix of scores: curve, bits, bounds, p, and what to doubt."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from neuroextrap.design._findings import P_VALUES, Finding, tell
from neuroextrap.scores._matrix import ScoreMatrix, read_scores, score_vectors
from neuroextrap.scores._measures import bounds, distinct_bits, exchange_test, measure
from neuroextrap.scores._options import ScoreOptions
from neuroextrap.scores._pool import (
    duplicates_finding,
    examine_scores,
    find_direction,
    near_duplicates,
)
from neuroextrap.scores._ranks import Ranks
from neuroextrap.scores._result import ScoreIdentification
from neuroextrap.stats._shared_options import as_options, takes_options

_TRAINED_ON_TRIALS = Finding(
    "trained_on_trials",
    "note",
    1.0,
    P_VALUES,
    "trials that are tested trained the decoder of other trials",
    "p-values are approximate and no lower bound holds",
    "train on other data, or permute before training",
)


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
    chosen.check()
    matrix = _read(scores, targets, decoded, candidates, chosen)
    chosen.tested_size(matrix.n_candidates)
    if chosen.kind == "distance":
        matrix = matrix.negative()
    ranks = Ranks.of(matrix)
    turned, found = find_direction(ranks, chosen.kind)
    if turned:
        matrix = matrix.negative()
        ranks = Ranks.of(matrix)
    leader = near_duplicates(matrix)
    curve, left_out, values = measure(matrix, ranks, chosen)
    values |= bounds(matrix, chosen, turned=turned)
    values["p_value"], few = exchange_test(matrix, chosen)
    values |= distinct_bits(matrix, leader)
    found += [*examine_scores(matrix, ranks), duplicates_finding(values), few]
    if chosen.cross_validated:
        found.append(_TRAINED_ON_TRIALS)
    findings = tuple(finding for finding in found if finding is not None)
    tell(findings)
    names = matrix.names
    if names is None:
        names = np.arange(matrix.n_candidates).astype(str)
    return ScoreIdentification(
        curve=curve,
        values=values,
        ranks=ranks,
        leader=leader,
        names=names,
        left_out=left_out,
        findings=findings,
        options=replace(chosen, names=None, groups=chosen.groups is not None),
        is_named=matrix.names is not None,
    )


def _read(
    scores: Any, targets: Any, decoded: Any, candidates: Any, chosen: ScoreOptions
) -> ScoreMatrix:
    """Return the matrix of what was given: scores, or two matrices of vectors."""
    n_vectors = (decoded is not None) + (candidates is not None)
    if n_vectors != (2 if scores is None else 0):
        raise ValueError(
            "scores, or both decoded and candidates, must be given; got "
            f"{n_vectors} of the two matrices of vectors "
            f"{'without' if scores is None else 'beside'} scores"
        )
    if scores is not None:
        return read_scores(scores, targets, chosen.names)
    return score_vectors(decoded, candidates, targets, chosen.names, chosen.metric)
