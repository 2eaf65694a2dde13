"""Ridge regression of many targets: one decomposition of the features per fold.

With centered training features X = U diag(s) V', the prediction of test features Z at
penalty alpha is Z V diag(s / (s^2 + alpha)) U' y for every target y. The matrix
products with the features are done once per fold; a penalty then only changes the
weights of the components. Whichever is smaller is decomposed: the kernel X X' of
samples, or the Gram matrix X'X of features. Bands of features with weights w are
columns times sqrt(w): the kernel is then the weighted sum of the bands' kernels.
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


class RidgeProducts(NamedTuple):
    """Products of centered features, from which weighted bands are decomposed.

    ``products`` (n_bands, n_samples, n_samples) are the kernels of the bands where
    features outnumber samples; otherwise the Gram matrix of all features stands alone.
    ``band`` (n_features,) is the number of each feature's band.
    """

    X: np.ndarray
    x_mean: np.ndarray
    products: np.ndarray
    band: np.ndarray

    @classmethod
    def of(cls, X, band=None):
        """Center features (n_samples, n_features) and multiply them once.

        Products and decompositions are computed in float64, and the decompositions kept
        in the precision of `X`, float32 or float64. Without `band` all features are one
        band.
        """
        x_mean = X.mean(axis=0, dtype=np.float64).astype(X.dtype)
        X = X - x_mean
        band = np.zeros(X.shape[1], dtype=int) if band is None else band
        if X.shape[1] <= X.shape[0]:
            return cls(X, x_mean, (X.T @ X).astype(np.float64)[np.newaxis], band)
        parts = [X[:, band == b] for b in range(band.max() + 1)]
        kernels = [(part @ part.T).astype(np.float64) for part in parts]
        return cls(X, x_mean, np.stack(kernels), band)

    @property
    def _wide(self):
        """Say whether kernels of samples are decomposed."""
        return self.X.shape[1] > self.X.shape[0]

    def _weighted(self, weights):
        """Features times the roots of their bands' weights; their product."""
        if len(weights) == 1 and weights[0] == 1:
            return self.X, self.products[0]
        root = np.sqrt(weights)[self.band]
        X = self.X * root.astype(self.X.dtype)
        if self._wide:
            return X, np.tensordot(weights, self.products, axes=1)
        return X, root[:, np.newaxis] * self.products[0] * root

    def folds(self, weights, splits):
        """Decompose the training features of every fold; `weights` (n_bands,)."""
        X, product = self._weighted(weights)
        decompose = _kernel_fold if self._wide else _gram_fold
        return [
            decompose(X, product, np.asarray(tr), np.asarray(te)) for tr, te in splits
        ]

    def whole(self, weights):
        """Decompose all samples; returns RidgeDecomposition."""
        X, product = self._weighted(weights)
        rows, dtype = np.arange(len(X)), X.dtype
        values, vectors = _eigen(product)
        root = np.sqrt(weights)[self.band].astype(dtype)[:, np.newaxis]
        if self._wide:
            samples, features = vectors.T, X.T @ vectors.astype(dtype)
        else:
            samples, features = vectors.T.astype(dtype) @ X.T, vectors.astype(dtype)
        # coefficients of X are those of the weighted features times the same roots
        fold = RidgeFold(rows, rows, values, samples, root * features)
        return RidgeDecomposition(self.x_mean, _in_precision(fold, dtype))


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
