"""Forward tests as folds: train on the earlier runs, test on the next."""

import math
from typing import NamedTuple

import numpy as np
import scipy.sparse

from neuroextrap.design._design import Design
from neuroextrap.design._folds import point_weights
from neuroextrap.stats._forward_design import ForwardDesign, cyclic_orders, joined_runs

# orders, each a list of (train, test), the same number in all
Orders = list[list[tuple[np.ndarray, np.ndarray]]]


class ForwardFolds(NamedTuple):
    """The folds of all orders, and how their outcomes are counted.

    ``sums`` of shape (n_sums, n_test) weighs the outcomes of the test points of every
    step, ``weighting`` (n_test,) those of all steps together, for the average accuracy.
    """

    design: Design
    sums: scipy.sparse.csr_array
    weighting: np.ndarray
    outcomes: ForwardDesign


def forward_parts(
    codes: np.ndarray, n_classes: int, design: Design, groups: np.ndarray | None
) -> np.ndarray | str:
    """Return the number of the part of every sample, or why there are no parts.

    The parts are tested one after the other: the test sets of folds that partition the
    samples, or else single groups, numbered in the order of their first rows. A part
    that lacks a class is joined with the next one, because accuracy among some classes
    says nothing of the Bayes accuracy among all.
    """
    part = _tested_in(design)
    if part is None and groups is not None and _leave_whole(design, groups):
        part = np.unique(groups, return_inverse=True)[1].ravel()
    if part is None:
        return "the folds do not leave whole runs out, each once"
    part, n_parts = _joined(_in_order(part), codes, n_classes)
    if n_parts < 2:
        return "there are no two sets of consecutive runs that hold every class"
    return joined_runs(n_parts)[np.minimum(part, n_parts - 1)]


def chronological_order(
    codes: np.ndarray, n_classes: int, groups: np.ndarray, first_tested_run: int = 2
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the folds of the runs in time, each tested after all earlier ones.

    Runs before `first_tested_run`, counted from 1, only train. No fold depends on later
    runs or on how many there are, so that e-values stay valid when runs are added. A
    run that lacks a class is joined with the next ones, and tested with them unless one
    of them only trains; runs at the end that still lack a class are not tested yet.
    """
    run = _in_order(groups)
    part, n_parts = _joined(run, codes, n_classes)
    tested = np.setdiff1d(np.arange(1, n_parts), part[run < first_tested_run - 1])
    return [(np.flatnonzero(part < p), np.flatnonzero(part == p)) for p in tested]


def cyclic_folds(part: np.ndarray) -> tuple[Orders, np.ndarray]:
    """Return the folds of the cyclic orders of parts (n_samples,), and first steps."""
    rows = [np.flatnonzero(part == p) for p in range(part.max() + 1)]
    orders, shortest, first_steps = cyclic_orders(len(rows))
    folds = [
        [
            (
                np.sort(np.concatenate([rows[p] for p in order[:step]])),
                rows[order[step]],
            )
            for step in range(shortest, len(rows))
        ]
        for order in orders
    ]
    return folds, first_steps


def forward_folds(
    orders: Orders,
    first_steps: np.ndarray,
    codes: np.ndarray,
    n_classes: int,
    *,
    units: np.ndarray | None,
    runs: np.ndarray | None = None,
    chronological: list[tuple[np.ndarray, np.ndarray]] | None = None,
) -> ForwardFolds:
    """Turn orders into one design, and count independent units in every test.

    Units are test points or, with `units` (n_samples,), blocks of them; with `runs`
    (n_samples,) whole runs, whose points may depend on one another. The folds of the
    `chronological` order, which serve e-values only, come after all others; with them,
    nothing but the first training set decides what is chosen without labels.
    """
    shape = len(orders), len(orders[0])
    folds = tuple(fold for order in (*orders, chronological or ()) for fold in order)
    first_runs = chronological[0][0] if chronological else None
    design = Design(folds, len(codes), n_classes, first_runs)
    weights, _ = point_weights(codes, design, units)
    independent = units if runs is None else runs
    unit = design.test if independent is None else independent[design.test]
    distinct, member = np.unique(
        design.fold_of_test * (unit.max() + 1) + unit, return_inverse=True
    )
    n_units = np.bincount(distinct // (unit.max() + 1))
    shares = np.split(np.bincount(member, weights), np.cumsum(n_units)[:-1])
    heaviest = np.array([share.max() for share in shares])
    squares = np.array([(share**2).sum() for share in shares])
    sizes = [len(test) for _, test in folds]
    edges = np.concatenate([[0], np.cumsum(sizes)])
    scaled = (weights / np.repeat(heaviest, sizes)).astype(np.float32)
    sums = scipy.sparse.csr_array(
        (scaled, np.arange(len(scaled)), edges), shape=(len(folds), len(scaled))
    )
    # steps are weighted by the inverse of their noise, orders equally; in the worst
    # case the noises of orders add up, so that s is their mean
    n_units, in_time = np.split(n_units, [math.prod(shape)])
    heaviest, heaviest_in_time = np.split(heaviest, [math.prod(shape)])
    precision = 1 / (n_classes * squares[: n_units.size].reshape(shape))
    noise = np.mean(1 / np.sqrt(precision.sum(axis=1))) ** 2
    share = precision / precision.sum(axis=1, keepdims=True) / len(orders)
    shares = np.append(share, np.zeros(len(in_time)))
    return ForwardFolds(
        design,
        sums,
        weights * np.repeat(shares, sizes),
        ForwardDesign(
            n_units.reshape(shape),
            np.clip(heaviest, 1 / n_units, 1).reshape(shape),  # guards against rounding
            first_steps,
            float(noise),
            np.stack([in_time, np.clip(heaviest_in_time, 1 / in_time, 1)])
            if chronological
            else False,
        ),
    )


def _tested_in(design: Design) -> np.ndarray | None:
    """Return the fold that tests each sample; None unless folds partition them."""
    if len(design.folds) < 2 or len(design.test) != design.n_samples:
        return None
    everything = np.bincount(design.test, minlength=design.n_samples)
    complete = all(len(a) + len(b) == design.n_samples for a, b in design.folds)
    if not complete or (everything != 1).any():
        return None
    part = np.empty(design.n_samples, dtype=int)
    part[design.test] = design.fold_of_test
    return part


def _leave_whole(design: Design, groups: np.ndarray) -> bool:
    """Return whether several folds test whole groups and train on all others."""
    if len(design.folds) < 2:
        return False
    return all(
        len(train) + len(test) == design.n_samples
        and not np.isin(groups[test], groups[train]).any()
        for train, test in design.folds
    )


def _in_order(part: np.ndarray) -> np.ndarray:
    """Return numbers of parts (n_samples,) in the order of their first rows."""
    _, first, part = np.unique(part, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[part.ravel()]


def _joined(
    part: np.ndarray, codes: np.ndarray, n_classes: int
) -> tuple[np.ndarray, int]:
    """Join consecutive parts until each has every class; return their number, too.

    Samples left over at the end, which lack a class, get that number as their part.
    """
    present = np.zeros((part.max() + 1, n_classes), dtype=bool)
    present[part, codes] = True
    number, new = 0, np.empty(len(present), dtype=int)
    seen = np.zeros(n_classes, dtype=bool)
    for p, classes in enumerate(present):
        new[p] = number
        seen |= classes
        if seen.all():
            number, seen = number + 1, np.zeros(n_classes, dtype=bool)
    return new[part], number
