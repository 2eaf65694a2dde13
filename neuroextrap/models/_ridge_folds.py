"""Ridge regressions of all folds and alphas, and the scales of bands of features."""

from itertools import pairwise
from typing import NamedTuple, Self

import numpy as np
from scipy.linalg import cho_factor, cho_solve, eigh, lapack
from scipy.optimize import least_squares

from neuroextrap.stats._label_checks import check_labels
from neuroextrap.stats._validation import is_integer, random_generator

_MOST = 8.0  # by which the logarithm of a band's scale may change
_ENOUGH = 1e-3  # relative change of the error at which steps end


class BandGradient:
    """The residuals of held-out folds as a function of the scales of bands."""

    def __init__(self, X, band, splits):
        order = np.argsort(band, kind="stable")
        self._X = X[:, order].astype(float)
        ends = np.searchsorted(band[order], np.arange(band.max() + 2))
        self._bands = [slice(*pair) for pair in pairwise(ends)]
        parts = (self._X[:, own] for own in self._bands)
        self._kernels = np.stack([(part @ part.T).ravel() for part in parts])
        rows = np.arange(len(X))
        self._folds = [
            (np.setdiff1d(rows, train), np.asarray(test), (len(test) * len(splits)))
            for train, test in splits
        ]

    def improved(self, y, scales, n_steps):
        """Improve the scales (n_bands,) of a target `y`: weights over the penalty.

        Also returned are the error, the out-of-fold predictions, and the weights of
        samples in the fit to all of them, both (n_samples,).
        """
        start = np.log(np.maximum(scales, scales.max() * np.exp(-_MOST)))
        given = np.asarray(y, dtype=float)
        limits = {"max_nfev": n_steps + 1, "ftol": _ENOUGH, "xtol": _ENOUGH}
        limits |= {"bounds": (start - _MOST, start + _MOST)}
        solution = least_squares(
            self.residuals, start, self.jacobian, args=(given,), **limits
        )
        residuals = self.residuals(solution.x, given)
        predictions = given.copy()
        for _, test, n in self._folds:
            predictions[test] -= residuals[test] * np.sqrt(n)
        error = float(residuals @ residuals)
        return np.exp(solution.x), error, predictions, self._dual

    def residuals(self, logarithms, y):
        """Return residuals (n_samples,) whose squares add up to the error of a target.

        Kernel ridge regression of all samples with penalty one and kernel K = sum_b s_b
        K_b has the residuals a = G y, which are also its dual weights, with G = A - A 1
        1' A / (1' A 1) and A = (K + I)^-1. Those of samples T when the model is trained
        without them are G_TT^-1 a_T.
        """
        self._scales, n = np.exp(logarithms), len(y)
        kernel = (self._scales @ self._kernels).reshape(n, n)
        kernel[np.diag_indices(n)] += 1
        factor, _ = lapack.dpotrf(kernel.T, lower=False, overwrite_a=True, clean=False)
        inverse, _ = lapack.dpotri(factor, lower=False, overwrite_c=True)
        self._G = np.triu(inverse) + np.triu(inverse, 1).T
        total = self._G.sum(axis=0)
        self._G -= np.outer(total, total / total.sum())
        self._dual, self._left = self._G @ y, []
        residuals = np.empty(n)
        for left_out, test, n_squares in self._folds:
            factor = cho_factor(self._G[np.ix_(left_out, left_out)], check_finite=False)
            rest = cho_solve(factor, self._dual[left_out], check_finite=False)
            self._left.append((factor, rest))
            tested = np.searchsorted(left_out, test)
            residuals[test] = rest[tested] / np.sqrt(n_squares)
        return residuals

    def jacobian(self, _logarithms, _y):
        """Return derivatives (n_samples, n_bands) of the residuals just computed.

        That of the residuals r of T by log s_b is -s_b G_TT^-1 G_T. K_b (a - G_.T r).
        """
        slopes = np.empty((len(self._dual), len(self._bands)))
        for (left_out, test, n), (factor, rest) in zip(
            self._folds, self._left, strict=True
        ):
            trained = self._dual - self._G[:, left_out] @ rest
            trained[left_out] = 0.0  # as it is but for rounding
            drive = self._X.T @ trained
            changes = np.stack([self._X[:, b] @ drive[b] for b in self._bands], axis=1)
            changes = self._G[left_out] @ changes * self._scales
            changes = cho_solve(factor, changes, check_finite=False)
            slopes[test] = -changes[np.searchsorted(left_out, test)] / np.sqrt(n)
        return slopes


_CONCENTRATIONS = (1.0, 0.1)
"""Of the Dirichlet distributions that draws alternate between: all bands weigh
something, or few bands almost everything."""


def check_bands(bands, n_features):
    """Return the bands' labels, sorted, and every feature's band as a number."""
    if bands is None:
        return None, np.zeros(n_features, dtype=int)
    labels, codes = np.unique(check_labels(bands, "bands"), return_inverse=True)
    if len(codes) != n_features:
        raise ValueError(
            f"bands has {len(codes)} entries, X has {n_features} features; name the "
            "band of every feature"
        )
    return labels, codes


def candidate_weights(band_weights, n_bands, random_state):
    """Return the weights (n_candidates, n_bands) that are tried; rows sum to one.

    `band_weights` is their number (the first are equal, the others drawn), or holds
    them.
    """
    if n_bands == 1:
        return np.ones((1, 1))
    if np.ndim(band_weights) == 0:
        return _drawn_weights(band_weights, n_bands, random_state)
    weights = np.asarray(band_weights, dtype=np.float64)
    good = weights.ndim == 2 and weights.shape[1] == n_bands and len(weights)
    if not (good and np.isfinite(weights).all() and (weights >= 0).all()):
        raise ValueError(
            f"band_weights must be a whole number, or rows of {n_bands} finite weights "
            f"of at least 0, one per band, got shape {weights.shape}"
        )
    total = weights.sum(axis=1, keepdims=True)
    if not (total > 0).all():
        row = int(np.flatnonzero(total == 0)[0])
        raise ValueError(f"band_weights: all weights of row {row} are 0; give one band")
    return weights / total


def _drawn_weights(n_candidates, n_bands, random_state):
    """Equal weights, and draws from Dirichlet distributions."""
    if not is_integer(n_candidates) or n_candidates < 1:
        raise ValueError(
            f"band_weights={n_candidates!r} must be a whole number of at least 1, or "
            "rows of weights; give how many to try"
        )
    rng = random_generator(random_state)
    weights = np.full((n_candidates, n_bands), 1 / n_bands)
    for index in range(1, n_candidates):
        concentration = _CONCENTRATIONS[(index - 1) % 2]
        weights[index] = rng.dirichlet(np.full(n_bands, concentration))
    return weights


class RidgeFold(NamedTuple):
    """A decomposition of training features, and test features in its components.

    At penalty alpha predictions are ``scores @ ((weights @ Y) / (eigenvalues +
    alpha))``.
    """

    train: np.ndarray  # row indices
    test: np.ndarray
    eigenvalues: np.ndarray
    weights: np.ndarray
    scores: np.ndarray

    @classmethod
    def of(cls, train, test, dtype, *parts) -> Self:
        """Make it of rows and of parts, in one precision."""
        parts = (np.ascontiguousarray(part, dtype=dtype) for part in parts)
        return cls(train, test, *parts)

    def components(self, Y):
        """Components of targets (n_samples, n), and their training means (n,)."""
        trained = Y[self.train]
        mean = trained.mean(axis=0, dtype=np.float64).astype(Y.dtype)
        return self.weights @ (trained - mean), mean

    def predict(self, components, mean, alpha):
        """Predict the test rows, (n_test, n); `alpha` is one or of shape (n,)."""
        penalized = self.eigenvalues[:, np.newaxis] + alpha
        return self.scores @ (components / penalized) + mean


class RidgeProducts(NamedTuple):
    """Kernels of bands (n_bands, n, n), or the Gram matrix of few centered features."""

    X: np.ndarray
    x_mean: np.ndarray
    products: np.ndarray
    band: np.ndarray

    @classmethod
    def of(cls, X, band):
        """Center features (n_samples, n_features) and multiply them, in float64."""
        x_mean = X.mean(axis=0, dtype=np.float64).astype(X.dtype)
        X = X - x_mean
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
        """Decompose all samples; ``scores`` (n_features, ...) make coefficients."""
        X, product = self._weighted(weights)
        rows, dtype = np.arange(len(X)), X.dtype
        values, vectors = _eigen(product)
        root = np.sqrt(weights)[self.band].astype(dtype)[:, np.newaxis]
        if self._wide:
            samples, features = vectors.T, X.T @ vectors.astype(dtype)
        else:
            samples, features = vectors.T.astype(dtype) @ X.T, vectors.astype(dtype)
        # coefficients of X are those of the weighted features times the same roots
        return RidgeFold.of(rows, rows, dtype, values, samples, root * features)


def _kernel_fold(X, kernel, train, test):
    """Decompose the kernel of training samples, for more features than samples."""
    inner = kernel[np.ix_(train, train)]
    # centering of features on training means, done on kernels
    means = inner.mean(axis=0)
    across = kernel[np.ix_(test, train)]
    across = across - across.mean(axis=1, keepdims=True) - means + means.mean()
    values, vectors = _eigen(inner - means - means[:, np.newaxis] + means.mean())
    return RidgeFold.of(train, test, X.dtype, values, vectors.T, across @ vectors)


def _gram_fold(X, gram, train, test):
    """Decompose the Gram matrix of features: that of all rows less those left out."""
    left_out = np.setdiff1d(np.arange(len(X)), train)
    mean = X[train].mean(axis=0, dtype=np.float64)
    rest = X[left_out].astype(np.float64)
    values, vectors = _eigen(gram - rest.T @ rest - len(train) * np.outer(mean, mean))
    vectors, mean = vectors.astype(X.dtype), mean.astype(X.dtype)
    weights = vectors.T @ (X[train] - mean).T
    scores = (X[test] - mean) @ vectors
    return RidgeFold.of(train, test, X.dtype, values, weights, scores)


def _eigen(matrix):
    """Eigenvalues, none below zero, and eigenvectors of a symmetric matrix."""
    values, vectors = eigh(
        matrix, driver="evd", check_finite=False, overwrite_a=False, lower=True
    )
    return np.maximum(values, 0), vectors
