"""What is doubtful about scores, their trials and their candidates, as findings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy import special
from scipy.stats import rankdata

from neuroextrap.design._findings import BOUNDS, EVERYTHING, P_VALUES, Finding
from neuroextrap.scores._reading import Ranks, ScoreMatrix
from neuroextrap.stats._pvalues import LEVEL

_ALIKE = 0.98  # correlation over trials from which candidates are near-duplicates
_FEWEST_TRIALS, _MOST_TRIALS = 20, 512
_FEWEST_UNTIED = 10  # different scores of trials that may be copies of one another
_SURE = 1e-4  # chance that a guess is so far from one half
_MANY = 0.05  # share of candidates or trials
_ALL = ("accuracy*", "implied_information*", "p_value", *BOUNDS)
_TURNED = "smaller scores are taken to be more alike, as of distances or ranks"


_TEXTS = {
    "reversed_scores": (
        "doubtful",
        EVERYTHING,
        "the target scores above another candidate in {:.3f} of pairs",
        "accuracies and information are those of the worst choices",
        "say which by kind='distance' or kind='similarity' (--kind)",
    ),
    "shifted_targets": (
        "doubtful",
        EVERYTHING,
        "targets are at chance, and those {1:+d} column away are not (pairwise "
        "accuracy {0:.3f})",
        "the numbers of targets seem to be off by one",
        "count columns from 0, or give names",
    ),
    "normalized_columns": (
        "doubtful",
        _ALL,
        "the scores of every candidate sum to {:g} over trials",
        "rows may not be trials, and a trial's scores rest on other trials",
        "give scores.T if rows are candidates, else normalize by training data",
    ),
    "symmetric_scores": (
        "doubtful",
        EVERYTHING,
        "the scores are symmetric with one value on the diagonal",
        "candidates seem to be compared with themselves, not with what was decoded",
        "score decoded vectors for candidates",
    ),
    "repeated_trials": (
        "doubtful",
        EVERYTHING,
        "{:.1%} of the trials have all the scores of an earlier one",
        "p-values are too small and lower bounds too large",
        "give every trial once, not the copies that trained a decoder",
    ),
    "few_targets": (
        "note",
        _ALL,
        "trials test {} of {} candidates",
        "there is no interval, and with one target no bound and no p-value",
        "test at least two targets among three candidates",
    ),
    "tied_scores": (
        "note",
        _ALL,
        "{:.0%} of the targets tie with another candidate",
        "each tie counts as guessing among those tied",
        "give scores with more digits, or logits instead of probabilities",
    ),
    "hubs": (
        "note",
        _ALL,
        "{1} of {2} candidates attract {0:.0%} of the trials, none of them their own",
        "accuracy and bits are lower than without such hubs",
        "center decoded vectors by the mean of the training data",
    ),
    "near_duplicates": (
        "note",
        ("accuracy*", "implied_information*", *BOUNDS),
        "{:.1%} of the candidates have a near-duplicate in the pool",
        "its scores hardly tell them apart ({1:.2f} bits, {2:.2f} without "
        "near-duplicates), and pools of another make are not predicted",
        "draw candidates at random, or keep one of each",
    ),
    "trained_on_trials": (
        "note",
        P_VALUES,
        "trials that are tested trained the decoder of other trials",
        "p-values are approximate and no lower bound holds",
        "train on other data, or permute before training",
    ),
    "different_pools": (
        "doubtful",
        EVERYTHING,
        "the decoders were tested on different targets or candidates ({} candidates "
        "are shared)",
        "bits may be compared if both pools are random samples of the same kind of "
        "stimuli, and accuracies then among equally many",
        "restrict both to shared trials and candidates for a paired test",
    ),
}
"""Grade, maps touched, what was seen, its effect and the remedy, by name."""


def doubt(name: str, seen: float, *more: float) -> Finding:
    """Return the Finding of this name, with the numbers that were seen in words."""
    grade, maps, because, effect, remedy = _TEXTS[name]
    because, effect = because.format(seen, *more), effect.format(seen, *more)
    return Finding(name, grade, seen, maps, because, effect, remedy)


def pairwise_z(ranks: Ranks) -> tuple[float, float]:
    """Return the mean pairwise accuracy, and its distance from guessing in errors.

    Each trial counts as a guess by itself only if all candidates are targets: some may
    have larger scores than others in all trials.
    """
    n_candidates = len(ranks.attracted)
    accuracy = ranks.wins @ np.arange(n_candidates) / (n_candidates - 1)
    repeats = np.bincount(ranks.columns, minlength=n_candidates)
    tested = repeats > 0
    each = 1 / repeats[tested] if tested.all() else np.ones(tested.sum())
    error = np.sqrt((n_candidates + 1) / (12 * (n_candidates - 1)) * each.mean())
    return float(accuracy), float((accuracy - 0.5) / error * np.sqrt(len(each)))


def examine(
    matrix: ScoreMatrix, kind: str
) -> tuple[bool, ScoreMatrix, tuple[Finding, ...]]:
    """Return whether scores were turned around, the matrix, and what is doubtful.

    With `kind` "auto" that is where targets come last too often for a guess.
    """
    if kind == "distance":
        matrix = matrix.negative()
    accuracy, z = pairwise_z(matrix.ranks)
    turned = kind == "auto" and accuracy < 0.25 and z < special.ndtri(_SURE)
    findings = []
    if z < special.ndtri(_SURE):
        reversed_ = doubt("reversed_scores", accuracy)
        findings.append(reversed_._replace(effect=_TURNED) if turned else reversed_)
    matrix = matrix.negative() if turned else matrix
    for look in (_shifted, _normalized, _symmetric, _repeated, _few_or_tied, _hubs):
        findings += look(matrix)
    return turned, matrix, tuple(findings)


def _shifted(matrix: ScoreMatrix) -> Iterator[Finding]:
    """Find targets that fit far better when all of them move by one column."""
    if abs(pairwise_z(matrix.ranks)[1]) > -special.ndtri(_SURE):
        return
    for step in (-1, 1):
        columns = (matrix.columns + step) % matrix.n_candidates
        accuracy, z = pairwise_z(replace(matrix, columns=columns).ranks)
        if z > -special.ndtri(_SURE**2):
            yield doubt("shifted_targets", accuracy, -step)


def _normalized(matrix: ScoreMatrix) -> Iterator[Finding]:
    """Find scores whose columns, not rows, sum to one or to nothing."""
    scores = matrix.scores
    scale = np.mean([np.abs(row).mean() for row in scores]) or 1.0
    by_column, by_row = (scores.sum(axis=axis, dtype=float) for axis in (0, 1))
    for level in (1.0, 0.0):
        close = 1e-3 * (level or scale * np.sqrt(len(scores)))
        columns, rows = (
            np.abs(sums - level).max() < close for sums in (by_column, by_row)
        )
        if columns and not rows:
            yield doubt("normalized_columns", level)


def _symmetric(matrix: ScoreMatrix) -> Iterator[Finding]:
    """Find candidates that were scored against themselves."""
    scores, n_candidates = matrix.scores, matrix.n_candidates
    counted = np.array_equal(matrix.columns, np.arange(n_candidates))
    if not counted or n_candidates < 3 or matrix.ranks.tied.all():
        return
    own, first = np.diag(scores), scores[:_MOST_TRIALS]
    if np.allclose(own, own[0]) and np.allclose(first, scores[:, : len(first)].T):
        yield doubt("symmetric_scores", float(own[0]))


def _repeated(matrix: ScoreMatrix) -> Iterator[Finding]:
    """Find trials of one target with the same scores, as long as these hardly tie."""
    several = np.flatnonzero(matrix.repeats[matrix.columns] > 1)
    copies = Counter[int]()
    for row in several.tolist():
        key = hash((int(matrix.columns[row]), matrix.scores[row].tobytes()))
        copies[key] += 1
        if copies[key] == 2 and len(np.unique(matrix.scores[row])) < _FEWEST_UNTIED:
            return
    n_copies = copies.total() - len(copies)
    if n_copies:
        yield doubt("repeated_trials", n_copies / len(matrix.columns))


def _few_or_tied(matrix: ScoreMatrix) -> Iterator[Finding]:
    """Find too few targets or candidates for an interval, and ties with distractors."""
    n_targets = int(np.count_nonzero(matrix.repeats))
    if n_targets < 2 or matrix.n_candidates < 3:
        yield doubt("few_targets", n_targets, matrix.n_candidates)
    share = float((matrix.ranks.tied > 0).mean())
    if share > _MANY:
        yield doubt("tied_scores", share)


def _hubs(matrix: ScoreMatrix) -> Iterator[Finding]:
    """Find candidates that attract too many trials of others for equal chances.

    That is five times as many as the mean, and more than a Poisson law allows.
    """
    attracted = matrix.ranks.attracted
    mean = attracted.mean()
    chance = special.gammainc(np.maximum(np.floor(attracted), 1), max(mean, 1e-9))
    hubs = (attracted > max(5 * mean, 1)) & (chance < LEVEL / len(attracted))
    share = float(attracted[hubs].sum() / len(matrix.columns))
    if share > _MANY / 2:
        yield doubt("hubs", share, hubs.sum(), len(hubs))


def near_duplicates(matrix: ScoreMatrix) -> NDArray[np.intp]:
    """Return for every candidate (n_candidates,) the one that it nearly repeats.

    That is the first whose ranks correlate with its own by at least .98 over trials
    (at most some hundreds, spread evenly); tested ones come first.
    """
    n_trials, n_candidates = matrix.scores.shape
    leader = np.arange(n_candidates)
    if n_trials < _FEWEST_TRIALS or n_candidates < 3:
        return leader
    rows = np.unique(np.linspace(0, n_trials - 1, _MOST_TRIALS).astype(int))
    ranks = rankdata(matrix.scores[rows], axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):  # of constant candidates
        alike = np.corrcoef(ranks, rowvar=False, dtype=np.float32) >= _ALIKE
    free = np.ones(n_candidates, dtype=bool)
    for candidate in np.argsort(matrix.repeats == 0, kind="stable"):
        if free[candidate]:
            followers = alike[candidate] & free
            followers[candidate] = True
            leader[followers], free[followers] = candidate, False
    return leader


def duplicates_finding(values: dict[str, float]) -> Iterator[Finding]:
    """Say how many candidates have near-duplicates, and what these do to the bits."""
    share = values["near_duplicates"]
    bits = [values[f"implied_information{end}"] for end in ("", "_distinct")]
    if share > 0:
        grade = "doubtful" if share > _MANY else "note"
        yield doubt("near_duplicates", share, *bits)._replace(grade=grade)
