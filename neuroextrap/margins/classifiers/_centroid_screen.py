"""The nearest centroid under many labelings in short integers, where leads are sure.

Inner products in 16 bits are summed four times as fast as in full precision. Rounding
moves the lead of a class by a known number of units at most, so a larger one is a lead
in full precision too; closer classes have their margins made (``algebra/_screen.py``
has the idea). No result changes.
"""

import math
from typing import Any

import numpy as np

from neuroextrap.design._design import Design, Labelings
from neuroextrap.margins.algebra._screen import count_terms


def fill_screened_shares(
    grams: np.ndarray, edges: Any, labelings: Labelings, design: Design, exact: Any
) -> bool:
    """Fill shares (S, G, `LANES`) of best classes; False if a margin is NaN.

    ``exact`` has labelings in groups for margins in full precision, what their loop
    may write over, and the shares.

    A margin is (2 / n) (s - q / (2 n)), with s the point's product with the sum over
    the n training samples of a class, and q that sum's squared length. In units, s is
    wrong by n / 2 at most and q by n^2 / 2, so that the lead of one class over another
    is wrong by n + n / 2; by 2 more as what is taken off is cut off at the point, and
    by less than 2 as single precision rounds margins, lengths and their mean.
    """
    from neuroextrap.margins.compiled import _centroid_screen as loops
    from neuroextrap.margins.compiled._leads import ShortGroups

    groups, of_exact, out = exact
    n, n_most = design.n_samples, count_terms(labelings, design).n_most
    whole = loops.Whole(
        np.empty((n, n), np.float32),
        np.empty((n, n), np.int16),
        np.empty(n, np.int16),
        n_most,
        math.ceil(1.5 * n_most) + 4,
        _are_alone(labelings, design),
    )
    codes = labelings.keep("short codes", lambda: groups.codes.astype(np.int16))
    short = ShortGroups(groups.members, groups.edges, codes)
    work = *_work(n, len(design.folds), labelings.n_classes), of_exact
    return loops.fill_screened_shares(grams, edges, (short, groups), whole, work, out)


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
    from neuroextrap.margins.compiled._leads import leads_memory

    squares = Squares(
        aligned(n_folds, n_classes, dtype=np.float32),
        aligned(n_classes, dtype=np.float32),
        aligned(dtype=np.float32),
        np.empty(n_folds, np.float32),
        np.empty((n, n)),
    )
    return leads_memory(n, n, n_folds, n_classes), squares
