"""The registry of the search's solvers, and the choice among them."""

# up to here all Gram matrices in float64 and dense gradients pay
MOST_DENSE = 1024
# early stopping leaves paths while models are sparse: working sets pay sooner
MOST_DENSE_EARLY = 256


def _numba_batch():
    from neuroextrap.models.elastic_net._solver_numba_batch import BatchSolver

    return BatchSolver


def _numba_working_sets():
    from neuroextrap.models.elastic_net._solver_numba_working_sets import (
        WorkingSetSolver,
    )

    return WorkingSetSolver


def _scikit_learn():
    from neuroextrap.models.elastic_net._solver_scikit_learn import ScikitLearnSolver

    return ScikitLearnSolver


# name -> function that imports the solver's class (a module of numba loads slowly)
SOLVERS = {
    "numba-batch": _numba_batch,
    "numba-working-sets": _numba_working_sets,
    "scikit-learn": _scikit_learn,
}
CHOICES = ("auto", "numba", *SOLVERS)


def choose_solver(options, n_features):
    """Name in `SOLVERS` of the solver that `options` mean for so many features.

    "auto" and "numba" are the batch for few features and working sets for many. A
    ValueError tells of unknown names.
    """
    solver = options.solver
    if solver not in CHOICES:
        raise ValueError(f"solver={solver!r} is unknown; choose one of {CHOICES}")
    if solver in SOLVERS:
        return solver
    limit = MOST_DENSE_EARLY if options.early_stopping else MOST_DENSE
    return "numba-batch" if n_features <= limit else "numba-working-sets"
