"""Images opened and read under names that errors can show, and their grids."""

import os
import zlib
from dataclasses import dataclass
from glob import glob
from typing import Any
from xml.parsers.expat import ExpatError

import numpy as np

from neuroextrap.images._bids_names import name_order
from neuroextrap.images._space import new_volume
from neuroextrap.images._surface_files import is_surface_file, open_surface

GRID_TOLERANCE = 1e-3
"""Grids are one when no voxel moves by more than this fraction of a voxel."""

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
    img: Any
    path: str | None = None  # of a surface, which does not know its own

    @property
    def is_surface(self):
        """Whether this is a SurfaceImage."""
        return is_surface_image(self.img)

    @property
    def file(self):
        """Path of the file that the image was read from, or None."""
        if self.path is not None:
            return self.path
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
        if is_surface_file(path) and os.path.isfile(path):
            return NamedImage(_with_file(name, path), _read_surface(path, name), path)
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


def _read_surface(path, name):
    """Return the SurfaceImage of a file of a series."""
    try:
        return open_surface(path)
    except ValueError:
        raise
    except Exception as error:  # whatever is wrong with the bytes of others
        raise ValueError(
            f"{_with_file(name, path)} is not a readable series ({_one_line(error)}); "
            "copy or compute it again"
        ) from error


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

    `imgs` is an image, a path, a glob pattern (its matches by name, run-2 before
    run-10), or a list of these. Returns at least one `NamedImage`; all are volumes or
    all surfaces.
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


def is_pattern(given):
    """Return whether a text is a pattern of names of files, such as run-*.tsv."""
    return isinstance(given, str) and any(sign in given for sign in "*?[")


def matching_files(pattern, name):
    """Return the files that match a pattern, sorted; ValueError if there are none."""
    paths = sorted(glob(os.path.expanduser(pattern)), key=name_order)
    if not paths and not os.path.exists(pattern):
        raise ValueError(f"{name}: no file matches {pattern!r}; check the pattern")
    return paths or [pattern]


def _expand(imgs, name):
    """Return (name, image or path) of every image."""
    if is_pattern(imgs):
        return [(path, path) for path in matching_files(imgs, name)]
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


def check_same_grid(named, reference):
    """Raise if an image lies on another grid or mesh than a reference.

    Both are `NamedImage`. Affines may differ by rounding, as long as no voxel center
    moves by more than a thousandth of a voxel.
    """
    if named.is_surface != reference.is_surface:
        raise TypeError(
            f"{named.name} and {reference.name} are not both volumes or both "
            "surfaces; give images of one kind"
        )
    if named.is_surface:
        _check_same_mesh(named, reference)
        return
    if len(named.img.shape) not in (3, 4):
        raise ValueError(
            f"{named.name} must have 3 or 4 dimensions, got shape {named.img.shape}; "
            "split or squeeze it"
        )
    if tuple(named.img.shape[:3]) != tuple(reference.img.shape[:3]):
        raise ValueError(
            f"{named.name} has shape {named.img.shape[:3]} but {reference.name} has "
            f"{reference.img.shape[:3]}; resample one with "
            "nilearn.image.resample_to_img"
        )
    if not same_affine(named.img.affine, reference.img.affine, named.img.shape[:3]):
        raise ValueError(
            f"{named.name} has another affine than {reference.name}: "
            f"{_flat(named.img.affine)} against {_flat(reference.img.affine)}; "
            "resample one with nilearn.image.resample_to_img"
        )


def same_affine(first, second, shape):
    """Return whether two affines place every voxel of a grid of `shape` alike.

    No corner may move by more than a thousandth of the smallest voxel size.
    """
    from nibabel.affines import apply_affine, voxel_sizes

    corners = np.array(np.meshgrid(*([0, n - 1] for n in shape))).reshape(3, -1).T
    moved = apply_affine(first, corners) - apply_affine(second, corners)
    turned = np.abs(first[:3, :3] - second[:3, :3]).max()
    smallest = voxel_sizes(second).min()
    return max(np.abs(moved).max(), turned) <= GRID_TOLERANCE * smallest


def check_binary(mask):
    """Raise if a mask is empty, not binary, holds NaN, or is not one sample."""
    values = _distinct_values(mask)
    if np.isnan(values).any() or np.count_nonzero(values) > 1:
        shown = ", ".join(f"{value:g}" for value in values[:4])
        raise ValueError(
            f"{mask.name} is not a binary mask: it holds {len(values)} values "
            f"({shown}, ...); binarize it with nilearn.image.binarize_img"
        )
    if not values.any():
        raise ValueError(f"{mask.name} is an empty mask; give one with non-zero voxels")


def flat_values(img):
    """Return the values of an image in memory in one row, of a surface side by side."""
    if hasattr(img, "dataobj"):
        return np.ravel(np.asanyarray(img.dataobj))
    return np.concatenate([np.ravel(part) for part in img.data.parts.values()])


def _distinct_values(mask):
    """Return the sorted distinct values of a mask of one sample."""
    if mask.is_surface:
        n_samples = max(np.size(p) // len(p) for p in mask.img.data.parts.values())
    else:
        n_samples = int(np.prod(mask.img.shape[3:]))
    if n_samples != 1:
        raise ValueError(
            f"{mask.name} must be one mask, got {n_samples} samples; give a single one"
        )
    img = mask.img if mask.is_surface else read_image(mask).img
    return np.unique(flat_values(img).astype(float))


def _check_same_mesh(named, reference):
    """Raise if hemispheres, numbers of vertices or faces differ."""
    parts, expected = named.img.mesh.parts, reference.img.mesh.parts
    same = parts.keys() == expected.keys() and all(
        parts[side].n_vertices == expected[side].n_vertices
        and np.array_equal(parts[side].faces, expected[side].faces)
        for side in parts
    )
    if not same:
        raise ValueError(
            f"{named.name} has another mesh ({_mesh_size(parts)}) than "
            f"{reference.name} ({_mesh_size(expected)}); give images of one mesh"
        )


def _mesh_size(parts):
    """Describe a mesh by its hemispheres' sizes."""
    return ", ".join(
        f"{side} {mesh.n_vertices} vertices" for side, mesh in parts.items()
    )


def _flat(affine):
    """Return the first three rows of an affine on one line."""
    return np.array2string(
        np.asarray(affine)[:3].ravel(), precision=4, separator=" ", max_line_width=10**6
    )


def mapped(function, *imgs):
    """Return the image that a function makes of the arrays of images on one grid.

    It is applied to whole volumes, or hemisphere by hemisphere.
    """
    first = imgs[0]
    if not is_surface_image(first):
        return new_volume(
            function(*(np.asanyarray(img.dataobj) for img in imgs)), first
        )
    from nilearn.surface import SurfaceImage

    parts = {
        name: function(*(np.asarray(img.data.parts[name]) for img in imgs))
        for name in first.data.parts
    }
    return SurfaceImage(mesh=first.mesh, data=parts)
