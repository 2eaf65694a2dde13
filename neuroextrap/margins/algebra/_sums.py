"""Margins that are sums of a table's rows by class: kept, or counted in cache."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from neuroextrap.design._design import Design, Labelings
from neuroextrap.margins._wins import NAN_MARGINS, beaten_and_tied
from neuroextrap.margins.algebra._linear import tested_codes
from neuroextrap.stats._validation import batches

_IN_CACHE, _AGAIN = 2**13, 2**17  # margins that are counted, and counted again


def no_folds() -> Any:
    """Return what compiled loops take for folds where nothing is made of sums."""
    from neuroextrap.margins.compiled._class_sums import Folds

    nothing, factors = np.zeros(1, np.uint32), np.empty((0, 0, 0))
    return Folds(nothing, nothing, factors, factors)


@dataclass
class ClassSums:
    """Tables (S, n, n_test) of regions, of which the rows of a class are summed.

    Where there are inner products ``grams`` (S, n, n) of samples in the order of folds,
    not (S, 0, 0), nearest centroids are made of the sums. Margins are of a ``dtype``.
    """

    tables: np.ndarray
    grams: np.ndarray
    dtype: Any

    @cached_property
    def _compiled(self) -> Any:
        """The tables, as they are and in whole units, for compiled loops."""
        from neuroextrap.margins.compiled._class_sums import UNITS, Tables

        lanes, units = np.empty(self.tables.shape, np.float32), []
        for table, out in zip(self.tables, lanes, strict=True):
            largest = np.abs(table).sum(axis=0)  # that any samples add up to
            if self.grams.size:
                largest[:] = largest.max()
            if not np.isfinite(largest).all():
                raise ValueError(NAN_MARGINS)
            unit = np.where(largest > 0, largest, 1.0) / (UNITS - len(table))
            np.rint(table / unit, out=out, casting="same_kind")
            units.append(unit[0])
        return Tables(self.tables, lanes, np.array(units), self.grams)

    def fill(self, by_class: Any, folds: Any, margins: np.ndarray) -> None:
        """Fill the margins (S, B, K, n_test) of labelings, `Sorted`, and `Folds`."""
        from neuroextrap.margins.compiled._class_sums import fill_margins

        every = np.arange(margins.shape[1])
        for s, out in enumerate(margins):
            fill_margins(self._compiled, s, by_class, folds, every, out)

    def count(
        self,
        by_class: Any,
        folds: Any,
        labelings: Labelings,
        design: Design,
        out: np.ndarray,
    ) -> None:
        """Count what the same margins beat and tie, (2, S, B, n_test).

        In whole units, which are half as long; labelings under which a margin is too
        close to that of the true class are counted again.
        """
        from neuroextrap.margins.compiled._class_sums import count_margins, fill_margins

        y = tested_codes(labelings, design)
        size = labelings.n_classes, y.shape[1]
        together, again = (
            max(1, n // (size[0] * size[1])) for n in (_IN_CACHE, _AGAIN)
        )
        margins = np.empty((together, *size), np.float32)
        if count_margins(self._compiled, by_class, folds, y, margins, out):
            raise ValueError(NAN_MARGINS)
        for s, tied in enumerate(out[1]):
            close = np.flatnonzero(tied.any(axis=1))
            for some in (close[part] for part in batches(len(close), again)):
                exact = np.empty((len(some), *size), self.dtype)
                fill_margins(self._compiled, s, by_class, folds, some, exact)
                counts = beaten_and_tied(exact.transpose(2, 1, 0), y[some].T)
                out[:, s, some] = [each.T for each in counts]
