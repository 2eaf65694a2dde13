"""Loops compiled by numba (the extra ``fast``), each equal to a numpy pass elsewhere.

Only ``_numba.py`` can be imported without numba: it tells whether there is one.
"""
