"""Compiled counts of the nearest centroid, region after region, in cache.

Inner products become margins, and margins become counts of classes beaten, before the
next region's are made; neither is stored. The numbers are those of ``_centroid.py``, to
the last bit.
"""

from typing import Any

import numpy as np
from numba import njit

from neuroextrap.margins.compiled._centroid import (
    fill_others,
    fill_windows,
    others_workspace,
    windows_workspace,
)
from neuroextrap.margins.compiled._gram import next_sums
from neuroextrap.margins.compiled._sums import fill_symmetric

_compile = njit(cache=True, nogil=True, error_model="numpy")


@_compile
def _count(margins: Any, tests: Any, work: Any, beaten: Any, up_to: Any) -> bool:
    """Count classes below the true one, and not above, of margins (K, n_test)."""
    # counted in float32, in which a comparison and a sum are one instruction each
    of_truth, below, reached = work[0], work[1], work[2]
    is_number, one, zero = True, np.float32(1), np.float32(0)
    for i in range(len(of_truth)):
        of_truth[i] = margins[tests.truth[i], i]
        is_number &= of_truth[i] == of_truth[i]
        below[i], reached[i] = zero, zero
    for k in range(len(margins)):
        row = margins[k]
        for i in range(len(row)):
            below[i] += one if row[i] < of_truth[i] else zero
            reached[i] += one if row[i] <= of_truth[i] else zero
    for i in range(len(below)):
        beaten[tests.rows[i]], up_to[tests.rows[i]] = below[i], reached[i]
    return is_number


@_compile
def count_regions(
    overlap: Any, sums: Any, digits: int, design: Any, tests: Any, out: Any
) -> bool:
    """Count in every region; False if a margin is NaN.

    ``design`` is (codes of the samples, edges of the folds that train on all others,
    windows in a circle of parts), ``tests`` those of the ones and of the others.
    ``out`` are counts (n_test, S) of the classes beaten and of those not above the true
    one, first by the ones, then by the others.
    """
    codes, edges, windows = design
    own, forward = tests
    n, n_classes = len(codes), own.factors[0].shape[1]
    gram = np.empty((n, n))
    of_folds = others_workspace(n, len(edges) - 1, n_classes)
    of_windows = windows_workspace(n, len(windows.fold), n_classes)
    margins = np.empty((n_classes, n), np.float32)
    ahead = np.empty((n_classes, len(forward.truth)), np.float32)
    work, work_ahead = (
        np.empty((3, n), np.float32),
        np.empty((3, ahead.shape[1]), np.float32),
    )
    is_number = True
    for region in range(out[0].shape[1]):
        next_sums(overlap, region, sums)
        fill_symmetric(sums.sums, gram, digits)
        fill_others(gram, codes, edges, own.factors, of_folds, margins)
        is_number &= _count(margins, own, work, out[0][:, region], out[1][:, region])
        if len(windows.fold) > 0:
            fill_windows(gram, codes, windows, forward.factors, of_windows, ahead)
            counts = out[2][:, region], out[3][:, region]
            is_number &= _count(ahead, forward, work_ahead, counts[0], counts[1])
    return is_number
