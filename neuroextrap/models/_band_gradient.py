"""Weights of bands for one target, by gradient descent of its cross-validated error."""

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import minimize

_MOST = 8.0  # by which the logarithm of a band's scale may change


class BandGradient:
    """The mean squared error of held-out folds as a function of the scales of bands.

    `X` (n_samples, n_features) are features about their means, `band` (n_features,) the
    numbers of their bands, `splits` the folds. Kernels of bands, (n_bands, n_samples,
    n_samples) float64, are kept for every fold.
    """

    def __init__(self, X, band, splits):
        parts = (X[:, band == b].astype(float) for b in range(band.max() + 1))
        kernels = np.stack([part @ part.T for part in parts])
        self._folds = [
            (np.asarray(train), np.asarray(test), *_centered(kernels, train, test))
            for train, test in splits
        ]

    def improved(self, y, scales, n_steps):
        """Return scales (n_bands,), weights divided by penalty, with a smaller error.

        `y` (n_samples,) is a target, `scales` are those to start from; `n_steps` is the
        number of steps of L-BFGS.
        """
        floor = scales.max() * np.exp(-_MOST)
        start = np.log(np.maximum(scales, floor))
        found = minimize(
            self.error,
            start,
            args=(y.astype(float),),
            jac=True,
            method="L-BFGS-B",
            bounds=[(value - _MOST, value + _MOST) for value in start],
            options={"maxiter": n_steps},
        )
        return np.exp(found.x)

    def error(self, logarithms, y):
        """Return the error of a target, and its gradient (n_bands,).

        Kernel ridge regression with penalty one: its dual weights c solve (K + I) c =
        y, K = sum_b s_b K_b of the training rows; with residuals r of test rows and u =
        (K + I)^-1 K_test' r the derivative by log s_b is -2 s_b (r' K_b,test c - u' K_b
        c), divided by the numbers of rows and folds.
        """
        scales = np.exp(logarithms)
        total, gradient = 0.0, np.zeros(len(scales))
        for train, test, inner, across in self._folds:
            kernel = np.tensordot(scales, inner, axes=1)
            kernel[np.diag_indices(len(kernel))] += 1
            factor = cho_factor(kernel, check_finite=False, overwrite_a=True)
            mean, n = y[train].mean(), len(test) * len(self._folds)
            dual = cho_solve(factor, y[train] - mean)
            outer = np.tensordot(scales, across, axes=1)
            rest = y[test] - mean - outer @ dual
            adjoint = cho_solve(factor, outer.T @ rest)
            total += rest @ rest / n
            slope = (across @ dual) @ rest - (inner @ dual) @ adjoint
            gradient -= 2 * scales * slope / n
        return total, gradient


def _centered(kernels, train, test):
    """Return kernels of training rows, and test by training rows, centered."""
    inner = kernels[:, train][:, :, train]
    across = kernels[:, test][:, :, train]
    means = inner.mean(axis=1, keepdims=True)
    whole = means.mean(axis=2, keepdims=True)
    across = across - across.mean(axis=2, keepdims=True) - means + whole
    return inner - means - means.transpose(0, 2, 1) + whole, across
