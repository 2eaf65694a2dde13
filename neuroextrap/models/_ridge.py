"""The ridge encoder as a scikit-learn estimator."""

import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin

from neuroextrap.models._encoder_folds import encoder_splits, partition_order
from neuroextrap.models._ridge_folds import ridge_decompositions

_RELATIVE_ALPHAS = np.logspace(-5, 3, 17)
"""Penalties tried by default, as multiples of the mean eigenvalue of the kernel."""

_BLOCK_SIZE = 2**24
"""Numbers in the largest temporary array of a block of targets."""


class RidgeEncoder(MultiOutputMixin, RegressorMixin, BaseEstimator):
    """Ridge regression of many targets, each with its own cross-validated penalty.

    For every target (voxel, neuron) the minimizer of ::

        ||y - X b||^2 + alpha ||b||^2

    with a free intercept, and alpha chosen by the mean squared error of
    cross-validation, as in ``sklearn.linear_model.Ridge`` with ``GridSearchCV`` fitted
    to each target alone. The features of each fold are decomposed once for all targets
    and penalties, through the kernel of samples where there are more features than
    samples.

    Parameters
    ----------
    alphas : array-like of shape (n_alphas,) or None, default=None
        Penalties tried, all positive, in scikit-learn's scale. If None, 17 of them,
        two per decade, from 1e-5 to 1e3 times the squared Frobenius norm of the
        centered features divided by the number of samples.
    cv : int or cross-validation generator, default=5
        An int means that many contiguous folds, or folds of whole groups when
        `groups` are given. Every sample must be tested exactly once.

    Attributes
    ----------
    coef_ : ndarray of shape (n_targets, n_features)
        Coefficients, in the precision of the features.
    intercept_ : ndarray of shape (n_targets,)
        Intercepts.
    alpha_ : ndarray of shape (n_targets,)
        Chosen penalties.
    alphas_ : ndarray of shape (n_alphas,)
        Penalties tried, in ascending order.
    cv_error_ : ndarray of shape (n_targets, n_alphas)
        Mean squared error averaged over folds.
    cv_predictions_ : ndarray of shape (n_samples, n_targets)
        Out-of-fold predictions at the chosen penalties.
    n_features_in_ : int
        Number of features.

    See Also
    --------
    ElasticNetEncoder : Sparse weights, in more time.

    References
    ----------
    Hoerl & Kennard 1970, "Ridge regression: biased estimation for nonorthogonal
    problems".

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
    """

    def __init__(self, alphas=None, cv=5):
        self.alphas = alphas
        self.cv = cv

    def fit(self, X, y, groups=None):
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
            If penalties are not positive, or there are fewer samples or groups than
            folds.
        """
        from sklearn.utils.validation import validate_data

        X, y = validate_data(
            self, X, y, multi_output=True, dtype=(np.float64, np.float32)
        )
        Y = np.asarray(y, dtype=X.dtype).reshape(len(X), -1)
        self._flat = y.ndim == 1
        given = self._check_alphas()
        splits = encoder_splits(self.cv, X, groups)
        partition_order(splits, len(X))
        self.alphas_ = _default_alphas(X) if given is None else given
        self._fit_targets(Y, *ridge_decompositions(X, splits))
        return self

    def predict(self, X):
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
        from sklearn.utils.validation import check_is_fitted, validate_data

        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=(np.float64, np.float32))
        values = X @ self.coef_.T + self.intercept_.astype(self.coef_.dtype)
        return values[:, 0] if self._flat else values

    def _check_alphas(self):
        """Return the given penalties in ascending order; None for the default."""
        if self.alphas is None:
            return None
        alphas = np.unique(np.asarray(self.alphas, dtype=np.float64))
        if not (alphas.size and np.isfinite(alphas).all() and alphas[0] > 0):
            raise ValueError(
                f"alphas={self.alphas!r} must be positive, finite numbers; give at "
                "least one, or None for the default"
            )
        return alphas

    def _fit_targets(self, Y, folds, decomposition):
        """Choose and fit, block by block of targets."""
        n_samples, n_targets = Y.shape
        n_features = len(decomposition.x_mean)
        self.coef_ = np.empty((n_targets, n_features), dtype=Y.dtype)
        self.intercept_ = np.empty(n_targets, dtype=Y.dtype)
        self.alpha_ = np.empty(n_targets)
        self.cv_error_ = np.empty((n_targets, len(self.alphas_)))
        self.cv_predictions_ = np.empty_like(Y)
        width = max(1, _BLOCK_SIZE // max(n_samples, n_features))
        for start in range(0, n_targets, width):
            block = slice(start, start + width)
            errors, components = _cross_validate(folds, Y[:, block], self.alphas_)
            # of equal errors the largest penalty: it shrinks most
            best = len(self.alphas_) - 1 - errors[:, ::-1].argmin(axis=1)
            self.cv_error_[block] = errors
            self.alpha_[block] = self.alphas_[best]
            alpha = self.alpha_[block].astype(Y.dtype)
            for fold, (values, mean) in zip(folds, components, strict=True):
                predicted = fold.predict(values, mean, alpha)
                self.cv_predictions_[fold.test, block] = predicted
            fitted = decomposition.coefficients(Y[:, block], alpha)
            self.coef_[block], self.intercept_[block] = fitted


def _default_alphas(X):
    """Return penalties on the scale of the features; ones for constant features."""
    scale = X.var(axis=0, dtype=np.float64).sum()
    return _RELATIVE_ALPHAS * (scale if scale > 0 else 1.0)


def _cross_validate(folds, Y, alphas):
    """Errors (n_targets, n_alphas) of a block, and each fold's components and means."""
    errors = np.zeros((Y.shape[1], len(alphas)))
    components = [fold.components(Y) for fold in folds]
    for fold, (values, mean) in zip(folds, components, strict=True):
        tested = Y[fold.test]
        for index, alpha in enumerate(alphas.astype(Y.dtype)):
            residuals = tested - fold.predict(values, mean, alpha)
            squares = np.einsum("tv,tv->v", residuals, residuals, dtype=np.float64)
            errors[:, index] += squares / len(tested) / len(folds)
    return errors, components
