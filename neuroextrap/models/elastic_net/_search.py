"""Cross-validated elastic nets of many targets: options, result, blocks, warnings."""

import logging
import time
import warnings
from typing import NamedTuple

import numpy as np

from neuroextrap.models.elastic_net._folds import all_samples, fold_grams
from neuroextrap.models.elastic_net._grid import refit_block, search_block
from neuroextrap.models.elastic_net._solvers import SOLVERS, choose_solver
from neuroextrap.stats._warn import warn

_LOGGER = logging.getLogger(__name__)


class SearchOptions(NamedTuple):
    """Options of `cross_validated_elastic_net`; see `ElasticNetEncoder`."""

    l1_ratios: tuple = (0.1, 0.5, 0.9)
    n_alphas: int = 25
    eps: float = 1e-3
    early_stopping: bool = True
    tol: float = 1e-4
    max_sweeps: int = 1000
    solver: str = "auto"
    n_jobs: int | None = 1


class ElasticNetFit(NamedTuple):
    """Result of `cross_validated_elastic_net`; see `ElasticNetEncoder`.

    Shapes: coef (n_targets, n_features), cv_error and alphas (n_targets, n_ratios,
    n_alphas), cv_predictions (n_samples, n_targets), all others (n_targets,).
    """

    coef: np.ndarray
    intercept: np.ndarray
    alpha: np.ndarray
    l1_ratio: np.ndarray
    cv_error: np.ndarray
    alphas: np.ndarray
    cv_predictions: np.ndarray
    dual_gap: np.ndarray
    n_stalled: np.ndarray

    def of_targets(self, block):
        """View the part of a slice of targets, without copies."""
        views = {name: values[block] for name, values in self._asdict().items()}
        return ElasticNetFit(
            **views | {"cv_predictions": self.cv_predictions[:, block]}
        )


def cross_validated_elastic_net(X, Y, splits, options=None):
    """Fit one elastic net per target, its penalties chosen by cross-validation.

    The objective, grid and choice are those of ``sklearn.linear_model.ElasticNetCV``
    for `X` (n_samples, n_features) and each column of `Y` (n_samples, n_targets); what
    targets share (the Gram matrix of each training fold) is computed once. The test
    rows of `splits`, a list of (train, test), partition the samples. The chosen model
    is refitted on all samples and solved exactly on its active set. (Zou & Hastie 2005;
    Friedman, Hastie & Tibshirani 2010, covariance updates; Bertrand & Massias 2021,
    extrapolated coordinate descent.)

    Warns once if best penalties lie at the grid's edge (with the share of targets), and
    if refits stay above the tolerance or parts of the search stalled.

    >>> from sklearn.model_selection import KFold
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 5))
    >>> Y = X[:, :1] + 0.1 * rng.normal(size=(60, 1))
    >>> fit = cross_validated_elastic_net(X, Y, list(KFold(5).split(X)))
    >>> fit.coef.shape, bool(fit.dual_gap.max() < 1e-12)
    ((1, 5), True)
    """
    from joblib import delayed

    options = _check_options(options or SearchOptions())
    solver_class = SOLVERS[choose_solver(options, X.shape[1])]()
    x_mean, y_mean = _column_means(X, "feature"), _column_means(Y, "target")
    Xc = (X - x_mean).astype(np.float64 if solver_class.needs_float64 else X.dtype)
    folds = fold_grams(Xc, splits, solver_class.rounds_grams)
    del Xc  # the folds have a copy in their order
    fit = _empty_fit(X, Y.shape[1], options)
    size = solver_class.block_size(X.shape[1], len(splits))
    blocks = [slice(b, min(b + size, len(y_mean))) for b in range(0, len(y_mean), size)]

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
    """Raise for options out of range; return them with ratios as a tuple."""
    ratios = np.atleast_1d(np.asarray(options.l1_ratios, dtype=float))
    if ratios.size == 0 or not ((ratios > 0) & (ratios <= 1)).all():
        raise ValueError(
            f"l1_ratios={tuple(ratios.tolist())} must lie in (0, 1]; for a pure ridge "
            "use sklearn.linear_model.RidgeCV"
        )
    if options.n_alphas < 1 or not 0 < options.eps < 1:
        raise ValueError(
            f"n_alphas={options.n_alphas} must be at least 1 and eps={options.eps} in "
            "(0, 1); the defaults are 25 and 1e-3"
        )
    if not options.tol > 0 or options.max_sweeps < 1:
        raise ValueError(
            f"tol={options.tol} must be positive and max_sweeps={options.max_sweeps} "
            "at least 1; the defaults are 1e-4 and 1000"
        )
    return options._replace(l1_ratios=tuple(ratios))


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


def _empty_fit(X, n_targets, options):
    """Make room for the result, in the features' precision; errors are NaN at first."""
    grid = (n_targets, len(options.l1_ratios), options.n_alphas)
    return ElasticNetFit(
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

    chosen = fit.l1_ratio[:, None] == np.array(options.l1_ratios)
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
