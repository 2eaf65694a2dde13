"""Inner products of the samples of overlapping regions, from what they do not share.

A sphere and its neighbor have most features in common. Where fewer features come and go
than a region has, its inner products are those of the region before, with the new
features added and the others taken off: far fewer than a product of its own needs.
What has been taken off leaves its rounding behind; where that could tell, because what
is left is so much smaller, a region has a product of its own.
"""

import numpy as np
import scipy.sparse

from neuroextrap.margins.algebra._class_sums import exact_digits, round_numbers

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
    from neuroextrap.margins.compiled import _gram

    digits = 0 if n_terms is None else exact_digits(n_terms)
    overlap, first = overlap_of(features, regions)
    _gram.fill_grams(overlap, first, digits, out)


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


def round_gram(gram: np.ndarray, n_terms: int) -> None:
    """Round inner products, in place, so that so many of them add up exactly.

    None is larger than the largest of the diagonal.
    """
    round_numbers(gram, exact_digits(n_terms), gram.diagonal().max())
