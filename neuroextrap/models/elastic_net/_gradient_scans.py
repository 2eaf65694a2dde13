"""Compiled scans of the gradient of all features: its largest, those above a limit."""

import numpy as np
from numba import njit

from neuroextrap.models.elastic_net._acceleration import FAST

# maxima that are followed at once
LANES = 16


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
