"""Read scans through a mask, and prepare them before any model sees them."""

from __future__ import annotations

import dataclasses
import logging

import numpy as np
from numpy.typing import ArrayLike

from neuroextrap.images._caching import check_memory
from neuroextrap.stats._label_checks import check_labels
from neuroextrap.stats._validation import check_numbers, real_array

_LOG = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class Scans:
    """Scans x features, and the way back to images.

    `X` has shape (n_scans, n_kept), `masker` is None for arrays, and `kept`
    (n_features,) marks the features of `X`: those that are NaN in some image are left
    out.
    """

    X: np.ndarray
    masker: object
    kept: np.ndarray

    def expand(self, maps):
        """Put maps (..., n_kept) back over all features, NaN where one was left out."""
        if self.kept.all():
            return maps
        full = np.full((*np.shape(maps)[:-1], len(self.kept)), np.nan)
        full[..., self.kept] = maps
        return full


def read_scans(X, mask, *, memory=None):
    """Read scans as float64 from an array, or from images through a mask.

    Images may be 4-D, a list of 3-D, paths, a glob pattern or on a surface; `mask` and
    `memory` (a cache for what is read from files) concern images only.
    """
    check_memory(memory)
    if _is_array(X):
        if mask is not None:
            raise ValueError(
                "mask is for images, but X is an array, whose columns are the features"
                "; use mask=None"
            )
        X = check_numbers(X, "X").astype(np.float64, copy=False)
        n_features = X.shape[1] if X.ndim == 2 else 0
        return Scans(X, None, np.ones(n_features, dtype=bool))
    from neuroextrap.images import resolve_masker
    from neuroextrap.images._loading import load_samples
    from neuroextrap.images._opening import list_images

    list_images(X, "X")
    masker = resolve_masker(mask, X, memory=memory)
    X = load_samples(X, masker).astype(np.float64)
    kept = np.isfinite(X).all(axis=0)
    if not kept.any():
        raise ValueError(
            "no voxel of the mask is finite in all images; check that they overlap"
        )
    if not kept.all():
        _LOG.warning(
            "%d of %d voxels of the mask are NaN in some image and left out",
            np.sum(~kept),
            len(kept),
        )
    return Scans(X[:, kept], masker, kept)


def _is_array(X):
    """Return whether X is numbers in rows rather than images or their names."""
    if isinstance(X, list | tuple):
        return len(X) > 0 and isinstance(X[0], list | tuple | np.ndarray)
    return isinstance(X, np.ndarray) or hasattr(X, "to_numpy")


def center_groups(X: ArrayLike, groups: ArrayLike) -> np.ndarray:
    """Return scans (n_samples, n_features) without the mean scan of their subject.

    Each mean uses only one subject, so test subjects stay independent of training ones.
    ValueError for a subject with a single scan, of which nothing would be left. (Kjems
    et al. 2002, NeuroImage 15, "Data sets and CVA labeling schemes".)

    >>> center_groups([[1.0], [3.0], [10.0], [20.0]], [0, 0, 1, 1]).ravel()
    array([-1.,  1., -5.,  5.])
    """
    X = real_array(X, "X")
    groups = check_labels(groups, "groups")
    if X.ndim != 2 or len(groups) != len(X):
        raise ValueError(
            f"X of shape {X.shape} must have a row for each of {len(groups)} groups"
        )
    names, codes, counts = np.unique(groups, return_inverse=True, return_counts=True)
    if counts.min() < 2:
        raise ValueError(
            f"group {names.tolist()[np.argmin(counts)]!r} has one scan: removing its "
            "mean leaves nothing; use center=None"
        )
    order = np.argsort(codes, kind="stable")
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    sums = np.add.reduceat(X[order], starts, axis=0)
    return X - (sums / counts[:, None])[codes]


def scale_scans(X):
    """Divide every scan by its mean over the features (voxels of the mask).

    `X` (n_samples, n_features) are scans in positive units, such as counts or raw BOLD.
    ValueError for a scan whose mean is not clearly positive (contrasts, centered data),
    where the division would be meaningless. (Kjems et al. 2002, NeuroImage 15, "Data
    sets and CVA labeling schemes".)

    >>> scale_scans([[1.0, 3.0], [10.0, 30.0]])
    array([[0.5, 1.5],
           [0.5, 1.5]])
    """
    X = np.asarray(X, dtype=np.float64)
    means, sizes = X.mean(axis=1), np.abs(X).mean(axis=1)
    unusable = means <= 1e-2 * sizes
    if unusable.any():
        raise ValueError(
            f"scan {int(np.argmax(unusable))} has mean {means[unusable][0]:.3g}: scans "
            "can be divided by their mean only when it is clearly positive; use "
            "scale=None for contrasts or centered data"
        )
    return X / means[:, None]


def balanced_scans(y, groups, *, per_label=2):
    """Return the rows of the first `per_label` scans of each label and subject.

    Scans come in the order in which they were made, and so do the rows.
    """
    y, groups = np.asarray(y), np.asarray(groups)
    chosen = []
    for group in np.unique(groups).tolist():
        for label in np.unique(y).tolist():
            rows = np.flatnonzero((groups == group) & (y == label))
            if len(rows) < per_label:
                raise ValueError(
                    f"group {group!r} has {len(rows)} scans labeled {label!r}; "
                    f"per_label={per_label} must be at most that; use a smaller one"
                )
            chosen.append(rows[:per_label])
    return np.sort(np.concatenate(chosen))
