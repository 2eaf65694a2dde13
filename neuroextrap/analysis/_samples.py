"""Samples x features from whatever a user has: images with a mask, or an array."""

from typing import Any, NamedTuple

import numpy as np

from neuroextrap.images import resolve_masker
from neuroextrap.images._caching import check_memory
from neuroextrap.images._event_samples import mean_gray_levels
from neuroextrap.images._loading import load_samples
from neuroextrap.images._opening import list_images
from neuroextrap.stats._validation import check_numbers

_PART_SIZE = 2**20  # numbers that are centered at a time, in float64
# rms of samples within which products of float32 neither vanish nor overflow; rescaled
# only outside of it, so that ordinary data keep their bits
_LEAST, _MOST = 2.0**-20, 2.0**20


class Samples(NamedTuple):
    """Samples ready for analysis."""

    X: np.ndarray  # (n_samples, n_features), minus `location`; 0 where not usable
    location: np.ndarray  # mean of every feature, float64; 0 where it is not finite
    finite: np.ndarray  # features that are finite in every sample
    usable: np.ndarray  # features that are finite in every sample and not constant
    masker: Any  # fitted; None for arrays
    notes: tuple  # what a reader should know about the samples
    bg_img: Any = None  # their mean as gray levels, to be drawn under maps
    scale: float = 1.0  # by what `X` was multiplied afterwards

    @property
    def of_run(self):
        """What a `RegionRun` keeps of them, by its names."""
        names = "masker", "bg_img", "location", "scale"
        return {"rows": self.X} | {name: getattr(self, name) for name in names}


def read_samples(  # noqa: PLR0913
    mask,
    imgs,
    *,
    n_samples=None,
    counted="y",
    keep=None,
    center=True,
    dtype=np.float32,
    memory=None,
):
    """Read samples, center the features, and find those that can be analyzed.

    With `n_samples` there must be as many, one for each of what errors call `counted`.
    Without `center` values stay; a `dtype` of None keeps float32, else makes float64.
    """
    check_memory(memory)
    if hasattr(imgs, "columns") and hasattr(imgs, "to_numpy"):  # a data frame
        imgs = imgs.to_numpy()
    if isinstance(imgs, np.ndarray):
        data, masker, bg_img = _check_array(mask, imgs), None, None
    else:
        masker = resolve_masker(mask, imgs, memory=memory)
        data = load_samples(imgs, masker)
        bg_img = mean_gray_levels(list_images(imgs), masker.mask_img_)
    if n_samples is not None and len(data) != n_samples:
        raise ValueError(
            f"imgs has {len(data)} samples, {counted} has {n_samples}; give one entry "
            f"of {counted} for every image (volume)"
        )
    data = data if keep is None else data[keep]
    finite, usable = np.isfinite(data).all(axis=0), can_be_used(data)
    if n_samples is not None and not usable.any():
        raise ValueError(
            "imgs has no usable voxel: each has NaN or is constant over samples; check "
            "the images and the mask"
        )
    notes = ()
    if not usable.all():
        left_out = f"{int((~usable).sum())} of {len(usable)} voxels were left out"
        notes = (f"{left_out} (NaN or constant)",)
    X, location = _centered(data, finite, usable, dtype or data.dtype, center)
    return Samples(X, location, finite, usable, masker, notes, bg_img)


def can_be_used(samples):
    """Return which columns are finite and not constant."""
    return np.isfinite(samples).all(axis=0) & (samples != samples[:1]).any(axis=0)


def read_residuals(residuals, masker, usable):
    """Read noise residuals (an array, or images), finite where features are usable."""
    if not isinstance(residuals, np.ndarray):
        if masker is None:
            raise ValueError("noise_covariance must be an array when imgs is an array")
        residuals = load_samples(residuals, masker)
    n_features = len(usable)
    if residuals.ndim != 2 or residuals.shape[1] != n_features or len(residuals) < 3:
        raise ValueError(
            f"noise_covariance has shape {residuals.shape}; give residuals of shape "
            f"(n_observations, {n_features}), at least three observations"
        )
    if not np.isfinite(residuals[:, usable]).all():
        raise ValueError("noise_covariance has NaN or infinity; give finite residuals")
    return residuals


def _check_array(mask, data):
    """Return samples given as an array in floating point; float32 stays."""
    data = check_numbers(data, "imgs")
    if mask is not None:
        raise ValueError(
            "imgs is an array, so mask must be None; give images or no mask"
        )
    if data.ndim != 2:
        raise ValueError(
            f"imgs must have shape (n_samples, n_features), got {data.shape}"
        )
    return data if data.dtype == np.float32 else data.astype(np.float64)


def _centered(data, finite, usable, dtype, center):
    """Subtract the features' means, some features at a time to save memory."""
    X = np.zeros(data.shape, dtype=dtype)
    location = np.zeros(len(usable))
    width = max(1, _PART_SIZE // max(1, len(data)))
    for start in range(0, len(usable), width):
        columns = slice(start, start + width)
        part = np.where(finite[columns], data[:, columns], 0)
        if center:
            location[columns] = part.mean(axis=0, dtype=np.float64)
        X[:, columns] = np.where(usable[columns], part - location[columns], 0)
    return X, location


def read_labeled_samples(searchlight, kernel, imgs, labels, counted="y"):
    """Read the samples of the classes that are analyzed, as a kernel wants them."""
    how = searchlight.within_runs
    check_within_runs(how, labels.groups)
    given = {"n_samples": len(labels.keep), "counted": counted, "keep": labels.keep}
    if kernel.as_given:
        given |= {"center": False, "dtype": None}
    read = read_samples(searchlight.mask, imgs, memory=searchlight.memory, **given)
    if how is not None:
        read = within_runs(read, labels.groups, how)
    if kernel.as_given:
        return read
    X, scale = rescaled(read.X)
    return read._replace(X=X, scale=scale)


def check_within_runs(how, groups):
    """Raise if runs are needed and not given."""
    if how is not None and groups is None:
        raise ValueError(
            f"within_runs={how!r} needs the run of every sample; give groups=runs"
        )


def within_runs(samples, groups, how):
    """Center (and scale) every feature of Samples within runs, if it varies there."""
    _, run, size = np.unique(groups, return_inverse=True, return_counts=True)
    X, usable = samples.X.astype(np.float64), samples.usable
    sums = np.zeros((len(size), X.shape[1]))
    np.add.at(sums, run, X)
    X -= (sums / size[:, None])[run]
    notes = samples.notes
    if how == "zscore":
        squares = np.zeros_like(sums)
        np.add.at(squares, run, X**2)
        spread = np.sqrt(squares / size[:, None])
        varies = (spread > 1e-12 * np.abs(sums / size[:, None])).all(axis=0)
        X = np.where(varies, X / np.where(varies, spread, 1)[run], 0)
        n_lost = int((usable & ~varies).sum())
        if n_lost:
            notes = (*notes, f"{n_lost} voxels were left out (constant within a run)")
        usable = usable & varies
    return samples._replace(X=X.astype(samples.X.dtype), usable=usable, notes=notes)


def rescaled(X):
    """Multiply by a power of two, also returned, where float32 squares would fail."""
    largest = np.abs(X).max(initial=0.0)
    if largest == 0 or _LEAST < largest < _MOST:
        return X, 1.0
    power = -int(np.frexp(largest)[1])
    return np.ldexp(X, power), float(np.ldexp(1.0, power))
