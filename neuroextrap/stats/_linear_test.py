"""One contrast of a linear model, as an effect of interest beside what it must not be.

Splits the design of a second-level model into the regressor of the contrast and the
nuisance that is orthogonal to it, so that every permutation is one matrix product.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike

from neuroextrap.stats._validation import FloatArray

_RANK_TOLERANCE = 1e-10


@dataclass(frozen=True)
class LinearTest:
    """A contrast of a linear model with `n` observations.

    `effect` (n,) is the regressor whose coefficient is the contrast, `nuisance`
    (n, q) an orthonormal basis of the rest of the design, orthogonal to it.
    """

    effect: FloatArray
    nuisance: FloatArray

    @property
    def n_observations(self) -> int:
        """Number of rows of the design."""
        return len(self.effect)

    @property
    def degrees_of_freedom(self) -> int:
        """Degrees of freedom of the residuals."""
        return len(self.effect) - 1 - self.nuisance.shape[1]

    @property
    def rows(self) -> FloatArray:
        """The effect (of unit length) and the nuisance side by side, (n, 1 + q)."""
        unit = self.effect / np.linalg.norm(self.effect)
        return np.column_stack([unit, self.nuisance])

    @property
    def is_intercept(self) -> bool:
        """Whether the effect is one number for all observations, with no nuisance."""
        constant = np.ptp(self.effect) <= _RANK_TOLERANCE * np.abs(self.effect).max()
        return bool(constant) and not self.nuisance.shape[1]

    def residuals(self, values: FloatArray) -> FloatArray:
        """Return what the nuisance leaves of values (n, n_features)."""
        if not self.nuisance.shape[1]:
            return values
        return values - self.nuisance @ (self.nuisance.T @ values)


def linear_test(design: ArrayLike, contrast: ArrayLike) -> LinearTest:
    """Split a design (n, n_columns) by a contrast (n_columns,) of its coefficients.

    The effect is ``M D c / (c' D c)`` with ``D`` the inverse of ``M' M``: its simple
    regression coefficient is the contrast of the full model (Beckmann et al. 2001,
    written out in Winkler et al. 2014, appendix A).
    """
    matrix = np.asarray(design, dtype=np.float64)
    weights = np.asarray(contrast, dtype=np.float64)
    if matrix.ndim != 2 or weights.shape != matrix.shape[1:] or not weights.any():
        raise ValueError(
            "design_matrix must have shape (n_subjects, n_columns) and contrast one "
            f"weight per column, not all zero; got {matrix.shape} and {weights.shape}"
        )
    if not (np.isfinite(matrix).all() and np.isfinite(weights).all()):
        raise ValueError(
            "design_matrix and contrast must be finite; leave out subjects whose "
            "covariates are not known"
        )
    scale = np.linalg.norm(matrix, axis=0)
    if not scale.all():
        raise ValueError("design_matrix has a column of zeros; leave it out")
    matrix, weights = matrix / scale, weights / scale
    if np.linalg.matrix_rank(matrix, tol=_RANK_TOLERANCE) < matrix.shape[1]:
        raise ValueError(
            f"the {matrix.shape[1]} columns of design_matrix depend on one another "
            f"({matrix.shape[0]} subjects); drop columns until none is a combination "
            "of the others (an intercept and one column per group are too many)"
        )
    if len(matrix) <= matrix.shape[1]:
        raise ValueError(
            f"design_matrix has {matrix.shape[1]} columns for {len(matrix)} subjects; "
            "a test needs more subjects than columns"
        )
    solved = np.linalg.solve(matrix.T @ matrix, weights)
    effect = matrix @ solved / (weights @ solved)
    unit = effect / np.linalg.norm(effect)
    rest = matrix - np.outer(unit, unit @ matrix)
    left, values, _ = scipy.linalg.svd(rest, full_matrices=False)
    return LinearTest(effect, left[:, values > _RANK_TOLERANCE])
