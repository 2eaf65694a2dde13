"""Sums over the samples of each class that are exact in whatever order they are taken.

Under a permuted labeling a linear classifier needs, for every test point, the sum over
the samples of each class of what one sample contributes. Rounded to whole multiples of
a power of two, with as many digits as a sum can hold, the contributions add up without
any rounding. So a matrix product with indicators of the classes and a compiled loop
that adds the members of each class give the same bits, and so does every batch.
"""

import math

import numpy as np

from neuroextrap.design._design import Design

# numbers in the table of contributions of a region, samples times test points: more of
# them would not stay in cache, where matrix products in float32 are faster
MAX_TABLE = 2**18
_DIGITS = 52  # of a float64, the sign and one digit of safety aside


def is_compact(design: Design) -> bool:
    """Whether a design's contributions are few enough to be added class by class."""
    return design.n_samples * len(design.test) <= MAX_TABLE


def round_terms(terms: np.ndarray, n_terms: int) -> np.ndarray:
    """Round the numbers of each region, in place, so that n of them add up exactly.

    ``terms`` are float64 of shape (n_regions, ...). The error of one is at most
    2^-52 times the number of terms times the largest of the region.
    """
    digits = exact_digits(n_terms)
    for region in terms:  # one of them stays in cache
        round_numbers(region, digits, max(region.max(), -region.min()))
    return terms


def exact_digits(n_terms: int) -> int:
    """Return to how many binary digits numbers are rounded so that n add up exactly."""
    return _DIGITS - (n_terms - 1).bit_length()


def round_numbers(numbers: np.ndarray, digits: int, largest: float) -> None:
    """Round numbers, in place, to so many binary digits of the largest of them."""
    _, exponent = math.frexp(largest)
    # adding and subtracting 1.5 * 2^52 units leaves a whole number of units
    shift = math.ldexp(1.5, exponent - digits + 52)
    numbers += shift
    numbers -= shift
