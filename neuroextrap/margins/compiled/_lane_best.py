"""Compiled search for the best class of a test point, many labelings side by side.

Every number is a row of `LANES` labelings (``_vector.py``). Shares are those of
``_best.py``, to the last bit.
"""

import numpy as np
from numba import njit

from neuroextrap.margins.compiled._vector import (
    ROW,
    add,
    add_product,
    all_above,
    divide,
    load,
    multiply,
    spread,
    store,
    take_product,
    to_single,
    where_above,
    where_code,
    where_equal,
)

# a lead below this share of a margin, or below the last, may round to none
_CLOSE, _LEAST = 2.0**-22, 1e-37

_compile = njit(cache=True, nogil=True, error_model="numpy")


@_compile
def _exact_share(scores: int, label: int, n_classes: int, single: bool) -> None:
    """Write 1 / (number of best classes) where a point's class is one, else 0.

    Over the scores, of which those of the first class are not needed any more.
    """
    one = spread(1.0)
    best = own = to_single(load(scores)) if single else load(scores)
    n_best = one
    for k in range(1, n_classes):
        score = load(scores + k * ROW)
        if single:
            score = to_single(score)
        own = where_code(label, k, score, own)
        n_best = where_equal(score, best, add(n_best, one), n_best)
        n_best = where_above(score, best, one, n_best)
        best = where_above(score, best, score, best)
    store(scores, where_equal(own, best, divide(one, n_best), spread(0.0)))


@_compile
def add_share(
    scores: int, label: int, weights: int, shares: int, n_classes: int, single: bool
) -> bool:
    """Add the weight of a test point, or a share of it, where its class is the best.

    Addresses of the margins (K,) of the point, which may be written over, of the codes
    of its class, of its weights, 0 where all points weigh the same, and of what is
    added to. With ``single`` margins have single precision. False if one is NaN.
    """
    zero = spread(0.0)
    total, lowest = zero, spread(-np.inf)
    own = rival = lowest
    for k in range(n_classes):
        score = load(scores + k * ROW)
        total = add(total, score)
        own = where_code(label, k, score, own)
        score = where_code(label, k, rival, score)
        rival = where_above(score, rival, score, rival)
    lead = take_product(own, spread(1.0), rival)
    share = where_above(lead, zero, spread(1.0), zero)
    # margins so close that they may be equal once rounded are looked at again
    lead = where_above(lead, zero, lead, take_product(zero, spread(1.0), lead))
    size = where_above(own, zero, own, take_product(zero, spread(1.0), own))
    if not all_above(lead, add_product(spread(_LEAST), spread(_CLOSE), size)):
        _exact_share(scores, label, n_classes, single)
        share = load(scores)
    if weights:
        share = multiply(share, load(weights))
    store(shares, add(load(shares), share))
    return all_above(total, lowest)
