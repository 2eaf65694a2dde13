"""Cross-validated distances between classes, and their comparison with models."""

import itertools

import numpy as np
import scipy.sparse
from scipy.stats import rankdata

METHODS = ("spearman", "kendall", "cosine")
"""How dissimilarities are compared with those of a model; "kendall" is tau-a."""

_MOST_SPLITS, _MOST_TRIED = 10, 200  # of the runs into halves
_MOST_FEATURES = 2**27  # numbers in the features of a model under all exchanges


def run_means(X, codes, run):
    """Average samples (n, n_features) of every class in every run.

    Returns means (n_runs, K, n_features), zero where a class is missing.
    """
    n_runs, n_classes = run.max() + 1, codes.max() + 1
    cell = run * n_classes + codes
    counts = np.bincount(cell, minlength=n_runs * n_classes)
    member = scipy.sparse.csr_array(
        (np.ones(len(cell), dtype=X.dtype), (cell, np.arange(len(cell)))),
        shape=(len(counts), len(cell)),
    )
    means = (member @ X) / np.maximum(counts, 1)[:, np.newaxis].astype(X.dtype)
    return means.reshape(n_runs, n_classes, -1)


def distance_operator(present):
    """Return the matrix that turns inner products of means into squared distances.

    `present` (n_runs, K) says which classes runs hold. With G the products of the means
    b_mi of run m and class i, the distance of classes i and j is the mean over ordered
    pairs of runs m != n that hold both ::

        d_ij = mean_(m != n) (b_mi - b_mj)' (b_ni - b_nj)

    A sparse array (K (K - 1) / 2, (n_runs K)^2), pairs of classes in the order of
    ``np.triu_indices(K, 1)``; a row is zero if fewer than two runs hold the pair.
    """
    n_runs, n_classes = present.shape
    pairs = np.transpose(np.triu_indices(n_classes, 1))
    both = present[:, pairs].all(axis=2)
    apart = ~np.eye(n_runs, dtype=bool)[..., np.newaxis]
    first, second, pair = np.nonzero(both[:, np.newaxis] & both & apart)
    share = 1 / np.bincount(pair, minlength=len(pairs))[pair]
    size = n_runs * n_classes
    total = scipy.sparse.csr_array((len(pairs), size * size))
    for one, other in itertools.product((0, 1), repeat=2):
        where = (first * n_classes + pairs[pair, one]) * size
        where += second * n_classes + pairs[pair, other]
        entries = share if one == other else -share, (pair, where)
        total += scipy.sparse.csr_array(entries, shape=total.shape)
    return total


def halves(present, seed):
    """Return up to ten splits of the runs into halves that both have all distances.

    A list of pairs of `present` (n_runs, K), each with the runs of one half only; of
    halves of equal size only the one with the first run comes first.
    """
    n_runs, rng, splits = len(present), np.random.default_rng(seed), {}
    for _ in range(_MOST_TRIED):
        one = np.isin(np.arange(n_runs), rng.permutation(n_runs)[: n_runs // 2])
        one = ~one if 2 * one.sum() == n_runs and not one[0] else one
        parts = tuple(present & half[:, np.newaxis] for half in (one, ~one))
        if all((runs_together(part) >= 2).all() for part in parts):
            splits[one.tobytes()] = parts
        if len(splits) == _MOST_SPLITS:
            break
    return list(splits.values())


def runs_together(present):
    """Count the runs that hold both classes of every pair, (K (K - 1) / 2,)."""
    together = present.T.astype(int) @ present
    return together[np.triu_indices(len(together), 1)]


def comparison_features(values, method):
    """Turn dissimilarities (n, n_pairs) into vectors whose products compare them.

    Inner products of the rows returned are Spearman correlations, Kendall's tau-a, or
    cosines. A row without variation is zero.
    """
    if method == "kendall":
        first, second = np.triu_indices(values.shape[1], 1)
        signs = np.sign(values[:, first] - values[:, second])
        return signs / np.sqrt(max(1, len(first)))
    if method == "spearman":
        values = rankdata(values, axis=1)
        values = values - values.mean(axis=1, keepdims=True)
    length = np.sqrt(np.square(values).sum(axis=1, keepdims=True))
    return values / np.where(length > 0, length, np.inf)


def model_features(model, orders, method):
    """Return the features of a model (K, K), as it is and with classes exchanged.

    Shape (n_features, 1 + n_permutations). ValueError if they are too many.
    """
    i, j = np.triu_indices(len(model), 1)
    size = len(i) * (len(i) - 1) // 2 if method == "kendall" else len(i)
    if size * (1 + len(orders)) > _MOST_FEATURES:
        raise ValueError(
            f"method={method!r} needs too much memory for {len(model)} classes and "
            f"{len(orders)} permutations; use method='spearman'"
        )
    every = np.concatenate([np.arange(len(model))[np.newaxis], orders])
    return comparison_features(model[every[:, i], every[:, j]], method).T


def ceiling_of_halves(values, method):
    """Return the agreement with measured distances that a true model reaches, (n,).

    `values` (n, 1 + 2 n_splits, n_pairs) are the distances, then those of pairs of
    halves of the runs, whose noise is independent: their products are those of the true
    distances, on average. The true distances then correlate with the measured ones by
    the root of that over the squares of these; the mean is subtracted unless the
    `method` is the cosine. NaN without halves.
    """
    if values.shape[1] == 1:
        return np.full(len(values), np.nan)
    about = values - (method != "cosine") * values.mean(axis=2, keepdims=True)
    true = (about[:, 1::2] * about[:, 2::2]).sum(axis=2).mean(axis=1)
    total = np.square(about[:, 0]).sum(axis=1)
    share = np.divide(true, total, out=np.zeros_like(total), where=total > 0)
    return np.sqrt(np.clip(share, 0, 1))
