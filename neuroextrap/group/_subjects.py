"""One map of each subject: from images or an array, and back."""

import os
from pathlib import Path
from typing import NamedTuple

import numpy as np

from neuroextrap.group._alike import allowed_names, check_alike_maps
from neuroextrap.group._pairing import check_distinct
from neuroextrap.group._spaces import check_one_space
from neuroextrap.images._tables import load_array
from neuroextrap.maps._commit import finish_interrupted
from neuroextrap.stats._null_counts import spread_known
from neuroextrap.stats._validation import check_flags, check_numbers


class SubjectMaps(NamedTuple):
    """One map of each subject.

    `values` has shape (n_subjects, n_features), `usable` (n_features,) marks what is
    finite in every subject, and the fitted `masker` is None for arrays. `files` has
    each subject's path, None for one that is not in a file of its own.
    """

    values: np.ndarray
    usable: np.ndarray
    masker: object
    files: tuple = ()


def read_subjects(
    imgs,
    mask,
    name,
    min_subjects=None,
    *,
    allow_mixed=False,
    allow_native_space=False,
    repeated=False,
):
    """Read one map of each subject from an array, one 4-D image, or an image each.

    Without a mask, every voxel that is finite in all subjects, or in `min_subjects` of
    them, is usable. `name` is the argument's, for messages. Unless `allow_mixed`, what
    stands beside the files must not tell of different analyses; unless
    `allow_native_space`, images must lie in one space; unless `repeated`, files of one
    subject are warned about. No file may come twice.
    """
    check_flags(allow_native_space=allow_native_space)
    allowed_names(allow_mixed)
    files = []
    if isinstance(imgs, np.ndarray):
        if mask is not None:
            raise ValueError(
                f"{name} is an array, so mask must be None; give images or no mask"
            )
        values, masker = _floating(check_numbers(imgs, name)), None
    else:
        from neuroextrap.images import load_samples, resolve_masker
        from neuroextrap.images._opening import list_images

        _complete(imgs, name)
        named = list_images(imgs, name)
        files = [img.file for img in named]
        check_distinct(files, name, repeated=repeated)
        check_alike_maps(files, name, allow_mixed=allow_mixed)
        if not allow_native_space:
            check_one_space(named, name)
        everywhere = min_subjects is not None
        masker = resolve_masker(_finite(imgs, everywhere) if mask is None else mask)
        values = load_samples(imgs, masker)
    if values.ndim != 2 or len(values) < 2:
        raise ValueError(
            f"{name} has shape {values.shape} as (n_subjects, n_features); give one "
            "map for each of at least two subjects"
        )
    least = len(values) if min_subjects is None else min_subjects
    if least > len(values):
        raise ValueError(
            f"min_subjects={min_subjects} is more than the {len(values)} subjects of "
            f"{name}; give a smaller number"
        )
    usable = np.isfinite(values).sum(axis=0) >= least
    if not usable.any():
        raise ValueError(
            f"{name} has no voxel that is finite in "
            f"{'all' if min_subjects is None else 'at least'} {least} subjects; check "
            "the images and the mask"
        )
    each = len(files) == len(values)
    return SubjectMaps(
        values, usable, masker, tuple(files) if each else (None,) * len(values)
    )


def read_null(null_scores, masker, subject):
    """Return one subject's permuted maps, shape (n_permutations, n_features).

    From an array, a .npy file (which is memory-mapped), or, with a masker, images.
    `subject` is the subject's number, for messages.
    """
    name = f"null_scores[{subject}]"
    permuted = null_scores
    if isinstance(permuted, (str, os.PathLike)) and str(permuted).endswith(".npy"):
        permuted = load_array(permuted, mmap_mode="r")
    if not isinstance(permuted, np.ndarray):
        if masker is None:
            raise ValueError(
                f"{name} must be an array or a .npy file when scores is an array; got "
                f"{type(null_scores).__name__}"
            )
        from neuroextrap.images import load_samples

        permuted = load_samples(permuted, masker)
    if permuted.ndim != 2 or len(permuted) == 0:
        raise ValueError(
            f"{name} has shape {permuted.shape}; give (n_permutations, n_features), at "
            "least one permutation"
        )
    return permuted


def to_maps(values, subjects, column=slice(None)):
    """Spread values (n_usable,) over all features, and over images if they were given.

    Features without a value in every subject are NaN. `column` is the column of
    `subjects` that each feature of the masker shows, where these are not the same.
    """
    maps = spread_known(subjects.usable, values)
    maps = {name: value[column] for name, value in maps.items()}
    if subjects.masker is None:
        return maps
    from neuroextrap.images import to_img

    return {name: to_img(value, subjects.masker) for name, value in maps.items()}


def check_count(value, name, least=1):
    """Check that a value is a whole number of at least `least`."""
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not whole or value < least:
        raise ValueError(f"{name}={value!r} must be an integer of at least {least}")


def check_fraction(value, name):
    """Check that a value lies strictly between 0 and 1."""
    if not isinstance(value, (float, np.floating)) or not 0 < value < 1:
        raise ValueError(f"{name}={value!r} must be a number between 0 and 1")


def _complete(imgs, name):
    """Complete what killed runs wrote in part where maps are read from."""
    from neuroextrap.images._opening import image_files

    given = imgs if isinstance(imgs, (list, tuple)) else [imgs]
    paths = [img for img in given if isinstance(img, (str, os.PathLike))]
    files = image_files(paths, name) if paths else []
    for folder in dict.fromkeys(Path(file).parent for file in files):
        finish_interrupted(folder)


def _floating(values):
    """Return an array in floating point; float32 stays."""
    return values if values.dtype.kind == "f" else values.astype(float)


def _finite(imgs, in_any):
    """Return the mask of where the first subject's image, or any, is finite."""
    from neuroextrap.images._maskers import finite_mask
    from neuroextrap.images._opening import list_images

    images = list_images(imgs)
    first = images[0]
    if first.is_surface or first.n_samples is None:
        samples = [image.img for image in (images if in_any else images[:1])]
    else:
        n_samples = first.n_samples if in_any else 1
        samples = [first.img.slicer[..., k] for k in range(n_samples)]
    return finite_mask(*samples)
