"""Locks of files and folders that die with their process."""

import os
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


class Lock:
    """An exclusive lock, held until `release` is called or the process ends.

    The system keeps it (``flock``), so a killed process leaves none behind. On NFS it
    holds between machines when the server runs a lock service, as most do; without one,
    and on Windows, `known` is False and nothing is locked. `path` is a folder, or a
    file that is created when missing; folders cannot be locked on NFS.
    """

    def __init__(self, path: str | Path) -> None:
        self.held, self.known = False, False
        self._handle: int | None = None
        if fcntl is None:
            return
        flags = os.O_RDONLY if os.path.isdir(path) else os.O_RDWR | os.O_CREAT
        handle = os.open(path, flags, 0o666)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.known = True
        except OSError:
            pass  # a file system without locks
        else:
            self.held = self.known = True
        if self.held:
            self._handle = handle
        else:
            os.close(handle)

    @property
    def taken(self) -> bool:
        """Whether another process (or another lock of this one) holds it."""
        return self.known and not self.held

    def release(self) -> None:
        """Give the lock back."""
        handle, self._handle = self._handle, None
        self.held = False
        if handle is not None:
            os.close(handle)
