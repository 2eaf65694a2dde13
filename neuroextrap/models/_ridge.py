"""The ridge encoder as a scikit-learn estimator."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from neuroextrap.models._ridge_folds import (
    BandGradient,
    RidgeProducts,
    candidate_weights,
    check_bands,
)
from neuroextrap.models._splitters import encoder_splits, partition_order
from neuroextrap.stats._shared_options import takes_fields
from neuroextrap.stats._validation import (
    batches,
    brief,
    check_integer,
    check_number,
    real_array,
)

_RELATIVE_ALPHAS = np.logspace(-5, 3, 17)
"""Penalties tried by default, as multiples of the mean eigenvalue of the kernel."""

_BLOCK_SIZE = 2**24
"""Numbers in the largest temporary array of a block of targets."""


class LinearEncoder(MultiOutputMixin, RegressorMixin, BaseEstimator):
    """Linear regression of one target, flat in ``fit`` and ``predict``, or of many."""

    def _given(self, X, y):
        """Check and return features and targets, (n_samples, n_targets)."""
        dtypes = np.float64, np.float32
        X, y = validate_data(self, X, y, multi_output=True, dtype=dtypes)
        self._flat = y.ndim == 1
        return X, np.asarray(y, dtype=X.dtype).reshape(len(X), -1)

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Predict the targets of new samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_targets)
            Predictions, one-dimensional if `y` was in `fit`.
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=(np.float64, np.float32))
        values = X @ self.coef_.T + self.intercept_.astype(self.coef_.dtype)
        return values[:, 0] if self._flat else values


@takes_fields
class RidgeEncoder(LinearEncoder):
    """Ridge regression of many targets, each with its own cross-validated penalty.

    For every target (voxel, neuron) the minimizer of ::

        ||y - X b||^2 + alpha ||b||^2

    with a free intercept, and alpha chosen by the mean squared error of
    cross-validation. Few samples hardly tell one penalty from another. The mean error
    of all targets, relative to their variances, therefore counts for every target as if
    it came from ``shared_samples`` further samples. With 0, alpha is that of
    ``GridSearchCV`` with ``sklearn.linear_model.Ridge``, target by target. The features
    of each fold are decomposed once for all targets and penalties, through the kernel
    of samples where there are more features than samples.

    With `bands` (banded ridge regression) every band g of features, such as energies
    and colors, has a penalty of its own, ::

        ||y - X b||^2 + sum_g alpha / w_g ||b_g||^2

    with weights w that sum to one. Weights, too, are chosen for each target by
    cross-validation, from equal ones and others drawn at random, and by the errors of
    the target alone. That takes as many times as long as there are weights. Of many
    bands (ten, say) no draw comes near the best weights; ``gradient_steps`` then
    improves them, and the penalty, target by target.

    Parameters
    ----------
    alphas : array-like of shape (n_alphas,) or None, default=None
        Penalties tried, all positive, in scikit-learn's scale. If None, 17 of them,
        two per decade, from 1e-5 to 1e3 times the squared Frobenius norm of the
        centered features divided by the number of samples (and of bands).
    cv : int or cross-validation generator, default=5
        An int means that many folds of samples, or of whole groups when `groups` are
        given, drawn at random: in order, every fold could be one level of a factor.
        With fewer than twice as many, each is left out in turn. Where rows follow each
        other in time, give ``KFold(5)`` or groups such as runs. Every sample must be
        tested exactly once.
    bands : array-like of shape (n_features,) or None, default=None
        Name or number of each feature's band, such as ``feature_kinds_`` of a
        :class:`GaborPyramid`. If None, all features are one band.
    band_weights : int or array-like of shape (n_weights, n_bands), default=50
        Number of weights tried: equal ones, then draws from Dirichlet distributions of
        concentration 1 and 0.1 in turn. Or the weights themselves, one row each, in the
        order of the sorted bands; rows are divided by their sums.
    gradient_steps : int, default=0
        Largest number of Gauss-Newton steps by which the chosen weights and penalty of
        each target are improved, 4 for example: by the gradient of its cross-validated
        error. Kernels of all bands are kept in memory, and a step takes about as long
        as the inversion of one of them.
    shared_samples : float, default=100
        Number of samples for which the mean error of all targets counts in the choice
        of each target's penalty, without `bands`; 0 leaves it to its own errors.
    random_state : None, int or numpy.random.Generator, default=0
        Seed of the folds and of the draws of weights.

    Attributes
    ----------
    coef_ : ndarray of shape (n_targets, n_features)
        Coefficients, in the precision of the features.
    intercept_ : ndarray of shape (n_targets,)
        Intercepts.
    alpha_ : ndarray of shape (n_targets,)
        Chosen penalties; that of a band is ``alpha_`` divided by its weight. Gradient
        steps lead between those tried.
    band_weights_ : ndarray of shape (n_targets, n_bands)
        Chosen weights of the bands; ones without `bands`.
    bands_ : ndarray of shape (n_bands,), or None
        Bands in the order of the weights; None without `bands`.
    alphas_ : ndarray of shape (n_alphas,)
        Penalties tried, in ascending order.
    cv_error_ : ndarray of shape (n_targets, n_alphas)
        Mean squared error averaged over folds, at the chosen weights; where gradient
        steps improved them, their error in all columns.
    cv_predictions_ : ndarray of shape (n_samples, n_targets)
        Out-of-fold predictions at the chosen penalties and weights.
    n_features_in_ : int
        Number of features.

    See Also
    --------
    ElasticNetEncoder : Sparse weights, in more time.

    References
    ----------
    Hoerl & Kennard 1970, "Ridge regression: biased estimation for nonorthogonal
    problems". Nunez-Elizalde, Huth & Gallant 2019, "Voxelwise encoding models with
    non-spherical multivariate normal priors" (banded ridge regression). Dupre la Tour,
    Eickenberg, Nunez-Elizalde & Gallant 2022, "Feature-space selection with banded
    ridge regression" (random search and gradient descent).

    Examples
    --------
    >>> import numpy as np
    >>> from neuroextrap.encoding import RidgeEncoder
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 100))
    >>> Y = X[:, :2] + 0.1 * rng.normal(size=(60, 2))
    >>> encoder = RidgeEncoder(alphas=[1, 10, 100]).fit(X, Y)
    >>> encoder.coef_.shape, encoder.alpha_.shape
    ((2, 100), (2,))

    The first two features are a band of their own, and get nearly all the weight:

    >>> bands = np.repeat(["signal", "noise"], [2, 98])
    >>> banded = RidgeEncoder(alphas=[1, 10, 100], bands=bands).fit(X, Y)
    >>> banded.bands_, bool(banded.band_weights_[:, 1].min() > 0.9)
    (array(['noise', 'signal'], dtype='<U6'), True)
    """

    alphas: ArrayLike | None = None
    cv: Any = 5
    _: KW_ONLY
    bands: ArrayLike | None = None
    band_weights: ArrayLike = 50
    gradient_steps: int = 0
    shared_samples: float = 100.0
    random_state: int | np.random.Generator | None = 0

    def fit(self, X: ArrayLike, y: ArrayLike, groups: ArrayLike | None = None) -> Self:
        """Choose penalties by cross-validation and fit every target.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features; float32 stays float32.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets.
        groups : array-like of shape (n_samples,) or None, default=None
            Stimuli, runs or sessions that cross-validation keeps together.

        Returns
        -------
        self : RidgeEncoder
            The fitted encoder.

        Raises
        ------
        ValueError
            If penalties are not positive, bands or weights do not match the features,
            or there are fewer samples or groups than folds.
        """
        X, Y = self._given(X, y)
        given = self._check_alphas()
        check_integer(self.gradient_steps, "gradient_steps", minimum=0)
        if not 0 <= check_number(self.shared_samples, "shared_samples") < np.inf:
            raise ValueError(
                f"shared_samples={self.shared_samples!r} must be 0 or more; 100 is the "
                "default, 0 chooses each target's penalty by itself"
            )
        splits = encoder_splits(self.cv, X, groups, self.random_state)
        partition_order(splits, len(X))
        self.bands_, band = check_bands(self.bands, X.shape[1])
        weights = candidate_weights(
            self.band_weights, band.max() + 1, self.random_state
        )
        self.alphas_ = given
        if given is None:
            # on the scale of the features; of constant ones, as they are
            scale = X.var(axis=0, dtype=np.float64).sum() or 1.0
            self.alphas_ = _RELATIVE_ALPHAS * scale / weights.shape[1]
        products = RidgeProducts.of(X, band)
        chosen = self._choose(Y, products, weights, splits)
        self.band_weights_ = weights[chosen]
        self._fit_chosen(Y, products, weights, chosen)
        if self.gradient_steps and weights.shape[1] > 1:
            self._improve(Y, products, splits)
        return self

    def _check_alphas(self):
        """Return the given penalties in ascending order; None for the default."""
        if self.alphas is None:
            return None
        alphas = np.unique(real_array(self.alphas, "alphas"))
        if not (alphas.size and np.isfinite(alphas).all() and alphas[0] > 0):
            raise ValueError(
                f"alphas={brief(self.alphas)} must be positive, finite numbers; give "
                "at least one, or None for the default"
            )
        return alphas

    def _choose(self, Y, products, weights, splits):
        """Choose penalties and weights; return the chosen rows of `weights`."""
        n_targets = Y.shape[1]
        chosen = np.zeros(n_targets, dtype=int)
        self.alpha_ = np.empty(n_targets)
        self.cv_error_ = np.full((n_targets, len(self.alphas_)), np.inf)
        self.cv_predictions_ = np.empty_like(Y)
        for index, row in enumerate(weights):
            folds = products.folds(row, splits)
            errors = np.concatenate(
                [
                    _cross_validate(folds, Y[:, block], self.alphas_)
                    for block in _blocks(n_targets, len(Y))
                ]
            )
            kept = self.cv_error_
            # of equal errors the first weights
            better = errors.min(axis=1) < kept.min(axis=1)
            places = np.flatnonzero(better | np.isinf(kept).all(axis=1))
            kept[places], chosen[places] = errors[places], index
            if len(weights) == 1:  # relative errors, and a share of their mean
                variance = Y.var(axis=0, dtype=np.float64)[:, np.newaxis]
                errors = errors / np.where(variance > 0, variance, 1)
                errors = errors + self.shared_samples / len(Y) * errors.mean(axis=0)
            # of equal errors the largest penalty: it shrinks most
            best = errors[places, ::-1].argmin(axis=1)
            self.alpha_[places] = self.alphas_[::-1][best]
            self._predict_folds(folds, Y, places)
        return chosen

    def _improve(self, Y, products, splits):
        """Improve weights and penalties of every target by gradients."""
        search = BandGradient(products.X, products.band, splits)
        for target, y in enumerate(Y.T):
            start = self.band_weights_[target] / self.alpha_[target]
            improved = search.improved(y, start, self.gradient_steps)
            scales, error, predictions, dual = improved
            if not error < self.cv_error_[target].min():
                continue
            self.alpha_[target] = 1 / scales.sum()
            self.band_weights_[target] = scales / scales.sum()
            self.cv_error_[target] = error
            self.cv_predictions_[:, target] = predictions
            coef = scales[products.band] * (products.X.T @ dual)
            self.coef_[target] = coef
            self.intercept_[target] = y.mean() - coef @ products.x_mean

    def _predict_folds(self, folds, Y, places):
        """Predict the targets at `places` out of fold, at the penalties chosen."""
        for block in _blocks(len(places), len(Y)):
            targets = places[block]
            alpha = self.alpha_[targets].astype(Y.dtype)
            for fold in folds:
                predicted = fold.predict(*fold.components(Y[:, targets]), alpha)
                self.cv_predictions_[np.ix_(fold.test, targets)] = predicted

    def _fit_chosen(self, Y, products, weights, chosen):
        """Fit every target to all samples, at what was chosen for it."""
        n_targets, n_features = len(chosen), len(products.x_mean)
        self.coef_ = np.empty((n_targets, n_features), dtype=Y.dtype)
        self.intercept_ = np.empty(n_targets, dtype=Y.dtype)
        for index in np.unique(chosen):
            whole = products.whole(weights[index])
            targets = np.flatnonzero(chosen == index)
            for block in _blocks(len(targets), max(len(Y), n_features)):
                places = targets[block]
                alpha = self.alpha_[places].astype(Y.dtype)
                components, mean = whole.components(Y[:, places])
                coef = whole.predict(components, 0, alpha).T
                self.coef_[places] = coef
                self.intercept_[places] = mean - coef @ products.x_mean


def _blocks(n_targets, n_rows):
    """Return slices of targets, few enough for arrays with `n_rows` rows."""
    return batches(n_targets, max(1, _BLOCK_SIZE // n_rows))


def _cross_validate(folds, Y, alphas):
    """Mean squared errors (n_targets, n_alphas) of a block of targets."""
    errors = np.zeros((Y.shape[1], len(alphas)))
    for fold in folds:
        values, mean = fold.components(Y)
        tested = Y[fold.test]
        for index, alpha in enumerate(alphas.astype(Y.dtype)):
            residuals = tested - fold.predict(values, mean, alpha)
            squares = np.einsum("tv,tv->v", residuals, residuals, dtype=np.float64)
            errors[:, index] += squares / len(tested) / len(folds)
    return errors
