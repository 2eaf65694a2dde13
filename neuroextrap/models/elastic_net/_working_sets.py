"""Compiled coordinate descent on working sets over shared fold Gram matrices.

The working set of a fold are the features allowed to have a coefficient, its members;
their block of the Gram matrix is copied so that sweeps read memory in order. A fold's
gradient of all features has the precision of the features and is current after
`_refresh` only; `inner`, that of the members, is float64 and follows each sweep.

A function of many arrays that has one caller becomes part of it (``inline="always"``):
otherwise it would be compiled for itself, and again within every caller of its caller.
Every array that is handed on takes time to compile, so that functions get a few of
them, those of one fold.
"""

import numpy as np
from numba import njit

from neuroextrap._compiling import bundle
from neuroextrap.models.elastic_net._acceleration import (
    assign,
    coordinate_minimum,
    dot,
    duality_gap,
    gather,
    kth_largest,
    largest_magnitude,
    newton_step,
    nonzero,
    others_above,
    predicted_pulls,
    subtract,
    subtract_rows,
    weight_sums,
)

# one target's view of the training sets, an entry each
Problem = bundle(
    "gram scale products x_mean y_mean norm n_rows features start values trains"
)
# per fold: members of the working set, their coefficients, Gram block and number;
# is_member and gradient of all features; inner is the gradient of the members; before
# is the gradient at the penalty solved before, penalty holds the two l1 (0: unknown)
State = bundle("members weights block size is_member gradient inner before penalty")
# what of the state has to grow; what else of a problem and the state belongs to a fold;
# and from what its predictions, and gradients in full precision, are made
Room = bundle("members weights inner block")
Fold = bundle("gram scale products norm is_member gradient before penalty")
Samples = bundle("features values trains x_mean y_mean")

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

_compile = njit(cache=True, nogil=True, error_model="numpy")
_inline = njit(nogil=True, error_model="numpy", inline="always")


@_inline
def _grow(room, needed):
    """Return room for at least `needed` members."""
    n_sets, old = room.members.shape
    # no multiple of a page: rows would compete for the same lines of the cache
    new = max(needed, 2 * old) + 16
    members = np.zeros((n_sets, new), np.int64)
    weights, inner = np.zeros((n_sets, new)), np.zeros((n_sets, new))
    block = np.zeros((n_sets, new, new), room.block.dtype)
    for f in range(n_sets):
        assign(members[f, :old], room.members[f])
        assign(weights[f, :old], room.weights[f])
        assign(inner[f, :old], room.inner[f])
        for i in range(old):
            assign(block[f, i, :old], room.block[f, i])
    return Room(members, weights, inner, block)


@_inline
def _working_set(room, f, size):
    """Return the members of a fold, their coefficients and their gradient."""
    return room.members[f, :size], room.weights[f, :size], room.inner[f, :size]


@_compile
def _support(members, weights):
    """Return the members that have a coefficient, and these."""
    support = nonzero(weights)
    return gather(members, support), gather(weights, support)


@_compile
def _fit(samples, support, start, size):
    """Return what some samples' features give, and what is to be added to it."""
    members, weights = support
    fitted = np.zeros(size, samples.features.dtype)
    scales, offset = np.empty(members.size, fitted.dtype), samples.y_mean
    for i in range(members.size):
        offset -= weights[i] * samples.x_mean[members[i]]
        scales[i] = -weights[i]
    subtract_rows(fitted, scales, samples.features, members, start)
    return fitted, offset


@_inline
def _sharpen(working_set, fold, samples, threshold):
    """Compute gradients from features where they may be above a threshold."""
    gradient, scale, is_member = fold.gradient, fold.scale, fold.is_member
    features, values, trains, _, _ = samples
    support = _support(working_set[0], working_set[1])
    fitted, offset = _fit(samples, support, 0 * values.size, values.size)
    unsure = 0.0
    for i in range(support[0].size):
        unsure += scale[support[0][i]] * abs(support[1][i])
    for r in range(fitted.size):
        left = values[r] - offset - fitted[r]
        fitted[r] = left if trains[r] else 0.0
    for j in range(gradient.size):
        if is_member[j] or abs(gradient[j]) + unsure * scale[j] > threshold:
            gradient[j] = dot(features[j], fitted)
    _follow(working_set, gradient)


@_compile
def _follow(working_set, gradient):
    """Copy the gradient of all features to that of the members."""
    members, _, inner = working_set
    for i in range(members.size):
        inner[i] = gradient[members[i]]


@_inline
def _goal_left(working_set, fold, samples, threshold, goal):
    """Return the goal less what rounding hides, or sharpen gradients."""
    members, weights, _ = working_set
    squares = 0.0
    for i in range(members.size):
        squares += (fold.scale[members[i]] * weights[i]) ** 2
    hidden = ROUNDING * squares
    if hidden <= MOST_HIDDEN * goal:
        return goal - hidden
    _sharpen(working_set, fold, samples, threshold)
    return goal


@_compile
def _is_solved(working_set, fold, penalties, goal):
    """Check the duality gap over all features, not only the members."""
    members, weights, inner = working_set
    gradient, (l1, l2) = fold.gradient, penalties
    # the gradient becomes gradient - l2 w for a moment; only members have a w
    for i in range(members.size):
        gradient[members[i]] -= l2 * weights[i]
    dual = float(largest_magnitude(gradient))
    for i in range(members.size):
        gradient[members[i]] += l2 * weights[i]
    sums = weight_sums(weights, gather(fold.products, members), inner)
    return duality_gap(sums, dual, fold.norm, l1, l2) <= goal


@_compile
def _enter(room, f, size, fold, fresh):
    """Make features members, with coefficients of zero; return the room."""
    new = size + fresh.size
    if new > room.members.shape[1]:
        room = _grow(room, new)
    members, weights, inner = _working_set(room, f, new)
    block = room.block[f]
    assign(members[size:], fresh)
    scales, real = gather(fold.scale, members), block.dtype.type
    for a in range(size, new):
        fold.is_member[members[a]] = True
        weights[a], inner[a] = 0.0, fold.gradient[members[a]]
        row = fold.gram[members[a]]
        for i in range(a + 1):
            block[a, i] = scales[a] * scales[i] * real(row[members[i]])
    # the other half: runs of neighbors, not one element in every row
    for i in range(new):
        for a in range(max(size, i + 1), new):
            block[i, a] = block[a, i]
    return room


@_compile
def _leave(working_set, block, is_member, l1):
    """Drop members with zero coefficients and small gradients, where they are many.

    Returns the number of those that stay.
    """
    members, weights, inner = working_set
    useful = np.empty(members.size, np.bool_)
    for i in range(members.size):
        useful[i] = weights[i] != 0.0 or abs(inner[i]) > l1
    stay = nonzero(useful)
    if members.size <= FEWEST_ADMITTED + SPARE * stay.size:
        return members.size
    for i in range(members.size):
        is_member[members[i]] = useful[i]
    # in place: nothing is overwritten before it has been read
    for a in range(stay.size):
        row = block[stay[a]]
        for b in range(stay.size):
            block[a, b] = row[stay[b]]
        members[a], weights[a] = members[stay[a]], weights[stay[a]]
        inner[a] = inner[stay[a]]
    return stay.size


@_inline
def _start_from(room, f, size, fold, coefficients):
    """Take coefficients (n_features,); members stay, and the gradient is unchanged."""
    missing = others_above(np.abs(coefficients), fold.is_member, 0.0)
    room = _enter(room, f, size[f], fold, missing)
    size[f] += missing.size
    members, weights, inner = _working_set(room, f, size[f])
    for i in range(members.size):
        weights[i] = coefficients[members[i]]
        inner[i] = fold.gradient[members[i]]
    return room


@_compile
def _admitted(weights, fold, threshold, ahead):
    """Return the worst features above a threshold, `ahead` on the gradient's line."""
    most = max(FEWEST_ADMITTED, nonzero(weights).size // 2)
    pulls = predicted_pulls(fold.gradient, fold.before, ahead)
    above = others_above(pulls, fold.is_member, pulls.dtype.type(threshold))
    if above.size <= most:
        return above
    # in their order: rows of the Gram matrix are read from left to right
    pulls = gather(pulls, above)
    least = kth_largest(pulls.copy(), most)
    return gather(above, nonzero(pulls >= least))


@_compile
def _steps_ahead(penalty, l1):
    """How far the penalty moves on, in units of its last move, 0 to 2; 0: unknown."""
    last, before = penalty
    if before in (0.0, last):
        return 0.0
    return min(max((last - l1) / (before - last), 0.0), 2.0)


@_inline
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


@_compile
def _descend(weights, inner, block, norm, penalties, limits):
    """Sweep until the working set's own gap reaches the goal; False at the limit.

    `inner` and `block` may be wider, filled up to whole vectors of the processor.
    """
    (l1, l2), (goal, max_sweeps) = penalties, limits
    size = weights.size
    full = (size + VECTORS - 1) // VECTORS * VECTORS
    own, wider = inner[:size], inner[: min(full, inner.size)]
    # the products that make the gradient that of the block: both may be rounded
    products = own.copy()
    for i in nonzero(weights):
        subtract(products, -weights[i], block[i, :size])
    for _ in range(max_sweeps):
        newton_step(weights, own, products, block, penalties, wider.size)
        _sweep(weights, wider, block, l1, l2)
        dual = largest_magnitude(own - l2 * weights)
        sums = weight_sums(weights, products, own)
        if duality_gap(sums, dual, norm, l1, l2) <= goal:
            return True
    return False


@_compile
def _refresh(working_set, fold):
    """Compute the gradient of every feature afresh: no rounding accumulates."""
    gradient, scale = fold.gradient, fold.scale
    members, weights = _support(working_set[0], working_set[1])
    scales, real = gather(scale, members), scale.dtype.type
    for i in range(members.size):
        scales[i] *= real(weights[i])
    gradient[:] = 0
    subtract_rows(gradient, scales, fold.gram, members, 0 * members.size)
    for j in range(gradient.size):
        gradient[j] = gradient[j] * scale[j] + fold.products[j]
    _follow(working_set, gradient)


@_inline
def _solve_entry(room, f, size, fold, samples, penalties, limits):
    """Minimize for one penalty; return the room and whether the gap closed."""
    l1, goal, last = penalties[0], limits[0] * fold.norm, fold.penalty[0]
    given = _working_set(room, f, size[f])
    size[f] = _leave(given, room.block[f], fold.is_member, l1)
    ahead, threshold = _steps_ahead((last, fold.penalty[1]), l1), NEARLY * l1
    if ahead == 0.0 and 0.0 < last < l1:
        # gradients will grow with the penalty
        threshold = NEARLY * last
    before, moved, rounds = fold.gradient.copy(), True, 0
    while True:
        given = _working_set(room, f, size[f])
        left = _goal_left(given, fold, samples, NEARLY * l1, goal)
        closed = _is_solved(given, fold, penalties, left)
        if closed or not moved or rounds == MAX_ROUNDS:
            break
        fresh = _admitted(given[1], fold, threshold, ahead)
        room = _enter(room, f, size[f], fold, fresh)
        size[f] += fresh.size
        ahead, threshold = 0.0, NEARLY * l1
        given = _working_set(room, f, size[f])
        # half the goal: the members' own gap is the smaller one
        ends = 0.5 * goal, limits[1]
        moved = _descend(
            given[1], room.inner[f], room.block[f], fold.norm, penalties, ends
        )
        _refresh(given, fold)
        rounds += 1
    if closed and moved and rounds < MAX_ROUNDS:
        assign(fold.before, before)
        fold.penalty[0], fold.penalty[1] = l1, last
    else:
        # no solution to go on from
        fold.penalty[0] = fold.penalty[1] = 0.0
    return room, closed


@_inline
def _predict(working_set, samples, begin, end, out):
    """Write the fold's test predictions, (n_samples,) in the order of the folds."""
    support = _support(working_set[0], working_set[1])
    values, offset = _fit(samples, support, begin, end - begin)
    for i in range(values.size):
        out[begin + i] = values[i] + offset


@_inline
def _views(state, problem, f):
    """Return what of the state and the problem belongs to a fold."""
    _, _, _, _, is_member, gradient, _, before, penalty = state
    gram, scale, products, x_mean, y_mean, norm, _, features, _, values, trains = (
        problem
    )
    own = gram[f], scale[f], products[f], norm[f]
    fold = Fold(*own, is_member[f], gradient[f], before[f], penalty[f])
    return fold, Samples(features, values, trains[f], x_mean[f], y_mean[f])


@_compile
def solve_folds(state, problem, penalties, limits, start, is_known, out):
    """Solve every fold and write its test predictions, (n_samples,), into `out`.

    `start` (n_sets, n_features), or no row, are coefficients to start from, `is_known`
    says whether the state has their gradient. Returns the room, which may have grown,
    and the number of folds whose gap stayed open.
    """
    size, counts, edges, stalled = state.size, problem.n_rows, problem.start, 0
    room = Room(state.members, state.weights, state.inner, state.block)
    for f in range(counts.size):
        fold, samples = _views(state, problem, f)
        if start.size:
            room = _start_from(room, f, size, fold, start[f])
            if not is_known:
                _refresh(_working_set(room, f, size[f]), fold)
        given = penalties[0] * counts[f], penalties[1] * counts[f]
        room, closed = _solve_entry(room, f, size, fold, samples, given, limits)
        stalled += not closed
        # the training set of all samples tests none
        if f + 1 < edges.size:
            own = _working_set(room, f, size[f])
            _predict(own, samples, edges[f], edges[f + 1], out)
    return room, stalled
