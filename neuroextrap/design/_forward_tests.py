"""Forward testing: each run is tested by classifiers of the earlier ones."""

import math
from dataclasses import replace
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse

from neuroextrap.design._design import Design
from neuroextrap.design._folds import Labels, in_order, is_nested, row_codes
from neuroextrap.stats._forward import ForwardDesign, cyclic_orders, joined_runs

# orders, each a list of (train, test), the same number in all
Orders = list[list[tuple[np.ndarray, np.ndarray]]]


class BoundOptions(NamedTuple):
    """Options of the bounds, and what they need to know about the classifier."""

    bounds: str | None
    test_units: str
    e_value_order: str
    confidence_level: float
    automatic_penalty: bool  # whether test samples, too, determine the penalty
    within_runs: str | None
    first_tested_run: int = 2  # of the chronological e-values, counted from 1

    @classmethod
    def of(cls, given: dict[str, Any], kernel: Any) -> "BoundOptions":
        """Take them from parameters by name; ValueError if two exclude each other."""
        order, first = given["e_value_order"], given["first_tested_run"]
        if first != 2 and order != "chronological":
            raise ValueError(
                f"first_tested_run={first} is for e_value_order='chronological', got "
                f"{order!r}; cyclic orders test every run"
            )
        automatic = kernel.shrinks and not isinstance(kernel.shrinkage, Real)
        named = {name: given[name] for name in cls._fields if name in given}
        return cls(**named, automatic_penalty=automatic)

    @property
    def whole_runs(self) -> bool:
        """Whether a whole run is one test unit, as it is if features were centered."""
        return self.test_units == "runs" or self.within_runs is not None


class ForwardFolds(NamedTuple):
    """The folds of all orders, and how their outcomes are counted.

    ``sums`` (n_sums, n_test) weighs those of every step, ``weighting`` (n_test,) those
    of all steps together.
    """

    design: Design
    sums: scipy.sparse.csr_array
    weighting: np.ndarray
    outcomes: ForwardDesign


def forward_tests(
    labels: Labels, design: Design, options: BoundOptions
) -> ForwardFolds | str | None:
    """Return the forward tests, why there are none, or None if folds are tested.

    A single split is counted exactly, as it is (whole runs are one step of one order).
    """
    single = len(design.folds) == 1 and not options.whole_runs
    if options.bounds == "folds" or (single and options.bounds == "auto"):
        return None
    codes, n_weighed = labels.weighed
    counting: dict[str, Any] = {"units": labels.units}
    if options.whole_runs:
        counting["runs"] = row_codes(labels.groups)
    if len(design.folds) == 1:  # one step of one order
        if len(np.unique(codes[design.test])) < n_weighed:
            return "the test set lacks a class"
        orders, first_steps = [list(design.folds)], np.array([0])
    else:
        parts = forward_parts(codes, n_weighed, design, labels.groups)
        if isinstance(parts, str):
            return parts
        if labels.units is not None and not is_nested(labels.units, parts):
            return "a block extends over several of the runs that are tested"
        counting["chronological"] = _runs_in_time(labels, design.n_classes, options)
        orders, first_steps = cyclic_folds(parts)
    tests = forward_folds(orders, first_steps, codes, n_weighed, **counting)
    return tests._replace(design=replace(tests.design, n_classes=design.n_classes))


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
    """Turn orders into one design, in whose tests `units` or `runs` are counted."""
    design = forward_design(orders, len(codes), n_classes, chronological)
    weights, _ = point_weights(codes, design, units)
    shape = len(orders), len(orders[0])
    independent = units if runs is None else runs
    return counted_folds(design, weights, independent, first_steps, shape)


def _runs_in_time(
    labels: Labels, n_classes: int, options: BoundOptions
) -> list[tuple[np.ndarray, np.ndarray]] | None:
    """Return the folds behind chronological e-values; None if not requested."""
    if options.e_value_order != "chronological":
        return None
    if labels.groups is None:
        raise ValueError(
            "e_value_order='chronological' tests every run after the earlier ones, and "
            "needs the run of every sample; give groups=runs"
        )
    first = options.first_tested_run
    folds = chronological_order(labels.codes, n_classes, labels.groups, first)
    if not folds:
        raise ValueError(
            "e_value_order='chronological' needs two sets of consecutive runs (groups) "
            f"that each hold every class, the last from first_tested_run={first} on; "
            "there are none, use 'cyclic' or wait for more runs"
        )
    return folds


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


def point_weights(
    codes: np.ndarray, design: Design, units: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Weigh the test points of each fold, (n_test,), classes equal within the fold.

    Also returned are repeats (n_folds, K), test units by class; points of a unit, such
    as a block, share its weight.
    """
    y, fold = codes[design.test], design.fold_of_test
    unit = design.test if units is None else units[design.test]
    n_units, row = unit.max() + 1, fold * design.n_classes + y
    distinct, member, size = np.unique(
        row * n_units + unit, return_inverse=True, return_counts=True
    )
    shape = len(design.folds), design.n_classes
    repeats = np.bincount(distinct // n_units, minlength=math.prod(shape))
    repeats = repeats.reshape(shape)
    n_present = np.count_nonzero(repeats, axis=1)
    weights = 1.0 / (n_present[fold] * repeats[fold, y]) / size[member]
    return weights, repeats
