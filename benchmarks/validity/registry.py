"""What a check is, what a row of the table is, and when a guarantee has failed."""

import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy import stats

SEED = 2026
FEW = 25  # data sets of a check in the test suite, where not all designs are drawn
CONFIDENCE = 0.99  # of the Monte-Carlo intervals
CLEAR = 1e-3  # chance of so bad a row, were the guarantee true, that makes it fail


@dataclass(frozen=True, eq=False)
class Row:
    """One guarantee in one design, simulated.

    Attributes
    ----------
    guarantee : str
        What is promised, in the words of the table.
    design : str
        Data and options.
    values : ndarray of shape (n_sets,)
        One number for every simulated data set: 1 where the promise was broken and 0
        where it was kept, the share of broken ones where a data set holds several, or
        an e-value.
    nominal : float
        What the mean of `values` is promised not to exceed.
    in_scope : bool
        Whether the guarantee is claimed for this design.
    """

    guarantee: str
    design: str
    values: np.ndarray
    nominal: float = 0.05
    in_scope: bool = True

    def __post_init__(self):
        """Turn the values into numbers; a value that is missing is an error."""
        values = np.asarray(self.values, dtype=float)
        if values.ndim != 1 or len(values) < 2 or np.isnan(values).any():
            raise ValueError(
                f"values of {self.guarantee!r} ({self.design}) must be two or more "
                f"numbers, one for every data set; got {self.values!r}"
            )
        object.__setattr__(self, "values", values)

    @property
    def measured(self) -> float:
        """Mean over the simulated data sets."""
        return float(self.values.mean())

    @property
    def is_count(self) -> bool:
        """Whether every value is 0 or 1."""
        return bool(np.isin(self.values, (0, 1)).all())

    def interval(self) -> tuple[float, float]:
        """Return the Monte-Carlo interval: Clopper-Pearson for counts, else normal."""
        n = len(self.values)
        if self.is_count:
            counted = stats.binomtest(int(self.values.sum()), n)
            ends = counted.proportion_ci(CONFIDENCE, method="exact")
            return float(ends.low), float(ends.high)
        half = stats.norm.isf((1 - CONFIDENCE) / 2) * self._error()
        low = self.measured - half
        low = low if self.values.min() < 0 else max(0.0, low)  # shares, e-values
        return low, self.measured + half

    def chance(self) -> float:
        """Return how likely so large a mean was if the guarantee held exactly."""
        if self.is_count:
            n_broken = int(self.values.sum())
            return float(stats.binom.sf(n_broken - 1, len(self.values), self.nominal))
        above = self.measured - self.nominal
        return float(stats.norm.sf(above / max(self._error(), 1e-12)))

    def verdict(self, limit: float = CLEAR) -> str:
        """Return 'holds', 'fails' or 'out of scope'."""
        if not self.in_scope:
            return "out of scope"
        return "fails" if self.chance() < limit else "holds"

    def _error(self) -> float:
        return float(self.values.std(ddof=1) / np.sqrt(len(self.values)))


@dataclass(frozen=True)
class Check:
    """A simulation: ``function(rng, n_sets, mistake)`` yields rows.

    With ``mistake=True`` it yields rows of a procedure that is wrong in the way that
    its docstring says; every one of them has to fail.
    """

    function: Callable[..., Iterator[Row]]
    family: str
    n_sets: int
    quick: int
    mistakes: int

    @property
    def name(self) -> str:
        """Name of the check, for ``--only``."""
        return self.function.__name__

    def rows(self, *, quick=False, mistake=False, seed=SEED, scale=1.0) -> list[Row]:
        """Run the check with its own stream of random numbers.

        `scale` multiplies the number of sets of the table.
        """
        rng = np.random.default_rng([seed, zlib.crc32(self.name.encode()), mistake])
        few = self.mistakes if mistake else self.quick
        n_sets = few if quick else max(2, round(scale * self.n_sets))
        return list(self.function(rng, n_sets, mistake=mistake))


def chosen(designs, n_sets):
    """Return all designs for the table, the first and the last for a few data sets."""
    designs = list(designs)
    return designs if n_sets >= FEW else [designs[0], designs[-1]]


CHECKS: dict[str, Check] = {}


def check(
    family: str, *, n_sets: int, quick: int, mistakes: int | None = None
) -> Callable:
    """Register a check under its function's name.

    Parameters
    ----------
    family : str
        Heading of the table that its rows go to.
    n_sets, quick : int
        Number of simulated data sets in the table and in the test suite.
    mistakes : int or None, default=None
        Number in the test suite with the mistake, which it takes to find it; None
        takes `quick`.
    """

    def register(function: Callable[..., Iterator[Row]]) -> Callable:
        CHECKS[function.__name__] = Check(
            function, family, n_sets, quick, mistakes or quick
        )
        return function

    return register
