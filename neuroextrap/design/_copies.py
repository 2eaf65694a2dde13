"""Runs and samples that are copies of others, or nearly so."""

from itertools import combinations, product

import numpy as np
from scipy.sparse.csgraph import connected_components
from scipy.stats import median_abs_deviation

from neuroextrap.design._findings import (
    BOUNDS,
    EVERYTHING,
    P_VALUES,
    TOO_OPTIMISTIC,
    Finding,
)
from neuroextrap.design._folds import (
    centered_within,
    is_nested,
    of_unit_length,
    some_columns,
)

SERIES_COLUMNS = 500
"""Columns of every series that are compared, at most."""
_FEWEST_VOLUMES = 20
_FEWEST_DIRECTIONS = 8  # in which changes vary; fewer are those of a noiseless model
_LONGEST_OFFSET = 10  # volumes that one of two copies may lack at its beginning
_SHARED = 0.3  # mean correlation of changes that marks copies among other runs,
_SHARED_BY_ALL = 0.7  # and where all are alike, as events at the same times make them
_ERRORS = 6.0


def check_series_apart(series, names):
    """Raise where two of the series (n_volumes, n_columns) are one acquisition.

    Changes of copies correlate in most volumes; those of independent runs do so only
    where the same event begins or ends.
    """
    changes = [np.diff(each, axis=0) for each in series]
    changes = [of_unit_length(each - each.mean(axis=0), 0, np.nan) for each in changes]
    shared_changes = {
        (i, j): _shared_changes(changes[i], changes[j])
        for i, j in combinations(range(len(series)), 2)
    }
    least = min(shared_changes.values(), default=0.0)
    for (i, j), shared in shared_changes.items():
        if shared > (_SHARED if least < shared / 2 else _SHARED_BY_ALL):
            raise ValueError(
                f"{names[i]} and {names[j]} are one acquisition (changes from volume "
                f"to volume correlate by {shared:.2f} over voxels), so that one would "
                "train and the other be tested; give every acquisition once (no echo, "
                "part or other version of a run)"
            )


def _shared_changes(first, second):
    """Return the largest median correlation of changes at small offsets, or 0."""
    n_rows = min(len(first), len(second))
    finite = np.isfinite(first[:1] + second[:1]).ravel()
    if n_rows < _FEWEST_VOLUMES or finite.sum() < _FEWEST_DIRECTIONS:
        return 0.0
    first, second = (of_unit_length(each[:, finite], 1) for each in (first, second))
    n_directions = min(1 / np.square(each @ each.T).mean() for each in (first, second))
    products = first @ second.T
    offsets = range(-_LONGEST_OFFSET, _LONGEST_OFFSET + 1)
    shared = max(np.median(np.diagonal(products, offset)) for offset in offsets)
    chance = _ERRORS * (n_rows * n_directions) ** -0.5
    return shared if n_directions >= _FEWEST_DIRECTIONS and shared > chance else 0.0


_MOST_COLUMNS = 2000
_MOST_OTHERS = 200
_FEWEST_COLUMNS = 3
_DISCRETE_COLUMNS = 8
_CLOSE = 1e-4  # standard deviations within which rows that were centered are equal
_MOST_SAMPLES = 2000  # more are searched for copies to the last bit only
_NEAR = 0.95  # correlation at which samples are nearly equal
_APART = 0.7  # highest that those may have that are not copies
_MOST_COPIES = 4
_MOST_RUNS = 100  # more are not compared
_FEWEST_MATCHED = 3  # samples of two runs that may be versions of one,
_MATCHED = 0.15  # and correlation that marks them: less hardly raises levels
_FEWEST_PAIRS = 6  # of runs, among which versions in another order stand out
_MATCHED_OF_FEW = 0.3  # where there are fewer: pictures are hardly that reliable,
_FEWEST_MATCHES = 16  # and fewer samples match by chance
_CHANCE = 1e-3  # share of near pairs that may come that near by chance
_GIVE_ONCE = (
    "give every recording once (no image twice, no echo or other version of a run, no "
    "class made larger by repeating its samples), or give a sample and its copies one "
    "group"
)


def copied_samples(X, rest, labels, design):
    """Return a Finding where samples are (nearly) copies of others, else None.

    `rest` are some of their columns without the means of class and run.
    """
    number, how = copies(X), "equal to the last bit"
    if number is None:
        number, how = near_copies(rest, labels), "nearly equal"
    if number is None:
        return matched_runs(rest, labels)
    for fold, (train, test) in enumerate(design.folds, start=1):
        shared = np.intersect1d(number[train], number[test])
        if len(shared):
            one = train[number[train] == shared[0]][0]
            other = test[number[test] == shared[0]][0]
            because = (
                f"samples {min(one, other)} and {max(one, other)} are {how}, but one "
                f"trains and the other is tested (fold {fold} of {len(design.folds)})"
            )
            effect = "classes would be told apart without any information"
            seen = "equal_samples", "refused", float(len(shared)), EVERYTHING
            return Finding(*seen, because, effect, _GIVE_ONCE)
    if labels.units is not None and is_nested(number, labels.units):
        return None  # copies share their block
    n_copies = len(number) - len(np.unique(number))
    because = f"{n_copies} of {len(number)} samples are {how} to others before them"
    remedy = (
        "give each sample once (classes count equally however many samples they have), "
        "or give blocks=... with one number for a sample and its copies"
    )
    seen = "equal_samples", "doubtful", float(n_copies), P_VALUES + BOUNDS
    return Finding(*seen, because, TOO_OPTIMISTIC, remedy)


def matched_runs(rest, labels):
    """Return a Finding where two runs are versions of one acquisition, else None.

    What a class has in common in two runs is taken off, as sessions have patterns too.
    """
    pairs = list(_pairs_of_runs(rest, labels))
    for how, order, alike in (
        ("one by one (by {:.2f} beyond class and run)", "the same", _in_one_order),
        ("by {:.2f} with their best match", "another", _in_another_order),
    ):
        names, seen = alike(pairs)
        if names is not None:
            because = (
                f"the samples of runs {names[0]} and {names[1]} correlate "
                f"{how.format(seen)}, as echoes or other versions of one acquisition "
                f"do, or the same pictures in {order} order"
            )
            remedy = "give every acquisition once, or give both runs one group"
            what = "equal_samples", "doubtful", float(seen), EVERYTHING
            return Finding(*what, because, TOO_OPTIMISTIC, remedy)
    return None


def _pairs_of_runs(rest, labels):
    """Yield the names of two runs, correlations (n, m) of their samples, and codes."""
    codes, groups = labels.codes, labels.groups
    if groups is None or len(rest) > _MOST_SAMPLES or rest.shape[1] < _FEWEST_COLUMNS:
        return
    rows, run = labels.in_time
    runs = np.split(rows, np.flatnonzero(np.diff(run)) + 1)
    runs = [rows for rows in runs if len(rows) >= _FEWEST_MATCHED]
    if len(runs) > _MOST_RUNS:
        return
    rest = of_unit_length(rest, axis=1)
    for a, b in combinations(runs, 2):
        names = groups[a[0]], groups[b[0]]
        yield names, rest[a] @ rest[b].T, codes[a], codes[b]


def _in_one_order(pairs):
    """Return the names of runs whose samples match one by one, and how well."""
    matches, every, others = [], {}, []
    for names, products, first, second in pairs:
        others.append(products[first[:, None] != second])
        if len(first) == len(second):
            seen, *neighbors = (np.diagonal(products, k).mean() for k in (0, -1, 1))
            rest = products[
                (first[:, None] == second) & ~np.eye(len(first), dtype=bool)
            ]
            if len(rest):  # what a class has in common in these two runs alone
                seen -= max(0.0, rest.mean())
            every[names] = seen
            if (first == second).all():
                error = np.sqrt(2 / len(first))
                matches.append((seen, max(neighbors), error, names, len(rest) > 0))
    apart = np.concatenate([*others, []])
    if not matches or not len(apart):
        return None, 0.0
    spread = median_abs_deviation(apart, scale="normal")
    usual = np.median(list(every.values())) if len(every) > 1 else 0.0
    seen, neighbors, error, names, has_rest = max(matches, key=lambda each: each[0])
    partners = [every[two] for two in every if len(set(two) & set(names)) == 1]
    chance = usual + _MATCHED, max(usual, neighbors) + _ERRORS * spread * error
    if seen < max(chance) or not (has_rest or seen >= max([*partners, 0.0]) + _MATCHED):
        return None, 0.0  # a run that resembles several is of their session
    return names, seen


def _in_another_order(pairs):
    """Return the names of runs whose samples match in any order, and how well."""
    pairs = [
        (names, products, first, second)
        for names, products, first, second in pairs
        if np.array_equal(np.sort(first), np.sort(second))
        and 1 < len(np.unique(first)) < len(first)
    ]
    if not pairs:
        return None, 0.0
    matches = [_best_matches(*pair[1:]) for pair in pairs]
    means = np.array([gains.mean() for _, gains in matches])
    best, gains = matches[means.argmax()]
    least, usual, spread = _MATCHED, np.median(means), 0.0
    others = [gains for _, gains in matches]
    if len(matches) < _FEWEST_PAIRS:
        if len(gains) < _FEWEST_MATCHES:
            return None, 0.0
        least = _MATCHED_OF_FEW
        others = [_best_matches(*pair[1:], same=False)[1] for pair in pairs]
        usual = np.mean(np.concatenate(others))
    else:
        spread = median_abs_deviation(means, scale="normal")
    every = np.concatenate(others)
    error = median_abs_deviation(every, scale="normal") / np.sqrt(len(gains) / 2)
    if means.max() - usual < max(least, _ERRORS * max(error, spread)):
        return None, 0.0
    return pairs[means.argmax()][0], best.mean()


def _best_matches(products, first, second, *, same=True):
    """Return the best match of every sample in a class, and by how much it is best.

    Both (2 m,), of correlations (n, n) of samples with the classes `first` and
    `second`. Matches in other classes than the `same` cannot be versions.
    """
    best, gains = [np.empty(0)], [np.empty(0)]
    for one, other in product(np.flatnonzero(np.bincount(first) > 1), repeat=2):
        if (one == other) == same:
            within = products[np.ix_(first == one, second == other)]
            for own in (np.sort(within, axis=0), np.sort(within.T, axis=0)):
                best.append(own[-1])
                gains.append(own[-1] - own[:-1].mean(axis=0))
    return np.concatenate(best), np.concatenate(gains)


def near_copies(rest, labels):
    """Return a number for every sample, shared by those nearly equal; None if no two.

    Those correlate above .95 beyond the means of class and run, others not above .7.
    """
    if len(rest) > _MOST_SAMPLES:
        return None
    codes, groups, n = labels.codes, labels.groups, len(rest)
    gram = rest @ rest.T
    directions = np.trace(gram) ** 2 / max((gram**2).sum(), np.finfo(float).tiny)
    length = np.sqrt(np.diag(gram))
    with np.errstate(divide="ignore", invalid="ignore"):
        correlation = gram / (length[:, None] * length)
    np.fill_diagonal(correlation, np.nan)
    near = correlation > _NEAR  # NaN: False
    alike = correlation > _APART
    few = alike.sum(axis=1) <= _MOST_COPIES
    if groups is not None:
        copied = near & (groups[:, None] == groups)
        few |= (alike == copied).all(axis=1)
    near &= few[:, None] & few
    by_chance = n * (n - 1) * (1 - _NEAR**2) ** ((directions - 1) / 2)
    if by_chance > _CHANCE * near.sum():
        return None
    # samples alone in their run are alike once means are subtracted, whatever they were
    rows = np.flatnonzero(near.any(axis=1))
    noise = centered_within(np.eye(n), codes, groups)[rows]
    length = np.linalg.norm(noise, axis=1)
    near[np.ix_(rows, rows)] &= noise @ noise.T <= _APART * length[:, None] * length
    if not near.any():
        return None
    return connected_components(near)[1]


def copies(X):
    """Return a number for every row of `X`, shared by copies; None if there are none.

    Rows that may be equal by chance, as ratings or counts of few neurons, are none.
    """
    if X.shape[1] < _FEWEST_COLUMNS:
        return None
    some = np.ascontiguousarray(some_columns(X, _MOST_COLUMNS))
    if some.shape[1] < _DISCRETE_COLUMNS and (some == np.rint(some)).all():
        return None  # a few whole numbers
    hashes = [hash(row.tobytes()) for row in some]
    _, first, member = np.unique(hashes, return_index=True, return_inverse=True)
    number = first[member]
    distinct, copied = np.sort(first), np.arange(len(X))
    for i in np.flatnonzero(number != copied):
        same = np.array_equal(X[i], X[number[i]])
        if same and _stands_apart(some, number[i], distinct):
            copied[i] = number[i]
    return copied if (copied != np.arange(len(X))).any() else None


def _stands_apart(rows, row, distinct):
    """Return whether a row differs too much from the others to be equal by chance."""
    others = rows[distinct[distinct != row][:_MOST_OTHERS]]
    if not len(others):
        return False
    differs = others != rows[row]
    continuous = 2 * differs.all(axis=0).sum() >= rows.shape[1]
    varied = 5 * len(distinct) >= len(rows)
    return continuous or (varied and differs.sum(axis=1).min() >= _DISCRETE_COLUMNS)


def check_new_rows(trained, tested):
    """Raise where a row of `tested` (n, n_features) is nearly one of `trained`."""
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
