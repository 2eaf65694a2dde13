"""From images to samples x features, always through the masker."""

from typing import Any

import numpy as np

from neuroextrap.images._caching import cached
from neuroextrap.images._cleaning import (
    read_confounds,
    read_sample_mask,
    series_of,
)
from neuroextrap.images._geometry import mask_lattice, surface_mesh
from neuroextrap.images._maskers import check_masker, resamples
from neuroextrap.images._opening import (
    NamedImage,
    check_same_grid,
    is_surface_image,
    list_images,
    read_image,
)
from neuroextrap.images._space import MNI, new_volume, space_code


def load_samples(
    imgs: Any, masker: Any, *, confounds: Any = None, sample_mask: Any = None
) -> np.ndarray:
    """Return samples x features of images, with the masker's smoothing and cleaning.

    Every 4-D image (2-D surface image) is cleaned on its own, as one run. A list of
    3-D images is cleaned as one series when the masker does anything over time
    (detrending, standardizing, filters, confounds), else image by image.

    `imgs` are images, paths, or a pattern, on the grid of the fitted `masker`; if that
    has a ``memory``, samples read from files are cached there. `confounds`, which the
    masker regresses out, and `sample_mask`, samples to keep, have one entry per series,
    as in nilearn; files of confounds whose BIDS names tell it are put into the order of
    the images.

    Returns float32 or float64 (n_samples, n_features), NaN where the image itself is
    not finite (in every sample of the series when the masker cleans over time), where
    nilearn alone would put zeros. Smoothing counts non-finite neighbors as zero.
    TypeError if an image is none, or is of another kind than the masker; ValueError if
    it has another grid or mesh than the mask (unless the masker resamples) or cannot be
    read, or the number of confounds or sample masks is not that of the series.
    """
    check_masker(masker)
    how = {"confounds": confounds, "sample_mask": sample_mask}
    return load_opened(list_images(imgs), masker, **how)


def load_opened(named, masker, *, confounds=None, sample_mask=None):
    """Return the same of images that were opened (`NamedImage`)."""
    mask = NamedImage("the mask", masker.mask_img_)
    if not resamples(masker):
        for img in named:
            check_same_grid(img, mask)
    if confounds is not None:
        confounds = read_confounds(confounds, named, sample_mask)
    if sample_mask is not None:
        kept = read_sample_mask(sample_mask, named)
        sample_mask = [np.flatnonzero(of_series) for of_series in kept]
    return cached(_load, named, masker, confounds, sample_mask)


def _load(named, masker, confounds, sample_mask):
    """Read and concatenate all series; a function of a module, for `cached`."""
    series = series_of(named, cleans_over_time(masker, confounds, sample_mask))
    none = [None] * len(series)
    given = confounds or none, sample_mask or none
    samples = [
        _load_series(members, masker, *cleaning)
        for members, *cleaning in zip(series, *given, strict=True)
    ]
    return samples[0] if len(samples) == 1 else np.concatenate(samples)


def cleans_over_time(masker, confounds=None, sample_mask=None):
    """Return whether the result for a sample depends on the other samples."""
    options = (
        "detrend",
        "standardize",
        "low_pass",
        "high_pass",
        "high_variance_confounds",
        "clean_args",
    )
    return (
        confounds is not None
        or sample_mask is not None
        or getattr(masker, "runs", None) is not None
        or any(getattr(masker, name, None) not in (None, False, {}) for name in options)
    )


def _load_series(members, masker, confounds, sample_mask):
    """Clean one series and mark what was not finite in the images."""
    members = [_on_the_masks_grid(read_image(img), masker) for img in members]
    holes = _holes(members, masker)
    img = members[0].img
    if len(members) > 1:
        from nilearn.image import concat_imgs

        kinds = {_dtype(member) for member in members}
        img = concat_imgs(
            [member.img for member in members], dtype=np.result_type(*kinds)
        )
    data = np.atleast_2d(
        masker.transform(img, confounds=confounds, sample_mask=sample_mask)
    )
    if data.dtype.kind != "f":
        data = data.astype(np.result_type(data.dtype, np.float32))
    return _mark(data, holes, cleans_over_time(masker, confounds, sample_mask))


def _dtype(named):
    """Return the type of an image's numbers."""
    if named.is_surface:
        return np.result_type(*named.img.data.parts.values())
    return named.img.dataobj.dtype


def _on_the_masks_grid(named, masker):
    """Give an image the mask's affine, from which it may differ by rounding only."""
    if named.is_surface or resamples(masker):
        return named
    from nibabel import Nifti1Image

    data = np.asanyarray(named.img.dataobj)
    return NamedImage(named.name, Nifti1Image(data, masker.mask_img_.affine))


def _holes(members, masker):
    """Return where the images are not finite, (n_samples, n_features), or None."""
    holes = [_holes_of_image(img, masker) for img in members]
    if not any(image_holes.any() for image_holes in holes):
        return None
    if resamples(masker):
        raise ValueError(
            f"{members[0].name} holds NaN or infinity and the masker resamples, which "
            "would spread them; resample the images beforehand"
        )
    return np.concatenate(holes)


def _holes_of_image(named, masker):
    """Return where one image is not finite; shape (n_samples, n_features)."""
    if named.is_surface:
        parts = [
            np.asarray(named.img.data.parts[h.name])[h.vertices]
            for h in surface_mesh(masker)
        ]
        return np.atleast_2d(~np.isfinite(np.concatenate(parts)).T)
    data = np.asanyarray(named.img.dataobj)
    if data.dtype.kind in "iu":
        return np.zeros((1, 1), dtype=bool)
    if resamples(masker):
        return np.atleast_1d(~np.isfinite(data).all())
    return np.atleast_2d(~np.isfinite(data[mask_lattice(masker)[0]]).T)


def _mark(data, holes, over_time):
    """Put NaN where the images had no finite value."""
    if holes is None:
        return data
    if over_time:
        data[:, holes.any(axis=0)] = np.nan
    else:
        data[holes] = np.nan
    return data


_MOST_SINGLE = 20  # single volumes that are averaged
_LEAST_POSITIVE = 0.95
_BRIGHTEST = 98
_LEVELS = 255


def mean_gray_levels(named, mask_img):
    """Average the first series (or the first single volumes) into gray levels 0 to 255.

    `named` lists images of `NamedImage`, `mask_img` is the mask of a fitted masker.
    Returns a 3-D image of whole numbers in float32, small when compressed; zero where
    an image is not finite. None where an anatomy cannot be seen (surfaces; signed
    values, such as those of betas or standardized series) or is not needed (MNI space,
    of which there is a template).
    """
    if is_surface_image(mask_img) or space_code(mask_img) == MNI:
        return None
    mean, img = _mean(named)
    inside = mean[_seen(mean, img, mask_img)]
    if not len(inside) or (inside > 0).mean() < _LEAST_POSITIVE:
        return None
    brightest = np.percentile(inside, _BRIGHTEST)
    if not brightest > inside.min():
        return None
    levels = np.rint(_LEVELS * np.clip(mean / brightest, 0, 1)).astype(np.float32)
    return new_volume(levels, img)


def _mean(named):
    """Return a mean in float64, zero where it is not finite, and an image of it."""
    series = [img for img in named if (img.n_samples or 1) > 1]
    chosen = series[:1] or named[:_MOST_SINGLE]
    total, n_volumes = 0.0, 0
    for member in chosen:
        data = np.asanyarray(read_image(member).img.dataobj)
        if data.ndim == 4:
            total = total + data.sum(axis=3, dtype=np.float64)
            n_volumes += data.shape[3]
        else:
            total, n_volumes = total + data.astype(np.float64), n_volumes + 1
    mean = total / n_volumes
    return np.where(np.isfinite(mean), mean, 0.0), chosen[0].img


def _seen(mean, img, mask_img):
    """Return where the mask is, or all that is not zero if it has another grid."""
    from neuroextrap.images._opening import same_affine

    mask = np.asanyarray(mask_img.dataobj).astype(bool)
    same = mask.shape == mean.shape
    if same and same_affine(mask_img.affine, img.affine, mask.shape):
        return mask
    return mean != 0
