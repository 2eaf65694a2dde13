"""The protocol of the search's solvers, their registry, and the choice among them."""

from abc import ABC, abstractmethod

import numpy as np

from neuroextrap.models.elastic_net._active_set import FeatureProblems
from neuroextrap.stats._validation import check_choice

# up to here all Gram matrices in float64 and dense gradients pay
MOST_DENSE = 1024
# early stopping leaves paths while models are sparse: working sets pay sooner
MOST_DENSE_EARLY = 256


class Solver(ABC):
    """Solves one block of targets at the requested points of the grid.

    A solver keeps, per target and fold, the last solution (from which the next point
    starts) and the best so far (from which it can restart).

    `folds` is what all targets share (a `TrainingGrams`), `targets` the block's
    `Targets`, `options` the `SearchOptions`, of which `tol` and `max_sweeps` count. For
    `refit` and `problems` the only training set are all samples.
    """

    # whether Gram matrices are needed in float64, whatever the features are
    needs_float64 = False
    # whether Gram matrices are rounded to 16 bits
    rounds_grams = False
    # whether all targets of a block are searched together, or one by one
    together = False

    def __init__(self, folds, targets, options):
        self._folds, self._targets, self._options = folds, targets, options
        self._n_folds = len(folds.n_rows)

    @staticmethod
    def block_size(n_features, n_sets):
        """Choose the targets per block from the number of training sets."""
        # products of at most 200 MB in float64
        return int(np.clip(2.5e7 / (n_features * n_sets), 1, 64))

    @abstractmethod
    def begin(self, which):
        """Turn to the targets to search next; other solutions may be forgotten."""

    @abstractmethod
    def solve(self, which, l1, l2, restart):
        """Solve every fold for the targets `which` of shape (n,).

        `l1` and `l2` (n,) are penalties per sample, `restart` (n,) says where to start
        from the solution kept instead of the last. Returns out-of-fold predictions (n,
        n_samples), in the order of the folds, and the number of folds (n,) whose
        duality gap did not close.
        """

    @abstractmethod
    def keep(self, which):
        """Keep the last solutions of these targets to restart from."""

    @abstractmethod
    def average(self, which):
        """Mean over folds of the solutions kept, shape (n, n_features)."""

    @abstractmethod
    def refit(self, start, l1, l2):
        """Solve all targets on all samples from `start`; return coefficients.

        Both have shape (n_targets, n_features); penalties are per sample.
        """

    def problems(self):
        """Return all targets on all samples, as `polish` takes them."""
        # feature-major, rows in the order of the folds: columns are contiguous
        return FeatureProblems(self._folds.features.T, self._targets.values)


def _numba_batch():
    from neuroextrap.models.elastic_net._solver_numba_batch import BatchSolver

    return BatchSolver


def _numba_working_sets():
    from neuroextrap.models.elastic_net._solver_numba_working_sets import (
        WorkingSetSolver,
    )

    return WorkingSetSolver


# name -> function that imports the solver's class (a module of numba loads slowly)
SOLVERS = {
    "numba-batch": _numba_batch,
    "numba-working-sets": _numba_working_sets,
}


def choose_solver(options, n_features):
    """Name in `SOLVERS` of the solver that `options` mean for `n_features`.

    "auto" is the batch for few features and working sets for many.
    """
    check_choice(options.solver, "solver", ("auto", *SOLVERS))
    if options.solver != "auto":
        return options.solver
    limit = MOST_DENSE_EARLY if options.early_stopping else MOST_DENSE
    return "numba-batch" if n_features <= limit else "numba-working-sets"
