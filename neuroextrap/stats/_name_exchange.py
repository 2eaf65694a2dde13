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

from neuroextrap.stats._null_counts import round_ties
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

    def accuracy(self, tables: FloatArray) -> FloatArray:
        """Return the accuracy under every exchange, shape (n_regions, n_exchanges).

        Entry [c, d] of a table, of `tables` (n_regions, K, K), is the share of all test
        points that are of class c and were assigned to class d. The same table serves
        every exchange, so that no classifier is trained again.
        """
        flat = tables.reshape(len(tables), self._picked.shape[1])
        return round_ties((self._picked @ flat.T).T)


def named_accuracy(tables: FloatArray) -> FloatArray:
    """Return the accuracy with the names as they are, shape (n_regions,)."""
    return round_ties(np.trace(tables, axis1=1, axis2=2))
