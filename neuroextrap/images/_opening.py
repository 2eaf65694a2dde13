"""Volumes and series on the cortex, opened by names that errors can show."""

import os
from dataclasses import dataclass
from functools import cached_property
from glob import glob
from typing import Any

import nibabel
import numpy as np
from nibabel.affines import apply_affine, voxel_sizes

from neuroextrap.images._bids_names import loose_entities, name_order
from neuroextrap.images._surface_files import SURFACES, open_surface
from neuroextrap.stats._validation import one_line

_GRID_TOLERANCE = 1e-3
"""Grids are one when no voxel moves by more than this fraction of a voxel."""

MNI = 4
ALIGNED = 2
CODES = {0: "unknown", 1: "scanner", 2: "aligned", 3: "Talairach", MNI: "MNI"}
"""NIfTI's names of coordinate systems (nifti1.h, NIFTI_XFORM). "Aligned" is what
nibabel, nilearn and many pipelines write when they do not know better."""

# fmt: off
_NATIVE = frozenset((
    "anat", "bold", "boldref", "epi", "fsnative", "func", "individual", "native",
    "orig", "scanner", "subject", "t1", "t1w", "t2w",
))
# fmt: on
"""Labels of ``space`` that mean a subject's own space, in small letters."""
_REMEDY = (
    "bring the maps into a template's space first, or say that voxels correspond with "
    "allow_native_space=True (--allow-native-space)"
)


@dataclass(frozen=True)
class NamedImage:
    """An opened image, the name that messages give it, and what its file tells."""

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
        return file_of(self.img) if self.path is None else self.path

    @property
    def n_samples(self):
        """Length of the last axis, or None for a single sample."""
        if self.is_surface:
            shape = next(iter(self.img.data.parts.values())).shape[1:]
        else:
            shape = self.img.shape[3:]
        return int(np.prod(shape)) if shape else None

    @cached_property
    def entities(self):
        """The ``key-label`` pairs of the file's name."""
        return {} if self.file is None else loose_entities(self.file)

    @property
    def space(self):
        """The label of ``space`` in the file's name, or None."""
        return self.entities.get("space")

    @property
    def code(self):
        """The NIfTI code of the space in the header."""
        return space_code(self.img)

    def shares_grid(self, other):
        """Return whether no corner of a volume moves by a thousandth of a voxel."""
        first, second, shape = self.img.affine, other.img.affine, self.img.shape[:3]
        if shape != other.img.shape[:3]:
            return False
        corners = np.array(np.meshgrid(*([0, n - 1] for n in shape))).reshape(3, -1).T
        moved = apply_affine(first, corners) - apply_affine(second, corners)
        turned = np.abs(first[:3, :3] - second[:3, :3]).max()
        smallest = voxel_sizes(second).min()
        return max(np.abs(moved).max(), turned) <= _GRID_TOLERANCE * smallest


def is_surface_image(img):
    """Return whether an object is a nilearn SurfaceImage."""
    from nilearn.surface import SurfaceImage

    return isinstance(img, SurfaceImage)


def open_image(img, name):
    """Open one path, Niimg or SurfaceImage, which came as the argument `name`."""
    path = os.fspath(img) if isinstance(img, (str, os.PathLike)) else None
    if path is not None:
        img = open_file(path, name)
    if is_surface_image(img):
        return NamedImage(_with_file(name, path), img, path)
    if path is None and not (hasattr(img, "dataobj") and hasattr(img, "affine")):
        raise TypeError(
            f"{name} must be an image or the path of one, got {type(img).__name__}; "
            "give a Niimg, a SurfaceImage or a file"
        )
    if path is None and not isinstance(img.dataobj, np.ndarray):
        path = img.get_filename()
    return _checked_volume(NamedImage(_with_file(name, path), img))


def _checked_volume(named):
    """Return a volume, or raise unless it holds real numbers in a place in space."""
    if not hasattr(named.img, "dataobj"):
        raise ValueError(
            f"{named.name} is no volume; of surface files make a "
            "nilearn.surface.SurfaceImage"
        )
    affine = np.asarray(named.img.affine, dtype=float)
    if not np.isfinite(affine).all() or np.linalg.matrix_rank(affine[:3, :3]) < 3:
        raise ValueError(
            f"{named.name} has an affine that is not finite or not invertible, so "
            "voxels have no size; repair the sform and qform of its header"
        )
    if named.img.dataobj.dtype.kind not in "buif":
        raise TypeError(
            f"{named.name} has voxels of dtype {named.img.dataobj.dtype}; give real "
            "numbers, such as magnitudes of complex ones"
        )
    return named


def list_images(imgs, name="imgs", check=None):
    """Open the image, path or pattern, or all of a list of these; all of one kind.

    Their files go to `check`, if there is one, before they are opened.
    """
    if check is not None:
        check(files_of(imgs, name))
    entries = expanded(imgs, name)
    if not entries:
        raise ValueError(f"{name} is empty; give at least one image")
    opened = [open_image(img, entry_name) for entry_name, img in entries]
    if len({named.is_surface for named in opened}) > 1:
        raise TypeError(
            f"{name} mixes volumes and surfaces; give images of one kind only"
        )
    return opened


def open_file(path, name):
    """Open a series on the cortex, or what nibabel knows (lazily for volumes)."""
    if not os.path.isfile(path):
        raise ValueError(f"{name}: no file {path}; check the path")
    on_surface = str(path).endswith(SURFACES)
    try:
        return open_surface(path) if on_surface else nibabel.load(path)
    except Exception as error:  # whatever is wrong with the bytes of others
        if on_surface and isinstance(error, ValueError):
            raise
        raise ValueError(
            f"{_with_file(name, path)} is not a readable image ({one_line(error)}); "
            "copy or compute it again, or give NIfTI files"
        ) from error


def expanded(given, name):
    """Return (name, entry) of all entries; patterns (run-*.tsv) stand for files."""
    if isinstance(given, str) and any(sign in given for sign in "*?["):
        paths = sorted(glob(os.path.expanduser(given)), key=name_order)
        if not paths and not os.path.exists(given):
            raise ValueError(f"{name}: no file matches {given!r}; check the pattern")
        return [(path, path) for path in paths or [given]]
    if not isinstance(given, (list, tuple)):
        return [(name, given)]
    return [e for i, one in enumerate(given) for e in expanded(one, f"{name}[{i}]")]


def _with_file(name, path):
    """Name an image by its argument and by its file, if it has one."""
    return name if path in (None, name) else f"{name} ({path})"


def file_of(img):
    """Return the path that an image is, or was read from; None for another."""
    if isinstance(img, (str, os.PathLike)):
        return os.fspath(img)
    get = getattr(img, "get_filename", None)
    return None if get is None else get()


def files_of(imgs, name="imgs"):
    """Return the files that images or patterns are, or were read from, all unopened."""
    files = [file_of(img) for _, img in expanded(imgs, name)]
    return [file for file in files if file is not None]


def check_one_space(named, name):
    """Raise if maps lie in subjects' own spaces, by their names, headers and grids."""
    volumes = [img for img in named if not img.is_surface]
    for img in volumes:
        if img.space is not None and img.space.casefold() in _NATIVE:
            raise ValueError(
                f"{img.name} lies in the subject's own space (space-{img.space}), "
                f"where the voxels of two subjects do not correspond; {_REMEDY}"
            )
    spaces = sorted({img.space for img in volumes} - {None})
    if len(spaces) > 1:
        raise ValueError(
            f"{name} lie in different spaces ({', '.join(spaces)}), where voxels do "
            f"not correspond; {_REMEDY}"
        )
    untold = [img for img in volumes if img.space is None and img.code != MNI][:1]
    others = [img for first in untold for img in volumes if not img.shares_grid(first)]
    if others:
        raise ValueError(
            f"{untold[0].name} and {others[0].name} have different grids, and neither "
            f"a name (space-MNI...) nor the header (code {untold[0].code}, "
            f"{CODES.get(untold[0].code)}) says that they lie in one space; {_REMEDY}"
        )


def check_single(named, remedy):
    """Raise if there are several samples in an image."""
    if named.n_samples not in (None, 1):
        raise ValueError(
            f"{named.name} must be one image, got {named.n_samples} samples; {remedy}"
        )


def space_code(img):
    """Return the NIfTI code of the affine that is in use; 0 where there is none."""
    if not hasattr(img, "get_sform"):
        return 0
    sform, qform = (
        int(get(coded=True)[1] or 0) for get in (img.get_sform, img.get_qform)
    )
    return sform or qform
