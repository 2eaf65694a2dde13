"""Compiled coordinate descent on working sets over shared fold Gram matrices.

Functions here are small because the compiler inlines them; `solve_folds` and
`solve_entry` are what the solver calls. The working set of a fold are the features
allowed to have a coefficient, its members; their block of the Gram matrix is copied so
that sweeps read memory in order. A fold's gradient of all features has the precision of
the features and is current after `refresh` only; `inner`, that of the members, is
float64 and follows each sweep.
"""

from collections import namedtuple

import numpy as np
from numba import njit

from neuroextrap.models.elastic_net._acceleration import (
    FAST,
    conjugate_gradients,
    coordinate_minimum,
    gap_closed,
    objective,
    subtract,
    subtract_rows,
)
from neuroextrap.models.elastic_net._gradient_scans import (
    largest_magnitude,
    others_above,
    predicted_pulls,
)
from neuroextrap.models.elastic_net._rounding import goal_left

# one target's view of the training sets, an entry each
Problem = namedtuple(
    "Problem",
    "gram scale products x_mean y_mean norm count features start values trains",
)
# per fold: members of the working set, their coefficients, Gram block and number;
# is_member and gradient of all features; inner is the gradient of the members; before
# is the gradient at the penalty solved before, penalty holds the two l1 (0: unknown)
State = namedtuple(
    "State", "members weights block size is_member gradient inner before penalty"
)

FIRST_CAPACITY = 64
FEWEST_ADMITTED = 32
# members per useful one from which on the others leave
SPARE = 1.5
# share of the penalty from which on features are admitted: those just below it often
# break their condition once the others have moved, and a round later costs a gradient
NEARLY = 0.97
# rounds of admitting features after which a problem counts as stalled
MAX_ROUNDS = 100
# to whose multiples loops over members are filled up: the last few take as long
VECTORS = 32


@njit(cache=True, nogil=True)
def new_state(problem):
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


@njit(cache=True, nogil=True)
def empty(state, problem):
    """Prepare the state for another target; what it has room for stays."""
    state.size[:] = 0
    state.is_member[:] = False
    state.gradient[:] = problem.products
    state.penalty[:] = 0.0


@njit(cache=True, nogil=True)
def _grow(state, needed):
    """Return the state with room for at least `needed` members."""
    n_sets, old = state.members.shape
    # no multiple of a page: rows would compete for the same lines of the cache
    new = max(needed, 2 * old) + 16
    members = np.zeros((n_sets, new), np.int64)
    weights = np.zeros((n_sets, new))
    inner = np.zeros((n_sets, new))
    block = np.zeros((n_sets, new, new), state.block.dtype)
    members[:, :old] = state.members
    weights[:, :old] = state.weights
    inner[:, :old] = state.inner
    block[:, :old, :old] = state.block
    return State(
        members,
        weights,
        block,
        state.size,
        state.is_member,
        state.gradient,
        inner,
        state.before,
        state.penalty,
    )


@njit(cache=True, nogil=True, fastmath=FAST)
def _weight_sums(weights, products, inner):
    """Return w'q, w'gradient, |w|_1 and |w|^2, the sums of `_objective`."""
    fitted = left = absolute = squares = 0.0
    for i in range(weights.size):
        w = weights[i]
        fitted += w * products[i]
        left += w * inner[i]
        absolute += abs(w)
        squares += w * w
    return fitted, left, absolute, squares


@njit(cache=True, nogil=True)
def _is_solved(state, problem, f, l1, l2, goal):
    """Check the duality gap over all features, not the members alone."""
    # the gradient becomes gradient - l2 w for a moment; only members have a w
    gradient = state.gradient[f]
    size = state.size[f]
    for i in range(size):
        gradient[state.members[f, i]] -= l2 * state.weights[f, i]
    dual = float(largest_magnitude(gradient))
    for i in range(size):
        gradient[state.members[f, i]] += l2 * state.weights[f, i]
    products = problem.products[f][state.members[f, :size]]
    sums = _weight_sums(state.weights[f, :size], products, state.inner[f, :size])
    return gap_closed(sums, dual, problem.norm[f], l1, l2, goal)


@njit(cache=True, nogil=True)
def _enter(state, problem, f, fresh):
    """Make features members, with coefficients of zero; return the state."""
    old = state.size[f]
    size = old + fresh.size
    if size > state.members.shape[1]:
        state = _grow(state, size)
    members, block = state.members[f, :size], state.block[f]
    members[old:] = fresh
    scales, real = problem.scale[f][members], block.dtype.type
    for a in range(old, size):
        state.is_member[f, members[a]] = True
        state.weights[f, a] = 0.0
        state.inner[f, a] = state.gradient[f, members[a]]
        row = problem.gram[f, members[a]]
        for i in range(a + 1):
            block[a, i] = scales[a] * scales[i] * real(row[members[i]])
    # the other half: runs of neighbors, not one element in every row
    for i in range(size):
        for a in range(max(old, i + 1), size):
            block[i, a] = block[a, i]
    state.size[f] = size
    return state


@njit(cache=True, nogil=True)
def _leave(state, f, l1):
    """Let members go that have no coefficient and no reason to get one.

    Only where they are many: what every sweep and every newcomer costs grows with the
    members.
    """
    size = state.size[f]
    useful = state.weights[f, :size] != 0.0
    useful |= np.abs(state.inner[f, :size]) > l1
    stay = np.flatnonzero(useful)
    if size <= FEWEST_ADMITTED + SPARE * stay.size:
        return
    members, block = state.members[f], state.block[f]
    for i in range(size):
        state.is_member[f, members[i]] = useful[i]
    # in place: nothing is overwritten before it has been read
    for a in range(stay.size):
        row = block[stay[a]]
        for b in range(stay.size):
            block[a, b] = row[stay[b]]
        members[a] = members[stay[a]]
        state.weights[f, a] = state.weights[f, stay[a]]
        state.inner[f, a] = state.inner[f, stay[a]]
    state.size[f] = stay.size


@njit(cache=True, nogil=True)
def start_from(state, problem, f, features, weights):
    """Take these coefficients; return the state, whose gradient is not fresh.

    Members stay members: the next problem often wants them.
    """
    coefficients = np.zeros(state.is_member.shape[1])
    coefficients[features] = weights
    missing = (coefficients != 0.0) & ~state.is_member[f]
    state = _enter(state, problem, f, np.flatnonzero(missing))
    size = state.size[f]
    state.weights[f, :size] = coefficients[state.members[f, :size]]
    return state


@njit(cache=True, nogil=True)
def _admit(state, problem, f, threshold, ahead):
    """Add features whose gradient is above a threshold; return the state.

    Where the penalty has just moved by `ahead` times its last move, the gradient is
    taken to go on likewise: most features that break the condition now will obey it
    once the members have followed. Whoever is missed comes in the next round.

    Only the worst, half as many as there are nonzero coefficients: most of the others
    obey once these have moved, above all where features are nearly collinear.
    """
    most = np.count_nonzero(state.weights[f, : state.size[f]]) // 2
    most = max(FEWEST_ADMITTED, most)
    pulls = predicted_pulls(state.gradient[f], state.before[f], ahead)
    above = others_above(pulls, state.is_member[f], pulls.dtype.type(threshold))
    if above.size > most:
        # in their order: rows of the Gram matrix are read from left to right
        pulls = pulls[above]
        above = above[pulls >= np.partition(pulls, pulls.size - most)[-most]]
    return _enter(state, problem, f, above)


@njit(cache=True, nogil=True)
def _steps_ahead(state, f, l1):
    """How far the penalty moves on, in units of its last move; 0 if it had none.

    At most 2: further ahead the straight line says little.
    """
    last, before = state.penalty[f]
    if before in (0.0, last):
        return 0.0
    return min(max((last - l1) / (before - last), 0.0), 2.0)


@njit(cache=True, nogil=True)
def _width(state, f):
    """Return the members of a fold, filled up to whole vectors of the processor.

    What lies beyond the members is finite and means nothing.
    """
    full = (state.size[f] + VECTORS - 1) // VECTORS * VECTORS
    return min(full, state.members.shape[1])


@njit(cache=True, nogil=True)
def _sweep(weights, inner, block, l1, l2):
    """One pass of coordinate descent over the working set; `inner` may be wider."""
    for i in range(weights.size):
        curvature = block[i, i]
        # a feature that is constant in a fold keeps its coefficient of zero
        if curvature <= 0.0:
            continue
        old = weights[i]
        new = coordinate_minimum(inner[i] + curvature * old, curvature, l1, l2)
        if new != old:
            weights[i] = new
            subtract(inner, new - old, block[i, : inner.size])


@njit(cache=True, nogil=True)
def _newton(state, products, f, l1, l2):
    """Jump towards the minimum of the present signs; what would flip becomes zero.

    The jump is kept only if the objective falls. `products` are those of the members.
    """
    size = state.size[f]
    # views: what is written here is written into the state
    weights, inner = state.weights[f, :size], state.inner[f, :size]
    block = state.block[f]
    support = np.flatnonzero(weights)
    residual = np.empty(support.size, block.dtype)
    for a in range(support.size):
        w = weights[support[a]]
        residual[a] = inner[support[a]] - l2 * w - l1 * np.sign(w)
    step, change = conjugate_gradients(block, support, residual, l2, _width(state, f))
    before = objective(_weight_sums(weights, products, inner), l1, l2)
    kept_weights, kept_inner = weights.copy(), inner.copy()
    moved = weights[support] + step
    flips = np.flatnonzero(moved * weights[support] <= 0.0)
    # the step went to `moved`, not to zero
    subtract_rows(change, moved[flips].astype(block.dtype), block, support[flips])
    moved[flips] = 0.0
    weights[support] = moved
    inner -= change[:size]
    if objective(_weight_sums(weights, products, inner), l1, l2) >= before:
        weights[:] = kept_weights
        inner[:] = kept_inner


@njit(cache=True, nogil=True)
def _descend(state, problem, f, l1, l2, goal, max_sweeps):
    """Sweep until the working set's own gap reaches `goal`; False at the limit.

    A sweep finds the signs, a Newton step before it the minimum of the signs before.
    """
    size = state.size[f]
    weights, inner = state.weights[f, :size], state.inner[f, :size]
    wider = state.inner[f, : _width(state, f)]
    # the products that make the gradient that of the block: both may be rounded
    products = inner.copy()
    for i in np.flatnonzero(weights):
        subtract(products, -weights[i], state.block[f, i, :size])
    for _ in range(max_sweeps):
        _newton(state, products, f, l1, l2)
        _sweep(weights, wider, state.block[f], l1, l2)
        dual = largest_magnitude(inner - l2 * weights)
        sums = _weight_sums(weights, products, inner)
        if gap_closed(sums, dual, problem.norm[f], l1, l2, goal):
            return True
    return False


@njit(cache=True, nogil=True)
def refresh(state, problem, f):
    """Compute the gradient of every feature afresh: no rounding accumulates."""
    gradient, scale = state.gradient[f], problem.scale[f]
    support = np.flatnonzero(state.weights[f, : state.size[f]])
    members = state.members[f][support]
    scales = state.weights[f][support].astype(gradient.dtype) * scale[members]
    gradient[:] = 0
    subtract_rows(gradient, scales, problem.gram[f], members)
    gradient *= scale
    gradient += problem.products[f]
    for i in range(state.size[f]):
        state.inner[f, i] = gradient[state.members[f, i]]


@njit(cache=True, nogil=True)
def solve_entry(state, problem, f, l1, l2, limits):
    """Minimize for one penalty; return the state and whether the gap closed.

    `limits` are the relative tolerance and the sweeps a round. Rounds alternate: admit
    features that break their condition or nearly do, descend on the members, compute
    the gradient of all features, check the gap over all.
    """
    tol, max_sweeps = limits
    goal = tol * problem.norm[f]
    _leave(state, f, l1)
    ahead, threshold = _steps_ahead(state, f, l1), NEARLY * l1
    if ahead == 0.0 and 0.0 < state.penalty[f, 0] < l1:
        # gradients will grow with the penalty
        threshold = NEARLY * state.penalty[f, 0]
    start = state.gradient[f].copy()
    for _ in range(MAX_ROUNDS):
        left = goal_left(state, problem, f, NEARLY * l1, goal)
        if _is_solved(state, problem, f, l1, l2, left):
            state.before[f] = start
            state.penalty[f, 1] = state.penalty[f, 0]
            state.penalty[f, 0] = l1
            return state, True
        state = _admit(state, problem, f, threshold, ahead)
        ahead, threshold = 0.0, NEARLY * l1
        # half the goal: the members' own gap is the smaller one
        moved = _descend(state, problem, f, l1, l2, 0.5 * goal, max_sweeps)
        refresh(state, problem, f)
        if not moved:
            break
    # no solution to go on from
    state.penalty[f] = 0.0
    left = goal_left(state, problem, f, NEARLY * l1, goal)
    return state, _is_solved(state, problem, f, l1, l2, left)


@njit(cache=True, nogil=True)
def solve_folds(state, problem, l1, l2, limits, out):
    """Solve every fold and write its test predictions, (n_samples,), into `out`.

    `l1` and `l2` are per sample, `problem.count` has the samples of each fold. Returns
    the state and the number of folds whose gap stayed open.
    """
    stalled = 0
    for f in range(problem.start.size - 1):
        count = problem.count[f]
        state, closed = solve_entry(state, problem, f, l1 * count, l2 * count, limits)
        stalled += not closed
        _predict(state, problem, f, out)
    return state, stalled


@njit(cache=True, nogil=True)
def _predict(state, problem, f, out):
    """Write the fold's test predictions, (n_samples,) in the order of the folds."""
    begin, end = problem.start[f], problem.start[f + 1]
    support = np.flatnonzero(state.weights[f, : state.size[f]])
    members, weights = state.members[f][support], state.weights[f][support]
    values = np.zeros(end - begin, problem.features.dtype)
    scales = -weights.astype(values.dtype)
    subtract_rows(values, scales, problem.features[:, begin:end], members)
    offset = problem.y_mean[f]
    for i in range(members.size):
        offset -= weights[i] * problem.x_mean[f, members[i]]
    out[begin:end] = values + offset
