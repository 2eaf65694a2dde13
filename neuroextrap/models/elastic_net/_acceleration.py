"""What the compiled solvers share: the update of a coefficient, the gap, the jumps.

Arrays are copied by `assign`, gathered by `gather` and selected by `kth_largest`:
numpy's own functions do the same, and take seconds to compile.
"""

import numpy as np
from numba import njit

MAX_ROUNDS = 20
# relative gap of a system that was solved exactly; nearly singular ones are not
_EXACT = 1e-10
# rounding may be reordered, so that sums and maxima fill the vector units; values that
# are not finite keep their meaning
FAST = {"contract", "reassoc", "nsz", "arcp"}

# no division here is by zero, which would be compiled to an error
_compile = njit(cache=True, nogil=True, error_model="numpy")
_compile_fast = njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)


def polish(X, Y, weights, l1, l2):
    """Minimize 1/2 ||y - Xw||^2 + l1 |w|_1 + l2/2 |w|^2 exactly, in float64.

    With the support and the signs fixed the elastic net is a linear system. Features
    whose sign flips leave, features that break their optimality condition enter, until
    none does (feature-sign search: Lee, Battle, Raina & Ng 2007, "Efficient sparse
    coding algorithms"; Zou & Hastie 2005, eq. 3). Of centered `X` (n_samples,
    n_features), targets `Y` (n_targets, n_samples), nearly optimal `weights`
    (n_targets, n_features) and penalties (n_targets,), returns the best round of each
    target by duality gap, or its start if none is better, and the gaps relative to y'y.
    """
    signs = np.sign(weights).astype(np.float64)
    best, best_gap = np.array(weights, dtype=np.float64), np.full(len(weights), np.inf)
    which = np.arange(len(weights))
    for _ in range(MAX_ROUNDS):
        solutions = [_solve_signs(X, Y[v], signs[v], l1[v], l2[v]) for v in which]
        regular = np.array([values is not None for values in solutions], dtype=bool)
        which = which[regular]
        if not which.size:
            break
        solved = np.stack([values for values in solutions if values is not None])
        flipped = solved * signs[which] < 0
        trial = np.where(flipped, 0.0, solved)
        gap, gradient = relative_gap(X, Y[which], trial, l1[which], l2[which])
        better = gap <= best_gap[which]
        best[which[better]], best_gap[which[better]] = trial[better], gap[better]
        limit = l1[which, None] * (1 + 1e-10)
        entering = (signs[which] == 0) & (np.abs(gradient) > limit)
        signs[which] = np.where(flipped, 0.0, signs[which])
        signs[which] = np.where(entering, np.sign(gradient), signs[which])
        which = which[(flipped | entering).any(axis=1)]
    poor = np.flatnonzero(best_gap > _EXACT)  # or there was none, and it is infinite
    if poor.size:
        start = np.array(weights[poor], dtype=np.float64)
        gap = relative_gap(X, Y[poor], start, l1[poor], l2[poor])[0]
        better = gap < best_gap[poor]
        best[poor[better]], best_gap[poor[better]] = start[better], gap[better]
    return best, best_gap


def relative_gap(X, Y, weights, l1, l2):
    """Duality gaps over y'y (n_targets,), and gradients (n_targets, n_features)."""
    predictions = np.empty(Y.shape)
    for prediction, w in zip(predictions, weights, strict=True):
        active = np.flatnonzero(w)
        prediction[:] = w[active] @ X.T[active].astype(np.float64)
    residuals, norm = Y - predictions, (Y**2).sum(axis=1)
    gradient = (residuals.astype(X.dtype) @ X).astype(np.float64)
    fitted, left = ((predictions * each).sum(axis=1) for each in (Y, residuals))
    dual_norm = np.abs(gradient - l2[:, None] * weights).max(axis=1)
    gaps = np.empty(len(Y))
    for i, w in enumerate(weights):
        sums = fitted[i], left[i], np.abs(w).sum(), w @ w
        gap = duality_gap(sums, dual_norm[i], norm[i], l1[i], l2[i])
        gaps[i] = max(gap, 0.0) / norm[i]
    return gaps, gradient


@_compile
def duality_gap(sums, dual_norm, norm, l1, l2):
    """Bound the excess of the objective over its minimum.

    With q = X'y and g = X'(y - Xw), `sums` are w'q, w'g, |w|_1 and |w|^2, `dual_norm`
    is max |g - l2 w| and `norm` is y'y. (Zou & Hastie 2005, Lemma 1: the elastic net as
    a lasso on augmented data.)
    """
    fitted, left, absolute, squares = sums
    # the residual, shrunk where necessary, is a feasible point of the dual problem
    scale = 1.0 if dual_norm <= l1 else l1 / dual_norm
    residual = norm - fitted - left
    primal = 0.5 * residual + l1 * absolute + 0.5 * l2 * squares
    dual = scale * (norm - fitted) - 0.5 * scale**2 * (residual + l2 * squares)
    return primal - dual


def _solve_signs(X, y, signs, l1, l2):
    """Solve the linear system of the given signs; None when it is singular."""
    active = np.flatnonzero(signs)
    weights, columns = np.zeros(len(signs)), X.T[active].astype(np.float64)
    gram = columns @ columns.T
    gram.flat[:: len(active) + 1] += l2
    try:
        weights[active] = np.linalg.solve(gram, columns @ y - l1 * signs[active])
    except np.linalg.LinAlgError:
        return None
    return weights


# iterates that an extrapolation mixes
N_ITERATES = 5
# share of the residual at which conjugate gradients end: sweeps do the rest
SOLVED = 0.1
# maxima that are followed at once
LANES = 16


@_compile
def objective(sums, l1, l2):
    """Value to minimize less 1/2 y'y; `sums` are those of `duality_gap`."""
    fitted, left, absolute, squares = sums
    return -0.5 * (fitted + left) + l1 * absolute + 0.5 * l2 * squares


@_compile_fast
def weight_sums(weights, products, gradient):
    """Return w'q, w'gradient, |w|_1 and |w|^2, the sums of `duality_gap`."""
    fitted = left = absolute = squares = 0.0
    for i in range(weights.size):
        w = weights[i]
        fitted += w * products[i]
        left += w * gradient[i]
        absolute += abs(w)
        squares += w * w
    return fitted, left, absolute, squares


@_compile
def coordinate_minimum(pull, curvature, l1, l2):
    """Best value of one coefficient; `pull` is its gradient without its own share."""
    # soft thresholding: what of the pull lies outside [-l1, l1]
    excess = pull - min(max(pull, -l1), l1)
    # nearly always zero, and then there is nothing to divide
    return 0.0 if excess == 0.0 else excess / (curvature + l2)


@_compile
def assign(target, values):
    """Copy values into a target of their size."""
    for k in range(values.size):
        target[k] = values[k]


@_compile
def gather(values, places):
    """Return the values at some places."""
    some = np.empty(places.size, values.dtype)
    for k in range(places.size):
        some[k] = values[places[k]]
    return some


@_compile
def nonzero(values):
    """Return the places of the values that are not zero."""
    places, size = np.empty(values.size, np.int64), 0
    for k in range(values.size):
        # written always, kept if it is one: no branch to predict
        places[size] = k
        size += values[k] != 0.0
    return places[:size]


@_compile_fast
def subtract(target, scale, row):
    """Subtract ``scale * row`` in place."""
    real = target.dtype.type
    for k in range(target.size):
        target[k] -= scale * real(row[k])


@_compile_fast
def subtract_rows(target, scales, rows, which, start):
    """Subtract ``scales @ rows[which]`` in place, from `start` as far as it goes."""
    real, size, end = target.dtype.type, target.size, start + target.size
    together = scales.size - scales.size % 8
    # eight rows at once: eight streams from memory, one target
    for i in range(0, together, 8):
        a, b = rows[which[i], start:end], rows[which[i + 1], start:end]
        c, d = rows[which[i + 2], start:end], rows[which[i + 3], start:end]
        e, f = rows[which[i + 4], start:end], rows[which[i + 5], start:end]
        g, h = rows[which[i + 6], start:end], rows[which[i + 7], start:end]
        s, t, u, v = scales[i], scales[i + 1], scales[i + 2], scales[i + 3]
        w, x, y, z = scales[i + 4], scales[i + 5], scales[i + 6], scales[i + 7]
        for k in range(size):
            left = s * real(a[k]) + t * real(b[k]) + u * real(c[k]) + v * real(d[k])
            right = w * real(e[k]) + x * real(f[k]) + y * real(g[k]) + z * real(h[k])
            target[k] -= left + right
    for i in range(together, scales.size):
        subtract(target, scales[i], rows[which[i], start:end])


@_compile
def solve_positive(matrix, right):
    """Solve a positive definite system in place of `right`, along rows (Cholesky)."""
    lower = np.linalg.cholesky(matrix)
    for i in range(right.size):
        right[i] = (right[i] - np.dot(lower[i, :i], right[:i])) / lower[i, i]
    for i in range(right.size - 1, -1, -1):
        right[i] /= lower[i, i]
        subtract(right[:i], right[i], lower[i, :i])


@_compile
def anderson_weights(iterates):
    """Weights of sum one of all iterates but the first: the mixed step is small."""
    n_steps, total = len(iterates) - 1, 0.0
    steps, right = np.empty((n_steps, iterates.shape[1])), np.empty(n_steps)
    for i in range(n_steps):
        for k in range(iterates.shape[1]):
            steps[i, k] = iterates[i + 1, k] - iterates[i, k]
    cross = steps @ steps.T
    # late steps are nearly parallel: the system would be singular
    ridge = 1e-12 * trace(cross) + 1e-300
    for i in range(n_steps):
        cross[i, i] += ridge
        right[i] = 1.0
    solve_positive(cross, right)
    for i in range(n_steps):
        total += right[i]
    for i in range(n_steps):
        right[i] /= total
    return right


@_compile
def trace(matrix):
    """Sum of the diagonal."""
    total = 0.0
    for i in range(len(matrix)):
        total += matrix[i, i]
    return total


@_compile
def newton_target(gram, products, weights, l1, l2):
    """Minimum among coefficients of the present signs; what would flip becomes zero."""
    size = weights.size
    right = np.empty(size)
    if size == 0:
        return right
    # a pure lasso may be singular; a jump is kept only if the objective falls
    ridge = 1e-9 * trace(gram) / size
    for i in range(size):
        gram[i, i] += max(l2, ridge)
        right[i] = products[i] - l1 * np.sign(weights[i])
    solve_positive(gram, right)
    for i in range(size):
        if weights[i] * right[i] <= 0.0:
            right[i] = 0.0
    return right


@_compile_fast
def dot(left, right):
    """Sum of products."""
    total = left.dtype.type(0)
    for k in range(left.size):
        total += left[k] * right[k]
    return total


@_compile
def conjugate_gradients(gram, support, residual, l2, size):
    """Solve ``(gram + l2 I) step = residual`` roughly, in the precision of `gram`.

    For the rows and columns `support` of `gram`. Returns the step (n_support,) and what
    it adds to the first `size` rows of ``gram @ weights``. Ends at a tenth of the
    residual's length, or where the system is singular. `residual` is overwritten.
    """
    step = np.zeros(residual.size, gram.dtype)
    change = np.zeros(size, gram.dtype)
    # made once: a round takes a few microseconds
    ahead, inner = np.empty(size, gram.dtype), np.empty(residual.size, gram.dtype)
    direction, nothing = residual.copy(), 0 * size
    squares = dot(residual, residual)
    goal = SOLVED**2 * squares
    ridge = gram.dtype.type(l2)
    for _ in range(residual.size):
        if squares <= goal:
            break
        # rows as far as there are members: cheaper than a copy of the support's block
        ahead[:] = 0
        subtract_rows(ahead, direction, gram, support, nothing)
        for a in range(inner.size):
            inner[a] = ridge * direction[a] - ahead[support[a]]
        curvature = dot(direction, inner)
        if curvature <= 0.0:
            break
        length = squares / curvature
        subtract(step, -length, direction)
        subtract(change, length, ahead)
        subtract(residual, length, inner)
        before, squares = squares, dot(residual, residual)
        for a in range(residual.size):
            direction[a] = residual[a] + squares / before * direction[a]
    return step, change


@_compile
def newton_step(weights, gradient, products, gram, penalties, width):
    """Jump towards the minimum of the present signs, if the objective falls.

    In place; of `gram` the first `width` columns count, which may be more than weights.
    """
    l1, l2 = penalties
    support = nonzero(weights)
    residual = np.empty(support.size, gram.dtype)
    for a in range(support.size):
        w = weights[support[a]]
        residual[a] = gradient[support[a]] - l2 * w - l1 * np.sign(w)
    step, change = conjugate_gradients(gram, support, residual, l2, width)
    before = objective(weight_sums(weights, products, gradient), l1, l2)
    kept_weights, kept_gradient = weights.copy(), gradient.copy()
    # the step of what flips its sign goes to zero, not beyond
    flips, beyond, n_flips = support.copy(), step.copy(), 0
    nothing = 0 * n_flips  # a literal would be compiled by itself
    for a in range(support.size):
        moved = weights[support[a]] + step[a]
        if moved * weights[support[a]] <= 0.0:
            flips[n_flips], beyond[n_flips] = support[a], moved
            n_flips, moved = n_flips + 1, 0.0
        weights[support[a]] = moved
    subtract_rows(change, beyond[:n_flips], gram, flips[:n_flips], nothing)
    subtract(gradient, 1.0, change[: weights.size])
    if objective(weight_sums(weights, products, gradient), l1, l2) >= before:
        assign(weights, kept_weights)
        assign(gradient, kept_gradient)


@_compile
def largest_magnitude(values):
    """Largest absolute value; several maxima side by side fill the vector units."""
    largest = np.zeros(LANES, values.dtype)
    together = values.size - values.size % LANES
    for j in range(0, together, LANES):
        for k in range(LANES):
            largest[k] = max(largest[k], abs(values[j + k]))
    for j in range(together, values.size):
        largest[0] = max(largest[0], abs(values[j]))
    for k in range(1, LANES):
        largest[0] = max(largest[0], largest[k])
    return largest[0]


@_compile_fast
def predicted_pulls(gradient, before, ahead):
    """Absolute gradients, as far ahead of `before` as the line through both goes."""
    pulls = np.empty(gradient.size, gradient.dtype)
    ahead = gradient.dtype.type(ahead)
    for j in range(pulls.size):
        pulls[j] = abs(gradient[j] + ahead * (gradient[j] - before[j]))
    return pulls


@_compile
def others_above(pulls, is_member, threshold):
    """Return the features above a threshold that are not members, in their order."""
    above = np.empty(pulls.size, np.int64)
    size = 0
    for j in range(pulls.size):
        # written always, kept if it is one: no branch to predict
        above[size] = j
        size += (pulls[j] > threshold) & (not is_member[j])
    return above[:size]


@_compile
def kth_largest(values, k):
    """Return the k-th largest of some values, which change places (quickselect).

    >>> float(kth_largest(np.array([3.0, 1.0, 2.0]), 2))
    2.0
    """
    low, high, place = 0, values.size - 1, values.size - k
    while low < high:
        pivot, i, j = values[(low + high) // 2], low, high
        while i <= j:
            while values[i] < pivot:
                i += 1
            while values[j] > pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i, j = i + 1, j - 1
        # between j and i all values are the pivot's
        if j < place < i:
            break
        low, high = (low, j) if place <= j else (i, high)
    return values[place]
