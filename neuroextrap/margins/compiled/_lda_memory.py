"""What compiled discriminant analysis is given, and where it lies in memory.

Every number is a row of `LANES` labelings (``_vector.py``); the number of classes is
made even by one without samples.
"""

from collections import namedtuple
from typing import Any

import numpy as np
from numba import njit

from neuroextrap.margins.compiled._lane_memory import address_of, aligned
from neuroextrap.margins.compiled._vector import LANES, ROW

# held-out samples of all folds, where each fold's start, the row of every test point
# among its fold's held-out samples, and where each fold's start
Folds = namedtuple("Folds", "held edges rows row_edges")
# I - H of a region (n_samples, n_samples), or of no size where the residuals are given;
# zeros (n_blocks, n_samples, `LANES`) for it; residuals, (I - H) Y of `LANES` labelings
# (n_samples, K), for whole blocks of samples; and the inverse held-out blocks of I - H,
# (sum of n_held ** 2,), one fold after the other
Region = namedtuple("Region", "dense blocks residuals inverses")
# of G groups of labelings: samples sorted by class (G, `LANES`, n_samples) and where
# classes begin (G, `LANES`, K + 1); classes of samples (G, n_samples, `LANES`);
# training samples of a class and what is added to its margin whatever the region, both
# (G, F, K, `LANES`), or its weight if the rule is that of ridge regression; weights of
# test points (G, n_test, `LANES`), or none; and whether it is
Groups = namedtuple("Groups", "members edges codes counts constants weights is_ridge")
# where margins go: a flat array, the place of the first, how far apart those of two
# classes are, of how many classes and labelings; or an array of no size. Shares of best
# classes (G, `LANES`), or none, and whether margins then have single precision
Out = namedtuple("Out", "margins place step n_classes n_labelings shares single")
# the number of classes, and this made even; addresses of what a fold needs: residuals
# inside the fold and errors, predicted minus true (n_held, K), moments (K, K) of the
# fold and of all samples, margins of two test points (2, K), constants (K,), and what
# may be written over
Work = namedtuple(
    "Work", "n_classes width inside errors moments total scores constants scratch"
)
# of the labelings of a group, addresses: classes of samples (n_samples,), training
# samples of a class and constants (F, K), weights of test points (n_test,) or 0; the
# rule
Group = namedtuple("Group", "codes counts constants weights is_ridge")

_compile = njit(cache=True, nogil=True, error_model="numpy")


def workspace(n_held: int, n_classes: int) -> np.ndarray:
    """Allocate what one fold needs, for the fold that holds out most samples."""
    width = n_classes + n_classes % 2
    return aligned(2 * n_held * width + 2 * width**2 + 8 * width + LANES)


@_compile
def places_in(array: Any, n_held: int, n_classes: int) -> Any:
    """Share out the `workspace` of a fold."""
    width, inside = n_classes + n_classes % 2, address_of(array)
    errors = inside + n_held * width * ROW
    moments = errors + n_held * width * ROW
    total = moments + width**2 * ROW
    scores = total + width**2 * ROW
    constants = scores + 2 * width * ROW
    places = inside, errors, moments, total, scores, constants, constants + width * ROW
    return Work(n_classes, width, *places)


@_compile
def group_of(groups: Any, g: int) -> Any:
    """Return the addresses of what belongs to a group of labelings."""
    n_samples, weights = groups.codes.shape[1], 0
    _, n_folds, width, _ = groups.counts.shape
    if groups.weights.size:
        n_test = groups.weights.shape[1]
        weights = address_of(groups.weights) + g * n_test * ROW
    first = g * n_folds * width * ROW
    codes = address_of(groups.codes) + g * n_samples * LANES
    counts, constants = address_of(groups.counts), address_of(groups.constants)
    places = codes, counts + first, constants + first, weights
    return Group(*places, groups.is_ridge)
