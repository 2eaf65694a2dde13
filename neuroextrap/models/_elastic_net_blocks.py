"""One block of targets: the search of their grids, then the exact solutions."""

import numpy as np

from neuroextrap.models._elastic_net_folds import alpha_grid, prepare_targets
from neuroextrap.models._elastic_net_options import (
    choose_solver,
    is_dense,
    search_settings,
)
from neuroextrap.models._elastic_net_refit import polish
from neuroextrap.models._elastic_net_walk import grid_walk


def fit_block(folds, X, Y, options, out):
    """Search and refit a block of targets.

    Parameters
    ----------
    folds : FoldGrams
        What all targets share.
    X : ndarray, shape (n_samples, n_features)
        Centered features.
    Y : ndarray, shape (n_samples, n_targets)
        Centered targets of the block.
    options : SearchOptions
        Grid, stopping and limits.
    out : ElasticNetFit
        Views of the block's part of the result; filled.
    """
    settings = search_settings(options)
    ratios = np.asarray(options.l1_ratios, dtype=np.float64)
    targets = prepare_targets(folds, X, Y)
    out.alphas[:] = alpha_grid(
        targets.products[:, -1], len(X), ratios, options.n_alphas, options.eps
    )
    solver = _solver(folds, targets, options, settings)
    starts = np.zeros((Y.shape[1], X.shape[1]))
    for group in solver.groups():
        walks = _walks(group, ratios, settings, options.n_alphas)
        _search(solver, walks, ratios, folds, targets.values, out)
        starts[group] = solver.average(group)
    l1 = out.alpha * out.l1_ratio
    l2 = out.alpha - l1
    for v, start in enumerate(solver.refit(starts, l1, l2)):
        penalties = l1[v] * len(X), l2[v] * len(X)
        out.coef[v], out.dual_gap[v] = polish(solver.problem(v), start, *penalties)


def _solver(folds, targets, options, settings):
    """Build the block's solver."""
    n_features = folds.gram.shape[1]
    name = choose_solver(options.solver, n_features)
    if is_dense(options, n_features):
        from neuroextrap.models._elastic_net_dense import DenseSolver

        return DenseSolver(folds, targets, settings, compiled=name == "numba")
    if name == "numba":
        from neuroextrap.models._elastic_net_wide import WideSolver

        return WideSolver(folds, targets, settings)
    from neuroextrap.models._elastic_net_reference import ReferenceSolver

    return ReferenceSolver(folds, targets, settings)


def _walks(group, ratios, settings, n_alphas):
    """Begin the walks of a group's targets through their grids, sparse models first."""
    order = np.argsort(-ratios, kind="stable")
    return {
        v: grid_walk(order, n_alphas, settings.patience, settings.max_rise)
        for v in group
    }


def _search(solver, walks, ratios, folds, values, out):
    """Follow the walks, all targets one point at a time; fill in what was found."""
    points = {v: next(walk) for v, walk in walks.items()}
    lowest = np.full(len(values), np.inf)
    while points:
        which = np.array(list(points))
        ratio, alpha, restart = np.array(list(points.values())).T
        penalty = out.alphas[which, ratio, alpha]
        l1 = penalty * ratios[ratio]
        found, stalled = solver.solve(which, l1, penalty - l1, restart.astype(bool))
        errors = _mean_errors(found, values[which], folds.start)
        out.cv_error[which, ratio, alpha] = errors
        out.n_stalled[which] += stalled
        better = errors < lowest[which]
        some = which[better]
        lowest[some] = errors[better]
        out.alpha[some], out.l1_ratio[some] = penalty[better], ratios[ratio[better]]
        out.cv_predictions[np.ix_(folds.order, some)] = found[better].T
        solver.keep(some)
        points = _advance(walks, which, errors)


def _mean_errors(found, values, start):
    """Mean over folds of the fold's mean squared error, a target a row."""
    squares = (values - found) ** 2
    return (np.add.reduceat(squares, start[:-1], axis=1) / np.diff(start)).mean(axis=1)


def _advance(walks, which, errors):
    """Tell the walks their errors; collect the next points of those that go on."""
    points = {}
    for v, error in zip(which, errors, strict=True):
        try:
            points[v] = walks[v].send(error)
        except StopIteration:
            continue
    return points
