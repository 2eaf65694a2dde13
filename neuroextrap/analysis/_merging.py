"""Parts (shards) of one run: what is missing, what belongs together, the whole."""

import math
from dataclasses import fields, replace

import numpy as np

from neuroextrap.margins.running._checkpoint import differing
from neuroextrap.stats._null_counts import LargestValues

_MOST_PARTS = 10**6
_NOT_OF_REGIONS = {"maxima", "largest", "null", "done"}


def missing_parts(parts):
    """Return the parts "i/N" that are needed beside `parts`, pairs (i, N), as a list.

    Part i of N has the tasks i, i + N, ..., as parts of a common multiple.
    """
    n_parts = _common(parts)
    held = _held(parts, n_parts)
    return [f"{i}/{n_parts}" for i in range(1, n_parts + 1) if i not in held]


def partial_note(results):
    """Return notes for a reader about results without all parts, 0 or 1 texts."""
    missing = results.missing_parts
    if not missing:
        return ()
    n_done, n_regions = int(results.scores.done.sum()), len(results.scores.done)
    return (
        f"partial result: {n_done} of {n_regions} regions are in it, the run lacks "
        f"{_listed(missing)}; family-wise and false-discovery-rate p-values and "
        "simultaneous bounds hold over these regions only",
    )


def join_parts(parts, *, allow_missing=False):
    """Join RegionResults of parts; ValueError if they do not match or some miss."""
    whole, *others = parts
    for other in others:
        whole = _joined(whole, other)
    if whole.missing_parts and not allow_missing:
        raise ValueError(
            f"parts {', '.join(whole.missing_parts)} are missing; merge all parts, or "
            "set allow_missing=True (--allow-missing) for a partial result"
        )
    return whole


def _joined(one, two):
    """Join two results."""
    _check_same_run(one, two)
    twice = int((one.scores.done & two.scores.done).sum())
    n_parts = _common([*one.parts, *two.parts])
    shared = _held(one.parts, n_parts) & _held(two.parts, n_parts)
    if twice or shared:
        listed = _listed([f"{i}/{n_parts}" for i in sorted(shared)])
        raise ValueError(
            f"{twice} regions ({listed}) are in more than one part; merge each part "
            "once"
        )
    parts = tuple(sorted((*one.parts, *two.parts)))
    return replace(
        one,
        scores=_joined_scores(one.scores, two.scores),
        parts=parts if missing_parts(parts) else ((1, 1),),
        fold_wins=_picked(two.scores.done, one.fold_wins, two.fold_wins, axis=1),
    )


def _joined_scores(one, two):
    """Join RegionScores."""
    names = {field.name for field in fields(one)} - _NOT_OF_REGIONS
    picked = {
        name: _picked(
            two.done, getattr(one, name), getattr(two, name), name == "weighted_wins"
        )
        for name in names
    }
    largest = None
    if one.largest is not None and two.largest is not None:
        joined = LargestValues(one.largest, one.largest.shape[1])
        joined.join(two.largest)
        largest = joined.ordered()
    maxima, done = np.maximum(one.maxima, two.maxima), one.done | two.done
    return replace(one, **picked, maxima=maxima, largest=largest, null=None, done=done)


def _picked(pick, one, two, axis=0):
    """Return `two` where `pick` is True along the axis of regions, or None."""
    if one is None or two is None:
        return None
    shape = [1] * one.ndim
    shape[axis] = -1
    return np.where(pick.reshape(shape), two, one)


def _check_same_run(first, second):
    """Raise unless two results are of one run, and hold the same kinds of arrays."""
    other = differing(first.identity, second.identity)
    shapes = [
        (part.scores.wins.shape, part.scores.maxima.shape) for part in (first, second)
    ]
    if not other and shapes[0] != shapes[1]:
        other = ["regions, classes or permutations"]
    if not other:  # arrays that only one of them has
        other = sorted((_lacking(first) ^ _lacking(second)) - {"fold_wins"})
    if other:
        raise ValueError(
            f"parts to be merged are of different runs: other {', '.join(other)}; "
            "merge the parts of one run only"
        )


def _lacking(results):
    """Return the names of the fields that are None."""
    return {f.name for f in fields(results) if getattr(results, f.name) is None}


def _common(parts):
    """Return a number of parts in which all parts can be counted."""
    n_parts = math.lcm(*(n for _, n in parts))
    if n_parts > _MOST_PARTS:
        raise ValueError(
            f"parts of {sorted({n for _, n in parts})} cannot be merged with one "
            "another; split a run into one number of parts"
        )
    return n_parts


def _held(parts, n_parts):
    """Return what parts (i, N) are among `n_parts` parts, numbers from 1."""
    return {k for i, n in parts for k in range(i, n_parts + 1, n)}


def _listed(parts, most=8):
    """Return parts as words, not too many."""
    if not parts:
        return "no part"
    more = f" and {len(parts) - most} more" if len(parts) > most else ""
    return f"{'part' if len(parts) == 1 else 'parts'} {', '.join(parts[:most])}{more}"
