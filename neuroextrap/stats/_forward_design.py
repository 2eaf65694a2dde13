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

_MOST_PARTS = 24  # more runs than this are joined with their neighbors
_MOST_ORDERS = 12  # at most this many cyclic orders, evenly spaced

#: an e-value that is made smaller is one still; this one fits into float32
_LARGEST_E_VALUE = 1e37


def joined_runs(n_runs: int) -> NDArray[np.int64]:
    """Return the number of the part of consecutive runs that each run is tested in."""
    return np.arange(n_runs) // -(-n_runs // _MOST_PARTS)


def cyclic_orders(n_parts: int) -> tuple[NDArray[np.int64], int, NDArray[np.int64]]:
    """Return the cyclic orders of parts (n_orders, n_parts), and where testing begins.

    The first part that is tested, after a third of the parts, and steps from there:
    after a third and after half of them.
    """
    n_orders = min(n_parts, _MOST_ORDERS)
    starts = np.arange(n_orders) * n_parts // n_orders
    shortest, longer = -(-n_parts // 3), -(-n_parts // 2)
    orders = (starts[:, np.newaxis] + np.arange(n_parts)) % n_parts
    return orders, shortest, np.unique([0, longer - shortest])


@dataclass(frozen=True, eq=False)
class ForwardDesign:
    """Test units of every step of every order, the same for all regions.

    The outcomes of a region are its numbers of correct units, order after order in one
    row of n_orders * n_steps, then those of the chronological order of the e-values.
    """

    n_units: NDArray[np.int64]  # (n_orders, n_steps) independent units of the tested
    unit_weights: FloatArray  # (n_orders, n_steps): the heaviest of weights, sum one
    first_steps: NDArray[np.int64]  # (n_first,): where testing may begin
    noise: float  # s**2 of the accuracy that is averaged over orders and steps
    #: units and heaviest weights (2, n_tested) of the tested runs in time that e-values
    #: come from; False where they come from the orders above
    chronological: FloatArray | bool = False

    @property
    def n_sums(self) -> int:
        """Number of outcomes of a region."""
        in_time = self.chronological
        return self.n_units.size + (
            0 if isinstance(in_time, bool) else in_time.shape[1]
        )

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

        Outcomes have shape (n_regions, n_sums). In the chronological order testing
        begins with one run, however many there are.
        """
        units, weights, first = self.n_units, self.unit_weights, self.first_steps
        correct = self._by_step(n_correct)
        if not isinstance(self.chronological, bool):
            units, weights = self.chronological[:, np.newaxis]
            last = np.asarray(n_correct, dtype=np.float64)[..., self.n_units.size :]
            correct, first = np.clip(last, 0, 1 / weights)[:, np.newaxis], np.array([0])
        elif self.chronological:
            raise ValueError(
                "these e-values were made when the first tested run moved with the "
                "number of runs, so that they were not valid when runs were added; fit "
                "again"
            )
        with np.errstate(over="ignore"):
            value = forward_e_value(
                correct, units, accuracy, first_steps=first, unit_weights=weights
            )
        return np.minimum(value, _LARGEST_E_VALUE)

    def _by_step(self, n_correct: ArrayLike) -> FloatArray:
        """Return outcomes as float64 (n_regions, n_orders, n_steps).

        They are kept in float32, whose rounding could exceed the largest outcome.
        """
        correct = np.asarray(n_correct, dtype=np.float64)[..., : self.n_units.size]
        correct = correct.reshape(-1, *self.n_units.shape)
        return np.clip(correct, 0, 1 / self.unit_weights)
