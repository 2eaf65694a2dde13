"""Block coordinate descent on many problems at once that share one Gram matrix.

What coordinate descent does to one problem it does to all, so that the update of the
gradients is a matrix product. Without numba the sweeps are numpy's, a coordinate of all
problems at a time; with it they are those of `_elastic_net_lanes`.
"""

from typing import NamedTuple

import numpy as np

from neuroextrap.models._elastic_net_gap import duality_gap, objective

BLOCK = 32
N_ITERATES = 5
# sweeps after which what is still open tries a Newton step
NEWTON_EVERY = 60
# a check costs a quarter of a sweep, and the first sweeps rarely pass it
FIRST_CHECK = 2


class Columns(NamedTuple):
    """Problems min 1/2 w'Gw - q'w + l1 |w|_1 + l2/2 w'w, one a row, all of one G.

    Attributes
    ----------
    weights : ndarray, shape (n_columns, n_features)
        Coefficients w.
    gradient : ndarray, shape (n_columns, n_features)
        q - G w.
    products : ndarray, shape (n_columns, n_features)
        q.
    norm, l1, l2 : ndarray, shape (n_columns,)
        Sum of squares of the target, penalties.
    """

    weights: np.ndarray
    gradient: np.ndarray
    products: np.ndarray
    norm: np.ndarray
    l1: np.ndarray
    l2: np.ndarray

    def rows(self, keep):
        """Select columns of the batch."""
        return Columns(*(values[keep] for values in self))

    def sums(self):
        """Per column w'q, w'gradient, |w|_1 and |w|^2."""
        w = self.weights
        fitted = np.einsum("cp,cp->c", w, self.products)
        left = np.einsum("cp,cp->c", w, self.gradient)
        return fitted, left, np.abs(w).sum(axis=1), np.einsum("cp,cp->c", w, w)


def solve_columns(gram, columns, tol, max_sweeps, steps=None):
    """Solve every column to a duality gap of `tol` times its norm.

    Parameters
    ----------
    gram : ndarray, shape (n_features, n_features)
        Gram matrix, float64.
    columns : Columns
        The problems; weights are the start, the gradient is computed. Both are
        overwritten.
    tol : float
        Relative duality gap.
    max_sweeps : int
        Limit of sweeps.
    steps : tuple of callable, optional
        Replacements of `sweep` and `is_solved`.

    Returns
    -------
    weights : ndarray, shape (n_columns, n_features)
        Solutions.
    closed : ndarray of bool, shape (n_columns,)
        Whether the gap reached the tolerance.
    """
    sweep_once, check = steps or (sweep, is_solved)
    place = np.arange(len(columns.norm))
    weights = np.empty_like(columns.weights)
    closed = np.zeros(len(place), dtype=bool)
    np.subtract(columns.products, columns.weights @ gram, out=columns.gradient)
    history = []
    for n in range(max_sweeps + 1):
        if n >= min(FIRST_CHECK, max_sweeps):
            done = check(columns, tol)
        else:
            done = closed[place]
        if done.all() or n == max_sweeps or 4 * done.sum() >= len(done):
            weights[place[done]] = columns.weights[done]
            closed[place[done]] = True
            columns, place = columns.rows(~done), place[~done]
            history = [(w[~done], g[~done]) for w, g in history]
        if not len(place):
            break
        if n >= N_ITERATES - 1:
            history.append((columns.weights.copy(), columns.gradient.copy()))
        if len(history) > N_ITERATES:
            _extrapolate(columns, history)
            history = []
        if n and n % NEWTON_EVERY == 0:
            newton(gram, columns)
            history = []
        sweep_once(gram, columns)
    weights[place] = columns.weights
    return weights, closed


def is_solved(columns, tol):
    """Whether the duality gap of each column is at most `tol` times its norm."""
    shifted = columns.gradient - columns.l2[:, None] * columns.weights
    dual_norm = np.abs(shifted, out=shifted).max(axis=1)
    norm, l1, l2 = columns.norm, columns.l1, columns.l2
    scale = l1 / np.maximum(dual_norm, l1)
    return duality_gap(columns.sums(), scale, norm, l1, l2) <= tol * norm


def sweep(gram, columns):
    """One pass of coordinate descent over all features, in place."""
    for begin in range(0, len(gram), BLOCK):
        block = slice(begin, min(begin + BLOCK, len(gram)))
        change = _descend_block(gram[block, block], columns, block)
        columns.weights[:, block] += change.T
        subtract_products(columns.gradient, gram[block], change.T)


def subtract_products(gradient, rows, change):
    """Subtract ``change @ rows`` from the gradient, in place."""
    from scipy.linalg.blas import dgemm

    change = np.ascontiguousarray(change).T
    dgemm(-1.0, rows.T, change, beta=1.0, c=gradient.T, overwrite_c=1)


def _descend_block(gram, columns, block):
    """Coordinate descent inside a block: the change of coefficients, (block, column).

    The gradient is read once; what the block's own changes do to it is added up.
    """
    old = columns.weights[:, block].T.copy()
    curvature = gram.diagonal()[:, None]
    pulls = curvature * old
    pulls += columns.gradient[:, block].T
    inverse = curvature + columns.l2
    # a feature that is constant in a fold keeps its coefficient of zero
    np.divide(1.0, inverse, out=inverse, where=inverse > 0)
    change, clipped = np.empty_like(old), np.empty_like(old[0])
    upper, lower = columns.l1, -columns.l1
    for i, (pull, new) in enumerate(zip(pulls, change, strict=True)):
        if i:
            pull -= gram[i, :i] @ change[:i]
        np.maximum(pull, lower, out=clipped)
        np.minimum(clipped, upper, out=clipped)
        np.subtract(pull, clipped, out=new)
        new *= inverse[i]
        new -= old[i]
    return change


def newton(gram, columns):
    """Jump to the minimum of the present signs where that lowers the objective.

    Coefficients that would flip become zero.
    """
    for c, weights in enumerate(columns.weights):
        support, l1, l2 = np.flatnonzero(weights), columns.l1[c], columns.l2[c]
        signs, rows = np.sign(weights[support]), gram[support]
        matrix = rows[:, support]
        matrix.flat[:: len(support) + 1] += l2
        try:
            target = np.linalg.solve(matrix, columns.products[c, support] - l1 * signs)
        except np.linalg.LinAlgError:
            continue
        now, trial = columns.rows([c]), np.zeros_like(weights)
        trial[support] = np.where(target * signs > 0, target, 0.0)
        gradient = columns.products[c] - trial[support] @ rows
        new = now._replace(weights=trial[None], gradient=gradient[None])
        if objective(new.sums(), l1, l2) < objective(now.sums(), l1, l2):
            columns.weights[c], columns.gradient[c] = trial, gradient


def _extrapolate(columns, history):
    """Jump along the last iterates (Anderson) where that lowers the objective.

    The mixture sums to one, so that the gradients mix as the coefficients do.
    """
    iterates = np.stack([w for w, _ in history], axis=1)
    steps = np.diff(iterates, axis=1)
    cross = steps @ steps.transpose(0, 2, 1)
    ridge = 1e-12 * np.trace(cross, axis1=1, axis2=2) + 1e-300
    cross += ridge[:, None, None] * np.eye(N_ITERATES)
    mixture = np.linalg.solve(cross, np.ones((len(cross), N_ITERATES, 1)))
    mixture = (mixture / mixture.sum(axis=1, keepdims=True)).transpose(0, 2, 1)
    weights = (mixture @ iterates[:, 1:])[:, 0]
    gradient = (mixture @ np.stack([g for _, g in history[1:]], axis=1))[:, 0]
    trial = columns._replace(weights=weights, gradient=gradient)
    l1, l2 = columns.l1, columns.l2
    better = objective(trial.sums(), l1, l2) < objective(columns.sums(), l1, l2)
    columns.weights[better] = weights[better]
    columns.gradient[better] = gradient[better]
