"""One map of each subject: from images or an array, and back."""

import os
from typing import NamedTuple

import numpy as np
import scipy.sparse

from neuroextrap.design._findings import tell
from neuroextrap.group._alike import (
    allowed_names,
    check_alike_maps,
    check_one_space,
    findings_of_differences,
    findings_of_subjects,
)
from neuroextrap.group._pairing import check_distinct, name_subjects
from neuroextrap.images._tables import load_array
from neuroextrap.maps._files import check_results
from neuroextrap.stats._null_counts import spread_known
from neuroextrap.stats._validation import brief, check_flags, check_numbers

_MOST = 10**8
"""Permutations and resamples that nobody waits for."""


class SubjectMaps(NamedTuple):
    """One map of each subject.

    `values` has shape (n_subjects, n_features), `usable` (n_features,) marks what is
    finite in every subject, and the fitted `masker` is None for arrays. `files` has
    each subject's path, None for one that is not in a file of its own; `names` are the
    subjects', and `quantity` is what all maps are of (accuracy, say), "" if not known.
    `findings` are what is doubtful about the maps.
    """

    values: np.ndarray
    usable: np.ndarray
    masker: object
    files: tuple = ()
    names: tuple = ()
    quantity: str = ""
    findings: tuple = ()


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
    them, is usable. `name` is the argument's, for messages. Unless `allow_mixed`,
    sidecars of the files must not be of different analyses; unless
    `allow_native_space`, images must lie in one space; unless `repeated`, files of one
    subject are warned about. No file may come twice.
    """
    check_flags(allow_native_space=allow_native_space)
    allowed_names(allow_mixed)
    files, masker, mixed = [], None, {}
    if not isinstance(imgs, np.ndarray):
        named = _open(imgs, name)
        files = [img.file for img in named]
        check_distinct(files, name, repeated=repeated)
        mixed = check_alike_maps(files, name, allow_mixed=allow_mixed)
        if not allow_native_space:
            check_one_space(named, name)
        values, masker = _read(named, mask, in_any=min_subjects is not None)
    elif mask is not None:
        raise ValueError(
            f"{name} is an array, so mask must be None; give images or no mask"
        )
    else:
        values = check_numbers(imgs, name)
        values = values if values.dtype.kind == "f" else values.astype(float)
    if values.ndim != 2 or len(values) < 2:
        raise ValueError(
            f"{name} has shape {values.shape} as (n_subjects, n_features); give one "
            "map for each of at least two subjects"
        )
    quantities = {_entities(file).get("desc", "") for file in files if file}
    each = files if len(files) == len(values) else [None] * len(values)
    findings = findings_of_subjects(each) + findings_of_differences(mixed)
    tell(findings)
    return SubjectMaps(
        values,
        _usable(values, name, min_subjects),
        masker,
        files=tuple(each),
        names=name_subjects(each),
        quantity=quantities.pop() if len(quantities) == 1 else "",
        findings=findings,
    )


def _usable(values, name, min_subjects):
    """Return which features are finite in all subjects, or in `min_subjects`."""
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
    return usable


def _entities(file):
    """Return what a file's name says, by key."""
    from neuroextrap.images._bids_names import loose_entities

    return loose_entities(file)


def read_null(null_scores, masker, subject):
    """Return one subject's permuted maps, shape (n_permutations, n_features).

    From an array, a .npy file (which is memory-mapped), or, with a masker, images.
    `subject` is the subject's number, for messages.
    """
    name = f"null_scores[{subject}]"
    permuted = null_scores
    if isinstance(permuted, (str, os.PathLike)) and str(permuted).endswith(".npy"):
        check_results([permuted])
        permuted = load_array(permuted, mmap_mode="r")
    if not isinstance(permuted, np.ndarray):
        if masker is None:
            raise ValueError(
                f"{name} must be an array or a .npy file when scores is an array; got "
                f"{type(null_scores).__name__}"
            )
        from neuroextrap.images._loading import load_opened

        permuted = load_opened(_open(permuted, name), masker)
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


def usable_neighbors(subjects, adjacency):
    """Return the pairs of neighbors among the features that are tested."""
    if subjects.masker is not None:
        if adjacency is not None:
            raise ValueError(
                "adjacency is for arrays; images have neighbors of their own, so leave "
                "it out"
            )
        from neuroextrap.images._geometry import neighbor_pairs

        pairs = neighbor_pairs(subjects.masker)
    else:
        pairs = _pairs_of(adjacency, len(subjects.usable))
    place = np.full(len(subjects.usable), -1, dtype=np.intp)
    place[subjects.usable] = np.arange(subjects.usable.sum())
    kept = place[pairs]
    return kept[(kept >= 0).all(axis=1)]


def _pairs_of(adjacency, n_features):
    """Return the pairs of an adjacency matrix, each once."""
    if adjacency is None:
        raise ValueError(
            "clusters of an array need adjacency, a sparse matrix (n_features, "
            "n_features) that is not zero where two features are neighbors"
        )
    matrix = scipy.sparse.coo_array(adjacency)
    if matrix.shape != (n_features, n_features):
        raise ValueError(
            f"adjacency has shape {matrix.shape}; give one row and column for each of "
            f"the {n_features} features"
        )
    linked = matrix.data != 0
    pairs = np.stack([matrix.row[linked], matrix.col[linked]], axis=1)
    pairs = np.unique(np.sort(pairs, axis=1), axis=0)
    return pairs[pairs[:, 0] != pairs[:, 1]].astype(np.intp)


def check_count(value, name, least=1):
    """Check that a value is a whole number of at least `least`."""
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not whole or not least <= value <= _MOST:
        raise ValueError(
            f"{name}={brief(value)} must be an integer of at least {least} (and at "
            f"most {_MOST:,})"
        )


def check_fraction(value, name):
    """Check that a value lies strictly between 0 and 1."""
    if not isinstance(value, (float, np.floating)) or not 0 < value < 1:
        raise ValueError(f"{name}={brief(value)} must be a number between 0 and 1")


def differences_of(imgs, others):
    """Return images of subjects less those of others, both in the same order.

    They are named by the files of the first.
    """
    from neuroextrap.images._opening import check_same_grid, mapped, read_image

    found = []
    pairs = zip(_open(imgs, "imgs"), _open(others, "imgs"), strict=True)
    for first, second in pairs:
        check_same_grid(second, first)
        img = mapped(np.subtract, read_image(first).img, read_image(second).img)
        img.file_map["image"].filename = first.file
        found.append(img)
    return found


def _open(imgs, name):
    """Open images once; results are completed and checked before."""
    from neuroextrap.images._opening import image_files, list_images

    given = imgs if isinstance(imgs, (list, tuple)) else [imgs]
    paths = [img for img in given if isinstance(img, (str, os.PathLike))]
    files = image_files(paths, name) if paths else []
    check_results(files)
    named = list_images(imgs, name)
    check_results([img.file for img in named if img.file not in (None, *files)])
    return named


def _read(named, mask, *, in_any):
    """Return values (n_subjects, n_features) of opened images, and a fitted masker.

    Without a mask, features are where the first subject's image, or any, is finite.
    """
    from neuroextrap.images import resolve_masker
    from neuroextrap.images._loading import load_opened
    from neuroextrap.images._maskers import finite_mask

    first = named[0]
    if mask is None and (first.is_surface or first.n_samples is None):
        mask = finite_mask(*[img.img for img in (named if in_any else named[:1])])
    elif mask is None:
        n_samples = first.n_samples if in_any else 1
        mask = finite_mask(*[first.img.slicer[..., k] for k in range(n_samples)])
    masker = resolve_masker(mask)
    return load_opened(named, masker), masker
