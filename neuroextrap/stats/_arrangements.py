"""Rearrangements of the rows of a design: permutations and sign flips, by blocks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import permutations
from math import factorial
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike, NDArray

from neuroextrap.stats._linear_scores import LinearTest
from neuroextrap.stats._null_counts import TIE, round_ties
from neuroextrap.stats._permutation import permute_rows
from neuroextrap.stats._validation import FloatArray, Seed, random_generator
from neuroextrap.stats._warn import warn


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
        for d. The statistic is the sum over classes of the same name less its mean over
        all K! exchanges, in units of its standard deviation over them, both known in
        closed form.
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


class Arrangements(NamedTuple):
    """How a permutation test rearranges the rows of a design, observed first."""

    source: NDArray[np.intp]  # (1 + n_permutations, n_observations) row that each gets
    signs: NDArray[np.int8]  # and what it is multiplied by
    are_all: bool  # that exist: the test is exact by enumeration

    @property
    def n_permutations(self) -> int:
        """Number of arrangements beside the observed one."""
        return len(self.signs) - 1

    def rows(self, design: FloatArray, batch: slice) -> FloatArray:
        """Return rearranged designs, shape (n_arrangements, n_observations, ...)."""
        signs = self.signs[batch].astype(design.dtype)
        return design[self.source[batch]] * signs[..., np.newaxis]


def count_sign_flips(n_units: int, *, two_sided: bool) -> int:
    """Return how many distinct sign flips exist, the observed signs included."""
    # two-sided, a flip and its opposite count once: the first of several units is fixed
    return 2 ** (n_units - int(two_sided and n_units > 1))


def sign_flips(
    n_units: int, n_permutations: int, *, two_sided: bool, random_state: Seed
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
    n = test.n_observations
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
    flips = sign_flips(
        n_units, n_permutations, two_sided=two_sided, random_state=random_state
    )
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
    n = test.n_observations
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
