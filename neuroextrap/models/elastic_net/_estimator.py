"""The elastic net encoder as a scikit-learn estimator."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin

from neuroextrap.models._ridge import RidgeEncoder
from neuroextrap.models._splitters import check_cv_argument, encoder_splits
from neuroextrap.models.elastic_net._search import (
    SearchOptions,
    cross_validated_elastic_net,
)
from neuroextrap.models.elastic_net._solvers import choose_solver
from neuroextrap.stats._plain_types import check_plain_types
from neuroextrap.stats._shared_options import described_by, takes_fields
from neuroextrap.stats._validation import check_integer, check_n_jobs, real_array


@described_by(RidgeEncoder)
@takes_fields
class ElasticNetEncoder(MultiOutputMixin, RegressorMixin, BaseEstimator):
    """Elastic net for many targets, each with its own cross-validated penalties.

    For every target (voxel, neuron) the minimizer of ::

        ||y - X b||^2 / (2 N) + alpha * l1_ratio * ||b||_1
            + alpha * (1 - l1_ratio) / 2 * ||b||^2

    with a free intercept and (alpha, l1_ratio) chosen by cross-validation, as in
    ``sklearn.linear_model.ElasticNetCV`` fitted to each target separately.

    Parameters
    ----------
    l1_ratios : tuple of float, default=(0.1, 0.5, 0.9)
        Shares of the absolute penalty, each in (0, 1].
    n_alphas : int, default=25
        Number of penalties tried per ratio.
    eps : float, default=1e-3
        Smallest penalty as a fraction of the largest (which empties the model).
    early_stopping : bool, default=True
        Whether to leave a ratio's path five penalties from its lowest error, or where
        the error exceeds the lowest by 1%, and to begin the next ratio's path where
        the last was lowest. If False, every grid point is computed.
    tol : float, default=1e-4
        Duality gap, relative to the target's sum of squares, at which a problem of
        the search counts as solved. The final model is solved exactly on its
        active set.
    max_sweeps : int, default=1000
        Limit of coordinate sweeps per problem; a warning counts the problems that
        reach it.
    solver : {"auto", "numba-batch", "numba-working-sets"}, default="auto"
        All targets at once, or one after another on working sets of features. "auto" is
        the first up to 256 features (1024 if ``early_stopping=False``).
    n_jobs : int or None, default=1
        Number of threads. The result does not depend on it.
    random_state : None, int or numpy.random.Generator, default=0
        Seed of the folds.

    Attributes
    ----------
    coef_ : ndarray of shape (n_targets, n_features)
        Coefficients, in the precision of the features.
    intercept_ : ndarray of shape (n_targets,)
        Intercepts.
    alpha_ : ndarray of shape (n_targets,)
        Chosen penalties, in scikit-learn's scale.
    l1_ratio_ : ndarray of shape (n_targets,)
        Chosen shares of the absolute penalty.
    cv_error_ : ndarray of shape (n_targets, n_ratios, n_alphas)
        Mean squared error averaged over folds; NaN where not visited.
    alphas_ : ndarray of shape (n_targets, n_ratios, n_alphas)
        The grid of penalties.
    cv_predictions_ : ndarray of shape (n_samples, n_targets)
        Out-of-fold predictions at the chosen penalties.
    dual_gap_ : ndarray of shape (n_targets,)
        Duality gap of each final model, relative to the target's sum of squares.
    n_stalled_ : ndarray of int of shape (n_targets,)
        Number of problems of the search that reached `max_sweeps`.
    solver_ : str
        Solver that ran: "numba-batch" or "numba-working-sets".
    n_features_in_ : int
        Number of features.

    References
    ----------
    Zou & Hastie 2005, "Regularization and variable selection via the elastic net".

    Examples
    --------
    >>> import numpy as np
    >>> from neuroextrap.encoding import ElasticNetEncoder
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 4))
    >>> Y = X[:, :2] + 0.1 * rng.normal(size=(60, 2))
    >>> encoder = ElasticNetEncoder().fit(X, Y)
    >>> encoder.coef_.shape
    (2, 4)
    """

    _: KW_ONLY
    l1_ratios: ArrayLike = (0.1, 0.5, 0.9)
    n_alphas: int = 25
    eps: float = 1e-3
    cv: Any = 5
    early_stopping: bool = True
    tol: float = 1e-4
    max_sweeps: int = 1000
    solver: str = "auto"
    n_jobs: int | None = 1
    random_state: int | np.random.Generator | None = 0

    @described_by(RidgeEncoder.fit)
    def fit(self, X: ArrayLike, y: ArrayLike, groups: ArrayLike | None = None) -> Self:
        """Choose penalties by cross-validation and fit every target.

        Returns
        -------
        self : ElasticNetEncoder
            The fitted encoder.

        Raises
        ------
        ValueError
            If an option is out of range, there are fewer samples or groups than folds,
            or a feature or target is constant.
        """
        from sklearn.utils.validation import validate_data

        check_cv_argument(self.cv)
        self._options()
        X, y = validate_data(
            self, X, y, multi_output=True, dtype=(np.float64, np.float32)
        )
        Y = np.asarray(y, dtype=X.dtype).reshape(len(X), -1)
        self._flat = y.ndim == 1
        splits = encoder_splits(self.cv, X, groups, self.random_state)
        options = self._options()
        fit = cross_validated_elastic_net(X, Y, splits, options)
        self.coef_, self.intercept_ = fit.coef, fit.intercept
        self.alpha_, self.l1_ratio_ = fit.alpha, fit.l1_ratio
        self.cv_error_, self.alphas_ = fit.cv_error, fit.alphas
        self.cv_predictions_ = fit.cv_predictions
        self.dual_gap_, self.n_stalled_ = fit.dual_gap, fit.n_stalled
        self.solver_ = choose_solver(options, X.shape[1])
        return self

    @described_by(RidgeEncoder.predict)
    def predict(self, X: ArrayLike) -> np.ndarray:
        """Predict the targets of new samples.

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

    def _options(self):
        check_n_jobs(self.n_jobs)
        check_plain_types(self)
        check_integer(self.n_alphas, "n_alphas", minimum=1)
        return SearchOptions(
            l1_ratios=tuple(real_array(self.l1_ratios, "l1_ratios").ravel()),
            n_alphas=self.n_alphas,
            eps=self.eps,
            early_stopping=self.early_stopping,
            tol=float(self.tol),
            max_sweeps=self.max_sweeps,
            solver=self.solver,
            n_jobs=self.n_jobs,
        )
