"""Loops compiled by numba, which takes time to import: do so where they are called."""

from neuroextrap._compiling import forget_outdated

forget_outdated(__file__)
