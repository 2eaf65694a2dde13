"""Random sign flips, and the paired test that they make."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuroextrap.stats._null_counts import NullCounts, tie_floor
from neuroextrap.stats._pvalues import step_down_p_value
from neuroextrap.stats._validation import (
    FloatArray,
    check_flags,
    check_integer,
    random_generator,
    real_array,
)

_BATCH_NUMBERS = 2**24  # statistics held at once


def count_sign_flips(n_units: int, *, two_sided: bool) -> int:
    """Return how many distinct sign flips exist, the observed signs included.

    Two-sided, a flip and its opposite give one statistic and count once: the first
    unit keeps its sign (a single unit does not).
    """
    return 2 ** (n_units - int(two_sided and n_units > 1))


def sign_flips(
    n_units: int,
    n_permutations: int,
    *,
    two_sided: bool,
    random_state: int | np.random.Generator | None,
) -> FloatArray:
    """Return signs of shape (n_flips, n_units), the observed signs not among them.

    If no more than `n_permutations` others exist, each is returned once and the test is
    exact by enumeration. Otherwise that many are drawn independently, with replacement:
    a draw may repeat another or leave all signs as they are, which keeps the test exact
    under the +1 rule.
    """
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


@dataclass(frozen=True)
class PairedTest:
    """What :func:`paired_sign_flip_test` returns.

    `score`, `p_value` (each region by itself), `p_value_fwe` (by the largest sum over
    regions) and, where asked for, `p_value_fwe_step_down` (by the largest sum over the
    regions left) have shape (n_regions,); `n_permutations` sign flips were used beside
    the observed signs.
    """

    score: FloatArray
    p_value: FloatArray
    p_value_fwe: FloatArray
    n_permutations: int
    p_value_fwe_step_down: FloatArray | None = None


class SignFlipCounts:
    """Paired tests of `n_regions` regions that come a few at a time.

    `flips` has shape (n_flips, n_units), the same for all regions. With `step_down` all
    flipped sums are kept, 8 bytes for every flip and region.
    """

    def __init__(
        self, flips: FloatArray, n_regions: int, *, two_sided: bool, step_down: bool
    ) -> None:
        self._flips, self._two_sided = flips, two_sided
        self._sums = np.full(n_regions, np.nan)
        self._counts = NullCounts.start(np.full(n_regions, np.nan), len(flips))
        if step_down:
            self._counts.null = np.full((len(flips), n_regions), np.nan)

    def add(self, differences: FloatArray, regions: NDArray[np.intp]) -> None:
        """Count the flipped sums of differences (n, n_units) of the regions (n,)."""
        sums = differences.sum(axis=1)
        self._sums[regions] = sums
        self._counts.score[regions] = tie_floor(
            np.abs(sums) if self._two_sided else sums, np.abs(differences).sum(axis=1)
        )
        width = max(1, _BATCH_NUMBERS // max(1, len(sums)))
        for first in range(0, len(self._flips), width):
            flips = self._flips[first : first + width]
            permuted = differences @ flips.T
            permuted = np.abs(permuted) if self._two_sided else permuted
            self._counts.add(permuted, first, regions)

    def test(self) -> PairedTest:
        """Return the test of all regions; NaN for those that never came."""
        counts, known = self._counts, ~np.isnan(self._sums)
        step_down = None
        if counts.null is not None:
            step_down = step_down_p_value(counts.score, counts.null)
        return PairedTest(
            self._sums,
            np.where(known, counts.p_value(), np.nan),
            counts.p_value_fwe() if known.any() else np.full(known.shape, np.nan),
            len(self._flips),
            step_down,
        )


def paired_sign_flip_test(
    differences: ArrayLike,
    *,
    n_permutations: int = 1000,
    two_sided: bool = True,
    step_down: bool = False,
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
        Whether to compute step-down p-values too, see :func:`step_down_p_value`; it
        takes 8 bytes of memory for every flip and region.
    random_state : int, numpy.random.Generator or None, default=0
        Seed of the flips.

    Returns
    -------
    test : PairedTest
        The attributes ``score`` (sum of the differences), ``p_value`` and
        ``p_value_fwe`` (family-wise, by the largest sum over regions) are ndarrays of
        shape (n_regions,), and so is ``p_value_fwe_step_down``, which is None unless
        asked for; ``n_permutations`` is the number of flips used.

    Raises
    ------
    TypeError, ValueError
        If `n_permutations` is not an integer of at least 1.
    ValueError
        If `differences` is not a finite matrix with at least one unit.

    References
    ----------
    Nichols & Holmes 2002, "Nonparametric permutation tests for functional
    neuroimaging" (paired sign flips, maximum statistic).

    Examples
    --------
    >>> import numpy as np
    >>> test = paired_sign_flip_test(np.array([[1.0, 2, 1, 3], [1, -1, 0, 0]]))
    >>> test.p_value, test.n_permutations
    (array([0.125, 1.   ]), 7)
    """
    n_permutations = check_integer(n_permutations, "n_permutations", minimum=1)
    check_flags(two_sided=two_sided, step_down=step_down)
    values = real_array(differences, "differences")
    if values.ndim != 2 or values.shape[1] == 0 or not np.isfinite(values).all():
        raise ValueError(
            "differences must be finite numbers of shape (n_regions, n_units), at "
            f"least one unit; got shape {values.shape}: leave out regions without them"
        )
    flips = sign_flips(
        values.shape[1], n_permutations, two_sided=two_sided, random_state=random_state
    )
    counts = SignFlipCounts(
        flips, len(values), two_sided=two_sided, step_down=step_down
    )
    counts.add(values, np.arange(len(values)))
    return counts.test()
