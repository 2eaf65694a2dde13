"""Sign flips of paired differences, with the largest statistic over regions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuroextrap.stats._pvalues import max_statistic_p_value
from neuroextrap.stats._validation import FloatArray

# sums that differ by rounding only are ties
_DECIMALS = 12
_BLOCK_NUMBERS = 2**24


@dataclass(frozen=True)
class PairedTest:
    """What :func:`paired_sign_flip_test` returns.

    Parameters
    ----------
    score : ndarray of float, shape (n_regions,)
        Sum of the differences.
    p_value : ndarray of float, shape (n_regions,)
        Each region by itself.
    p_value_fwe : ndarray of float, shape (n_regions,)
        Family-wise, by the largest sum over regions.
    n_permutations : int
        Sign flips besides the observed one.

    Examples
    --------
    >>> import numpy as np
    >>> PairedTest(np.array([1.5]), np.array([0.25]), np.array([0.25]), 3).p_value
    array([0.25])
    """

    score: FloatArray
    p_value: FloatArray
    p_value_fwe: FloatArray
    n_permutations: int


def paired_sign_flip_test(
    differences: ArrayLike,
    *,
    n_permutations: int = 1000,
    two_sided: bool = True,
    random_state: int | np.random.Generator | None = 0,
) -> PairedTest:
    """Test paired differences by exchanging the two outcomes of random units.

    A unit (stimulus, test observation, block) has two outcomes in every region; their
    difference changes sign when they are exchanged, in all regions at once. Where the
    two outcomes of every unit are exchangeable under the null hypothesis, p-values are
    exact, whatever the dependence of regions.

    Parameters
    ----------
    differences : array of shape (n_regions, n_units)
        One outcome minus the other, weighted as they enter the statistic (their sum).
    n_permutations : int, default=1000
        Number of random flips; all of them when there are no more.
    two_sided : bool, default=True
        Whether a difference in either direction counts.
    random_state : None, int or numpy.random.Generator, default=0
        Of the flips.

    Returns
    -------
    found : PairedTest
        With score, p_value, p_value_fwe and n_permutations.

    Raises
    ------
    ValueError
        If differences are no finite matrix with at least one unit, or n_permutations
        is below 1.

    References
    ----------
    Nichols & Holmes 2002, "Nonparametric permutation tests for functional
    neuroimaging" (paired sign flips, maximum statistic).

    Examples
    --------
    >>> import numpy as np
    >>> found = paired_sign_flip_test(np.array([[1.0, 2, 1, 3], [1, -1, 0, 0]]))
    >>> found.p_value, found.n_permutations
    (array([0.125, 1.   ]), 15)
    """
    found = np.asarray(differences, dtype=np.float64)
    if found.ndim != 2 or found.shape[1] == 0 or not np.isfinite(found).all():
        raise ValueError(
            "differences must be finite numbers of shape (n_regions, n_units), at "
            f"least one unit; got shape {found.shape}: leave out regions without them"
        )
    flips = _sign_flips(found.shape[1], n_permutations, random_state)
    observed = found.sum(axis=1).round(_DECIMALS)
    score = np.abs(observed) if two_sided else observed
    reached = np.zeros(len(score))
    maxima = np.empty(len(flips))
    step = max(1, _BLOCK_NUMBERS // max(1, len(score)))
    for begin in range(0, len(flips), step):
        some = slice(begin, begin + step)
        null = (found @ flips[some].T).round(_DECIMALS)
        null = np.abs(null) if two_sided else null
        reached += (null >= score[:, np.newaxis]).sum(axis=1)
        maxima[some] = null.max(axis=0, initial=-np.inf)
    p_value: FloatArray = (1.0 + reached) / (1.0 + len(flips))
    return PairedTest(
        observed,
        p_value,
        max_statistic_p_value(score, maxima),
        len(flips),
    )


def _sign_flips(
    n_units: int,
    n_permutations: int,
    random_state: int | np.random.Generator | None,
) -> NDArray[np.float64]:
    """Random signs, shape (n_flips, n_units); all others when they are few."""
    if n_permutations < 1:
        raise ValueError(f"n_permutations must be at least 1, got {n_permutations}")
    if n_units < 60 and 2**n_units - 1 <= n_permutations:
        codes = np.arange(1, 2**n_units)
        bits = codes[:, np.newaxis] >> np.arange(n_units) & 1
        return np.where(bits == 1, -1.0, 1.0)
    rng = np.random.default_rng(random_state)
    return rng.choice([-1.0, 1.0], size=(n_permutations, n_units))
