"""Compiled counterpart of `_elastic_net_batch`: a few problems side by side.

Importing this module needs numba (the extra ``fast``).
"""

import numpy as np
from numba import njit

from neuroextrap.models import _elastic_net_batch
from neuroextrap.models._elastic_net_batch import (
    FIRST_CHECK,
    NEWTON_EVERY,
    newton,
    subtract_products,
)
from neuroextrap.models._elastic_net_kernel import (
    FAST,
    N_ITERATES,
    gap_closed,
    mixture,
    objective,
    subtract,
)

# up to this many features nothing leaves the cache; above, products of matrices pay
BLOCK = 256
LANES = 16


def solve_columns(gram, columns, tol, max_sweeps):
    """Solve every column as `_elastic_net_batch.solve_columns` does."""
    if len(gram) > BLOCK:
        steps = sweep, is_solved
        return _elastic_net_batch.solve_columns(gram, columns, tol, max_sweeps, steps)
    np.subtract(columns.products, columns.weights @ gram, out=columns.gradient)
    weights, place = columns.weights, np.arange(len(columns.norm))
    closed = np.zeros(len(place), dtype=bool)
    for done in range(0, max_sweeps, NEWTON_EVERY):
        solved = np.empty(len(place), dtype=bool)
        limit = min(NEWTON_EVERY, max_sweeps - done)
        _solve(gram, tuple(columns), (tol, limit), solved)
        weights[place], closed[place] = columns.weights, solved
        columns, place = columns.rows(~solved), place[~solved]
        if not len(place):
            break
        newton(gram, columns)
    return weights, closed


def sweep(gram, columns):
    """One pass of coordinate descent over all features, in place."""
    weights, gradient = columns.weights, columns.gradient
    everyone = np.arange(len(weights))
    for begin in range(0, len(gram), BLOCK):
        block = slice(begin, min(begin + BLOCK, len(gram)))
        before = weights[:, block].copy()
        for first in range(0, len(weights), LANES):
            some = everyone[first : first + LANES]
            _descend(gram, tuple(columns), some, begin, block.stop)
        rows = gram[block].copy()
        rows[:, block] = 0.0
        subtract_products(gradient, rows, weights[:, block] - before)


def is_solved(columns, tol):
    """Whether the duality gap of each column is at most `tol` times its norm."""
    out = np.empty(len(columns.norm), dtype=bool)
    _are_solved(tuple(columns), tol, out)
    return out


@njit(cache=True, nogil=True)
def _are_solved(columns, tol, out):
    for c in range(out.size):
        out[c] = _is_solved(columns, c, tol)


@njit(cache=True, nogil=True)
def _is_solved(columns, c, tol):
    weights, gradient, products, norm, l1, l2 = columns
    sums, dual = _sums(weights[c], gradient[c], products[c], l2[c])
    return gap_closed(sums, dual, norm[c], l1[c], l2[c], tol * norm[c])


@njit(cache=True, nogil=True, fastmath=FAST)
def _sums(weights, gradient, products, l2):
    """Return sums (w'q, w'gradient, |w|_1, |w|^2) and largest |gradient - l2 w|."""
    fitted = left = absolute = squares = dual = 0.0
    for j in range(weights.size):
        w, g = weights[j], gradient[j]
        fitted += w * products[j]
        left += w * g
        absolute += abs(w)
        squares += w * w
        dual = max(dual, abs(g - l2 * w))
    return (fitted, left, absolute, squares), dual


@njit(cache=True, nogil=True, error_model="numpy")
def _descend(gram, columns, some, begin, end):
    """Coordinate descent of some columns inside a block of features, in place.

    Columns take turns at each feature: they hide one another's latency.
    """
    weights, gradient, _, _, l1, l2 = columns
    for i in range(begin, end):
        curvature, row = gram[i, i], gram[i, begin:end]
        if curvature <= 0.0:
            continue
        for c in some:
            old = weights[c, i]
            pull = gradient[c, i] + curvature * old
            pull -= min(max(pull, -l1[c]), l1[c])
            if pull == 0.0 and old == 0.0:  # most of them: no division
                continue
            new = pull / (curvature + l2[c])
            if new != old:
                weights[c, i] = new
                subtract(gradient[c, begin:end], new - old, row)


@njit(cache=True, nogil=True)
def _extrapolate(columns, c, iterates, gradients):
    """Jump along the last iterates (Anderson) if that lowers the objective."""
    weights, gradient, products, _, l1, l2 = columns
    mixed = mixture(iterates)
    trial, residual = np.zeros(weights.shape[1]), np.zeros(weights.shape[1])
    for k in range(mixed.size):
        subtract(trial, -mixed[k], iterates[k + 1])
        subtract(residual, -mixed[k], gradients[k + 1])
    new, _ = _sums(trial, residual, products[c], l2[c])
    now, _ = _sums(weights[c], gradient[c], products[c], l2[c])
    if objective(new, l1[c], l2[c]) < objective(now, l1[c], l2[c]):
        weights[c] = trial
        gradient[c] = residual


@njit(cache=True, nogil=True)
def _remember(columns, c, n, iterates, gradients):
    """Keep the column after `n` sweeps; extrapolate when enough are kept."""
    kept = (n - N_ITERATES + 1) % (N_ITERATES + 1)
    if n >= N_ITERATES - 1:
        iterates[kept] = columns[0][c]
        gradients[kept] = columns[1][c]
        if kept == N_ITERATES:
            _extrapolate(columns, c, iterates, gradients)


@njit(cache=True, nogil=True)
def _solve(gram, columns, limits, closed):
    """Solve all columns, a few at a time; the next takes the place of one solved."""
    tol, max_sweeps = limits
    n_columns, n_features = columns[0].shape
    n_open = upcoming = min(LANES, n_columns)
    some, place = np.arange(n_open), np.arange(n_open)
    sweeps = np.zeros(n_open, np.int64)
    iterates = np.empty((n_open, N_ITERATES + 1, n_features))
    gradients = np.empty_like(iterates)
    while n_open:
        lane = 0
        while lane < n_open:
            c, n = some[lane], sweeps[lane]
            due = n >= min(FIRST_CHECK, max_sweeps)
            closed[c] = due and _is_solved(columns, c, tol)
            if not closed[c] and n < max_sweeps:
                own = place[lane]
                _remember(columns, c, n, iterates[own], gradients[own])
                sweeps[lane] += 1
                lane += 1
            elif upcoming < n_columns:
                some[lane], sweeps[lane] = upcoming, 0
                upcoming += 1
            else:
                n_open -= 1
                some[lane], sweeps[lane] = some[n_open], sweeps[n_open]
                place[lane] = place[n_open]
        _descend(gram, columns, some[:n_open], 0, n_features)
