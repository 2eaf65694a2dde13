"""One fitted masker from a mask, a masker, or the images themselves."""

from typing import Any

import numpy as np

from neuroextrap.images._caching import cached, set_memory
from neuroextrap.images._opening import (
    check_binary,
    check_same_grid,
    list_images,
    mapped,
    open_image,
    read_image,
)
from neuroextrap.images._space import MNI, agreed_code, new_volume, space_code
from neuroextrap.stats._validation import brief

_STANDARDIZE = {False: None, True: "zscore_sample"}
"""What nilearn wants to be told instead of a boolean."""
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
        _tell_space(masker, opened, named)
    return masker


def _tell_space(masker, mask, named):
    """Give the mask the code of the space that images and mask agree on."""
    code = agreed_code([] if resamples(masker) else named, mask)
    if space_code(masker.mask_img_) != code:
        data = np.asanyarray(masker.mask_img_.dataobj)
        masker.mask_img_ = new_volume(data, masker.mask_img_, code)


def check_masker(masker):
    """Raise TypeError unless an argument is a masker that was fitted."""
    if getattr(masker, "mask_img_", None) is None:
        raise TypeError(
            f"masker must be a fitted NiftiMasker or SurfaceMasker, got "
            f"{brief(masker)}; give what resolve_masker returns"
        )


def is_surface_masker(masker):
    """Return whether a masker, fitted or not, is a SurfaceMasker."""
    from nilearn.maskers import SurfaceMasker

    return isinstance(masker, SurfaceMasker)


def resamples(masker):
    """Return whether a masker was asked to resample images to another grid."""
    return any(
        getattr(masker, name, None) is not None
        for name in ("target_affine", "target_shape")
    )


def _unfitted(mask, named):
    """Return a masker of ours, which keeps no images for reports."""
    masker = _copied_or_new(mask, named)
    standardize = _STANDARDIZE.get(masker.standardize, masker.standardize)
    # nilearn 0.14 cannot fit a masker with a target shape unless it keeps a report
    reports = getattr(masker, "target_shape", None) is not None
    return masker.set_params(reports=reports, standardize=standardize)


def _copied_or_new(mask, named):
    """Copy the user's masker, or make one of the right kind around the mask."""
    from nilearn.maskers import (
        MultiNiftiMasker,
        MultiSurfaceMasker,
        NiftiMasker,
        SurfaceMasker,
    )
    from sklearn.base import clone

    if isinstance(mask, (MultiNiftiMasker, MultiSurfaceMasker)):
        raise TypeError(
            f"mask must be a NiftiMasker or a SurfaceMasker, got "
            f"{type(mask).__name__}; give one masker per subject"
        )
    if isinstance(mask, (NiftiMasker, SurfaceMasker)):
        masker = clone(mask)
        mask_img = getattr(mask, "mask_img_", None)
        return masker if mask_img is None else masker.set_params(mask_img=mask_img)
    if mask is None:
        kind = SurfaceMasker if named and named[0].is_surface else NiftiMasker
        return kind()
    opened = open_image(mask, "mask")
    kind = SurfaceMasker if opened.is_surface else NiftiMasker
    return kind(mask_img=opened.img)


def _check_mask(mask, masker, named):
    """Check a masker's mask by itself and against every image."""
    if mask.is_surface != is_surface_masker(masker):
        raise TypeError(
            f"mask: a {type(masker).__name__} cannot use {mask.name}; give a mask of "
            "the masker's kind"
        )
    check_binary(mask)
    if not resamples(masker):
        for img in named:
            check_same_grid(img, mask)


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
    if named[0].is_surface:
        return _finite_vertices(named)
    return cached(_mask_of_volumes, named, masker)


def _mask_of_volumes(named, masker):
    """Compute a mask by nilearn's strategy from the mean of the volumes."""
    from sklearn.base import clone

    return clone(masker).fit(_mean_image(named)).mask_img_


def _finite_vertices(named):
    """Mask of the vertices that are finite in at least one sample."""
    mask = mapped(
        lambda *arrays: np.any(
            [np.isfinite(a.reshape(len(a), -1)).any(axis=1) for a in arrays], axis=0
        ),
        *(img.img for img in named),
    )
    if not any(finite.any() for finite in mask.data.parts.values()):
        raise ValueError(
            f"{named[0].name} has no finite vertex to analyze; check the images"
        )
    return mask


def _mean_image(named):
    """Mean of all samples of all images, one image in memory at a time."""
    from nibabel import Nifti1Image

    total, n_samples = 0.0, 0
    for img in named:
        data = np.asanyarray(read_image(img).img.dataobj)
        total = total + (data.sum(axis=3, dtype=float) if data.ndim == 4 else data)
        n_samples += img.n_samples or 1
    return Nifti1Image(total / n_samples, named[0].img.affine)


def mni152_mask(resolution: int = 3) -> Any:
    """Return the brain mask of nilearn's MNI152 template, at a voxel size in mm.

    It is an image of int8, 1 inside the brain (69,765 voxels at 3 mm), whose header
    says that it lies in MNI space. (Fonov et al. 2011, NeuroImage 54, the template.)
    """
    if isinstance(resolution, bool) or not isinstance(resolution, int):
        raise ValueError(
            f"resolution must be a whole number of mm, got {brief(resolution)}; use 3"
        )
    if not 1 <= resolution <= _COARSEST:
        raise ValueError(
            f"resolution must be from 1 to {_COARSEST} mm, got {resolution}; use 3"
        )
    from nilearn.datasets import load_mni152_brain_mask

    mask = load_mni152_brain_mask(resolution=resolution)
    return new_volume(np.asanyarray(mask.dataobj), mask, MNI)


def finite_mask(*imgs):
    """Return the 8-bit mask of what is finite in at least one of some samples."""
    return mapped(
        lambda *arrays: np.any([np.isfinite(a) for a in arrays], axis=0).astype(
            "uint8"
        ),
        *imgs,
    )


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
            f"{masker.smoothing_fwhm:g} mm; set it in one "
            "place only"
        )
    masker.set_params(smoothing_fwhm=fwhm)
