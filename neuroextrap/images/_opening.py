"""Opening, listing and reading images under names that error messages can show."""

import os
import zlib
from dataclasses import dataclass
from glob import glob
from xml.parsers.expat import ExpatError

import numpy as np

from neuroextrap.images._space import new_volume

_UNREADABLE = (
    EOFError,
    OSError,
    OverflowError,
    MemoryError,
    zlib.error,
    ValueError,
    ExpatError,
)


@dataclass(frozen=True)
class NamedImage:
    """An opened image and the name that error messages give it.

    The name is a place such as ``imgs[3]``, the path of the file, or both; the data of
    a file are not read yet.
    """

    name: str
    img: object

    @property
    def is_surface(self):
        """Whether this is a SurfaceImage."""
        return is_surface_image(self.img)

    @property
    def file(self):
        """Path of the file that the image was read from, or None."""
        get = getattr(self.img, "get_filename", None)
        return None if get is None else get()

    @property
    def n_samples(self):
        """Length of the last axis, or None for a single sample."""
        if self.is_surface:
            shape = next(iter(self.img.data.parts.values())).shape
            return shape[1] if len(shape) == 2 else None
        return self.img.shape[3] if len(self.img.shape) == 4 else None


def is_surface_image(img):
    """Return whether an object is a nilearn SurfaceImage."""
    from nilearn.surface import SurfaceImage

    return isinstance(img, SurfaceImage)


def open_image(img, name):
    """Open one path, Niimg or SurfaceImage, which came as the argument `name`."""
    if isinstance(img, (str, os.PathLike)):
        path = os.fspath(img)
        opened = open_file(path, name)
        if not hasattr(opened, "dataobj"):
            raise ValueError(
                f"{_with_file(name, path)} is no volume; of surface files make a "
                "nilearn.surface.SurfaceImage"
            )
        return _checked_volume(NamedImage(_with_file(name, path), opened))
    if is_surface_image(img):
        return NamedImage(name, img)
    if hasattr(img, "dataobj") and hasattr(img, "affine"):
        on_disk = not isinstance(img.dataobj, np.ndarray)
        path = img.get_filename() if on_disk else None
        return _checked_volume(NamedImage(_with_file(name, path), img))
    raise TypeError(
        f"{name} must be an image or the path of one, got {type(img).__name__}; "
        "give a Niimg, a SurfaceImage or a file"
    )


def _checked_volume(named):
    """Return a volume, or raise unless it holds real numbers in a place in space."""
    affine = np.asarray(named.img.affine, dtype=float)
    placed = np.isfinite(affine).all() and np.linalg.matrix_rank(affine[:3, :3]) == 3
    if not placed:
        raise ValueError(
            f"{named.name} has an affine that is not finite or not invertible, so "
            "voxels have no size; repair the sform and qform of its header"
        )
    dtype = named.img.dataobj.dtype
    if dtype.kind not in "buif":
        raise TypeError(
            f"{named.name} has voxels of dtype {dtype}; give real numbers, such as "
            "magnitudes of complex ones"
        )
    return named


def list_images(imgs, name="imgs"):
    """Open every image of an argument that may hold several.

    `imgs` is an image, a path, a glob pattern (its matches in alphabetical order), or a
    list of these. Returns at least one `NamedImage`; all are volumes or all surfaces.
    """
    entries = _expand(imgs, name)
    if not entries:
        raise ValueError(f"{name} is empty; give at least one image")
    opened = [open_image(img, entry_name) for entry_name, img in entries]
    if len({named.is_surface for named in opened}) > 1:
        raise TypeError(
            f"{name} mixes volumes and surfaces; give images of one kind only"
        )
    return opened


def image_files(imgs, name="imgs"):
    """Return the paths that paths and patterns stand for, without opening them.

    Paths that are no patterns need not exist.
    """
    return [os.fspath(path) for _, path in _expand(imgs, name)]


def read_image(named):
    """Return a named image with its data in memory; surfaces come back as they are.

    A truncated or corrupt file is an error that names it.
    """
    if named.is_surface or isinstance(named.img.dataobj, np.ndarray):
        return named
    try:
        data = np.asanyarray(named.img.dataobj)
    except _UNREADABLE as error:
        raise ValueError(
            f"{named.name} cannot be read, it is truncated or corrupt "
            f"({_one_line(error)}); copy or compute it again"
        ) from error
    if data.dtype.kind in "iu" and data.dtype.itemsize == 8:
        data = data.astype(np.float64)
    return NamedImage(named.name, new_volume(data, named.img))


def open_file(path, name):
    """Open a file of any kind that nibabel knows, lazily for volumes."""
    import nibabel

    if not os.path.isfile(path):
        raise ValueError(f"{name}: no file {path}; check the path")
    unknown = (
        nibabel.filebasedimages.ImageFileError,
        nibabel.spatialimages.HeaderDataError,
    )
    try:
        return nibabel.load(path)
    except (*_UNREADABLE, *unknown) as error:
        raise ValueError(
            f"{_with_file(name, path)} is not a readable image ({_one_line(error)}); "
            "give NIfTI files"
        ) from error


def _expand(imgs, name):
    """Return (name, image or path) of every image."""
    if isinstance(imgs, str) and any(sign in imgs for sign in "*?["):
        paths = sorted(glob(os.path.expanduser(imgs)))
        if not paths and not os.path.exists(imgs):
            raise ValueError(f"{name}: no file matches {imgs!r}; check the pattern")
        return [(path, path) for path in paths or [imgs]]
    if not isinstance(imgs, (list, tuple)):
        return [(name, imgs)]
    entries = []
    for i, img in enumerate(imgs):
        entries += _expand(img, f"{name}[{i}]")
    return entries


def _with_file(name, path):
    """Name an image by its argument and by its file, if it has one."""
    return name if path in (None, name) else f"{name} ({path})"


def _one_line(error):
    """Return an exception's message without line breaks."""
    return " ".join(str(error).split()) or type(error).__name__
