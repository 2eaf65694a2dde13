"""What all targets share: centered Gram matrices of the training sets, computed once.

A training set is that of a fold; the last model of a target is trained on all samples.
"""

from typing import NamedTuple

import numpy as np

from neuroextrap.models._splitters import partition_order
from neuroextrap.stats._validation import batches

# rows of a Gram matrix that are changed at once: products of them stay small
_STEP = 512
# units of a rounded Gram matrix in a correlation of one
_UNITS = 2**15 - 1
# share of its variance below which a feature counts as constant in a fold
_CONSTANT = 1e-12


class TrainingGrams(NamedTuple):
    """Gram matrices and means of some training sets.

    Rows are sorted by the fold that tests them: set f is tested on those from
    ``start[f]`` to ``start[f + 1]``, and not trained on those in ``excluded[f]``. Where
    Gram matrices are rounded to int16, they are times ``scale`` of row and column.
    """

    gram: np.ndarray  # centered, (n_sets, n_features, n_features)
    x_mean: np.ndarray  # about the mean of all rows, (n_sets, n_features)
    n_rows: np.ndarray  # numbers of training rows, (n_sets,)
    order: np.ndarray  # of the rows, (n_samples,)
    start: np.ndarray  # (n_sets + 1,)
    excluded: tuple  # places in the order, or a slice of them
    features: np.ndarray  # centered, rows in order, (n_features, n_samples)
    scale: np.ndarray | None = None  # (n_sets, n_features)


class Targets(NamedTuple):
    """What a solver needs of a block of targets, centered on training means."""

    total: np.ndarray  # X'y of all rows, (n_targets, n_features)
    products: np.ndarray  # of each training set, (n_targets, n_sets, n_features)
    y_mean: np.ndarray  # training means, (n_targets, n_sets)
    norm: np.ndarray  # and sums of squares, (n_targets, n_sets)
    values: np.ndarray  # float64, rows in the order of the folds, (n_targets, n)


def fold_grams(X, splits, rounded=False):
    """Compute the Gram matrix of every training fold as the total minus the left out.

    `X` (n_samples, n_features), float32 or float64, is centered on the mean of all
    rows. With `rounded`, correlations are kept in 16 bits.

    >>> X = np.array([[-1.0], [0.0], [1.0], [0.0]])
    >>> folds = fold_grams(X, [([2, 3], [0, 1]), ([0, 1], [2, 3])])
    >>> folds.gram.ravel()
    array([0.5, 0.5])
    """
    n_samples, n_features = X.shape
    order, start = partition_order(splits, n_samples)
    place = np.argsort(order)
    features = np.ascontiguousarray(X[order].T)
    x_mean = np.empty((len(splits), n_features), dtype=X.dtype)
    counts, excluded = [], []
    for fold, (train, _) in enumerate(splits):
        left_out = np.setdiff1d(np.arange(n_samples), train)
        rows, n_train = _places(place[left_out]), n_samples - left_out.size
        x_mean[fold] = -features[:, rows].sum(axis=1, dtype=np.float64) / n_train
        counts.append(n_train)
        excluded.append(rows)
    folds = TrainingGrams(
        gram=np.empty((0, n_features, n_features)),
        x_mean=x_mean,
        n_rows=np.array(counts),
        order=order,
        start=start,
        excluded=tuple(excluded),
        features=features,
    )
    return _with_grams(folds, rounded)


def _with_grams(folds, rounded):
    """Compute the Gram matrices; rounded, one has full precision at a time."""
    features, n_sets = folds.features, len(folds.n_rows)
    total, squares = features @ features.T, _sums_of_squares(features)
    gram = np.empty((n_sets, *total.shape), np.int16 if rounded else total.dtype)
    scale = np.empty((n_sets, len(features)), dtype=features.dtype)
    for fold in range(n_sets):
        columns = _columns(folds, fold)
        if rounded:
            scale[fold] = _scale(squares - _sums_of_squares(columns), squares)
        for rows in batches(len(total), _STEP):
            values = total[rows] - columns[rows] @ columns.T
            if rounded:
                values = _rounded(values, scale[fold, rows], scale[fold])
            gram[fold, rows] = values
    return folds._replace(gram=gram, scale=scale if rounded else None)


def all_samples(folds):
    """Return the training set of all rows, made from that of the first fold.

    >>> X = np.array([[-1.0], [0.0], [1.0], [0.0]])
    >>> folds = fold_grams(X, [([2, 3], [0, 1]), ([0, 1], [2, 3])])
    >>> all_samples(folds).gram.ravel()
    array([2.])
    """
    gram, columns, scale = folds.gram[0].copy(), _columns(folds, 0), None
    if folds.scale is not None:
        squares = _sums_of_squares(folds.features)
        scale = _scale(squares, squares)[None].astype(folds.scale.dtype)
    for rows in batches(len(gram), _STEP):
        added = columns[rows] @ columns.T
        if scale is None:
            gram[rows] += added
        else:
            added += gram[rows] * folds.scale[0, rows, None] * folds.scale[0]
            gram[rows] = _rounded(added, scale[0, rows], scale[0])
    n_features, n_samples = folds.features.shape
    return folds._replace(
        gram=gram[None],
        scale=scale,
        x_mean=np.zeros((1, n_features), dtype=columns.dtype),
        n_rows=np.array([n_samples]),
        start=np.array([0]),
        excluded=(np.empty(0, dtype=int),),
    )


def prepare_targets(folds, Y):
    """Multiply centered training features with targets (n_samples, n_targets)."""
    values, X = Y[folds.order].T, folds.features.T
    total = values.astype(X.dtype) @ X
    shape = (Y.shape[1], len(folds.n_rows))
    products = np.empty((*shape, X.shape[1]), dtype=X.dtype)
    y_mean, norm = np.empty(shape), np.empty(shape)
    values = np.ascontiguousarray(values, dtype=np.float64)
    squares = (values**2).sum(axis=1)
    sets = zip(folds.excluded, folds.n_rows, strict=True)
    for fold, (rows, count) in enumerate(sets):
        out = values[:, rows]
        mean = -out.sum(axis=1) / count
        y_mean[:, fold] = mean
        norm[:, fold] = squares - (out**2).sum(axis=1) - count * mean**2
        correction = np.outer(count * mean, folds.x_mean[fold])
        left_out = folds.features[:, rows]
        products[:, fold] = total - out.astype(X.dtype) @ left_out.T - correction
    return Targets(total, products, y_mean, norm, values)


def predict_fold(folds, targets, fold, which, weights):
    """Predict the rows that a fold tests, (n, n_test), for the targets `which` (n,)."""
    rows = slice(folds.start[fold], folds.start[fold + 1])
    offset = targets.y_mean[which, fold] - weights @ folds.x_mean[fold]
    return weights @ folds.features[:, rows] + offset[:, None]


def _places(rows):
    """Sort places; a slice where they are neighbors, which is read without a copy."""
    rows = np.sort(rows)
    begin, stop = rows[0], rows[-1] + 1
    return slice(int(begin), int(stop)) if stop - begin == rows.size else rows


def _columns(folds, fold):
    """Columns C (n_features, n_columns): a fold's Gram matrix is the total less CC'."""
    left_out = folds.features[:, folds.excluded[fold]]
    mean = np.sqrt(folds.n_rows[fold]) * folds.x_mean[fold][:, None]
    columns = np.concatenate([left_out, mean], axis=1)
    return np.ascontiguousarray(columns, dtype=left_out.dtype)


def _sums_of_squares(features):
    """Sum the squares of every feature (n_features, n) in float64."""
    return np.einsum("ij,ij->i", features, features, dtype=np.float64)


def _scale(squares, total):
    """Scale of features with these sums of squares: zero where they are constant."""
    return np.sqrt(np.where(squares > _CONSTANT * total, squares, 0.0) / _UNITS)


def _rounded(values, rows, columns):
    """Round some rows of a Gram matrix; `values` is overwritten."""
    for scale, axis in ((rows, 1), (columns, 0)):
        inverse = np.divide(1, scale, out=np.zeros_like(scale), where=scale > 0)
        values *= np.expand_dims(inverse, axis)
    np.clip(np.rint(values, out=values), -_UNITS, _UNITS, out=values)
    return values.astype(np.int16)
