"""What all targets share, the grid of penalties, and the protocol of its solvers."""

from typing import NamedTuple

import numpy as np
import scipy.sparse

from neuroextrap.models._splitters import partition_order
from neuroextrap.models.elastic_net._acceleration import polish
from neuroextrap.stats._validation import batches

# rows of a Gram matrix that are changed at once: products of them stay small
_STEP = 512
# units of a rounded Gram matrix in a correlation of one
_UNITS = 2**15 - 1
# share of its variance below which a feature counts as constant in a fold
_CONSTANT = 1e-12


class TrainingGrams(NamedTuple):
    """Gram matrices and means of some training sets.

    Rows are sorted by the fold that tests them: set f is tested on those from
    ``start[f]`` to ``start[f + 1]``, and not trained on those in ``excluded[f]``. Where
    Gram matrices are rounded to int16, they are times ``scale`` of row and column.
    """

    gram: np.ndarray  # centered, (n_sets, n_features, n_features)
    x_mean: np.ndarray  # about the mean of all rows, (n_sets, n_features)
    n_rows: np.ndarray  # numbers of training rows, (n_sets,)
    order: np.ndarray  # of the rows, (n_samples,)
    start: np.ndarray  # (n_sets + 1,)
    excluded: tuple  # places in the order, or a slice of them
    features: np.ndarray  # centered, rows in order, (n_features, n_samples)
    scale: np.ndarray | None = None  # (n_sets, n_features)


class Targets(NamedTuple):
    """What a solver needs of a block of targets, centered on training means."""

    total: np.ndarray  # X'y of all rows, (n_targets, n_features)
    products: np.ndarray  # of each training set, (n_targets, n_sets, n_features)
    y_mean: np.ndarray  # training means, (n_targets, n_sets)
    norm: np.ndarray  # and sums of squares, (n_targets, n_sets)
    values: np.ndarray  # float64, rows in the order of the folds, (n_targets, n)


def fold_grams(X, splits, rounded=False):
    """Compute the Gram matrix of every training fold as the total minus the left out.

    `X` (n_samples, n_features), float32 or float64, is centered on the mean of all
    rows. With `rounded`, correlations are kept in 16 bits.
    """
    n_samples, n_features = X.shape
    order, start = partition_order(splits, n_samples)
    place = np.argsort(order)
    features = np.ascontiguousarray(X[order].T)
    x_mean = np.empty((len(splits), n_features), dtype=X.dtype)
    counts, excluded = [], []
    for fold, (train, _) in enumerate(splits):
        left_out = np.setdiff1d(np.arange(n_samples), train)
        rows, n_train = _places(place[left_out]), n_samples - left_out.size
        x_mean[fold] = -features[:, rows].sum(axis=1, dtype=np.float64) / n_train
        counts.append(n_train)
        excluded.append(rows)
    folds = TrainingGrams(
        gram=np.empty((0, n_features, n_features)),
        x_mean=x_mean,
        n_rows=np.array(counts),
        order=order,
        start=start,
        excluded=tuple(excluded),
        features=features,
    )
    return _with_grams(folds, rounded)


def _with_grams(folds, rounded):
    """Compute the Gram matrices; rounded, one has full precision at a time."""
    features, n_sets = folds.features, len(folds.n_rows)
    total, squares = features @ features.T, _sums_of_squares(features)
    gram = np.empty((n_sets, *total.shape), np.int16 if rounded else total.dtype)
    scale = np.empty((n_sets, len(features)), dtype=features.dtype)
    for fold in range(n_sets):
        columns = _columns(folds, fold)
        if rounded:
            scale[fold] = _scale(squares - _sums_of_squares(columns), squares)
        for rows in batches(len(total), _STEP):
            values = total[rows] - columns[rows] @ columns.T
            if rounded:
                values = _rounded(values, scale[fold, rows], scale[fold])
            gram[fold, rows] = values
    return folds._replace(gram=gram, scale=scale if rounded else None)


def all_samples(folds):
    """Return the training set of all rows, from which no fold leaves any out."""
    n_features, n_samples = folds.features.shape
    everything = folds._replace(
        x_mean=np.zeros((1, n_features), dtype=folds.features.dtype),
        n_rows=np.array([n_samples]),
        start=np.array([0]),
        excluded=(np.empty(0, dtype=int),),
    )
    return _with_grams(everything, folds.scale is not None)


def prepare_targets(folds, Y):
    """Multiply centered training features with targets (n_samples, n_targets)."""
    values, X = Y[folds.order].T, folds.features.T
    total = values.astype(X.dtype) @ X
    shape = (Y.shape[1], len(folds.n_rows))
    products = np.empty((*shape, X.shape[1]), dtype=X.dtype)
    y_mean, norm = np.empty(shape), np.empty(shape)
    values = np.ascontiguousarray(values, dtype=np.float64)
    squares = (values**2).sum(axis=1)
    sets = zip(folds.excluded, folds.n_rows, strict=True)
    for fold, (rows, count) in enumerate(sets):
        out = values[:, rows]
        mean = -out.sum(axis=1) / count
        y_mean[:, fold] = mean
        norm[:, fold] = squares - (out**2).sum(axis=1) - count * mean**2
        correction = np.outer(count * mean, folds.x_mean[fold])
        left_out = folds.features[:, rows]
        products[:, fold] = total - out.astype(X.dtype) @ left_out.T - correction
    return Targets(total, products, y_mean, norm, values)


def predict_fold(folds, targets, fold, which, weights):
    """Predict the rows that a fold tests, (n, n_test), for the targets `which` (n,)."""
    rows = slice(folds.start[fold], folds.start[fold + 1])
    offset = targets.y_mean[which, fold] - weights @ folds.x_mean[fold]
    return weights @ folds.features[:, rows] + offset[:, None]


def _places(rows):
    """Sort places; a slice where they are neighbors, which is read without a copy."""
    rows = np.sort(rows)
    begin, stop = rows[0], rows[-1] + 1
    return slice(int(begin), int(stop)) if stop - begin == rows.size else rows


def _columns(folds, fold):
    """Columns C (n_features, n_columns): a fold's Gram matrix is the total less CC'."""
    left_out = folds.features[:, folds.excluded[fold]]
    mean = np.sqrt(folds.n_rows[fold]) * folds.x_mean[fold][:, None]
    columns = np.concatenate([left_out, mean], axis=1)
    return np.ascontiguousarray(columns, dtype=left_out.dtype)


def _sums_of_squares(features):
    """Sum the squares of every feature (n_features, n) in float64."""
    return np.einsum("ij,ij->i", features, features, dtype=np.float64)


def _scale(squares, total):
    """Scale of features with these sums of squares: zero where they are constant."""
    return np.sqrt(np.where(squares > _CONSTANT * total, squares, 0.0) / _UNITS)


def _rounded(values, rows, columns):
    """Round some rows of a Gram matrix; `values` is overwritten."""
    for scale, axis in ((rows, 1), (columns, 0)):
        inverse = np.divide(1, scale, out=np.zeros_like(scale), where=scale > 0)
        values *= np.expand_dims(inverse, axis)
    np.clip(np.rint(values, out=values), -_UNITS, _UNITS, out=values)
    return values.astype(np.int16)


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
    targets = prepare_targets(everything, Y)
    solver = solver_class(everything, targets, options)
    l1 = out.alpha * out.l1_ratio
    l2 = out.alpha - l1
    nearly = solver.refit(starts.toarray(), l1, l2)
    # feature-major, rows in the order of the folds: columns are contiguous
    given = everything.features.T, targets.values, nearly
    out.coef[:], out.dual_gap[:] = polish(*given, l1 * len(Y), l2 * len(Y))


def grid_walk(order, n_alphas, patience, max_rise):
    """Walk through a grid of penalties, told each point's error.

    A generator of (ratio, alpha, restart): ``send`` the error of the point it last
    yielded; `restart` says to start there from the best solution so far instead of the
    last. Paths follow the ratios in `order`. The first goes down from the largest
    penalty, the next begins where the one before was lowest (the absolute penalty there
    is the same), goes down from there, then up. A direction ends further than
    `patience` points from the path's lowest, or at an error above `max_rise` times it.
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
    - ``refit(start, l1, l2)``: coefficients of all targets; here the only training set
      are all samples.
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
