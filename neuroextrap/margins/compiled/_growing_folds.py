"""Compiled margins and fits of folds whose training sets grow."""

from typing import Any

import numpy as np
from numba import njit

from neuroextrap._compiling import bundle

_compile = njit(cache=True, nogil=True, error_model="numpy")

# folds whose training sets grow: training samples of the first fold of each chain, and
# where each chain's begin, (C + 1,); samples held out, those tested last first, and
# where each chain's begin; how many a fold leaves and how many it holds out, counted
# from the last of its chain, (F,) each; folds of each chain, (C + 1,); samples tested,
# fold after fold, and where each fold's begin, (F + 1,)
Chains = bundle("first first_edges held held_edges left out folds test edges")


@_compile
def _add_samples(gram: Any, samples: Any, codes: Any, cross: Any, squares: Any) -> None:
    """Add samples to products (K, n) with class sums, and to their squares."""
    for sample in samples:
        k = codes[sample]
        row, out = gram[sample], cross[k]
        squares[k] += 2.0 * out[sample] + row[sample]
        for i in range(len(out)):
            out[i] += row[i]


@_compile
def fill_growing_margins(
    grams: Any, codes: Any, chains: Any, twice: Any, inverse: Any, out: Any
) -> None:
    """Fill the margins (S, B, K, n_test) of folds whose training sets grow."""
    n_classes = out.shape[2]
    cross, squares = np.empty((n_classes, grams.shape[1])), np.empty(n_classes)
    for s in range(len(grams)):
        for b in range(len(codes)):
            margins = out[s, b]
            for c in range(len(chains.folds) - 1):
                cross[:], squares[:] = 0.0, 0.0
                new = chains.first[chains.first_edges[c] : chains.first_edges[c + 1]]
                for f in range(chains.folds[c], chains.folds[c + 1]):
                    _add_samples(grams[s], new, codes[b], cross, squares)
                    start = chains.edges[f]
                    new = chains.test[start : chains.edges[f + 1]]
                    for k in range(n_classes):
                        factor, row = twice[b, f, k], cross[k]
                        constant = squares[k] * inverse[b, f, k]
                        for i in range(len(new)):
                            margins[k, start + i] = row[new[i]] * factor - constant


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def _factor(rows: Any) -> bool:
    """Turn R = U'U and right sides, (h, h + K), into U and U'^-1 of them."""
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
        for k in range(len(error)):
            error[k] = rows[i, n_held + k]
        for j in range(i + 1, stop):
            known, weight = errors[j - start], rows[i, j]
            for k in range(len(error)):
                error[k] -= weight * known[k]
        for k in range(len(error)):
            error[k] /= rows[i, i]


@_compile
def _add_products(rows: Any, products: Any) -> None:
    """Add the products (K, K) of rows (., K) with themselves."""
    for row in rows:
        for k in range(len(row)):
            for m in range(len(row)):
                products[k, m] += row[k] * row[m]


@_compile
def fill_growing_fits(
    dense: Any, residuals: Any, chains: Any, errors: Any, moments: Any
) -> bool:
    """Fill the ridge fits of folds whose training sets grow; False if one is singular.

    ``dense`` (S, n, n) are residual operators, ``residuals`` (S * B, n, K) what they
    make of class indicators; ``errors`` (S * B, n_test, K) are true minus predicted,
    and from ``moments`` (S * B, F, K, K) those of held-out samples are taken off.
    """
    n_classes, n_labelings = residuals.shape[2], len(residuals) // len(dense)
    for s in range(len(residuals)):
        for c in range(len(chains.folds) - 1):
            held = chains.held[chains.held_edges[c] : chains.held_edges[c + 1]]
            n_held = len(held)
            rows = np.empty((n_held, n_held + n_classes))
            for i in range(n_held):
                row, of_sample = rows[i], dense[s // n_labelings, held[i]]
                for j in range(i, n_held):
                    row[j] = of_sample[held[j]]
                for k in range(n_classes):
                    row[n_held + k] = residuals[s, held[i], k]
            if not _factor(rows):
                return False
            taken, done = np.zeros((n_classes, n_classes)), 0
            for f in range(chains.folds[c + 1] - 1, chains.folds[c] - 1, -1):
                _add_products(rows[done : chains.out[f], n_held:], taken)
                done = chains.out[f]
                for k in range(n_classes):
                    for m in range(n_classes):
                        moments[s, f, k, m] -= taken[k, m]
                tested = errors[s, chains.edges[f] : chains.edges[f + 1]]
                _solve_back(rows, chains.left[f], done, tested)
    return True
