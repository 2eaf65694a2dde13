"""Versions of runs, against their definition in double loops."""

import numpy as np
import pytest

from tests.design.seam import (
    _in_another_order,
    _pairs_of_runs,
    beyond,
    near_copies,
)


def trials(rng, n_runs, n_trials=12, n_classes=3, n_features=80):
    order = np.tile(np.arange(n_trials) % n_classes, (n_runs, 1))
    y = rng.permuted(order, axis=1).ravel()
    return (
        rng.normal(size=(len(y), n_features)),
        y,
        np.repeat(np.arange(n_runs), n_trials),
    )


def with_a_version(rng, n_runs, correlation=0.6, **options):
    """The last run holds the trials of the first, in another order."""
    X, y, runs = trials(rng, n_runs, **options)
    first, last = np.flatnonzero(runs == 0), np.flatnonzero(runs == n_runs - 1)
    rows = rng.permutation(first)
    rest = np.sqrt(1 - correlation**2)
    X[last], y[last] = correlation * X[rows] + rest * X[last], y[rows]
    return X, y, runs


def pictures(rng, n_runs, reliability=0.2):
    """The same four pictures of each class in all runs."""
    shown = np.concatenate([rng.permutation(12) for _ in range(n_runs)])
    X = np.sqrt(reliability) * rng.normal(size=(12, 80))[shown]
    X += np.sqrt(1 - reliability) * rng.normal(size=X.shape)
    return X, shown % 3, np.repeat(np.arange(n_runs), 12)


def naive_match(X, y, runs):
    """Return the runs that match in any order, and how well, sample by sample."""
    rest = X - np.stack([X[runs == run].mean(axis=0) for run in runs])
    rest -= np.stack([rest[y == k].mean(axis=0) for k in y])
    rest /= rest.std(axis=0)
    rest /= np.linalg.norm(rest, axis=1, keepdims=True)

    def matches(one, other, same):
        best, gains = [], []
        for here, there in ((one, other), (other, one)):
            for i in np.flatnonzero(runs == here):
                for k in np.unique(y):
                    if (k == y[i]) != same:
                        continue
                    seen = [
                        rest[i] @ rest[j]
                        for j in range(len(y))
                        if runs[j] == there and y[j] == k
                    ]
                    others = [
                        j for j in range(len(y)) if runs[j] == here and y[j] == y[i]
                    ]
                    if min(len(seen), len(others)) < 2:
                        continue
                    seen = sorted(seen)
                    best.append(seen[-1])
                    gains.append(seen[-1] - np.mean(seen[:-1]))
        return best, gains

    def spread(values):
        return (
            np.median(np.abs(np.array(values) - np.median(values))) / 0.6744897501960817
        )

    names, found, strangers = [], [], []
    for i, one in enumerate(np.unique(runs)):
        for other in np.unique(runs)[i + 1 :]:
            ours, theirs = sorted(y[runs == one]), sorted(y[runs == other])
            if ours == theirs and 1 < len(set(ours)) < len(ours):
                names.append((one, other))
                found.append(matches(one, other, True))
                strangers.append(matches(one, other, False)[1])
    if not found:
        return None, 0.0
    means = [np.mean(gains) for _, gains in found]
    top = int(np.argmax(means))
    best, gains = found[top]
    if len(found) < 6:
        if len(gains) < 16:
            return None, 0.0
        every = np.concatenate(strangers)
        needed = max(0.3, 6 * spread(every) / np.sqrt(len(gains) / 2))
        above = means[top] - np.mean(every)
    else:
        every = np.concatenate([gains for _, gains in found])
        error = spread(every) / np.sqrt(len(gains) / 2)
        needed = max(0.15, 6 * error, 6 * spread(means))
        above = means[top] - np.median(means)
    return (names[top], np.mean(best)) if above >= needed else (None, 0.0)


def uneven(rng, n_runs):
    """Runs of which some have other numbers of a class, and one a single class."""
    X, y, runs = with_a_version(rng, n_runs, 0.8)
    y[runs == 1], keep = 0, np.flatnonzero((runs != 2) | (y != 1))
    return X[keep], y[keep], runs[keep]


def seldom(rng, n_runs):
    return with_a_version(rng, n_runs, n_trials=6)


def one_class_each(rng, n_runs):
    """Every run holds one class: nothing tells a version from its class."""
    X, _, runs = trials(rng, n_runs)
    return X, runs % 2, runs


DESIGNS = {
    "one class in each run": one_class_each,
    "version": with_a_version,
    "weak version": lambda rng, n_runs: with_a_version(rng, n_runs, 0.4),
    "no version": trials,
    "pictures": pictures,
    "uneven": uneven,
    "few trials": seldom,
    "one trial of a class": lambda rng, n_runs: with_a_version(rng, n_runs, n_trials=3),
}


@pytest.mark.parametrize("n_runs", [2, 3, 4, 6])
@pytest.mark.parametrize("design", DESIGNS)
def test_versions_in_another_order_by_definition(design, n_runs):
    told = 0
    for seed in range(3):
        X, y, runs = DESIGNS[design](np.random.default_rng(seed), n_runs)
        names, seen = _in_another_order(list(_pairs_of_runs(*beyond(X, y, runs))))
        expected, value = naive_match(X, y, runs)
        assert names == expected
        assert seen == pytest.approx(value, abs=1e-12)
        told += names is not None
    if design == "version":
        assert told == 3
    if design in ("no version", "pictures", "one trial of a class"):
        assert told == 0
    if design == "few trials":
        assert (told > 0) == (n_runs > 3)


@pytest.mark.parametrize("n_copies", [2, 5, 6, 12])
def test_trials_given_several_times_are_nearly_equal(n_copies):
    """In a run any number of times; over runs as often only if few."""
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X, y, runs = trials(rng, 6, n_trials=4, n_classes=2)
        rows = rng.permutation(np.repeat(np.arange(24), n_copies))
        X = X[rows] + 0.1 * rng.normal(size=(len(rows), X.shape[1]))
        number = near_copies(*beyond(X, y[rows], runs[rows]))
        assert len(np.unique(number)) == 24
        assert len(np.unique(np.stack([number, rows]), axis=1).T) == 24
        spread_out = np.arange(len(rows)) % 6
        assert (near_copies(*beyond(X, y[rows], spread_out)) is None) == (n_copies > 5)
