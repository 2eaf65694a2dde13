"""What the compiled solvers share: the update of a coefficient, the gap, the jumps.

Arrays are copied by `assign` and selected by `kth_largest`: numpy's own functions do
the same, and take seconds to compile.
"""

import numpy as np
from numba import njit

from neuroextrap.models.elastic_net import _active_set

# iterates that an extrapolation mixes
N_ITERATES = 5
# share of the residual at which conjugate gradients end: sweeps do the rest
SOLVED = 0.1
# rounding may be reordered, so that sums and maxima fill the vector units; values that
# are not finite keep their meaning
FAST = {"contract", "reassoc", "nsz", "arcp"}
# maxima that are followed at once
LANES = 16

_duality_gap = njit(cache=True, nogil=True)(_active_set.duality_gap)


@njit(cache=True, nogil=True)
def objective(sums, l1, l2):
    """Value to minimize, 1/2 ||y - Xw||^2 + l1 |w|_1 + l2/2 |w|^2, less 1/2 y'y.

    `sums` are those of `duality_gap`.
    """
    fitted, left, absolute, squares = sums
    return -0.5 * (fitted + left) + l1 * absolute + 0.5 * l2 * squares


@njit(cache=True, nogil=True)
def gap_closed(sums, dual_norm, norm, l1, l2, goal):
    """Whether the duality gap is at most `goal`; `dual_norm` is max |g - l2 w|."""
    return _duality_gap(sums, dual_norm, norm, l1, l2) <= goal


@njit(cache=True, nogil=True, error_model="numpy")
def coordinate_minimum(pull, curvature, l1, l2):
    """Best value of one coefficient; `pull` is its gradient without its own share."""
    # soft thresholding: what of the pull lies outside [-l1, l1]
    excess = pull - min(max(pull, -l1), l1)
    # nearly always zero, and then there is nothing to divide
    return 0.0 if excess == 0.0 else excess / (curvature + l2)


@njit(cache=True, nogil=True)
def assign(target, values):
    """Copy values into a target of their size."""
    for k in range(values.size):
        target[k] = values[k]


@njit(cache=True, nogil=True, fastmath=FAST)
def subtract(target, scale, row):
    """Subtract ``scale * row`` in place."""
    real = target.dtype.type
    for k in range(target.size):
        target[k] -= scale * real(row[k])


@njit(cache=True, nogil=True, fastmath=FAST)
def subtract_rows(target, scales, rows, which):
    """Subtract ``scales @ rows[which]`` in place, as far as `target` goes."""
    real, size = target.dtype.type, target.size
    together = scales.size - scales.size % 8
    # eight rows at once: eight streams from memory, one target
    for i in range(0, together, 8):
        a, b = rows[which[i], :size], rows[which[i + 1], :size]
        c, d = rows[which[i + 2], :size], rows[which[i + 3], :size]
        e, f = rows[which[i + 4], :size], rows[which[i + 5], :size]
        g, h = rows[which[i + 6], :size], rows[which[i + 7], :size]
        s, t, u, v = scales[i], scales[i + 1], scales[i + 2], scales[i + 3]
        w, x, y, z = scales[i + 4], scales[i + 5], scales[i + 6], scales[i + 7]
        for k in range(size):
            left = s * real(a[k]) + t * real(b[k]) + u * real(c[k]) + v * real(d[k])
            right = w * real(e[k]) + x * real(f[k]) + y * real(g[k]) + z * real(h[k])
            target[k] -= left + right
    for i in range(together, scales.size):
        subtract(target, scales[i], rows[which[i]])


@njit(cache=True, nogil=True)
def anderson_weights(iterates):
    """Weights, summing to one, that make the mixed last step of iterates small.

    `iterates` has shape (n_kept + 1, n_features); the weights mix all but the first.
    """
    steps = iterates[1:] - iterates[:-1]
    cross = steps @ steps.T
    # late steps are nearly parallel: the system would be singular
    cross += (1e-12 * np.trace(cross) + 1e-300) * np.eye(len(steps))
    weights = np.linalg.solve(cross, np.ones(len(steps)))
    return weights / weights.sum()


@njit(cache=True, nogil=True)
def newton_target(gram, products, weights, l1, l2):
    """Minimum among coefficients of the present signs; what would flip becomes zero.

    `gram`, `products` and `weights` are those of the nonzero coefficients only; `gram`
    is overwritten, `weights` may have any value of the right sign.
    """
    size = weights.size
    right = np.empty(size)
    if size == 0:
        return right
    # a pure lasso may be singular; a jump is kept only if the objective falls
    ridge = 1e-9 * np.trace(gram) / size
    for i in range(size):
        gram[i, i] += max(l2, ridge)
        right[i] = products[i] - l1 * np.sign(weights[i])
    # Cholesky; both triangular solves run along rows
    lower = np.linalg.cholesky(gram)
    for i in range(size):
        right[i] = (right[i] - np.dot(lower[i, :i], right[:i])) / lower[i, i]
    for i in range(size - 1, -1, -1):
        right[i] /= lower[i, i]
        subtract(right[:i], right[i], lower[i, :i])
    for i in range(size):
        if weights[i] * right[i] <= 0.0:
            right[i] = 0.0
    return right


@njit(cache=True, nogil=True, fastmath=FAST)
def dot(left, right):
    """Sum of products."""
    total = left.dtype.type(0)
    for k in range(left.size):
        total += left[k] * right[k]
    return total


@njit(cache=True, nogil=True)
def conjugate_gradients(gram, support, residual, l2, size):
    """Solve ``(gram + l2 I) step = residual`` roughly, in the precision of `gram`.

    The system consists of the rows and columns `support` of `gram`. Returns the step
    (n_support,) and what it adds to the first `size` rows of ``gram @ weights``. Ends
    at a tenth of the residual's length, or where the system is found singular.
    `residual` is overwritten.
    """
    step = np.zeros_like(residual)
    change = np.zeros(size, gram.dtype)
    # made once: a round takes a few microseconds
    ahead, inner = np.empty_like(change), np.empty_like(residual)
    direction = residual.copy()
    squares = dot(residual, residual)
    goal = SOLVED**2 * squares
    ridge = gram.dtype.type(l2)
    for _ in range(residual.size):
        if squares <= goal:
            break
        # rows as far as there are members: cheaper than a copy of the support's block
        ahead[:] = 0
        subtract_rows(ahead, direction, gram, support)
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


@njit(cache=True, nogil=True)
def largest_magnitude(values):
    """Largest absolute value; several maxima side by side fill the vector units."""
    largest = np.zeros(LANES, values.dtype)
    together = values.size - values.size % LANES
    for j in range(0, together, LANES):
        for k in range(LANES):
            largest[k] = max(largest[k], abs(values[j + k]))
    for j in range(together, values.size):
        largest[0] = max(largest[0], abs(values[j]))
    return largest.max()


@njit(cache=True, nogil=True, fastmath=FAST)
def predicted_pulls(gradient, before, ahead):
    """Absolute gradients, as far ahead of `before` as the line through both goes."""
    pulls = np.empty_like(gradient)
    ahead = gradient.dtype.type(ahead)
    for j in range(pulls.size):
        pulls[j] = abs(gradient[j] + ahead * (gradient[j] - before[j]))
    return pulls


@njit(cache=True, nogil=True)
def others_above(pulls, is_member, threshold):
    """Return the features above a threshold that are not members, in their order."""
    above = np.empty(pulls.size, np.int64)
    size = 0
    for j in range(pulls.size):
        # written always, kept if it is one: no branch to predict
        above[size] = j
        size += (pulls[j] > threshold) & (not is_member[j])
    return above[:size]


@njit(cache=True, nogil=True)
def kth_largest(values, k):
    """Return the k-th largest of some values, which change their places (quickselect).

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
