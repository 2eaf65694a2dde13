"""Cross-validated elastic nets of many targets: blocks, refits, warnings."""

import logging
import time
import warnings
from typing import NamedTuple

import numpy as np

from neuroextrap.models._elastic_net_blocks import fit_block
from neuroextrap.models._elastic_net_folds import fold_grams
from neuroextrap.models._elastic_net_options import (
    SearchOptions,
    check_options,
    is_dense,
)

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
        Mean squared error, averaged over folds; NaN where not visited.
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

    def of_targets(self, some):
        """View the part of some targets.

        Parameters
        ----------
        some : slice
            Which targets.

        Returns
        -------
        part : ElasticNetFit
            Views, not copies.
        """
        views = {name: values[some] for name, values in self._asdict().items()}
        return ElasticNetFit(**views | {"cv_predictions": self.cv_predictions[:, some]})


def cross_validated_elastic_net(X, Y, splits, options=None):
    """Fit one elastic net a target, its penalties chosen by cross-validation.

    For every target the minimizer of ::

        ||y - X b||^2 / (2 N) + alpha * l1_ratio * ||b||_1
            + alpha * (1 - l1_ratio) / 2 * ||b||^2

    with a free intercept, as in ``sklearn.linear_model.ElasticNetCV``, whose grid and
    choice it reproduces; what targets share (the Gram matrix of each training fold) is
    computed once. The chosen model is refitted on all samples and solved exactly on its
    active set.

    Parameters
    ----------
    X : ndarray, shape (n_samples, n_features)
        Features, float32 or float64. Gram matrices of more than 1024 features (256
        with early stopping) keep that precision, others are float64.
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
    options = check_options(options or SearchOptions(), X.shape[1])
    x_mean, y_mean = _column_means(X, "feature"), _column_means(Y, "target")
    dense = is_dense(options, X.shape[1])
    Xc = (X - x_mean).astype(np.float64 if dense else X.dtype)
    Yc = (Y - y_mean).astype(Xc.dtype)
    fit = _empty_fit(X, Y.shape[1], options)
    _fit_blocks(fold_grams(Xc, splits), Xc, Yc, options, fit)
    # row by row: no copy of all coefficients in float64
    fit.intercept[:] = y_mean - [weights @ x_mean for weights in fit.coef]
    fit.cv_predictions[:] += y_mean
    _warn_about(fit, options)
    return fit


def _blocks(shape, n_entries, dense):
    """Slices of targets: a few megabytes in the cache, or hundreds in memory."""
    n_targets, n_features = shape
    if dense:
        step = int(np.clip(2**17 / n_features, 64, 1024))
    else:
        step = int(np.clip(2.5e7 / (n_features * n_entries), 1, 64))
    return [slice(b, min(b + step, n_targets)) for b in range(0, n_targets, step)]


def _fit_blocks(folds, X, Y, options, out):
    """Fit all targets block by block, telling what is done and what is left."""
    from joblib import Parallel, delayed
    from sklearn.exceptions import ConvergenceWarning
    from threadpoolctl import threadpool_limits

    shape = Y.shape[1], X.shape[1]
    blocks = _blocks(shape, len(folds.count), is_dense(options, X.shape[1]))
    jobs = (
        delayed(fit_block)(folds, X, Y[:, b], options, out.of_targets(b))
        for b in blocks
    )
    started = time.monotonic()
    with warnings.catch_warnings(), threadpool_limits(1, user_api="blas"):
        # stalled problems are counted and reported once, by `_warn_about`
        warnings.simplefilter("ignore", ConvergenceWarning)
        runner = Parallel(options.n_jobs, prefer="threads", return_as="generator")
        for done, _ in enumerate(runner(jobs), 1):
            spent = time.monotonic() - started
            left = spent * (len(blocks) - done) / done
            message = "elastic net: %d of %d targets, %.0f s spent, about %.0f s left"
            _LOGGER.info(message, blocks[done - 1].stop, Y.shape[1], spent, left)


def _empty_fit(X, n_targets, options):
    """Room for the result in the features' precision; errors are NaN until computed."""
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
    """Column means in float64; an error names constant columns."""
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
