"""Loops compiled by numba, which takes time to import: do so where they are called."""
