"""Whether results can be written to a folder, found out by writing."""

import os
import tempfile
from contextlib import suppress
from pathlib import Path

_PROBE = b"neuroextrap" * 400  # more than a block, so that a full disk shows


def check_writable(folder):
    """Check that files can be written to a folder, or that it can be created.

    A small file is written and removed, with the folders that it needed. ValueError,
    with what is wrong and what to do, where that fails.
    """
    folder = Path(folder)
    if not folder.exists() and folder.is_symlink():
        raise ValueError(
            f"output folder {folder} is a link to {os.readlink(folder)}, which is not "
            "there (or is a loop of links); remove the link or choose another folder"
        )
    if folder.exists() and not folder.is_dir():
        raise ValueError(
            f"output folder {folder} is a file; choose another name or remove it"
        )
    _check_permission(folder)
    missing = [p for p in (folder, *folder.absolute().parents) if not p.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".neuroextrap-") as file:
            file.write(_PROBE)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise ValueError(
            f"output folder {folder} cannot be written ({error.strerror or error}); "
            "choose another, or make room"
        ) from error
    finally:
        for path in missing:
            with suppress(OSError):
                path.rmdir()


def _check_permission(folder):
    """Check the permissions of the folder, or of the one that it would be made in."""
    if folder.exists():
        if not os.access(folder, os.W_OK | os.X_OK):
            raise ValueError(
                f"output folder {folder} is not writable; choose another or change its "
                "permissions"
            )
        return
    parent = next(p for p in folder.absolute().parents if p.exists())
    if not parent.is_dir() or not os.access(parent, os.W_OK | os.X_OK):
        raise ValueError(
            f"output folder {folder} cannot be created, {parent} is not a writable "
            "folder; choose another"
        )
