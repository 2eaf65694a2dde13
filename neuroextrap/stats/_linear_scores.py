"""Statistics of a contrast for many rearranged designs and all features at once.

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

import numpy as np
from numpy.typing import NDArray

from neuroextrap.stats._linear_test import LinearTest
from neuroextrap.stats._validation import FloatArray

Smoother = Callable[[FloatArray], FloatArray]


class Scorer(ABC):
    """A statistic for many rearranged designs and all features at once."""

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

    values: FloatArray
    length: float
    n_known: FloatArray | None = None

    def __call__(self, designs: FloatArray) -> FloatArray:
        """Return estimates (n_arrangements, n_features)."""
        estimates = designs[..., 0] @ self.values / self.length
        if self.n_known is None:
            return estimates
        return estimates * (len(self.values) / self.n_known)

    @property
    def scale(self) -> FloatArray | float:
        """Largest estimate that values of this size could give, (n_features,)."""
        return np.asarray(np.linalg.norm(self.values, axis=0) / self.length)


@dataclass(frozen=True)
class StudentT(Scorer):
    """Student's t of the contrast, one variance for all observations.

    Residuals under the null hypothesis have unit length. The score is the share of
    their length that the rearranged effect takes (a partial correlation), of which t is
    a rising function. With `n_known` (n_features,), the observations that each feature
    has (the others are 0), features differ in degrees of freedom, and t is the score.
    """

    values: FloatArray
    degrees_of_freedom: int
    n_known: FloatArray | None = None

    def __call__(self, designs: FloatArray) -> FloatArray:
        """Return correlations or t, shape (n_arrangements, n_features)."""
        explained = designs[..., 0] @ self.values
        if self.n_known is not None:
            return _t(
                explained * np.sqrt(len(self.values) / self.n_known), self.n_known - 1
            )
        if designs.shape[2] == 1:
            return explained
        left = np.ones_like(explained)
        for column in range(1, designs.shape[2]):
            left -= (designs[..., column] @ self.values) ** 2
        return explained / np.sqrt(left)

    def heights(self, scores: FloatArray) -> FloatArray:
        """Return t of correlations."""
        if self.n_known is not None:
            return scores
        return _t(scores, self.degrees_of_freedom)


def _t(correlation: FloatArray, freedom: FloatArray | int) -> FloatArray:
    """Return Student's t of a partial correlation."""
    # a perfect fit may leave less than nothing by rounding
    left = np.maximum(1 - np.square(correlation), 0.0)
    with np.errstate(divide="ignore"):
        return correlation * np.sqrt(freedom / left)


@dataclass(frozen=True)
class SmoothedT(Scorer):
    """Pseudo-t: the variance of the residuals is smoothed over space (SnPM)."""

    values: FloatArray
    total: FloatArray
    degrees_of_freedom: int
    smooth: Smoother

    def __call__(self, designs: FloatArray) -> FloatArray:
        """Return pseudo-t, shape (n_arrangements, n_features)."""
        fitted = np.stack(
            [designs[..., c] @ self.values for c in range(designs.shape[2])]
        )
        residual = self.total - np.square(fitted).sum(axis=0)
        variance = self.smooth(np.maximum(residual, 0.0) / self.degrees_of_freedom)
        return fitted[0] / np.sqrt(variance)


@dataclass(frozen=True)
class AspinWelch(Scorer):
    """Aspin-Welch v: one residual variance for each variance group.

    `group` (n_observations,) numbers the variance groups. Winkler et al. 2014, equation
    8: the least-squares estimate over a standard error in which each observation has
    the variance of its group.
    """

    values: FloatArray
    group: NDArray[np.intp]

    def __call__(self, designs: FloatArray) -> FloatArray:
        """Return v, shape (n_arrangements, n_features)."""
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
        first = np.zeros((n_columns, 1))
        first[0] = 1
        variance = np.linalg.solve(information, first)[:, 0, 0]
        return fitted[0] / np.sqrt(variance)


@dataclass(frozen=True)
class Median(Scorer):
    """The median over observations, each with its sign."""

    values: FloatArray

    def __call__(self, designs: FloatArray) -> FloatArray:
        """Return medians, shape (n_arrangements, n_features)."""
        signs = np.sign(designs[..., 0])
        return np.stack(
            [np.median(s[:, np.newaxis] * self.values, axis=0) for s in signs]
        )

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
