"""Compiled solver for many features: working sets, one target after another.

Importing this module needs numba (the extra ``fast``).
"""

import numpy as np

from neuroextrap.models.elastic_net._solver import Solver
from neuroextrap.models.elastic_net._working_sets import (
    Problem,
    empty,
    new_state,
    predict,
    solve_entry,
    start_from,
)


class WorkingSetSolver(Solver):
    """Solves each target with the features that its models use, and few others."""

    def __init__(self, folds, targets, options):
        super().__init__(folds, targets, options)
        self._state = new_state(self._view(0))

    def begin(self, which):
        self._problem, self._best = self._view(which[0]), None
        empty(self._state, self._problem)

    def solve(self, which, l1, l2, restart):  # noqa: ARG002
        if restart[0] and self._best is not None:
            self._restore()
        predictions, stalled = np.empty((1, len(self._folds.order))), 0
        for f in range(self._n_folds):
            stalled += not self._solve_entry(f, l1[0], l2[0])
            predict(self._state, self._problem, f, predictions[0])
        return predictions, np.array([stalled])

    def keep(self, which):
        if which.size:
            self._best = self._state.weights.copy(), self._state.gradient.copy()

    def average(self, which):  # noqa: ARG002
        kept, state = self._best[0], self._state
        mean = np.zeros((1, state.is_member.shape[1]))
        for f in range(self._n_folds):
            # members that entered after the best solution had coefficients of zero
            members = state.members[f, : min(kept.shape[1], state.size[f])]
            mean[0, members] += kept[f, : len(members)] / self._n_folds
        return mean

    def refit(self, start, l1, l2):
        coefficients, last = np.zeros_like(start), self._n_folds
        for v in range(len(start)):
            self.begin([v])
            self._state = start_from(self._state, self._problem, last, start[v])
            self._solve_entry(last, l1[v], l2[v])
            members = self._state.members[last, : self._state.size[last]]
            coefficients[v, members] = self._state.weights[last, : len(members)]
        return coefficients

    def _view(self, v):
        """Target `v` in the types that the kernel is compiled for."""
        folds, targets = self._folds, self._targets
        return Problem(
            folds.gram,
            targets.products[v],
            folds.x_mean,
            targets.y_mean[v],
            targets.norm[v],
            folds.features,
            folds.start,
        )

    def _solve_entry(self, f, l1, l2):
        """Solve one fold from where its state is; return whether the gap closed."""
        count, options = self._folds.count[f], self._options
        limits = options.tol, options.max_sweeps
        self._state, closed = solve_entry(
            self._state, self._problem, f, l1 * count, l2 * count, limits
        )
        return closed

    def _restore(self):
        """Go back to the solution kept; members stay members."""
        weights, (kept, gradient) = self._state.weights, self._best
        weights[:, : kept.shape[1]] = kept
        weights[:, kept.shape[1] :] = 0.0
        self._state.gradient[:] = gradient
        for f, size in enumerate(self._state.size):
            members = self._state.members[f, :size]
            self._state.inner[f, :size] = gradient[f, members]
