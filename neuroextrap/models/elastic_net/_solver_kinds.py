"""The solvers: of few features all targets of a block together, of many one by one."""

import numpy as np
from numba import njit

from neuroextrap._compiling import bundle
from neuroextrap.models.elastic_net._acceleration import (
    N_ITERATES,
    anderson_weights,
    assign,
    coordinate_minimum,
    duality_gap,
    gather,
    largest_magnitude,
    newton_target,
    nonzero,
    objective,
    subtract,
    weight_sums,
)
from neuroextrap.models.elastic_net._solvers import Solver, predict_fold
from neuroextrap.models.elastic_net._working_sets import Problem, State, solve_folds

# share of the last step along the path that the next start repeats
MOMENTUM = 0.7
# columns that take turns at each coordinate: they hide one another's latency
LANES = 16
# a check costs a quarter of a sweep, and the first sweeps rarely pass it
FIRST_CHECK = 2
# sweeps after which a column that is still open tries a Newton step
NEWTON_EVERY = 60

_compile = njit(cache=True, nogil=True, error_model="numpy")
_inline = njit(nogil=True, error_model="numpy", inline="always")

# problems min 1/2 w'Gw - q'w + l1 |w|_1 + l2/2 w'w, one a row ("column" below), all of
# one Gram matrix G: coefficients w, gradient q - G w and products q of shape
# (n_columns, n_features); sum of squares of the target and penalties (n_columns,)
Columns = bundle("weights gradient products norm l1 l2")


class BatchSolver(Solver):
    """Solves a block of targets together, one fold after another."""

    needs_float64 = True
    together = True

    @staticmethod
    def block_size(n_features, n_sets):  # noqa: ARG004
        # a few megabytes of coefficients and gradients
        return int(np.clip(2**17 / n_features, 64, 1024))

    def begin(self, which):
        shape = self._n_folds, len(which), self._folds.gram.shape[1]
        self._last, self._before, self._best = (np.zeros(shape) for _ in range(3))

    def solve(self, which, l1, l2, restart):
        predictions, stalled = [], np.zeros(len(which), dtype=int)
        for f in range(self._n_folds):
            start = self._start(f, which, restart)
            weights, closed = self._solve_entry(f, which, start, l1, l2)
            self._last[f][which] = weights
            stalled += ~closed
            given = self._folds, self._targets, f, which
            predictions.append(predict_fold(*given, weights))
        return np.concatenate(predictions, axis=1), stalled

    def keep(self, which):
        self._best[:, which] = self._last[:, which]

    def average(self, which):
        return self._best[:, which].mean(axis=0)

    def refit(self, start, l1, l2):
        everyone = np.arange(len(start))
        return self._solve_entry(0, everyone, start.copy(), l1, l2)[0]

    def _start(self, f, which, restart):
        """Point along the path's last step, (n, n_features); remember that step."""
        last, before = self._last[f][which], self._before[f][which]
        start = last - before
        start *= MOMENTUM
        start += last
        # a coefficient that would change its sign, or leave zero, stays where it is
        np.copyto(start, last, where=start * last <= 0)
        if restart.any():
            start[restart] = last[restart] = self._best[f][which[restart]]
        self._before[f][which] = last
        return start

    def _solve_entry(self, f, which, start, l1, l2):
        targets, count = self._targets, self._folds.n_rows[f]
        columns = Columns(
            weights=start,
            gradient=np.empty_like(start),
            products=targets.products[which, f],
            norm=targets.norm[which, f],
            l1=l1 * count,
            l2=l2 * count,
        )
        limits = float(self._options.tol), self._options.max_sweeps
        return solve_columns(self._folds.gram[f], columns, *limits)


def solve_columns(gram, columns, tol, max_sweeps):
    """Solve every column to its tolerance; return weights and which closed."""
    closed = np.zeros(len(columns.norm), dtype=bool)
    np.subtract(columns.products, columns.weights @ gram, out=columns.gradient)
    _solve(gram, columns, tol, max_sweeps, closed)
    return columns.weights, closed


@_compile
def _solve(gram, columns, tol, max_sweeps, closed):
    """Solve all columns, a few at a time; the next takes the place of one solved."""
    n_columns, n_features = columns.weights.shape
    n_open = upcoming = min(LANES, n_columns)
    # lane -> its column, where that keeps its iterates, and its number of sweeps
    active, place = np.empty(n_open, np.int64), np.empty(n_open, np.int64)
    sweeps = np.empty(n_open, np.int64)
    for lane in range(n_open):
        active[lane], place[lane], sweeps[lane] = lane, lane, 0
    iterates = np.empty((n_open, N_ITERATES + 1, n_features))
    gradients = np.empty((n_open, N_ITERATES + 1, n_features))
    while n_open:
        # before each sweep: who is solved, or has used up the sweeps, gives its lane
        # to the next column, which is looked at in the same turn
        lane = 0
        while lane < n_open:
            c, n = active[lane], sweeps[lane]
            due = n >= min(FIRST_CHECK, max_sweeps)
            closed[c] = due and _is_solved(columns, c, tol)
            if not closed[c] and n < max_sweeps:
                kept = place[lane]
                _accelerate(gram, columns, c, n, iterates[kept], gradients[kept])
                sweeps[lane] += 1
                lane += 1
            elif upcoming < n_columns:
                active[lane], sweeps[lane] = upcoming, 0
                upcoming += 1
            else:
                # none is waiting: the last lane moves here
                n_open -= 1
                active[lane], sweeps[lane] = active[n_open], sweeps[n_open]
                place[lane] = place[n_open]
        _sweep(gram, columns, active[:n_open])


@_inline
def _sweep(gram, columns, active):
    """One pass of coordinate descent; columns take turns, which hides their latency."""
    weights, gradient, _, _, l1, l2 = columns
    for i in range(len(gram)):
        curvature, row = gram[i, i], gram[i]
        # a feature that is constant in a fold keeps its coefficient of zero
        if curvature <= 0.0:
            continue
        for c in active:
            old = weights[c, i]
            # the gradient as if this coefficient were zero
            pull = gradient[c, i] + curvature * old
            new = coordinate_minimum(pull, curvature, l1[c], l2[c])
            if new != old:
                weights[c, i] = new
                subtract(gradient[c], new - old, row)


@_inline
def _is_solved(columns, c, tol):
    """Whether the duality gap of column `c` is at most `tol` times its norm."""
    weights, gradient, products, norm, l1, l2 = columns
    sums = weight_sums(weights[c], products[c], gradient[c])
    dual = largest_magnitude(gradient[c] - l2[c] * weights[c])
    return duality_gap(sums, dual, norm[c], l1[c], l2[c]) <= tol * norm[c]


@_inline
def _accelerate(gram, columns, c, n, iterates, gradients):
    """Keep column `c` after `n` sweeps; extrapolate or try a Newton step when due."""
    since = n % NEWTON_EVERY
    if n and since == 0:
        _newton(gram, columns, c)
    # N_ITERATES + 1 in a row fill the rows in order, beginning after the first sweeps;
    # those from before a Newton step are not mixed with those after it
    kept = (since - N_ITERATES + 1) % (N_ITERATES + 1)
    if since >= N_ITERATES - 1:
        assign(iterates[kept], columns.weights[c])
        assign(gradients[kept], columns.gradient[c])
        if kept == N_ITERATES:
            _extrapolate(columns, c, iterates, gradients)


@_inline
def _extrapolate(columns, c, iterates, gradients):
    """Jump along the last iterates (Anderson acceleration)."""
    mixed = anderson_weights(iterates)
    trial, gradient = np.zeros(iterates.shape[1]), np.zeros(iterates.shape[1])
    for k in range(mixed.size):
        subtract(trial, -mixed[k], iterates[k + 1])
        subtract(gradient, -mixed[k], gradients[k + 1])
    _jump(columns, c, trial, gradient)


@_inline
def _newton(gram, columns, c):
    """Jump to the minimum of the present signs."""
    weights, products = columns.weights[c], columns.products[c]
    support = nonzero(weights)
    inner = np.empty((support.size, support.size))
    for a in range(support.size):
        assign(inner[a], gather(gram[support[a]], support))
    given = gather(products, support), gather(weights, support)
    target = newton_target(inner, *given, columns.l1[c], columns.l2[c])
    trial, gradient = np.zeros(weights.size), products.copy()
    for a in range(support.size):
        trial[support[a]] = target[a]
        subtract(gradient, target[a], gram[support[a]])
    _jump(columns, c, trial, gradient)


@_compile
def _jump(columns, c, trial, gradient):
    """Replace the coefficients of column `c` by a trial if the objective falls."""
    l1, l2, products = columns.l1[c], columns.l2[c], columns.products[c]
    new = weight_sums(trial, products, gradient)
    now = weight_sums(columns.weights[c], products, columns.gradient[c])
    if objective(new, l1, l2) < objective(now, l1, l2):
        assign(columns.weights[c], trial)
        assign(columns.gradient[c], gradient)


FIRST_CAPACITY = 64


class WorkingSetSolver(Solver):
    """Solves each target with the features that its models use, and few others."""

    rounds_grams = True

    def __init__(self, folds, targets, options):
        super().__init__(folds, targets, options)
        self._trains = np.ones((self._n_folds, len(folds.order)), dtype=bool)
        for trains, rows in zip(self._trains, folds.excluded, strict=True):
            trains[rows] = False
        self._state = _new_state(self._view(0))

    def begin(self, which):
        self._problem, self._best = self._view(which[0]), []
        state = self._state  # what it has room for stays
        state.size[:], state.is_member[:], state.penalty[:] = 0, False, 0.0
        state.gradient[:] = self._problem.products

    def solve(self, which, l1, l2, restart):  # noqa: ARG002
        predictions = np.empty((1, len(self._folds.order)))
        start = np.empty((0, self._state.is_member.shape[1]))
        if restart[0] and self._best:
            start = self._restore()
        stalled = self._solve(l1[0], l2[0], start, True, predictions[0])
        return predictions, np.array([stalled])

    def keep(self, which):
        if which.size:
            self._best = [self._solution(f) for f in range(self._n_folds)]

    def average(self, which):  # noqa: ARG002
        mean = np.zeros((1, self._state.is_member.shape[1]))
        for members, weights, *_ in self._best:
            mean[0, members] += weights / self._n_folds
        return mean

    def refit(self, start, l1, l2):
        coefficients = np.zeros_like(start)
        for v in range(len(start)):
            self.begin([v])
            self._solve(l1[v], l2[v], start[v : v + 1], False, np.empty(0))
            members = self._state.members[0, : self._state.size[0]]
            coefficients[v, members] = self._state.weights[0, : len(members)]
        return coefficients

    def _solve(self, l1, l2, start, is_known, out):
        """Solve all folds in one call: to hand the arrays over takes time each time."""
        limits = float(self._options.tol), self._options.max_sweeps
        room, stalled = solve_folds(
            self._state, self._problem, (l1, l2), limits, start, is_known, out
        )
        self._state = self._state._replace(**room._asdict())
        return stalled

    def _view(self, v):
        """Target `v` in the types that the kernel is compiled for."""
        folds, targets = self._folds, self._targets
        return Problem(
            folds.gram,
            folds.scale,
            targets.products[v],
            folds.x_mean,
            targets.y_mean[v],
            targets.norm[v],
            folds.n_rows,
            folds.features,
            folds.start,
            targets.values[v],
            self._trains,
        )

    def _solution(self, f):
        """Copy members, their weights, gradient and penalty of a fold."""
        state, own = self._state, (f, slice(self._state.size[f]))
        kept = state.members[own], state.weights[own], state.gradient[f]
        return *(values.copy() for values in kept), state.penalty[f, 0]

    def _restore(self):
        """Go back to the gradients kept; return their coefficients."""
        start = np.zeros(self._state.is_member.shape)
        for f, (members, weights, gradient, last) in enumerate(self._best):
            start[f, members] = weights
            self._state.gradient[f] = gradient
            # the penalty before it is not known
            self._state.penalty[f] = last, 0.0
        return start


def _new_state(problem):
    """Room for the working sets of all folds, empty."""
    n_sets, n_features = problem.products.shape
    capacity = min(FIRST_CAPACITY, n_features)
    return State(
        np.zeros((n_sets, capacity), np.int64),
        np.zeros((n_sets, capacity)),
        np.zeros((n_sets, capacity, capacity), problem.products.dtype),
        np.zeros(n_sets, np.int64),
        np.zeros((n_sets, n_features), np.bool_),
        problem.products.copy(),
        np.zeros((n_sets, capacity)),
        problem.products.copy(),
        np.zeros((n_sets, 2)),
    )
