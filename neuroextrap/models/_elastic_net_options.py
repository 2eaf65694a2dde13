"""Options of the elastic net's search, their checks, and which solver they mean."""

import importlib.util
from typing import NamedTuple

import numpy as np

SOLVERS = ("auto", "numba", "numpy", "scikit-learn")
# up to here all Gram matrices in float64 and dense gradients pay
MOST_DENSE = 1024
# early stopping leaves paths while models are sparse: working sets pay sooner
MOST_DENSE_EARLY = 256


class SearchOptions(NamedTuple):
    """Options of `cross_validated_elastic_net`.

    Parameters
    ----------
    l1_ratios : tuple of float
        Shares of the absolute penalty, each in (0, 1].
    n_alphas : int
        Penalties a ratio.
    eps : float
        Smallest penalty as a fraction of the largest.
    early_stopping : bool
        Leave a ratio's path five penalties from its lowest error, or where the error
        exceeds the lowest by 1%; begin the next ratio's path where the last was
        lowest.
    tol : float
        Duality gap, relative to y'y, at which a problem counts as solved.
    max_sweeps : int
        Limit of coordinate sweeps a problem.
    solver : {"auto", "numba", "numpy", "scikit-learn"}
        "auto" takes the compiled solvers when numba is installed.
    n_jobs : int or None
        Threads; the result does not depend on it.

    Examples
    --------
    >>> SearchOptions(n_alphas=10).eps
    0.001
    """

    l1_ratios: tuple = (0.1, 0.5, 0.9)
    n_alphas: int = 25
    eps: float = 1e-3
    early_stopping: bool = True
    tol: float = 1e-4
    max_sweeps: int = 1000
    solver: str = "auto"
    n_jobs: int | None = 1


class Settings(NamedTuple):
    """Limits of a solver and of the walk through the grid."""

    tol: float
    max_iter: int
    max_rounds: int
    patience: int
    max_rise: float


def search_settings(options):
    """Translate options into limits."""
    if options.early_stopping:
        return Settings(options.tol, options.max_sweeps, 100, 5, 1.01)
    return Settings(options.tol, options.max_sweeps, 100, options.n_alphas, np.inf)


def choose_solver(solver, n_features):
    """Resolve the name of a solver to "numba", "numpy" or "scikit-learn".

    Parameters
    ----------
    solver : {"auto", "numba", "numpy", "scikit-learn"}
        What was asked for.
    n_features : int
        Without numba, "auto" takes numpy up to 1024 features and scikit-learn above.

    Returns
    -------
    name : str
        What will run.

    Raises
    ------
    ValueError
        If the name is unknown, or numba is asked for and not installed.

    Examples
    --------
    >>> choose_solver("scikit-learn", 10)
    'scikit-learn'
    """
    if solver not in SOLVERS:
        raise ValueError(f"solver={solver!r} is unknown; choose one of {SOLVERS}")
    installed = importlib.util.find_spec("numba") is not None
    if solver == "numba" and not installed:
        raise ValueError(
            "solver='numba' needs numba, which is not installed; install "
            "neuroextrap[fast] or pass solver='auto'"
        )
    if solver != "auto":
        return solver
    if installed:
        return "numba"
    return "numpy" if n_features <= MOST_DENSE else "scikit-learn"


def is_dense(options, n_features):
    """Whether all targets are solved together, on dense gradients in float64."""
    name = choose_solver(options.solver, n_features)
    limit = MOST_DENSE_EARLY if options.early_stopping else MOST_DENSE
    return name == "numpy" or (name == "numba" and n_features <= limit)


def check_options(options, n_features):
    """Raise for options out of range; return them with ratios as a tuple."""
    ratios = np.atleast_1d(np.asarray(options.l1_ratios, dtype=float))
    if ratios.size == 0 or not ((ratios > 0) & (ratios <= 1)).all():
        raise ValueError(
            f"l1_ratios must lie in (0, 1], got {options.l1_ratios}; for a pure ridge "
            "use sklearn.linear_model.RidgeCV"
        )
    if options.n_alphas < 1 or not 0 < options.eps < 1:
        raise ValueError(
            f"n_alphas must be at least 1 and eps in (0, 1), got "
            f"{options.n_alphas} and {options.eps}"
        )
    if not options.tol > 0 or options.max_sweeps < 1:
        raise ValueError(
            f"tol must be positive and max_sweeps at least 1, got {options.tol} and "
            f"{options.max_sweeps}"
        )
    choose_solver(options.solver, n_features)
    return options._replace(l1_ratios=tuple(ratios))
