"""Properties of a design or its samples that make p-values or bounds too optimistic."""

import numpy as np

from neuroextrap.design._copies import copied_samples
from neuroextrap.design._course_of_runs import (
    alike_neighbors,
    classes_follow_time,
    classes_in_turn,
    runs_out_of_time,
    same_order,
)
from neuroextrap.design._design import Design
from neuroextrap.design._findings import BOUNDS, EVERYTHING, Finding
from neuroextrap.design._folds import (
    in_order,
    means_of,
    members,
    row_codes,
    some_columns,
    without_means,
)
from neuroextrap.stats._null_counts import tie_floor

_SHUFFLES = 199  # none of which may give as much: a level of 0.005
_MOST_REGIONS = 64
_SMALLEST_DISPERSION = 1.5


def shared_classifiers(labels, design):
    """Return folds in which one classifier is tested on several runs, or None."""
    if labels.groups is None:
        return None
    if len(design.folds) > 1:
        odd = in_order(labels.groups) % 2
        halves = np.flatnonzero(odd), np.flatnonzero(odd == 0)
        design = Design((halves, halves[::-1]), design.n_samples, design.n_classes)
    n_classes = design.n_classes
    least = [
        np.bincount(labels.codes[train], minlength=n_classes).min()
        for train, _ in design.folds
    ]
    n_tested = [len(np.unique(labels.groups[test])) for _, test in design.folds]
    return design if min(least) > 1 and max(n_tested) > 1 else None


def overdispersed_runs(outcomes, labels, design):
    """Return Findings, 0 or 1, where outcomes (n_regions, n_test) depend on runs."""
    dispersion = run_dispersion(outcomes, labels, design)
    if dispersion is None or dispersion < _SMALLEST_DISPERSION:
        return ()
    because = (
        "accuracy differs between runs by more than chance (its variance is "
        f"{dispersion:.1f} times that of independent outcomes)"
    )
    effect = (
        "lower bounds and e-values, which count the outcomes of a run as independent, "
        "may be too large"
    )
    seen = ("overdispersed_runs", "doubtful", dispersion, BOUNDS)
    return (Finding(*seen, because, effect, "give bounds=Bounds(test_units='runs')"),)


def run_dispersion(outcomes, labels, design):
    """Return the variance of run accuracies over that of independent outcomes.

    Of the regions most above chance. The reference exchanges outcomes of a class
    between the runs of a fold; None if one of 199 exchanges gives as much.
    """
    test, fold = design.test, design.fold_of_test
    cell = row_codes(fold, labels.codes[test])
    point = row_codes(cell, test if labels.units is None else labels.units[test])
    above = outcomes.mean(axis=1) - 1 / design.n_classes
    best = np.argsort(-above, kind="stable")[:_MOST_REGIONS]
    rest = means_of(outcomes[best[above[best] >= above.max() / 2]].T, point)
    first = np.unique(point, return_index=True)[1]
    cell, run = cell[first], row_codes(fold, labels.groups[test])[first]
    rest -= means_of(rest, cell)[cell]
    total = np.square(rest).sum(axis=0)
    rest = rest[:, total > 1e-9] / np.sqrt(total[total > 1e-9])
    if not rest.size:
        return None
    rng, place, size = np.random.default_rng(0), np.argsort(cell), np.bincount(run)
    in_run = members(run)

    def variance(order):
        return (
            (np.square(in_run @ rest[order]) / size[:, np.newaxis]).sum(axis=0).mean()
        )

    order, chance = np.arange(len(cell)), []
    observed = variance(order)
    for _ in range(_SHUFFLES):
        order[place] = np.lexsort((rng.random(len(cell)), cell))
        chance.append(variance(order))
        if chance[-1] >= tie_floor(observed, observed):
            return None
    return float(observed / np.mean(chance))


_MOST_COLUMNS = 2000
_UNEQUAL = 1.2
_OF_ACCURACY = ("accuracy*", "pairwise_accuracy*", "*information")


def findings_of_tests(tests, X, frequent_first=""):
    """Return Findings about Tests, and about samples X unless these are None.

    `frequent_first` names a classifier that may favor frequent classes.
    """
    labels, rest, copied = tests.labels, None, None
    if X is not None:
        rest = without_means(some_columns(X, _MOST_COLUMNS), labels)
        copied = copied_samples(X, rest, labels, tests.design)
    course = same_order(labels) or classes_in_turn(labels)
    course = course or classes_follow_time(rest, labels)
    alike, chronological = alike_neighbors(rest, labels), None
    if tests.options.e_value_order == "chronological":
        chronological = runs_out_of_time(labels.groups)
    unequal = unequal_classes(labels.codes, frequent_first)
    findings = course, unequal, continuous_target(labels), alike, copied, chronological
    return *filter(None, findings), *tests.permuted.findings


def unequal_classes(codes, frequent_first=""):
    """Return a Finding where a class has a fifth more samples than another, or None.

    `frequent_first` names the classifier if it may favor classes of many samples.
    """
    counts = np.bincount(codes)
    ratio = float(counts.max() / counts.min())
    seen = f"classes are unequal ({counts.min()} to {counts.max()} samples)"
    grade, maps, remedy = "note", EVERYTHING, ""
    effect = "accuracies and bounds are those for classes shown equally often"
    if frequent_first:
        seen += f", and {frequent_first} may favor the frequent ones"
        grade, maps = "doubtful", _OF_ACCURACY
        effect = "accuracies, averages over classes, may be too low, and effects missed"
        remedy = 'give it class_weight="balanced" or equal priors, or name a classifier'
    finding = Finding("unequal_classes", grade, ratio, maps, seen, effect, remedy)
    return finding if ratio >= _UNEQUAL else None


def continuous_target(labels):
    """Return a Finding where classes are numbers that seem to be measured, or None.

    Refused where they are too rare to be trained; a note where they may be ratings.
    """
    classes, counts = labels.classes, np.bincount(labels.codes)
    points = _as_numbers(classes)
    if not labels.trained or points is None:
        return None
    whole = (points == np.round(points)).all()
    single = counts.min() == 1 and not (whole and len(points) <= _LONGEST)
    rare = classes.dtype.kind != "U" and (2 * len(points) > len(labels.codes) or single)
    if not rare and whole and not _like_ratings(points, labels):
        return None
    because = (
        f"the labels are {len(points)} numbers from {points[0]:g} to "
        f"{points[-1]:g}, which were taken as classes without an order"
    )
    effect = "a label that is nearly right counts as one that is wrong"
    if rare:
        effect = f"{effect}, and classes of a single sample cannot be trained"
    names = "give at least two samples of each" if rare else "all is well"
    remedy = (
        "if they are measurements or ratings, decode them as numbers with "
        "neuroextrap.decoding.TargetSearchLight; if they are names of classes, " + names
    )
    seen = "continuous_target", "refused" if rare else "note", float(len(points))
    return Finding(*seen, _OF_ACCURACY, because, effect, remedy)


_SHORTEST, _LONGEST = 4, 11  # numbers of points of rating scales
_ODD = (5, 7, 9)  # points of scales from 1 that are noted in balanced designs, too
_ENDS, _STEPS = (10, 20, 50, 100), 21  # of scales in steps, and most of their points


def _as_numbers(classes):
    """Return classes as sorted numbers, those of text too; None if they are names."""
    if classes.dtype.kind not in "iufU":
        return None
    try:
        numbers = np.sort(classes.astype(float))
    except ValueError:
        return None
    return numbers if np.isfinite(numbers).all() else None


def _like_ratings(points, labels):
    """Return whether whole numbers look like points of a scale, not like codes."""
    n, low, high = len(points), points[0], points[-1]
    step = np.gcd.reduce(np.diff(points).astype(int))
    if n < _SHORTEST or low < 0 or (high - low) / step > n + 1:
        return False
    if step > 1:
        return high in _ENDS and n <= _STEPS
    if low == 1 and high == n and n in _ODD:
        return True
    counts = np.bincount(labels.codes)
    if high > _LONGEST or counts.max() < _UNEQUAL * counts.min():
        return False
    of_runs = labels.class_counts
    return len(of_runs) == 1 or bool((of_runs != of_runs[:1]).any())
