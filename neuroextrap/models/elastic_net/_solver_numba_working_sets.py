"""Compiled solver for many features: working sets, one target after another."""

import numpy as np

from neuroextrap.models.elastic_net._solver import Solver
from neuroextrap.models.elastic_net._working_sets import (
    Problem,
    empty,
    new_state,
    refresh,
    solve_entry,
    solve_folds,
    start_from,
)


class WorkingSetSolver(Solver):
    """Solves each target with the features that its models use, and few others."""

    rounds_grams = True

    def __init__(self, folds, targets, options):
        super().__init__(folds, targets, options)
        self._trains = np.ones((self._n_folds, len(folds.order)), dtype=bool)
        for trains, rows in zip(self._trains, folds.excluded, strict=True):
            trains[rows] = False
        self._state = new_state(self._view(0))

    def begin(self, which):
        self._problem, self._best = self._view(which[0]), None
        empty(self._state, self._problem)

    def solve(self, which, l1, l2, restart):  # noqa: ARG002
        if restart[0] and self._best is not None:
            self._restore()
        predictions = np.empty((1, len(self._folds.order)))
        # one call for all folds: to hand the arrays over takes time each time
        self._state, stalled = solve_folds(
            self._state, self._problem, l1[0], l2[0], self._limits(), predictions[0]
        )
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
            features = np.arange(len(start[v]))
            self._state = start_from(self._state, self._problem, 0, features, start[v])
            refresh(self._state, self._problem, 0)
            count = self._folds.count[0]
            self._state, _ = solve_entry(
                self._state,
                self._problem,
                0,
                l1[v] * count,
                l2[v] * count,
                self._limits(),
            )
            members = self._state.members[0, : self._state.size[0]]
            coefficients[v, members] = self._state.weights[0, : len(members)]
        return coefficients

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
            folds.count,
            folds.features,
            folds.start,
            targets.values[v],
            self._trains,
        )

    def _limits(self):
        return self._options.tol, self._options.max_sweeps

    def _restore(self):
        """Go back to the solution kept."""
        for f, (members, weights, gradient, last) in enumerate(self._best):
            self._state.gradient[f] = gradient
            # the penalty before it is not known
            self._state.penalty[f] = last, 0.0
            self._state = start_from(self._state, self._problem, f, members, weights)
            size = self._state.size[f]
            self._state.inner[f, :size] = gradient[self._state.members[f, :size]]
