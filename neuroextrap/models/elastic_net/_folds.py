"""What all targets share: centered Gram matrices of the training sets, computed once.

A training set is that of a fold; the last model of a target is trained on all samples.
"""

from typing import NamedTuple

import numpy as np

from neuroextrap.models._encoder_folds import partition_order

# rows of a Gram matrix that are changed at once: products of them stay small
_STEP = 512


class TrainingGrams(NamedTuple):
    """Gram matrices and means of some training sets."""

    # centered Gram matrices, (n_sets, n_features, n_features)
    gram: np.ndarray
    # training means about the mean of all rows, (n_sets, n_features)
    x_mean: np.ndarray
    # numbers of training rows, (n_sets,)
    count: np.ndarray
    # rows sorted by the fold that tests them, (n_samples,)
    order: np.ndarray
    # set f is tested on the rows order[start[f]:start[f + 1]], (n_sets + 1,)
    start: np.ndarray
    # per set its rows that are not trained on, as places in `order`
    excluded: tuple
    # centered features, rows in `order`, feature-major, (n_features, n_samples)
    features: np.ndarray


class Targets(NamedTuple):
    """What a solver needs of a block of targets, centered on training means."""

    # X'y of all rows, (n_targets, n_features), and of each training set, (n_targets,
    # n_sets, n_features)
    total: np.ndarray
    products: np.ndarray
    # training means and sums of squares, (n_targets, n_sets)
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
    array([0.5, 0.5])
    """
    n_samples, n_features = X.shape
    order, start = partition_order(splits, n_samples)
    place = np.argsort(order)
    features = np.ascontiguousarray(X[order].T)
    gram = np.empty((len(splits), n_features, n_features), dtype=X.dtype)
    x_mean = np.empty((len(splits), n_features), dtype=X.dtype)
    np.matmul(features, features.T, out=gram[0])
    counts, excluded = [], []
    # the first holds the total until all others are made
    for fold in [*range(1, len(splits)), 0]:
        left_out = np.setdiff1d(np.arange(n_samples), splits[fold][0])
        rows, n_train = np.sort(place[left_out]), n_samples - left_out.size
        mean = -features[:, rows].sum(axis=1, dtype=np.float64) / n_train
        x_mean[fold] = mean
        if fold:
            np.copyto(gram[fold], gram[0])
        _add_rows(gram[fold], features[:, rows], x_mean[fold], -1.0, n_train)
        counts.append(n_train)
        excluded.append(rows)
    return TrainingGrams(
        gram=gram,
        x_mean=x_mean,
        count=np.array([counts[-1], *counts[:-1]]),
        order=order,
        start=start,
        excluded=(excluded[-1], *excluded[:-1]),
        features=features,
    )


def all_samples(folds):
    """Return the training set of all rows, made from that of the first fold.

    >>> X = np.array([[-1.0], [0.0], [1.0], [0.0]])
    >>> folds = fold_grams(X, [([2, 3], [0, 1]), ([0, 1], [2, 3])])
    >>> all_samples(folds).gram.ravel()
    array([2.])
    """
    gram, rows = folds.gram[0].copy(), folds.excluded[0]
    _add_rows(gram, folds.features[:, rows], folds.x_mean[0], 1.0, folds.count[0])
    n_features, n_samples = folds.features.shape
    return folds._replace(
        gram=gram[None],
        x_mean=np.zeros((1, n_features), dtype=gram.dtype),
        count=np.array([n_samples]),
        start=np.array([0]),
        excluded=(np.empty(0, dtype=int),),
    )


def prepare_targets(folds, Y):
    """Multiply the centered training features with the centered training targets.

    `Y` (n_samples, n_targets) is centered on its means over all samples, rows in their
    first order.
    """
    values, X = Y[folds.order].T, folds.features.T
    total = values.astype(X.dtype) @ X
    shape = (Y.shape[1], len(folds.count))
    products = np.empty((*shape, X.shape[1]), dtype=X.dtype)
    y_mean, norm = np.empty(shape), np.empty(shape)
    values = np.ascontiguousarray(values, dtype=np.float64)
    squares = (values**2).sum(axis=1)
    for fold, (rows, count) in enumerate(zip(folds.excluded, folds.count, strict=True)):
        out = values[:, rows]
        mean = -out.sum(axis=1) / count
        y_mean[:, fold] = mean
        norm[:, fold] = squares - (out**2).sum(axis=1) - count * mean**2
        correction = np.outer(count * mean, folds.x_mean[fold])
        products[:, fold] = total - out.astype(X.dtype) @ X[rows] - correction
    return Targets(total, products, y_mean, norm, values)


def predict_fold(folds, targets, fold, which, weights):
    """Predict the rows that a fold tests, (n, n_test), for the targets `which` (n,).

    `weights` are their coefficients, (n, n_features).
    """
    rows = slice(folds.start[fold], folds.start[fold + 1])
    offset = targets.y_mean[which, fold] - weights @ folds.x_mean[fold]
    return weights @ folds.features[:, rows] + offset[:, None]


def _add_rows(gram, features, mean, sign, count):
    """Add `sign` times what rows contribute to a centered Gram matrix, in place.

    `features` (n_features, n_rows) are those rows, `mean` (n_features,) is the mean of
    the `count` others, about the mean of all.
    """
    columns = np.concatenate([features, np.sqrt(count) * mean[:, None]], axis=1)
    columns = np.ascontiguousarray(columns, dtype=gram.dtype)
    for begin in range(0, len(gram), _STEP):
        rows = slice(begin, begin + _STEP)
        gram[rows] += (sign * columns[rows]) @ columns.T
