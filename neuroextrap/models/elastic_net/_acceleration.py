"""What the compiled solvers share: the update of a coefficient, the gap, the jumps."""

import numpy as np
from numba import njit

from neuroextrap.models.elastic_net import _objective

# iterates that an extrapolation mixes
N_ITERATES = 5
# share of the residual at which conjugate gradients end: sweeps do the rest
SOLVED = 0.1
# rounding may be reordered, so that sums and maxima fill the vector units; values that
# are not finite keep their meaning
FAST = {"contract", "reassoc", "nsz", "arcp"}

_duality_gap = njit(cache=True, nogil=True)(_objective.duality_gap)
objective = njit(cache=True, nogil=True)(_objective.objective)


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

    `gram`, `products` and `weights` are those of the nonzero coefficients alone; `gram`
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
