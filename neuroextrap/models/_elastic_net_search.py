"""Cross-validated elastic nets of many targets: blocks, refits, warnings."""

import importlib.util
import logging
import time
import warnings
from typing import NamedTuple

import numpy as np

from neuroextrap.models._elastic_net_folds import (
    alpha_grid,
    fold_grams,
    target_products,
)
from neuroextrap.models._elastic_net_reference import Settings
from neuroextrap.models._elastic_net_refit import polish

SOLVERS = ("auto", "numba", "scikit-learn")
_LOGGER = logging.getLogger(__name__)


class ElasticNetFit(NamedTuple):
    """Result of `cross_validated_elastic_net`.

    Parameters
    ----------
    coef : ndarray, shape (n_targets, n_features)
        Coefficients at the chosen penalties, from all samples.
    intercept : ndarray, shape (n_targets,)
        Intercepts.
    alpha, l1_ratio : ndarray, shape (n_targets,)
        Chosen penalties, in scikit-learn's scale.
    cv_error : ndarray, shape (n_targets, n_ratios, n_alphas)
        Mean squared error, averaged over folds; NaN where stopped early.
    alphas : ndarray, shape (n_targets, n_ratios, n_alphas)
        The grid.
    cv_predictions : ndarray, shape (n_samples, n_targets)
        Out-of-fold predictions at the chosen penalties.
    dual_gap : ndarray, shape (n_targets,)
        Relative duality gap of the refit.
    n_stalled : ndarray, shape (n_targets,)
        Problems of the search that reached the limit of iterations.

    Examples
    --------
    >>> ElasticNetFit._fields[:4]
    ('coef', 'intercept', 'alpha', 'l1_ratio')
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


class SearchOptions(NamedTuple):
    """Options of `cross_validated_elastic_net`.

    Parameters
    ----------
    l1_ratios : tuple of float
        Shares of the absolute penalty, each in (0, 1].
    n_alphas : int
        Penalties a ratio.
    eps : float
        Smallest penalty as a fraction of the largest.
    early_stopping : bool
        Leave a ratio's path after five penalties without improvement, or when the
        error exceeds the path's lowest by 2%.
    tol : float
        Duality gap, relative to y'y, at which a problem counts as solved.
    max_sweeps : int
        Limit of coordinate sweeps a problem.
    solver : {"auto", "numba", "scikit-learn"}
        "auto" takes the compiled kernel when numba is installed.
    n_jobs : int or None
        Threads; the result does not depend on it.

    Examples
    --------
    >>> SearchOptions(n_alphas=10).eps
    0.001
    """

    l1_ratios: tuple = (0.1, 0.5, 0.9)
    n_alphas: int = 25
    eps: float = 1e-3
    early_stopping: bool = True
    tol: float = 1e-4
    max_sweeps: int = 1000
    solver: str = "auto"
    n_jobs: int | None = 1


def cross_validated_elastic_net(X, Y, splits, options=None):
    """Fit one elastic net a target, its penalties chosen by cross-validation.

    For every target the minimiser of ::

        ||y - X b||^2 / (2 N) + alpha * l1_ratio * ||b||_1
            + alpha * (1 - l1_ratio) / 2 * ||b||^2

    with a free intercept, as in ``sklearn.linear_model.ElasticNetCV``, whose grid and
    choice it reproduces; what targets share (the Gram matrix of each training fold) is
    computed once. The chosen model is refitted on all samples and solved exactly on its
    active set.

    Parameters
    ----------
    X : ndarray, shape (n_samples, n_features)
        Features, float32 or float64; computations on folds keep that precision.
    Y : ndarray, shape (n_samples, n_targets)
        Targets.
    splits : list of (train, test)
        Row indices; the test rows partition the samples.
    options : SearchOptions or None
        Grid, stopping and limits.

    Returns
    -------
    fit : ElasticNetFit
        Coefficients, penalties, errors, out-of-fold predictions and certificates.

    Raises
    ------
    ValueError
        If a feature or target is constant, or an option is out of range.

    Warns
    -----
    UserWarning
        If a best penalty lies at the grid's edge (with the share of targets).
    sklearn.exceptions.ConvergenceWarning
        If a refit stays above the tolerance, or parts of the search stalled.

    References
    ----------
    Zou & Hastie 2005; Friedman, Hastie & Tibshirani 2010 (covariance updates);
    Bertrand & Massias 2021 (extrapolated coordinate descent).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.model_selection import KFold
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 5))
    >>> Y = X[:, :1] + 0.1 * rng.normal(size=(60, 1))
    >>> splits = list(KFold(5).split(X))
    >>> options = SearchOptions(solver="scikit-learn")
    >>> fit = cross_validated_elastic_net(X, Y, splits, options)
    >>> fit.coef.shape, bool(fit.dual_gap.max() < 1e-12)
    ((1, 5), True)
    """
    options = _check_options(options or SearchOptions())
    x_mean, y_mean = _column_means(X, "feature"), _column_means(Y, "target")
    Xc = X - x_mean.astype(X.dtype)
    folds = fold_grams(Xc, splits)
    parts = _fit_blocks(folds, Xc, Y - y_mean.astype(Y.dtype), options)
    fit = _assemble(parts, x_mean, y_mean, X.dtype)
    _warn_about(fit, options)
    return fit


def choose_solver(solver):
    """Resolve the name of a solver to "numba" or "scikit-learn".

    Parameters
    ----------
    solver : {"auto", "numba", "scikit-learn"}
        What was asked for.

    Returns
    -------
    name : str
        What will run.

    Raises
    ------
    ValueError
        If the name is unknown, or numba is asked for and not installed.

    Examples
    --------
    >>> choose_solver("scikit-learn")
    'scikit-learn'
    """
    if solver not in SOLVERS:
        raise ValueError(f"solver={solver!r} is unknown; choose one of {SOLVERS}")
    installed = importlib.util.find_spec("numba") is not None
    if solver == "numba" and not installed:
        raise ValueError(
            "solver='numba' needs numba, which is not installed; install "
            "neuroextrap[fast] or pass solver='scikit-learn'"
        )
    return "numba" if installed and solver != "scikit-learn" else "scikit-learn"


def _engine(solver):
    """Functions (cross_validate_target, solve_target) and Settings of a solver."""
    if choose_solver(solver) == "numba":
        from neuroextrap.models import _elastic_net_kernel as engine
    else:
        from neuroextrap.models import _elastic_net_reference as engine
    return engine


def _settings(engine, options):
    """Translate options into the solver's limits."""
    patience = 5 if options.early_stopping else options.n_alphas
    rise = 1.02 if options.early_stopping else np.inf
    limits = Settings(options.tol, options.max_sweeps, 100, patience, rise)
    return engine.Settings(*limits)


def _blocks(n_targets, n_features, n_entries, max_bytes=2e8):
    """Slices of targets whose products fit in a few hundred megabytes."""
    step = int(max_bytes / (8 * n_features * n_entries))
    step = int(np.clip(step, 1, 64))
    return [slice(b, min(b + step, n_targets)) for b in range(0, n_targets, step)]


def _fit_blocks(folds, X, Y, options):
    """Fit all targets block by block, telling what is done and what is left."""
    from joblib import Parallel, delayed
    from sklearn.exceptions import ConvergenceWarning
    from threadpoolctl import threadpool_limits

    blocks = _blocks(Y.shape[1], X.shape[1], len(folds.count))
    jobs = (delayed(_fit_block)(folds, X, Y[:, b], options) for b in blocks)
    started, parts = time.monotonic(), []
    with warnings.catch_warnings(), threadpool_limits(1, user_api="blas"):
        # stalled problems are counted and reported once, by `_warn_about`
        warnings.simplefilter("ignore", ConvergenceWarning)
        runner = Parallel(options.n_jobs, prefer="threads", return_as="generator")
        for done, part in enumerate(runner(jobs), 1):
            parts.append(part)
            spent = time.monotonic() - started
            left = spent * (len(blocks) - done) / done
            message = "elastic net: %d of %d targets, %.0f s spent, about %.0f s left"
            _LOGGER.info(message, blocks[done - 1].stop, Y.shape[1], spent, left)
    return parts


def _fit_block(folds, X, Y, options):
    """Search and refit a block of targets."""
    engine = _engine(options.solver)
    settings = _settings(engine, options)
    ratios = np.asarray(options.l1_ratios, dtype=np.float64)
    products, y_mean, norm = target_products(folds, X, Y)
    grid = alpha_grid(products[:, -1], len(X), ratios, options.n_alphas, options.eps)
    rows = []
    for v, alphas in enumerate(grid):
        target = Y[folds.order, v].astype(np.float64)
        data = (products[v], y_mean[v], norm[v], target)
        searched = engine.cross_validate_target(folds, data, alphas, ratios, settings)
        r, a = np.unravel_index(np.nanargmin(searched[0]), alphas.shape)
        step = max(1, a // 4)
        path = alphas[r, a % step : a + 1 : step].copy()
        start, _ = engine.solve_target(folds, data, path, ratios[r], settings)
        l1, l2 = np.array([ratios[r], 1 - ratios[r]]) * alphas[r, a] * len(X)
        # feature-major, rows in the order of the folds: columns are contiguous
        weights, gap = polish(folds.features.T, target, start, l1, l2)
        errors, predictions, stalled = searched
        found = (alphas[r, a], ratios[r], errors, stalled, gap, alphas)
        rows.append((weights.astype(X.dtype), predictions.astype(X.dtype), *found))
    return folds.order, rows


def _assemble(parts, x_mean, y_mean, dtype):
    """Stack what the blocks returned, freeing the largest parts on the way."""
    order = parts[0][0]
    rows = [row for _, block in parts for row in block]
    parts.clear()
    coef = np.empty((len(rows), len(x_mean)), dtype=dtype)
    fitted = np.empty((len(order), len(rows)), dtype=dtype)
    for v, (weights, predictions, *small) in enumerate(rows):
        coef[v] = weights
        fitted[order, v] = predictions + y_mean[v]
        rows[v] = small
    columns = [np.stack([row[c] for row in rows]) for c in range(6)]
    alpha, l1_ratio, errors, stalled, gap, alphas = columns
    return ElasticNetFit(
        coef=coef,
        intercept=y_mean - np.array([weights @ x_mean for weights in coef]),
        alpha=alpha,
        l1_ratio=l1_ratio,
        cv_error=errors,
        alphas=alphas,
        cv_predictions=fitted,
        dual_gap=gap,
        n_stalled=stalled,
    )


def _column_means(values, what):
    """Column means in float64; an error names constant columns."""
    constant = np.flatnonzero(np.ptp(values, axis=0) == 0)
    if constant.size:
        raise ValueError(
            f"{constant.size} of {values.shape[1]} {what}s are constant (first: "
            f"column {constant[0]}); drop them before fitting"
        )
    return values.mean(axis=0, dtype=np.float64)


def _check_options(options):
    """Raise for options out of range."""
    ratios = np.atleast_1d(np.asarray(options.l1_ratios, dtype=float))
    if ratios.size == 0 or not ((ratios > 0) & (ratios <= 1)).all():
        raise ValueError(
            f"l1_ratios must lie in (0, 1], got {options.l1_ratios}; for a pure ridge "
            "use sklearn.linear_model.RidgeCV"
        )
    if options.n_alphas < 1 or not 0 < options.eps < 1:
        raise ValueError(
            f"n_alphas must be at least 1 and eps in (0, 1), got "
            f"{options.n_alphas} and {options.eps}"
        )
    if not options.tol > 0 or options.max_sweeps < 1:
        raise ValueError(
            f"tol must be positive and max_sweeps at least 1, got {options.tol} and "
            f"{options.max_sweeps}"
        )
    choose_solver(options.solver)
    return options._replace(l1_ratios=tuple(ratios))


def _warn_about(fit, options):
    """Warn, once, of penalties at the edge and of problems that did not converge."""
    from sklearn.exceptions import ConvergenceWarning

    chosen = fit.l1_ratio[:, None] == np.array(options.l1_ratios)
    smallest = fit.alphas[np.arange(len(chosen)), chosen.argmax(axis=1), -1]
    edge = np.mean(fit.alpha <= smallest)
    if options.n_alphas > 1 and edge > 0:
        warnings.warn(
            f"the best alpha is the smallest of the grid for {edge:.1%} of the "
            "targets; lower eps",
            UserWarning,
            stacklevel=3,
        )
    worst = np.flatnonzero(fit.dual_gap > options.tol)
    if worst.size or fit.n_stalled.any():
        warnings.warn(
            f"the elastic net reached max_sweeps={options.max_sweeps} in "
            f"{int(fit.n_stalled.sum())} problems of the search ("
            f"{np.mean(fit.n_stalled > 0):.1%} of targets), and {worst.size} refits "
            f"stay above tol={options.tol:g}; raise max_sweeps or eps",
            ConvergenceWarning,
            stacklevel=3,
        )
