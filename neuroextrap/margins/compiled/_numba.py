"""Whether loops can be compiled."""

import importlib.util
from functools import cache


@cache
def has_numba() -> bool:
    """Whether numba (the extra ``fast``) is installed."""
    return importlib.util.find_spec("numba") is not None
