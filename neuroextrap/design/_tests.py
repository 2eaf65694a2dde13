"""How labeled samples are tested: which bounds hold, from which tests, as one value."""

import math
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, NamedTuple, Self

import numpy as np

from neuroextrap.design._design import Design
from neuroextrap.design._doubts import continuous_target
from neuroextrap.design._findings import tell
from neuroextrap.design._folds import Labels, is_nested, make_design, row_codes
from neuroextrap.design._forward_tests import (
    ForwardFolds,
    Orders,
    chronological_order,
    counted_folds,
    cyclic_folds,
    forward_design,
    forward_parts,
)
from neuroextrap.design._further_tests import SubsetTests, class_subsets
from neuroextrap.design._permutations import Permuted, permuted_codes
from neuroextrap.stats import TestDesign
from neuroextrap.stats._validation import random_generator

_POPULATION = (
    "average_bayes_accuracy_bound and information_bound apply to the population from "
    "which the {classes} were drawn at random; for hand-picked {classes} use "
    "bayes_accuracy_bound and class_information_bound instead"
)


class BoundDesign(NamedTuple):
    """What the lower bounds need to know of the test points."""

    # test points of every class in every fold, shape (n_folds, K); for forward tests
    # the number, shape (), that would be as noisy; None: no bounds
    n_repeats: np.ndarray | None
    weighting: np.ndarray  # (0, n_test), or (1, n_test) unless that of the accuracy
    notes: tuple  # what a reader should know about the bounds


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


def bound_design(
    labels: Labels, design: Design, options: BoundOptions
) -> tuple[BoundDesign, ForwardFolds | None]:
    """Decide whether and how lower bounds hold; return forward tests, if any, too."""
    if options.bounds is None:
        return _no_bounds(design, "no lower bounds: bounds=None"), None
    if options.whole_runs and labels.groups is None:
        option = "test_units='runs'"
        if options.within_runs is not None:
            option = f"within_runs={options.within_runs!r}"
        raise ValueError(f"{option} needs the run of every sample; give groups=runs")
    if labels.units is not None and design.splits(labels.units):
        reason = (
            "a block has samples in the training and the test set of one fold, which "
            "the bounds assume to be independent"
        )
        return _refused(options, design, reason), None
    tests = forward_tests(labels, design, options)
    if isinstance(tests, ForwardFolds):
        return _forward_bounds(design, tests, options), tests
    return without_forward_tests(labels, design, options, tests), None


def without_forward_tests(
    labels: Labels, design: Design, options: BoundOptions, reason: str | None
) -> BoundDesign:
    """Return the bounds without forward tests, because of `reason`, if any."""
    if options.whole_runs:
        reason = reason or "the folds are tested as they are"
        reason = f"whole runs as test units need forward testing, but {reason}"
    if options.whole_runs or options.bounds == "forward":
        return _refused(options, design, str(reason))
    bounds = _fold_bounds(labels, design, options)
    if reason is None or bounds.n_repeats is None:
        return bounds
    return bounds._replace(notes=(_FOLD_NOTE.format(reason=reason), *bounds.notes))


_FOLD_NOTE = (
    "the bounds come from the cross-validation folds, which count as a single test "
    "because they share training data; tighter bounds by forward testing were not "
    "possible: {reason}"
)


def _no_bounds(design: Design, *notes: str) -> BoundDesign:
    """Return the design of no bounds, with notes that say why."""
    return BoundDesign(None, np.empty((0, len(design.test))), notes)


def _refused(options: BoundOptions, design: Design, reason: str) -> BoundDesign:
    """Return no bounds, with a note why; raise if forward tests were requested."""
    if options.bounds == "forward":
        raise ValueError(
            f"bounds='forward' must have runs that can be tested one after the other, "
            f"but {reason}; use cv=None with groups, or bounds='auto'"
        )
    return _no_bounds(design, f"no lower bounds: {reason}")


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


def _forward_bounds(
    design: Design, tests: ForwardFolds, options: BoundOptions
) -> BoundDesign:
    """Describe the bounds by forward testing."""
    outcomes, unit = tests.outcomes, "test samples"
    n_orders, n_steps = outcomes.n_units.shape
    if options.whole_runs:
        unit = "whole runs"
        if options.test_units != "runs":
            unit += f" (as within_runs={options.within_runs!r} requires)"
    tested = "1 test run" if n_steps == 1 else f"{n_steps} test runs"
    steps = f"{n_orders} cyclic orders of the runs, {tested} each"
    if len(design.folds) == 1:
        steps = "a single split"
    how = (
        f"the bounds come from forward testing (train on the earlier runs, test on the "
        f"next; {steps}); {unit} are treated as independent given their classes"
    )
    n_repeats = np.array(1 / outcomes.noise)
    bounds = _no_bounds(design, how, *_notes(design, n_repeats, options))
    return bounds._replace(n_repeats=n_repeats)


def _fold_bounds(labels: Labels, design: Design, options: BoundOptions) -> BoundDesign:
    """Describe the bounds by the folds themselves.

    Every fold must test every class: a rule that predicts the class rarest in training
    would otherwise score 1 on labels without information.
    """
    weights, repeats = point_weights(labels.codes, design, labels.units)
    if not repeats.all():
        return _no_bounds(
            design,
            "no lower bounds: a fold does not test every class, so that accuracy says "
            "nothing about the Bayes accuracy",
        )
    share = repeats.sum(axis=1) / repeats.sum()
    weighting = share[design.fold_of_test] * weights
    of_class = labels.codes[design.test]
    pooled = 1 / (design.n_classes * np.bincount(of_class)[of_class])
    bounds = _no_bounds(design, *_notes(design, repeats, options))
    if np.allclose(weighting, pooled, rtol=1e-9, atol=0):
        return bounds._replace(n_repeats=repeats)
    return bounds._replace(n_repeats=repeats, weighting=weighting[None])


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


def _notes(design: Design, n_repeats: np.ndarray, options: BoundOptions) -> list[str]:
    """Return what a reader should know about the bounds of any kind."""
    notes = []
    if options.automatic_penalty:
        chosen_from = "all samples"
        if options.e_value_order == "chronological":
            chosen_from = "the runs before first_tested_run, which later orders test"
        notes.append(_AUTOMATIC.format(chosen_from=chosen_from))
    level = options.confidence_level
    return [*notes, *population_notes(design.n_classes, n_repeats, level)]


def population_notes(
    n_classes: int, n_repeats: Any, level: float, of: str = "classes"
) -> list[str]:
    """Return what bounds say `of` classes (or stimuli) that were not shown."""
    notes = [_POPULATION.format(classes=of)]
    if TestDesign(n_classes, n_repeats, confidence_level=level).is_vacuous:
        notes.append(_VACUOUS.format(n_classes=n_classes, classes=of))
    return notes


_AUTOMATIC = (
    "the bounds assume a penalty chosen without the test samples, but shrinkage='auto' "
    "chooses it from {chosen_from} (without their labels); for bounds that hold "
    "exactly give shrinkage a number"
)
_VACUOUS = (
    "average_bayes_accuracy_bound is at chance everywhere: with {n_classes} {classes} "
    "even perfect accuracy says too little about {classes} that were not shown; use "
    "bayes_accuracy_bound, which holds for the given {classes}"
)


@dataclass(frozen=True)
class Tests:
    """Everything about the tests of a run that follows from labels, runs and blocks."""

    __test__ = False  # keeps pytest from collecting it

    labels: Labels
    design: Design  # the folds
    permuted: Permuted  # the observed labeling and the permuted ones
    options: BoundOptions
    bounds: BoundDesign
    forward: ForwardFolds | None  # tests behind the bounds, where folds are not
    subsets: tuple[SubsetTests, ...]  # of the classes, drawn at random

    @classmethod
    def of(
        cls,
        labels: Labels,
        options: BoundOptions,
        request: Any,
        subsets: tuple[np.ndarray, int] | None = None,
    ) -> Self:
        """Make them; ValueError if labels, runs, blocks and options do not match.

        ``cv``, permutations and their seed are attributes of the `request`. Of
        ``subsets`` of the classes sizes and numbers are given.
        """
        n_classes, seen = len(labels.classes), continuous_target(labels)
        if seen is not None and seen.grade == "refused":
            tell([seen])
        given = {"cv": request.cv, "groups": labels.groups, "trained": labels.trained}
        design = make_design(labels.codes, n_classes, **given)
        seed = request.n_permutations, request.random_state
        how = {"cv": request.cv, "exchange": getattr(request, "exchange", "rows")}
        permuted = permuted_codes(labels, design, *seed, **how)
        bounds, drawn = bound_design(labels, design, options), ()
        if subsets is not None:
            rng = random_generator(request.random_state).spawn(1)[0]
            drawn = class_subsets(labels.codes, design, *subsets, rng)
        return cls(labels, design, permuted, options, *bounds, drawn)

    def without_forward(self, reason: str) -> Self:
        """Return the tests with bounds from the folds, because of `reason`."""
        given = self.labels, self.design, self.options
        bounds = without_forward_tests(*given, reason)
        return replace(self, bounds=bounds, forward=None)

    def weightings(self, *, per_fold: bool) -> np.ndarray:
        """Return weightings (n_weightings, n_test): those of bounds, then of folds."""
        if not per_fold:
            return self.bounds.weighting
        weights, _ = point_weights(self.labels.codes, self.design)
        own = np.arange(len(self.design.folds))[:, None] == self.design.fold_of_test
        return np.concatenate([self.bounds.weighting, own * weights])

    @property
    def test_codes(self) -> np.ndarray:
        """Class of every test point; shape (n_test,)."""
        return self.labels.codes[self.design.test]

    def notes(self) -> tuple[str, ...]:
        """Return notes of the folds and of the bounds."""
        notes = self.bounds.notes
        if len(self.permuted.codes) == 1:
            return notes
        part = np.arange(self.design.n_samples)  # joined where they train together
        for train, _ in self.design.folds:
            joined = np.unique(part[train])
            part[np.isin(part, joined)] = joined[0]
        return notes if self.design.splits(part) else (_CROSSED, *notes)


_CROSSED = (
    "a small p-value of classifiers that are trained on one part of the samples and "
    "tested on another (such as two conditions, tasks or sessions) says that the "
    "labels matter there, not that the code is shared: with few classes the patterns "
    "of two unrelated codes are never quite orthogonal, so that classifiers transfer "
    "by accident; for a test of that see neuroextrap.decoding.cross_identification"
)
