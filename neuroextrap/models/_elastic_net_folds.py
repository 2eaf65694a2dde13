"""What all voxels share: centered fold Gram matrices, computed once."""

from typing import NamedTuple

import numpy as np


class FoldGrams(NamedTuple):
    """Training Gram matrices of every fold, then of all samples (last entry).

    Attributes
    ----------
    gram : ndarray, shape (n_folds + 1, n_features, n_features)
        Centered Gram matrices of the training rows; the last one is of all rows.
    x_mean : ndarray, shape (n_folds + 1, n_features)
        Training means, about the mean of all rows.
    count : ndarray, shape (n_folds + 1,)
        Number of training rows.
    order : ndarray, shape (n_samples,)
        Rows sorted by the fold that tests them.
    start : ndarray, shape (n_folds + 1,)
        Fold f tests the rows ``order[start[f]:start[f + 1]]``.
    excluded : tuple of ndarray
        Per entry the rows that are not trained on (none for the last).
    features : ndarray, shape (n_features, n_samples)
        Centered features, rows in `order`, feature-major.
    """

    gram: np.ndarray
    x_mean: np.ndarray
    count: np.ndarray
    order: np.ndarray
    start: np.ndarray
    excluded: tuple
    features: np.ndarray


class Targets(NamedTuple):
    """What a solver needs of a block of targets, centered.

    Attributes
    ----------
    products : ndarray, shape (n_targets, n_folds + 1, n_features)
        X'y of the training rows, both centered on training means.
    y_mean : ndarray, shape (n_targets, n_folds + 1)
        Training means of the targets.
    norm : ndarray, shape (n_targets, n_folds + 1)
        Sum of squares of the centered training targets.
    values : ndarray, shape (n_targets, n_samples)
        The targets in float64, rows in the order of the folds.
    """

    products: np.ndarray
    y_mean: np.ndarray
    norm: np.ndarray
    values: np.ndarray


def fold_grams(X, splits):
    """Compute the Gram matrix of every training fold as total minus the left out.

    Parameters
    ----------
    X : ndarray, shape (n_samples, n_features)
        Features, float32 or float64, already centered on the mean of all rows.
    splits : list of (train, test)
        Row indices. The test rows must form a partition of all rows.

    Returns
    -------
    folds : FoldGrams
        One entry a fold and one for all samples.

    Raises
    ------
    ValueError
        If the test rows are not a partition, or a fold has fewer than two training
        rows.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[-1.0], [0.0], [1.0], [0.0]])
    >>> folds = fold_grams(X, [([2, 3], [0, 1]), ([0, 1], [2, 3])])
    >>> folds.gram.ravel()
    array([0.5, 0.5, 2. ])
    """
    n_samples, n_features = X.shape
    order, start = _check_partition(splits, n_samples)
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
    """Products of the centered training features with centered training targets.

    Parameters
    ----------
    folds : FoldGrams
        From `fold_grams`.
    X : ndarray, shape (n_samples, n_features)
        Centered features, rows in their first order.
    Y : ndarray, shape (n_samples, n_targets)
        Targets centered on their mean over all samples.

    Returns
    -------
    targets : Targets
        Products, means, sums of squares and values.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[-1.0], [0.0], [1.0], [0.0]])
    >>> folds = fold_grams(X, [([2, 3], [0, 1]), ([0, 1], [2, 3])])
    >>> prepare_targets(folds, X, 2 * X).products.ravel()
    array([1., 1., 4.])
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
    """Predict the rows that a fold tests.

    Parameters
    ----------
    folds : FoldGrams
        From `fold_grams`.
    targets : Targets
        From `prepare_targets`.
    fold : int
        Which fold.
    which : ndarray of int, shape (n,)
        Targets.
    weights : ndarray, shape (n, n_features)
        Their coefficients.

    Returns
    -------
    predictions : ndarray, shape (n, n_test)
        In the order of the folds.
    """
    rows = slice(folds.start[fold], folds.start[fold + 1])
    offset = targets.y_mean[which, fold] - weights @ folds.x_mean[fold]
    return weights @ folds.features[:, rows] + offset[:, None]


def alpha_grid(products, count, l1_ratios, n_alphas, eps):
    """Per target and ratio, penalties from the one that empties the model down.

    Parameters
    ----------
    products : ndarray, shape (n_targets, n_features)
        X'y of all samples, centered.
    count : int
        Number of samples.
    l1_ratios : ndarray, shape (n_ratios,)
        Mixing parameters in (0, 1].
    n_alphas : int
        Number of penalties.
    eps : float
        Smallest penalty as a fraction of the largest.

    Returns
    -------
    alphas : ndarray, shape (n_targets, n_ratios, n_alphas)
        Decreasing, geometric; scikit-learn's ``ElasticNetCV`` uses the same grid.

    Examples
    --------
    >>> import numpy as np
    >>> alpha_grid(np.array([[4.0]]), 4, np.array([0.5]), 3, 1e-2).ravel()
    array([2.  , 0.2 , 0.02])
    """
    largest = np.abs(products).max(axis=1).astype(np.float64)
    top = largest[:, None] / (count * np.asarray(l1_ratios, dtype=np.float64))
    return top[..., None] * np.geomspace(1.0, eps, n_alphas)


def _subtract_outer(matrix, vector, step=512):
    """Subtract vector vector' in place, in rows of `step` to save memory."""
    vector = vector.astype(matrix.dtype)
    for begin in range(0, len(vector), step):
        rows = slice(begin, begin + step)
        matrix[rows] -= np.outer(vector[rows], vector)


def _check_partition(splits, n_samples):
    """Rows in the order of the folds that test them, and where folds start."""
    order = np.concatenate([np.asarray(test, dtype=int) for _, test in splits])
    if not np.array_equal(np.sort(order), np.arange(n_samples)):
        raise ValueError(
            f"cv must test each of the {n_samples} samples exactly once, got "
            f"{order.size} test rows; use KFold, GroupKFold or LeaveOneGroupOut"
        )
    for fold, (train, test) in enumerate(splits):
        if len(train) < 2 or np.intersect1d(train, test).size:
            raise ValueError(
                f"cv fold {fold} has {len(train)} training samples, or trains on "
                "samples that it tests; at least two and disjoint ones are needed"
            )
    start = np.cumsum([0, *(len(test) for _, test in splits)])
    return order, start
