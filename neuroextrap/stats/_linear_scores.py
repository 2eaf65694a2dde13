"""Statistics of a contrast for many rearranged designs and all features at once.

`linear_test` splits the design of a second-level model into the regressor of the
contrast and the nuisance that is orthogonal to it, so that every permutation is one
matrix product.

Every statistic is a function of rearranged designs (n_arrangements, n_observations,
1 + q), the effect first and of unit length, and returns scores (n_arrangements,
n_features). The observed design goes through the same arithmetic as the others. Scores
are what is compared; ``heights`` turns them into the statistic that users know, which
rises with them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike, NDArray

from neuroextrap.stats._validation import FloatArray

_RANK_TOLERANCE = 1e-10


@dataclass(frozen=True)
class LinearTest:
    """A contrast of a linear model with `n` observations."""

    effect: FloatArray  # (n,) regressor of the contrast, or orthonormal (n, r)
    nuisance: FloatArray  # (n, q) orthonormal rest of the design, orthogonal to it

    @property
    def n_effects(self) -> int:
        """Number of independent contrasts."""
        return 1 if self.effect.ndim == 1 else self.effect.shape[1]

    @property
    def degrees_of_freedom(self) -> int:
        """Degrees of freedom of the residuals."""
        return len(self.effect) - self.n_effects - self.nuisance.shape[1]

    @property
    def rows(self) -> FloatArray:
        """The effects (of unit length) and the nuisance side by side, (n, r + q)."""
        unit = self.effect / np.linalg.norm(self.effect, axis=0)
        return np.column_stack([unit, self.nuisance])

    @property
    def is_intercept(self) -> bool:
        """Whether the effect is one number for all observations, with no nuisance."""
        if self.effect.ndim > 1:
            return False
        constant = np.ptp(self.effect) <= _RANK_TOLERANCE * np.abs(self.effect).max()
        return bool(constant) and not self.nuisance.shape[1]

    def residuals(self, values: FloatArray) -> FloatArray:
        """Return what the nuisance leaves of values (n, n_features)."""
        if not self.nuisance.shape[1]:
            return values
        return values - self.nuisance @ (self.nuisance.T @ values)


def linear_test(design: ArrayLike, contrast: ArrayLike) -> LinearTest:
    """Split a design (n, n_columns) by one contrast (n_columns,), or by several.

    The effect is ``M D c / (c' D c)`` with ``D`` the inverse of ``M' M``: its simple
    regression coefficient is the contrast of the full model (Beckmann et al. 2001,
    written out in Winkler et al. 2014, appendix A).
    """
    matrix = np.asarray(design, dtype=np.float64)
    weights = np.asarray(contrast, dtype=np.float64)
    fits = matrix.ndim == 2 and weights.shape[-1:] == matrix.shape[1:]
    if not fits or weights.ndim > 2 or not weights.any(axis=-1).all():
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
    solved = np.linalg.solve(matrix.T @ matrix, weights.T)
    effect = matrix @ solved
    if weights.ndim == 1:
        effect = effect / (weights @ solved)
        unit = (effect / np.linalg.norm(effect))[:, np.newaxis]
    else:
        effect = unit = _basis(effect / np.linalg.norm(effect, axis=0))
    return LinearTest(effect, _basis(matrix - unit @ (unit.T @ matrix)))


def _basis(columns: FloatArray) -> FloatArray:
    """Return an orthonormal basis of what columns (n, n_columns) span."""
    left, values, _ = scipy.linalg.svd(columns, full_matrices=False)
    return np.asarray(left[:, values > _RANK_TOLERANCE])


@dataclass(frozen=True)
class Scorer(ABC):
    """A statistic for many rearranged designs and all features at once."""

    name: ClassVar[str]  # of its map
    values: FloatArray  # (n_observations, n_features)

    @abstractmethod
    def __call__(self, designs: FloatArray) -> FloatArray:
        """Return scores (n_arrangements, n_features) of designs."""

    def heights(self, scores: FloatArray) -> FloatArray:
        """Return the statistic that scores (..., n_features) stand for."""
        return scores

    @property
    def scale(self) -> FloatArray | float:
        """Size of the numbers that a score is made of, by which ties are judged."""
        return 1.0


@dataclass(frozen=True)
class Mean(Scorer):
    """The estimate of the contrast: the mean, the difference of means, the slope."""

    name = "effect"
    length: float | np.floating
    n_known: FloatArray | None = None

    def __call__(self, designs: FloatArray) -> FloatArray:
        estimates = designs[..., 0] @ self.values / self.length
        if self.n_known is not None:
            estimates *= len(self.values) / self.n_known
        return estimates

    @property
    def scale(self) -> FloatArray | float:
        """Largest estimate that values of this size could give, (n_features,)."""
        return np.asarray(np.linalg.norm(self.values, axis=0) / self.length)


@dataclass(frozen=True)
class StudentT(Scorer):
    """Student's t; scores are partial correlations, or t itself with `n_known`."""

    name = "t"
    degrees_of_freedom: int
    n_known: FloatArray | None = None

    def __call__(self, designs: FloatArray) -> FloatArray:
        explained = designs[..., 0] @ self.values
        if self.n_known is not None:
            share = explained * np.sqrt(len(self.values) / self.n_known)
            return _t(share, self.n_known - 1)
        if designs.shape[2] == 1:
            return explained
        left = np.ones_like(explained)
        for column in range(1, designs.shape[2]):
            left -= (designs[..., column] @ self.values) ** 2
        return explained / np.sqrt(left)

    def heights(self, scores: FloatArray) -> FloatArray:
        are_t = self.n_known is not None  # scores are t already
        return scores if are_t else _t(scores, self.degrees_of_freedom)


@dataclass(frozen=True)
class FRatio(Scorer):
    """F of several contrasts; scores are the shares of squares that they take."""

    name = "f"
    n_effects: int
    degrees_of_freedom: int

    def __call__(self, designs: FloatArray) -> FloatArray:
        taken = np.zeros((len(designs), self.values.shape[1]))
        left = np.ones_like(taken)
        for column in range(designs.shape[2]):
            share = (designs[..., column] @ self.values) ** 2
            if column < self.n_effects:
                taken += share
            else:
                left -= share
        return taken / left

    def heights(self, scores: FloatArray) -> FloatArray:
        left = np.maximum(1 - scores, 0.0)
        with np.errstate(divide="ignore"):
            return scores * self.degrees_of_freedom / (self.n_effects * left)


def _t(correlation: FloatArray, freedom: FloatArray | int) -> FloatArray:
    """Return Student's t of a partial correlation."""
    # a perfect fit may leave less than nothing by rounding
    t = np.maximum(1 - np.square(correlation), 0.0)
    with np.errstate(divide="ignore"):
        np.divide(freedom, t, out=t)  # new arrays of this size would take longer
    return np.multiply(correlation, np.sqrt(t, out=t), out=t)


@dataclass(frozen=True)
class SmoothedT(Scorer):
    """Pseudo-t: the variance of the residuals is smoothed over space (SnPM)."""

    name = "pseudo_t"
    total: FloatArray
    degrees_of_freedom: int
    smooth: Callable[[FloatArray], FloatArray]

    def __call__(self, designs: FloatArray) -> FloatArray:
        columns = range(designs.shape[2])
        fitted = np.stack([designs[..., c] @ self.values for c in columns])
        residual = self.total - np.square(fitted).sum(axis=0)
        variance = self.smooth(np.maximum(residual, 0.0) / self.degrees_of_freedom)
        return fitted[0] / np.sqrt(variance)


@dataclass(frozen=True)
class AspinWelch(Scorer):
    """Aspin-Welch v: a variance for each group (Winkler et al. 2014, equation 8)."""

    name = "v"
    group: NDArray[np.intp]

    def __call__(self, designs: FloatArray) -> FloatArray:
        return np.stack([self._one(design) for design in designs])

    def _one(self, design: FloatArray) -> FloatArray:
        """Return v of one design (n_observations, 1 + q), shape (n_features,)."""
        fitted = design.T @ self.values
        residuals = self.values - design @ fitted
        free = 1 - np.square(design).sum(axis=1)
        n_columns = design.shape[1]
        information = np.zeros((self.values.shape[1], n_columns, n_columns))
        for number in range(self.group.max() + 1):
            rows = self.group == number
            squares = np.square(residuals[rows]).sum(axis=0)
            weight = free[rows].sum() / squares
            product = design[rows].T @ design[rows]
            information += weight[:, np.newaxis, np.newaxis] * product
        variance = np.linalg.solve(information, np.eye(n_columns, 1))[:, 0, 0]
        return fitted[0] / np.sqrt(variance)


@dataclass(frozen=True)
class Median(Scorer):
    """The median over observations, each with its sign."""

    name = "median"

    def __call__(self, designs: FloatArray) -> FloatArray:
        signs = np.sign(designs[..., 0])[..., np.newaxis]
        return np.stack([np.median(s * self.values, axis=0) for s in signs])

    @property
    def scale(self) -> FloatArray | float:
        """Nothing: a median is picked, which adds no rounding."""
        return 0.0


def unit_length(values: FloatArray) -> FloatArray:
    """Return values (n, n_features) with columns of unit length."""
    return values / np.sqrt(np.square(values).sum(axis=0))


def check_variance_groups(group: NDArray[np.intp], test: LinearTest) -> None:
    """Check that every variance group has residuals of its own."""
    free = 1 - np.square(test.rows).sum(axis=1)
    for number, count in enumerate(np.bincount(group)):
        if free[group == number].sum() < 0.5:
            raise ValueError(
                f"variance_groups has a group of {count} subjects that the design "
                "fits exactly; give every variance group more subjects than columns "
                "that belong to it alone"
            )
