"""Class names exchanged between two conditions, to test whether they correspond."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import permutations
from math import factorial
from typing import Any, Self

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from neuroextrap.stats._null_counts import TIE, round_ties
from neuroextrap.stats._validation import FloatArray, random_generator


@dataclass(frozen=True)
class NameExchanges:
    """Exchanges of the K names in one of two conditions, the identity not among them.

    Under the null hypothesis that no class of one condition belongs to a certain class
    of the other, all K! pairings of names are equally likely. `names` (n_exchanges, K)
    holds the name that every class gets; `are_all` says whether these are all K! - 1.
    """

    names: NDArray[np.intp]
    are_all: bool

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
        """Return how well names agree, and how well under every exchange.

        Shapes (n_regions,) and (n_regions, n_exchanges). Entry [c, d] of a table, of
        `tables` (n_regions, K, K), says how strongly class c was taken for class d. The
        statistic is the sum over classes of the same name, minus its mean over all K!
        exchanges, in units of its standard deviation over them. Both are known in
        closed form and the same under every exchange, so that no classifier is trained
        again, and regions with strong codes do not set the maximum for weak ones.
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
