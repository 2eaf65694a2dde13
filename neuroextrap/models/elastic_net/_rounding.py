"""What Gram matrices of 16 bits hide from the working sets, and what is done about it.

`state` and `problem` are those of ``_working_sets``.
"""

import numpy as np
from numba import njit

from neuroextrap.models.elastic_net._acceleration import dot, subtract_rows

# six standard deviations of w'Ew, in units of the sum of (scale w)^2, where entries of
# the symmetric E are uniform within half a unit: sqrt(2) sqrt(1/12) is one of them, and
# the Gram matrix of all samples is rounded twice
ROUNDING = 6 * 2**0.5 * (2 / 12) ** 0.5
# share of the goal that rounding may hide before features are asked
MOST_HIDDEN = 0.25


@njit(cache=True, nogil=True)
def goal_left(state, problem, f, threshold, goal):
    """Return the goal less what the rounded Gram matrix can hide.

    Errors of rounding are taken as independent, and six standard deviations of them. If
    they are a quarter of the goal, gradients are computed from the features: of
    members, and where they may be above a threshold.
    """
    size, scale = state.size[f], problem.scale[f]
    squares = 0.0
    for i in range(size):
        squares += (scale[state.members[f, i]] * state.weights[f, i]) ** 2
    hidden = ROUNDING * squares
    if hidden <= MOST_HIDDEN * goal:
        return goal - hidden
    _sharpen(state, problem, f, threshold)
    return goal


@njit(cache=True, nogil=True)
def _sharpen(state, problem, f, threshold):
    """Compute gradients from the features: of members, and those not below a threshold.

    Below it for sure: an entry of the Gram matrix is wrong by half a unit at most, or
    by one where it was rounded twice.
    """
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
