"""Compiled solver for many features: working sets, one target after another."""

import numpy as np

from neuroextrap.models.elastic_net._solvers import Solver
from neuroextrap.models.elastic_net._working_sets import Problem, State, solve_folds

FIRST_CAPACITY = 64


class WorkingSetSolver(Solver):
    """Solves each target with the features that its models use, and few others."""

    rounds_grams = True

    def __init__(self, folds, targets, options):
        super().__init__(folds, targets, options)
        self._trains = np.ones((self._n_folds, len(folds.order)), dtype=bool)
        for trains, rows in zip(self._trains, folds.excluded, strict=True):
            trains[rows] = False
        self._state = _new_state(self._view(0))

    def begin(self, which):
        self._problem, self._best = self._view(which[0]), []
        state = self._state  # what it has room for stays
        state.size[:], state.is_member[:], state.penalty[:] = 0, False, 0.0
        state.gradient[:] = self._problem.products

    def solve(self, which, l1, l2, restart):  # noqa: ARG002
        predictions = np.empty((1, len(self._folds.order)))
        start = np.empty((0, self._state.is_member.shape[1]))
        if restart[0] and self._best:
            start = self._restore()
        stalled = self._solve(l1[0], l2[0], start, True, predictions[0])
        return predictions, np.array([stalled])

    def keep(self, which):
        if which.size:
            state = self._state
            self._best = [
                (members[:size].copy(), weights[:size].copy(), gradient.copy(), last)
                for members, weights, gradient, last, size in zip(
                    state.members,
                    state.weights,
                    state.gradient,
                    state.penalty[:, 0].copy(),
                    state.size,
                    strict=True,
                )
            ]

    def average(self, which):  # noqa: ARG002
        mean = np.zeros((1, self._state.is_member.shape[1]))
        for members, weights, *_ in self._best:
            mean[0, members] += weights / self._n_folds
        return mean

    def refit(self, start, l1, l2):
        coefficients = np.zeros_like(start)
        for v in range(len(start)):
            self.begin([v])
            self._solve(l1[v], l2[v], start[v : v + 1], False, np.empty(0))
            members = self._state.members[0, : self._state.size[0]]
            coefficients[v, members] = self._state.weights[0, : len(members)]
        return coefficients

    def _solve(self, l1, l2, start, is_known, out):
        """Solve all folds in one call: to hand the arrays over takes time each time."""
        limits = self._options.tol, self._options.max_sweeps
        self._state, stalled = solve_folds(
            self._state, self._problem, (l1, l2), limits, start, is_known, out
        )
        return stalled

    def _view(self, v):
        """Target `v` in the types that the kernel is compiled for."""
        folds, targets = self._folds, self._targets
        return Problem(
            folds.gram,
            folds.scale,
            targets.products[v],
            folds.x_mean,
            targets.y_mean[v],
            targets.norm[v],
            folds.n_rows,
            folds.features,
            folds.start,
            targets.values[v],
            self._trains,
        )

    def _restore(self):
        """Go back to the gradients kept; return their coefficients."""
        start = np.zeros(self._state.is_member.shape)
        for f, (members, weights, gradient, last) in enumerate(self._best):
            start[f, members] = weights
            self._state.gradient[f] = gradient
            # the penalty before it is not known
            self._state.penalty[f] = last, 0.0
        return start


def _new_state(problem):
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
