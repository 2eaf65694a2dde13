"""Fitted maskers, made from a mask or images; feature values as images and files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from nibabel import Nifti1Image
from nibabel.affines import voxel_sizes
from numpy.typing import ArrayLike
from scipy.ndimage import gaussian_filter
from sklearn.base import clone

from neuroextrap.images._caching import cached, set_memory
from neuroextrap.images._loading import (
    check_masker,
    check_same_grid,
    finite_mask,
    flat_values,
    is_surface_masker,
    mapped,
    mask_lattice,
    mean_volume,
    new_volume,
    read_image,
    resamples,
    surface_mesh,
)
from neuroextrap.images._opening import (
    ALIGNED,
    MNI,
    check_single,
    is_surface_image,
    list_images,
    open_file,
    open_image,
    space_code,
)
from neuroextrap.stats._validation import brief, is_integer, real_array

_STANDARDIZE = {False: None, True: "zscore_sample"}
"""What nilearn wants to be told instead of a boolean."""
_TELLING = (1, 3, MNI)
"""Codes of spaces that tell one from another."""
_COARSEST = 20
"""Millimeters of voxels in which a template is still a brain."""


def resolve_masker(mask: Any, imgs: Any = None, *, memory: Any = None) -> Any:
    """Return a newly fitted masker, made from a mask, a masker, or the images.

    The user's masker is never modified: a copy with the same settings (smoothing,
    detrending, standardizing, filters) is fitted instead.

    Parameters
    ----------
    mask : None, path-like, Niimg, SurfaceImage, NiftiMasker or SurfaceMasker
        Where the features are. If None, a mask is computed from ``imgs``: nilearn's
        background strategy on their mean for volumes, every vertex that is finite in
        at least one sample for surfaces. A masker may be fitted or not.
    imgs : Niimg, SurfaceImage, path, glob pattern, list of these, or None, default=None
        Images to be analyzed; their grids are checked against the mask.
    memory : path-like, joblib.Memory or None, default=None
        Cache for computed masks and for samples read from files. If None, a given
        masker keeps its own memory.

    Returns
    -------
    nilearn.maskers.NiftiMasker or nilearn.maskers.SurfaceMasker
        Fitted masker whose ``mask_img_`` has at least one voxel or vertex.

    Raises
    ------
    TypeError
        If ``mask`` or ``memory`` is none of the above, or the mask is of another kind
        (volume, surface) than the images.
    ValueError
        If the mask is empty or not binary, if an image has another shape or affine
        (volumes, unless the masker resamples) or another mesh (surfaces), or if
        neither mask nor images are given.

    Examples
    --------
    >>> import numpy as np, nibabel
    >>> from neuroextrap.images import resolve_masker
    >>> mask = nibabel.Nifti1Image(np.ones((3, 3, 2), "int8"), np.eye(4))
    >>> resolve_masker(mask).n_elements_
    18
    """
    named = [] if imgs is None else list_images(imgs)
    masker = _unfitted(mask, named)
    set_memory(masker, memory)
    given = masker.mask_img is not None
    if not given:
        masker.set_params(mask_img=_automatic_mask(named, masker))
    opened = open_image(masker.mask_img, "mask")
    if given:
        _check_mask(opened, masker, named)
    masker = masker.fit()
    if not opened.is_surface:
        code = _agreed_code([] if resamples(masker) else named, opened)
        if space_code(masker.mask_img_) != code:
            data = np.asanyarray(masker.mask_img_.dataobj)
            masker.mask_img_ = new_volume(data, masker.mask_img_, code)
    return masker


def _agreed_code(named, mask):
    """Return the code of images and mask: names count before headers, images first."""
    for group in (named, [mask]):
        labels = {img.space or "" for img in group}
        if labels - {""}:
            of_mni = all(label.lower().startswith("mni") for label in labels)
            return MNI if of_mni else ALIGNED
    for group in (named, [mask]):
        codes = {img.code for img in group} & set(_TELLING)
        if codes:
            return codes.pop() if len(codes) == 1 else ALIGNED
    return ALIGNED


def _unfitted(mask, named):
    """Return a copy of the user's masker or a new one, without images for reports."""
    from nilearn.maskers import NiftiMasker, SurfaceMasker

    if isinstance(mask, (NiftiMasker, SurfaceMasker)):
        masker = clone(_single(mask))
        if getattr(mask, "mask_img_", None) is not None:
            masker.set_params(mask_img=mask.mask_img_)
    else:
        opened = None if mask is None else open_image(mask, "mask")
        of_surface = any(img.is_surface for img in ([opened] if opened else named[:1]))
        masker = (SurfaceMasker if of_surface else NiftiMasker)(
            mask_img=None if opened is None else opened.img
        )
    standardize = _STANDARDIZE.get(masker.standardize, masker.standardize)
    # nilearn 0.14 cannot fit a masker with a target shape unless it keeps a report
    reports = getattr(masker, "target_shape", None) is not None
    return masker.set_params(reports=reports, standardize=standardize)


def _single(masker):
    """Return a masker of one subject; TypeError for one of several."""
    from nilearn.maskers import MultiNiftiMasker, MultiSurfaceMasker

    if isinstance(masker, (MultiNiftiMasker, MultiSurfaceMasker)):
        raise TypeError(
            f"mask must be a NiftiMasker or a SurfaceMasker, got "
            f"{type(masker).__name__}; give one masker per subject"
        )
    return masker


def _check_mask(mask, masker, named):
    """Check a masker's mask by itself and against every image."""
    if mask.is_surface != is_surface_masker(masker):
        raise TypeError(
            f"mask: a {type(masker).__name__} cannot use {mask.name}; give a mask of "
            "the masker's kind"
        )
    _check_binary(mask)
    if not resamples(masker):
        for img in named:
            check_same_grid(img, mask)


def _check_binary(mask):
    """Raise if a mask is empty, not binary, holds NaN, or is not one sample."""
    check_single(mask, "give a single mask")
    values = np.unique(flat_values(read_image(mask).img).astype(float))
    if np.isnan(values).any() or np.count_nonzero(values) > 1:
        examples = ", ".join(f"{value:g}" for value in values[:4])
        raise ValueError(
            f"{mask.name} is not a binary mask: it holds {len(values)} values "
            f"({examples}, ...); binarize it with nilearn.image.binarize_img"
        )
    if not values.any():
        raise ValueError(f"{mask.name} is an empty mask; give one with non-zero voxels")


def _automatic_mask(named, masker):
    """Compute the mask image from the images."""
    if not named:
        raise ValueError(
            "mask=None needs images to compute a mask from, got none; give a mask, a "
            "masker or imgs"
        )
    if named[0].is_surface != is_surface_masker(masker):
        raise TypeError(
            f"mask: a {type(masker).__name__} cannot read {named[0].name}; give a "
            "masker of the images' kind"
        )
    for img in named[1:]:
        check_same_grid(img, named[0])
    if not named[0].is_surface:
        return cached(_mask_of_volumes, named, masker)
    mask = mapped(lambda part: part.astype(bool), finite_mask(*(i.img for i in named)))
    if not flat_values(mask).any():
        raise ValueError(
            f"{named[0].name} has no finite vertex to analyze; check the images"
        )
    return mask


def _mask_of_volumes(named, masker):
    """Return the mask of nilearn's strategy, from the mean of the volumes."""
    mean = Nifti1Image(mean_volume(named), named[0].img.affine)
    return clone(masker).fit(mean).mask_img_


def mni152_mask(resolution: int = 3) -> Any:
    """Return the int8 brain mask of nilearn's MNI152 template, voxel size in mm."""
    if not is_integer(resolution) or not 1 <= resolution <= _COARSEST:
        raise ValueError(
            f"resolution must be a whole number of mm from 1 to {_COARSEST}, "
            f"got {brief(resolution)}; use 3"
        )
    from nilearn.datasets import load_mni152_brain_mask

    mask = load_mni152_brain_mask(resolution=resolution)
    return new_volume(np.asanyarray(mask.dataobj), mask, MNI)


def mask_of(masker):
    """Return the 8-bit mask, 0 and 1, of a fitted masker."""
    return mapped(lambda mask: mask.astype(bool).astype(np.uint8), masker.mask_img_)


def shared_mask(paths):
    """Return the 8-bit mask of the voxels that several mask files have in common."""
    opened = [open_image(path, "mask") for path in paths]
    for mask in opened[1:]:
        check_same_grid(mask, opened[0])
    inside = [np.asanyarray(mask.img.dataobj) > 0 for mask in opened]
    return new_volume(np.logical_and.reduce(inside).astype(np.uint8), opened[0].img)


def smooth_by(masker, fwhm):
    """Let a masker of ours smooth volumes, once."""
    if fwhm is None:
        return
    if is_surface_masker(masker):
        raise ValueError(
            "smoothing_fwhm smooths volumes; smooth surfaces beforehand and leave it "
            "out"
        )
    if masker.smoothing_fwhm not in (None, fwhm):
        raise ValueError(
            f"smoothing_fwhm={fwhm!r} but the masker smooths by "
            f"{masker.smoothing_fwhm:g} mm; set it in one place only"
        )
    masker.set_params(smoothing_fwhm=fwhm)


def variance_smoother(masker, usable, fwhm):
    """Return a function that smooths maps (n_maps, n_usable) within usable voxels."""
    if masker is None or is_surface_masker(masker):
        raise ValueError(
            "variance_fwhm needs voxels of volumes; leave it out for other maps"
        )
    mask, affine = mask_lattice(masker)
    where = np.flatnonzero(mask)[usable]
    sigma = fwhm / np.sqrt(8 * np.log(2)) / voxel_sizes(affine)

    def smoothed(values):
        volume = np.zeros(mask.shape)
        volume.flat[where] = values
        return gaussian_filter(volume, sigma, mode="constant").flat[where]

    weight = smoothed(np.ones(len(where)))
    return lambda maps: np.stack([smoothed(values) / weight for values in maps])


def to_img(values: ArrayLike, masker: Any) -> Any:
    """Make an image of feature values: floating point, NaN outside the mask.

    The image takes grid and space from the masker's mask but never its data type: a
    p-value of 0.002 stays 0.002 on disk even when the mask is an 8-bit image.

    Parameters
    ----------
    values : array-like of shape (n_features,) or (n_maps, n_features)
        Values of the features; float32 stays float32, everything else becomes float64.
    masker : nilearn.maskers.NiftiMasker or nilearn.maskers.SurfaceMasker
        Fitted masker.

    Returns
    -------
    nibabel.Nifti1Image or nilearn.surface.SurfaceImage
        3-D or 4-D volume; on surfaces one value or ``n_maps`` values per vertex.

    Raises
    ------
    ValueError
        If the last axis is not the masker's number of features.

    Examples
    --------
    >>> import numpy as np, nibabel
    >>> from neuroextrap.images import resolve_masker, to_img
    >>> mask = np.array([[[1, 0]]], dtype="int8")
    >>> masker = resolve_masker(nibabel.Nifti1Image(mask, np.eye(4)))
    >>> to_img([0.002], masker).get_fdata()
    array([[[0.002,   nan]]])
    """
    check_masker(masker)
    single = getattr(values, "dtype", None) == np.float32
    values = np.asarray(values) if single else real_array(values, "values")
    if values.ndim not in (1, 2) or values.shape[-1] != masker.n_elements_:
        raise ValueError(
            f"values must have shape ({masker.n_elements_},) or "
            f"(n_maps, {masker.n_elements_}), got {values.shape}; give one value "
            "per feature of the masker"
        )
    if is_surface_masker(masker):
        return _surface(values, masker)
    mask = np.asanyarray(masker.mask_img_.dataobj).astype(bool)
    data = np.full(mask.shape + values.shape[:-1], np.nan, dtype=values.dtype)
    data[mask] = values.T
    return new_volume(data, masker.mask_img_)


def _surface(values, masker):
    """Build a SurfaceImage on the mask's mesh."""
    from nilearn.surface import SurfaceImage

    parts = {}
    for side in surface_mesh(masker):
        stop = side.offset + len(side.vertices)
        shape = (len(side.coordinates), *values.shape[:-1])
        parts[side.name] = np.full(shape, np.nan, dtype=values.dtype)
        parts[side.name][side.vertices] = values[..., side.offset : stop].T
    return SurfaceImage(mesh=masker.mask_img_.mesh, data=parts)


_SIDES = {"left": "hemi-L", "right": "hemi-R"}


def save_image(img, directory, name):
    """Write a floating-point image or 8-bit mask; return its files by part.

    Integer images are refused, since they would quantize values.
    """
    directory = Path(directory)
    if is_surface_image(img):
        return _save_surface(img, directory, name)
    dtype = img.get_data_dtype()
    if dtype.kind != "f" and not _is_mask(img.dataobj):
        raise TypeError(
            f"{name}: the image is stored as {dtype}, which would quantize its values; "
            "make it with to_img"
        )
    img.to_filename(directory / f"{name}.nii.gz")
    return {"volume": f"{name}.nii.gz"}


def load_image(directory, files):
    """Read an image into memory from the files that `save_image` returned."""
    directory = Path(directory)
    if "volume" in files:
        return read_image(open_image(directory / files["volume"], "map")).img
    from nilearn.surface import SurfaceImage

    for file in files.values():
        open_file(str(directory / file), "map")
    sides = [side for side in _SIDES if side in files]
    return SurfaceImage(
        mesh={side: directory / files[f"{side}_mesh"] for side in sides},
        data={side: directory / files[side] for side in sides},
    )


def _is_mask(values):
    """Return whether values are a mask: 8-bit, 0 and 1 only."""
    values = np.asanyarray(values)
    return values.dtype == np.uint8 and values.max(initial=0) <= 1


def _save_surface(img, directory, name):
    """Write each hemisphere's values, and its mesh unless the folder has it."""
    files = {}
    for side, values in img.data.parts.items():
        if values.dtype.kind != "f" and not _is_mask(values):
            raise TypeError(
                f"{name}: the image holds {values.dtype}, not floating point; make it "
                "with to_img"
            )
        files[side] = f"{name}_{_SIDES[side]}.gii"
        files[f"{side}_mesh"] = f"mesh_{_SIDES[side]}.gii"
        img.data.to_filename(directory / files[side])
        mesh_path = directory / files[f"{side}_mesh"]
        if not mesh_path.exists():
            img.mesh.to_filename(mesh_path)
    return files
