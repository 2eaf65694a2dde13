"""The nearest centroid under many labelings in short integers, where leads are sure.

Inner products in 16 bits are summed four times as fast as in full precision. Rounding
moves the lead of a class by a known number of units at most, so a larger one is a lead
in full precision too; closer classes have their margins made (``algebra/_screen.py``
has the idea). No result changes.
"""

import math
from typing import Any

import numpy as np

from neuroextrap.margins._design import Design, Labelings
from neuroextrap.margins.algebra._screen import MAX_SHORT_TERMS, count_terms

_MAX_SUMS = 2**17  # short integers of `LANES` labelings, which stay in the second cache


class ShortScreen:
    """Compiled screening of regions under some labelings of a balanced design.

    ``exact`` are the labelings in groups, for margins in full precision.
    """

    def __init__(self, labelings: Labelings, design: Design, exact: Any) -> None:
        from neuroextrap.margins.compiled import _centroid_screen as loops
        from neuroextrap.margins.compiled._leads import ShortGroups

        self._loops = loops
        n, n_folds, K = design.n_samples, len(design.folds), labelings.n_classes
        self._n_most = count_terms(labelings, design).n_most
        # terms of two sums, those of two squared lengths, what is cut off, rounding
        self._slack = math.ceil(1.5 * self._n_most) + 4
        codes = exact.codes.astype(np.int16)
        self._groups = ShortGroups(exact.members, exact.edges, codes), exact
        self._work = _work(n, n_folds, K)
        whole = np.empty((n, n), np.float32), np.empty((n, n), np.int16)
        self._whole = loops.Whole(*whole, _are_alone(labelings, design))

    def takes(self, gram: np.ndarray, table: np.ndarray) -> bool:
        """Whether a region's inner products are fit for it; they are then taken in."""
        return self._loops.fill_whole(gram, table, self._n_most, self._whole)

    def fill_shares(
        self, gram: np.ndarray, table: np.ndarray, edges: Any, work: Any, out: Any
    ) -> bool:
        """Fill shares (G, `LANES`) of best classes; False if a margin is NaN."""
        return self._loops.fill_screened_shares(
            gram,
            table,
            self._whole,
            edges,
            self._slack,
            self._groups,
            (*self._work, work),
            out,
        )


def may_be_screened(labelings: Labelings, design: Design) -> bool:
    """Whether sums are short, and classes have equally many samples in every fold."""
    from neuroextrap.margins.compiled._vector import LANES

    counted = count_terms(labelings, design)
    n_sums = design.n_samples * labelings.n_classes * LANES
    short = counted.n_most <= MAX_SHORT_TERMS and n_sums <= _MAX_SUMS
    return short and counted.balanced


def _are_alone(labelings: Labelings, design: Design) -> bool:
    """Whether no class has two samples in one fold, under any labeling."""
    trained = labelings.training_counts(design)
    # folds are a partition: each sample trains all of them but one
    of_class = trained.sum(axis=0) / (len(trained) - 1)
    return bool((of_class - trained <= 1).all())


def _work(n: int, n_folds: int, n_classes: int) -> tuple:
    """Return what compiled loops may write over."""
    from neuroextrap.margins.compiled._centroid_screen import Squares
    from neuroextrap.margins.compiled._lane_memory import aligned
    from neuroextrap.margins.compiled._leads import COLUMNS, Leads

    n_blocks = -(-n // COLUMNS)
    leads = Leads(
        np.empty((n_blocks, n, COLUMNS), np.int16),
        *(
            aligned(*shape, dtype=np.int16)
            for shape in (
                (n_blocks * COLUMNS, n_classes),
                (n,),
                (n,),
                (n_folds, n_classes),
                (2,),
                (COLUMNS,),
            )
        ),
    )
    squares = ((n_folds, n_classes), (n_classes,), (n,))
    return leads, Squares(*(aligned(*shape, dtype=np.float32) for shape in squares))
