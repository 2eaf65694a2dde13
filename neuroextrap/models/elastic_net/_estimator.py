"""The elastic net encoder as a scikit-learn estimator."""

from __future__ import annotations

import logging
import time
import warnings
from dataclasses import KW_ONLY
from types import SimpleNamespace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from neuroextrap.models._ridge import LinearEncoder, RidgeEncoder
from neuroextrap.models._splitters import encoder_splits
from neuroextrap.models.elastic_net._solver_kinds import BatchSolver, WorkingSetSolver
from neuroextrap.models.elastic_net._solvers import (
    all_samples,
    fold_grams,
    refit_block,
    search_block,
)
from neuroextrap.stats._label_checks import check_plain_types
from neuroextrap.stats._shared_options import described_by, takes_fields
from neuroextrap.stats._validation import (
    batches,
    check_choice,
    check_integer,
    check_n_jobs,
    real_array,
    warn,
)

_LOGGER = logging.getLogger(__name__)


SOLVERS = {"numba-batch": BatchSolver, "numba-working-sets": WorkingSetSolver}
# up to here all Gram matrices in float64 and dense gradients pay
_MOST_DENSE = 1024
# early stopping leaves paths while models are sparse: working sets pay sooner
_MOST_DENSE_EARLY = 256


def choose_solver(options, n_features):
    """Name in `SOLVERS` of the solver that `options` mean for `n_features`."""
    check_choice(options.solver, "solver", ("auto", *SOLVERS))
    if options.solver != "auto":
        return options.solver
    limit = _MOST_DENSE_EARLY if options.early_stopping else _MOST_DENSE
    return "numba-batch" if n_features <= limit else "numba-working-sets"


class ElasticNetFit(SimpleNamespace):
    """What `cross_validated_elastic_net` finds: attributes of `ElasticNetEncoder`."""

    @classmethod
    def empty(cls, X, n_targets, options) -> Self:
        """Make room, in the precision of the features; errors are NaN at first."""
        grid = (n_targets, np.size(options.l1_ratios), options.n_alphas)
        return cls(
            coef=np.empty((n_targets, X.shape[1]), dtype=X.dtype),
            intercept=np.empty(n_targets),
            alpha=np.empty(n_targets),
            l1_ratio=np.empty(n_targets),
            cv_error=np.full(grid, np.nan),
            alphas=np.empty(grid),
            cv_predictions=np.empty((len(X), n_targets), dtype=X.dtype),
            dual_gap=np.empty(n_targets),
            n_stalled=np.zeros(n_targets, dtype=int),
        )

    def of_targets(self, block) -> Self:
        """View the part of a slice of targets, without copies."""
        views = {name: values[block] for name, values in vars(self).items()}
        views["cv_predictions"] = self.cv_predictions[:, block]
        return type(self)(**views)


def cross_validated_elastic_net(X, Y, splits, options):
    """Fit one elastic net per target, its penalties chosen by cross-validation.

    Objective, grid and choice are those of ``sklearn.linear_model.ElasticNetCV`` for
    `X` (n_samples, n_features) and each column of `Y`; the chosen model is solved
    exactly on its active set. (Zou & Hastie 2005; Friedman, Hastie & Tibshirani 2010,
    covariance updates; Bertrand & Massias 2021, extrapolated coordinate descent.)
    Options are those of an `ElasticNetEncoder`.
    """
    from joblib import delayed

    solver_class = SOLVERS[choose_solver(options, X.shape[1])]
    x_mean, y_mean = _column_means(X, "feature"), _column_means(Y, "target")
    Xc = (X - x_mean).astype(np.float64 if solver_class.needs_float64 else X.dtype)
    folds = fold_grams(Xc, splits, solver_class.rounds_grams)
    del Xc  # the folds have a copy in their order
    fit = ElasticNetFit.empty(X, Y.shape[1], options)
    size = solver_class.block_size(X.shape[1], len(splits))
    blocks = batches(len(y_mean), size)

    def given(block):
        # centered here: no copy of all targets is needed
        return Y[:, block] - y_mean[block], options, fit.of_targets(block)

    jobs = (delayed(search_block)(solver_class, folds, *given(b)) for b in blocks)
    starts = _run(jobs, "search", blocks, options.n_jobs)
    everything = all_samples(folds)
    # several times as large as one Gram matrix: gone before coefficients take room
    del folds
    jobs = (
        delayed(refit_block)(solver_class, everything, *given(block), start)
        for block, start in zip(blocks, starts, strict=True)
    )
    _run(jobs, "refits", blocks, options.n_jobs)
    # row by row: no copy of all coefficients in float64
    fit.intercept[:] = y_mean - [weights @ x_mean for weights in fit.coef]
    fit.cv_predictions[:] += y_mean
    _warn_about(fit, options)
    return fit


def _check_options(options):
    """Raise for options out of range."""
    check_n_jobs(options.n_jobs)
    check_plain_types(options)
    check_integer(options.n_alphas, "n_alphas", minimum=1)
    ratios = real_array(options.l1_ratios, "l1_ratios").ravel()
    if ratios.size == 0 or not ((ratios > 0) & (ratios <= 1)).all():
        raise ValueError(
            f"l1_ratios={tuple(ratios.tolist())} must lie in (0, 1]; for a pure ridge "
            "use sklearn.linear_model.RidgeCV"
        )
    if not 0 < options.eps < 1:
        raise ValueError(f"eps={options.eps} must lie in (0, 1); the default is 1e-3")
    if not options.tol > 0 or options.max_sweeps < 1:
        raise ValueError(
            f"tol={options.tol} must be positive and max_sweeps={options.max_sweeps} "
            "at least 1; the defaults are 1e-4 and 1000"
        )


def _run(jobs, what, blocks, n_jobs):
    """Run a job a block, return all results; log what is done and how long is left."""
    from joblib import Parallel
    from sklearn.exceptions import ConvergenceWarning
    from threadpoolctl import threadpool_limits

    started, results, n_targets = time.monotonic(), [], blocks[-1].stop
    with warnings.catch_warnings(), threadpool_limits(1, user_api="blas"):
        # stalled problems are counted and reported once, by `_warn_about`
        warnings.simplefilter("ignore", ConvergenceWarning)
        runner = Parallel(n_jobs, prefer="threads", return_as="generator")
        for block, result in zip(blocks, runner(jobs), strict=True):
            results.append(result)
            spent = time.monotonic() - started
            left = spent * (n_targets - block.stop) / block.stop
            message = "elastic net, %s: %d of %d targets, %.0f s spent, about %.0f left"
            _LOGGER.info(message, what, block.stop, n_targets, spent, left)
    return results


def _column_means(values, what):
    """Column means in float64; raises ValueError for constant columns."""
    constant = np.flatnonzero(np.ptp(values, axis=0) == 0)
    if constant.size:
        raise ValueError(
            f"{constant.size} of {values.shape[1]} {what}s are constant (first: "
            f"column {constant[0]}); drop them before fitting"
        )
    return values.mean(axis=0, dtype=np.float64)


def _warn_about(fit, options):
    """Warn, once, of penalties at the edge and of problems that did not converge."""
    from sklearn.exceptions import ConvergenceWarning

    chosen = fit.l1_ratio[:, None] == np.ravel(options.l1_ratios)
    smallest = fit.alphas[np.arange(len(chosen)), chosen.argmax(axis=1), -1]
    edge = np.mean(fit.alpha <= smallest)
    if options.n_alphas > 1 and edge > 0:
        warn(
            f"the best alpha is the smallest of the grid for {edge:.1%} of the "
            "targets; lower eps"
        )
    worst = np.flatnonzero(fit.dual_gap > options.tol)
    if worst.size or fit.n_stalled.any():
        warn(
            f"the elastic net reached max_sweeps={options.max_sweeps} in "
            f"{int(fit.n_stalled.sum())} problems of the search ("
            f"{np.mean(fit.n_stalled > 0):.1%} of targets), and {worst.size} refits "
            f"stay above tol={options.tol:g}; raise max_sweeps or eps",
            ConvergenceWarning,
        )


@described_by(RidgeEncoder)
@takes_fields
class ElasticNetEncoder(LinearEncoder):
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
        _check_options(self)
        X, Y = self._given(X, y)
        splits = encoder_splits(self.cv, X, groups, self.random_state)
        fit = cross_validated_elastic_net(X, Y, splits, self)
        for name, values in vars(fit).items():
            setattr(self, f"{name}_", values)
        self.solver_ = choose_solver(self, X.shape[1])
        return self
