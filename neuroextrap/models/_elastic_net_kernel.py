"""Compiled coordinate descent: working sets over shared fold Gram matrices.

Importing this module needs numba (the extra ``fast``). Functions here are small
because the compiler inlines them; ``cross_validate_targets`` is the entry.
"""

from collections import namedtuple

import numpy as np
from numba import njit

# one target's view of the folds; the last entry of each is "all samples"
Problem = namedtuple(
    "Problem", "gram products x_mean y_mean norm count features target start"
)
# per fold: members of the working set, their coefficients, Gram block, gradient
State = namedtuple("State", "members weights block size is_member gradient inner")
Settings = namedtuple("Settings", "tol max_iter max_rounds patience max_rise")

FIRST_CAPACITY = 64
N_ITERATES = 5


@njit(cache=True, nogil=True)
def _new_state(problem):
    n_entries, n_features = problem.products.shape
    capacity = min(FIRST_CAPACITY, n_features)
    return State(
        np.zeros((n_entries, capacity), np.int64),
        np.zeros((n_entries, capacity)),
        np.zeros((n_entries, capacity, capacity), problem.gram.dtype),
        np.zeros(n_entries, np.int64),
        np.zeros((n_entries, n_features), np.bool_),
        problem.products.copy(),
        np.zeros((n_entries, capacity)),
    )


@njit(cache=True, nogil=True)
def _grow(state, needed):
    """Return the state with room for at least `needed` members."""
    n_entries, old = state.members.shape
    new = min(max(needed, 2 * old), state.is_member.shape[1])
    members = np.zeros((n_entries, new), np.int64)
    weights = np.zeros((n_entries, new))
    inner = np.zeros((n_entries, new))
    block = np.zeros((n_entries, new, new), state.block.dtype)
    members[:, :old] = state.members
    weights[:, :old] = state.weights
    inner[:, :old] = state.inner
    block[:, :old, :old] = state.block
    return State(
        members, weights, block, state.size, state.is_member, state.gradient, inner
    )


@njit(cache=True, nogil=True)
def _gap(sums, dual_norm, norm, l1, l2):
    """Duality gap from (w'q, w'gradient, |w|_1, |w|^2) and the dual norm."""
    fitted, left, absolute, squares = sums
    residual = norm - fitted - left
    scale = 1.0 if dual_norm <= l1 else l1 / dual_norm
    primal = 0.5 * residual + l1 * absolute + 0.5 * l2 * squares
    dual = scale * (norm - fitted) - 0.5 * scale**2 * (residual + l2 * squares)
    return primal - dual


@njit(cache=True, nogil=True)
def _weight_sums(state, problem, f):
    fitted = left = absolute = squares = 0.0
    for i in range(state.size[f]):
        w = state.weights[f, i]
        if w != 0.0:
            fitted += w * problem.products[f, state.members[f, i]]
            left += w * state.inner[f, i]
            absolute += abs(w)
            squares += w * w
    return fitted, left, absolute, squares


@njit(cache=True, nogil=True, fastmath={"contract", "reassoc", "nsz", "arcp"})
def _largest(values):
    """Largest absolute value."""
    largest = values.dtype.type(0)
    for j in range(values.size):
        largest = max(largest, abs(values[j]))
    return largest


@njit(cache=True, nogil=True)
def _member_dual_norm(state, f, l2):
    dual = 0.0
    for i in range(state.size[f]):
        dual = max(dual, abs(state.inner[f, i] - l2 * state.weights[f, i]))
    return dual


@njit(cache=True, nogil=True)
def _full_gap(state, problem, f, l1, l2):
    """Duality gap over all features (a member of weight w has gradient - l2 w)."""
    gradient = state.gradient[f]
    for i in range(state.size[f]):
        gradient[state.members[f, i]] -= l2 * state.weights[f, i]
    dual = float(_largest(gradient))
    for i in range(state.size[f]):
        gradient[state.members[f, i]] += l2 * state.weights[f, i]
    return _gap(_weight_sums(state, problem, f), dual, problem.norm[f], l1, l2)


@njit(cache=True, nogil=True)
def _admit(state, problem, f, l1):
    """Add every feature that breaks the optimality condition; return the state."""
    gradient, is_member = state.gradient[f], state.is_member[f]
    fresh = 0
    for j in range(gradient.size):
        if abs(gradient[j]) > l1 and not is_member[j]:
            fresh += 1
    size = state.size[f]
    if size + fresh > state.members.shape[1]:
        state = _grow(state, size + fresh)
    for j in range(gradient.size):
        if abs(gradient[j]) > l1 and not is_member[j]:
            is_member[j] = True
            state.members[f, size] = j
            state.weights[f, size] = 0.0
            state.inner[f, size] = gradient[j]
            row = problem.gram[f, j]
            for i in range(size + 1):
                value = row[state.members[f, i]]
                state.block[f, size, i] = value
                state.block[f, i, size] = value
            size += 1
    state.size[f] = size
    return state


@njit(cache=True, nogil=True, fastmath={"contract", "reassoc", "nsz", "arcp"})
def _subtract(target, scale, row):
    for k in range(target.size):
        target[k] -= scale * row[k]


@njit(cache=True, nogil=True)
def _sweep(weights, inner, block, l1, l2):
    """One pass of coordinate descent over the working set."""
    size = weights.size
    for i in range(size):
        curvature = block[i, i]
        if curvature <= 0.0:
            continue
        old = weights[i]
        pull = inner[i] + curvature * old
        new = max(abs(pull) - l1, 0.0) / (curvature + l2)
        if pull < 0.0:
            new = -new
        if new != old:
            weights[i] = new
            _subtract(inner, new - old, block[i, :size])


@njit(cache=True, nogil=True)
def _objective(sums, l1, l2):
    """Value to minimise, up to a constant, from the sums of `_weight_sums`."""
    fitted, left, absolute, squares = sums
    return -0.5 * (fitted + left) + l1 * absolute + 0.5 * l2 * squares


@njit(cache=True, nogil=True)
def _mixture(history):
    """Weights, summing to one, that make the mixed residual of iterates small."""
    n_kept = len(history) - 1
    steps = history[1:] - history[:-1]
    cross = steps @ steps.T
    ridge = 1e-12 * np.trace(cross) + 1e-300
    cross += ridge * np.eye(n_kept)
    mixture = np.linalg.solve(cross, np.ones(n_kept))
    return mixture / mixture.sum()


@njit(cache=True, nogil=True)
def _jump(state, problem, f, l1, l2, trial):
    """Replace the working set's coefficients by a trial if the objective falls."""
    size = state.size[f]
    weights, inner = state.weights[f, :size], state.inner[f, :size]
    before = _objective(_weight_sums(state, problem, f), l1, l2)
    kept_weights, kept_inner = weights.copy(), inner.copy()
    weights[:] = trial
    for i in range(size):
        inner[i] = problem.products[f, state.members[f, i]]
    for i in range(size):
        if weights[i] != 0.0:
            _subtract(inner, weights[i], state.block[f, i, :size])
    if _objective(_weight_sums(state, problem, f), l1, l2) >= before:
        weights[:] = kept_weights
        inner[:] = kept_inner


@njit(cache=True, nogil=True)
def _extrapolate(state, problem, f, l1, l2, history):
    """Jump along the last iterates (Anderson acceleration)."""
    mixture = _mixture(history)
    trial = np.zeros(state.size[f])
    for k in range(mixture.size):
        trial += mixture[k] * history[k + 1]
    _jump(state, problem, f, l1, l2, trial)


@njit(cache=True, nogil=True)
def _solve_posdef(matrix, right):
    """Solve by Cholesky; both triangular solves run along rows."""
    lower = np.linalg.cholesky(matrix)
    for i in range(right.size):
        right[i] = (right[i] - np.dot(lower[i, :i], right[:i])) / lower[i, i]
    for i in range(right.size - 1, -1, -1):
        right[i] /= lower[i, i]
        _subtract(right[:i], right[i], lower[i, :i])
    return right


@njit(cache=True, nogil=True)
def _newton(state, problem, f, l1, l2):
    """Jump to the minimum of the present signs; coefficients that flip become zero.

    Kept only if the objective falls.
    """
    size = state.size[f]
    weights = state.weights[f, :size]
    support = np.flatnonzero(weights)
    matrix = np.empty((support.size, support.size))
    right = np.empty(support.size)
    for a in range(support.size):
        i = support[a]
        right[a] = problem.products[f, state.members[f, i]] - l1 * np.sign(weights[i])
        for b in range(support.size):
            matrix[a, b] = state.block[f, i, support[b]]
        matrix[a, a] += l2
    target = _solve_posdef(matrix, right)
    trial = np.zeros(size)
    for a in range(support.size):
        if weights[support[a]] * target[a] > 0.0:
            trial[support[a]] = target[a]
    _jump(state, problem, f, l1, l2, trial)


@njit(cache=True, nogil=True)
def _descend(state, problem, f, l1, l2, goal, max_iter):
    """Sweep until the working set's own gap reaches `goal`; False at the limit."""
    size = state.size[f]
    weights, inner = state.weights[f, :size], state.inner[f, :size]
    history = np.empty((N_ITERATES + 1, size))
    # a Newton step costs about as much as this many sweeps
    patience = 20 + size // 6
    for n in range(max_iter):
        history[n % N_ITERATES] = weights
        _sweep(weights, inner, state.block[f], l1, l2)
        dual = _member_dual_norm(state, f, l2)
        sums = _weight_sums(state, problem, f)
        if _gap(sums, dual, problem.norm[f], l1, l2) <= goal:
            return True
        if l2 > 0.0 and (n + 1) % patience == 0:
            _newton(state, problem, f, l1, l2)
        elif n >= N_ITERATES and (n + 1) % N_ITERATES == 0:
            history[N_ITERATES] = weights
            _extrapolate(state, problem, f, l1, l2, history)
    return False


@njit(cache=True, nogil=True)
def _refresh(state, problem, f):
    """Compute the gradient of every feature afresh: no rounding accumulates."""
    gradient = state.gradient[f]
    gradient[:] = problem.products[f]
    for i in range(state.size[f]):
        if state.weights[f, i] != 0.0:
            scale = gradient.dtype.type(state.weights[f, i])
            _subtract(gradient, scale, problem.gram[f, state.members[f, i]])
    for i in range(state.size[f]):
        state.inner[f, i] = gradient[state.members[f, i]]


@njit(cache=True, nogil=True)
def _solve(state, problem, f, l1, l2, settings):
    """Minimise for one penalty; return the state and whether the gap closed."""
    goal = settings.tol * problem.norm[f]
    for _ in range(settings.max_rounds):
        if _full_gap(state, problem, f, l1, l2) <= goal:
            return state, True
        state = _admit(state, problem, f, l1)
        moved = _descend(state, problem, f, l1, l2, 0.5 * goal, settings.max_iter)
        _refresh(state, problem, f)
        if not moved:
            break
    return state, _full_gap(state, problem, f, l1, l2) <= goal


@njit(cache=True, nogil=True)
def _predict(state, problem, f, out):
    """Write the fold's test predictions; return their sum of squared errors."""
    begin, end = problem.start[f], problem.start[f + 1]
    values = out[begin:end]
    values[:] = 0.0
    offset = problem.y_mean[f]
    for i in range(state.size[f]):
        w = state.weights[f, i]
        if w != 0.0:
            j = state.members[f, i]
            offset -= w * problem.x_mean[f, j]
            _subtract(values, -w, problem.features[j, begin:end])
    values += offset
    return ((problem.target[begin:end] - values) ** 2).sum()


@njit(cache=True, nogil=True)
def _path(problem, l1_ratio, alphas, settings, errors, best):
    """Follow one ratio's path in lockstep over folds.

    Writes the mean error of each penalty; `best` (predictions and their error)
    is overwritten by better ones. Returns the number of stalled problems.
    """
    predictions, record = best
    n_folds = problem.count.size - 1
    state = _new_state(problem)
    scratch = np.empty_like(predictions)
    stalled, since, lowest = 0, 0, np.inf
    for a in range(alphas.size):
        error = 0.0
        for f in range(n_folds):
            l1 = alphas[a] * l1_ratio * problem.count[f]
            l2 = alphas[a] * (1.0 - l1_ratio) * problem.count[f]
            state, closed = _solve(state, problem, f, l1, l2, settings)
            stalled += 0 if closed else 1
            squares = _predict(state, problem, f, scratch)
            error += squares / (problem.start[f + 1] - problem.start[f])
        errors[a] = error / n_folds
        since = 0 if errors[a] < lowest else since + 1
        lowest = min(lowest, errors[a])
        if errors[a] < record[0]:
            record[0] = errors[a]
            predictions[:] = scratch
        if since >= settings.patience or errors[a] > settings.max_rise * lowest:
            break
    return stalled


@njit(cache=True, nogil=True)
def _all_paths(problem, l1_ratios, alphas, settings, errors, best):
    """Follow the paths of all ratios; return the number of stalled problems."""
    stalled = 0
    for r in range(l1_ratios.size):
        stalled += _path(problem, l1_ratios[r], alphas[r], settings, errors[r], best)
    return stalled


@njit(cache=True, nogil=True)
def _refit(problem, l1_ratio, alphas, settings, coefficients):
    """Follow a short path on all samples down to the last penalty."""
    last = problem.count.size - 1
    state = _new_state(problem)
    closed = False
    for alpha in alphas:
        l1 = alpha * l1_ratio * problem.count[last]
        l2 = alpha * (1.0 - l1_ratio) * problem.count[last]
        state, closed = _solve(state, problem, last, l1, l2, settings)
    for i in range(state.size[last]):
        coefficients[state.members[last, i]] = state.weights[last, i]
    return closed


def _problem(folds, products, y_mean, norm, target):
    """One target's view of the folds, in the types the kernel is compiled for."""
    return Problem(
        folds.gram,
        products,
        folds.x_mean,
        y_mean,
        norm,
        folds.count,
        folds.features,
        target,
        folds.start,
    )


def cross_validate_target(folds, data, alphas, l1_ratios, settings):
    """Cross-validate one target over a grid of penalties.

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
        Number of problems whose duality gap did not reach the tolerance.
    """
    problem = _problem(folds, *data)
    errors = np.full(alphas.shape, np.nan)
    best = (np.empty(len(folds.order)), np.array([np.inf]))
    stalled = _all_paths(problem, l1_ratios, alphas, settings, errors, best)
    return errors, best[0], stalled


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
        Whether the duality gap reached the tolerance.
    """
    problem = _problem(folds, *data)
    coefficients = np.zeros(folds.gram.shape[1])
    closed = _refit(problem, l1_ratio, path, settings, coefficients)
    return coefficients, bool(closed)
