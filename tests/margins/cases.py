"""Designs, labelings and regions on which the classifiers are tested."""

import numpy as np

from tests.margins.seam import Design, _paths

K = 3


def unequal_design(n=40, n_classes=K, seed=0, *, repeated=True):
    """Unequal folds, and splits whose test is not the complement of the training.

    The last two splits test samples that other folds test, and hold out more than they
    test; ``repeated`` leaves them in.
    """
    order = np.random.default_rng(seed).permutation(n)
    samples, cuts = np.arange(n), (n * 7 // 30, n * 18 // 30)
    tests = [np.sort(part) for part in np.split(order, cuts)]
    folds = [(np.setdiff1d(samples, test), test) for test in tests]
    if repeated:
        folds.append((np.sort(order[: n * 2 // 3]), np.sort(order[n * 3 // 4 : -2])))
        folds.append((np.sort(order[n // 5 :]), np.sort(order[:3])))
    return Design(tuple(folds), n, n_classes)


def labels(n_labelings, n=40, seed=1):
    """Random labelings with classes of unequal size, shape (n_labelings, n)."""
    first, second = n * 4 // 15, n * 3 // 10
    rng = np.random.default_rng(seed)
    codes = np.repeat(np.arange(K), [first, second, n - first - second])
    return np.stack([rng.permutation(codes) for _ in range(n_labelings)])


def correlated_regions(sizes, n=40, seed=2):
    """Correlated features, well enough conditioned to compare to rounding."""
    rng = np.random.default_rng(seed)
    mixes = [np.eye(p) + 0.5 * rng.standard_normal((p, p)) / p**0.5 for p in sizes]
    return [rng.standard_normal((n, len(mix))) @ mix + 3.0 for mix in mixes]


def take_path(monkeypatch, path):
    """Make the margins of all regions in one way of the table."""
    table = dict.fromkeys(_paths.TABLE, ((path,),))
    monkeypatch.setattr(_paths, "TABLE", table)


def feature_margins(kernel, X, codes, design):
    """Margins of every feature by itself, (n_features, n_test, K), in all folds."""
    everything = [slice(0, len(design.folds))]
    return next(iter(kernel.margins_of_folds(X, codes, design, everything)))
