"""Forward testing: each run is tested by classifiers of the earlier ones."""

import math
from typing import NamedTuple

import numpy as np
import scipy.sparse

from neuroextrap.design._design import Design
from neuroextrap.design._folds import in_order
from neuroextrap.stats._forward import ForwardDesign, cyclic_orders, joined_runs

# orders, each a list of (train, test), the same number in all
Orders = list[list[tuple[np.ndarray, np.ndarray]]]


class ForwardFolds(NamedTuple):
    """The folds of all orders, and how their outcomes are counted.

    ``sums`` (n_sums, n_test) weighs those of every step, ``weighting`` (n_test,) those
    of all steps together.
    """

    design: Design
    sums: scipy.sparse.csr_array
    weighting: np.ndarray
    outcomes: ForwardDesign


def forward_parts(
    codes: np.ndarray, n_classes: int, design: Design, groups: np.ndarray | None
) -> np.ndarray | str:
    """Return the number of the part of every sample, or why there are no parts.

    One that lacks a class is joined with the next: accuracy among some classes says
    nothing of the Bayes accuracy among all.
    """
    part = None
    if len(design.folds) > 1 and design.leaves_nothing_out:
        if np.array_equal(np.sort(design.test), np.arange(design.n_samples)):
            part = design.fold_of_test[np.argsort(design.test)]
        elif groups is not None and not design.splits(groups):
            part = groups
    if part is None:
        return "the folds do not leave whole runs out, each once"
    part, n_parts = _joined(in_order(part), codes, n_classes)
    if n_parts < 2:
        return "there are no two sets of consecutive runs that hold every class"
    return joined_runs(n_parts)[np.minimum(part, n_parts - 1)]


def chronological_order(
    codes: np.ndarray, n_classes: int, groups: np.ndarray, first_tested_run: int = 2
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the folds of the runs in time, each tested after all earlier ones.

    No fold depends on later runs, so that e-values stay valid when runs are added.
    """
    run = in_order(groups)
    part, n_parts = _joined(run, codes, n_classes)
    tested = np.setdiff1d(np.arange(1, n_parts), part[run < first_tested_run - 1])
    return [(np.flatnonzero(part < p), np.flatnonzero(part == p)) for p in tested]


def cyclic_folds(part: np.ndarray) -> tuple[Orders, np.ndarray]:
    """Return the folds of the cyclic orders of parts (n_samples,), and first steps."""
    rows = [np.flatnonzero(part == p) for p in range(part.max() + 1)]
    orders, shortest, first_steps = cyclic_orders(len(rows))
    steps, folds = range(shortest, len(rows)), []
    for order in orders:
        parts = [rows[p] for p in order]
        folds.append([(np.sort(np.concatenate(parts[:s])), parts[s]) for s in steps])
    return folds, first_steps


def forward_design(
    orders: Orders,
    n_samples: int,
    n_classes: int,
    chronological: list[tuple[np.ndarray, np.ndarray]] | None = None,
) -> Design:
    """Turn orders into one design.

    The `chronological` order, for e-values only, comes last; with it, only the first
    training set decides what is chosen without labels.
    """
    folds = tuple(fold for order in (*orders, chronological or ()) for fold in order)
    first_runs = chronological[0][0] if chronological else None
    return Design(folds, n_samples, n_classes, first_runs)


def counted_folds(
    design: Design,
    weights: np.ndarray,
    units: np.ndarray | None,
    first_steps: np.ndarray,
    shape: tuple[int, int],
) -> ForwardFolds:
    """Count independent `units` in every test of a design of (n_orders, n_steps).

    `weights` (n_test,) are those of the test points within their fold.
    """
    unit = design.test if units is None else units[design.test]
    distinct, member = np.unique(
        design.fold_of_test * (unit.max() + 1) + unit, return_inverse=True
    )
    n_units = np.bincount(distinct // (unit.max() + 1))
    shares = np.split(np.bincount(member, weights), np.cumsum(n_units)[:-1])
    heaviest = np.array([share.max() for share in shares])
    squares = np.array([(share**2).sum() for share in shares])
    sizes = [len(test) for _, test in design.folds]
    scaled = (weights / np.repeat(heaviest, sizes)).astype(np.float32)
    entries = scaled, np.arange(len(scaled)), np.cumsum([0, *sizes])
    sums = scipy.sparse.csr_array(entries, shape=(len(design.folds), len(scaled)))
    # steps are weighted by the inverse of their noise, orders equally; in the worst
    # case the noises of orders add up, so that s is their mean
    n_units, in_time = np.split(n_units, [math.prod(shape)])
    heaviest, heaviest_in_time = np.split(heaviest, [math.prod(shape)])
    precision = 1 / (design.n_classes * squares[: n_units.size].reshape(shape))
    noise = np.mean(1 / np.sqrt(precision.sum(axis=1))) ** 2
    share = precision / precision.sum(axis=1, keepdims=True) / shape[0]
    shares = np.append(share, np.zeros(len(in_time)))
    # clipped against rounding
    of_time = np.stack([in_time, np.clip(heaviest_in_time, 1 / in_time, 1)])
    outcomes = ForwardDesign(
        n_units.reshape(shape),
        np.clip(heaviest, 1 / n_units, 1).reshape(shape),
        first_steps,
        float(noise),
        of_time if len(in_time) else False,
    )
    return ForwardFolds(design, sums, weights * np.repeat(shares, sizes), outcomes)


def _joined(
    part: np.ndarray, codes: np.ndarray, n_classes: int
) -> tuple[np.ndarray, int]:
    """Join consecutive parts until each has every class; return their number, too."""
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
