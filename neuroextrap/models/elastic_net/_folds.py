"""What all targets share: centered fold Gram matrices, computed once."""

from typing import NamedTuple

import numpy as np

from neuroextrap.models._encoder_folds import partition_order


class FoldGrams(NamedTuple):
    """Training Gram matrices of every fold, then of all samples (last entry)."""

    # centered Gram matrices, (n_folds + 1, n_features, n_features)
    gram: np.ndarray
    # training means about the mean of all rows, (n_folds + 1, n_features)
    x_mean: np.ndarray
    # numbers of training rows, (n_folds + 1,)
    count: np.ndarray
    # rows sorted by the fold that tests them, (n_samples,)
    order: np.ndarray
    # fold f tests the rows order[start[f]:start[f + 1]], (n_folds + 1,)
    start: np.ndarray
    # per entry the rows that are not trained on (none for the last)
    excluded: tuple
    # centered features, rows in `order`, feature-major, (n_features, n_samples)
    features: np.ndarray


class Targets(NamedTuple):
    """What a solver needs of a block of targets, centered on training means."""

    # X'y of the training rows, (n_targets, n_folds + 1, n_features)
    products: np.ndarray
    # training means and sums of squares, (n_targets, n_folds + 1)
    y_mean: np.ndarray
    norm: np.ndarray
    # the targets in float64, rows in the order of the folds, (n_targets, n_samples)
    values: np.ndarray


def fold_grams(X, splits):
    """Compute the Gram matrix of every training fold as the total minus the left out.

    `X` (n_samples, n_features), float32 or float64, is centered on the mean of all
    rows. A ValueError tells if the test rows of `splits`, a list of (train, test), are
    not a partition of all rows, or a fold trains on fewer than two rows.

    >>> X = np.array([[-1.0], [0.0], [1.0], [0.0]])
    >>> folds = fold_grams(X, [([2, 3], [0, 1]), ([0, 1], [2, 3])])
    >>> folds.gram.ravel()
    array([0.5, 0.5, 2. ])
    """
    n_samples, n_features = X.shape
    order, start = partition_order(splits, n_samples)
    shape = (len(splits) + 1, n_features, n_features)
    gram = np.empty(shape, dtype=X.dtype)
    x_mean = np.zeros(shape[:2], dtype=X.dtype)
    np.matmul(X.T, X, out=gram[-1])
    counts, excluded = [], []
    for fold, (train, _) in enumerate(splits):
        left_out = np.setdiff1d(np.arange(n_samples), train)
        n_train = n_samples - left_out.size
        mean = -X[left_out].sum(axis=0, dtype=np.float64) / n_train
        x_mean[fold] = mean
        np.matmul(X[left_out].T, X[left_out], out=gram[fold])
        np.subtract(gram[-1], gram[fold], out=gram[fold])
        _subtract_outer(gram[fold], mean * np.sqrt(n_train))
        counts.append(n_train)
        excluded.append(left_out)
    return FoldGrams(
        gram=gram,
        x_mean=x_mean,
        count=np.array([*counts, n_samples]),
        order=order,
        start=start,
        excluded=(*excluded, np.empty(0, dtype=int)),
        features=np.ascontiguousarray(X[order].T),
    )


def prepare_targets(folds, X, Y):
    """Multiply the centered training features with the centered training targets.

    `X` and `Y` (n_samples, n_targets) are centered on their means over all samples,
    rows in their first order.
    """
    total = Y.T @ X
    shape = (Y.shape[1], len(folds.count))
    products = np.empty((*shape, X.shape[1]), dtype=X.dtype)
    y_mean, norm = np.empty(shape), np.empty(shape)
    for fold, (rows, count) in enumerate(zip(folds.excluded, folds.count, strict=True)):
        mean = -Y[rows].sum(axis=0, dtype=np.float64) / count
        y_mean[:, fold] = mean
        squares = (Y.astype(np.float64) ** 2).sum(axis=0)
        squares -= (Y[rows].astype(np.float64) ** 2).sum(axis=0)
        norm[:, fold] = squares - count * mean**2
        correction = np.outer(count * mean, folds.x_mean[fold])
        products[:, fold] = total - Y[rows].T @ X[rows] - correction
    values = np.ascontiguousarray(Y[folds.order].T, dtype=np.float64)
    return Targets(products, y_mean, norm, values)


def predict_fold(folds, targets, fold, which, weights):
    """Predict the rows that a fold tests, (n, n_test), for the targets `which` (n,).

    `weights` are their coefficients, (n, n_features).
    """
    rows = slice(folds.start[fold], folds.start[fold + 1])
    offset = targets.y_mean[which, fold] - weights @ folds.x_mean[fold]
    return weights @ folds.features[:, rows] + offset[:, None]


def _subtract_outer(matrix, vector, step=512):
    """Subtract vector vector' in place, in rows of `step` to save memory."""
    vector = vector.astype(matrix.dtype)
    for begin in range(0, len(vector), step):
        rows = slice(begin, begin + step)
        matrix[rows] -= np.outer(vector[rows], vector)
