"""Solver of the search for few features: all targets of a block together."""

import numpy as np

from neuroextrap.models._elastic_net_batch import Columns
from neuroextrap.models._elastic_net_folds import predict_fold
from neuroextrap.models._elastic_net_refit import GramProblem

# share of the last step along the path that the next start repeats
MOMENTUM = 0.7


class DenseSolver:
    """Solves a block of targets, one fold at a time for all of them.

    Parameters
    ----------
    folds : FoldGrams
        What all targets share, in float64.
    targets : Targets
        The block's targets.
    settings : Settings
        Tolerance and limits.
    compiled : bool
        Whether sweeps run in numba or in numpy.
    """

    def __init__(self, folds, targets, settings, compiled):
        if compiled:
            from neuroextrap.models._elastic_net_lanes import solve_columns
        else:
            from neuroextrap.models._elastic_net_batch import solve_columns
        self._folds, self._targets = folds, targets
        self._settings, self._solve_columns = settings, solve_columns
        n_targets, n_entries, n_features = targets.products.shape
        shape = (n_entries - 1, n_targets, n_features)
        self._last, self._before, self._best = (np.zeros(shape) for _ in range(3))

    def groups(self):
        """Yield the targets to search together: all."""
        yield np.arange(len(self._targets.norm))

    def solve(self, which, l1, l2, restart):
        """Solve every fold; return out-of-fold predictions and the stalled problems.

        Parameters
        ----------
        which : ndarray of int, shape (n,)
            Targets.
        l1, l2 : ndarray, shape (n,)
            Penalties a sample.
        restart : ndarray of bool, shape (n,)
            Start from the solutions kept, not from the last.

        Returns
        -------
        predictions : ndarray, shape (n, n_samples)
            Rows in the order of the folds.
        stalled : ndarray of int, shape (n,)
            Folds whose gap did not close.
        """
        predictions = np.empty((len(which), self._targets.values.shape[1]))
        stalled = np.zeros(len(which), dtype=int)
        for f in range(len(self._last)):
            start = self._start(f, which, restart)
            weights, closed = self._solve_entry(f, which, start, l1, l2)
            self._last[f][which] = weights
            stalled += ~closed
            rows = slice(self._folds.start[f], self._folds.start[f + 1])
            predictions[:, rows] = predict_fold(
                self._folds, self._targets, f, which, weights
            )
        return predictions, stalled

    def keep(self, which):
        """Keep the last solutions of these targets to restart from."""
        self._best[:, which] = self._last[:, which]

    def average(self, which):
        """Mean of the solutions kept over folds, shape (n, n_features)."""
        return self._best[:, which].mean(axis=0)

    def refit(self, start, l1, l2):
        """Solve all targets on all samples; return coefficients."""
        which = np.arange(len(start))
        return self._solve_entry(len(self._last), which, start, l1, l2)[0]

    def problem(self, v):
        """Target `v` on all samples, for the exact solution."""
        targets = self._targets
        products, norm = targets.products[v, -1], targets.norm[v, -1]
        return GramProblem(self._folds.gram[-1], products, norm)

    def _start(self, f, which, restart):
        """Where the path points to; remember the last step."""
        last, before = self._last[f][which], self._before[f][which]
        moved = last - before
        moved *= MOMENTUM
        moved += last
        # a coefficient that would change its sign, or leave zero, stays where it is
        np.copyto(moved, last, where=moved * last <= 0)
        if restart.any():
            moved[restart] = last[restart] = self._best[f][which[restart]]
        self._before[f][which] = last
        return moved

    def _solve_entry(self, f, which, start, l1, l2):
        targets, settings = self._targets, self._settings
        columns = Columns(
            weights=start,
            gradient=np.empty_like(start),
            products=targets.products[which, f],
            norm=targets.norm[which, f],
            l1=l1 * self._folds.count[f],
            l2=l2 * self._folds.count[f],
        )
        gram = self._folds.gram[f]
        return self._solve_columns(gram, columns, settings.tol, settings.max_iter)
