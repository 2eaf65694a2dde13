"""What is read from files, cached between calls in a folder that the user names."""

import copy
import os
from pathlib import Path

import joblib
import numpy as np

_WITHOUT_EFFECT = ("memory", "memory_level", "verbose", "reports", "cmap", "mask_img")


def set_memory(masker, memory, memory_level=1):
    """Give an unfitted masker the memory of an estimator, in place, as nilearn does.

    With `memory` None or `memory_level` 0 the masker keeps its own.
    """
    whole = isinstance(memory_level, (int, np.integer))
    if not whole or isinstance(memory_level, bool) or memory_level < 0:
        raise ValueError(
            f"memory_level={memory_level!r} must be a whole number: 0 (nothing is "
            "cached) or above"
        )
    if memory is None or memory_level == 0:
        return
    if isinstance(memory, (str, os.PathLike)):
        memory = joblib.Memory(os.path.expanduser(os.fspath(memory)), verbose=0)
    if not isinstance(memory, joblib.Memory):
        raise TypeError(
            f"memory must be None, a folder or a joblib.Memory, got "
            f"{type(memory).__name__}; give a folder"
        )
    masker.set_params(memory=memory, memory_level=int(memory_level))


def cached(read, named, masker, *settings):
    """Call ``read(named, masker, *settings)``, or return what it returned before.

    An earlier result counts when the files (by path, size and time of change), the
    masker's settings and mask, and the further settings are the same. Images in memory
    are not fingerprinted here: nilearn's masker, which has the memory too, does that.
    `read` must be a function of a module.
    """
    memory = _memory_of(masker)
    files = [_fingerprint_of_image(img) for img in named]
    if memory.location is None or None in files:
        return read(named, masker, *settings)
    key = joblib.hash([files, _fingerprint_of_masker(masker), _stamped(settings)])
    call = memory.cache(_call, ignore=["read", "named", "masker", "settings"])
    name = f"{read.__module__}.{read.__qualname__}"
    return call(name, key, read, named, _without_memory(masker), settings)


def memory_folder(masker):
    """Return the folder of a masker's memory, or None if nothing is cached."""
    location = _memory_of(masker).location
    return None if location is None else Path(location)


def _memory_of(masker):
    """Return a masker's memory; one without a location when nothing is cached."""
    memory = None if masker.memory_level == 0 else masker.memory
    if memory is None or isinstance(memory, (str, os.PathLike)):
        folder = None if memory is None else os.path.expanduser(os.fspath(memory))
        return joblib.Memory(folder, verbose=0)
    return memory


def _call(name, key, read, named, masker, settings):  # noqa: ARG001
    """Call `read`; joblib tells calls apart by `name` and `key` only."""
    return read(named, masker, *settings)


def _without_memory(masker):
    """Return the masker without memory, so that results are stored once, not twice."""
    plain = copy.copy(masker)
    plain.memory, plain.memory_level = None, 0
    if hasattr(masker, "memory_"):
        plain.memory_ = joblib.Memory(None)
    return plain


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
