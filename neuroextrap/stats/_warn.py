"""Warnings, which point at the user's own line."""

import inspect
import warnings


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn as the line of the script, notebook or library that called the package.

    The warning points to the caller's line outside of this package, however deep in
    the package it arises.
    """
    frame, depth, level = inspect.currentframe(), 0, 1
    while frame is not None:
        depth += 1
        module = frame.f_globals.get("__name__", "")
        if module.partition(".")[0] == "neuroextrap":
            level = depth
        frame = frame.f_back
    warnings.warn(message, category, stacklevel=level + 1)
