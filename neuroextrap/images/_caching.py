"""Fingerprints of images, and samples kept in a cache by them."""

import copy
import functools
import os
import stat
from itertools import chain
from pathlib import Path

import joblib
import numpy as np

from neuroextrap.images._opening import is_surface_image
from neuroextrap.margins.running._checkpoint import array_hash
from neuroextrap.stats._validation import brief

_WITHOUT_EFFECT = ("memory", "memory_level", "verbose", "reports", "cmap", "mask_img")


def set_memory(masker, memory):
    """Give an unfitted masker an estimator's memory, in place; None leaves its own."""
    check_memory(memory)
    if memory is None:
        check_memory(masker.memory if masker.memory_level else None)
        return
    if isinstance(memory, (str, os.PathLike)):
        memory = joblib.Memory(os.path.expanduser(os.fspath(memory)), verbose=0)
    masker.set_params(memory=memory, memory_level=1)


def check_memory(memory):
    """Raise unless `memory` is None, a joblib.Memory or a folder of the user's own.

    joblib keeps pickles there, and reading a pickle runs what it says.
    """
    if memory is None:
        return
    if not isinstance(memory, (str, os.PathLike, joblib.Memory)):
        raise TypeError(
            f"memory={brief(memory)} must be None, a folder or a joblib.Memory, got "
            f"{type(memory).__name__}; give a folder"
        )
    location = getattr(memory, "location", memory)
    if isinstance(location, (str, os.PathLike)) and os.name == "posix":
        check_private(Path(location).expanduser())


def check_private(folder):
    """Raise if others could put pickles into a folder, or replace it (POSIX only).

    The folder above may have the sticky bit, as /tmp does.
    """
    above, inside = folder.absolute().parent, folder / "joblib"
    is_alone = functools.cache(_is_alone)
    for path in chain([above, folder, inside], inside.rglob("*")):
        try:
            status = path.stat()
        except FileNotFoundError:
            continue
        sticky = path == above and status.st_mode & stat.S_ISVTX
        mine = status.st_uid in (os.getuid(), 0)
        if not mine or not (sticky or not _others_can_write(status, is_alone)):
            remedy = f"go-w {above}" if path == above else f"-R go-w {folder}"
            raise ValueError(
                f"memory={str(folder)!r} holds pickles, which run code when they are "
                f"read, and others can write to {path}; use a folder of your own, or "
                f"take the permission away: chmod {remedy}"
            )


def _others_can_write(status, is_alone):
    """Return whether anyone but a file's owner may write; a group may be its own."""
    by_group = status.st_mode & stat.S_IWGRP
    by_group = by_group and not is_alone(status.st_uid, status.st_gid)
    return bool(status.st_mode & stat.S_IWOTH or by_group)


def _is_alone(uid, gid):
    """Return whether a group has the user as its only member."""
    import grp
    import pwd

    try:
        user, group = pwd.getpwuid(uid).pw_name, grp.getgrgid(gid)
    except KeyError:
        return False
    return group.gr_name == user and not set(group.gr_mem) - {user}


def cached(read, named, masker, *settings):
    """Return ``read(named, masker, *settings)``, from memory where all is unchanged.

    Files count by path, size and time; nilearn's own memory takes images in memory.
    `read` must be a function of a module.
    """
    memory = memory_of(masker)
    files = [_fingerprint_of_image(img) for img in named]
    if memory.location is None or None in files:
        return read(named, masker, *settings)
    key = joblib.hash([files, _fingerprint_of_masker(masker), _stamped(settings)])
    call = memory.cache(_call, ignore=["read", "named", "masker", "settings"])
    name = f"{read.__module__}.{read.__qualname__}"
    plain = copy.copy(masker)  # without memory: results are stored once, not twice
    plain.memory, plain.memory_level, plain.memory_ = None, 0, joblib.Memory(None)
    return call(name, key, read, named, plain, settings)


def memory_of(masker):
    """Return a masker's memory; one without a location when nothing is cached."""
    memory = None if masker.memory_level == 0 else masker.memory
    if memory is None or isinstance(memory, (str, os.PathLike)):
        folder = None if memory is None else os.path.expanduser(os.fspath(memory))
        return joblib.Memory(folder, verbose=0)
    return memory


def _call(name, key, read, named, masker, settings):  # noqa: ARG001
    """Call `read`; joblib tells calls apart by `name` and `key` only."""
    return read(named, masker, *settings)


def _fingerprint_of_image(named):
    """Return files and grid of an image, or None where its data are in memory."""
    if named.is_surface or isinstance(named.img.dataobj, np.ndarray):
        return None
    paths = [holder.filename for holder in named.img.file_map.values()]
    stamps = [_stamp(path) for path in paths if path and os.path.isfile(path)]
    grid = named.img.shape, np.asarray(named.img.affine).tolist()
    return (stamps, *grid) if stamps else None


def _stamp(path):
    """Return what tells two states of a file apart without reading it."""
    path = os.path.abspath(path)
    status = os.stat(path)
    return path, status.st_size, status.st_mtime_ns


def _fingerprint_of_masker(masker):
    """Return everything about a masker that its output depends on."""
    settings = masker.get_params(deep=False)
    kept = {n: v for n, v in settings.items() if n not in _WITHOUT_EFFECT}
    mask = getattr(masker, "mask_img_", None)
    if mask is not None:
        mask = joblib.hash([np.asanyarray(mask.dataobj), mask.affine])
    return type(masker).__name__, _stamped(kept), mask


def _stamped(value):
    """Replace paths of files by what tells their states apart."""
    if isinstance(value, dict):
        return {name: _stamped(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_stamped(item) for item in value]
    if isinstance(value, (str, os.PathLike)) and os.path.isfile(value):
        return _stamp(os.fspath(value))
    return value


def is_image(value):
    """Return whether a value is a volume or a surface image in memory."""
    volume = hasattr(value, "dataobj") and hasattr(value, "affine")
    return volume or is_surface_image(value)


def image_hash(img):
    """Fingerprint the values and the space of an image: a dict of hashes by name."""
    if not is_surface_image(img):
        return {
            "values": array_hash(np.asanyarray(img.dataobj)),
            "affine": array_hash(np.asarray(img.affine, dtype=float)),
        }
    hashes = {}
    for side, values in img.data.parts.items():
        mesh = img.mesh.parts[side]
        hashes[f"{side} values"] = array_hash(np.asarray(values))
        hashes[f"{side} coordinates"] = array_hash(np.asarray(mesh.coordinates))
        hashes[f"{side} faces"] = array_hash(np.asarray(mesh.faces))
    return hashes
