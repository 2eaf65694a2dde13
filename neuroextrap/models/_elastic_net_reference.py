"""The reference solver: scikit-learn's ``enet_path`` on shared fold Grams."""

from typing import NamedTuple

import numpy as np


class Settings(NamedTuple):
    """Limits of a solver, in scikit-learn's meaning of `tol` and `max_iter`."""

    tol: float
    max_iter: int
    max_rounds: int
    patience: int
    max_rise: float


def cross_validate_target(folds, data, alphas, l1_ratios, settings):
    """Cross-validate one target over a grid of penalties.

    The naive counterpart of the compiled kernel: same grid, same stopping rule, one
    call of ``sklearn.linear_model.enet_path`` per fold and stretch of penalties.

    Parameters
    ----------
    folds : FoldGrams
        What the targets share.
    data : tuple of ndarray
        The target's products (n_folds + 1, n_features), training means and norms
        (n_folds + 1,), and its values (n_samples,) in the order of the folds.
    alphas : ndarray, shape (n_ratios, n_alphas)
        Penalties, decreasing.
    l1_ratios : ndarray, shape (n_ratios,)
        Mixing parameters.
    settings : Settings
        Tolerance, limits and early stopping.

    Returns
    -------
    errors : ndarray, shape (n_ratios, n_alphas)
        Mean over folds of the mean squared test error; NaN where not computed.
    predictions : ndarray, shape (n_samples,)
        Out-of-fold predictions of the best penalty, in the order of the folds.
    stalled : int
        Number of problems that used up `max_iter`.
    """
    errors = np.full(alphas.shape, np.nan)
    predictions = np.empty(len(folds.order))
    lowest, stalled = np.inf, 0
    for r, l1_ratio in enumerate(l1_ratios):
        path = _lockstep(folds, data, alphas[r], l1_ratio, settings)
        for a, (fitted, n_stalled) in enumerate(path):
            errors[r, a] = _mean_error(fitted, data[3], folds.start)
            stalled += n_stalled
            if errors[r, a] < lowest:
                lowest, predictions = errors[r, a], fitted
            if _should_stop(errors[r, : a + 1], settings):
                break
    return errors, predictions, stalled


def solve_target(folds, data, path, l1_ratio, settings):
    """Solve one target on all samples along a short path of penalties.

    Parameters
    ----------
    folds, data, settings
        As in `cross_validate_target`.
    path : ndarray, shape (n_steps,)
        Decreasing penalties; the last one is wanted.
    l1_ratio : float
        Mixing parameter.

    Returns
    -------
    coefficients : ndarray, shape (n_features,)
        In float64.
    closed : bool
        Whether the solver stopped before `max_iter`.
    """
    weights, n_iter = _enet(folds, data, len(folds.count) - 1, path, l1_ratio, settings)
    coefficients = weights[:, -1].astype(np.float64)
    return coefficients, bool(n_iter[-1] < settings.max_iter)


def _lockstep(folds, data, alphas, l1_ratio, settings):
    """Yield (out-of-fold predictions, number stalled) for one penalty after another."""
    n_folds = len(folds.count) - 1
    stretch = min(settings.patience, len(alphas))
    weights = [None] * n_folds
    for begin in range(0, len(alphas), stretch):
        part = alphas[begin : begin + stretch]
        fitted = np.empty((len(part), len(folds.order)))
        stalled = np.zeros(len(part), dtype=int)
        for f in range(n_folds):
            coefs, n_iter = _enet(folds, data, f, part, l1_ratio, settings, weights[f])
            weights[f] = coefs[:, -1]
            stalled += np.asarray(n_iter) >= settings.max_iter
            rows = slice(folds.start[f], folds.start[f + 1])
            shift = data[1][f] - folds.x_mean[f] @ coefs
            fitted[:, rows] = coefs.T @ folds.features[:, rows] + shift[:, None]
        yield from zip(fitted, stalled, strict=True)


def _enet(folds, data, f, alphas, l1_ratio, settings, start=None):
    """Call enet_path with the Gram matrix of one fold; features are never read."""
    from sklearn.linear_model import enet_path

    gram = folds.gram[f]
    # only its length and its sum of squares are used when a Gram matrix is given
    target = np.zeros(folds.count[f], dtype=gram.dtype)
    target[0] = np.sqrt(data[2][f])
    shape_only = np.broadcast_to(gram.dtype.type(0), (len(target), len(gram)))
    _, coefs, _, n_iter = enet_path(
        shape_only,
        target,
        l1_ratio=l1_ratio,
        alphas=alphas.astype(gram.dtype),
        precompute=gram,
        Xy=np.ascontiguousarray(data[0][f]),
        coef_init=start,
        copy_X=False,
        check_input=False,
        return_n_iter=True,
        tol=settings.tol,
        max_iter=settings.max_iter,
    )
    return coefs, n_iter


def _mean_error(fitted, target, start):
    """Mean over folds of the fold's mean squared error."""
    squares = (target - fitted) ** 2
    return np.mean(np.add.reduceat(squares, start[:-1]) / np.diff(start))


def _should_stop(errors, settings):
    """Whether the path has not improved for a while or has risen too far."""
    lowest = errors.min()
    since = len(errors) - 1 - int(np.argmin(errors))
    return since >= settings.patience or errors[-1] > settings.max_rise * lowest
