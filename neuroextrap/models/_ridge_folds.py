"""Ridge regression of many targets: one decomposition of the features per fold.

With centered training features X = U diag(s) V', the prediction of test features Z at
penalty alpha is Z V diag(s / (s^2 + alpha)) U' y for every target y. The matrix
products with the features are done once per fold; a penalty then only changes the
weights of the components. Whichever is smaller is decomposed: the kernel X X' of
samples, or the Gram matrix X'X of features.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh


class RidgeFold(NamedTuple):
    """A decomposition of training features, and test features in its components.

    ``eigenvalues`` (n_components,) are those of X X'. ``weights`` (n_components,
    n_train) turn targets into components, and ``scores`` (n_test, n_components) turn
    components, divided by eigenvalue + alpha, into predictions: at penalty alpha they
    are ``scores @ ((weights @ Y) / (eigenvalues + alpha))``.
    """

    train: np.ndarray  # row indices
    test: np.ndarray
    eigenvalues: np.ndarray
    weights: np.ndarray
    scores: np.ndarray

    def components(self, Y):
        """Components of targets (n_samples, n), and their training means (n,)."""
        trained = Y[self.train]
        mean = trained.mean(axis=0, dtype=np.float64).astype(Y.dtype)
        return self.weights @ (trained - mean), mean

    def predict(self, components, mean, alpha):
        """Predict the test rows, (n_test, n); `alpha` is one or of shape (n,)."""
        penalized = self.eigenvalues[:, np.newaxis] + alpha
        return self.scores @ (components / penalized) + mean


class RidgeDecomposition(NamedTuple):
    """The decomposition of all samples, from which coefficients are made."""

    x_mean: np.ndarray  # (n_features,)
    whole: RidgeFold  # its ``scores`` of shape (n_features, n_components)

    def coefficients(self, Y, alpha):
        """Return coefficients (n, n_features) and intercepts (n,) of targets."""
        components, y_mean = self.whole.components(Y)
        coef = self.whole.predict(components, 0, alpha).T
        return coef, y_mean - coef @ self.x_mean


def ridge_decompositions(X, splits):
    """Decompose the training features of every fold, and those of all samples.

    `X` (n_samples, n_features) is float32 or float64; decompositions are computed in
    float64 and kept in the precision of `X`. Returns a list of RidgeFold and a
    RidgeDecomposition.
    """
    x_mean = X.mean(axis=0, dtype=np.float64).astype(X.dtype)
    X = X - x_mean
    wide = X.shape[1] > X.shape[0]
    product = (X @ X.T if wide else X.T @ X).astype(np.float64)
    decompose = _kernel_fold if wide else _gram_fold
    folds = [decompose(X, product, np.asarray(tr), np.asarray(te)) for tr, te in splits]
    rows = np.arange(len(X))
    values, vectors = _eigen(product)
    if wide:
        weights, scores = vectors.T, X.T @ vectors.astype(X.dtype)
    else:
        weights, scores = vectors.T.astype(X.dtype) @ X.T, vectors
    whole = _in_precision(RidgeFold(rows, rows, values, weights, scores), X.dtype)
    return folds, RidgeDecomposition(x_mean, whole)


def _kernel_fold(X, kernel, train, test):
    """Decompose the kernel of training samples, for more features than samples."""
    inner = kernel[np.ix_(train, train)]
    # centering of features on training means, done on kernels
    means = inner.mean(axis=0)
    across = kernel[np.ix_(test, train)]
    across = across - across.mean(axis=1, keepdims=True) - means + means.mean()
    values, vectors = _eigen(inner - means - means[:, np.newaxis] + means.mean())
    fold = RidgeFold(train, test, values, vectors.T, across @ vectors)
    return _in_precision(fold, X.dtype)


def _gram_fold(X, gram, train, test):
    """Decompose the Gram matrix of features: that of all rows less those left out."""
    left_out = np.setdiff1d(np.arange(len(X)), train)
    mean = X[train].mean(axis=0, dtype=np.float64)
    rest = X[left_out].astype(np.float64)
    values, vectors = _eigen(gram - rest.T @ rest - len(train) * np.outer(mean, mean))
    vectors, mean = vectors.astype(X.dtype), mean.astype(X.dtype)
    weights = vectors.T @ (X[train] - mean).T
    return _in_precision(
        RidgeFold(train, test, values, weights, (X[test] - mean) @ vectors), X.dtype
    )


def _eigen(matrix):
    """Eigenvalues, none below zero, and eigenvectors of a symmetric matrix."""
    values, vectors = eigh(
        matrix, driver="evd", check_finite=False, overwrite_a=False, lower=True
    )
    return np.maximum(values, 0), vectors


def _in_precision(fold, dtype):
    """Return a fold with its floating-point arrays in one precision."""
    floats = (np.ascontiguousarray(part, dtype=dtype) for part in fold[2:])
    return RidgeFold(*fold[:2], *floats)
