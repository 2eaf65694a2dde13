"""Compiled ridge fits of growing training sets.

One region after the other: what is factored stays in the first cache.
``algebra/_growing_folds.py`` has the formulas.
"""

from collections import namedtuple
from typing import Any

import numpy as np
from numba import njit

# held-out samples of all chains and where each chain's begin, (C + 1,); its folds,
# (C + 1,); edges among its held-out samples, one after the other; where the test points
# of every fold begin, (F + 1,)
Chains = namedtuple("Chains", "held held_edges folds edges rows")

# no fast math but fused multiply-add: sums keep their order
_compile = njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})


@_compile
def _factorize(a: Any) -> bool:
    """Overwrite the upper triangle of (h, h + K) by the factor L' and what it solves.

    The columns behind h become L^-1 times what they were. Four of the rows above are
    taken off at a time, so that a row is read and written once for them. False if a
    pivot is not positive.
    """
    # rows begin at the pivot, so that loops begin at zero: no index can be negative
    for i in range(len(a)):
        row, k = a[i, i:], 0
        while k + 4 <= i:
            first, second = a[k, i:], a[k + 1, i:]
            third, fourth = a[k + 2, i:], a[k + 3, i:]
            w, x, y, z = first[0], second[0], third[0], fourth[0]
            for j in range(len(row)):
                change = w * first[j] + x * second[j]
                row[j] -= change + (y * third[j] + z * fourth[j])
            k += 4
        while k < i:
            above = a[k, i:]
            w = above[0]
            for j in range(len(row)):
                row[j] -= w * above[j]
            k += 1
        if not row[0] > 0.0:
            return False
        scale = 1.0 / np.sqrt(row[0])
        for j in range(len(row)):
            row[j] *= scale
    return True


@_compile
def _fill_errors(a: Any, start: int, stop: int, out: Any) -> None:
    """Solve with the rows and columns from start to stop of the factor, backwards."""
    n_held, n_classes = a.shape[0], out.shape[1]
    for i in range(stop - 1, start - 1, -1):
        row, scale = out[i - start], 1.0 / a[i, i]
        for k in range(n_classes):
            row[k] = a[i, n_held + k]
        for j in range(i + 1, stop):
            weight, below = a[i, j], out[j - start]
            for k in range(n_classes):
                row[k] -= weight * below[k]
        for k in range(n_classes):
            row[k] *= scale


@_compile
def _add_products(a: Any, start: int, stop: int, products: Any) -> None:
    """Add the inner products (K, K) of the solved columns over some rows."""
    n_held, n_classes = a.shape[0], products.shape[0]
    for i in range(start, stop):
        solved = a[i, n_held:]
        for k in range(n_classes):
            out, weight = products[k], solved[k]
            for m in range(n_classes):
                out[m] += weight * solved[m]


@_compile
def _gather(dense: Any, residuals: Any, held: Any, a: Any) -> None:
    """Fill (h, h + K): the upper triangle of R_oo, and R Y of the held-out samples."""
    for i in range(len(held)):
        source, row = dense[held[i]], a[i]
        for j in range(i, len(held)):
            row[j] = source[held[j]]
        row[len(held) :] = residuals[held[i]]


@_compile
def _fill_chain(a: Any, edges: Any, errors: Any, moments: Any) -> None:
    """Fill the errors of a chain's folds from the factor; reduce their moments."""
    n_folds, row = len(moments), len(errors)
    products = np.zeros(moments.shape[1:])
    _add_products(a, 0, edges[0], products)
    for t in range(n_folds):
        start, stop = edges[t], edges[t + 1]
        _add_products(a, start, stop, products)
        moments[n_folds - 1 - t] -= products
        row -= stop - start
        _fill_errors(a, start, stop, errors[row : row + stop - start])


@_compile
def fill_chains(
    dense: Any, residuals: Any, chains: Any, errors: Any, moments: Any
) -> bool:
    """Fill the errors of all regions in all folds; reduce their moments.

    ``dense`` (S, n, n) and ``residuals`` (S, n, K) are R and R Y, ``errors``
    (S, n_test, K) those of the test points, and ``moments`` (S, F, K, K) lose the
    held-out samples' part. False if an R_oo is singular.
    """
    n_classes = residuals.shape[2]
    largest = np.diff(chains.held_edges).max()
    space = np.empty(largest * (largest + n_classes))
    for s in range(len(dense)):
        for c in range(len(chains.folds) - 1):
            held = chains.held[chains.held_edges[c] : chains.held_edges[c + 1]]
            width = len(held) + n_classes
            a = space[: len(held) * width].reshape(len(held), width)
            _gather(dense[s], residuals[s], held, a)
            if not _factorize(a):
                return False
            first, stop = chains.folds[c], chains.folds[c + 1]
            edges = chains.edges[first + c : stop + c + 1]
            rows = slice(chains.rows[first], chains.rows[stop])
            _fill_chain(a, edges, errors[s, rows], moments[s, first:stop])
    return True
