"""Reading that is remembered between calls, in a folder that the user names."""

import copy
import os
from pathlib import Path

import joblib
import numpy as np

_WITHOUT_EFFECT = ("memory", "memory_level", "verbose", "reports", "cmap", "mask_img")


def remember_in(masker, memory, memory_level=1):
    """Give a masker the memory that an estimator was given, as nilearn does.

    Parameters
    ----------
    masker : NiftiMasker or SurfaceMasker
        Not fitted; changed in place.
    memory : None, path-like or joblib.Memory
        None leaves the masker's own.
    memory_level : int, default=1
        0 remembers nothing.

    Raises
    ------
    TypeError
        If ``memory`` is none of these.
    ValueError
        If ``memory_level`` is not a whole number of at least 0.
    """
    whole = isinstance(memory_level, (int, np.integer))
    if not whole or isinstance(memory_level, bool) or memory_level < 0:
        raise ValueError(
            f"memory_level={memory_level!r} must be a whole number: 0 (nothing is "
            "remembered), 1 or above"
        )
    if memory is None or memory_level == 0:
        return
    if isinstance(memory, (str, os.PathLike)):
        memory = joblib.Memory(os.path.expanduser(os.fspath(memory)), verbose=0)
    if not isinstance(memory, joblib.Memory):
        raise TypeError(
            f"memory must be None, a folder or a joblib.Memory, got "
            f"{type(memory).__name__}"
        )
    masker.set_params(memory=memory, memory_level=int(memory_level))


def remembered(read, named, masker, *settings):
    """Call a function that reads files, or return what it returned before.

    What was read before counts when the files (by path, size and time of change), the
    masker's settings and mask, and the further settings are the same. Images in memory
    are not fingerprinted here: nilearn's masker, which has the memory too, does that.

    Parameters
    ----------
    read : callable
        ``read(named, masker, *settings)``; a function of a module.
    named : list of NamedImage
        The images to be read.
    masker : NiftiMasker or SurfaceMasker
        Fitted or not; its ``memory`` says where to remember.
    *settings : object
        What else the result depends on; paths count by the file they name.

    Returns
    -------
    object
        What ``read`` returns.
    """
    memory = _memory_of(masker)
    files = [_fingerprint_of_image(img) for img in named]
    if memory.location is None or None in files:
        return read(named, masker, *settings)
    key = joblib.hash([files, _fingerprint_of_masker(masker), _stamped(settings)])
    call = memory.cache(_call, ignore=["read", "named", "masker", "settings"])
    name = f"{read.__module__}.{read.__qualname__}"
    return call(name, key, read, named, _forgetful(masker), settings)


def memory_folder(masker):
    """Return the folder in which a masker remembers, for what joblib does not keep.

    Parameters
    ----------
    masker : NiftiMasker or SurfaceMasker
        Fitted or not.

    Returns
    -------
    pathlib.Path or None
        None when it remembers nothing.
    """
    location = _memory_of(masker).location
    return None if location is None else Path(location)


def _memory_of(masker):
    """Return a masker's memory; one without a place when it remembers nothing."""
    memory = None if masker.memory_level == 0 else masker.memory
    if memory is None or isinstance(memory, (str, os.PathLike)):
        place = None if memory is None else os.path.expanduser(os.fspath(memory))
        return joblib.Memory(place, verbose=0)
    return memory


def _call(name, key, read, named, masker, settings):  # noqa: ARG001
    """Call; only the name and the key tell one call from another."""
    return read(named, masker, *settings)


def _forgetful(masker):
    """Return the masker without memory: the result is kept once, not twice."""
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
    """Return what tells one state of a file from another without reading it."""
    path = os.path.abspath(path)
    found = os.stat(path)
    return path, found.st_size, found.st_mtime_ns


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
