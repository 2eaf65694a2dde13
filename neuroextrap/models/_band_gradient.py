"""Weights of bands for one target, by Gauss-Newton steps on its held-out residuals."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve, lapack
from scipy.optimize import least_squares

_MOST = 8.0  # by which the logarithm of a band's scale may change
_ENOUGH = 1e-3  # relative change of the error at which steps end


class Improved(NamedTuple):
    """What was found for one target."""

    scales: np.ndarray  # weights divided by the penalty, (n_bands,)
    error: float  # mean over folds of mean squared errors
    predictions: np.ndarray  # out of fold, (n_samples,)
    dual: np.ndarray  # weights of samples in the fit to all of them, (n_samples,)


class BandGradient:
    """The residuals of held-out folds as a function of the scales of bands.

    `X` (n_samples, n_features) are features, `band` (n_features,) the numbers of their
    bands, `splits` the folds. Kernels of bands, (n_bands, n_samples, n_samples)
    float64, are kept.
    """

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
        """Return Improved scales, from those (n_bands,) to start from.

        `y` (n_samples,) is a target, `n_steps` the largest number of steps.
        """
        start = np.log(np.maximum(scales, scales.max() * np.exp(-_MOST)))
        given = np.asarray(y, dtype=float)
        found = least_squares(
            self.residuals,
            start,
            self.jacobian,
            bounds=(start - _MOST, start + _MOST),
            args=(given,),
            max_nfev=n_steps + 1,
            ftol=_ENOUGH,
            xtol=_ENOUGH,
        )
        residuals = self.residuals(found.x, given)
        predictions = given.copy()
        for _, test, n in self._folds:
            predictions[test] -= residuals[test] * np.sqrt(n)
        error = float(residuals @ residuals)
        return Improved(np.exp(found.x), error, predictions, self._dual)

    def residuals(self, logarithms, y):
        """Return residuals (n_samples,) whose squares add up to the error of a target.

        Kernel ridge regression of all samples with penalty one and kernel K = sum_b s_b
        K_b has the residuals a = G y, with G = A - A 1 1' A / (1' A 1) and A = (K +
        I)^-1, which are also its dual weights. Those of samples T when the model is
        trained without them are G_TT^-1 a_T.
        """
        self._scales, n = np.exp(logarithms), len(y)
        kernel = (self._scales @ self._kernels).reshape(n, n)
        kernel[np.diag_indices(n)] += 1
        factor, _ = lapack.dpotrf(kernel.T, lower=False, overwrite_a=True, clean=False)
        inverse, _ = lapack.dpotri(factor, lower=False, overwrite_c=True)
        upper = np.triu(inverse)
        self._G = upper + np.triu(upper, 1).T
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
