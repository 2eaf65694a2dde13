"""What numba's files of compiled loops need, so that none is wrong in another version.

They lie beside the source, and outlive a new version of the package. They refer to the
types of arguments by name, and are read before numba sees that the source has changed:
a type that is called otherwise now, or is elsewhere, would end every call with an
``AttributeError``. So named tuples are called by their fields, and all found here. And
numba compares a loop with the file that it is in, not with those of the loops that it
calls: where one of these has changed, all of the folder are compiled again.
"""

import contextlib
import os
import time
from collections import namedtuple
from collections.abc import Iterator
from pathlib import Path
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


def forget_outdated(source: str) -> None:
    """Remove loops that are older than a file beside this one, an ``__init__``.

    Files of the future are left out: what is compiled today would be removed for ever.
    """
    folder, now = Path(source).parent, time.time_ns()
    changes = (path.stat().st_mtime_ns for path in folder.glob("*.py"))
    last = max((change for change in changes if change <= now), default=0)
    for path in [*folder.glob("__pycache__/*.nb[ic]"), *_elsewhere(folder)]:
        with contextlib.suppress(OSError):  # another process may have been first
            if path.stat().st_mtime_ns < last:
                path.unlink()


def _elsewhere(folder: Path) -> Iterator[Path]:
    """Yield the loops of a folder in that which the user has named."""
    if named := os.environ.get("NUMBA_CACHE_DIR"):
        for path in folder.glob("*.py"):
            yield from Path(named).glob(f"{folder.name}_*/{path.stem}.*.nb[ic]")
