"""Best classes found in short whole numbers, in full precision where they are close.

Margins that are sums of a few terms per class are summed four times as fast, or twice,
when each term is a short integer. Rounding moves a sum of n terms by n / 2 at most, so
a class that leads another by more than n leads it in full precision too. Only where the
lead is smaller are the sums made again, without rounding: no result changes.
"""

from typing import Any, NamedTuple

import numpy as np

from neuroextrap.design._design import Design, Labelings
from neuroextrap.margins._wins import NAN_MARGINS
from neuroextrap.margins.algebra._operators import checked_counts

_MAX_SHORT_TERMS = 32  # of a class; more of them leave 16 bits too few leads that count
_MAX_SUMS = 2**17  # of labelings side by side, which stay in the second cache
# largest sum in units of the scale: single precision tells apart what differs by one
_MAX_UNITS = 2**21


class Terms(NamedTuple):
    """What labelings say of the sums over the training samples of a class.

    ``n_most`` samples are in a sum at most; ``balanced`` says whether all classes have
    equally many in every fold.
    """

    n_most: int
    balanced: bool


class Screen(NamedTuple):
    """Terms of margins as whole numbers, each test point on a scale of its own.

    ``table`` (n_samples, n_test) is int16 or int32, and holds differences of sums as
    they are. A class that leads by more than ``slack``
    leads in fact; ``lowest`` is below all sums.
    """

    table: np.ndarray
    slack: Any
    lowest: Any


def count_terms(labelings: Labelings, design: Design) -> Terms:
    """Count training samples; raise if a class has none. Kept for the next region."""

    def make() -> Terms:
        counts = checked_counts(design, labelings)
        return Terms(int(counts.max()), bool((counts == counts[:, :1]).all()))

    return labelings.keep("terms", make)


def whole_terms(terms: np.ndarray, counted: Terms, design: Design) -> Screen:
    """Round terms (n_test, n_samples), 0 where a sample does not train.

    Where classes are balanced, what all training samples have in common is left out: it
    adds the same to every class. A sum in units of the scale is wrong by less than
    n / 2 + 0.2: by the rounding of the terms, and that of margins to single precision.
    """
    n_most, short = counted.n_most, counted.balanced
    short &= counted.n_most <= _MAX_SHORT_TERMS
    most_units = 2**14 - 1 if short else _MAX_UNITS
    dtype: np.dtype = np.dtype(np.int16 if short else np.int32)
    largest = np.abs(terms).max(axis=1)
    if not np.isfinite(largest).all():
        raise ValueError(NAN_MARGINS)
    if counted.balanced:
        trained = _trained(design)
        common = terms.sum(axis=1) / trained.sum(axis=1)
        terms = terms - common[:, np.newaxis] * trained
    most = most_units // n_most
    units = np.abs(terms).max(axis=1) / most, largest * (n_most / _MAX_UNITS)
    scale = 1.0 / np.maximum(np.maximum(*units), np.finfo(float).tiny)
    table = np.rint(terms.T * scale).astype(dtype, order="C")
    return Screen(table, dtype.type(n_most), dtype.type(-(most + 1) * n_most))


def whole_tables(terms: np.ndarray, counted: Terms, design: Design) -> np.ndarray:
    """Round terms of regions (S, n_test, n_samples) to short integers, compiled.

    For labelings side by side; a lead of more than ``n_most`` units is sure.
    """
    from neuroextrap.margins.compiled._screen import fill_tables

    tables = np.empty((len(terms), *terms.shape[:0:-1]), np.int16)
    n_most, trained = counted.n_most, _trained(design)
    if not fill_tables(terms, trained, n_most, _MAX_UNITS, tables):
        raise ValueError(NAN_MARGINS)
    return tables


def may_be_short(labelings: Labelings, design: Design) -> bool:
    """Whether labelings can be taken side by side, sums being short integers.

    Classes have equally many samples in every fold, not too many, and sums stay in
    cache.
    """
    from neuroextrap.margins.compiled._vector import LANES

    counted = count_terms(labelings, design)
    n_sums = len(design.test) * labelings.n_classes * LANES
    short = counted.n_most <= _MAX_SHORT_TERMS and n_sums <= _MAX_SUMS
    return short and counted.balanced


def short_groups(labelings: Labelings, design: Design) -> Any:
    """Return labelings in groups for compiled loops; kept for the next region.

    The last of them is repeated until its group is full.
    """
    from neuroextrap.margins.compiled._leads import ShortGroups
    from neuroextrap.margins.compiled._vector import LANES

    def make() -> Any:
        B = labelings.n_labelings
        padded = np.minimum(np.arange(-(-B // LANES) * LANES), B - 1)
        some = Labelings(labelings.codes[padded], labelings.n_classes)
        arrays = *some.sorted_by_class(np.arange(design.n_samples)), some.codes
        members, edges, codes = (x.reshape(-1, LANES, x.shape[1]) for x in arrays)
        truth = codes[..., design.test].swapaxes(1, 2)
        return ShortGroups(members, edges, truth.astype(np.int16, order="C"))

    return labelings.keep("short groups", make)


def _trained(design: Design) -> np.ndarray:
    """Return whether a sample trains the fold of a test point, (n_test, n_samples)."""

    def make() -> np.ndarray:
        trained = np.ones((len(design.test), design.n_samples))
        for held, rows in zip(design.held_out, design.fold_slices, strict=True):
            trained[rows, held] = 0.0
        return trained

    return design.keep("trained", make)
