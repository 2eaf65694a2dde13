"""The grid of penalties, and the protocol of the solvers that walk it."""

import numpy as np
import scipy.sparse

from neuroextrap.models.elastic_net._acceleration import FeatureProblems, polish
from neuroextrap.models.elastic_net._folds import prepare_targets

# early stopping: points beyond the lowest error, or error relative to it, that end a
# path
PATIENCE = 5
MAX_RISE = 1.01


def search_block(solver_class, folds, Y, options, out):
    """Fill in a block's penalties; return mean best solutions, a sparse array."""
    ratios = np.ravel(options.l1_ratios).astype(np.float64)
    targets = prepare_targets(folds, Y)
    # geometric, from the penalty that empties the model down
    largest = np.abs(targets.total).max(axis=1).astype(np.float64)
    top = largest[:, None] / (len(Y) * ratios)
    out.alphas[:] = top[..., None] * np.geomspace(1.0, options.eps, options.n_alphas)
    order = np.argsort(-ratios, kind="stable")  # the sparsest models are cheapest
    early = options.early_stopping
    limits = (PATIENCE, MAX_RISE) if early else (options.n_alphas, np.inf)
    solver = solver_class(folds, targets, options)
    everyone, starts = np.arange(Y.shape[1]), []
    for group in [everyone] if solver.together else np.split(everyone, everyone[1:]):
        solver.begin(group)
        walks = {v: grid_walk(order, options.n_alphas, *limits) for v in group}
        _search(solver, walks, ratios, folds, targets, out)
        starts.append(scipy.sparse.csr_array(solver.average(group)))
    return scipy.sparse.vstack(starts, format="csr")


def refit_block(solver_class, everything, Y, options, out, starts):
    """Fit a block's chosen models on all samples; fill in coefficients."""
    solver = solver_class(everything, prepare_targets(everything, Y), options)
    l1 = out.alpha * out.l1_ratio
    l2 = out.alpha - l1
    nearly = solver.refit(starts.toarray(), l1, l2)
    out.coef[:], out.dual_gap[:] = polish(
        solver.problems(), nearly, l1 * len(Y), l2 * len(Y)
    )


def grid_walk(order, n_alphas, patience, max_rise):
    """Walk through a grid of penalties, told each point's error.

    A generator of (ratio, alpha, restart): ``send`` the error of the point it last
    yielded; `restart` says to start there from the best solution so far instead of the
    last. Paths follow the ratios in `order`. The first goes down from the largest
    penalty, the next begins where the one before was lowest (the absolute penalty there
    is the same), goes down from there, then up. A direction ends further than
    `patience` points from the path's lowest, or at an error above `max_rise` times it.

    >>> walk = grid_walk([1, 0], 5, 2, 1.5)
    >>> point = next(walk)
    >>> for error in (3.0, 2.0, 2.1, 3.5):
    ...     point = walk.send(error)
    >>> point
    (0, 1, True)
    """
    begin = 0
    for ratio in order:
        errors: dict[int, float] = {}
        lowest, best = np.inf, begin
        for first, stop, step in ((begin, n_alphas, 1), (begin - 1, -1, -1)):
            for alpha in range(first, stop, step):
                risen = errors.get(alpha - step, 0.0) > max_rise * lowest
                if risen or abs(alpha - best) > patience:
                    break
                errors[alpha] = yield ratio, alpha, alpha == first
                if errors[alpha] < lowest:
                    lowest, best = errors[alpha], alpha
        begin = best


def _search(solver, walks, ratios, folds, targets, out):
    """Follow the walks, all targets one point at a time; fill in the best."""
    points = {v: next(walk) for v, walk in walks.items()}
    lowest = np.full(len(targets.norm), np.inf)
    # of the best points, in the order of the folds
    kept = np.empty(targets.values.shape)
    while points:
        which = np.array(list(points))
        ratio, alpha, restart = np.array(list(points.values())).T
        penalty = out.alphas[which, ratio, alpha]
        l1 = penalty * ratios[ratio]
        predictions, stalled = solver.solve(
            which, l1, penalty - l1, restart.astype(bool)
        )
        squares = (targets.values[which] - predictions) ** 2
        sums = np.add.reduceat(squares, folds.start[:-1], axis=1)
        errors = (sums / np.diff(folds.start)).mean(axis=1)
        out.cv_error[which, ratio, alpha] = errors
        out.n_stalled[which] += stalled
        better = errors < lowest[which]
        improved = which[better]
        lowest[improved] = errors[better]
        out.alpha[improved] = penalty[better]
        out.l1_ratio[improved] = ratios[ratio[better]]
        kept[improved] = predictions[better]
        solver.keep(improved)
        points = _advance(walks, which, errors)
    group = list(walks)
    out.cv_predictions[np.ix_(folds.order, group)] = kept[group].T


def _advance(walks, which, errors):
    """Send the walks their errors; return the next points of those that go on."""
    points = {}
    for v, error in zip(which, errors, strict=True):
        try:
            points[v] = walks[v].send(error)
        except StopIteration:
            continue
    return points


class Solver:
    """Solves one block of targets at the requested points of the grid.

    A solver keeps, per target and fold, the last solution (from which the next point
    starts) and the best so far (from which it can restart). `folds` is a
    `TrainingGrams`, `targets` the block's `Targets`, `options` an `ElasticNetEncoder`,
    of which `tol` and `max_sweeps` count. Subclasses define, for the targets `which`:

    - ``begin(which)``: turn to those searched next; other solutions may be forgotten.
    - ``solve(which, l1, l2, restart)``: solve every fold, with penalties per sample;
      `restart` (n,) says where to start from the solution kept instead of the last.
      Returns out-of-fold predictions (n, n_samples), in the order of the folds, and the
      number of folds (n,) whose duality gap did not close.
    - ``keep(which)``: keep their last solutions to restart from.
    - ``average(which)``: mean over folds of the solutions kept, (n, n_features).
    - ``refit(start, l1, l2)``: coefficients of all targets; here, and for `problems`,
      the only training set are all samples.
    """

    # whether Gram matrices are needed in float64, whatever the features are
    needs_float64 = False
    # whether Gram matrices are rounded to 16 bits
    rounds_grams = False
    # whether all targets of a block are searched together, or one by one
    together = False

    def __init__(self, folds, targets, options):
        self._folds, self._targets, self._options = folds, targets, options
        self._n_folds = len(folds.n_rows)

    @staticmethod
    def block_size(n_features, n_sets):
        """Choose the targets per block from the number of training sets."""
        # products of at most 200 MB in float64
        return int(np.clip(2.5e7 / (n_features * n_sets), 1, 64))

    def problems(self):
        """Return all targets on all samples, as `polish` takes them."""
        # feature-major, rows in the order of the folds: columns are contiguous
        return FeatureProblems(self._folds.features.T, self._targets.values)
