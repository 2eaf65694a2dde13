"""Images under a name: opening, listing and reading them, naming the culprit."""

import os
import zlib
from dataclasses import dataclass
from glob import glob
from xml.parsers.expat import ExpatError

import numpy as np

_UNREADABLE = (EOFError, OSError, zlib.error, ValueError, ExpatError)


@dataclass(frozen=True)
class NamedImage:
    """An opened image and the name that error messages give it.

    Parameters
    ----------
    name : str
        A place such as ``imgs[3]``, the path of the file, or both.
    img : Niimg or SurfaceImage
        The image; the data of a file are not read yet.

    Examples
    --------
    >>> import numpy as np, nibabel
    >>> from neuroextrap.images._opening import NamedImage
    >>> bold = nibabel.Nifti1Image(np.ones((2, 2, 2, 7)), np.eye(4))
    >>> NamedImage("imgs[0]", bold).n_samples
    7
    """

    name: str
    img: object

    @property
    def is_surface(self):
        """Whether this is a SurfaceImage."""
        return is_surface_image(self.img)

    @property
    def n_samples(self):
        """Length of the last axis, or None for a single sample."""
        if self.is_surface:
            shape = next(iter(self.img.data.parts.values())).shape
            return shape[1] if len(shape) == 2 else None
        return self.img.shape[3] if len(self.img.shape) == 4 else None


def is_surface_image(img):
    """Tell whether an object is a nilearn SurfaceImage.

    Parameters
    ----------
    img : object
        Anything.

    Returns
    -------
    bool
        False for volumes, paths and arrays.

    Examples
    --------
    >>> from neuroextrap.images._opening import is_surface_image
    >>> is_surface_image("bold.nii.gz")
    False
    """
    from nilearn.surface import SurfaceImage

    return isinstance(img, SurfaceImage)


def open_image(img, name):
    """Open one path, Niimg or SurfaceImage under a name.

    Parameters
    ----------
    img : path-like, Niimg or SurfaceImage
        The image.
    name : str
        The argument it came as; a file is named by its path too.

    Returns
    -------
    NamedImage
        The image with the name for messages.

    Raises
    ------
    TypeError
        If ``img`` is no image and no path.
    ValueError
        If the file is missing or is not a volume.

    Examples
    --------
    >>> import numpy as np, nibabel
    >>> from neuroextrap.images._opening import open_image
    >>> open_image(nibabel.Nifti1Image(np.zeros((2, 2, 2)), np.eye(4)), "mask").name
    'mask'
    """
    if isinstance(img, (str, os.PathLike)):
        path = os.fspath(img)
        opened = open_file(path, name)
        if not hasattr(opened, "dataobj"):
            raise ValueError(
                f"{_both(name, path)} is no volume; of surface files make a "
                "nilearn.surface.SurfaceImage"
            )
        return NamedImage(_both(name, path), opened)
    if is_surface_image(img):
        return NamedImage(name, img)
    if hasattr(img, "dataobj") and hasattr(img, "affine"):
        on_disk = not isinstance(img.dataobj, np.ndarray)
        path = img.get_filename() if on_disk else None
        return NamedImage(_both(name, path), img)
    raise TypeError(
        f"{name} must be an image or the path of one, got {type(img).__name__}; "
        "give a Niimg, a SurfaceImage or a file"
    )


def list_images(imgs, name="imgs"):
    """Open every image of an argument that may hold several.

    Parameters
    ----------
    imgs : Niimg, SurfaceImage, path, glob pattern, or list of these
        A pattern (with ``*``, ``?`` or ``[``) stands for its matches in alphabetical
        order.
    name : str, default="imgs"
        The argument's name, for messages.

    Returns
    -------
    list of NamedImage
        At least one; all volumes or all surfaces.

    Raises
    ------
    TypeError
        If an entry is no image and no path, or volumes and surfaces are mixed.
    ValueError
        If there is no image, a pattern matches nothing, or a file is missing or is
        not an image.

    Examples
    --------
    >>> import numpy as np, nibabel
    >>> from neuroextrap.images._opening import list_images
    >>> img = nibabel.Nifti1Image(np.zeros((2, 2, 2)), np.eye(4))
    >>> [named.name for named in list_images([img, img])]
    ['imgs[0]', 'imgs[1]']
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
    """List the files that paths and patterns stand for, without opening them.

    Parameters
    ----------
    imgs : path, glob pattern, or list of these
        A pattern stands for its matches in alphabetical order.
    name : str, default="imgs"
        The argument's name, for messages.

    Returns
    -------
    list of str
        Paths; those that are no patterns need not exist.

    Raises
    ------
    ValueError
        If a pattern matches nothing.

    Examples
    --------
    >>> from neuroextrap.images._opening import image_files
    >>> image_files(["a.nii.gz", "b.nii.gz"])
    ['a.nii.gz', 'b.nii.gz']
    """
    return [os.fspath(path) for _, path in _expand(imgs, name)]


def read_image(named):
    """Read an image's data into memory, naming the file that cannot be read.

    Parameters
    ----------
    named : NamedImage
        An opened image.

    Returns
    -------
    NamedImage
        The same with its data in memory; surfaces as they are.

    Raises
    ------
    ValueError
        If the file is truncated or corrupt.

    Examples
    --------
    >>> import numpy as np, nibabel
    >>> from neuroextrap.images._opening import open_image, read_image
    >>> img = nibabel.Nifti1Image(np.ones((2, 2, 2)), np.eye(4))
    >>> float(read_image(open_image(img, "imgs")).img.get_fdata().sum())
    8.0
    """
    if named.is_surface or isinstance(named.img.dataobj, np.ndarray):
        return named
    from nibabel import Nifti1Image

    try:
        data = np.asanyarray(named.img.dataobj)
    except _UNREADABLE as error:
        raise ValueError(
            f"{named.name} cannot be read, it is truncated or corrupt "
            f"({_one_line(error)}); copy or compute it again"
        ) from error
    if data.dtype.kind in "iu" and data.dtype.itemsize == 8:
        data = data.astype(np.float64)
    return NamedImage(named.name, Nifti1Image(data, named.img.affine))


def open_file(path, name):
    """Open a file of any kind that nibabel knows, lazily for volumes.

    Parameters
    ----------
    path : str
        The file.
    name : str
        The argument it came as, for messages.

    Returns
    -------
    nibabel image
        Volume or GIFTI.

    Raises
    ------
    ValueError
        If the file is missing or is not an image.
    """
    import nibabel

    if not os.path.isfile(path):
        raise ValueError(f"{name}: no file {path}; check the path")
    try:
        return nibabel.load(path)
    except (*_UNREADABLE, nibabel.filebasedimages.ImageFileError) as error:
        raise ValueError(
            f"{_both(name, path)} is not a readable image ({_one_line(error)}); give "
            "NIfTI files"
        ) from error


def _expand(imgs, name):
    """Return (name, image or path) of every image."""
    if isinstance(imgs, str) and any(sign in imgs for sign in "*?["):
        found = sorted(glob(os.path.expanduser(imgs)))
        if not found and not os.path.exists(imgs):
            raise ValueError(f"{name}: no file matches {imgs!r}; check the pattern")
        return [(path, path) for path in found or [imgs]]
    if not isinstance(imgs, (list, tuple)):
        return [(name, imgs)]
    entries = []
    for place, img in enumerate(imgs):
        entries += _expand(img, f"{name}[{place}]")
    return entries


def _both(name, path):
    """Name an image by the argument it came as and its file, if it has one."""
    return name if path in (None, name) else f"{name} ({path})"


def _one_line(error):
    """Return an exception's message without line breaks."""
    return " ".join(str(error).split()) or type(error).__name__
