"""Folds that train on consecutive parts of the samples and test the next, in a circle.

Forward tests in all cyclic orders of the runs are such folds: each is known by the part
that it tests and the number of parts before it that it trains on. What the parts say to
one another serves all orders.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from neuroextrap.design._design import Design
from neuroextrap.margins.algebra._growing_folds import Chain


class CyclicWindows(NamedTuple):
    """Folds by what they test, and by how many parts they train on.

    ``samples`` (n,) are those of the parts, one after the other around the circle, and
    ``edges`` (P + 1,) where each part begins. ``fold[b, i]``, of shape (P, P - 1), is
    the fold that tests part b after training on the i + 1 parts before it; -1 if none
    does.
    """

    samples: np.ndarray
    edges: np.ndarray
    fold: np.ndarray


class CompiledWindows(NamedTuple):
    """The same for compiled loops, with where each fold's test points begin, (F,).

    Without parts there are no such folds.
    """

    edges: np.ndarray
    fold: np.ndarray
    rows: np.ndarray


def no_windows() -> CompiledWindows:
    """Return windows of no parts."""
    none = np.zeros(0, np.uint32)
    return CompiledWindows(none, np.zeros((0, 0), np.int32), none)


def cyclic_windows(design: Design, chains: tuple[Chain, ...]) -> CyclicWindows | None:
    """Return the folds of chains as windows in a circle of parts, None if they are not.

    The parts are the test sets, which have to be disjoint and to hold every sample.
    """
    parts = {test.tobytes(): test for _, test in design.folds}
    tested = np.concatenate(list(parts.values()))
    if not np.array_equal(np.sort(tested), np.arange(design.n_samples)):
        return None
    circle = _circle([test.tobytes() for _, test in design.folds], chains)
    if len(circle) != len(parts):
        return None
    begin = min(circle, key=lambda name: parts[name].min())  # samples as they are
    circle = circle[circle.index(begin) :] + circle[: circle.index(begin)]
    around = [parts[name] for name in circle]
    place = {name: b for b, name in enumerate(circle)}
    fold = np.full((len(circle), len(circle) - 1), -1, dtype=np.int32)
    for f, (train, test) in enumerate(design.folds):
        b = place[test.tobytes()]
        before = around[:b][::-1] + around[b:][::-1]  # the nearest part first
        length = int(np.searchsorted(np.cumsum([len(p) for p in before]), len(train)))
        window = np.concatenate(before[: length + 1])
        if not np.array_equal(np.sort(window), np.sort(train)) or fold[b, length] >= 0:
            return None
        fold[b, length] = f
    edges = np.cumsum([0, *(len(part) for part in around)])
    return CyclicWindows(np.concatenate(around), edges, fold)


def _circle(tests: list[bytes], chains: tuple[Chain, ...]) -> list[bytes]:
    """Return the parts in the order in which they are tested; none without a circle."""
    following: dict[bytes, bytes] = {}
    for chain in chains:
        folds = tests[chain.first_fold : chain.first_fold + chain.n_folds]
        for part, after in pairwise(folds):
            if following.setdefault(part, after) != after:
                return []
    circle = [tests[0]]
    while len(circle) <= len(following):
        after = following.get(circle[-1], tests[0])
        if after == tests[0]:
            break
        circle.append(after)
    return circle
