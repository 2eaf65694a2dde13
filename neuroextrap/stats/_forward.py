"""What forward testing tells: e-values and lower bounds for the classes at hand.

Train on the runs that precede, test on the next, in some order of the runs. Given the
past, the classifier is fixed and the tested run is fresh, so that its accuracy is at
most the Bayes accuracy beta of the classes at hand, and for every lambda >= 0 ::

    E exp(lambda S) <= (1 + (e^lambda - 1) beta)^(sum_t 1 / w_t)

where S is the weighted number of correct outcomes of the tested runs and the heaviest
test unit of step t has weight w_t, 1 / n_t where all n_t weigh the same. (With v_i <= 1
the weights over the heaviest and a_i the chances of success, a unit's log E exp(lambda
v_i X_i) is convex in v_i and 0 at 0, so at most v_i log(1 + (e^lambda - 1) a_i), which
is concave in a_i; the v_i sum to 1 / w_t.) A mean of such numbers, over lambda, over
orders of the runs and over the steps at which testing begins, is as good a proof,
whatever the dependence of its terms.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuroextrap.stats._shared_options import described_by
from neuroextrap.stats._validation import (
    FloatArray,
    batches,
    brief,
    check_integer,
    check_level,
    real_array,
)

#: fixed before any data are seen; the mean over them loses little to the best of them
LAMBDAS = np.log([1.2, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0])
_BLOCK_NUMBERS = 2**17
_STEPS, _CLOSE = 60, 1e-10  # of Newton's method, from below
_ROUNDING = 1e-9  # of log e-values: the bound lies so far below the solution
_SLACK = 1e-6  # of outcomes that were kept in float32
_MOST_PARTS = 24  # more runs than this are joined with their neighbors
_MOST_ORDERS = 12  # at most this many cyclic orders, evenly spaced
_LARGEST_E_VALUE = 1e37  # fits into float32; a smaller number is an e-value still


def forward_e_value(
    n_correct: ArrayLike,
    n_units: ArrayLike,
    accuracy: ArrayLike,
    *,
    first_steps: ArrayLike = (0,),
    unit_weights: ArrayLike | None = None,
) -> FloatArray:
    """Return the e-value against a Bayes accuracy of at most `accuracy`.

    An e-value is a nonnegative number whose mean is at most one when the hypothesis
    holds; the chance that it reaches 1 / alpha is then at most alpha. At the chance
    level 1 / K the hypothesis is that no classifier can tell the classes apart. More
    runs may be added after looking, but only in the chronological order and with first
    steps fixed before the first look; the mean over several orders needs the number of
    runs to be fixed in advance.

    Parameters
    ----------
    n_correct : array-like of shape (..., n_orders, n_steps)
        Number of correct outcomes in the run that each step of each order tests, the
        classifier trained on the runs before it in that order. A tie of m classes
        counts 1 / m, a block its share of correct scans. NaN gives NaN.
    n_units : int or array-like of int broadcast to (n_orders, n_steps)
        Independent test units of each step: test points, blocks, or 1 for a whole run
        (then `n_correct` is the run's accuracy).
    accuracy : float or array-like of shape (...)
        Bayes accuracy of the hypothesis, between 0 and 1.
    first_steps : int or array-like of int of shape (n_first,), default=(0,)
        Steps at which testing may begin, fixed in advance (early steps have classifiers
        of little training); e-values that begin at each are averaged.
    unit_weights : array-like broadcast to (n_orders, n_steps) or None, default=None
        Largest weight of a unit in each step, where weights are unequal and sum to one
        (classes of unequal repeats); `n_correct` is then the weighted share of correct
        outcomes divided by it. If None, 1 / n_units: all units weigh the same.

    Returns
    -------
    e_value : ndarray of shape (...)
        At least 0.

    Raises
    ------
    ValueError
        If shapes disagree, outcomes lie outside 0..n_units, a first step does not
        exist, or `accuracy` is no probability.

    References
    ----------
    Shafer 2021, "Testing by betting". Grünwald, de Heide & Koolen 2024, "Safe testing".
    Dawid 1984, "Statistical theory: the prequential approach".

    Examples
    --------
    Four runs of eight categories each, nearly all right, then nearly all wrong:

    >>> float(forward_e_value([[7, 8, 8, 7]], 8, 1 / 8)) > 1e20
    True
    >>> forward_e_value([[1, 1, 0, 1]], 8, 1 / 8)
    array(0.21)
    """
    design = forward_design(n_correct, n_units, first_steps, unit_weights)
    sums, shape = design.sums()
    level = _broadcast(accuracy, "accuracy", shape).ravel()
    if not ((level >= 0) & (level <= 1)).all():
        raise ValueError(f"accuracy must lie between 0 and 1; got {brief(accuracy)}")
    log_e_values = _in_blocks(design, sums, level, lambda *at: _log_e_values(*at)[0])
    return np.exp(log_e_values).reshape(shape)


@described_by(forward_e_value)
def forward_bayes_accuracy_lower_bound(
    n_correct: ArrayLike,
    n_units: ArrayLike,
    *,
    first_steps: ArrayLike = (0,),
    confidence_level: float = 0.95,
    n_regions: int = 1,
    unit_weights: ArrayLike | None = None,
) -> FloatArray:
    """Bound the Bayes accuracy of the classes at hand from forward test outcomes.

    Leave-one-run-out shares its training data between folds, so that the twelve folds
    of twelve runs count as one; forward testing does not. The bound is about
    the given classes, not about others, and covers every classifier, however it uses
    the runs. It is where the mean e-value against "at most so accurate" falls to
    ``n_regions / (1 - confidence_level)``.

    Parameters
    ----------
    confidence_level : float, default=0.95
        Confidence level of the lower bounds.
    n_regions : int, default=1
        Number of regions whose bounds hold simultaneously.

    Returns
    -------
    bound : ndarray of shape (...)
        Between 0 and 1; below 1 / K it says nothing.

    Raises
    ------
    TypeError, ValueError
        If the arguments are not those of :func:`forward_e_value`, `n_regions` is not an
        integer of at least 1, or the confidence level is outside (0, 1).

    See Also
    --------
    bayes_accuracy_lower_bound : The same for a single split into training and test.

    References
    ----------
    Waudby-Smith & Ramdas 2024, "Estimating means of bounded random variables by
    betting". Vovk & Wang 2021, "E-values: calibration, combination and applications"
    (a mean of e-values is an e-value).

    Examples
    --------
    Eight classes once in each of twelve runs, every order of the twelve cyclic ones,
    all but one outcome in eight correct:

    >>> import numpy as np
    >>> n_correct = np.full((12, 8), 7)
    >>> forward_bayes_accuracy_lower_bound(n_correct, 8)
    array(0.73)
    """
    design = forward_design(n_correct, n_units, first_steps, unit_weights)
    sums, shape = design.sums()
    goals = np.full(len(sums), log_e_value_needed(confidence_level, n_regions))
    return _in_blocks(design, sums, goals, _where_reached).reshape(shape)


def log_e_value_needed(confidence_level: float, n_regions: int) -> float:
    """Return the log of n_regions / (1 - confidence_level), both checked."""
    alpha = 1 - check_level(confidence_level, "confidence_level")
    return float(np.log(check_integer(n_regions, "n_regions", minimum=1) / alpha))


class _Forward(NamedTuple):
    """Outcomes of forward tests, checked; tests of as many units are of one design."""

    n_correct: FloatArray  # (..., n_orders, n_steps)
    first_steps: NDArray[np.int64]  # (n_first,)
    totals: FloatArray  # (n_designs,) units tested
    design: NDArray[np.int64]  # (n_orders * n_first,) of each order and first step

    def sums(self) -> tuple[FloatArray, tuple[int, ...]]:
        """Return sums of shape (n_rows, n_orders * n_first), and the rows' shape."""
        after = np.cumsum(self.n_correct[..., ::-1], axis=-1)[..., ::-1]
        sums, shape = after[..., self.first_steps], self.n_correct.shape[:-2]
        return sums.reshape(math.prod(shape), math.prod(sums.shape[-2:])), shape

    def powers(self, sums: FloatArray) -> FloatArray:
        """Return log means of exp(lambda S), (n_rows, n_designs, n_lambdas)."""
        powers = np.empty((len(sums), len(self.totals), len(LAMBDAS)))
        for d in range(len(self.totals)):
            exponents = sums[:, self.design == d, np.newaxis] * LAMBDAS
            highest = exponents.max(axis=1)
            exponents -= highest[:, np.newaxis]
            total = np.exp(exponents, out=exponents).sum(axis=1)
            powers[:, d] = highest + np.log(total / len(self.design))
        return powers


def forward_design(
    n_correct: ArrayLike,
    n_units: ArrayLike,
    first_steps: ArrayLike,
    unit_weights: ArrayLike | None = None,
) -> _Forward:
    """Check what forward tests are given, and count steps of equal design."""
    correct = real_array(n_correct, "n_correct", "..., n_orders, n_steps")
    largest = 1 / _unit_weights(n_units, unit_weights, correct.shape[-2:])
    if (correct < -_SLACK).any() or (correct > largest + _SLACK).any():
        raise ValueError(
            "n_correct must lie between 0 and n_units (or 1 / unit_weights); give "
            "numbers of correct outcomes, not accuracies"
        )
    first = check_first_steps(first_steps, correct.shape[-1])
    after = np.cumsum(largest[:, ::-1], axis=1)[:, ::-1]
    totals, design = np.unique(after[:, first].round(9), return_inverse=True)
    return _Forward(np.clip(correct, 0, largest), first, totals, design.ravel())


def _unit_weights(
    n_units: ArrayLike, unit_weights: ArrayLike | None, shape: tuple[int, ...]
) -> FloatArray:
    """Return the checked weight of the heaviest unit, (n_orders, n_steps)."""
    units = _broadcast(n_units, "n_units", shape)
    if not (units >= 1).all() or (units != np.rint(units)).any():
        raise ValueError("n_units must be whole numbers of at least 1")
    if unit_weights is None:
        return 1 / units
    weights = _broadcast(unit_weights, "unit_weights", shape)
    if not ((weights * units >= 1 - 1e-9) & (weights <= 1)).all():
        raise ValueError(
            "unit_weights must be the largest of n_units weights that sum to one, "
            "between 1 / n_units and 1"
        )
    return weights


def check_first_steps(first_steps: ArrayLike, n_steps: int) -> NDArray[np.int64]:
    """Return the steps at which testing may begin, (n_first,)."""
    steps = real_array(first_steps, "first_steps")
    first = np.atleast_1d(np.asarray(first_steps))
    are_whole = steps.ndim < 2 and len(first) and first.dtype.kind in "iu"
    if not are_whole or (first < 0).any() or (first >= n_steps).any():
        raise ValueError(
            f"first_steps must be one or more integers of 0..{n_steps - 1}, the steps "
            f"of n_correct; got {brief(first_steps)}"
        )
    return first.astype(np.int64)


def _broadcast(values: ArrayLike, name: str, shape: tuple[int, ...]) -> FloatArray:
    """Broadcast numbers to the rows, or to the orders and steps, of n_correct."""
    array = real_array(values, name)
    try:
        return np.broadcast_to(array, shape)
    except ValueError:
        raise ValueError(
            f"{name} must broadcast to shape {shape}, as n_correct is (..., n_orders, "
            f"n_steps); got shape {array.shape}"
        ) from None


def _log_e_values(
    design: _Forward, powers: FloatArray, beta: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return logs of mean e-values at beta, and what they lose by it, (n_rows,)."""
    growth = np.expm1(LAMBDAS)
    gain = beta[:, np.newaxis] * growth
    totals = design.totals[:, np.newaxis]
    exponents = powers - totals * np.log1p(gain)[:, np.newaxis]
    highest = exponents.max(axis=(1, 2), keepdims=True)
    weights = np.exp(exponents - highest)
    total = weights.sum(axis=(1, 2))
    slopes = totals * (growth / (1 + gain))[:, np.newaxis]
    loss = (weights * slopes).sum(axis=(1, 2)) / total
    return highest[:, 0, 0] + np.log(total / len(LAMBDAS)), loss


def _where_reached(
    design: _Forward, powers: FloatArray, goals: FloatArray
) -> FloatArray:
    """Return the largest beta at which the log e-value still reaches the goal.

    It is convex (a log-sum-exp of convex functions) and falls with beta, so that
    Newton's steps from 0 never pass the solution: wherever they stop, the bound holds.
    """
    goals, beta = goals + _ROUNDING, np.zeros(len(powers))
    finite = ~np.isnan(powers[:, 0, 0])
    open_rows = np.flatnonzero(finite)
    for _ in range(_STEPS):
        if not len(open_rows):
            break
        value, loss = _log_e_values(design, powers[open_rows], beta[open_rows])
        step = np.maximum(value - goals[open_rows], 0) / loss
        beta[open_rows] = np.minimum(beta[open_rows] + step, 1)
        open_rows = open_rows[step > _CLOSE]
    return np.where(finite, beta, np.nan)


def _in_blocks(
    design: _Forward,
    sums: FloatArray,
    values: FloatArray,
    function: Callable[[_Forward, FloatArray, FloatArray], FloatArray],
) -> FloatArray:
    """Apply a function to the powers of blocks of rows that fit into the cache."""
    rows = batches(len(sums), _BLOCK_NUMBERS // (sums.shape[1] * len(LAMBDAS)))
    parts = [function(design, design.powers(sums[r]), values[r]) for r in rows]
    return np.concatenate(parts) if parts else np.empty(0)


def joined_runs(n_runs: int) -> NDArray[np.int64]:
    """Return the number of the part of consecutive runs that each run is tested in."""
    return np.arange(n_runs) // -(-n_runs // _MOST_PARTS)


def cyclic_orders(n_parts: int) -> tuple[NDArray[np.int64], int, NDArray[np.int64]]:
    """Return orders (n_orders, n_parts), the first tested part, and first steps."""
    n_orders = min(n_parts, _MOST_ORDERS)
    starts = np.arange(n_orders) * n_parts // n_orders
    shortest, longer = -(-n_parts // 3), -(-n_parts // 2)
    orders = (starts[:, np.newaxis] + np.arange(n_parts)) % n_parts
    return orders, shortest, np.unique([0, longer - shortest])


@dataclass(frozen=True, eq=False)
class ForwardDesign:
    """Test units of every step of every order, the same for all regions."""

    n_units: NDArray[np.int64]  # (n_orders, n_steps) independent units of the tested
    unit_weights: FloatArray  # (n_orders, n_steps): the heaviest of weights, sum one
    first_steps: NDArray[np.int64]  # (n_first,): where testing may begin
    noise: float  # s**2 of the accuracy that is averaged over orders and steps
    #: (2, n_tested) units and heaviest weights in time, of e-values; False: as above
    chronological: FloatArray | bool = False

    @property
    def n_sums(self) -> int:
        """Number of outcomes of a region."""
        in_time = self.chronological
        n_in_time = 0 if isinstance(in_time, bool) else in_time.shape[1]
        return self.n_units.size + n_in_time

    def bayes_accuracy_bound(self, n_correct: ArrayLike, **options: Any) -> FloatArray:
        """Bound the Bayes accuracy; (n_regions, n_sums) -> (n_regions,)."""
        return forward_bayes_accuracy_lower_bound(
            self._by_step(n_correct),
            self.n_units,
            first_steps=self.first_steps,
            unit_weights=self.unit_weights,
            **options,
        )

    def e_value(self, n_correct: ArrayLike, accuracy: float) -> FloatArray:
        """Return e-values (n_regions,) against a Bayes accuracy, at most 1e37."""
        units, weights, first = self.n_units, self.unit_weights, self.first_steps
        correct = self._by_step(n_correct)
        if not isinstance(self.chronological, bool):
            units, weights = self.chronological[:, np.newaxis]
            last = np.asarray(n_correct, dtype=np.float64)[..., self.n_units.size :]
            correct, first = np.clip(last, 0, 1 / weights)[:, np.newaxis], np.array([0])
        elif self.chronological:
            raise ValueError(
                "these e-values are of a first tested run that moved with the number "
                "of runs, which is not valid when runs are added; fit again"
            )
        with np.errstate(over="ignore"):
            value = forward_e_value(
                correct, units, accuracy, first_steps=first, unit_weights=weights
            )
        return np.minimum(value, _LARGEST_E_VALUE)

    def _by_step(self, n_correct: ArrayLike) -> FloatArray:
        """Return outcomes (n_regions, n_orders, n_steps), limited beyond float32."""
        correct = np.asarray(n_correct, dtype=np.float64)[..., : self.n_units.size]
        correct = correct.reshape(-1, *self.n_units.shape)
        return np.clip(correct, 0, 1 / self.unit_weights)
