"""Compiled coordinate descent on working sets over shared fold Gram matrices.

The working set of a fold are the features allowed to have a coefficient, its members;
their block of the Gram matrix is copied so that sweeps read memory in order. A fold's
gradient of all features has the precision of the features and is current after
`_refresh` only; `inner`, that of the members, is float64 and follows each sweep.

A function that has one caller becomes part of it (``inline="always"``): otherwise it
would be compiled for itself, and again within every caller of its caller.
"""

from collections import namedtuple

import numpy as np
from numba import njit

from neuroextrap.models.elastic_net._acceleration import (
    assign,
    coordinate_minimum,
    dot,
    duality_gap,
    kth_largest,
    largest_magnitude,
    newton_step,
    others_above,
    predicted_pulls,
    subtract,
    subtract_rows,
    weight_sums,
)

# one target's view of the training sets, an entry each
Problem = namedtuple(
    "Problem",
    "gram scale products x_mean y_mean norm n_rows features start values trains",
)
# per fold: members of the working set, their coefficients, Gram block and number;
# is_member and gradient of all features; inner is the gradient of the members; before
# is the gradient at the penalty solved before, penalty holds the two l1 (0: unknown)
State = namedtuple(
    "State", "members weights block size is_member gradient inner before penalty"
)

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
# six standard deviations of w'Ew, in units of the sum of (scale w)^2, where entries of
# the symmetric E are uniform within half a unit: sqrt(2) sqrt(1/12) is one of them
ROUNDING = 6 * (2 / 12) ** 0.5
# share of the goal that rounding may hide before features are asked
MOST_HIDDEN = 0.25


@njit(nogil=True, inline="always")
def _grow(state, needed):
    """Return the state with room for at least `needed` members."""
    n_sets, old = state.members.shape
    # no multiple of a page: rows would compete for the same lines of the cache
    new = max(needed, 2 * old) + 16
    members = np.zeros((n_sets, new), np.int64)
    weights = np.zeros((n_sets, new))
    inner = np.zeros((n_sets, new))
    block = np.zeros((n_sets, new, new), state.block.dtype)
    for f in range(n_sets):
        assign(members[f, :old], state.members[f])
        assign(weights[f, :old], state.weights[f])
        assign(inner[f, :old], state.inner[f])
        for i in range(old):
            assign(block[f, i, :old], state.block[f, i])
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


@njit(nogil=True, inline="always")
def _sharpen(state, problem, f, threshold):
    """Compute gradients from features where they may be above a threshold."""
    gradient, scale = state.gradient[f], problem.scale[f]
    support = np.flatnonzero(state.weights[f, : state.size[f]])
    members, weights = state.members[f][support], state.weights[f][support]
    fitted = np.zeros(problem.values.size, problem.features.dtype)
    subtract_rows(fitted, -weights.astype(fitted.dtype), problem.features, members)
    offset, unsure = problem.y_mean[f], 0.0
    for i in range(members.size):
        offset -= weights[i] * problem.x_mean[f, members[i]]
        unsure += scale[members[i]] * abs(weights[i])
    residual = np.empty_like(fitted)
    for r in range(residual.size):
        left = problem.values[r] - offset - fitted[r]
        residual[r] = left if problem.trains[f, r] else 0.0
    for j in range(gradient.size):
        if state.is_member[f, j] or abs(gradient[j]) + unsure * scale[j] > threshold:
            gradient[j] = dot(problem.features[j], residual)
    for i in range(state.size[f]):
        state.inner[f, i] = gradient[state.members[f, i]]


@njit(nogil=True, inline="always")
def _goal_left(state, problem, f, threshold, goal):
    """Return the goal less what rounding hides, or sharpen gradients."""
    size, scale = state.size[f], problem.scale[f]
    squares = 0.0
    for i in range(size):
        squares += (scale[state.members[f, i]] * state.weights[f, i]) ** 2
    hidden = ROUNDING * squares
    if hidden <= MOST_HIDDEN * goal:
        return goal - hidden
    _sharpen(state, problem, f, threshold)
    return goal


@njit(nogil=True, inline="always")
def _is_solved(state, problem, f, l1, l2, goal):
    """Check the duality gap over all features, not only the members."""
    # the gradient becomes gradient - l2 w for a moment; only members have a w
    gradient = state.gradient[f]
    size = state.size[f]
    for i in range(size):
        gradient[state.members[f, i]] -= l2 * state.weights[f, i]
    dual = float(largest_magnitude(gradient))
    for i in range(size):
        gradient[state.members[f, i]] += l2 * state.weights[f, i]
    products = problem.products[f][state.members[f, :size]]
    sums = weight_sums(state.weights[f, :size], products, state.inner[f, :size])
    return duality_gap(sums, dual, problem.norm[f], l1, l2) <= goal


@njit(cache=True, nogil=True)
def _enter(state, problem, f, fresh):
    """Make features members, with coefficients of zero; return the state."""
    old = state.size[f]
    size = old + fresh.size
    if size > state.members.shape[1]:
        state = _grow(state, size)
    members, block = state.members[f, :size], state.block[f]
    assign(members[old:], fresh)
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


@njit(nogil=True, inline="always")
def _leave(state, f, l1):
    """Drop members with zero coefficients and small gradients, where they are many."""
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


@njit(nogil=True, inline="always")
def _start_from(state, problem, f, coefficients):
    """Take coefficients (n_features,); members stay, and the gradient is unchanged."""
    missing = (coefficients != 0.0) & ~state.is_member[f]
    state = _enter(state, problem, f, np.flatnonzero(missing))
    for i in range(state.size[f]):
        state.weights[f, i] = coefficients[state.members[f, i]]
        state.inner[f, i] = state.gradient[f, state.members[f, i]]
    return state


@njit(nogil=True, inline="always")
def _admit(state, problem, f, threshold, ahead):
    """Add the worst features above a threshold, `ahead` on the gradient's line."""
    useful = np.count_nonzero(state.weights[f, : state.size[f]])
    most = max(FEWEST_ADMITTED, useful // 2)
    pulls = predicted_pulls(state.gradient[f], state.before[f], ahead)
    above = others_above(pulls, state.is_member[f], pulls.dtype.type(threshold))
    if above.size > most:
        # in their order: rows of the Gram matrix are read from left to right
        pulls = pulls[above]
        above = above[pulls >= kth_largest(pulls.copy(), most)]
    return _enter(state, problem, f, above)


@njit(nogil=True, inline="always")
def _steps_ahead(state, f, l1):
    """How far the penalty moves on, in units of its last move, 0 to 2; 0: unknown."""
    last, before = state.penalty[f]
    if before in (0.0, last):
        return 0.0
    return min(max((last - l1) / (before - last), 0.0), 2.0)


@njit(cache=True, nogil=True)
def _width(state, f):
    """Return the members of a fold, filled up to whole vectors of the processor."""
    full = (state.size[f] + VECTORS - 1) // VECTORS * VECTORS
    return min(full, state.members.shape[1])


@njit(nogil=True, inline="always")
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


@njit(nogil=True, inline="always")
def _descend(state, problem, f, l1, l2, goal, max_sweeps):
    """Sweep until the working set's own gap reaches `goal`; False at the limit."""
    size = state.size[f]
    weights, inner = state.weights[f, :size], state.inner[f, :size]
    wider = state.inner[f, : _width(state, f)]
    # the products that make the gradient that of the block: both may be rounded
    products = inner.copy()
    for i in np.flatnonzero(weights):
        subtract(products, -weights[i], state.block[f, i, :size])
    for _ in range(max_sweeps):
        newton_step(
            weights, inner, products, state.block[f], (l1, l2), _width(state, f)
        )
        _sweep(weights, wider, state.block[f], l1, l2)
        dual = largest_magnitude(inner - l2 * weights)
        sums = weight_sums(weights, products, inner)
        if duality_gap(sums, dual, problem.norm[f], l1, l2) <= goal:
            return True
    return False


@njit(cache=True, nogil=True)
def _refresh(state, problem, f):
    """Compute the gradient of every feature afresh: no rounding accumulates."""
    gradient, scale = state.gradient[f], problem.scale[f]
    support = np.flatnonzero(state.weights[f, : state.size[f]])
    members = state.members[f][support]
    scales = state.weights[f][support].astype(gradient.dtype) * scale[members]
    gradient[:] = 0
    subtract_rows(gradient, scales, problem.gram[f], members)
    for j in range(gradient.size):
        gradient[j] = gradient[j] * scale[j] + problem.products[f, j]
    for i in range(state.size[f]):
        state.inner[f, i] = gradient[state.members[f, i]]


@njit(nogil=True, inline="always")
def _solve_entry(state, problem, f, l1, l2, limits):
    """Minimize for one penalty; return the state and whether the gap closed."""
    tol, max_sweeps = limits
    goal = tol * problem.norm[f]
    _leave(state, f, l1)
    ahead, threshold = _steps_ahead(state, f, l1), NEARLY * l1
    if ahead == 0.0 and 0.0 < state.penalty[f, 0] < l1:
        # gradients will grow with the penalty
        threshold = NEARLY * state.penalty[f, 0]
    before, moved, rounds = state.gradient[f].copy(), True, 0
    while True:
        left = _goal_left(state, problem, f, NEARLY * l1, goal)
        closed = _is_solved(state, problem, f, l1, l2, left)
        if closed or not moved or rounds == MAX_ROUNDS:
            break
        state = _admit(state, problem, f, threshold, ahead)
        ahead, threshold = 0.0, NEARLY * l1
        # half the goal: the members' own gap is the smaller one
        moved = _descend(state, problem, f, l1, l2, 0.5 * goal, max_sweeps)
        _refresh(state, problem, f)
        rounds += 1
    if closed and moved and rounds < MAX_ROUNDS:
        assign(state.before[f], before)
        state.penalty[f, 0], state.penalty[f, 1] = l1, state.penalty[f, 0]
    else:
        # no solution to go on from
        state.penalty[f, 0] = state.penalty[f, 1] = 0.0
    return state, closed


@njit(nogil=True, inline="always")
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
    for i in range(values.size):
        out[begin + i] = values[i] + offset


@njit(cache=True, nogil=True)
def solve_folds(state, problem, penalties, limits, start, is_known, out):
    """Solve every fold and write its test predictions, (n_samples,), into `out`.

    `start` (n_sets, n_features), or no row, are coefficients to start from, `is_known`
    says whether the state has their gradient. Returns the state and the number of folds
    whose gap stayed open.
    """
    stalled = 0
    for f in range(problem.n_rows.size):
        if start.size:
            state = _start_from(state, problem, f, start[f])
            if not is_known:
                _refresh(state, problem, f)
        count = problem.n_rows[f]
        l1, l2 = penalties[0] * count, penalties[1] * count
        state, closed = _solve_entry(state, problem, f, l1, l2, limits)
        stalled += not closed
        # the training set of all samples tests none
        if f + 1 < problem.start.size:
            _predict(state, problem, f, out)
    return state, stalled
