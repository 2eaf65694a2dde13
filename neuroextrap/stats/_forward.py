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
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuroextrap.stats._validation import (
    FloatArray,
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
        Number of correct outcomes in the run that each step of each order tests. A tie
        of m classes counts 1 / m, a block its share of correct scans. NaN gives NaN.
    n_units : int or array-like of int broadcast to (n_orders, n_steps)
        Independent test units (points, blocks, or 1 for a whole run) of each step.
    accuracy : float or array-like of shape (...)
        Bayes accuracy of the hypothesis, between 0 and 1.
    first_steps : int or array-like of int of shape (n_first,), default=(0,)
        Steps at which testing may begin; e-values that begin at each are averaged.
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
    design = _forward_design(n_correct, n_units, first_steps, unit_weights)
    level = real_array(accuracy, "accuracy")
    if not ((level >= 0) & (level <= 1)).all():
        raise ValueError(f"accuracy must lie between 0 and 1; got {brief(accuracy)}")
    sums, shape = design.sums()
    try:
        flat = np.broadcast_to(level, shape).ravel()
    except ValueError as error:
        raise ValueError(
            f"accuracy must be a number, or of the shape {shape} of n_correct without "
            f"its last two axes; got shape {level.shape}"
        ) from error
    return np.exp(_in_blocks(design, sums, flat, _log_e_values)).reshape(shape)


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
    the runs. It is where the mean e-value against "at most so
    accurate" falls to ``n_regions / (1 - confidence_level)``.

    Parameters
    ----------
    n_correct : array-like of shape (..., n_orders, n_steps)
        Number of correct outcomes in the run that each step of each order tests, the
        classifier trained on the runs before it in that order. A tie of m classes
        counts 1 / m, a block its share of correct scans. NaN gives NaN.
    n_units : int or array-like of int broadcast to (n_orders, n_steps)
        Independent test units of each step: test points, blocks, or 1 for a whole run
        (then `n_correct` is the run's accuracy).
    first_steps : int or array-like of int of shape (n_first,), default=(0,)
        Steps at which testing may begin, fixed in advance; early steps have classifiers
        of little training.
    confidence_level : float, default=0.95
        Confidence level of the lower bounds.
    n_regions : int, default=1
        Number of regions whose bounds hold simultaneously.
    unit_weights : array-like broadcast to (n_orders, n_steps) or None, default=None
        Largest weight of a unit in each step, see :func:`forward_e_value`. If None, all
        units weigh the same.

    Returns
    -------
    bound : ndarray of shape (...)
        Between 0 and 1; below 1 / K it says nothing.

    Raises
    ------
    TypeError, ValueError
        If `n_regions` is not an integer of at least 1.
    ValueError
        If shapes disagree, outcomes lie outside 0..n_units, a first step does not
        exist, or the confidence level is outside (0, 1).

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
    design = _forward_design(n_correct, n_units, first_steps, unit_weights)
    alpha = 1 - check_level(confidence_level, "confidence_level")
    goal = np.log(check_integer(n_regions, "n_regions", minimum=1) / alpha)
    sums, shape = design.sums()
    goals = np.full(len(sums), goal)
    return _in_blocks(design, sums, goals, _where_reached).reshape(shape)


class _Forward(NamedTuple):
    """Outcomes of forward testing, checked; steps of equal design are counted together.

    `n_correct` of shape (..., n_orders, n_steps), `first_steps` of shape (n_first,).
    Tests are of one design where as many units, `totals` (n_designs,), are tested;
    `design` (n_orders * n_first,) is that of every order from every first step.
    """

    n_correct: FloatArray
    first_steps: NDArray[np.int64]
    totals: FloatArray
    design: NDArray[np.int64]

    def sums(self) -> tuple[FloatArray, tuple[int, ...]]:
        """Return sums of shape (n_rows, n_orders * n_first), and the rows' shape."""
        after = np.cumsum(self.n_correct[..., ::-1], axis=-1)[..., ::-1]
        sums = after[..., self.first_steps]
        shape = self.n_correct.shape[:-2]
        return sums.reshape(math.prod(shape), math.prod(sums.shape[-2:])), shape

    def powers(self, sums: FloatArray) -> FloatArray:
        """Return the log of the mean of exp(lambda S) over tests of equal design.

        Shape (n_rows, n_designs, n_lambdas): all that a hypothesis does not change.
        """
        powers = np.empty((len(sums), len(self.totals), len(LAMBDAS)))
        for d in range(len(self.totals)):
            exponents = sums[:, self.design == d, np.newaxis] * LAMBDAS
            highest = exponents.max(axis=1)
            exponents -= highest[:, np.newaxis]
            total = np.exp(exponents, out=exponents).sum(axis=1)
            powers[:, d] = highest + np.log(total / len(self.design))
        return powers

    def offsets(self, beta: FloatArray) -> FloatArray:
        """Return logs of the largest means, shape (n_rows, n_designs, n_lambdas)."""
        logs = np.log1p(beta[:, np.newaxis] * np.expm1(LAMBDAS))
        return self.totals[:, np.newaxis] * logs[:, np.newaxis]

    def slopes(self, beta: FloatArray) -> FloatArray:
        """Return the derivatives of the offsets by beta, of the same shape."""
        growth = np.expm1(LAMBDAS)
        slopes = growth / (1 + beta[:, np.newaxis] * growth)
        return self.totals[:, np.newaxis] * slopes[:, np.newaxis]


def _forward_design(
    n_correct: ArrayLike,
    n_units: ArrayLike,
    first_steps: ArrayLike,
    unit_weights: ArrayLike | None,
) -> _Forward:
    """Check what forward tests are given, and count steps of equal design."""
    correct = real_array(n_correct, "n_correct")
    if correct.ndim < 2 or 0 in correct.shape[-2:]:
        raise ValueError(
            "n_correct must have shape (..., n_orders, n_steps), at least one of each; "
            f"got {correct.shape}"
        )
    units = _per_step(n_units, "n_units", correct.shape[-2:])
    if not (units >= 1).all() or (units != np.rint(units)).any():
        raise ValueError("n_units must be whole numbers of at least 1")
    weights = 1 / units
    if unit_weights is not None:
        weights = _per_step(unit_weights, "unit_weights", correct.shape[-2:])
        if not ((weights * units >= 1 - 1e-9) & (weights <= 1)).all():
            raise ValueError(
                "unit_weights must be the largest of n_units weights that sum to one, "
                "between 1 / n_units and 1"
            )
    slack = 1e-6
    if (correct < -slack).any() or (correct > 1 / weights + slack).any():
        raise ValueError(
            "n_correct must lie between 0 and n_units (or 1 / unit_weights); give "
            "numbers of correct outcomes, not accuracies"
        )
    steps = real_array(first_steps, "first_steps")
    first = np.atleast_1d(np.asarray(first_steps))
    if steps.ndim > 1 or not len(first) or first.dtype.kind not in "iu":
        raise ValueError(
            f"first_steps must be one or more integers; got {brief(first_steps)}"
        )
    if (first < 0).any() or (first >= correct.shape[-1]).any():
        raise ValueError(
            f"first_steps must lie in 0..{correct.shape[-1] - 1}, the steps of "
            f"n_correct; got {first.tolist()}"
        )
    after = np.cumsum(1 / weights[:, ::-1], axis=1)[:, ::-1]
    totals, design = np.unique(after[:, first].round(9), return_inverse=True)
    return _Forward(correct, first.astype(np.int64), totals, design.ravel())


def _per_step(values: ArrayLike, name: str, shape: tuple[int, ...]) -> FloatArray:
    """Broadcast numbers to (n_orders, n_steps)."""
    array = real_array(values, name)
    try:
        return np.broadcast_to(array, shape)
    except ValueError:
        raise ValueError(
            f"{name} must broadcast to (n_orders, n_steps) = {shape}, those of "
            f"n_correct; got shape {array.shape}"
        ) from None


def _log_e_values(design: _Forward, powers: FloatArray, beta: FloatArray) -> FloatArray:
    """Return the log of the mean e-value of every row at its own beta."""
    exponents = powers - design.offsets(beta)
    flat = exponents.reshape(len(powers), -1)
    highest = flat.max(axis=1)
    total = np.exp(flat - highest[:, np.newaxis]).sum(axis=1)
    return np.asarray(highest + np.log(total / len(LAMBDAS)))


def _where_reached(
    design: _Forward, powers: FloatArray, goals: FloatArray
) -> FloatArray:
    """Return the largest beta at which the log e-value still reaches the goal.

    It is a convex and decreasing function of beta (a log-sum-exp of convex ones), so
    that Newton's steps from 0 come nearer from below and never pass the solution:
    wherever they stop, the bound holds.
    """
    goals, beta = goals + _ROUNDING, np.zeros(len(powers))
    known = ~np.isnan(powers[:, 0, 0])
    open_rows = np.flatnonzero(known & (_log_e_values(design, powers, beta) >= goals))
    for _ in range(_STEPS):
        if not len(open_rows):
            break
        some = powers[open_rows]
        step = _newton_step(design, some, beta[open_rows], goals[open_rows])
        beta[open_rows] = np.minimum(beta[open_rows] + step, 1)
        open_rows = open_rows[step > _CLOSE]
    return np.where(known, beta, np.nan)


def _newton_step(
    design: _Forward, powers: FloatArray, beta: FloatArray, goals: FloatArray
) -> FloatArray:
    """Return how much larger beta may be, by the tangent of the log e-value."""
    exponents = powers - design.offsets(beta)
    highest = exponents.max(axis=(1, 2), keepdims=True)
    weights = np.exp(exponents - highest)
    total = weights.sum(axis=(1, 2))
    log_mean = highest[:, 0, 0] + np.log(total / len(LAMBDAS))
    slope = (weights * design.slopes(beta)).sum(axis=(1, 2)) / total
    return np.maximum(log_mean - goals, 0) / slope


def _in_blocks(
    design: _Forward,
    sums: FloatArray,
    values: FloatArray,
    function: Callable[[_Forward, FloatArray, FloatArray], FloatArray],
) -> FloatArray:
    """Apply a function to the powers of blocks of rows that fit into the cache."""
    width = max(1, _BLOCK_NUMBERS // (sums.shape[1] * len(LAMBDAS)))
    rows = [slice(start, start + width) for start in range(0, len(sums), width)]
    parts = [function(design, design.powers(sums[r]), values[r]) for r in rows]
    return np.concatenate(parts) if parts else np.empty(0)
