"""What is doubtful about scores and their pool of candidates, as findings."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import special
from scipy.stats import rankdata

from neuroextrap.design._findings import BOUNDS, EVERYTHING, Finding
from neuroextrap.scores._matrix import ScoreMatrix
from neuroextrap.scores._ranks import Ranks, row_blocks

ALIKE = 0.98
"""Correlation over trials from which two candidates are near-duplicates."""

_FEWEST_TRIALS, _MOST_TRIALS = 20, 512
_SURE = 1e-4  # chance that a guess is so far from one half
_MANY = 0.05  # share of candidates or trials
_ALL = ("accuracy*", "implied_information*", "p_value", *BOUNDS)


def pairwise_z(ranks: Ranks) -> tuple[float, float]:
    """Return the mean pairwise accuracy, and its distance from guessing in errors.

    Each trial counts as a guess by itself if all candidates are targets. Otherwise only
    each target does: some candidates have larger scores than others in all trials.
    """
    n_candidates = ranks.n_candidates
    accuracy = ranks.wins @ np.arange(n_candidates) / (n_candidates - 1)
    repeats = np.bincount(ranks.columns, minlength=n_candidates)
    tested = repeats > 0
    each = 1 / repeats[tested] if tested.all() else np.ones(tested.sum())
    error = np.sqrt((n_candidates + 1) / (12 * (n_candidates - 1)) * each.mean())
    return float(accuracy), float((accuracy - 0.5) / error * np.sqrt(len(each)))


def find_direction(ranks: Ranks, kind: str) -> tuple[bool, list[Finding | None]]:
    """Say whether to take the scores as distances, and what makes that doubtful.

    They are if targets come last so often that no guess explains it: a pairwise
    accuracy below one quarter. One that is below chance, but less, is a doubt only.
    """
    accuracy, z = pairwise_z(ranks)
    if z > special.ndtri(_SURE):
        return False, []
    turned = kind == "auto" and accuracy < 0.25
    effect = "accuracies and information are those of the worst choices"
    if turned:
        effect = "smaller scores are taken to be more alike, as of distances or ranks"
    finding = Finding(
        "reversed_scores",
        "doubtful",
        accuracy,
        EVERYTHING,
        f"the target scores above another candidate in {accuracy:.3f} of pairs",
        effect,
        "say which by kind='distance' or kind='similarity' (--kind)",
    )
    return turned, [finding]


def examine_scores(matrix: ScoreMatrix, ranks: Ranks) -> list[Finding | None]:
    """Look for mistakes in how scores were made or are given."""
    found = [_shift(matrix, ranks), _normalized(matrix), _symmetric(matrix)]
    return [*found, _ties(ranks), _hubs(ranks)]


def _shift(matrix: ScoreMatrix, ranks: Ranks) -> Finding | None:
    """Find targets that fit far better when all of them move by one column."""
    if abs(pairwise_z(ranks)[1]) > -special.ndtri(_SURE):
        return None
    for step in (-1, 1):
        moved = (matrix.columns + step) % matrix.n_candidates
        accuracy, z = pairwise_z(Ranks.of(ScoreMatrix(matrix.scores, moved)))
        if z > -special.ndtri(_SURE**2):
            return Finding(
                "shifted_targets",
                "doubtful",
                accuracy,
                EVERYTHING,
                f"targets are at chance, and those {-step:+d} column away are not "
                f"(pairwise accuracy {accuracy:.3f})",
                "the numbers of targets seem to be off by one",
                "count columns from 0, or give names",
            )
    return None


def _normalized(matrix: ScoreMatrix) -> Finding | None:
    """Find scores whose columns, not rows, sum to one or to nothing."""
    scores = matrix.scores
    scale = np.mean([np.abs(row).mean() for row in scores]) or 1.0
    for level in (1.0, 0.0):
        close = 1e-3 * (level or scale * np.sqrt(len(scores)))
        by_column = np.abs(scores.sum(axis=0, dtype=float) - level).max() < close
        by_row = np.abs(scores.sum(axis=1, dtype=float) - level).max() < close
        if by_column and not by_row:
            return Finding(
                "normalized_columns",
                "doubtful",
                level,
                _ALL,
                f"the scores of every candidate sum to {level:g} over trials",
                "rows may not be trials, and a trial's scores rest on other trials",
                "give scores.T if rows are candidates, else normalize by training data",
            )
    return None


def _symmetric(matrix: ScoreMatrix) -> Finding | None:
    """Find candidates that were scored against themselves."""
    scores, n_candidates = matrix.scores, matrix.n_candidates
    if not np.array_equal(matrix.columns, np.arange(n_candidates)):
        return None
    own, first = np.diag(scores), scores[:_MOST_TRIALS]
    mirrored = np.allclose(first, scores[:, : len(first)].T)
    if n_candidates < 3 or not np.allclose(own, own[0]) or not mirrored:
        return None
    return Finding(
        "symmetric_scores",
        "doubtful",
        float(own[0]),
        EVERYTHING,
        "the scores are symmetric with one value on the diagonal",
        "candidates seem to be compared with themselves, not with what was decoded",
        "score decoded vectors for candidates",
    )


def _ties(ranks: Ranks) -> Finding | None:
    """Find many targets that tie with a distractor."""
    share = float((ranks.tied > 0).mean())
    if share <= _MANY:
        return None
    return Finding(
        "tied_scores",
        "note",
        share,
        _ALL,
        f"{share:.0%} of the targets tie with another candidate",
        "each tie counts as guessing among those tied",
        "give scores with more digits, or logits instead of probabilities",
    )


def find_hubs(ranks: Ranks) -> NDArray[np.bool_]:
    """Return which candidates (n_candidates,) attract far more trials than others.

    These are wrong first choices five times as often as the mean, and oftener than
    equal chances allow (Poisson, corrected for the number of candidates).
    """
    mean = ranks.attracted.mean()
    chance = special.gammainc(np.maximum(np.floor(ranks.attracted), 1), max(mean, 1e-9))
    often = (ranks.attracted > max(5 * mean, 1)) & (chance < 0.05 / ranks.n_candidates)
    return np.asarray(often)


def _hubs(ranks: Ranks) -> Finding | None:
    """Find candidates that attract the trials of others."""
    hubs = find_hubs(ranks)
    share = float(ranks.attracted[hubs].sum() / len(ranks.tied))
    if share <= _MANY / 2:
        return None
    return Finding(
        "hubs",
        "note",
        share,
        _ALL,
        f"{hubs.sum()} of {len(hubs)} candidates attract {share:.0%} of the trials, "
        "none of them their own",
        "accuracy and bits are lower than without such hubs",
        "center decoded vectors by the mean of the training data",
    )


def near_duplicates(matrix: ScoreMatrix) -> NDArray[np.intp]:
    """Return for every candidate (n_candidates,) the one that it nearly repeats.

    A candidate stands for itself and for all later ones whose ranks correlate with its
    own by at least `ALIKE` over trials (at most some hundreds, spread evenly), unless
    an earlier one stands for them; tested ones come first.
    """
    n_trials, n_candidates = matrix.scores.shape
    leader = np.arange(n_candidates)
    if n_trials < _FEWEST_TRIALS or n_candidates < 3:
        return leader
    rows = np.unique(np.linspace(0, n_trials - 1, _MOST_TRIALS).astype(int))
    columns = rankdata(matrix.scores[rows], axis=1).T
    columns -= columns.mean(axis=1, keepdims=True)
    length = np.linalg.norm(columns, axis=1, keepdims=True)
    np.divide(columns, length, columns, where=length > 0)
    columns = columns.astype(np.float32)
    alike = np.empty((n_candidates, n_candidates), dtype=bool)
    for block in row_blocks(alike.shape):
        alike[block] = columns[block] @ columns.T >= ALIKE
    free = np.ones(n_candidates, dtype=bool)
    for candidate in np.argsort(matrix.repeats == 0, kind="stable"):
        if free[candidate]:
            followers = alike[candidate] & free
            followers[candidate] = True
            leader[followers], free[followers] = candidate, False
    return leader


def duplicates_finding(values: dict[str, float]) -> Finding | None:
    """Say how many candidates have near-duplicates, and what these do to the bits."""
    share = values["near_duplicates"]
    if share == 0:
        return None
    bits, without = (
        values["implied_information"],
        values["implied_information_distinct"],
    )
    return Finding(
        "near_duplicates",
        "doubtful" if share > _MANY else "note",
        share,
        ("accuracy*", "implied_information*", *BOUNDS),
        f"{share:.1%} of the candidates have a near-duplicate in the pool",
        f"its scores hardly tell them apart ({bits:.2f} bits, {without:.2f} without "
        "near-duplicates), and pools of another make are not predicted",
        "draw candidates at random, or keep one of each",
    )
