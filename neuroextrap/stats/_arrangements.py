"""Rearrangements of designs and outcomes: permutations and sign flips, by blocks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import permutations
from math import factorial
from typing import Any, Self

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike, NDArray

from neuroextrap.stats._linear_scores import LinearTest
from neuroextrap.stats._null_counts import TIE, round_ties, tie_floor
from neuroextrap.stats._permutation import draw_labelings, permute_rows
from neuroextrap.stats._rearrangement_test import Arrangements, Corrections, permute
from neuroextrap.stats._validation import (
    FloatArray,
    Seed,
    check_flags,
    check_integer,
    random_generator,
    real_array,
    warn,
)


@dataclass(frozen=True)
class NameExchanges:
    """Exchanges of the K names in one of two conditions, without the identity."""

    names: NDArray[np.intp]  # (n_exchanges, K) the name that every class gets
    are_all: bool  # of the K! - 1, equally likely if no class belongs to another

    @classmethod
    def of(cls, n_classes: int, n_permutations: int, random_state: Any) -> Self:
        """Return all exchanges, or, if they are more, `n_permutations` random ones."""
        if factorial(n_classes) - 1 <= n_permutations:
            every = list(permutations(range(n_classes)))
            return cls(np.array(every[1:]), are_all=True)
        rows = np.tile(np.arange(n_classes), (n_permutations, 1))
        drawn = random_generator(random_state).permuted(rows, axis=1)
        return cls(drawn, are_all=False)

    def __len__(self) -> int:
        """Return the number of exchanges."""
        return len(self.names)

    @cached_property
    def _picked(self) -> scipy.sparse.csr_array:
        """Which entries of a table each exchange adds up, (n_exchanges, K * K)."""
        n, n_classes = self.names.shape
        entries = np.arange(n_classes) * n_classes + self.names
        return scipy.sparse.csr_array(
            (np.ones(entries.size), entries.ravel(), np.arange(n + 1) * n_classes),
            shape=(n, n_classes**2),
        )

    def compared(self, tables: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return agreement of names, (n_regions,), and under every exchange.

        Entry [c, d] of `tables` (n_regions, K, K) says how strongly class c was taken
        for d. The statistic is the sum over classes of the same name, standardized by
        its mean and deviation over all K! exchanges, known in closed form.
        """
        by_row, by_column = (tables.mean(axis=i, keepdims=True) for i in (2, 1))
        centered = tables - by_row - by_column + by_row.mean(axis=1, keepdims=True)
        n, n_classes = tables.shape[:2]
        spread = np.sqrt((centered**2).sum(axis=(1, 2)) / (n_classes - 1))
        unit = np.where(spread > TIE, spread, np.inf)[:, np.newaxis]
        permuted = (self._picked @ centered.reshape(n, n_classes**2).T).T
        observed = np.trace(centered, axis1=1, axis2=2)
        return round_ties(observed / unit[:, 0]), round_ties(permuted / unit)


def named_share(tables: FloatArray) -> FloatArray:
    """Return what is taken for its own name, of tables (..., K, K)."""
    return round_ties(np.trace(tables, axis1=-2, axis2=-1))


_DECIMALS = 10  # rows of a design that agree so far are one


def count_sign_flips(n_units: int, *, two_sided: bool) -> int:
    """Return how many distinct sign flips exist, the observed signs included."""
    # two-sided, a flip and its opposite count once: the first of several units is fixed
    return 2 ** (n_units - int(two_sided and n_units > 1))


def sign_flips(
    n_units: int, n_permutations: int, random_state: Seed, *, two_sided: bool
) -> FloatArray:
    """Return signs (n_flips, n_units): all others, or draws (the +1 rule is exact)."""
    n_distinct = count_sign_flips(n_units, two_sided=two_sided)
    free = n_distinct.bit_length() - 1
    if free < 60 and n_distinct - 1 <= n_permutations:
        bits = np.arange(1, n_distinct)[:, np.newaxis] >> np.arange(free) & 1
    else:
        rng = random_generator(random_state)
        # the first row drawn stands for the observed signs
        bits = rng.integers(0, 2, size=(n_permutations + 1, free))[1:]
    signs = np.ones((len(bits), n_units))
    signs[:, n_units - free :] -= 2.0 * bits
    return signs


def flipped(
    test: LinearTest,
    blocks: ArrayLike | None,
    *,
    whole_blocks: bool,
    two_sided: bool,
    n_permutations: int,
    random_state: Seed,
) -> Arrangements:
    """Flip the signs of observations, or of whole blocks of them."""
    n = len(test.effect)
    units = np.arange(n)
    if blocks is not None and whole_blocks:
        units = np.unique(np.asarray(blocks), return_inverse=True)[1]
    n_units = int(units.max()) + 1
    n_flips = count_sign_flips(n_units, two_sided=two_sided)
    if n_flips <= n_permutations + 1:
        warn(
            f"only {n_flips} distinct sign flips of {n_units} "
            f"{'blocks' if n_units < n else 'subjects'} exist; all are used and no "
            f"p-value can be below {1 / n_flips:.3g}"
        )
    flips = sign_flips(n_units, n_permutations, random_state, two_sided=two_sided)
    signs = np.concatenate([np.ones((1, n_units)), flips])[:, units]
    source = np.broadcast_to(np.arange(n), signs.shape)
    return Arrangements(source, signs.astype(np.int8), n_flips <= n_permutations + 1)


def permuted(
    test: LinearTest,
    blocks: ArrayLike | None,
    *,
    whole_blocks: bool,
    n_permutations: int,
    random_state: Seed,
) -> Arrangements:
    """Permute observations freely, within blocks, or blocks as wholes."""
    n = len(test.effect)
    labels = _equal_rows(test.rows)
    if blocks is None or not whole_blocks:
        changed = permute_rows(labels, blocks, n_permutations, random_state)
        example = np.zeros(labels.max() + 1, dtype=np.intp)
        example[labels] = np.arange(n)
        source = np.concatenate([np.arange(n)[np.newaxis], example[changed]])
    else:
        source = _whole_blocks(labels, blocks, n_permutations, random_state)
    are_all = len(source) <= n_permutations
    return Arrangements(source, np.ones(source.shape, dtype=np.int8), are_all)


def _equal_rows(rows: FloatArray) -> NDArray[np.intp]:
    """Return a number for each row of a design, one for rows equal up to rounding."""
    scale = np.abs(rows).max(axis=0)
    numbers = np.round(rows / np.where(scale > 0, scale, 1), _DECIMALS)
    return np.unique(numbers + 0.0, axis=0, return_inverse=True)[1].ravel()


def _whole_blocks(
    labels: NDArray[np.intp], blocks: ArrayLike, n_permutations: int, random_state: Seed
) -> NDArray[np.intp]:
    """Exchange blocks of equal size; rows keep their order within their block."""
    number = np.unique(np.asarray(blocks), return_inverse=True)[1]
    members = [np.flatnonzero(number == block) for block in range(number.max() + 1)]
    sizes = np.array([len(rows) for rows in members])
    patterns: dict[tuple[int, ...], int] = {}
    codes = [
        patterns.setdefault(tuple(labels[rows]), len(patterns)) for rows in members
    ]
    changed = permute_rows(codes, sizes, n_permutations, random_state)
    example = dict(zip(codes, members, strict=True))
    source = np.tile(np.arange(len(labels)), (len(changed) + 1, 1))
    for block, rows in enumerate(members):
        for code in np.unique(changed[:, block]):
            taken = np.flatnonzero(changed[:, block] == code) + 1
            source[np.ix_(taken, rows)] = example[code]
    return source


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
    options = {
        "two_sided": two_sided,
        "step_down": step_down,
        "cross_validated": cross_validated,
    }
    check_flags(**options)
    values = real_array(differences, "differences")
    if values.ndim != 2 or values.shape[1] == 0 or not np.isfinite(values).all():
        raise ValueError(
            "differences must be finite numbers of shape (n_regions, n_units), at "
            f"least one unit; got shape {values.shape}: leave out regions without them"
        )
    n = values.shape[1]
    flips = sign_flips(n, n_permutations, random_state, two_sided=two_sided)
    return _exchanged(values, np.ones(n), flips, (1 / n, n), **options)


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
