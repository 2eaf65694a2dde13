"""Simulations of every statistical guarantee, and the table made of them.

    python -m benchmarks.validity [--quick] [--only NAME ...] [--n-jobs 2]

One check (a function of a few lines, see `registry`) is one guarantee in several
designs; its rows end up in `docs/guide/validity.rst`.
"""
