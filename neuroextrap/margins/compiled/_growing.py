"""Compiled fits of folds whose training sets grow: what one fold made serves the next.

The nearest centroid adds samples to sums; ridge regression factors the held-out block
of its residual operator once for all folds of a chain. No fast math but fused
multiply-add in the factors.
"""

from collections import namedtuple
from typing import Any

import numpy as np
from numba import njit

# folds whose training sets grow: training samples of the first fold of each chain and
# where each chain's begin, (C + 1,); its folds, (C + 1,); samples tested, fold after
# fold, and where each fold's begin, (F + 1,)
Growth = namedtuple("Growth", "first first_edges folds test edges")

# the same counted from the last fold of each chain: samples held out, those tested last
# first, and where each chain's begin, (C + 1,); how many a fold leaves and how many it
# holds out, (F,) each, in the order of the folds; folds and edges as above
Chains = namedtuple("Chains", "held held_edges left out folds edges")

_compile = njit(cache=True, nogil=True, error_model="numpy")


@_compile
def _add_samples(gram: Any, samples: Any, codes: Any, cross: Any, squares: Any) -> None:
    """Add training samples to the sums of their classes.

    ``cross`` (K, n) are the inner products of all samples with these sums, ``squares``
    (K,) the squared lengths of the sums.
    """
    for sample in samples:
        k = codes[sample]
        row, out = gram[sample], cross[k]
        squares[k] += 2.0 * out[sample] + row[sample]
        for i in range(len(out)):
            out[i] += row[i]


@_compile
def fill_growing_margins(
    grams: Any, codes: Any, growth: Any, twice: Any, inverse: Any, out: Any
) -> None:
    """Fill the margins (S, B, K, n_test) of folds whose training sets grow.

    ``codes`` (B, n) are the classes; ``twice`` and ``inverse`` as in `Folds`.
    """
    n_classes = out.shape[2]
    cross, squares = np.empty((n_classes, grams.shape[1])), np.empty(n_classes)
    for s in range(len(grams)):
        for b in range(len(codes)):
            margins = out[s, b]
            for c in range(len(growth.folds) - 1):
                cross[:], squares[:] = 0.0, 0.0
                new = growth.first[growth.first_edges[c] : growth.first_edges[c + 1]]
                for f in range(growth.folds[c], growth.folds[c + 1]):
                    _add_samples(grams[s], new, codes[b], cross, squares)
                    start = growth.edges[f]
                    new = growth.test[start : growth.edges[f + 1]]
                    for k in range(n_classes):
                        factor, row = twice[b, f, k], cross[k]
                        constant = squares[k] * inverse[b, f, k]
                        for i in range(len(new)):
                            margins[k, start + i] = row[new[i]] * factor - constant


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def _factor(rows: Any) -> bool:
    """Turn rows (h, h + K) of a matrix and a right-hand side into U and U'^-1 of it.

    The matrix R = U'U is given by its upper half. False if it is singular.
    """
    for i in range(len(rows)):
        row, k = rows[i], 0
        while k + 4 <= i:
            one, two, three, four = rows[k], rows[k + 1], rows[k + 2], rows[k + 3]
            a, b, c, d = one[i], two[i], three[i], four[i]
            for j in range(i, len(row)):
                value = row[j] - a * one[j] - b * two[j]
                row[j] = value - c * three[j] - d * four[j]
            k += 4
        while k < i:
            one, a = rows[k], rows[k, i]
            for j in range(i, len(row)):
                row[j] -= a * one[j]
            k += 1
        if not row[i] > 0.0:
            return False
        scale = 1.0 / np.sqrt(row[i])
        for j in range(i, len(row)):
            row[j] *= scale
    return True


@_compile
def _solve_back(rows: Any, start: int, stop: int, errors: Any) -> None:
    """Fill errors (stop - start, K) that a triangular block turns into right sides."""
    n_held = len(rows)
    for i in range(stop - 1, start - 1, -1):
        error = errors[i - start]
        error[:] = rows[i, n_held:]
        for j in range(i + 1, stop):
            known, weight = errors[j - start], rows[i, j]
            for k in range(len(error)):
                error[k] -= weight * known[k]
        for k in range(len(error)):
            error[k] /= rows[i, i]


@_compile
def fill_growing_fits(
    dense: Any, residuals: Any, chains: Any, errors: Any, moments: Any
) -> bool:
    """Fill the ridge fits of folds whose training sets grow; False if one is singular.

    ``dense`` (S, n, n) are residual operators, ``residuals`` (S, n, K) what they make
    of class indicators; ``errors`` (S, n_test, K) are true minus predicted, and from
    ``moments`` (S, F, K, K) of all samples those of the held-out ones are taken off.
    """
    n_classes = residuals.shape[2]
    for s in range(len(dense)):
        for c in range(len(chains.folds) - 1):
            held = chains.held[chains.held_edges[c] : chains.held_edges[c + 1]]
            n_held = len(held)
            rows = np.empty((n_held, n_held + n_classes))
            for i in range(n_held):
                row, of_sample = rows[i], dense[s, held[i]]
                for j in range(i, n_held):
                    row[j] = of_sample[held[j]]
                row[n_held:] = residuals[s, held[i]]
            if not _factor(rows):
                return False
            taken, done = np.zeros((n_classes, n_classes)), 0
            for f in range(chains.folds[c + 1] - 1, chains.folds[c] - 1, -1):
                for i in range(done, chains.out[f]):
                    right = rows[i, n_held:]
                    for k in range(n_classes):
                        for m in range(n_classes):
                            taken[k, m] += right[k] * right[m]
                done = chains.out[f]
                moments[s, f] -= taken
                tested = errors[s, chains.edges[f] : chains.edges[f + 1]]
                _solve_back(rows, chains.left[f], done, tested)
    return True
