"""Two analyses compared: outcomes of the same units exchanged, or of others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from neuroextrap.stats._arrangements import sign_flips
from neuroextrap.stats._null_counts import tie_floor
from neuroextrap.stats._permutation import draw_labelings
from neuroextrap.stats._rearrangement_test import Corrections, permute
from neuroextrap.stats._validation import (
    FloatArray,
    check_flags,
    check_integer,
    real_array,
)


@dataclass(frozen=True)
class PairedTest:
    """Sums of differences and their p-values (n_regions,), and the number of flips."""

    score: FloatArray
    p_value: FloatArray
    p_value_fwe: FloatArray
    n_permutations: int
    p_value_fwe_step_down: FloatArray | None = None


def paired_sign_flip_test(
    differences: ArrayLike,
    *,
    n_permutations: int = 1000,
    two_sided: bool = True,
    step_down: bool = False,
    cross_validated: bool = False,
    random_state: int | np.random.Generator | None = 0,
) -> PairedTest:
    """Test paired differences by exchanging the two outcomes of random units.

    A unit (stimulus, test observation, block) has two outcomes in every region; their
    difference changes sign when they are exchanged, in all regions at once. Where the
    two outcomes of every unit are exchangeable under the null hypothesis, p-values are
    exact, whatever the dependence of regions.

    Parameters
    ----------
    differences : array-like of shape (n_regions, n_units)
        One outcome minus the other, weighted as they enter the statistic (their sum).
    n_permutations : int, default=1000
        Number of random flips. If no more distinct flips exist, each is used once.
    two_sided : bool, default=True
        Whether a difference in either direction counts as evidence.
    step_down : bool, default=False
        Whether to compute step-down p-values too, see :func:`step_down_p_value`.
    cross_validated : bool, default=False
        Whether the units that are tested also train, in other folds. Their differences
        then depend on each other, and the sums are shrunk before they are compared.
    random_state : int, numpy.random.Generator or None, default=0
        Seed of the flips.

    Returns
    -------
    test : PairedTest
        ``score`` (sums of the differences), ``p_value``, ``p_value_fwe`` and
        ``p_value_fwe_step_down`` (None unless requested) are of shape (n_regions,);
        ``n_permutations`` is the number of flips used.

    Raises
    ------
    TypeError, ValueError
        If `n_permutations` is not an integer of at least 1, or `differences` is not a
        finite matrix with at least one unit.

    Notes
    -----
    Under cross-validation every unit enters twice, once as a test unit and once as a
    training unit of others. For leaving one of n units out of data without signal, two
    outcomes correlate by 1 / (n - 1) (the test of one sample and the training by
    another rest on the same product of both), so that the variance of the sum is twice
    that of independent outcomes, or 2 (n - 1) / (n - 2) times the estimate from
    differences around their mean; where there is signal, it is less. With
    `cross_validated` the t statistic of the sum is divided by the square root of
    2 (n - 1) / (n - 3), and the sum that has this t is compared with the flipped ones:
    a correction as that of Nadeau & Bengio, whose factor is 1 + n / (n - 1). The 3
    instead of 2 covers few units, and was chosen by simulation. p-values are then
    approximate.

    References
    ----------
    Nichols & Holmes 2002, "Nonparametric permutation tests for functional
    neuroimaging" (paired sign flips, maximum statistic). Nadeau & Bengio 2003,
    "Inference for the generalization error", Machine Learning 52, 239-281.

    Examples
    --------
    >>> import numpy as np
    >>> test = paired_sign_flip_test(np.array([[1.0, 2, 1, 3], [1, -1, 0, 0]]))
    >>> test.p_value, test.n_permutations
    (array([0.125, 1.   ]), 7)
    """
    n_permutations = check_integer(n_permutations, "n_permutations", minimum=1)
    check_flags(
        two_sided=two_sided, step_down=step_down, cross_validated=cross_validated
    )
    values = real_array(differences, "differences")
    if values.ndim != 2 or values.shape[1] == 0 or not np.isfinite(values).all():
        raise ValueError(
            "differences must be finite numbers of shape (n_regions, n_units), at "
            f"least one unit; got shape {values.shape}: leave out regions without them"
        )
    n = values.shape[1]
    seed = random_state
    flips = sign_flips(n, n_permutations, two_sided=two_sided, random_state=seed)
    return _exchanged(
        values,
        np.ones(n),
        flips,
        (1 / n, n),
        two_sided=two_sided,
        step_down=step_down,
        cross_validated=cross_validated,
    )


def two_sample_exchange_test(
    outcomes: FloatArray,
    n_first: int,
    *,
    n_permutations: int = 1000,
    random_state: Any = 0,
    **options: bool,
) -> PairedTest:
    """Test the difference in mean of units that have one outcome each.

    Of `outcomes` (n_regions, n_units) the first `n_first` are of one analysis. Options
    are those of :func:`paired_sign_flip_test`, with the fewer units of both.
    """
    n = outcomes.shape[1]
    n_second = n - n_first
    belongs = (np.arange(n) >= n_first).astype(np.intp)
    weights = np.array([1 / n_first, -1 / n_second])
    orders, _ = draw_labelings(belongs, None, None, n_permutations, random_state)
    values = outcomes - outcomes.mean(axis=1, keepdims=True)
    squares = n_first * n_second / n, min(n_first, n_second)
    return _exchanged(values, weights[belongs], weights[orders], squares, **options)


def _exchanged(
    values: FloatArray,
    weights: FloatArray,
    exchanged: FloatArray,
    squares: tuple[float, int],
    *,
    two_sided: bool = True,
    step_down: bool = False,
    cross_validated: bool = False,
) -> PairedTest:
    """Compare weighted sums of values (n_regions, n_units) with those of others.

    `squares` are what times a sum squared is the sum of squares that it explains, and a
    number of units n: under cross-validation t^2, proportional to explained / (total -
    explained), is divided by 2 (n - 1) / (n - 3).
    """
    compared = scores = values @ weights
    if cross_validated:
        share, n = squares
        explained, total = share * np.square(scores), np.square(values).sum(axis=1)
        factor = 2 * (n - 1) / max(n - 3, 1)
        corrected = explained + factor * np.maximum(total - explained, 0.0)
        ratio = np.divide(total, corrected, np.zeros_like(total), where=corrected > 0)
        compared = scores * np.sqrt(ratio)
    size = np.abs(values) @ np.abs(weights)
    counted = permute(
        lambda permutations, _: exchanged[permutations] @ values.T,
        tie_floor(np.abs(compared) if two_sided else compared, size),
        len(exchanged),
        Corrections(two_sided=two_sided, step_down=step_down),
    )
    return PairedTest(scores, n_permutations=len(exchanged), **counted.p_values())
