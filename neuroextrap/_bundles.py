"""Named tuples that compiled functions take, each under the names of its fields.

numba keeps compiled functions in files that outlive a new version of the package. They
refer to the types of arguments by name, and are read before numba sees that the source
has changed: a type that is called otherwise now, or is elsewhere, would end every call
with an ``AttributeError``. Here all are found whatever they were called.
"""

from collections import namedtuple
from typing import Any

_BETWEEN = "__"  # fields, in the name of a type


def bundle(fields: str) -> Any:
    """Return the named tuple that has these fields, for the same ones the same type.

    >>> bundle("members edges")(members=1, edges=2).edges
    2
    >>> bundle("members edges") is bundle("members edges")
    True
    """
    return __getattr__(_BETWEEN.join(fields.split()))


def __getattr__(name: str) -> Any:
    """Return the type of this name, of fields that this version may not know."""
    if name.startswith("_") or _BETWEEN not in name:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    make: Any = namedtuple  # of a name that is not in the source
    made = make(name, name.split(_BETWEEN), module=__name__)
    return globals().setdefault(name, made)
