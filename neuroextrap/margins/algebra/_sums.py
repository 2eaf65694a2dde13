"""Margins that are sums of a table's rows by class: kept, or counted in cache."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from neuroextrap.design._design import Design, Labelings
from neuroextrap.margins._wins import NAN_MARGINS
from neuroextrap.margins.algebra._linear import tested_codes

_IN_CACHE = 2**13  # margins


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
    _in_units: dict[int, Any] = field(default_factory=dict, init=False)

    def _compiled(self, largest_class: int) -> Any:
        """Return the tables, as they are and in whole units, for compiled loops.

        No class of this size adds up to more units than float32 has.
        """
        from neuroextrap.margins.compiled._class_sums import UNITS, Tables

        if largest_class in self._in_units:
            return self._in_units[largest_class]
        lanes, units = np.empty(self.tables.shape, np.float32), []
        for table, out in zip(self.tables, lanes, strict=True):
            squares = np.einsum("ij,ij->j", table, table)
            largest = np.sqrt(largest_class * squares)  # by Cauchy and Schwarz
            if self.grams.size:
                largest[:] = largest.max()
            if not np.isfinite(largest).all():
                raise ValueError(NAN_MARGINS)
            unit = np.where(largest > 0, largest, 1.0) / (UNITS - len(table))
            np.rint(table / unit, out=out, casting="same_kind")
            units.append(unit[0])
        tables = Tables(self.tables, lanes, np.array(units), self.grams)
        return self._in_units.setdefault(largest_class, tables)

    def fill(self, by_class: Any, folds: Any, margins: np.ndarray) -> None:
        """Fill the margins (S, B, K, n_test) of labelings, `Sorted`, and `Folds`."""
        from neuroextrap.margins.compiled._class_sums import fill_margins

        fill_margins(self._compiled(_largest(by_class)), by_class, folds, margins)

    def count(
        self,
        by_class: Any,
        folds: Any,
        labelings: Labelings,
        design: Design,
        out: np.ndarray,
    ) -> None:
        """Count what the same margins beat and tie, (2, S, B, n_test)."""
        from neuroextrap.margins.compiled._class_sums import count_margins

        y = tested_codes(labelings, design)
        size = labelings.n_classes, y.shape[1]
        together = max(1, _IN_CACHE // (size[0] * size[1]))
        margins = np.empty((together, *size), np.float32)
        given = self._compiled(_largest(by_class)), by_class, folds, y, margins
        if count_margins(*given, np.empty((1, *size), self.dtype), out):
            raise ValueError(NAN_MARGINS)


def _largest(by_class: Any) -> int:
    """Return how many samples the largest class has under labelings, `Sorted`."""
    return int(np.diff(by_class.edges.astype(int), axis=1).max())
