"""Properties of a design or its samples that make p-values or bounds too optimistic."""

import numpy as np

from neuroextrap.design._copies import copied_samples
from neuroextrap.design._course_of_runs import findings_of_time
from neuroextrap.design._findings import BOUNDS, EVERYTHING, P_VALUES, Finding
from neuroextrap.design._labels import without_means

_FEWEST_PAIRS = 8
_SMALLEST_CORRELATION = 0.05
_ERRORS = 3.0
_MOST_FEATURES = 2000
CROSS_NOTE = (
    "a small p-value {where} says that the labels matter there, not that the code is "
    "shared: with few classes the patterns of two unrelated codes are never quite "
    "orthogonal, so that classifiers transfer by accident; for a test of that see "
    "neuroextrap.decoding.cross_identification"
)
_UNEQUAL = 1.2


def findings_of_samples(X, labels, design, frequent_first=""):
    """Return Findings about labels, their order and samples.

    `X` has shape (n_samples, n_features), or is None where only the design is known;
    `frequent_first` as in `unequal_classes`.
    """
    found = [
        *findings_of_time(X, labels),
        unequal_classes(labels.codes, frequent_first),
        continuous_target(labels),
    ]
    if X is not None:
        found += [alike_neighbors(X, labels), copied_samples(X, labels, design)]
    return tuple(finding for finding in found if finding is not None)


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
        grade, maps = "doubtful", ("accuracy*", "pairwise_accuracy*", "*information")
        effect = "accuracies, averages over classes, may be too low, and effects missed"
        remedy = 'give it class_weight="balanced" or equal priors, or name a classifier'
    finding = Finding("unequal_classes", grade, ratio, maps, seen, effect, remedy)
    return finding if ratio >= _UNEQUAL else None


def continuous_target(labels):
    """Return a Finding where classes are numbers that seem to be measured, or None.

    They are refused where classes are too rare to be trained, and noted where they look
    like the points of a rating scale. Numbers that are text are names, never refused.
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
    return Finding(
        "continuous_target",
        "refused" if rare else "note",
        float(len(points)),
        ("accuracy*", "pairwise_accuracy*", "*information"),
        because,
        effect,
        "if they are measurements or ratings, decode them as numbers with "
        "neuroextrap.decoding.TargetSearchLight; if they are names of classes, "
        + ("give at least two samples of each" if rare else "all is well"),
    )


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
    """Return whether whole numbers look like points of a scale, not like codes.

    Those of a scale in steps do, such as 0, 10, ..., 100, and 1 to 5, 7 or 9. Other
    neighboring numbers do if runs hold different numbers of them, as people rate; in
    balanced designs they are taken for codes of classes.
    """
    n, low, high = len(points), points[0], points[-1]
    step = np.gcd.reduce(np.diff(points).astype(int))
    if n < _SHORTEST or low < 0 or (high - low) / step > n + 1:
        return False
    if step > 1:
        return high in _ENDS and n <= _STEPS
    if low == 1 and high == n and n in _ODD:
        return True
    return high <= _LONGEST and _differs_by_run(labels)


def _differs_by_run(labels):
    """Return whether classes are unequal, and otherwise so in other runs."""
    groups = np.zeros(len(labels.codes)) if labels.groups is None else labels.groups
    run = np.unique(groups, return_inverse=True)[1]
    counts = np.zeros((run.max() + 1, labels.codes.max() + 1))
    np.add.at(counts, (run, labels.codes), 1)
    total = counts.sum(axis=0)
    unequal = total.max() >= _UNEQUAL * total.min()
    return bool(unequal and (len(counts) == 1 or (counts != counts[:1]).any()))


def cross_notes(design):
    """Return a note if training and test are different parts of the experiment.

    Samples that train together in some fold belong to one part, and so do those that
    these train with in other folds. If no fold tests samples of the part on which it
    trains, the parts are, for example, two conditions or sessions. 0 or 1 notes.
    """
    part = np.arange(design.n_samples)
    for train, _ in design.folds:
        joined = np.unique(part[train])
        part[np.isin(part, joined)] = joined[0]
    if any(np.isin(part[test], part[train]).any() for train, test in design.folds):
        return ()
    where = (
        "of classifiers that are trained on one part of the samples and tested on "
        "another (such as two conditions, tasks or sessions)"
    )
    return (CROSS_NOTE.format(where=where),)


def alike_neighbors(X, labels):
    """Return a Finding where neighboring samples correlate beyond their class and run.

    Scans of one block share their noise, so that treating each as an independent sample
    makes p-values and lower bounds too optimistic. The means of class and run are first
    subtracted from the samples `X` of shape (n_samples, n_features). None when blocks
    are given.
    """
    if labels.blocks is not None:
        return None
    correlation = neighbor_correlation(X, labels.codes, labels.groups)
    if correlation is None:
        return None
    return Finding(
        "correlated_neighbors",
        "doubtful",
        correlation,
        P_VALUES + BOUNDS,
        "neighboring samples of one class depend on each other, as scans of one block "
        f"or overlapping trials do (they correlate {correlation:.2f} beyond their "
        "class and run)",
        "lower bounds may be too large and, unless their order was random, p-values "
        "too small",
        "average them (fit_events(samples='blocks')), or give blocks=... with one "
        "number per block",
    )


def neighbor_correlation(X, codes, groups):
    """Return the mean correlation of neighbors of a class in a run; None if small."""
    of_run = np.zeros(len(codes), dtype=int) if groups is None else groups
    first = np.flatnonzero((codes[1:] == codes[:-1]) & (of_run[1:] == of_run[:-1]))
    if len(first) < _FEWEST_PAIRS:
        return None
    every = -(-X.shape[1] // _MOST_FEATURES)
    rest = without_means(X[:, ::every], codes, groups)
    if not rest.shape[1]:
        return None
    products = np.einsum("if,if->i", rest[first], rest[first + 1]) / rest.shape[1]
    mean, error = products.mean(), products.std(ddof=1) / np.sqrt(len(products))
    surely = mean - _ERRORS * error > _SMALLEST_CORRELATION
    return float(mean) if surely else None
