"""Warnings, which point at the user's own line, and errors on one line."""

import errno
import inspect
import warnings


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn from the user's own line, however deep in the package the warning arises."""
    frame, depth, level = inspect.currentframe(), 0, 1
    while frame is not None:
        depth += 1
        module = frame.f_globals.get("__name__", "")
        if module.partition(".")[0] == "neuroextrap":
            level = depth
        frame = frame.f_back
    warnings.warn(message, category, stacklevel=level + 1)


def one_line(error):
    """Return an exception's message on one line, or its type's name if it has none."""
    if isinstance(error, OSError) and error.strerror:
        place = "" if error.filename is None else f"{error.filename}: "
        return f"{place}{error.strerror}; {_remedy(error)}"
    return " ".join(str(error).split()) or type(error).__name__


def _remedy(error):
    """Return what to do about an error of the operating system."""
    remedies = {
        errno.ENOSPC: "free space, or write to another disk",
        errno.EDQUOT: "free space, or write to another disk",
        errno.EACCES: "change its permissions, or choose another",
        errno.EROFS: "choose a folder that can be written to",
        errno.EISDIR: "give a file",
        errno.ENOTDIR: "give a folder",
    }
    return remedies.get(error.errno, "check the path")
