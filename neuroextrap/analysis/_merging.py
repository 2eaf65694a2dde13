"""Parts (shards) of one run: what is missing, what belongs together, the whole."""

import math
from dataclasses import fields, replace

import numpy as np

from neuroextrap.margins.running._checkpoint import differing
from neuroextrap.stats._null_counts import LargestValues

# axis of the regions in the arrays of scores; other arrays of results name theirs in
# the metadata of their field ("region_axis")
_SCORES_AXES = {
    "wins": 0,
    "weighted_wins": 1,
    "score": 0,
    "n_reached": 0,
    "n_best": 0,
    "n_correct": 0,
    "forward_wins": 0,
    "measured": 0,
    "correlation": 0,
}
_MOST_PARTS = 10**6


def missing_parts(parts):
    """Return the parts "i/N" that are needed beside `parts`, pairs (i, N), as a list.

    Part i of N has the tasks i, i + N, i + 2 N, ..., so parts of different N are parts
    of the least common multiple.
    """
    n_parts = _common(parts)
    held = {number for part in parts for number in _numbers(part, n_parts)}
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


def join_parts(parts):
    """Join RegionResults of parts of one run; see :meth:`RegionResults.merge`."""
    whole, *others = parts
    for other in others:
        whole = _joined(whole, other)
    return whole


def _joined(first, second):
    """Join two results."""
    _check_same_run(first, second)
    one, two = first.scores, second.scores
    twice = int((one.done & two.done).sum())
    shared = _shared_parts(first.parts, second.parts)
    if twice or shared:
        raise ValueError(
            f"{twice} regions ({_listed(shared)}) are in more than one part; merge "
            "each part once"
        )
    pick = two.done
    scores = replace(
        one,
        **{
            name: _picked(pick, getattr(one, name), getattr(two, name), axis)
            for name, axis in _SCORES_AXES.items()
        },
        maxima=np.maximum(one.maxima, two.maxima),
        largest=_joined_largest(one.largest, two.largest),
        null=None,
        done=one.done | pick,
    )
    parts = tuple(sorted((*first.parts, *second.parts)))
    return replace(
        first,
        scores=scores,
        parts=parts if missing_parts(parts) else ((1, 1),),
        **_joined_fields(first, second, pick),
    )


def _joined_largest(one, two):
    """Join the largest values of permuted maps; None if a part has none."""
    if one is None or two is None:
        return None
    joined = LargestValues(one, one.shape[1])
    joined.join(two)
    return joined.ordered()


def _joined_fields(first, second, pick):
    """Join the arrays of results that have a value for every region."""
    joined = {}
    for field in fields(first):
        if "region_axis" not in field.metadata:
            continue
        one, two = getattr(first, field.name), getattr(second, field.name)
        joined[field.name] = _picked(pick, one, two, field.metadata["region_axis"])
    return joined


def _picked(pick, one, two, axis):
    """Return `two` where `pick` (n_regions,) is True along an axis, else `one`.

    None if a part has no such array.
    """
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
    if not other:
        other = _unlike_arrays(first, second)
    if other:
        raise ValueError(
            f"parts to be merged are of different runs: other {', '.join(other)}; "
            "merge the parts of one run only"
        )


def _unlike_arrays(first, second):
    """Return the names of saved arrays that only one of two results has."""
    return [
        field.name
        for field in fields(first)
        if field.name not in ("fold_wins",)
        and (getattr(first, field.name) is None)
        != (getattr(second, field.name) is None)
    ]


def _common(parts):
    """Return a number of parts in which all parts can be counted."""
    n_parts = math.lcm(*(n for _, n in parts))
    if n_parts > _MOST_PARTS:
        raise ValueError(
            f"parts of {sorted({n for _, n in parts})} cannot be merged with one "
            "another; split a run into one number of parts"
        )
    return n_parts


def _numbers(part, n_parts):
    """Return what part (i, N) is among `n_parts` parts, numbers from 1."""
    return range(part[0], n_parts + 1, part[1])


def _shared_parts(first, second):
    """Return the parts "i/N" that two lists of parts have in common."""
    n_parts = _common([*first, *second])
    one, two = (
        {number for part in parts for number in _numbers(part, n_parts)}
        for parts in (first, second)
    )
    return [f"{i}/{n_parts}" for i in sorted(one & two)]


def _listed(parts, most=8):
    """Return parts as words, not too many."""
    if not parts:
        return "no part"
    more = f" and {len(parts) - most} more" if len(parts) > most else ""
    return f"{'part' if len(parts) == 1 else 'parts'} {', '.join(parts[:most])}{more}"
