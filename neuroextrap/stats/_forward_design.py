"""The steps of forward tests over regions, and what their outcomes prove."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuroextrap.stats._forward import (
    forward_bayes_accuracy_lower_bound,
    forward_e_value,
)
from neuroextrap.stats._validation import FloatArray

#: an e-value that is made smaller is one still; this one fits into float32
_LARGEST_E_VALUE = 1e37


@dataclass(frozen=True, eq=False)
class ForwardDesign:
    """Test units of every step of every order, the same for all regions.

    The outcomes of a region are its numbers of correct units, order after order in one
    row of n_orders * n_steps.
    """

    n_units: NDArray[np.int64]  # (n_orders, n_steps) independent units of the tested
    unit_weights: FloatArray  # (n_orders, n_steps): the heaviest of weights, sum one
    first_steps: NDArray[np.int64]  # (n_first,): where testing may begin
    noise: float  # s**2 of the accuracy that is averaged over orders and steps
    chronological: bool = False  # whether e-values come from the first order alone

    @property
    def n_sums(self) -> int:
        """Number of outcomes of a region."""
        return self.n_units.size

    def bayes_accuracy_bound(
        self, n_correct: ArrayLike, *, confidence_level: float, n_regions: int = 1
    ) -> FloatArray:
        """Bound the Bayes accuracy; (n_regions, n_sums) -> (n_regions,)."""
        return forward_bayes_accuracy_lower_bound(
            self._by_step(n_correct),
            self.n_units,
            first_steps=self.first_steps,
            confidence_level=confidence_level,
            n_regions=n_regions,
            unit_weights=self.unit_weights,
        )

    def e_value(self, n_correct: ArrayLike, accuracy: float) -> FloatArray:
        """Return e-values (n_regions,) against a Bayes accuracy, at most 1e37.

        Outcomes have shape (n_regions, n_sums); the first order is the chronological.
        """
        orders = slice(0, 1 if self.chronological else None)
        with np.errstate(over="ignore"):
            value = forward_e_value(
                self._by_step(n_correct)[:, orders],
                self.n_units[orders],
                accuracy,
                first_steps=self.first_steps,
                unit_weights=self.unit_weights[orders],
            )
        return np.minimum(value, _LARGEST_E_VALUE)

    def _by_step(self, n_correct: ArrayLike) -> FloatArray:
        """Return outcomes as float64 (n_regions, n_orders, n_steps).

        They are kept in float32, whose rounding could exceed the largest outcome.
        """
        correct = np.asarray(n_correct, dtype=np.float64)
        correct = correct.reshape(-1, *self.n_units.shape)
        return np.clip(correct, 0, 1 / self.unit_weights)
