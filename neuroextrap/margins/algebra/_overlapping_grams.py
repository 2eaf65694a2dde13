"""Inner products of the samples of overlapping regions, from what they do not share.

A sphere and its neighbor have most features in common. Where fewer features come and go
than a region has, its inner products are those of the region before, with the new
features added and the others taken off: far fewer than a product of its own needs.
What has been taken off leaves its rounding behind; where that could tell, because what
is left is so much smaller, a region has a product of its own.
"""

import numpy as np
import scipy.sparse
from scipy.linalg.blas import dsyrk

from neuroextrap.margins.algebra._class_sums import exact_digits, round_numbers
from neuroextrap.margins.compiled._numba import has_numba

# where the squared length of a sample is this much smaller than it has been, sums are
# made anew: the rounding left behind is at most some 1e-10 of it
SMALLER = 2.0**-20


def fill_grams(
    features: np.ndarray,
    regions: scipy.sparse.csr_array,
    out: np.ndarray,
    n_terms: int | None,
) -> None:
    """Fill the inner products (S, n, n) of samples, region after region.

    ``features`` (n_features, n) are float64, ``regions`` (S, n_features) says which of
    them belong to which region, indices sorted in rows. Sums differ from those of one
    product by rounding in float64; they are rounded further where ``n_terms`` of them
    are to add up exactly.
    """
    digits = 0 if n_terms is None else exact_digits(n_terms)
    if has_numba():
        from neuroextrap.margins.compiled._gram import fill_grams as fill

        overlap, first = overlap_of(features, regions)
        fill(overlap, first, digits, out)
        return
    n = features.shape[1]
    sums = np.zeros((n, n))  # BLAS fills one triangle, the upper one
    edges, indices = regions.indptr, regions.indices
    # squared lengths of the samples, and the largest since sums were made anew
    before, lengths, largest = indices[:0], sums.diagonal(), np.zeros(n)
    for region, gram in enumerate(out):
        members = indices[edges[region] : edges[region + 1]]
        new = np.setdiff1d(members, before, assume_unique=True)
        gone = np.setdiff1d(before, members, assume_unique=True)
        anew = len(new) + len(gone) >= len(members)
        if not anew:
            _add(sums, features.take(new, axis=0), 1.0)
            _add(sums, features.take(gone, axis=0), -1.0)
        if anew or (lengths < SMALLER * largest).any():
            sums[:], largest[:] = 0.0, 0.0
            _add(sums, features.take(members, axis=0), 1.0)
        np.maximum(largest, lengths, out=largest)
        _put(sums, gram, digits)
        before = members


def overlap_of(features: np.ndarray, regions: scipy.sparse.csr_array) -> tuple:
    """Return regions for compiled loops, and arrays to go from one to the next."""
    from neuroextrap.margins.compiled._gram import Overlap, Sums
    from neuroextrap.margins.compiled._vector import LANES

    n = features.shape[1]
    width = -(-n // LANES) * LANES
    if width > n:
        features = np.pad(features, ((0, 0), (0, width - n)))
    edges = regions.indptr.astype(np.int64)
    flat = np.ascontiguousarray(features).reshape(-1)
    places = np.empty(2 * int(np.diff(edges).max(initial=0)), dtype=np.int64)
    sums = Sums(np.zeros((width, width)), np.zeros(width), places)
    return Overlap(flat, regions.indices.astype(np.int64), edges, SMALLER), sums


def _add(sums: np.ndarray, rows: np.ndarray, sign: float) -> None:
    """Add inner products of some features to the upper triangle, or take them off."""
    if len(rows):
        dsyrk(sign, rows.T, beta=1.0, c=sums.T, lower=1, overwrite_c=1)


def _put(sums: np.ndarray, gram: np.ndarray, digits: int) -> None:
    """Write the upper triangle of sums, rounded, and the lower one like it."""
    rows, columns = np.tril_indices(len(gram), -1)
    gram[:] = sums
    gram[rows, columns] = sums[columns, rows]
    if digits:
        round_numbers(gram, digits, gram.diagonal().max())


def round_gram(gram: np.ndarray, n_terms: int) -> None:
    """Round inner products, in place, so that so many of them add up exactly.

    None is larger than the largest of the diagonal.
    """
    round_numbers(gram, exact_digits(n_terms), gram.diagonal().max())
