"""One map of each subject: from images or an array, and back."""

import os
from typing import NamedTuple

import numpy as np


class SubjectMaps(NamedTuple):
    """One map of each subject.

    Parameters
    ----------
    values : ndarray, shape (n_subjects, n_features)
    usable : ndarray of bool, shape (n_features,)
        Finite in every subject.
    masker : fitted masker, or None
        None for arrays.
    """

    values: np.ndarray
    usable: np.ndarray
    masker: object


def read_subjects(imgs, mask, name):
    """Read one map of each subject.

    Parameters
    ----------
    imgs : array of shape (n_subjects, n_features), images, or paths
        One 3-D image (one surface image) a subject, or one 4-D image of all.
    mask : None, path, image or masker
        None takes every voxel that is finite in all subjects.
    name : str
        The argument's name, for messages.

    Returns
    -------
    SubjectMaps

    Raises
    ------
    ValueError
        When there are fewer than two subjects, grids differ, ``mask`` comes with an
        array, or no voxel is finite in all subjects.
    """
    if isinstance(imgs, np.ndarray):
        if mask is not None:
            raise ValueError(
                f"{name} is an array, so mask must be None; give images or no mask"
            )
        values, masker = _floating(imgs), None
    else:
        from neuroextrap.images import load_samples, resolve_masker

        masker = resolve_masker(_everywhere(imgs) if mask is None else mask)
        values = load_samples(imgs, masker)
    if values.ndim != 2 or len(values) < 2:
        raise ValueError(
            f"{name} has shape {values.shape} as (n_subjects, n_features); give one "
            "map for each of at least two subjects"
        )
    usable = np.isfinite(values).all(axis=0)
    if not usable.any():
        raise ValueError(
            f"{name} has no voxel that is finite in all {len(values)} subjects; check "
            "the images and the mask"
        )
    return SubjectMaps(values, usable, masker)


def read_null(null_scores, masker, subject):
    """Return one subject's permuted maps.

    Parameters
    ----------
    null_scores : array, path of a .npy file, or images
        Shape (n_permutations, n_features); a file is memory-mapped.
    masker : fitted masker, or None
    subject : int
        Which one, for messages.

    Returns
    -------
    ndarray or numpy.memmap, shape (n_permutations, n_features)

    Raises
    ------
    ValueError
        When images come where the scores are an array, or it is no matrix.
    """
    name = f"null_scores[{subject}]"
    found = null_scores
    if isinstance(found, (str, os.PathLike)) and str(found).endswith(".npy"):
        found = np.load(found, mmap_mode="r", allow_pickle=False)
    if not isinstance(found, np.ndarray):
        if masker is None:
            raise ValueError(
                f"{name} must be an array or a .npy file when scores is an array; got "
                f"{type(null_scores).__name__}"
            )
        from neuroextrap.images import load_samples

        found = load_samples(found, masker)
    if found.ndim != 2 or len(found) == 0:
        raise ValueError(
            f"{name} has shape {found.shape}; give (n_permutations, n_features), at "
            "least one permutation"
        )
    return found


def to_maps(values, subjects):
    """Spread values of the usable features over all, and over an image if there is one.

    Parameters
    ----------
    values : dict of ndarray, shape (n_usable,)
    subjects : SubjectMaps

    Returns
    -------
    maps : dict of ndarray of shape (n_features,), or of images
        NaN where not every subject has a value.
    """
    found = {}
    for name, value in values.items():
        full = np.full(len(subjects.usable), np.nan)
        full[subjects.usable] = value
        found[name] = full
    if subjects.masker is None:
        return found
    from neuroextrap.images import to_img

    return {name: to_img(v, subjects.masker) for name, v in found.items()}


def check_count(value, name, least=1):
    """Raise unless a value is a whole number that is large enough."""
    if not isinstance(value, (int, np.integer)) or value < least:
        raise ValueError(f"{name}={value!r} must be an integer of at least {least}")


def check_fraction(value, name):
    """Raise unless a value lies strictly between 0 and 1."""
    if not isinstance(value, (float, np.floating)) or not 0 < value < 1:
        raise ValueError(f"{name}={value!r} must be a number between 0 and 1")


def _floating(values):
    """Return an array in floating point; float32 stays."""
    return values if values.dtype.kind == "f" else values.astype(float)


def _everywhere(imgs):
    """Return the mask of where the first subject's image is finite."""
    from neuroextrap.images._masks import finite_mask
    from neuroextrap.images._opening import list_images

    first = list_images(imgs)[0]
    if first.is_surface or first.n_samples is None:
        return finite_mask(first.img)
    return finite_mask(first.img.slicer[..., 0])
