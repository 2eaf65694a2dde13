"""Properties of a design or its samples that make p-values or bounds too optimistic."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from neuroextrap.design._labels import row_codes
from neuroextrap.stats._warn import warn


class Doubt(NamedTuple):
    """A property of data or design that makes p-values or bounds too optimistic."""

    #: End of the first sentence of a page: "..., because CLAUSE".
    clause: str
    #: The property, its effect and a remedy: a warning and a note of the results.
    note: str
    #: Whether it makes lower bounds too high as well as p-values too small.
    of_bounds: bool = True


def tell(doubts):
    """Issue every doubt as a warning, before the work begins."""
    for doubt in doubts:
        warn(doubt.note)


_FEWEST_PAIRS = 8
_SMALLEST_CORRELATION = 0.05
_ERRORS = 3.0
_MOST_FEATURES = 2000
CROSS_NOTE = (
    "a small p-value {where} says that the labels matter there, not that the code is "
    "shared: with few classes the patterns of two unrelated codes are never quite "
    "orthogonal, so that classifiers transfer by accident"
)
_SHUFFLES = 99
_LARGE_AGREEMENT = 0.5


def doubts_of_samples(X, labels, design):
    """Return Doubts about samples `X` (n_samples, n_features), labels and their order.

    ValueError where a sample is trained on and a copy of it is tested.
    """
    found = [
        same_order(labels.codes, labels.groups, labels.order),
        alike_neighbors(X, labels),
        copied_samples(X, labels, design),
    ]
    return tuple(doubt for doubt in found if doubt is not None)


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


def same_order(codes, groups, order=None):
    """Return a Doubt where classes come in (nearly) the same order in all runs."""
    agreement = order_agreement(codes, groups, order)
    if agreement is None:
        return None
    how = "the same" if agreement == 1 else "nearly the same"
    return Doubt(
        f"the classes come in {how} order in all runs",
        f"labels come in {how} order in all runs: whatever changes in the course of a "
        "run (drift, fatigue, habituation) then looks like a difference between "
        "classes, and makes p-values too small and e-values and lower bounds too "
        "large; if the samples are not listed in the order of acquisition, give "
        "fit(..., order=...) the time of every sample in its run",
    )


def order_agreement(codes, groups, order=None):
    """Return how much runs agree in the order of classes: 0 is chance, 1 one order.

    None if that is at most a half, or no more than in 99 random orders, or if there are
    fewer than two runs.
    """
    if groups is None:
        return None
    order = np.zeros(len(codes)) if order is None else order
    rows = np.lexsort((np.arange(len(codes)), order, groups))
    edges = np.flatnonzero(np.diff(np.unique(groups, return_inverse=True)[1][rows])) + 1
    runs = [codes[rows[a:b]] for a, b in pairwise([0, *edges, len(codes)])]
    if len(runs) < 2 or max(map(len, runs)) < 2:
        return None
    observed = _agreement(runs)
    rng = np.random.default_rng(0)
    chance = [
        _agreement([rng.permutation(run) for run in runs]) for _ in range(_SHUFFLES)
    ]
    mean = np.mean(chance)
    excess = (observed - mean) / (1 - mean) if mean < 1 else 0.0
    surely = observed == 1 or observed > max(chance)
    return float(excess) if surely and excess > _LARGE_AGREEMENT else None


def _agreement(runs):
    """Return the proportion of pairs of runs with the same class at a position."""
    position = np.concatenate([np.arange(len(run)) for run in runs])
    codes = np.concatenate(runs)
    counts = np.zeros((position.max() + 1, codes.max() + 1))
    np.add.at(counts, (position, codes), 1)
    n_runs = counts.sum(axis=1)
    pairs = (n_runs * (n_runs - 1)).sum()
    return float((counts * (counts - 1)).sum() / pairs) if pairs else 0.0


def alike_neighbors(X, labels):
    """Return a Doubt where neighboring samples correlate beyond their class and run.

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
    return Doubt(
        "neighboring samples of one class depend on each other (they correlate "
        f"{correlation:.2f} beyond their class and run)",
        f"neighboring samples of one class correlate ({correlation:.2f} beyond what "
        "their class and run have in common), as scans of one block or overlapping "
        "trials do; treated as independent, they make lower bounds too large and, "
        "unless their order was random, p-values too small: average them, or give "
        "blocks=... with one number per block",
    )


def neighbor_correlation(X, codes, groups):
    """Return the mean correlation of neighbors of a class in a run; None if small."""
    groups = np.zeros(len(codes), dtype=int) if groups is None else groups
    first = np.flatnonzero((codes[1:] == codes[:-1]) & (groups[1:] == groups[:-1]))
    if len(first) < _FEWEST_PAIRS:
        return None
    every = -(-X.shape[1] // _MOST_FEATURES)
    rest = np.asarray(X[:, ::every], dtype=np.float64)
    for column in (groups, codes):
        _, member, size = np.unique(column, return_inverse=True, return_counts=True)
        sums = np.zeros((len(size), rest.shape[1]))
        np.add.at(sums, member, rest)
        rest = rest - (sums / size[:, None])[member]
    spread = rest.std(axis=0)
    rest = rest[:, spread > 0] / spread[spread > 0]
    if not rest.shape[1]:
        return None
    products = np.einsum("if,if->i", rest[first], rest[first + 1]) / rest.shape[1]
    mean, error = products.mean(), products.std(ddof=1) / np.sqrt(len(products))
    surely = mean - _ERRORS * error > _SMALLEST_CORRELATION
    return float(mean) if surely else None


def copied_samples(X, labels, design):
    """Return a Doubt where samples are copies of others that train or test with them.

    ValueError where a sample trains and a copy of it is tested.
    """
    number = copies(X)
    check_copies(
        number,
        design.folds,
        "give every recording once (no image twice, no echo or other version of a run, "
        "no class made larger by repeating its samples), or give a sample and its "
        "copies one group",
    )
    if number is None:
        return None
    n_distinct = len(np.unique(number))
    units = labels.units
    if units is not None and len(np.unique(row_codes(number, units))) == n_distinct:
        return None  # copies share their block
    n_copies = len(number) - n_distinct
    return Doubt(
        f"{n_copies} of {len(number)} samples are copies of others",
        f"{n_copies} of {len(number)} samples are equal to others to the last bit; "
        "treated as independent, they make p-values too small and lower bounds too "
        "large: give each sample once (classes count equally however many samples "
        "they have), or give blocks=... with one number for a sample and its copies",
    )


_MOST_COLUMNS = 2000
_MOST_OTHERS = 200
_FEWEST_COLUMNS = 3
_DISCRETE_COLUMNS = 8
_CLOSE = 1e-4  # standard deviations within which rows that were centered are equal


def copies(X):
    """Return a number for every row of `X` (n_samples, n_features), shared by copies.

    None where no row is a copy. Equal rows count as copies if they cannot be equal by
    chance: if no other row shares most of their values (measurements are continuous),
    or, in data of few distinct values, if all others differ from them in many columns.
    Ratings or counts of a few neurons may be equal by chance, and are accepted.

    >>> X = np.random.default_rng(0).normal(size=(4, 5))
    >>> copies(X) is None, copies(X[[0, 1, 2, 0]]).tolist()
    (True, [0, 1, 2, 0])
    """
    if X.shape[1] < _FEWEST_COLUMNS:
        return None
    some = np.ascontiguousarray(X[:, :: -(-X.shape[1] // _MOST_COLUMNS)])
    hashes = [hash(row.tobytes()) for row in some]
    _, first, member = np.unique(hashes, return_index=True, return_inverse=True)
    number = first[member]
    later = [
        i
        for i in np.flatnonzero(number != np.arange(len(X)))
        if np.array_equal(X[i], X[number[i]])
    ]
    distinct = np.sort(first)
    found = np.arange(len(X))
    for i in later:
        if _stands_apart(some, number[i], distinct, len(X)):
            found[i] = number[i]
    return found if (found != np.arange(len(X))).any() else None


def _stands_apart(rows, row, distinct, n_rows):
    """Return whether a row differs too much from the others to be equal by chance."""
    others = rows[distinct[distinct != row][:_MOST_OTHERS]]
    if not len(others):
        return False
    differs = others != rows[row]
    continuous = 2 * differs.all(axis=0).sum() >= rows.shape[1]
    varied = 5 * len(distinct) >= n_rows
    return continuous or (varied and differs.sum(axis=1).min() >= _DISCRETE_COLUMNS)


def check_copies(number, folds, remedy):
    """Raise where a sample trains and a copy of it is tested.

    `number` is what :func:`copies` returned, `folds` pairs of arrays of samples, and
    `remedy` ends the message.
    """
    if number is None:
        return
    for fold, (train, test) in enumerate(folds, start=1):
        shared = np.intersect1d(number[train], number[test])
        if len(shared):
            one = train[number[train] == shared[0]][0]
            other = test[number[test] == shared[0]][0]
            raise ValueError(
                f"samples {min(one, other)} and {max(one, other)} are equal to the "
                f"last bit, but one trains and the other is tested (fold {fold} of "
                f"{len(folds)}), so that classes are told apart without any "
                f"information; {remedy}"
            )


def check_new_rows(trained, tested):
    """Raise where a row of `tested` is one of `trained`, both (n, n_features).

    Rows of at least eight features are equal if they agree to 1e-4 standard deviations
    in every feature, because both were centered and shifted back.
    """
    if trained.shape[1] < _DISCRETE_COLUMNS:
        return
    near = _CLOSE * trained.std(axis=0)
    order = np.argsort(trained[:, 0])
    ends = [tested[:, 0] - near[0], tested[:, 0] + near[0]]
    first, last = np.searchsorted(trained[order, 0], ends)
    for i in np.flatnonzero(first < last):
        rows = order[first[i] : last[i]]
        equal = (np.abs(trained[rows] - tested[i]) <= near).all(axis=1)
        if equal.any():
            raise ValueError(
                f"test response {i} is training response {rows[equal][0]}, so that it "
                "was not held out; give every response once, to train or to test"
            )


def check_copies_apart(X, units, what):
    """Raise where rows of `X` are copies but of different units, such as "stimuli"."""
    number = copies(X)
    if number is None:
        return
    for i in np.flatnonzero(units != units[number]):
        raise ValueError(
            f"samples {number[i]} and {i} are equal to the last bit, but of different "
            f"{what}, so that one trains and the other is tested; give each once"
        )
