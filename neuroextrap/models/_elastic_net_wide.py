"""Solver of the search for many features: compiled working sets, target by target."""

import numpy as np

from neuroextrap.models._elastic_net_kernel import (
    Problem,
    empty,
    new_state,
    predict,
    solve_entry,
    start_from,
)
from neuroextrap.models._elastic_net_refit import FeatureProblem


class WideSolver:
    """Solves one target after another; has the methods of `DenseSolver`.

    Parameters
    ----------
    folds : FoldGrams
        What all targets share.
    targets : Targets
        The block's targets.
    settings : Settings
        Tolerance and limits.
    """

    def __init__(self, folds, targets, settings):
        self._folds, self._targets, self._settings = folds, targets, settings
        self._state = new_state(self._view(0))

    def groups(self):
        """Yield the targets to search together: each alone."""
        for v in range(len(self._targets.norm)):
            self._begin(v)
            yield np.array([v])

    def solve(self, which, l1, l2, restart):  # noqa: ARG002
        """Solve every fold; return out-of-fold predictions and the stalled problems."""
        if restart[0] and self._best is not None:
            self._restore()
        predictions, stalled = np.empty((1, len(self._folds.order))), 0
        for f in range(len(self._folds.count) - 1):
            stalled += not self._solve_entry(f, l1[0], l2[0])
            predict(self._state, self._problem, f, predictions[0])
        return predictions, np.array([stalled])

    def keep(self, which):
        """Keep the last solution to restart from, if it is named."""
        if which.size:
            self._best = self._state.weights.copy(), self._state.gradient.copy()

    def average(self, which):  # noqa: ARG002
        """Mean of the solution kept over folds, shape (1, n_features)."""
        kept = self._best[0]
        n_folds, capacity = len(self._folds.count) - 1, kept.shape[1]
        mean = np.zeros((1, self._state.is_member.shape[1]))
        for f in range(n_folds):
            members = self._state.members[f, : min(capacity, self._state.size[f])]
            mean[0, members] += kept[f, : len(members)] / n_folds
        return mean

    def refit(self, start, l1, l2):
        """Solve all targets on all samples; return coefficients."""
        coefficients, last = np.zeros_like(start), len(self._folds.count) - 1
        for v in range(len(start)):
            self._begin(v)
            self._state = start_from(self._state, self._problem, last, start[v])
            self._solve_entry(last, l1[v], l2[v])
            members = self._state.members[last, : self._state.size[last]]
            coefficients[v, members] = self._state.weights[last, : len(members)]
        return coefficients

    def problem(self, v):
        """Target `v` on all samples, for the exact solution."""
        # feature-major, rows in the order of the folds: columns are contiguous
        return FeatureProblem(self._folds.features.T, self._targets.values[v])

    def _begin(self, v):
        """Turn to target `v`: no members, no solution kept."""
        self._problem, self._best = self._view(v), None
        empty(self._state, self._problem)

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
        """Solve one fold from where its state is; whether the gap closed."""
        count, settings = self._folds.count[f], self._settings
        limits = settings.tol, settings.max_iter, settings.max_rounds
        self._state, closed = solve_entry(
            self._state, self._problem, f, l1 * count, l2 * count, limits
        )
        return closed

    def _restore(self):
        """Go back to the solution kept; members stay."""
        weights, (kept, gradient) = self._state.weights, self._best
        weights[:, : kept.shape[1]] = kept
        weights[:, kept.shape[1] :] = 0.0
        self._state.gradient[:] = gradient
        for f, size in enumerate(self._state.size):
            members = self._state.members[f, :size]
            self._state.inner[f, :size] = gradient[f, members]
